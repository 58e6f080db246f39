import { expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { addressFromBytes, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { ChainReadError } from "../../../ports/accountChain.ts";
import { payoutObstacle } from "./payoutObstacle.ts";

const address = addressFromBytes(new Uint8Array(20).fill(7));
const { signal } = new AbortController();

const fault = (kind: "Unreachable" | "Refused" | "Reverted"): ChainReadError =>
  kind === "Reverted" ? { kind, data: null, message: `${kind}.` } : { kind, message: `${kind}.` };

test.each([
  ["nodes do not say whether it has code", fault("Unreachable"), 0n, false],
  ["nodes do not carry that question out", fault("Refused"), 0n, false],
  ["it has code, and nodes do not try it", true, fault("Refused"), false],
  ["it has code, and nodes are away", true, fault("Unreachable"), false],
  ["it has code that refuses", true, fault("Reverted"), true],
  ["it has code that needs more gas than is left for it", true, 23_301n, true],
  ["it has code that takes coins", true, 23_300n, null],
  ["it has no code", false, fault("Reverted"), null],
] as const)("whether an account is refused plain coins, or nobody says: %s", async (_, code, gas, isRefused) => {
  const chain = new FakeAccountChain();
  chain.hasCode = async () => (typeof code === "boolean" ? ok(code) : err(code));
  chain.estimateGas = async (_request, _signal, most) => {
    // More than that refuses a payment: one node of two must not say it alone.
    expect(most).toBe(23_300n);
    return typeof gas === "bigint" ? ok(gas) : err(gas);
  };
  const found = await payoutObstacle({ chain, address, platform: "ETH" }, ZERO_ADDRESS, 0n, signal);
  expect([found?.isRefused ?? null, found?.reason.endsWith(".")]).toEqual([isRefused, found === null ? undefined : false]);
});

test("where what data costs is taken from the balance, nodes try it as though the contract had some for that, too", async () => {
  const chain = new FakeAccountChain();
  chain.data = { gas: 21_000n, wei: 700n };
  chain.hasCode = async () => ok(true);
  chain.estimate = ({ isFunded }) => (isFunded ? ok(21_000n) : err({ kind: "Refused", message: "Insufficient funds." }));
  expect(await payoutObstacle({ chain, address, platform: "ETH" }, ZERO_ADDRESS, 5n, signal)).toBeNull();
});

test.each([
  ["what is left takes coins", ok(new Uint8Array(0)), null],
  ["what is left does not", fault("Reverted"), true],
  ["nodes contradict each other, and one of two named the gas", fault("Unreachable"), false],
  ["nodes do not carry the call out", fault("Refused"), false],
] as const)(
  "where data counts as gas, whether the code takes coins is called with the gas that contracts leave it: %s",
  async (_, said, isRefused) => {
    const chain = new FakeAccountChain();
    chain.data = { gas: 129_416n, wei: 0n };
    chain.hasCode = async () => ok(true);
    chain.estimate = (_request, most = 0n) => (most > 200_000n ? ok(130_000n) : err(fault("Unreachable")));
    chain.call = async (_request, _signal, gas) => (gas !== 23_300n ? err(fault("Reverted")) : "ok" in said ? said : err(said));
    const found = await payoutObstacle({ chain, address, platform: "ETH" }, ZERO_ADDRESS, 5n, signal);
    expect(found?.isRefused ?? null).toBe(isRefused);
  },
);
