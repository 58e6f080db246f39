import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressFromBytes, addressOfPubkey, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { approveCall } from "../../../core/evm/erc20.ts";
import { parseGasLimits } from "../../../core/evm/gasLimits.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import type { EvmTx, SignedEvmTx } from "../../../core/evm/tx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { AccountTx } from "../../../ports/accountChain.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import { AccountFunds } from "./accountFunds.ts";
import { NonceKeeper } from "./nonceKeeper.ts";
import { NonceLedger } from "./nonceLedger.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const OTHER = addressFromBytes(new Uint8Array(20).fill(0x55));
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const { signal } = new AbortController();
const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const GAS = 21_000n;
const limits = parseGasLimits(undefined) ?? expect.fail("no limits");
const LEGACY = { policy: null, maxTxType: null, estimatePercent: null, limits } as const;

let chain: FakeAccountChain;
let store: AccountTxStore;
let clock: VirtualClock;
/** How much the keeper's wall clock is ahead. */
let skewMs: number;
let nonces: NonceLedger;
let funds: AccountFunds;
let keeper: NonceKeeper | undefined;
let log: SilentLog;
const open = async (gas: typeof LEGACY | { readonly policy: "medium" } = LEGACY): Promise<void> => {
  await keeper?.close();
  nonces = new NonceLedger({ chain, address, store, log });
  await nonces.open(signal);
  funds = new AccountFunds({ chain, address, nonces, clock });
  const skewed = { nowMs: () => clock.nowMs() + skewMs, after: clock.after.bind(clock) };
  keeper = new NonceKeeper({ chain, key, address, gas: { ...LEGACY, ...gas }, nonces, funds, clock: skewed, log });
  keeper.start();
};
beforeEach(async () => {
  keeper = undefined;
  chain = new FakeAccountChain();
  chain.balance = ETHER;
  clock = new VirtualClock();
  skewMs = 0;
  log = new SilentLog();
  store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  await chain.watchAccount(address);
  await open();
});

const pay = (nonce: bigint, gwei = 2n, value = 1n, data: Uint8Array = new Uint8Array(0), to = OTHER): SignedEvmTx =>
  signEvmTx(
    { type: "legacy", chainId: 1n, nonce, gasLimit: data.length === 0 ? GAS : 60_000n, to, value, data, gasPrice: gwei * GWEI },
    key,
  );
/** Blocks fifteen seconds apart, and all that each of them sets off. */
async function blocks(count: number, seconds = 15): Promise<void> {
  for (let i = 0; i < count; i++) {
    clock.after(seconds * 1_000, () => undefined);
    await clock.run({ untilMs: clock.nowMs() + seconds * 1_000 });
    chain.mine();
    for (let turns = 0; turns < 300; turns++) await Promise.resolve();
  }
}
const sent = (): readonly EvmTx[] =>
  chain.sent.map((raw) => {
    const parsed = parseEvmTx(raw);
    return parsed.ok ? parsed.value.tx : expect.fail("no transaction");
  });
const priceIn = (tx: EvmTx | undefined): bigint => (tx?.type === "legacy" ? tx.gasPrice : expect.fail("no price"));

test("a clock that is set back by hours puts off no filling: what waits behind the nonce may be a refund", async () => {
  const first = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  nonces.take((nonce) => pay(nonce));
  nonces.free(first.txid);
  await blocks(4);
  skewMs = -8 * 3_600_000;
  await blocks(6);
  expect(sent()).toMatchObject([{ nonce: 0n, to: address, value: 0n }]);
});

test("a nonce that was freed below a sent one is filled after two minutes with an empty transfer to oneself, stored first", async () => {
  const first = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  nonces.take((nonce) => pay(nonce));
  nonces.free(first.txid);
  await blocks(8);
  expect(sent()).toEqual([]);
  chain.broadcast = async (raw) => {
    expect(await store.load(1n, address)).toMatchObject([{ nonce: 0n, state: "sent", raw }]);
    chain.sent.push(raw);
    return { kind: "accepted" };
  };
  await blocks(1);
  expect(sent()).toMatchObject([{ nonce: 0n, to: address, value: 0n, data: new Uint8Array(0), gasLimit: (GAS * 11n + 9n) / 10n }]);
  chain.pendingNonce = 2n;
  await blocks(30);
  expect(sent().length).toBe(1);
});

