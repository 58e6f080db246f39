import { expect, test } from "vitest";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { recordedLogs } from "../../test/vectors/eventLogs/eventLogs.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import type { StoredEvent } from "../core/swap/events.ts";
import { ShownSwap } from "../core/swap/shownSwap.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import { StorageError } from "../ports/sql.ts";
import { refillViews } from "./refillViews.ts";

/** A node whose newest `swaps` swaps have no status; each has the log of a recorded one. `kept`: uuids by write. */
function history(swaps: number, damaged: readonly string[] = []) {
  const clock = new VirtualClock();
  const logs = recordedLogs.map(({ events }) => events.map((text) => JSON.parse(text) as StoredEvent));
  const logOf = (uuid: string): readonly StoredEvent[] => logs[Number(uuid) % logs.length] ?? [];
  const kept: (readonly string[])[] = [];
  const looks: number[] = [];
  let isDown = false;
  const stop = refillViews({
    clock,
    log: new SilentLog(),
    store: {
      async log(uuid) {
        if (damaged.includes(uuid)) throw new StorageError("Corrupt", "one of its events was changed");
        return logOf(uuid);
      },
    },
    views: {
      async missing(skip, limit) {
        if (isDown) throw new StorageError("Io", "the disk is gone");
        looks.push(skip);
        const looked = Math.max(0, Math.min(limit, swaps - skip));
        const uuids = Array.from({ length: looked }, (_, i) => String(skip + i)).filter((uuid) => !kept.flat().includes(uuid));
        return { looked, uuids };
      },
      async keep(made) {
        kept.push(made.map((m) => m.uuid));
        for (const { uuid, events, status } of made) {
          expect([events, status.text]).toEqual([logOf(uuid).length, ShownSwap.of(swapStatus(logOf(uuid))).text]);
        }
      },
    },
  });
  const pass = (seconds: number) => clock.run({ untilMs: clock.nowMs() + 1_000 * seconds });
  return {
    kept,
    looks,
    stop,
    pass,
    breakDown: () => {
      isDown = true;
    },
  };
}

test("the statuses that are missing are made a minute after the start, ten a second, newest first, and then it is over", async () => {
  const { kept, looks, pass } = history(25);
  await pass(59);
  expect(looks).toEqual([]);
  await pass(2.5);
  expect(kept.flat()).toEqual(Array.from({ length: 10 }, (_, i) => String(i)));
  await pass(60);
  expect(kept.map((uuids) => uuids.length)).toEqual([10, 10, 5]);
  await pass(10_000);
  expect(looks).toEqual([0]);
});

test("of a long history the newest 10,000 are seen to, and nobody's work is held up: at most one write a second", async () => {
  const { kept, looks, pass } = history(50_000);
  await pass(2_000);
  expect(kept.flat().length).toBeGreaterThan(10_000 - 1);
  await pass(10_000);
  expect(kept.flat()).toEqual(Array.from({ length: 10_000 }, (_, i) => String(i)));
  expect([looks.length, looks.at(-1)]).toEqual([100, 9_900]);
});

test("a damaged log is passed over", async () => {
  const { kept, pass } = history(5, ["1", "3"]);
  await pass(120);
  expect(kept).toEqual([["0", "2", "4"]]);
});

test("a store that fails ends it; so does the end of the node", async () => {
  const broken = history(25);
  broken.breakDown();
  await broken.pass(600);
  expect(broken.kept).toEqual([]);
  const stopped = history(25);
  await stopped.pass(61.5);
  stopped.stop();
  await stopped.pass(600);
  expect(stopped.kept.flat()).toHaveLength(10);
});
