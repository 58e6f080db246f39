import { beforeEach, expect, test, vi } from "vitest";
import { ETH_ENTRY, evmCoinOf, tokenEntry } from "../../../../test/fakes/evmCoins.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressFromBytes, addressOfPubkey } from "../../../core/evm/address.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { fromUnits } from "../../../core/money/rational.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { CallRequest } from "../../../ports/accountChain.ts";
import type { Contract, SwapCoin } from "../../swap/swapCoin.ts";
import { AccountFunds } from "./accountFunds.ts";
import { NonceLedger } from "./nonceLedger.ts";
import { agreedPayment } from "./paymentScript.ts";

const keyOf = (byte: number) => keyPairFromScalar(new Uint8Array(32).fill(byte)) ?? expect.fail("no key");
const [key, other] = [keyOf(7), keyOf(8)];
const address = addressOfPubkey(key.publicKey);
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const SWAPS = addressFromBytes(new Uint8Array(20).fill(0x5a));
const UNITS = 400n;
const { signal } = new AbortController();

let chain: FakeAccountChain;
let funds: AccountFunds;
let coins: { readonly eth: SwapCoin; readonly token: SwapCoin; readonly market: SwapCoin };
let asked: CallRequest[];
beforeEach(async () => {
  chain = new FakeAccountChain();
  chain.balance = 10n ** 18n;
  chain.tokenBalances.set(TOKEN, 1_000n);
  const clock = new VirtualClock();
  const nonces = new NonceLedger({
    chain,
    address,
    store: createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA])),
    log: new SilentLog(),
  });
  await chain.watchAccount(address);
  await chain.watchTokens(address, [TOKEN]);
  await nonces.open();
  funds = new AccountFunds({ chain, address, nonces, clock });
  const parts = { chain, key, nonces, clock, funds };
  const market = { ...ETH_ENTRY, swap_gas_fee_policy: "Medium" };
  const [eth, token] = [evmCoinOf(ETH_ENTRY, parts), evmCoinOf(tokenEntry(TOKEN), parts)];
  coins = { eth: eth.swapCoin, token: token.swapCoin, market: evmCoinOf(market, parts).swapCoin };
  asked = [];
});

const contract: Contract = {
  lock: 1_800_000_000,
  secretHash: new Uint8Array(20).fill(3),
  refundKey: key.publicKey,
  claimKey: other.publicKey,
  units: UNITS,
  swapContract: SWAPS,
};
/** Payments come to `gas`; approvals and allowances are no hindrance. */
const estimates = (answer: ReturnType<FakeAccountChain["estimate"]>): void => {
  chain.allowances.set(`${TOKEN}/${SWAPS}`, UNITS);
  chain.estimate = (request) => {
    if (request.to !== SWAPS) return null;
    asked.push(request);
    return answer;
  };
};
const signed = (coin: SwapCoin) => {
  const built = coin.buildPayment({ contract, reservation: null });
  const parsed = parseEvmTx(built.ok ? built.value.raw : expect.fail(built.error.kind));
  return parsed.ok ? parsed.value.tx : expect.fail("no transaction");
};

test.each(["eth", "token"] as const)("a payment of %s is tried as it will be signed, with the usual gas where that does", async (of) => {
  estimates(ok(50_000n));
  expect(await coins[of].prepareToPay(contract, null, signal)).toBeNull();
  const tx = signed(coins[of]);
  expect(asked).toEqual([{ from: address, to: tx.to, value: tx.value, data: tx.data }]);
  expect([tx.to, tx.value, tx.gasLimit]).toEqual([SWAPS, of === "eth" ? UNITS : 0n, of === "eth" ? 65_000n : 150_000n]);
});

test.each(["eth", "token"] as const)("a payment of %s that the chain would refuse is not made, and the reason is told", async (of) => {
  estimates(err({ kind: "Reverted", data: null, message: "The contract is closed." }));
  expect(await coins[of].prepareToPay(contract, null, signal)).toMatch(/^the payment of (ETH|T) would fail: The contract is closed$/);
});

test("a payment that needs more gas than the usual limit gets what it was found to need and a part more; ten times as much is refused", async () => {
  estimates(ok(200_000n));
  expect(await coins.eth.prepareToPay(contract, null, signal)).toBeNull();
  expect(signed(coins.eth).gasLimit).toBe(260_000n);
  estimates(ok(2_000_000n));
  expect(await coins.eth.prepareToPay(contract, null, signal)).toBe("a payment of ETH needs 2000000 gas, far more than the usual 65000");
});

