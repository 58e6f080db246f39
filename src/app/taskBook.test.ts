import { expect, test } from "vitest";
import { err, ok, type Result } from "../core/util/result.ts";
import { TaskBook } from "./taskBook.ts";

const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await Promise.resolve();
};
const book = () => new TaskBook<string, number, string>((cause, about) => `${about}: ${cause instanceof Error ? cause.message : cause}`);
const never = (): Promise<Result<number, string>> => new Promise(() => undefined);

test("a task shows what it is about until it ends, then how it ended, and numbers count from 0", async () => {
  const tasks = book();
  let end: (outcome: Result<number, string>) => void = () => undefined;
  const first = tasks.start(
    "a",
    () =>
      new Promise((resolve) => {
        end = resolve;
      }),
  );
  expect([first, tasks.start("b", async () => ok(7)), tasks.start("c", async () => err("no"))]).toEqual([0, 1, 2]);
  expect(tasks.get(0)).toMatchObject({ about: "a", outcome: null });
  await settle();
  expect([tasks.get(0)?.outcome, tasks.get(1)?.outcome, tasks.get(2)?.outcome]).toEqual([null, ok(7), err("no")]);
  end(ok(1));
  await settle();
  expect(tasks.get(0)?.outcome).toEqual(ok(1));
  tasks.forget(0);
  expect(tasks.get(0)).toBeUndefined();
});

test("a cancelled task is told so and forgotten; what becomes of its work is nobody's", async () => {
  const tasks = book();
  let seen: AbortSignal | null = null;
  tasks.start("a", async (signal) => {
    seen = signal;
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    return ok(1);
  });
  expect([tasks.cancel(0), tasks.cancel(0), tasks.cancel(9)]).toEqual(["cancelled", "unknown", "unknown"]);
  expect(seen).toMatchObject({ aborted: true });
  tasks.start("b", async () => ok(1));
  await settle();
  expect(tasks.cancel(1)).toBe("finished");
});

test("work that breaks ends its task with what the book makes of it", async () => {
  const tasks = book();
  tasks.start("a", async () => {
    throw new Error("broken");
  });
  await settle();
  expect(tasks.get(0)?.outcome).toEqual(err("a: broken"));
});

test("a hundred run at once and no more; of the finished the last thousand are kept", async () => {
  const tasks = book();
  for (let i = 0; i < 100; i++) expect(tasks.start("x", never)).toBe(i);
  expect(tasks.start("x", never)).toBeNull();
  expect(tasks.cancel(5)).toBe("cancelled");
  expect(tasks.start("y", async () => ok(1))).toBe(100);
  await settle();
  for (let i = 0; i < 1_000; i++) {
    tasks.start("y", async () => ok(1));
    await settle();
  }
  expect([tasks.get(100), tasks.get(101)?.outcome, tasks.get(1_100)?.outcome, tasks.get(0)?.outcome]).toEqual([
    undefined,
    ok(1),
    ok(1),
    null,
  ]);
  tasks.close();
  expect(tasks.get(0)).toBeUndefined();
});
