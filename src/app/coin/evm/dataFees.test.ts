import { beforeEach, expect, test, vi } from "vitest";
import { ETH_ENTRY, evmCoinOf, tokenEntry } from "../../../../test/fakes/evmCoins.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressFromBytes, addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { CALL_SAMPLE, FEE_ORACLE, l1FeeCall, operatorFeeCall, SAMPLE_BYTES } from "../../../core/evm/dataCost.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { fromUnits, rational, toUnits } from "../../../core/money/rational.ts";
import { toHex } from "../../../core/util/bytes.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { AccountChain, ChainReadError } from "../../../ports/accountChain.ts";
import type { Contract, SwapCoin } from "../../swap/swapCoin.ts";
import { AccountFunds } from "./accountFunds.ts";
import { AllowanceKeeper } from "./allowanceKeeper.ts";
import type { EvmCoin } from "./evmCoin.ts";
import { priceOf } from "./gasBid.ts";
import { NonceKeeper } from "./nonceKeeper.ts";
import { NonceLedger } from "./nonceLedger.ts";
import { bidOf } from "./outgoing.ts";

/** What every figure and promise has of the data of transactions: `W` wei and `G` gas each, with the room they get. */
const [W, G] = [10n ** 13n, 400_000n];
const FACTOR = 8n;
const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const SWAPS = addressFromBytes(new Uint8Array(20).fill(0x5a));
const { signal } = new AbortController();

let chain: FakeAccountChain;
let nonces: NonceLedger;
let funds: AccountFunds;
let eth: EvmCoin;
let coins: { readonly eth: SwapCoin; readonly token: SwapCoin };
let clock: VirtualClock;
beforeEach(async () => {
  chain = new FakeAccountChain();
  chain.balance = 10n ** 20n;
  chain.tokenBalances.set(TOKEN, 1_000n);
  clock = new VirtualClock();
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  await chain.watchTokens(address, [TOKEN]);
  await nonces.open();
  funds = new AccountFunds({ chain, address, nonces, clock });
  const parts = { chain, key, nonces, clock, funds };
  eth = evmCoinOf(ETH_ENTRY, parts);
  coins = { eth: eth.swapCoin, token: evmCoinOf(tokenEntry(TOKEN), parts).swapCoin };
});

/** How much more a figure is, wei, with the fee and with the gas for data; and what gas costs. */
function more(figure: () => bigint): { readonly beside: bigint; readonly gas: bigint } {
  const told = (gas: bigint, wei: bigint): bigint => {
    chain.data = { gas, wei };
    return figure();
  };
  const plain = told(21_000n, 0n);
  const usual = ((21_000n + 40n * 196n) * 102n) / 100n;
  const of = { beside: told(21_000n, W / 2n) - plain, gas: told(usual + G / 2n, 0n) - plain };
  told(21_000n, 0n);
  return of;
}
const price = (): bigint => coins.eth.spendRates().rate.perKb / 1_000n;
const one = rational(1n);
const wei = (amount: ReturnType<typeof rational>): bigint => toUnits(amount, 18);
const held = (coin: SwapCoin, reserve: (c: SwapCoin) => ReturnType<SwapCoin["reserveClaim"]>): bigint => {
  const before = funds.free(null);
  const made = reserve(coin);
  if (!made.ok || made.value === null) throw new Error("nothing was held");
  const after = funds.free(null);
  coin.release(made.value);
  return before - after;
};

const evmTx = (raw: Uint8Array) => {
  const parsed = parseEvmTx(raw);
  return parsed.ok ? parsed.value : expect.fail("no transaction");
};

test("each transaction of a swap is promised what its data may cost, as far as that may rise: two approvals of a token, too", () => {
  const payments = (of: "eth" | "token", count: number) => () =>
    held(coins[of], (coin) =>
      coin.reserve(
        Array.from({ length: count }, () => (of === "eth" ? fromUnits(1n, 18) : one)),
        1_000,
      ),
    );
  for (const [figure, txs] of [
    [payments("eth", 1), 2n],
    [payments("eth", 2), 3n],
    [payments("token", 1), 4n],
    [payments("token", 2), 5n],
    [() => held(coins.eth, (coin) => coin.reserveClaim(1_000)), 1n],
    [() => held(coins.token, (coin) => coin.reserveClaim(1_000)), 1n],
  ] as const)
    expect(more(figure)).toEqual({ beside: txs * W * FACTOR, gas: txs * G * price() * FACTOR });
});