test("gas that was found for payments that are never made is kept of the last thousand, which is as many as are promised at once", async () => {
  const other = (n: number): Contract => ({ ...contract, lock: contract.lock + n });
  estimates(ok(200_000n));
  for (let n = 0; n <= 1_000; n++) expect(await coins.eth.prepareToPay(other(n), null, signal)).toBeNull();
  // One that is tried again counts as new.
  expect(await coins.eth.prepareToPay(other(1), null, signal)).toBeNull();
  expect(await coins.eth.prepareToPay(other(1_001), null, signal)).toBeNull();
  const gasOf = (n: number): bigint => {
    const built = coins.eth.buildPayment({ contract: other(n), reservation: null });
    const parsed = parseEvmTx(built.ok ? built.value.raw : expect.fail(built.error.kind));
    return parsed.ok ? parsed.value.tx.gasLimit : expect.fail("no transaction");
  };
  expect([0, 2, 1, 3, 1_001].map(gasOf)).toEqual([65_000n, 65_000n, 260_000n, 260_000n, 260_000n]);
});

const tooDear = 10_001n * 10n ** 9n;
test.each<readonly [string, () => void, (coin: SwapCoin) => void]>([
  ["the chain would refuse", () => estimates(err({ kind: "Reverted", data: null, message: "Closed." })), () => undefined],
  [
    "is not signed, gas being dear,",
    () => estimates(ok(50_000n)),
    (coin) => {
      const { prices } = chain;
      chain.prices = { legacy: tooDear, nextBaseFee: 1n, priority: { low: tooDear, medium: tooDear, high: tooDear } };
      expect(coin.buildPayment({ contract, reservation: null }).ok).toBe(false);
      chain.prices = prices;
    },
  ],
])("a payment that %s keeps no other from a new allowance", async (_, estimate, build) => {
  estimate();
  await coins.token.prepareToPay(contract, null, signal);
  build(coins.token);
  const resets = err({ kind: "Reverted" as const, data: null, message: "reset first" });
  chain.estimate = ({ data }) => (data.at(-1) === 0 && data.at(-2) === 0 ? null : resets);
  const more = { ...contract, lock: contract.lock + 1, units: 2n * UNITS };
  expect(await coins.token.prepareToPay(more, null, signal)).toMatch(
    /^the approval [0-9a-f]{64} of token \S+ was sent and waits for its block$/,
  );
});

test("a dex fee of a token is tried as it will be signed, and gets what it was found to need and a part more", async () => {
  const fee = async (gas: ReturnType<FakeAccountChain["estimate"]>) => {
    chain.estimate = (request) => {
      asked.push(request);
      return gas;
    };
    return coins.token.prepareToPayFee?.(other.publicKey, UNITS, signal);
  };
  expect(await fee(ok(300_000n))).toBeNull();
  const args = { feeKey: other.publicKey, feeUnits: UNITS, burnUnits: 0n, reservation: null };
  const built = coins.token.buildDexFee(args);
  const parsed = parseEvmTx(built.ok ? built.value.raw : expect.fail(built.error.kind));
  const tx = parsed.ok ? parsed.value.tx : expect.fail("no transaction");
  expect([tx.gasLimit, tx.to]).toEqual([390_000n, TOKEN]);
  expect(asked).toEqual([{ from: address, to: tx.to, value: tx.value, data: tx.data }]);
  expect(await fee(ok(1_200_000n))).toBe("a transfer of T needs 1200000 gas, far more than any swap reckons with");
  expect(await fee(err({ kind: "Reverted", data: null, message: "Closed." }))).toBe("a dex fee of T would fail: Closed");
  chain.trouble = "nobody is there";
  expect(await fee(null)).toBe("whether a dex fee of T arrives is not known: nobody is there");
  expect(await coins.eth.prepareToPayFee?.(other.publicKey, UNITS, signal)).toBeNull();
});

test("nodes that do not answer: nothing is made on what is not known, and nothing else is said", async () => {
  chain.trouble = "nobody is there";
  expect(await coins.eth.prepareToPay(contract, null, signal)).toBe("whether a payment of ETH goes through is not known: nobody is there");
});