test("a nonce is filled also where the account's code refuses coins: a transaction that fails has used it", async () => {
  chain.estimate = () => err({ kind: "Reverted", data: null, message: "refused" });
  await nonces.send(pay(1n), signal);
  await blocks(10);
  expect(sent().find(({ nonce }) => nonce === 0n)).toMatchObject({ to: address, value: 0n, gasLimit: 23_100n });
});

test("what pools are said to have, and nobody mines, holds own transactions up for ten minutes; then these nonces are filled", async () => {
  chain.pendingNonce = 3n;
  const late = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  expect(late.tx.nonce).toBe(3n);
  await blocks(40);
  expect(sent()).toEqual([]);
  await blocks(2);
  expect(sent().map(({ nonce, to, value }) => [nonce, to, value])).toEqual([0n, 1n, 2n].map((nonce) => [nonce, address, 0n]));
  expect(log.lines.filter(({ event }) => event === "nonces_not_believed").length).toBe(1);
  expect(nonces.next()).toBe(4n);
  // As soon as blocks have them, pools are believed again.
  chain.nonce = 3n;
  chain.pendingNonce = 6n;
  expect(nonces.next()).toBe(6n);
});

test("another wallet's transaction that is mined in time is let be, and so is one that nothing of ours waits behind", async () => {
  chain.pendingNonce = 1n;
  nonces.take((nonce) => pay(nonce));
  await blocks(30);
  chain.nonce = 1n;
  await blocks(30);
  const filled = (): number => sent().filter(({ to }) => to === address).length;
  expect(filled()).toBe(0);
  chain.nonce = 2n;
  chain.pendingNonce = 5n;
  await blocks(60);
  expect(filled()).toBe(0);
});

test("a claim that waits behind what pools are said to have is not signed yet: these nonces are filled for it all the same", async () => {
  chain.pendingNonce = 2n;
  const wait = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      keeper?.awaitLine();
      await blocks(1);
    }
  };
  await wait(40);
  expect(sent()).toEqual([]);
  await wait(3);
  expect(sent()).toMatchObject([
    { nonce: 0n, to: address, value: 0n },
    { nonce: 1n, to: address, value: 0n },
  ]);
  expect(nonces.next()).toBe(2n);
});

test("fast blocks do not shorten the two minutes, nor do slow ones the three blocks", async () => {
  await nonces.send(pay(1n), signal);
  await blocks(100, 1);
  expect(sent().length).toBe(1);
  chain.sent.length = 0;
  await open();
  await blocks(3, 60);
  expect(sent().filter(({ nonce }) => nonce === 0n)).toEqual([]);
  await blocks(1, 60);
  expect(sent().filter(({ nonce }) => nonce === 0n).length).toBeGreaterThan(0);
});

test("nothing is filled where the pools have the nonce, a swap has it, nothing waits behind it, or what is before it is not there", async () => {
  const later = pay(4n);
  nonces.adopt(later.raw);
  const cases: readonly (() => void)[] = [
    () => (chain.pendingNonce = 5n),
    () => {
      chain.pendingNonce = 0n;
      nonces.adopt(pay(0n).raw);
    },
    () => {
      nonces.free(pay(0n).txid);
      nonces.free(later.txid);
    },
  ];
  for (const prepare of cases) {
    prepare();
    await blocks(20);
  }
  expect([sent(), log.lines]).toEqual([[], []]);
});

test("a filler is not sent when the account has nothing free for it, and tried again when it has", async () => {
  nonces.adopt(pay(1n).raw);
  const hold = funds.hold({ asset: null, amounts: [], gas: funds.free(null) }, null);
  await blocks(20);
  expect(sent()).toEqual([]);
  expect(log.lines.filter(({ event }) => event === "nonce_filled").length).toBe(2);
  funds.release(hold.ok ? hold.value : expect.fail("nothing held"));
  await blocks(10);
  chain.pendingNonce = 2n;
  await blocks(10);
  expect(new Set(sent().map(({ nonce }) => nonce))).toEqual(new Set([0n]));
});