test("so are those of a token's swap that is taken up by its platform coin alone", () => {
  const parts = { chain, key, nonces, clock, funds };
  const made = evmCoinOf(ETH_ENTRY, parts, () => true).swapCoin;
  const steps = { payments: 2, refund: true, claim: true };
  expect(more(() => held(made, (coin) => coin.reserveTokenGas?.("T", steps, 1_000) ?? expect.fail("no token")))).toEqual({
    beside: 6n * W * FACTOR,
    gas: 6n * G * price() * FACTOR,
  });
});

test("fees, preimages and greatest volumes count it", () => {
  const fee = (of: "eth" | "token") => (): bigint => {
    const made = coins[of].paymentFee(one, "start");
    return made.ok ? wei(made.value) : -1n;
  };
  const max = (): bigint => {
    const made = coins.eth.maxPayment("start");
    return made.ok ? -wei(made.value.volume) : -1n;
  };
  const dexFee = (): bigint => {
    const made = coins.eth.dexFeeTxFee(one, "preimage");
    return made.ok ? wei(made.value) : -1n;
  };
  const p = price();
  expect(more(fee("eth"))).toEqual({ beside: W, gas: G * p });
  expect(more(fee("token"))).toEqual({ beside: 3n * W, gas: 3n * G * p });
  expect(more(max)).toEqual({ beside: W, gas: G * p });
  expect(more(() => wei(coins.eth.spendFee("order"))).beside).toBe(FACTOR * W);
  expect(more(() => wei(coins.eth.refundFee("start"))).beside).toBe(W);
  expect(more(dexFee).beside).toBe((W * 107n) / 100n);
});

test("get_trade_fee counts it", async () => {
  const figure = async (): Promise<bigint> => {
    const fee = await eth.tradeFee(signal);
    return fee.ok ? wei(fee.value.amount) : expect.fail(fee.error.message);
  };
  const before = await figure();
  chain.data = { gas: 21_000n, wei: W / 2n };
  expect((await figure()) - before).toBe(W);
});

test("a chain that begins to count data as gas is found out by the next claim, and shown no secret while it asks too much", async () => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const told = async (gas: bigint): Promise<string | null> => {
    chain.gas = gas;
    expect((await coins.eth.prepareToSpend(swap, signal)) ?? null).toBeNull();
    return coins.eth.spendTooDear();
  };
  expect(await told(21_000n)).toBeNull();
  expect(await told(800_000n)).toMatch(/^every transaction of ETH needs 15\d+ gas more than any swap reckons with$/);
  const claim = coins.eth.spendSize("claim");
  expect(await told(129_416n)).toBeNull();
  expect([claim, coins.eth.spendSize("claim")]).toEqual([65_000 + 2 * (800_000 - 29_416), 65_000 + 200_000]);
});

test("gas for data that was named once is forgotten after ten minutes: nobody asks again while no swap can begin", async () => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const usual = coins.eth.spendSize("claim");
  chain.gas = BigInt(Number.MAX_SAFE_INTEGER);
  await coins.eth.prepareToSpend(swap, signal);
  chain.gas = 21_000n;
  const begins = (): boolean => coins.eth.reserve([fromUnits(400n, 18)], 1_000).ok;
  await clock.run({ untilMs: clock.nowMs() + 599_000 });
  expect(begins()).toBe(false);
  await clock.run({ untilMs: clock.nowMs() + 2_000 });
  expect([begins(), coins.eth.spendSize("claim")]).toEqual([true, usual]);
});

test("so is what a token's transfer was once said to need", async () => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const sent = { state: "sent" } as ReturnType<AccountChain["payment"]>;
  vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue(sent);
  const needs = async (gas: bigint): Promise<number> => {
    chain.estimate = (request) => ok(request.to === TOKEN ? gas : 21_000n);
    expect(await coins.token.prepareToSpend(swap, signal)).toBeNull();
    return coins.token.spendSize("claim");
  };
  const usual = coins.token.spendSize("claim");
  expect([await needs(1_000_000n), await needs(60_000n)]).toEqual([1_378_000, 1_378_000]);
  await clock.run({ untilMs: clock.nowMs() + 601_000 });
  expect([coins.token.spendSize("claim"), await needs(60_000n), await needs(200_000n)]).toEqual([usual, 156_000, 338_000]);
});

