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
  };
}

test("the first statuses are written at once, those of the next second together", async () => {
  const { views, writes, pass } = keeper();
  views.keep(made("a"));
  expect(writes).toEqual(["a"]);
  for (const name of ["b", "c"]) views.keep(made(name));
  await pass(900);
  expect(writes).toEqual(["a"]);
  await pass(200);
  expect(writes).toEqual(["a", "b c"]);
  await pass(5_000);
  views.keep(made("d"));
  expect(writes).toEqual(["a", "b c", "d"]);
});

test("while the disk is busy nothing more is written, and no more than 32 statuses wait", async () => {
  const { views, writes, pass, answers } = keeper();
  let done: () => void = () => undefined;
  answers(
    () =>
      new Promise((resolve) => {
        done = resolve;
      }),
  );
  views.keep(made("a"));
  for (let i = 0; i < 100; i++) views.keep(made(i));
  await pass(60_000);
  expect(writes).toEqual(["a"]);
  done();
  await pass(2_000);
  expect(writes).toEqual(["a", Array.from({ length: 32 }, (_, i) => i).join(" ")]);
});

test("a write that fails is over, and the next ones are made", async () => {
  const { views, writes, pass, answers } = keeper();
  answers(() => Promise.reject(new Error("the disk is full")));
  views.keep(made("a"));
  await pass(2_000);
  views.keep(made("b"));
  expect(writes).toEqual(["a", "b"]);
});

test("once closed it writes nothing", async () => {
  const { views, writes, pass } = keeper();
  views.keep(made("a"));
  views.keep(made("b"));
  views.close();
  views.keep(made("c"));
  await pass(5_000);
  expect(writes).toEqual(["a"]);
  const other = keeper();
  other.views.close();
  other.views.keep(made("a"));
  expect(other.writes).toEqual([]);
});
