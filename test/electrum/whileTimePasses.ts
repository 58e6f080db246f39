import { expect } from "vitest";

/** Outcome of a promise while virtual time passes, ten minutes at most. */
export async function whileTimePasses<T>(world: { pass(ms: number): Promise<void> }, work: Promise<T>): Promise<T> {
  let settled = false;
  const outcome = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  void outcome.then(() => {
    settled = true;
  });
  // What needs no time must not take any.
  await world.pass(0);
  for (let i = 0; i < 600 && !settled; i++) await world.pass(1_000);
  expect(settled).toBe(true);
  const ended = await outcome;
  if ("error" in ended) throw ended.error;
  return ended.value;
}
