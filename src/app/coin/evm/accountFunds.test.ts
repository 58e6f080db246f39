import { beforeEach, expect, test } from "vitest";
import { ETH_ENTRY, evmCoinOf, tokenEntry } from "../../../../test/fakes/evmCoins.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressFromBytes, addressOfPubkey, checksumAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { fromUnits } from "../../../core/money/rational.ts";
import type { Reservation } from "../../tradingCoin.ts";
import { AccountFunds } from "./accountFunds.ts";
import type { EvmCoin } from "./evmCoin.ts";
import type { EvmSwapCoin } from "./evmSwapCoin.ts";
import { NonceLedger } from "./nonceLedger.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const OTHER = addressFromBytes(new Uint8Array(20).fill(0x12));

const coinOf = (entry: unknown): EvmCoin => evmCoinOf(entry, { chain, key, nonces, funds, clock });

let chain: FakeAccountChain;
let clock: VirtualClock;
let nonces: NonceLedger;
let funds: AccountFunds;
beforeEach(async () => {
  chain = new FakeAccountChain();
  chain.balance = 1_000n;
  chain.tokenBalances.set(TOKEN, 500n);
  clock = new VirtualClock();
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  await chain.watchTokens(address, [TOKEN]);
  await nonces.open();
  funds = new AccountFunds({ chain, address, nonces, clock });
});

const held = (request: Parameters<AccountFunds["hold"]>[0], ttlMs: number | null = null): string => {
  const hold = funds.hold(request, ttlMs);
  return hold.ok ? hold.value : expect.fail(`nothing was held: ${hold.error.required} of ${hold.error.available}`);
};
const figures = () => [funds.free(null), funds.held(null), funds.free(TOKEN), funds.held(TOKEN)];
/** A payment with a fee of `fee`, at one wei per gas. */
const sign = (nonce: bigint, value: bigint, fee: bigint, to = ZERO_ADDRESS, data: Uint8Array = new Uint8Array(0)): SignedEvmTx =>
  signEvmTx({ type: "legacy", chainId: 1n, nonce, gasLimit: fee, to, value, data, gasPrice: 1n }, key);

test("a token's payments and their gas are promised together, or neither is; what is missing is named", () => {
  expect(figures()).toEqual([1_000n, 0n, 500n, 0n]);
  held({ asset: TOKEN, amounts: [300n, 50n], gas: 600n });
  expect(figures()).toEqual([400n, 600n, 150n, 350n]);
  const short = (asset: typeof TOKEN | null, available: bigint, required: bigint) => ({
    ok: false,
    error: { kind: "NotEnough", asset, available, required },
  });
  expect(funds.hold({ asset: TOKEN, amounts: [151n], gas: 1n }, null)).toEqual(short(TOKEN, 150n, 151n));
  expect(funds.hold({ asset: TOKEN, amounts: [150n], gas: 401n }, null)).toEqual(short(null, 400n, 401n));
  expect(funds.hold({ asset: null, amounts: [300n], gas: 101n }, null)).toEqual(short(null, 400n, 401n));
  expect(funds.hold({ asset: OTHER, amounts: [1n], gas: 0n }, null)).toEqual(short(OTHER, 0n, 1n));
  expect(figures()).toEqual([400n, 600n, 150n, 350n]);
  held({ asset: null, amounts: [300n], gas: 100n });
  held({ asset: TOKEN, amounts: [150n], gas: 0n });
  expect(figures()).toEqual([0n, 1_000n, 0n, 500n]);
});

test("reckoned as if a hold were not held, neither its amounts nor its gas count, of a token and of the coin that pays", () => {
  held({ asset: null, amounts: [100n], gas: 50n });
  const left = new Set([
    held({ asset: TOKEN, amounts: [300n], gas: 200n }),
    held({ asset: null, amounts: [10n], gas: 5n }),
    "hold-of-yore",
  ]);
  expect(figures()).toEqual([635n, 365n, 200n, 300n]);
  expect([funds.free(null, left), funds.held(null, left), funds.free(TOKEN, left), funds.held(TOKEN, left)]).toEqual([
    850n,
    150n,
    500n,
    0n,
  ]);
});