test.each([
  ["eth", { asset: null, amounts: [10n ** 18n - 500n], gas: 0n }],
  ["token", { asset: TOKEN, amounts: [700n], gas: 0n }],
  ["token", { asset: null, amounts: [], gas: 10n ** 18n }],
] as const)("a swap of %s that nothing could be held for takes nothing of what others were promised: %o", (of, promised) => {
  const others = funds.hold(promised, null);
  const pay = () => coins[of].buildPayment({ contract, reservation: null });
  expect(pay()).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance" } });
  funds.release(others.ok ? others.value : expect.fail("nothing was held"));
  expect(pay()).toMatchObject({ ok: true });
});

test("nor does it pay what nodes ask that ask anything", () => {
  const absurd = 10_001n * 10n ** 9n;
  chain.prices = { legacy: absurd, nextBaseFee: 1n, priority: { low: absurd, medium: absurd, high: absurd } };
  expect(coins.eth.buildPayment({ contract, reservation: null })).toMatchObject({
    ok: false,
    error: { kind: "Transport", message: expect.stringContaining("which is not paid") },
  });
});

test("a claim or refund is hopeless where the chain would refuse its very call, a cancellation never, and nobody's silence makes one so", async () => {
  const call = {
    kind: "receiverSpend",
    id: new Uint8Array(32),
    amount: UNITS,
    secret: new Uint8Array(32),
    token: TOKEN,
    sender: address,
  } as const;
  const sign = (data: Uint8Array): Uint8Array =>
    signEvmTx({ type: "legacy", chainId: 1n, nonce: 0n, gasLimit: 65_000n, to: SWAPS, value: 0n, data, gasPrice: 10n ** 10n }, key).raw;
  const claim = sign(encodeSwapCall(call));
  const told = { kind: "Reverted", data: null, message: "NotOpen" } as const;
  const tried: CallRequest[] = [];
  const isHopeless = (raw: Uint8Array, answer: ReturnType<FakeAccountChain["answer"]>): Promise<boolean | null> => {
    chain.answer = (request) => {
      tried.push(request);
      return answer;
    };
    return coins.eth.isHopeless?.(raw, false, signal) ?? expect.fail("nobody can say");
  };
  expect(await isHopeless(claim, err(told))).toBe(true);
  expect(tried).toEqual([{ from: address, to: SWAPS, value: 0n, data: encodeSwapCall(call) }]);
  expect(await isHopeless(claim, null)).toBe(false);
  expect(await isHopeless(claim, err({ kind: "Unreachable", message: "nobody is there" }))).toBe(null);
  expect(await isHopeless(sign(new Uint8Array(0)), err(told))).toBe(null);
});

test("a claim that was signed before its data became dearer stays here", async () => {
  const call = { chainId: 1n, nonce: 0n, gasLimit: 65_000n, to: SWAPS, value: 0n, data: new Uint8Array(0), gasPrice: 10n ** 10n };
  const claim = signEvmTx({ type: "legacy", ...call }, key).raw;
  const obstacle = async (gas: bigint): Promise<string | null> => {
    chain.gas = gas;
    await coins.eth.prepareToSpend(contract, signal);
    return coins.eth.claimObstacle(claim);
  };
  expect(await obstacle(29_000n)).toBeNull();
  expect(await obstacle(129_416n)).toBe("the claim of ETH was signed with 65000 gas, and would need 165000 now");
  expect(await obstacle(29_000n)).toBeNull();
});

test("a payment of this run stands for what the contract has though no node shows it, one that never left does not", async () => {
  const script = coins.eth.contractScript(contract);
  const { key: payment, paymentHash, lockTime } = agreedPayment(script);
  await coins.eth.chain.watchScript(script, 0);
  const built = coins.eth.buildPayment({ contract, reservation: null });
  const { txid, raw } = built.ok ? built.value : expect.fail(built.error.kind);
  const there = {
    ...payment,
    paymentHash,
    lockTime,
    state: "sent",
    events: "missing",
    sent: null,
    spent: null,
    refunded: null,
    unshown: null,
  };
  Object.assign(chain, { payment: () => there });
  chain.nonce += 1n;
  expect(coins.eth.chain.outputs(script)).toMatchObject([{ txid, block: null }]);
  coins.eth.releaseInputs(raw);
  expect(coins.eth.chain.outputs(script)).toEqual([]);
});

