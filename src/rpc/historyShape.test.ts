import { expect, test } from "vitest";
import { PromptClock } from "../../test/fakes/promptClock.ts";
import type { HistoryTx } from "../app/coin/txHistory.ts";
import { ZERO } from "../core/money/rational.ts";
import { Aborted } from "../ports/clock.ts";
import { historyToJson } from "./historyShape.ts";

const tx = (n: number): HistoryTx => ({
  txid: String(n),
  raw: new Uint8Array(1),
  from: [],
  to: [],
  total: ZERO,
  spentByMe: ZERO,
  receivedByMe: ZERO,
  fee: null,
  block: null,
  timeSec: 0,
  confirmations: 0,
});
const TXS = Array.from({ length: 1_200 }, (_, n) => tx(n));

test("a page of thousands of transactions is written some in a turn, and all of it", async () => {
  const clock = new PromptClock();
  let turns = 1;
  clock.onTurn = () => turns++;
  const written = await historyToJson("DOC", TXS, clock, new AbortController().signal);
  expect([written.map(({ tx_hash }) => tx_hash), turns]).toEqual([TXS.map(({ txid }) => txid), 3]);
});

test("a page is not written on for a caller whose time is up", async () => {
  const clock = new PromptClock();
  const caller = new AbortController();
  clock.onTurn = () => caller.abort();
  await expect(historyToJson("DOC", TXS, clock, caller.signal)).rejects.toThrow(Aborted);
});