test("what is asked for with a limit says so: a figure that would keep a claim here counts only if a majority names it", async () => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const sent = { state: "sent" } as ReturnType<AccountChain["payment"]>;
  vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue(sent);
  const limits: bigint[] = [];
  let beyond = 0n;
  chain.estimate = (request, most = 0n) => {
    limits.push(most);
    if (request.to === TOKEN) return ok(most + beyond);
    // Its data needs as much as is asked for.
    return ok(request.data.length === CALL_SAMPLE.length ? most : ((21_000n + 40n * 68n) * 102n) / 100n + 1_500_000n);
  };
  expect(await coins.token.prepareToSpend(swap, signal)).toBeNull();
  expect(coins.token.spendTooDear()).toBeNull();
  expect(limits.every((limit) => limit > 21_000n && limit < 3_000_000n)).toBe(true);
  beyond = 1n;
  const reason = expect.stringContaining("needs 1093847 gas, far more than any swap reckons with");
  expect(await coins.token.prepareToSpend(swap, signal)).toEqual({ isRefused: true, reason });
  chain.estimate = (_request, most = 0n) => ok(most + 1n);
  await coins.token.prepareToSpend(swap, signal);
  expect(coins.token.spendTooDear()).toMatch("gas more than any swap reckons with");
});

test("a token found to need more than a claim was signed with: its secret stays here; a little more is in its margin", async () => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const sent = { state: "sent" } as ReturnType<AccountChain["payment"]>;
  vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue(sent);
  const needs = async (gas: bigint): Promise<void> => {
    chain.estimate = (request) => ok(request.to === TOKEN ? gas : 21_000n);
    expect(await coins.token.prepareToSpend(swap, signal)).toBeNull();
  };
  const sign = (): Uint8Array => {
    const built = coins.token.buildClaim({ contract: swap, payment: new Uint8Array(0), secret: new Uint8Array(32) });
    return built.ok ? built.value.raw : expect.fail("no claim");
  };
  await needs(60_000n);
  const claim = sign();
  expect(coins.token.claimObstacle(claim)).toBeNull();
  await needs(200_000n);
  expect(coins.token.claimObstacle(claim)).toBe("the claim of T was signed with 156000 gas, and would need 260000 now");
  coins.token.releaseInputs(claim);
  const ample = sign();
  await needs(240_000n);
  expect(coins.token.claimObstacle(ample)).toBeNull();
});

test("a claim that waits is reckoned and raised by the gas it was signed with, also when that gas is forgotten", async () => {
  const usual = coins.token.spendSize("claim");
  const call = { chainId: 1n, nonce: 0n, gasLimit: 403_000n, to: SWAPS, value: 0n, data: new Uint8Array(0), gasPrice: 10n };
  const former = signEvmTx({ type: "legacy", ...call }, key).raw;
  expect([usual, coins.token.spendSize("claim", former)]).toEqual([150_000, 403_000]);
  const [lock, hash] = [1_800_000_000, new Uint8Array(20).fill(3)];
  const swap: Contract = { lock, secretHash: hash, refundKey: key.publicKey, claimKey: key.publicKey, units: 400n, swapContract: SWAPS };
  const sent = { state: "sent" } as ReturnType<AccountChain["payment"]>;
  vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue(sent);
  const fee = 403_000n * price() * 3n;
  const secret = new Uint8Array(32);
  const raised = coins.token.buildClaim({ contract: swap, payment: former, secret, fee, replaces: former });
  expect(raised).toMatchObject({ ok: true, value: { fee } });
});

test("a claim is signed with no more gas than a block and the account have, and never with less than the usual", async () => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  chain.gas = BigInt(Number.MAX_SAFE_INTEGER);
  await coins.eth.prepareToSpend(swap, signal);
  const size = (balance: bigint): number => {
    chain.balance = balance;
    return coins.eth.spendSize("claim");
  };
  const raised = price() + price() / 4n + 1n;
  expect(size(10n ** 20n)).toBe(12_000_000);
  expect(size(300_000n * raised)).toBe(300_000);
  expect(size(10_000n * raised)).toBe(65_000);
  expect(coins.eth.spendTooDear()).toMatch(/more than any swap reckons with$/);
});

