import { expect, test } from "vitest";
import type { BlockRef } from "../../../ports/chain.ts";
import type { SwapTask } from "../swapTask.ts";
import { EndWitness } from "./endWitness.ts";

const BLOCK = { height: 7, hash: "aa".repeat(32) };

test("a block that nothing spoke against is asked about anew once it has gone and come back", async () => {
  const asked: BlockRef[] = [];
  const chain = {
    doubt: async (block: BlockRef) => {
      asked.push(block);
      return null;
    },
  };
  const terms = { role: "taker", makerConfs: 1, takerConfs: 1, makerNota: false, takerNota: false };
  const task = { state: { terms }, coin: () => ({ chain }), wake: () => undefined } as unknown as SwapTask;
  const ends = new EndWitness(task, new AbortController().signal);
  const isClear = async (): Promise<boolean> => {
    ends.seen("makerPaymentSpend", BLOCK);
    const first = ends.isClear("makerPaymentSpend", BLOCK);
    await Promise.resolve();
    await Promise.resolve();
    return first;
  };
  expect([await isClear(), await isClear(), asked.length]).toEqual([false, true, 1]);
  ends.seen("makerPaymentSpend", null);
  expect([await isClear(), await isClear(), asked.length]).toEqual([false, true, 2]);
});