test("what a swap gave up has its nonce filled, though nothing waits behind it; not while a pool has it, nor twice", async () => {
  const fee = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  nonces.giveUp(fee.txid, true);
  // Whatever comes next stands behind it, also before the filler is out.
  expect(nonces.next()).toBe(1n);
  chain.tx = (txid) => (txid === fee.txid ? { txid, raw: fee.raw, block: null, receipt: null, seenAtMs: 0 } : undefined);
  await blocks(20);
  expect(sent()).toEqual([]);
  chain.tx = () => undefined;
  chain.outcomes.push({ kind: "rejected", code: -32_000, message: "refused on request" });
  await blocks(30);
  const fillers = sent().filter(({ to, value }) => to === address && value === 0n);
  expect(fillers.map(({ nonce }) => nonce)).toEqual(sent().map(() => 0n));
  expect(new Set(nonces.waiting().map(({ signed }) => signed.txid)).size).toBe(2);
});

test("a withdrawal whose bid fell below the market is sent again at the market's while a swap waits behind it", async () => {
  await nonces.send(pay(0n, 2n), signal);
  chain.pendingNonce = 1n;
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  await blocks(20);
  // Nobody waits for it: its sender asked for this price.
  expect(sent().length).toBe(1);
  nonces.take((nonce) => pay(nonce));
  await blocks(6);
  expect(sent().length).toBe(1);
  await blocks(1);
  expect(sent()[1]).toMatchObject({ nonce: 0n, to: OTHER, value: 1n, gasLimit: GAS });
  expect(priceIn(sent()[1])).toBe((10n * GWEI * 103n) / 100n);
  await blocks(30);
  expect(sent().length).toBe(2);
});

test("raises are at least six blocks apart, end at fifty times the first price, and survive a restart", async () => {
  await nonces.send(pay(0n, 2n), signal);
  nonces.take((nonce) => pay(nonce));
  chain.pendingNonce = 2n;
  let market = 4n * GWEI;
  const prices: bigint[] = [];
  for (let i = 0; i < 22; i++) {
    chain.prices = { legacy: market, nextBaseFee: null, priority: null };
    const before = sent().length;
    await blocks(6);
    expect(sent().length - before).toBeLessThanOrEqual(1);
    if (sent().length > before) prices.push(priceIn(sent().at(-1)));
    market = (market * 5n) / 4n;
    if (i === 5) {
      const swapTx = nonces.waiting().find(({ ofSwap }) => ofSwap)?.signed ?? expect.fail("no swap");
      await nonces.close();
      await open();
      nonces.adopt(swapTx.raw);
    }
  }
  expect(prices.length).toBeGreaterThan(4);
  expect(prices).toEqual([...prices].sort((a, b) => (a < b ? -1 : 1)));
  const last = prices.at(-1) ?? 0n;
  // The least raise from there on would be above it.
  expect([last <= 100n * GWEI, last + last / 8n + 1n > 100n * GWEI]).toEqual([true, true]);
  expect(log.lines.some(({ event }) => event === "stuck_at_most_price")).toBe(true);
});

test("a raise takes no more than the account has free", async () => {
  await nonces.send(pay(0n, 2n), signal);
  nonces.take((nonce) => pay(nonce));
  chain.pendingNonce = 2n;
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  const left = GAS * 3n * GWEI;
  const hold = funds.hold({ asset: null, amounts: [], gas: funds.free(null) - left }, null);
  expect(hold.ok).toBe(true);
  await blocks(8);
  expect(sent().map(priceIn)).toEqual([2n * GWEI, 5n * GWEI]);
  expect(funds.free(null)).toBe(0n);
  await blocks(20);
  expect(sent().length).toBe(2);
});

const REFUND = encodeSwapCall({
  kind: "senderRefund",
  id: new Uint8Array(32),
  amount: 1n,
  secretHash: new Uint8Array(20),
  token: ZERO_ADDRESS,
  receiver: OTHER,
});
const holdGas = (gas: bigint, amounts: readonly bigint[] = []): boolean => funds.hold({ asset: null, amounts, gas }, null).ok;