test.each<[string, ChainReadError | null, bigint]>([
  ["not where a majority carries it out with the usual", null, 320_000n],
  ["nor where nodes contradict each other about that", { kind: "Unreachable", message: "they disagree." }, 320_000n],
  ["but where a majority says that it fails so", { kind: "Reverted", data: null, message: "too little." }, 1_378_000n],
])("gas that a token is said to need, more than the account has, lowers the price of a claim: %s", async (_, fault, gas) => {
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const sent = { state: "sent" } as ReturnType<AccountChain["payment"]>;
  vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue(sent);
  const given: unknown[] = [];
  chain.call = async (_request, _signal, most) => {
    given.push(most);
    return fault === null ? ok(new Uint8Array(0)) : err(fault);
  };
  chain.estimate = (request) => ok(request.to === TOKEN ? 1_000_000n : 21_000n);
  chain.balance = 400_000n * (price() + 1n);
  expect(await coins.token.prepareToSpend(swap, signal)).toBeNull();
  const built = coins.token.buildClaim({ contract: swap, payment: new Uint8Array(0), secret: new Uint8Array(32) });
  const claim = built.ok ? built.value : expect.fail("no claim");
  const isAtMarket = BigInt(claim.fee ?? 0) >= evmTx(claim.raw).tx.gasLimit * price();
  expect([evmTx(claim.raw).tx.gasLimit / 1_000n, isAtMarket, given]).toEqual([gas / 1_000n, gas < 1_000_000n, [90_000n]]);
  // Whose secret nobody has stays here with less than it is said to need.
  expect(coins.token.lacksGas?.(claim.raw)).toBe(gas < 1_000_000n);
});

test.each<["a token" | "data", bigint]>([
  ["a token", 150_000n],
  ["data", 65_000n],
])(
  "gas that one node alone says %s needs takes nothing of what else waits: the first of the line is made dearer, and the next has its price",
  async (of, usual) => {
    const coin = of === "data" ? coins.eth : coins.token;
    const swap: Contract = {
      ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
      ...{ units: 400n, swapContract: SWAPS },
    };
    const sent = { state: "sent" } as ReturnType<AccountChain["payment"]>;
    vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue(sent);
    chain.call = async () => ok(new Uint8Array(0));
    chain.estimate = (request) => ok(request.to === TOKEN ? 1_000_000n : 21_000n);
    if (of === "data") chain.data = { gas: 700_000n, sureGas: 21_000n, wei: 0n };
    else expect(await coin.prepareToSpend(swap, signal)).toBeNull();
    // It has what sixteen claims of the usual gas cost.
    chain.balance = 16n * usual * price();
    const claimAt = (former?: Uint8Array) => {
      const fee = BigInt(coin.spendSize("claim", former)) * price();
      const built = former
        ? coin.buildDearer?.(former, fee)
        : coin.buildClaim({ contract: swap, payment: new Uint8Array(0), fee, secret: new Uint8Array(32) });
      const { raw } = built?.ok ? built.value : expect.fail("no claim");
      const { tx } = evmTx(raw);
      const bid = priceOf(bidOf(tx));
      return { raw, gas: tx.gasLimit, bid, cost: tx.gasLimit * bid };
    };
    const [first, second] = [claimAt(), claimAt()];
    expect(first.gas).toBeGreaterThan(4n * usual);
    expect(second.bid).toBeGreaterThanOrEqual(price());
    chain.prices = { legacy: 2n * price(), nextBaseFee: null, priority: null };
    const dearer = claimAt(first.raw);
    expect(dearer.bid).toBeGreaterThanOrEqual(price());
    expect(dearer.gas).toBeGreaterThan(usual);
    expect(dearer.cost + second.cost).toBeLessThanOrEqual(chain.balance);
  },
);

test("what left is not hopeless because data is dear: its versions get the gas for that", async () => {
  const call = { id: new Uint8Array(32), amount: 1n, secret: new Uint8Array(32), token: ZERO_ADDRESS, sender: address };
  const data = encodeSwapCall({ kind: "receiverSpend", ...call });
  const claim = signEvmTx(
    { type: "legacy", chainId: 1n, nonce: 0n, gasLimit: 600_000n, to: SWAPS, value: 0n, data, gasPrice: 10n },
    key,
  ).raw;
  chain.call = async () => ok(new Uint8Array(0));
  const isHopeless = async (dataGas: bigint, gas: bigint): Promise<boolean | null | undefined> => {
    chain.data = { gas: 21_000n + dataGas, wei: 0n };
    chain.estimate = ({ to }) => ok(to === SWAPS ? gas : 21_000n + dataGas);
    return coins.eth.isHopeless?.(claim, false, signal);
  };
  expect(await isHopeless(0n, 1_560_000n)).toBe(true);
  expect(await isHopeless(1_500_000n, 1_560_000n)).toBe(false);
  expect(coins.eth.spendSize("claim", claim)).toBe(87_244 + 2 * (1_521_000 - 29_416));
});

