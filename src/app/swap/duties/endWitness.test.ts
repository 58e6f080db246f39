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

test("a doubt that holds up no step is asked about ever less often, for as long as the same block is there, and is told from the second time on", async () => {
  const troubles: number[] = [];
  const asked: (boolean | undefined)[] = [];
  const chain = {
    doubt: async (_block: BlockRef, _confs: number, _signal: AbortSignal, isOneEnough?: boolean) => {
      asked.push(isOneEnough);
      return "one denies it";
    },
  };
  const terms = { role: "taker", makerConfs: 1, takerConfs: 1, makerNota: false, takerNota: false };
  let nowSec = 1_000;
  const task = {
    state: { terms },
    coin: () => ({ chain }),
    trouble: () => troubles.push(nowSec),
    nowSec: () => nowSec,
  } as unknown as SwapTask;
  const ends = new EndWitness(task, new AbortController().signal, true);
  const askedAt = async (sec: number): Promise<number> => {
    nowSec = sec;
    expect(ends.isClear("makerPaymentSpend", BLOCK)).toBe(false);
    await Promise.resolve();
    await Promise.resolve();
    return asked.length;
  };
  expect([await askedAt(1_000), await askedAt(1_299), await askedAt(1_300), await askedAt(1_899), await askedAt(1_900)]).toEqual([
    1, 1, 2, 2, 3,
  ]);
  expect([new Set(asked), troubles]).toEqual([new Set([true]), [1_300, 1_900]]);
});

test("one that denies an end for hours is asked again within one: that it has the block ends the swap then", async () => {
  let denial: string | null = "one denies it";
  const chain = { doubt: async () => denial };
  const terms = { role: "taker", makerConfs: 1, takerConfs: 1, makerNota: false, takerNota: false };
  let nowSec = 1_000;
  const task = { state: { terms }, coin: () => ({ chain }), trouble: () => undefined, wake: () => undefined, nowSec: () => nowSec };
  const ends = new EndWitness(task as unknown as SwapTask, new AbortController().signal, true);
  const look = async (): Promise<boolean> => {
    nowSec += 60;
    ends.isClear("cancel", BLOCK);
    await Promise.resolve();
    await Promise.resolve();
    return ends.isClear("cancel", BLOCK);
  };
  for (let minute = 0; minute < 660; minute++) expect(await look()).toBe(false);
  denial = null;
  for (let minute = 0; minute < 59; minute++) await look();
  expect(await look()).toBe(true);
});

test("a block is denied by whoever says so, not by silence", async () => {
  const answers = [Promise.reject(new Error("nobody answers")), Promise.resolve("one denies it"), Promise.resolve(null)];
  const chain = { doubt: () => answers.shift() };
  const terms = { role: "taker", makerConfs: 1, takerConfs: 1, makerNota: false, takerNota: false };
  const task = { state: { terms }, coin: () => ({ chain }), trouble: () => undefined, wake: () => undefined } as unknown as SwapTask;
  const ends = new EndWitness(task, new AbortController().signal);
  const isDenied = async (): Promise<boolean> => {
    ends.isClear("takerPaymentRefund", BLOCK);
    await Promise.resolve();
    await Promise.resolve();
    return ends.isDenied("takerPaymentRefund", BLOCK);
  };
  expect(ends.isDenied("takerPaymentRefund", BLOCK)).toBe(false);
  expect([await isDenied(), await isDenied(), await isDenied()]).toEqual([false, true, false]);
});

test("a block of which somebody says nothing ends the swap at once, and is sure once all have said theirs, or were asked for more than an hour", async () => {
  let isAway = true;
  const asked: number[] = [];
  const doubt = async (): Promise<null> => {
    asked.push(nowSec);
    return null;
  };
  const chain = { doubt, mayBeDenied: () => isAway };
  const terms = { role: "taker", makerConfs: 1, takerConfs: 1, makerNota: false, takerNota: false };
  let nowSec = 1_000;
  const task = { state: { terms }, coin: () => ({ chain }), wake: () => undefined, nowSec: () => nowSec } as unknown as SwapTask;
  const begin = (isOneEnough: boolean): EndWitness => new EndWitness(task, new AbortController().signal, isOneEnough);
  const lookAt = async (ends: EndWitness, sec: number): Promise<readonly boolean[]> => {
    nowSec = sec;
    ends.isSure("cancel", BLOCK);
    await Promise.resolve();
    await Promise.resolve();
    return [ends.isClear("cancel", BLOCK), ends.isSure("cancel", BLOCK)];
  };
  const ends = begin(true);
  for (let sec = 1_000; sec < 5_500; sec += 100) expect(await lookAt(ends, sec)).toEqual([true, false]);
  expect(await lookAt(ends, 5_500)).toEqual([true, true]);
  expect(asked).toEqual([1_000, 1_300, 1_900, 3_100, 5_500]);
  const others = begin(true);
  expect(await lookAt(others, 1_000)).toEqual([true, false]);
  isAway = false;
  expect([await lookAt(others, 1_299), await lookAt(others, 1_300)]).toEqual([
    [true, false],
    [true, true],
  ]);
  isAway = true;
  expect(await lookAt(begin(false), 1_000)).toEqual([true, true]);
});