test("what a claim or refund waits behind is made dearer with half of the gas that is held for such, and none of the payments", async () => {
  await nonces.send(pay(0n, 2n), signal);
  nonces.adopt(pay(1n, 2n, 0n, REFUND).raw);
  chain.pendingNonce = 2n;
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  const gas = GAS * 8n * GWEI;
  expect(holdGas(gas, [funds.free(null) - gas])).toBe(true);
  await blocks(30);
  expect(sent().map(priceIn)).toEqual([2n * GWEI, 6n * GWEI]);
});

test("what a claim or refund waits behind is filled also where all gas is held for such", async () => {
  nonces.adopt(pay(1n, 2n, 0n, REFUND).raw);
  expect(holdGas(funds.free(null))).toBe(true);
  await blocks(10);
  expect(sent()[0]).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("an approval is raised with nothing behind it: a swap waits for it unseen; with EIP-1559 both figures rise", async () => {
  await open({ policy: "medium" });
  await nonces.send(pay(0n, 1n, 0n, approveCall(OTHER, 5n), TOKEN), signal);
  chain.pendingNonce = 1n;
  chain.prices = { legacy: 9n * GWEI, nextBaseFee: 8n * GWEI, priority: { low: 1n, medium: GWEI, high: 2n * GWEI } };
  await blocks(8);
  const [, raised] = sent();
  expect(raised).toMatchObject({ type: "eip1559", nonce: 0n, to: TOKEN, data: approveCall(OTHER, 5n) });
  const priority = GWEI + GWEI / 8n + 1n;
  expect(raised?.type === "eip1559" && [raised.maxFeePerGas > 16n * GWEI, raised.maxPriorityFeePerGas]).toEqual([true, priority]);
});

test("what has a swap's transaction at the head of the line is left to the swap", async () => {
  nonces.take((nonce) => pay(nonce, 1n));
  await nonces.send(pay(1n, 1n, 0n, approveCall(OTHER, 5n), TOKEN), signal);
  chain.pendingNonce = 2n;
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  await blocks(30);
  expect([sent().length, log.lines]).toEqual([1, []]);
});

test("an approval that is in no pool is sent once more at each block, until a pool has it", async () => {
  chain.outcomes.push({ kind: "unknown", message: "no answer" }, { kind: "unknown", message: "no answer" });
  await nonces.send(pay(0n, 2n, 0n, approveCall(OTHER, 5n), TOKEN), signal);
  await blocks(1);
  expect(sent().length).toBe(2);
  await blocks(1);
  chain.pendingNonce = 1n;
  await blocks(5);
  expect(sent().length).toBe(3);
});

/** Nodes fail at payments to others, and say neither yes nor no; an empty transfer to oneself they take. */
function failAtPayments(): void {
  chain.broadcast = async (raw) => {
    chain.sent.push(raw);
    const parsed = parseEvmTx(raw);
    if (parsed.ok && parsed.value.tx.to === OTHER)
      return { kind: "unknown", message: "a: it refused a request: Internal error (code -32603)." };
    chain.pendingNonce = 1n;
    return { kind: "accepted" };
  };
}

test("a withdrawal that nodes neither take nor refuse holds up the next one for ten minutes, and swaps for as long: then its nonce is used for nothing", async () => {
  failAtPayments();
  await nonces.signNext((nonce) => ok(pay(nonce)), true, signal);
  const next = () => nonces.signNext((nonce) => ok(pay(nonce, 2n, 5n)), true, signal);
  await blocks(60);
  // Nobody waits for it.
  expect(sent().length).toBe(1);
  expect(await next()).toMatchObject({
    error: {
      kind: "Rejected",
      message: expect.stringMatching(/Internal error \(code -32603\)\); .* for ten minutes an empty transfer .* takes its place/),
    },
  });
  await blocks(40);
  expect(sent().every(({ to }) => to === OTHER)).toBe(true);
  await blocks(2);
  const filler = sent().at(-1);
  expect(filler).toMatchObject({ nonce: 0n, to: address, value: 0n, data: new Uint8Array(0) });
  expect(priceIn(filler)).toBeGreaterThan((2n * GWEI * 11n) / 10n);
  // No pool is counted: nothing is asked of the nodes for the one it replaced.
  chain.pendingNonce = 0n;
  const before = sent().length;
  await blocks(60);
  expect(
    sent()
      .slice(before)
      .every(({ to }) => to === address),
  ).toBe(true);
  expect(await next()).toMatchObject({ error: { kind: "Transport" } });
  expect(sent().at(-1)).toMatchObject({ nonce: 1n, value: 5n });
});

test("so it is while a swap waits, also after a restart; what a node took in time, or a pool shows, is let be", async () => {
  failAtPayments();
  await nonces.send(pay(0n), signal);
  await nonces.close();
  await open();
  const take = () => nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  take();
  await blocks(30);
  const accept = chain.broadcast;
  chain.broadcast = async () => ({ kind: "accepted" });
  await blocks(20);
  chain.broadcast = accept;
  await blocks(39);
  expect(sent().every(({ to }) => to === OTHER)).toBe(true);
  chain.pendingNonce = 1n;
  await blocks(60);
  expect(sent().every(({ to }) => to === OTHER)).toBe(true);
  chain.pendingNonce = 0n;
  await blocks(50);
  expect(sent().at(-1)).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("nodes that were away for these ten minutes are asked once more before: they may take it", async () => {
  failAtPayments();
  await nonces.send(pay(0n), signal);
  nonces.take((nonce) => pay(nonce));
  await blocks(2);
  chain.trouble = "a: timed out";
  await blocks(60);
  chain.trouble = null;
  chain.broadcast = async (raw) => {
    chain.sent.push(raw);
    return { kind: "accepted" };
  };
  await blocks(60);
  expect(sent().every(({ to }) => to === OTHER)).toBe(true);
});

test("so it is of one that takes all the account has: the empty transfer is paid for by what it would not take", async () => {
  failAtPayments();
  const fee = 2n * GWEI * GAS;
  await nonces.send(pay(0n, 2n, ETHER - fee), signal);
  expect(funds.free(null)).toBe(0n);
  nonces.take((nonce) => pay(nonce));
  await blocks(60);
  expect(sent().at(-1)).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("so it is of a token where nothing is free: what a plain transfer needs less of gas pays for its price", async () => {
  failAtPayments();
  chain.balance = 2n * GWEI * 60_000n;
  await nonces.send(pay(0n, 2n, 0n, new Uint8Array(100)), signal);
  expect(funds.free(null)).toBe(0n);
  for (let i = 0; i < 60; i++) {
    keeper?.awaitLine();
    await blocks(1);
  }
  expect(sent().at(-1)).toMatchObject({ nonce: 0n, to: address, value: 0n, gasLimit: 23_100n });
});

test("so it is where nothing is known of the gas for data: with as much as the account has for it", async () => {
  failAtPayments();
  chain.data = null;
  chain.balance = 2n * GWEI * 60_000n;
  chain.estimate = () => err({ kind: "Unreachable", message: "they contradict each other", isDisputed: true });
  await nonces.send(pay(0n, 2n, 0n, new Uint8Array(100)), signal);
  for (let i = 0; i < 60; i++) {
    keeper?.awaitLine();
    await blocks(1);
  }
  const filler = sent().at(-1);
  expect([filler?.to, (filler?.gasLimit ?? 0n) > 23_100n, (filler?.gasLimit ?? 0n) < 60_000n]).toEqual([address, true, true]);
});

test.each([
  { what: "a cheaper version was taken before", isTaken: true },
  { what: "a cheaper version was not sent since the start", isTaken: false },
])("so it is of one that was made dearer: $what", async ({ isTaken }) => {
  failAtPayments();
  const fail = chain.broadcast;
  if (isTaken) chain.broadcast = async () => ({ kind: "accepted" });
  await nonces.send(pay(0n), signal);
  chain.broadcast = fail;
  await nonces.send(pay(0n, 4n), signal);
  if (!isTaken) {
    await nonces.close();
    await open();
  }
  nonces.take((nonce) => pay(nonce));
  await blocks(60);
  expect(sent().at(-1)).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("so it is not at once where other nodes are used meanwhile: they may take it", async () => {
  failAtPayments();
  await nonces.send(pay(0n), signal);
  nonces.take((nonce) => pay(nonce));
  await blocks(39);
  nonces.nodesExchanged();
  await blocks(30);
  expect(sent().every(({ to }) => to === OTHER)).toBe(true);
  await blocks(20);
  expect(sent().at(-1)).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("closed, it does nothing any more", async () => {
  nonces.adopt(pay(1n).raw);
  await blocks(8);
  await keeper?.close();
  await blocks(20);
  expect(sent()).toEqual([]);
});

test("a filler of what was given up is sent again at the market's price", async () => {
  const fee = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  nonces.take((nonce) => pay(nonce));
  nonces.giveUp(fee.txid, true);
  await blocks(9);
  expect(sent().length).toBe(1);
  chain.pendingNonce = 2n;
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  await blocks(30);
  expect(sent().some((tx) => tx.nonce === 0n && tx.to === address && priceIn(tx) > 9n * GWEI)).toBe(true);
});

test("what was given up counts for its filler: it is sent also where the account has no more than that", async () => {
  const fee = nonces.take((nonce) => pay(nonce, 2n, ETHER / 10n)) ?? expect.fail("none");
  nonces.take((nonce) => pay(nonce));
  nonces.giveUp(fee.txid, true);
  chain.balance = ETHER / 10n;
  await blocks(60);
  expect(sent().some((tx) => tx.nonce === 0n && tx.to === address)).toBe(true);
});

test("what its swap needs no more and a pool keeps is replaced by a dearer filler once it has held up others for ten minutes", async () => {
  const fee = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  chain.tx = (txid) => (txid === fee.txid ? { txid, raw: fee.raw, block: null, receipt: null, seenAtMs: 0 } : undefined);
  chain.pendingNonce = 1n;
  const later = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  await blocks(60);
  nonces.giveUp(fee.txid, false);
  await blocks(40);
  expect(sent()).toEqual([]);
  await blocks(1);
  expect(sent()).toMatchObject([{ nonce: 0n, to: address, value: 0n, data: new Uint8Array(0) }]);
  expect(priceIn(sent()[0])).toBeGreaterThan((2n * GWEI * 11n) / 10n);
  // Nothing of value gets its nonce, and the filler is raised like any other.
  expect([later.tx.nonce, nonces.next()]).toEqual([1n, 2n]);
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  await blocks(8);
  expect(priceIn(sent().at(-1))).toBe((10n * GWEI * 103n) / 100n);
});

test("nor longer than six blocks where its bid fell below the market; and it is let be while nothing waits behind it", async () => {
  const fee = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  chain.tx = (txid) => (txid === fee.txid ? { txid, raw: fee.raw, block: null, receipt: null, seenAtMs: 0 } : undefined);
  chain.pendingNonce = 1n;
  nonces.giveUp(fee.txid, false);
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  await blocks(60);
  expect(sent()).toEqual([]);
  nonces.take((nonce) => pay(nonce, 20n));
  await blocks(6);
  expect(sent()).toEqual([]);
  await blocks(1);
  expect(sent()).toMatchObject([{ nonce: 0n, to: address, value: 0n }]);
});

test("a nonce is filled also where too few nodes estimate gas, with the gas of a plain transfer and its data", async () => {
  chain.estimate = () => err({ kind: "Unreachable", message: "1 of 2 nodes answered" });
  chain.data = { gas: 121_000n, wei: 0n };
  await nonces.send(pay(1n), signal);
  await blocks(10);
  const filler = sent().find(({ nonce }) => nonce === 0n);
  expect(filler).toMatchObject({ to: address, value: 0n });
  expect(filler?.gasLimit).toBeGreaterThan(200_000n);
});

test("a nonce is filled also where one node of two says that an empty transfer needs a fortune: what it says alone keeps no line standing", async () => {
  const said = 10n ** 8n;
  chain.balance = ETHER / 100n;
  chain.estimate = (_request, most = said) =>
    most < said ? err({ kind: "Unreachable", message: "they contradict each other", isDisputed: true }) : ok(said);
  await nonces.send(pay(1n), signal);
  await blocks(10);
  expect(sent().find(({ nonce }) => nonce === 0n)).toMatchObject({ to: address, value: 0n, gasLimit: 23_100n });
});

test("nor does it by a figure that all might name: the account fills with as much gas as it has", async () => {
  chain.balance = 2n * GWEI * 100_000n;
  chain.estimate = () => ok(770_000n);
  await nonces.send(pay(1n), signal);
  await blocks(10);
  const filler = sent().find(({ nonce }) => nonce === 0n);
  expect([filler?.to, (filler?.gasLimit ?? 0n) > 23_100n, (filler?.gasLimit ?? 0n) < 100_000n]).toEqual([address, true, true]);
});

test("while nothing is known of the gas for data a nonce is filled with as much as any swap reckons with", async () => {
  chain.estimate = () => err({ kind: "Unreachable", message: "they contradict each other", isDisputed: true });
  chain.data = null;
  await nonces.send(pay(1n), signal);
  await blocks(10);
  expect(sent().find(({ nonce }) => nonce === 0n)).toMatchObject({ to: address, gasLimit: ((21_000n + 1_500_000n) * 110n) / 100n });
});

test("what a waiting swap left is sent at each block while its turn has come and no pool has it, and no more when the swap goes on", async () => {
  const first = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  const claim = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  nonces.entrust(claim.txid, null);
  await blocks(2);
  expect(sent()).toEqual([]);
  chain.pendingNonce = 1n;
  await blocks(2);
  expect(chain.sent).toEqual([claim.raw, claim.raw]);
  expect(nonces.isOut(claim.txid) && !nonces.isOut(first.txid)).toBe(true);
  chain.pendingNonce = 2n;
  await blocks(2);
  chain.pendingNonce = 1n;
  nonces.handBack(claim.txid);
  await blocks(2);
  expect(chain.sent.length).toBe(2);
});

test("a dearer version of what a waiting swap left is sent though pools have its nonce, and no more once one has it", async () => {
  const claim = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  const dearer = pay(0n, 3n * GWEI);
  nonces.entrust(claim.txid, null, async () => {
    nonces.adopt(dearer.raw);
    nonces.handBack(claim.txid);
    nonces.entrust(dearer.txid, null, async () => dearer.txid);
    return dearer.txid;
  });
  chain.pendingNonce = 1n;
  await blocks(1);
  expect(chain.sent).toEqual([dearer.raw]);
  chain.tx = () => ({ txid: dearer.txid, block: null }) as AccountTx;
  await blocks(3);
  expect(chain.sent.length).toBe(1);
});

/** What so many swaps that wait left, each with a question that nodes leave open until its deadline. @returns whose were answered */
function leaveOpen(count: number): readonly bigint[] {
  const renewed: bigint[] = [];
  for (let i = 0; i < count; i++) {
    const { txid, tx } = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
    nonces.entrust(txid, null, async () => {
      await new Promise<void>((resolve) => void clock.after(10_000, resolve));
      renewed.push(tx.nonce);
      return txid;
    });
  }
  return renewed;
}

test("nodes that leave questions open delay what waiting swaps left by one deadline, not by one for each of them", async () => {
  const renewed = leaveOpen(40);
  await blocks(4);
  expect(new Set(renewed).size).toBe(40);
});

test("an account is closed after the questions that are open, and begins no further one", async () => {
  const renewed = leaveOpen(40);
  await blocks(1);
  const closed = keeper?.close();
  await clock.run({ untilMs: clock.nowMs() + 10_000 });
  await closed;
  expect(renewed.length).toBe(16);
  expect(chain.sent).toEqual([]);
});

test("what a waiting swap left is given up when its time is over: its nonce is filled, and not sent with it any more", async () => {
  const payment = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  nonces.entrust(payment.txid, clock.nowMs() + 20_000);
  await blocks(1);
  expect(chain.sent).toEqual([payment.raw]);
  await blocks(20);
  expect(nonces.isGivenUp(payment.txid)).toBe(true);
  expect(sent().filter(({ to }) => to === OTHER).length).toBe(1);
  expect(sent().at(-1)).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("of what may show a secret only the version that was named for this block is sent", async () => {
  const claim = nonces.take((nonce) => pay(nonce)) ?? expect.fail("none");
  let may: string | null = null;
  nonces.entrust(claim.txid, null, async () => may);
  await blocks(2);
  expect(chain.sent).toEqual([]);
  may = claim.txid;
  await blocks(1);
  may = null;
  await blocks(2);
  expect(chain.sent).toEqual([claim.raw]);
});

const PAYMENT = encodeSwapCall({
  ...{ kind: "ethPayment", id: new Uint8Array(32), receiver: OTHER, secretHash: new Uint8Array(20), lockTime: 1n },
});

/** A payment that its swap, which waits, does not send now, and one of another swap behind it. */
async function withheld(behind: Uint8Array, count: number): Promise<SignedEvmTx> {
  const payment = nonces.take((nonce) => pay(nonce, 2n, 5n, PAYMENT)) ?? expect.fail("none");
  nonces.take((nonce) => pay(nonce, 2n, 0n, behind));
  nonces.entrust(payment.txid, clock.nowMs() + 3_600_000, async () => null);
  await blocks(count);
  return payment;
}

test("a payment that stays home gives way to a claim or refund behind it after ten minutes", async () => {
  await withheld(REFUND, 39);
  expect(sent()).toEqual([]);
  await blocks(3);
  expect(sent()[0]).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("it does not give way to another payment", async () => {
  await withheld(PAYMENT, 60);
  expect(sent()).toEqual([]);
});

test.each(["its swap runs again", "nodes show it again"])("nor once %s", async (what) => {
  const payment = await withheld(REFUND, 20);
  expect(nonces.isMoot(payment.txid)).toBe(true);
  if (what === "its swap runs again") nonces.handBack(payment.txid);
  else chain.tx = (txid) => (txid === payment.txid ? ({ txid, block: null } as AccountTx) : undefined);
  await blocks(1);
  expect(nonces.isMoot(payment.txid)).toBe(false);
  await blocks(60);
  expect(sent()).toEqual([]);
});

/** A payment of a swap that waits, which pools have at two gwei, below what blocks ask, and something behind it. */
function tooCheap(behind: Uint8Array): SignedEvmTx {
  const payment = nonces.take((nonce) => pay(nonce, 2n, 5n, PAYMENT)) ?? expect.fail("none");
  nonces.take((nonce) => pay(nonce, 20n, 0n, behind));
  nonces.entrust(payment.txid, clock.nowMs() + 3_600_000, async () => payment.txid);
  chain.tx = (txid) => (txid === payment.txid ? ({ txid, block: null } as AccountTx) : undefined);
  chain.pendingNonce = 2n;
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  return payment;
}

test("so does one that pools have below the price of blocks: not for a short rise of it, and once it has fallen it is waited for again", async () => {
  const payment = tooCheap(REFUND);
  await blocks(39);
  expect(nonces.isMoot(payment.txid)).toBe(true);
  chain.prices = { legacy: GWEI, nextBaseFee: null, priority: null };
  await blocks(1);
  expect(nonces.isMoot(payment.txid)).toBe(false);
  chain.prices = { legacy: 10n * GWEI, nextBaseFee: null, priority: null };
  await blocks(39);
  expect(sent()).toEqual([]);
  await blocks(3);
  expect(sent()[0]).toMatchObject({ nonce: 0n, to: address, value: 0n });
});

test("nor does that give way to another payment", async () => {
  const payment = tooCheap(PAYMENT);
  await blocks(60);
  expect([nonces.isMoot(payment.txid), sent()]).toEqual([false, []]);
});

test("what has more gas than a block, and holds up swaps, is made again with as much as a block has", async () => {
  await nonces.send(pay(0n, 2n, 1n, new Uint8Array(100)), signal);
  nonces.take((nonce) => pay(nonce));
  chain.pendingNonce = 2n;
  await blocks(8);
  expect(sent().length).toBe(1);
  chain.gasLimit = 50_000n;
  await blocks(8);
  expect(sent().slice(1)).toMatchObject([{ nonce: 0n, to: OTHER, value: 1n, gasLimit: 50_000n }]);
});
