import { expect, test } from "vitest";
import type { SwapTask } from "../swapTask.ts";
import { isHeldUp } from "./lockTimes.ts";

const LOCK = 1_700_000_000;
const HOUR = 3_600;

type Case = {
  readonly nowSec: number;
  readonly tipSec: number;
  readonly isPaid?: boolean;
  readonly sinceSec?: number;
  readonly isOwn?: boolean;
};

function heldUp({ nowSec, tipSec, isPaid = true, sinceSec = 0, isOwn = false }: Case): boolean {
  const status = () => ({ tip: { timeSec: tipSec } });
  const chain = isOwn ? { status } : { status, guard: () => () => undefined };
  const task = { nowSec: () => nowSec, coin: () => ({ chain }) } as unknown as SwapTask;
  return isHeldUp(task, "taker", LOCK, isPaid, sinceSec);
}

test.each<readonly [string, Case, boolean]>([
  ["no block for an hour, an hour after the lock", { nowSec: LOCK + HOUR, tipSec: LOCK }, false],
  ["no block for an hour, later", { nowSec: LOCK + HOUR + 1, tipSec: LOCK }, true],
  ["no block since long before the lock", { nowSec: LOCK + HOUR + 1, tipSec: LOCK - HOUR }, true],
  ["new blocks with an old median time", { nowSec: LOCK + HOUR + 1, tipSec: LOCK + 2 }, false],
  ["the same two hours after the lock", { nowSec: LOCK + 2 * HOUR + 1, tipSec: LOCK + 2 * HOUR }, true],
  ["new blocks, and the payment in none", { nowSec: LOCK + HOUR + 1, tipSec: LOCK + HOUR, isPaid: false }, true],
  ["the same just after a restart", { nowSec: LOCK + HOUR + 1, tipSec: LOCK, sinceSec: LOCK + HOUR - 599 }, false],
  ["a daemon of one's own, which has no blocks to show", { nowSec: LOCK + 9 * HOUR, tipSec: LOCK, isOwn: true }, false],
])("whether a refund is held up: %s", (_, given, expected) => {
  expect(heldUp(given)).toBe(expected);
});