test.each([
  ["as much as a token's transfer may at most, and data a little beside", 60_000n, 1_160_000n],
  ["less than that, and data so much that they come to more", 400_000n, 1_300_000n],
  ["as much as still counts as carried out", 60_000n, 1_153_846n + 2n * (60_000n - 29_416n)],
])("what left and is not hopeless is made anew with the gas it needs: %s", async (_, dataGas, needed) => {
  const call = { id: new Uint8Array(32), amount: 1n, secretHash: new Uint8Array(20), token: TOKEN, receiver: address };
  const data = encodeSwapCall({ kind: "senderRefund", ...call });
  const tx = { chainId: 1n, nonce: 0n, gasLimit: 150_000n, to: SWAPS, value: 0n, data, gasPrice: 10n };
  const refund = signEvmTx({ type: "legacy", ...tx }, key).raw;
  chain.data = { gas: dataGas, wei: 0n };
  chain.call = async () => ok(new Uint8Array(0));
  chain.estimate = ({ to }) => ok(to === SWAPS ? needed : dataGas);
  for (const coin of [coins.token, coins.eth]) {
    expect(await coin.isHopeless?.(refund, false, signal)).toBe(false);
    const anew = coin.buildDearer?.(refund, 10n ** 15n, true);
    const made = anew?.ok ? parseEvmTx(anew.value.raw) : null;
    expect(made?.ok && made.value.tx.gasLimit).toBeGreaterThanOrEqual(needed);
  }
});

/** A token whose transfer takes 60,000 gas, and a contract that takes as much beside; data by its length, up to `dataGas` for a whole claim of 196 bytes. */
function asArbitrum(dataGas: bigint): void {
  const own = (to: EvmAddress): bigint => (to === TOKEN ? 60_000n : to === SWAPS ? 120_000n : 21_000n);
  const plain = (bytes: number): bigint => ((21_000n + 40n * BigInt(bytes)) * 102n) / 100n;
  const counted = (bytes: number): bigint => (dataGas * BigInt(bytes)) / 196n;
  chain.data = { gas: plain(196) + dataGas, wei: 0n };
  chain.estimate = ({ to, data }) => ok((to === ZERO_ADDRESS ? plain(data.length) : own(to)) + counted(data.length));
  chain.call = async ({ to }, _signal, gas) =>
    (gas ?? own(to)) >= own(to) ? ok(new Uint8Array(0)) : err({ kind: "Reverted", data: null, message: "out of gas." });
}

test.each([
  ["nobody has", true],
  ["left", false],
])("data is not counted twice in what a claim that %s is found to need: with gas enough it lacks none", async (_, showsSecret) => {
  const call = { id: new Uint8Array(32), amount: 1n, secret: new Uint8Array(32), token: TOKEN, sender: address };
  const data = encodeSwapCall({ kind: "receiverSpend", ...call });
  asArbitrum(400_000n);
  const tx = { chainId: 1n, nonce: 0n, gasLimit: 150_000n + 800_000n, to: SWAPS, value: 0n, data, gasPrice: 10n };
  const claim = signEvmTx({ type: "legacy", ...tx }, key).raw;
  // It may have doubled, and was signed with room for that.
  for (const [dataGas, isLacking] of [
    [760_000n, false],
    [800_000n, false],
    [800_001n, true],
  ] as const) {
    asArbitrum(dataGas);
    expect(await coins.token.isHopeless?.(claim, showsSecret, signal)).toBe(false);
    expect([dataGas, coins.token.lacksGas?.(claim)]).toEqual([dataGas, isLacking]);
  }
});