test("gas that no block has is not signed with: a payment is refused, a cancellation and whatever spends takes what a block has", async () => {
  estimates(ok(600_000n));
  chain.gasLimit = 700_000n;
  expect(await coins.token.prepareToPay(contract, null, signal)).toBe("a payment of T needs 600000 gas, too much for a block");
  const payment = coins.token.buildPayment({ contract, reservation: null });
  const { raw } = payment.ok ? payment.value : expect.fail("no payment");
  chain.gasLimit = 50_000n;
  expect(coins.token.claimObstacle(raw)).toMatch(/ was signed with \d+ gas, more than a block has$/);
  expect(coins.token.buildPayment({ contract, reservation: null })).toMatchObject({ ok: false, error: { kind: "Internal" } });
  chain.data = { gas: 121_000n, wei: 0n };
  const cancel = coins.token.buildCancel(raw);
  const parsed = cancel.ok ? parseEvmTx(cancel.value.raw) : expect.fail("no cancellation");
  expect(parsed.ok && parsed.value.tx.gasLimit).toBe(50_000n);
  expect(coins.token.spendSize("refund")).toBe(50_000);
  expect(coins.token.spendTooDear()).toMatch(/^a claim of T needs \d+ gas, more than a block has$/);
});

test("a claim or refund is signed at a price the account can pay, whatever nodes ask: a refused bid is never lowered", () => {
  const affordable = 4n * 10n ** 9n;
  const lie = 50n * 10n ** 9n;
  chain.prices = { legacy: lie, nextBaseFee: affordable / 8n, priority: { low: lie, medium: lie, high: lie } };
  const { key: payment, paymentHash, lockTime } = agreedPayment(coins.eth.contractScript(contract));
  Object.assign(chain, { payment: () => ({ ...payment, paymentHash, lockTime, state: "sent", events: "all", unshown: null }) });
  const spend = { contract, payment: new Uint8Array(0), fee: 65_000n * lie };
  for (const build of [() => coins.eth.buildClaim({ ...spend, secret: new Uint8Array(32) }), () => coins.eth.buildRefund(spend)]) {
    chain.balance = 10n ** 18n;
    const rich = build();
    const { fee, raw } = rich.ok ? rich.value : expect.fail(rich.error.kind);
    expect(fee % lie).toBe(0n);
    const gas = fee / lie;
    coins.eth.releaseInputs(raw);
    chain.balance = gas * affordable;
    const built = build();
    expect(built).toMatchObject({ ok: true, value: { fee: gas * affordable } });
    coins.eth.releaseInputs(built.ok ? built.value.raw : expect.fail("not built"));
  }
});

/** What a swap of this coin was promised at the present price. */
function reserved(coin: SwapCoin) {
  const held = coin.reserve([fromUnits(1n, coin.decimals), fromUnits(UNITS, coin.decimals)], 3_600_000);
  return held.ok ? held.value : expect.fail(held.error.kind);
}
function priceTimes(factor: bigint): void {
  const { legacy, nextBaseFee, priority } = chain.prices ?? expect.fail("no prices");
  const times = (price: bigint) => price * factor;
  chain.prices = {
    legacy: times(legacy),
    nextBaseFee: nextBaseFee && times(nextBaseFee),
    priority: priority && { low: times(priority.low), medium: times(priority.medium), high: times(priority.high) },
  };
}

test.each(["eth", "token"] as const)(
  "a payment or dex fee of %s is not signed at a price above what was reserved, also where the price rose just now",
  (of) => {
    const coin = coins[of];
    const reservation = reserved(coin);
    const fee = () => coin.buildDexFee({ feeUnits: 1n, burnUnits: 0n, feeKey: other.publicKey, reservation });
    const pay = () => coin.buildPayment({ contract, reservation });
    priceTimes(9n);
    for (const build of [fee, pay])
      expect(build()).toMatchObject({
        ok: false,
        error: { kind: "Transport", message: expect.stringContaining("reserved for this swap") },
      });
    chain.prices = { legacy: 10n ** 10n, nextBaseFee: 10n ** 9n, priority: null };
    const there = chain.nonce;
    expect([fee(), pay()].map((built) => built.ok && parseEvmTx(built.value.raw))).toMatchObject([
      { value: { tx: { nonce: there } } },
      { value: { tx: { nonce: there + 1n } } },
    ]);
  },
);

