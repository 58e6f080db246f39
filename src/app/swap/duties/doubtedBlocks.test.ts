import { expect, test } from "vitest";
import type { BlockRef } from "../../../ports/chain.ts";
import type { SwapTask } from "../swapTask.ts";
import { DoubtedBlocks } from "./doubtedBlocks.ts";

const SLOT = "makerPaymentSpend";
const block = (n: number): BlockRef => ({ height: 7, hash: `${n}a`.repeat(32) });

/** Blocks of a taker's claim. `answer` is what others say of one that is asked about. */
function begin(): {
  readonly doubted: DoubtedBlocks;
  readonly asked: string[];
  answer: (doubt: string | null) => Promise<void>;
  pass: (sec: number) => void;
  woken: () => number;
} {
  const asked: string[] = [];
  let [now, woken] = [1_000, 0];
  let resolve: (doubt: string | null) => void = () => undefined;
  const chain = {
    doubt: ({ hash }: BlockRef) => {
      asked.push(hash);
      return new Promise<string | null>((done) => {
        resolve = done;
      });
    },
  };
  const task = {
    state: { terms: { role: "taker" } },
    coin: () => ({ chain }),
    nowSec: () => now,
    wake: () => void woken++,
    trouble: () => undefined,
  };
  return {
    doubted: new DoubtedBlocks(task as unknown as SwapTask),
    asked,
    answer: async (doubt) => {
      resolve(doubt);
      await Promise.resolve();
      await Promise.resolve();
    },
    pass: (sec) => {
      now += sec;
    },
    woken: () => woken,
  };
}

test("others are asked about a block two minutes after the claim was first in one, once at a time, until nothing speaks against it", async () => {
  const { doubted, asked, answer, pass, woken } = begin();
  expect(doubted.has(SLOT, block(1))).toBe(false);
  pass(119);
  expect(doubted.has(SLOT, block(1))).toBe(false);
  expect(asked).toEqual([]);
  pass(1);
  for (let look = 0; look < 3; look++) expect(doubted.has(SLOT, block(1))).toBe(false);
  expect(asked).toHaveLength(1);
  await answer("others deny it");
  expect(woken()).toBe(1);
  expect(doubted.has(SLOT, block(1))).toBe(true);
  await answer(null);
  expect(woken()).toBe(2);
  for (let look = 0; look < 3; look++) expect(doubted.has(SLOT, block(1))).toBe(false);
  expect(asked).toHaveLength(2);
});

test("a claim that is shown in another block stays doubted until that one is not", async () => {
  const { doubted, asked, answer, pass } = begin();
  doubted.has(SLOT, block(1));
  pass(120);
  doubted.has(SLOT, block(1));
  await answer("others deny it");
  for (let n = 2; n < 5; n++) {
    expect(doubted.has(SLOT, block(n))).toBe(true);
    expect(doubted.has(SLOT, block(n))).toBe(true);
    await answer("others deny it");
  }
  expect(asked).toEqual([1, 2, 3, 4].map((n) => block(n).hash));
  expect(doubted.has(SLOT, block(5))).toBe(true);
  await answer(null);
  expect(doubted.has(SLOT, block(5))).toBe(false);
});