test("while nothing is known of its data a claim or refund is signed with as much for that as any swap reckons with, as far as the account has it", async () => {
  const size = (): number => coins.token.spendSize("claim");
  const usual = size();
  chain.data = null;
  expect(size()).toBe(usual + 1_500_000);
  chain.balance = 3n * 10n ** 15n;
  expect([size() > usual, size() < usual + 1_500_000]).toEqual([true, true]);
  chain.balance = 10n ** 20n;
  asArbitrum(60_000n);
  chain.data = null;
  const [refundKey, claimKey] = [key.publicKey, key.publicKey];
  const swap: Contract = { lock: 1_700_000_000, secretHash: new Uint8Array(20), refundKey, claimKey, units: 1n, swapContract: SWAPS };
  await coins.token.prepareToSpend(swap, signal);
  expect(size()).toBe(usual + 120_000);
});

test("so is a cancellation, and no payment that it must outbid keeps it from being paid for", () => {
  const { eth } = coins;
  const contract: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 1n, swapContract: SWAPS },
  };
  const built = eth.buildPayment({ contract, reservation: null });
  const { raw } = built.ok ? built.value : expect.fail("no payment");
  const usual = eth.spendSize("cancel", raw);
  chain.data = null;
  expect([eth.spendSize("cancel", raw), eth.sureSize?.("cancel", raw)]).toEqual([usual + 1_500_000, usual]);
  const bid = price();
  // The market falls to a tenth of what the payment bids.
  chain.prices = { legacy: bid / 10n, nextBaseFee: null, priority: null };
  chain.balance = 2n * BigInt(usual) * bid;
  const cancel = eth.buildCancel(raw);
  const { tx } = cancel.ok ? evmTx(cancel.value.raw) : expect.fail("no cancellation");
  expect([tx.gasLimit > usual, tx.gasLimit * bid <= chain.balance]).toEqual([true, true]);
  chain.balance = 10n ** 20n;
  const dearer = eth.buildDearer?.(cancel.ok ? cancel.value.raw : raw, 0n);
  expect(dearer?.ok && evmTx(dearer.value.raw).tx.gasLimit).toBe(BigInt(usual) + 1_500_000n);
  // What is known by then takes nothing from it: its fee would be for less gas, and be paid.
  chain.data = { gas: 21_000n, wei: 0n };
  expect(eth.spendSize("cancel", dearer?.ok ? dearer.value.raw : raw)).toBe(usual + 1_500_000);
});

const DISPUTED = err({ kind: "Unreachable", message: "they contradict each other.", isDisputed: true } as const);

test.each([
  ["a token: all say less of its data, and that its transfer is carried out", "token", 0n, 90_000n, false],
  ["a token: all say as much of its data as is left", "token", 50_000n, 90_000n, false],
  ["a token: all say more", "token", 50_001n, 0n, true],
  ["a token: one of two says more", "token", null, 90_000n, false],
  ["a token: its transfer needs all that is left for it", "token", 0n, 140_000n, false],
  ["a token: its transfer needs more", "token", 0n, 140_001n, true],
  ["a token: its transfer needs more than its data leaves", "token", 20_000n, 120_001n, true],
  ["a token: nobody carries its transfer out", "token", 0n, null, false],
  ["plain coins: one of two says more", "eth", null, 10n ** 9n, false],
  ["plain coins: all say more of its data", "eth", 135_001n, 0n, true],
] as const)(
  "a claim that lacks gas does so surely where as many nodes say so as must agree: %s",
  async (_, of, beside, transferGas, expected) => {
    const call = { id: new Uint8Array(32), amount: 1n, secret: new Uint8Array(32), sender: address };
    const data = encodeSwapCall({ kind: "receiverSpend", ...call, token: of === "token" ? TOKEN : ZERO_ADDRESS });
    const tx = { chainId: 1n, nonce: 0n, gasLimit: 200_000n, to: SWAPS, value: 0n, data, gasPrice: 10n };
    chain.estimate = (_request, most = 0n) =>
      beside === null ? (most < 750_000n ? DISPUTED : ok(1_000_000n)) : ok(((21_000n + 40n * 196n) * 102n) / 100n + beside);
    chain.call = async (_request, _signal, gas) => {
      if (transferGas === null) return DISPUTED;
      return (gas ?? 0n) >= transferGas ? ok(new Uint8Array(0)) : err({ kind: "Reverted", data: null, message: "out of gas." });
    };
    const claim = signEvmTx({ type: "legacy", ...tx }, key).raw;
    expect(await coins[of].isSurelyShort?.(claim, signal)).toBe(expected);
  },
);