test("a cancellation offers no absurd price, whatever the nodes ask", () => {
  const payment = coins.eth.buildPayment({ contract, reservation: null });
  const { raw } = payment.ok ? payment.value : expect.fail("no payment");
  priceTimes(1_000_000n);
  const cancel = coins.eth.buildCancel(raw);
  const parsed = cancel.ok ? parseEvmTx(cancel.value.raw) : expect.fail("no cancellation");
  expect(parsed).toMatchObject({ ok: true, value: { tx: { nonce: chain.nonce, gasPrice: 10_000n * 10n ** 9n } } });
});

test("a payment that needs more gas than was reckoned with takes nothing of what is held for the refund, and for others", async () => {
  const { token } = coins;
  const reservation = reserved(token);
  estimates(ok(1_100_000n));
  expect(await token.prepareToPay(contract, null, signal)).toBeNull();
  priceTimes(7n);
  const pay = () => token.buildPayment({ contract, reservation });
  const others = funds.hold({ asset: null, amounts: [], gas: funds.free(null) }, null);
  expect(pay()).toMatchObject({ ok: false, error: { kind: "Transport", message: expect.stringContaining("later steps") } });
  funds.release(others.ok ? others.value : expect.fail("nothing was held"));
  expect(pay()).toMatchObject({ ok: true });
});

test("where little is left of what was held, a payment bids less than its ceiling, and no less than the market", () => {
  const coin = coins.market;
  const reservation = reserved(coin);
  const [held, gas, refundGas] = [funds.gasOf(reservation.id), 65_000n, 100_000n];
  // As approvals do that cost more than was reckoned with.
  funds.use(reservation.id, 0n, held / 2n, "ab".repeat(32));
  const others = funds.hold({ asset: null, amounts: [], gas: funds.free(null) }, null);
  const built = coin.buildPayment({ contract, reservation });
  const parsed = built.ok ? parseEvmTx(built.value.raw) : expect.fail(built.error.kind);
  expect(parsed).toMatchObject({ value: { tx: { maxFeePerGas: (held - held / 2n) / (gas + refundGas) } } });
  expect(others.ok).toBe(true);
});

test("what was held for a claim stays held to make it dearer once it is signed, and counts each version once", () => {
  const { eth } = coins;
  vi.spyOn(chain, "payment").mockReturnValue({ state: "sent" } as never);
  const held = eth.reserveClaim(3_600_000);
  const reservation = (held.ok ? held.value : null) ?? expect.fail("nothing was held");
  const free = funds.free(null);
  const args = { contract, payment: new Uint8Array(0), secret: new Uint8Array(32) };
  const first = eth.buildClaim(args);
  const { raw, fee } = first.ok ? first.value : expect.fail("no claim");
  eth.useClaimGas?.(reservation, raw);
  expect([funds.free(null), funds.gasOf(reservation.id)]).toEqual([free, 7n * fee]);
  const second = eth.buildClaim({ ...args, fee: 3n * fee, replaces: raw });
  const dearer = second.ok ? second.value : expect.fail("no second claim");
  eth.useClaimGas?.(reservation, dearer.raw);
  eth.useClaimGas?.(reservation, dearer.raw);
  expect([funds.free(null), funds.gasOf(reservation.id)]).toEqual([free, 8n * fee - dearer.fee]);
});

test("a claim that is made dearer bids what the account has, and follows the price again once that has fallen", () => {
  const { market } = coins;
  vi.spyOn(chain, "payment").mockReturnValue({ state: "sent" } as never);
  const args = { contract, payment: new Uint8Array(0), secret: new Uint8Array(32) };
  const made = (built: ReturnType<SwapCoin["buildClaim"]>) => (built.ok ? built.value : expect.fail(built.error.kind));
  const first = made(market.buildClaim(args));
  chain.balance = 10n * first.fee;
  const second = made(market.buildClaim({ ...args, fee: 50n * first.fee, replaces: first.raw }));
  expect([second.fee <= chain.balance, second.fee > 9n * first.fee]).toEqual([true, true]);
  expect(market.buildClaim({ ...args, fee: 60n * first.fee, replaces: second.raw })).toMatchObject({ ok: false });
  chain.trouble = "too few answer";
  expect(market.buildClaim({ ...args, fee: 60n * first.fee, replaces: second.raw })).toMatchObject({ ok: true });
  chain.trouble = null;
  chain.balance = 20n * first.fee;
  expect(made(market.buildClaim({ ...args, fee: 50n * first.fee, replaces: second.raw })).fee).toBeGreaterThan(19n * first.fee);
});