test("a promise of before a restart takes what gas there is where it costs more now; its amounts are there whole or not at all", () => {
  const again = (request: Parameters<AccountFunds["hold"]>[0]) => held({ ...request, orLessGas: true });
  const [full, less, none] = [
    again({ asset: TOKEN, amounts: [100n], gas: 700n }),
    again({ asset: null, amounts: [250n], gas: 100n }),
    again({ asset: TOKEN, amounts: [100n], gas: 100n }),
  ];
  expect([full, less, none].map((id) => funds.gasOf(id))).toEqual([700n, 50n, 0n]);
  expect(figures()).toEqual([0n, 1_000n, 300n, 200n]);
  expect(funds.hold({ asset: null, amounts: [], gas: 1n }, null)).toMatchObject({ ok: false, error: { available: 0n } });
  expect(funds.hold({ asset: TOKEN, amounts: [301n], gas: 1n, orLessGas: true }, null)).toMatchObject({
    ok: false,
    error: { asset: TOKEN },
  });
  expect(funds.hold({ asset: null, amounts: [1n], gas: 1n, orLessGas: true }, null)).toMatchObject({ ok: false, error: { required: 1n } });
});

test("what was signed for moves from the hold to the waiting transactions, and is never counted twice or not at all", () => {
  const id = held({ asset: null, amounts: [200n, 100n], gas: 90n });
  const before = funds.free(null);
  const tx = nonces.take((nonce) => sign(nonce, 200n, 30n)) ?? expect.fail("none");
  funds.use(id, 200n, 30n, tx.txid);
  funds.use(id, 200n, 30n, tx.txid);
  expect([funds.free(null), funds.held(null), funds.gasOf(id)]).toEqual([before, 160n, 60n]);
  // In a block: it cost less than it might have, and the rest of the hold stands.
  [chain.nonce, chain.pendingNonce, chain.balance] = [1n, 1n, 1_000n - 200n - 10n];
  expect([funds.free(null), funds.held(null)]).toEqual([630n, 160n]);
  funds.release(id);
  expect([funds.free(null), funds.held(null)]).toEqual([790n, 0n]);
});

test("what a transaction that was never sent took is promised again", () => {
  const id = held({ asset: TOKEN, amounts: [200n], gas: 90n });
  const before = figures();
  const tx = nonces.take((nonce) => sign(nonce, 0n, 30n, TOKEN, transferCall(OTHER, 200n))) ?? expect.fail("none");
  funds.use(id, 200n, 30n, tx.txid);
  expect(figures()).toEqual([before[0], 60n, before[2], 0n]);
  nonces.free(tx.txid);
  funds.giveBack(tx.txid);
  funds.giveBack(tx.txid);
  expect(figures()).toEqual(before);
});

test("a claim takes gas only, a dearer one in its place the difference, and never more than is held", () => {
  const id = held({ asset: null, amounts: [], gas: 90n });
  funds.use(id, 0n, 30n, "claim");
  expect(funds.gasOf(id)).toBe(60n);
  funds.use(id, 0n, 10n, "dearer");
  expect(funds.gasOf(id)).toBe(50n);
  funds.use(id, 0n, 80n, "far dearer");
  expect(funds.gasOf(id)).toBe(0n);
  funds.giveBack("far dearer");
  expect(funds.gasOf(id)).toBe(50n);
});

test("a hold ends by itself after its time, unless a swap takes it over", async () => {
  held({ asset: null, amounts: [100n], gas: 0n }, 1_000);
  const kept = held({ asset: null, amounts: [10n], gas: 0n }, 1_000);
  funds.keep(kept);
  let changes = 0;
  const off = funds.onChange(() => changes++);
  await clock.run({ untilMs: clock.nowMs() + 2_000 });
  expect([funds.held(null), changes]).toEqual([10n, 1]);
  off();
  funds.release(kept);
  funds.release(kept);
  expect([funds.held(null), changes]).toEqual([0n, 1]);
});