const transfer = (nonce: bigint, value: bigint, gasPrice = 10n ** 9n) =>
  signEvmTx({ type: "legacy", chainId: 1n, nonce, gasLimit: 21_000n, to: SWAPS, value, data: new Uint8Array(0), gasPrice }, key);

test("what waits for a block may still take it, once for each nonce", () => {
  chain.data = { gas: 21_000n, wei: W / 2n };
  nonces.adopt(transfer(0n, 5n).raw);
  nonces.adopt(transfer(0n, 5n, 2n * 10n ** 9n).raw);
  nonces.adopt(transfer(1n, 5n).raw);
  expect(nonces.outgoing().wei).toBe(10n + 3n * 21_000n * 10n ** 9n + 2n * W);
});

test("a transaction signed before is refused where its data would take what is promised to swaps", () => {
  chain.data = { gas: 21_000n, wei: W / 2n };
  const tx = transfer(0n, 5n);
  const cost = 5n + 21_000n * 10n ** 9n;
  const promised = (left: bigint) => funds.hold({ asset: null, amounts: [chain.balance - left], gas: 0n }, 1_000);
  const first = promised(cost + W);
  expect(funds.refusal(tx)).toBeNull();
  funds.release(first.ok ? first.value : expect.fail("nothing was held"));
  promised(cost + W - 1n);
  expect(funds.refusal(tx)).toMatch(/promised to swaps/);
});

test("a payment signed for its promise takes from it what its data may cost", () => {
  chain.data = { gas: 21_000n, wei: W / 2n };
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  const reserved = coins.eth.reserve([fromUnits(400n, 18)], 1_000);
  const reservation = reserved.ok ? reserved.value : expect.fail("nothing was held");
  const before = funds.gasOf(reservation.id);
  const paid = coins.eth.buildPayment({ contract: swap, reservation });
  expect(before - funds.gasOf(reservation.id)).toBe((paid.ok ? paid.value.fee : -1n) + W);
  // Without a promise it must be free.
  funds.hold({ asset: null, amounts: [funds.free(null) - 400n - (paid.ok ? paid.value.fee : 0n)], gas: 0n }, 1_000);
  expect(coins.eth.buildPayment({ contract: swap, reservation: null })).toMatchObject({
    ok: false,
    error: { kind: "NotSufficientBalance" },
  });
});

test("a claim is not signed where the account has its gas and not what its data may cost", () => {
  const gas = 65_000n * price();
  chain.data = { gas: 21_000n, wei: W / 2n };
  chain.balance = gas + W - 1n;
  expect(coins.eth.claimObstacle(null)).toBe("the ETH account lacks 1 wei for the claim's fee");
  chain.balance = gas + W;
  expect(coins.eth.claimObstacle(null)).toBeNull();
});

/** Blocks a minute apart, and all that each of them sets off. */
async function blocks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    clock.after(60_000, () => undefined);
    await clock.run({ untilMs: clock.nowMs() + 60_000 });
    chain.mine();
    for (let turns = 0; turns < 300; turns++) await Promise.resolve();
  }
}

test("an approval is sent only where its data can be paid, too", async () => {
  chain.data = { gas: 21_000n, wei: W / 2n };
  const common = { chain, key, address, gas: eth.account.gas, nonces, funds, log: new SilentLog() };
  const fee = 23_100n * price();
  chain.balance = fee + W - 1n;
  const allowances = new AllowanceKeeper(common);
  const ask = () => allowances.ensure(TOKEN, SWAPS, "key", 1n, signal);
  expect(await ask()).toMatch(new RegExp(`may cost ${fee + W} wei, and ${fee + W - 1n} are free$`));
  chain.balance = fee + W;
  expect(await ask()).toMatch(/was sent and waits for its block$/);
});

test("a filler of a nonce is sent only where its data can be paid, too", async () => {
  chain.data = { gas: 21_000n, wei: W / 2n };
  const keeper = new NonceKeeper({ chain, key, address, gas: eth.account.gas, nonces, funds, log: new SilentLog(), clock });
  keeper.start();
  nonces.adopt(transfer(1n, 0n).raw);
  const cost = nonces.outgoing().wei + 23_100n * price() + W;
  chain.balance = cost - 1n;
  await blocks(8);
  expect(chain.sent).toEqual([]);
  chain.balance = cost;
  await blocks(8);
  expect(chain.sent.length).toBeGreaterThan(0);
  await keeper.close();
});

