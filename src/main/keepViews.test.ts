import { expect, test } from "vitest";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { ShownSwap } from "../core/swap/shownSwap.ts";
import type { MadeStatus } from "../ports/swapViews.ts";
import { keepViews } from "./keepViews.ts";

const made = (...names: readonly (string | number)[]): readonly MadeStatus[] =>
  names.map((name) => ({ uuid: String(name), events: 1, status: ShownSwap.of({}) }));

function keeper() {
  const clock = new VirtualClock();
  const writes: string[] = [];
  let answer: () => Promise<void> = async () => undefined;
  const views = keepViews(
    {
      keep: (statuses) => {
        writes.push(statuses.map((s) => s.uuid).join(" "));
        return answer();
      },
    },
    { clock, log: new SilentLog() },
  );
  const pass = (ms: number) => clock.run({ untilMs: clock.nowMs() + ms });
  return {
    views,
    writes,
    pass,
    answers: (by: () => Promise<void>) => {
      answer = by;
    },
    /** The next write ends when the function given is called. */
    hangs: () => {
      let done: () => void = () => undefined;
      answer = () =>
        new Promise((resolve) => {
          done = resolve;
        });
      return () => done();
    },
  };
}

test("statuses are written together when nobody has made any for a second, and after ten seconds whatever goes on", async () => {
  const { views, writes, pass } = keeper();
  for (const name of ["a", "b", "c"]) {
    views.keep(made(name));
    await pass(900);
  }
  expect(writes).toEqual([]);
  await pass(200);
  expect(writes).toEqual(["a b c"]);
  for (let i = 0; i < 25; i++) {
    views.keep(made(i));
    await pass(500);
  }
  const until = (from: number, to: number): string => Array.from({ length: to - from }, (_, i) => from + i).join(" ");
  expect(writes).toEqual(["a b c", until(0, 20)]);
  await pass(1_000);
  expect(writes).toEqual(["a b c", until(0, 20), until(20, 25)]);
});

test("while the disk is busy nothing more is written, and no more than 32 statuses wait", async () => {
  const { views, writes, pass, hangs } = keeper();
  const done = hangs();
  views.keep(made("a"));
  await pass(1_000);
  for (let i = 0; i < 100; i++) views.keep(made(i));
  await pass(60_000);
  expect(writes).toEqual(["a"]);
  done();
  await pass(900);
  expect(writes).toEqual(["a"]);
  await pass(200);
  expect(writes).toEqual(["a", Array.from({ length: 32 }, (_, i) => i).join(" ")]);
});

test("a write that fails is over, and the next ones are made", async () => {
  const { views, writes, pass, answers } = keeper();
  answers(() => Promise.reject(new Error("the disk is full")));
  views.keep(made("a"));
  await pass(2_000);
  views.keep(made("b"));
  await pass(2_000);
  expect(writes).toEqual(["a", "b"]);
});

test("once closed it writes nothing", async () => {
  const { views, writes, pass, hangs } = keeper();
  const done = hangs();
  views.keep(made("a"));
  await pass(1_000);
  views.keep(made("b"));
  views.close();
  done();
  views.keep(made("c"));
  await pass(60_000);
  expect(writes).toEqual(["a"]);
  const other = keeper();
  other.views.keep(made("a"));
  other.views.close();
  await other.pass(60_000);
  expect(other.writes).toEqual([]);
});
