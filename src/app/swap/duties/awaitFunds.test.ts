import { expect, test } from "vitest";
import type { FundsError } from "../../tradingCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { awaitFunds } from "./awaitFunds.ts";

const ZERO = { n: 0n, d: 1n };

test.each([
  [{ kind: "NotSufficientBalance", coin: "DOC", available: ZERO, required: ZERO, lockedBySwaps: null }, "waits"],
  [{ kind: "Transport", coin: "ETH", message: "the ETH nodes have not told the account's nonce yet" }, "waits"],
  [{ kind: "Internal", coin: "DOC", message: "the payment has no output" }, "gives up"],
  [{ kind: "VolumeTooLow", coin: "DOC", volume: ZERO, threshold: ZERO }, "gives up"],
] as const satisfies readonly (readonly [FundsError, string])[])("what cannot be built for $kind %s", async (error, does) => {
  const did: string[] = [];
  const task = {
    trouble: () => undefined,
    seen: () => ({ of: "chain", count: 0 }),
    news: async () => void did.push("waits"),
  } as unknown as SwapTask;
  await awaitFunds(task, error, async () => void did.push("gives up"), new AbortController().signal);
  expect(did).toEqual([does]);
});