test("what is asked of the oracle is as a contract reads it, of bytes as many as the longest transaction of a swap has", () => {
  const id = new Uint8Array(32).fill(1);
  const call = { id, amount: 1n, token: TOKEN, receiver: address, secretHash: id.subarray(0, 20), lockTime: 1n };
  const data = encodeSwapCall({ kind: "erc20Payment", ...call });
  const most = { maxFeePerGas: 10n ** 14n, maxPriorityFeePerGas: 10n ** 14n, gasLimit: 10n ** 7n, nonce: 2n ** 40n };
  const longest = signEvmTx({ type: "eip1559", chainId: 2n ** 40n, ...most, to: SWAPS, value: 10n ** 28n, data, accessList: [] }, key);
  expect(longest.raw.length).toBeLessThanOrEqual(SAMPLE_BYTES);
  const asked = toHex(l1FeeCall());
  expect(asked.slice(0, 8 + 128)).toBe(`49948e0e${"20".padStart(64, "0")}${(320).toString(16).padStart(64, "0")}`);
  expect(asked.length).toBe(8 + 128 + 640);
  expect(toHex(operatorFeeCall())).toBe(`275aedd2${(250_000).toString(16).padStart(64, "0")}`);
  expect(FEE_ORACLE).toBe("420000000000000000000000000000000000000f");
});

test.each([
  ["eth", "reveals"],
  ["token", "reveals"],
  ["eth", "waits"],
  ["token", "waits"],
] as const)(
  "where data counts as gas, no secret is shown while nodes do not say what it needs now: a claim of %s that %s",
  async (of, how) => {
    asArbitrum(400_000n);
    const honest = chain.estimate;
    let isSilent = false;
    chain.estimate = (request) =>
      isSilent && request.data.length === CALL_SAMPLE.length ? err({ kind: "Unreachable", message: "nobody says" }) : honest(request);
    vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue({ state: "sent" } as ReturnType<AccountChain["payment"]>);
    const swap: Contract = {
      ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
      ...{ units: 400n, swapContract: SWAPS },
    };
    const asset = of === "token" ? TOKEN : ZERO_ADDRESS;
    const call = { id: new Uint8Array(32), amount: 1n, secret: new Uint8Array(32), token: asset, sender: address };
    const data = encodeSwapCall({ kind: "receiverSpend", ...call });
    const tx = { chainId: 1n, nonce: 0n, gasLimit: 950_000n, to: SWAPS, value: 0n, data, gasPrice: 10n };
    const raw = signEvmTx({ type: "legacy", ...tx }, key).raw;
    const tried = () => (how === "reveals" ? coins[of].prepareToSpend(swap, signal) : coins[of].isHopeless?.(raw, true, signal));
    const [paid, unknown] =
      how === "reveals"
        ? [null, { isRefused: false, reason: "what the data of a transaction needs on ETH now is not known" }]
        : [false, null];
    expect(await tried()).toEqual(paid);
    isSilent = true;
    expect(await tried()).toEqual(unknown);
    // A chain that takes nothing for data has nobody asked for that.
    chain.data = { gas: 21_000n, wei: 0n };
    expect(await tried()).toEqual(paid);
  },
);

test("where data is paid for from the balance a token's claim is tried as though its contract had some, and stays home where nodes refuse even so", async () => {
  vi.spyOn<AccountChain, "payment">(chain, "payment").mockReturnValue({ state: "sent" } as ReturnType<AccountChain["payment"]>);
  const swap: Contract = {
    ...{ lock: 1_800_000_000, secretHash: new Uint8Array(20).fill(3), refundKey: key.publicKey, claimKey: key.publicKey },
    ...{ units: 400n, swapContract: SWAPS },
  };
  // As anvil: whoever has nothing is not tried.
  chain.estimate = ({ to, isFunded }) =>
    to !== TOKEN || isFunded ? ok(40_000n) : err({ kind: "Refused", message: "Insufficient funds for gas * price + value." });
  chain.data = { gas: 21_000n, wei: 1n };
  expect(await coins.token.prepareToSpend(swap, signal)).toBeNull();
  chain.estimate = ({ to }) => (to === TOKEN ? err({ kind: "Refused", message: "daily request count exceeded." }) : ok(21_000n));
  const open = { isRefused: false, reason: expect.stringContaining("daily request count exceeded") };
  expect(await coins.token.prepareToSpend(swap, signal)).toEqual(open);
});