test("while nothing is known of data, no claim takes so much gas for that, of a small account, that nodes refuse it or a dearer one before it", () => {
  const { key: payment, paymentHash, lockTime } = agreedPayment(coins.eth.contractScript(contract));
  Object.assign(chain, { payment: () => ({ ...payment, paymentHash, lockTime, state: "sent", events: "all", unshown: null }) });
  const claimAt = (price: bigint, former?: Uint8Array) => {
    chain.prices = { legacy: price, nextBaseFee: null, priority: null };
    const fee = BigInt(coins.eth.spendSize("claim", former)) * price;
    const spend = { contract, payment: new Uint8Array(0), fee, secret: new Uint8Array(32) };
    const built = former ? coins.eth.buildDearer?.(former, fee) : coins.eth.buildClaim(spend);
    const { raw } = built?.ok ? built.value : expect.fail("no claim");
    const parsed = parseEvmTx(raw);
    const tx = parsed.ok && parsed.value.tx.type === "legacy" ? parsed.value.tx : expect.fail("no transaction");
    return { raw, ...tx, cost: tx.gasPrice * tx.gasLimit };
  };
  const price = 10n ** 10n;
  chain.data = null;
  // It has what twenty claims of the usual gas cost.
  chain.balance = 20n * 65_000n * price;
  const [first, second] = [claimAt(price), claimAt(price)];
  expect(first.gasLimit).toBeGreaterThan(10n * 65_000n);
  expect(second.gasPrice).toBe(price);
  expect(first.cost + second.cost).toBeLessThanOrEqual(chain.balance);
  const dearer = claimAt(3n * price, first.raw);
  expect(dearer.gasPrice).toBe(3n * price);
  expect(dearer.cost + second.cost).toBeLessThanOrEqual(chain.balance);
  expect(dearer.gasLimit).toBeGreaterThan(65_000n);
});

test("a claim that the account can pay less for than the market asks keeps the tip below which the nodes of Polygon take nothing", () => {
  const { market } = coins;
  const gwei = 10n ** 9n;
  const [least, high] = [25n * gwei, 30n * gwei];
  chain.prices = { legacy: 60n * gwei, nextBaseFee: 30n * gwei, priority: { low: least, medium: least, high } };
  vi.spyOn(chain, "payment").mockReturnValue({ state: "sent" } as never);
  const args = { contract, payment: new Uint8Array(0), secret: new Uint8Array(32) };
  const bidOf = () => {
    const built = market.buildClaim(args);
    const parsed = built.ok ? parseEvmTx(built.value.raw) : expect.fail(built.error.kind);
    if (!parsed.ok || parsed.value.tx.type !== "eip1559") throw new Error("another type");
    market.releaseInputs(built.ok ? built.value.raw : new Uint8Array(0));
    return parsed.value.tx;
  };
  const { gasLimit, maxFeePerGas } = bidOf();
  chain.balance = (gasLimit * maxFeePerGas * 3n) / 4n;
  const bid = bidOf();
  expect(bid.maxFeePerGas).toBe((maxFeePerGas * 3n) / 4n);
  expect(bid.maxPriorityFeePerGas).toBeGreaterThanOrEqual(least);
});

test("what else waits keeps no claim from being made dearer by the least step, should that never be mined", () => {
  const { eth, market } = coins;
  vi.spyOn(chain, "payment").mockReturnValue({ state: "sent" } as never);
  const args = { contract, payment: new Uint8Array(0), secret: new Uint8Array(32) };
  const first = market.buildClaim(args);
  const { raw, fee } = first.ok ? first.value : expect.fail("no claim");
  const payment = eth.buildPayment({ contract: { ...contract, units: 10n ** 18n / 2n }, reservation: null });
  expect(payment.ok).toBe(true);
  chain.balance = 10n ** 18n / 2n;
  const second = market.buildClaim({ ...args, fee: 50n * fee, replaces: raw });
  expect(second).toMatchObject({ ok: true });
});