test("a transaction signed before is refused when it would take what was promised since; one that is counted is not", async () => {
  const tx = sign(0n, 600n, 100n);
  expect(funds.refusal(tx)).toBeNull();
  const id = held({ asset: null, amounts: [301n], gas: 0n });
  expect(funds.refusal(tx)).toBe("it takes coins that are promised to swaps; make a new one with withdraw");
  expect(funds.refusal(sign(0n, 0n, 1n, TOKEN, transferCall(OTHER, 500n)))).toBeNull();
  const tokens = held({ asset: TOKEN, amounts: [1n], gas: 0n });
  expect(funds.refusal(sign(0n, 0n, 1n, TOKEN, transferCall(OTHER, 500n)))).toContain("promised to swaps");
  expect(funds.refusal(sign(0n, 0n, 1n, TOKEN, transferCall(OTHER, 499n)))).toBeNull();
  for (const hold of [id, tokens]) funds.release(hold);
  await nonces.send(tx, new AbortController().signal);
  held({ asset: null, amounts: [300n], gas: 0n });
  expect(funds.refusal(tx)).toBeNull();
  // One in its place takes only what it costs more.
  expect(funds.refusal(sign(0n, 600n, 99n))).toBeNull();
  expect(funds.refusal(sign(0n, 600n, 101n))).toContain("promised to swaps");
});

test("a thousand holds at most", () => {
  for (let i = 0; i < 1_000; i++) held({ asset: null, amounts: [0n], gas: 1n });
  chain.balance = 10_000n;
  expect(funds.hold({ asset: null, amounts: [1n], gas: 0n }, null)).toMatchObject({ ok: false, error: { available: 0n } });
});

test("a swap that found too little gas after a restart is paid for once there is more, or it costs no more than what is held", () => {
  const coin = coinOf(tokenEntry(TOKEN)).swapCoin as EvmSwapCoin;
  const price = coin.spendRates().rate.perKb / 1_000n;
  const enough = 10n ** 18n;
  chain.balance = enough;
  const holdAgain = (): Reservation => {
    const [again] = coin.reserveAgain([{ amounts: [100n], ttlMs: 60_000 }]);
    return again?.ok ? again.value : expect.fail("nothing was held");
  };
  const full = holdAgain();
  expect([coin.ceilingOf(full), coin.dearerThanReserved(full)]).toEqual([8n * price, null]);
  const steps = funds.gasOf(full.id) / (8n * price);
  coin.release(full);
  chain.balance = steps * (price - 1n);
  const less = holdAgain();
  expect([coin.ceilingOf(less), coin.dearerThanReserved(less)]).toEqual([
    price - 1n,
    expect.stringContaining(`above the ${price - 1n} reserved`),
  ]);
  chain.balance = steps * 3n * price;
  expect([coin.ceilingOf(less), coin.dearerThanReserved(less)]).toEqual([3n * price, null]);
  chain.balance = enough;
  expect(coin.ceilingOf(less)).toBe(8n * price);
});

test("a withdrawal of everything leaves what swaps were promised, tokens and their gas alike, and locked shows it", async () => {
  const GWEI = 10n ** 9n;
  chain.balance = 10n * 10n ** 18n;
  const [eth, token] = [coinOf(ETH_ENTRY), coinOf(tokenEntry(TOKEN))];
  held({ asset: TOKEN, amounts: [200n], gas: 4n * 10n ** 18n });
  expect([eth.locked(), token.locked()]).toEqual([fromUnits(4n, 0), fromUnits(200n, 0)]);
  const to = checksumAddress(OTHER);
  const { signal } = new AbortController();
  const all = async (coin: EvmCoin) => {
    const made = await coin.withdraw({ to, amount: "max", broadcast: true, fee: undefined }, signal);
    return made.ok ? made.value.total : expect.fail(made.error.kind);
  };
  expect(await all(token)).toEqual(fromUnits(300n, 0));
  await all(eth);
  // Both fees are at the greatest they may come to, and what is left is what was promised.
  expect(chain.balance - nonces.outgoing().wei).toBe(4n * 10n ** 18n);
  expect([eth.freeUnits(), token.freeUnits(), token.balanceUnits() - nonces.outgoing().token(TOKEN)]).toEqual([0n, 0n, 200n]);
  const more = { to, amount: fromUnits(1n, 0), broadcast: false, fee: undefined };
  expect(await token.withdraw(more, signal)).toMatchObject({ error: { kind: "NotSufficientBalance" } });
  expect(await eth.withdraw({ ...more, amount: fromUnits(GWEI, 18) }, signal)).toMatchObject({ error: { kind: "NotSufficientBalance" } });
});
