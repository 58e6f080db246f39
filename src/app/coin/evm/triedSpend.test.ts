import { expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { addressFromBytes, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { ChainReadError } from "../../../ports/accountChain.ts";
import { CONTRACT_GAS, callGas, NO_DATA, withRoom } from "./gasFigures.ts";
import { tryClaim, trySpend } from "./triedSpend.ts";

const [address, contract, token] = [7, 8, 9].map((byte) => addressFromBytes(new Uint8Array(20).fill(byte))) as [never, never, never];
const { signal } = new AbortController();
const MOST = callGas(1_000_000n);
const REVERTED: ChainReadError = { kind: "Reverted", data: null, message: "paused." };
const HUNGRY: ChainReadError = {
  kind: "Reverted",
  data: null,
  message: "The ETH chain would refuse the transaction: gas required exceeds allowance (30000000).",
};
const FAILING: ChainReadError = { ...REVERTED, message: HUNGRY.message.replace(").", ") or always failing transaction.") };
const AWAY: ChainReadError = { kind: "Unreachable", message: "away." };
const claim = (of: typeof token) =>
  ({
    kind: "receiverSpend",
    id: new Uint8Array(32),
    amount: 1n,
    secret: new Uint8Array(32).fill(0xab),
    token: of,
    sender: address,
  }) as const;

test.each([
  ["its transfer is paid", 100_000n, { isRefused: false, gas: 100_000n + CONTRACT_GAS }],
  ["it needs as much as is signed with at most", MOST - CONTRACT_GAS, { isRefused: false, gas: MOST }],
  ["it needs more", MOST - CONTRACT_GAS + 1n, { isRefused: true, gas: MOST + 1n }],
  ["its transfer is refused", REVERTED, { isRefused: true, gas: null }],
  ["nobody says", AWAY, null],
] as const)("a claim of a token that nobody has is tried without its secret: %s", async (_, answer, told) => {
  const chain = new FakeAccountChain();
  chain.call = async () => expect.fail("the claim was asked about");
  chain.estimateGas = async ({ data }) => {
    expect(data.includes(0xab)).toBe(false);
    return typeof answer === "bigint" ? ok(answer) : err(answer);
  };
  expect(await tryClaim({ chain, address, platform: "ETH" }, contract, claim(token), MOST, NO_DATA, signal)).toEqual(told);
});

test.each([
  ["no code", ok(false), { isRefused: false, gas: null }],
  ["code that refuses", ok(true), { isRefused: true, gas: null }],
  ["nobody says what", err(AWAY), null],
] as const)("so is one of the platform coin by an account that has %s", async (_, code, told) => {
  const chain = new FakeAccountChain();
  chain.hasCode = async () => code;
  chain.estimateGas = async () => err(REVERTED);
  expect(await tryClaim({ chain, address, platform: "ETH" }, contract, claim(ZERO_ADDRESS as never), MOST, NO_DATA, signal)).toEqual(told);
});

test.each([
  ["is carried out", ok(new Uint8Array(0)), ok(90_000n), { isRefused: false, gas: 90_000n }],
  ["needs more gas than any is signed with", ok(new Uint8Array(0)), ok(MOST + 1n), { isRefused: true, gas: null }],
  ["needs more than that as its data counts", ok(new Uint8Array(0)), ok(MOST + 2n), { isRefused: true, gas: null }],
  ["is not carried out with so much", err(REVERTED), err(HUNGRY), { isRefused: true, gas: null }],
  ["is, and one node says that nodes have too little", ok(new Uint8Array(0)), err(HUNGRY), { isRefused: false, gas: null }],
  ["is in the block that nodes are making, where they estimate", ok(new Uint8Array(0)), err(REVERTED), { isRefused: false, gas: null }],
  ["is in that of an old geth", ok(new Uint8Array(0)), err(FAILING), { isRefused: false, gas: null }],
  ["is carried out with gas that nobody names", ok(new Uint8Array(0)), err(AWAY), { isRefused: false, gas: null }],
  ["is refused", err(REVERTED), ok(1n), { isRefused: true, gas: null }],
  ["is nobody's to say", err(AWAY), ok(1n), null],
] as const)("one that left is tried as it is, with the most gas that any is signed with: it %s", async (_, called, gas, told) => {
  const chain = new FakeAccountChain();
  chain.call = async (_request, _signal, given) => (given === MOST ? called : expect.fail(`called with ${given} gas`));
  chain.estimateGas = async () => gas;
  expect(await trySpend({ chain, address, platform: "ETH" }, contract, new Uint8Array(4), MOST, NO_DATA, signal)).toEqual(told);
});

/** Of a transfer with so many bytes, and of what it does; see `plainGas`. */
const plain = (bytes: number): bigint => ((21_000n + 40n * BigInt(bytes)) * 102n) / 100n;
/** Where data is gas: an estimate has it in it, a call does not. */
const DATA_GAS = 500_000n;
test.each([
  ["is told", plain(4) + DATA_GAS, 90_000n, 90_000n],
  ["is told too high by one node, and nodes do not carry it out with the rest", plain(4) + DATA_GAS, 90_001n, 590_000n],
  ["is said to be more than all of it", plain(4) + 590_000n, 0n, 590_000n],
  ["is nobody's to say", null, 0n, 590_000n],
  ["is nothing", plain(4), 0n, 590_000n],
] as const)("what left is found to need what its call needs beside its data, where what that needs %s", async (_, alone, carried, gas) => {
  const chain = new FakeAccountChain();
  chain.call = async (_request, _signal, given) => ((given ?? 0n) >= carried ? ok(new Uint8Array(0)) : err(REVERTED));
  chain.estimateGas = async ({ to }) => (to === contract ? ok(90_000n + DATA_GAS) : alone === null ? err(AWAY) : ok(alone));
  const tried = await trySpend({ chain, address, platform: "ETH" }, contract, new Uint8Array(4), MOST, withRoom(DATA_GAS), signal);
  expect(tried).toEqual({ isRefused: false, gas });
});

test("so is a claim of a token that nobody has: no more than its transfer is told", async () => {
  const chain = new FakeAccountChain();
  const asked: string[] = [];
  chain.call = async ({ to }, _signal, given) => {
    asked.push(`${to} ${given}`);
    return ok(new Uint8Array(0));
  };
  chain.estimateGas = async ({ to, data }) => {
    expect([data.length, data.includes(0xab)]).toEqual([68, false]);
    return ok(to === token ? 50_000n + DATA_GAS : plain(68) + DATA_GAS);
  };
  const told = await tryClaim({ chain, address, platform: "ETH" }, contract, claim(token), MOST, withRoom(DATA_GAS), signal);
  expect([told, asked]).toEqual([{ isRefused: false, gas: 50_000n + CONTRACT_GAS }, [`${token} 50000`]]);
});

const ALWAYS = 0n;
const HUNGRY_GAS = MOST;
test.each([
  ["nobody says what that needs", null, 600_000n, ALWAYS, { isRefused: false, gas: MOST }],
  ["it is said to be more than all of it", plain(68) + 600_000n + DATA_GAS, 600_000n, ALWAYS, { isRefused: false, gas: MOST }],
  [
    "that is nothing, and all is the token's doing",
    plain(68),
    600_000n,
    HUNGRY_GAS,
    { isRefused: true, gas: 600_000n + DATA_GAS + CONTRACT_GAS },
  ],
  [
    "that is nothing, and one of two says alone that all is the token's doing",
    plain(68),
    600_000n,
    ALWAYS,
    { isRefused: false, gas: MOST },
  ],
  [
    "nobody says, and no version has so much",
    null,
    MOST + 2n * DATA_GAS - CONTRACT_GAS - DATA_GAS + 1n,
    ALWAYS,
    { isRefused: true, gas: MOST + 2n * DATA_GAS + 1n },
  ],
  ["the rest is more than a token may need", plain(68) + DATA_GAS, MOST, HUNGRY_GAS, { isRefused: true, gas: MOST + CONTRACT_GAS }],
  [
    "one of two says alone that the rest is more than a token may need",
    plain(68) + DATA_GAS,
    MOST,
    ALWAYS,
    { isRefused: false, gas: MOST },
  ],
] as const)("a claim that nobody has is not refused for its data: %s", async (_, alone, own, carried, told) => {
  const chain = new FakeAccountChain();
  chain.call = async (_request, _signal, given) => ((given ?? 0n) >= carried ? ok(new Uint8Array(0)) : err(REVERTED));
  chain.estimateGas = async ({ to }) => (to === token ? ok(own + DATA_GAS) : alone === null ? err(AWAY) : ok(alone));
  expect(await tryClaim({ chain, address, platform: "ETH" }, contract, claim(token), MOST, withRoom(DATA_GAS), signal)).toEqual(told);
});

test("nor where nodes do not say whether it is carried out with the most that any has", async () => {
  const chain = new FakeAccountChain();
  chain.call = async () => err(AWAY);
  chain.estimateGas = async ({ to }) => ok(to === token ? MOST + DATA_GAS : plain(68));
  const told = await tryClaim({ chain, address, platform: "ETH" }, contract, claim(token), MOST, withRoom(DATA_GAS), signal);
  expect(told).toEqual({ isRefused: false, gas: MOST });
});

test("what few nodes say of its transfer is a refusal only above what any may need with its data: it is paid for beside", async () => {
  const chain = new FakeAccountChain();
  const most = MOST - CONTRACT_GAS + 2n * DATA_GAS;
  // As where one of two nodes estimates nothing, and both carry out what the other names.
  chain.estimateGas = async ({ to }, _signal, limit = 0n) => (to !== token ? err(AWAY) : limit < most ? err(AWAY) : ok(limit));
  const told = await tryClaim({ chain, address, platform: "ETH" }, contract, claim(token), MOST, withRoom(DATA_GAS), signal);
  expect(told).toEqual({ isRefused: false, gas: MOST });
});
