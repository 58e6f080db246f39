import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import type { EvmAddress } from "../../../core/evm/address.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { CallRequest } from "../../../ports/accountChain.ts";
import { dataGasNow } from "./dataCost.ts";

const address = "0a".repeat(20) as EvmAddress;
const { signal } = new AbortController();
let chain: FakeAccountChain;
let asked: CallRequest[];
beforeEach(() => {
  chain = new FakeAccountChain();
  asked = [];
});
const needs = (gas: bigint): ReturnType<typeof dataGasNow> => {
  chain.estimate = (request) => {
    asked.push(request);
    return ok(gas);
  };
  return dataGasNow({ chain, address }, signal);
};

test("a chain of its own takes nothing for data beside its gas, by the old prices and by those of EIP-7623, exact or not", async () => {
  const bytes = 196n;
  for (const gas of [21_000n, 21_000n + 16n * bytes, 21_000n + 40n * bytes, ((21_000n + 40n * bytes) * 1_015n) / 1_000n])
    expect(await needs(gas)).toBe(0n);
});

test("one that writes its data elsewhere and counts that as gas is given twice what it asks for now", async () => {
  const usual = ((21_000n + 40n * 196n) * 102n) / 100n;
  expect(await needs(usual + 150_000n)).toBe(300_000n);
});

test("nodes that do not say, or contradict each other, are not taken at nothing; where data counted as none, only that they contradict each other counts", async () => {
  const say = (gas: bigint, isDisputed: boolean) => {
    chain.data = { gas, wei: 0n };
    chain.estimate = () => err({ kind: "Unreachable", message: "nobody says", isDisputed });
    return dataGasNow({ chain, address }, signal);
  };
  expect([await say(400_000n, false), await say(400_000n, true), await say(21_000n, true)]).toEqual(["untold", "untold", "untold"]);
  expect(await say(21_000n, false)).toBe("none");
});

test("what is tried moves nothing, says nothing, and is as long as the longest call of a swap", async () => {
  await needs(21_000n);
  const id = new Uint8Array(32).fill(1);
  const longest = encodeSwapCall({
    ...{ kind: "erc20Payment", id, amount: 1n, token: address, receiver: address, secretHash: new Uint8Array(20).fill(1) },
    lockTime: 1n,
  } as Parameters<typeof encodeSwapCall>[0]);
  expect(asked).toMatchObject([{ from: address, value: 0n, to: "00".repeat(20) }]);
  expect(asked[0]?.data.length).toBe(longest.length);
  expect(asked[0]?.data.includes(0)).toBe(false);
  expect(new Set(asked[0]?.data).size).toBeGreaterThan(150);
});
