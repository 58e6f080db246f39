import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { addressFromBytes, addressOfPubkey, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { ok } from "../../../core/util/result.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import { NonceLedger } from "./nonceLedger.ts";

const keyOf = (n: number) => keyPairFromScalar(new Uint8Array(32).fill(n)) ?? expect.fail("no key");
const key = keyOf(7);
const address = addressOfPubkey(key.publicKey);
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const CONTRACT = addressFromBytes(new Uint8Array(20).fill(0x24));
const { signal } = new AbortController();
const GAS = 21_000n;

let chain: FakeAccountChain;
let store: AccountTxStore;
beforeEach(() => {
  chain = new FakeAccountChain();
  store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
});

const pay = (nonce: bigint, value = 1n, gasPrice = 10n, signer = key, chainId = 1n): SignedEvmTx =>
  signEvmTx({ type: "legacy", chainId, nonce, gasLimit: GAS, to: ZERO_ADDRESS, value, data: new Uint8Array(0), gasPrice }, signer);
const tokenPay = (nonce: bigint, amount: bigint): SignedEvmTx => {
  const [id, secretHash] = [new Uint8Array(32).fill(1), new Uint8Array(20).fill(2)];
  const data = encodeSwapCall({ kind: "erc20Payment", id, amount, token: TOKEN, receiver: CONTRACT, secretHash, lockTime: 9n });
  return signEvmTx({ type: "legacy", chainId: 1n, nonce, gasLimit: 150_000n, to: CONTRACT, value: 0n, data, gasPrice: 10n }, key);
};

async function open(): Promise<NonceLedger> {
  const ledger = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  await ledger.open(signal);
  return ledger;
}

test("a swap's transaction has the least free nonce at once, without a store, and nothing else gets it", async () => {
  chain.nonce = chain.pendingNonce = 3n;
  const ledger = await open();
  await ledger.send(pay(4n), signal);
  const taken = [1n, 2n].map((value) => ledger.take((nonce) => pay(nonce, value)) ?? expect.fail("none"));
  expect(taken.map(({ tx }) => tx.nonce)).toEqual([3n, 5n]);
  chain.pendingNonce = 8n;
  expect(ledger.take((nonce) => pay(nonce))?.tx.nonce).toBe(8n);
  expect(ledger.next()).toBe(9n);
  expect((await store.load(1n, address)).map(({ nonce }) => nonce)).toEqual([4n]);
});

test("nodes that name more transactions of others than a pool keeps are not believed", async () => {
  const ledger = await open();
  chain.pendingNonce = 16n;
  expect([ledger.next(), ledger.unknown().length]).toEqual([16n, 16]);
  chain.pendingNonce = 17n;
  expect(ledger.take((nonce) => pay(nonce))?.tx.nonce).toBe(0n);
  // One of them is known now.
  expect(ledger.next()).toBe(17n);
  chain.pendingNonce = 1_000n;
  expect(ledger.next()).toBe(1n);
});

test("before the chain has told, and for a closed account, no nonce is taken", async () => {
  const ledger = new NonceLedger({ chain, address, store, log: new SilentLog() });
  expect(ledger.take(() => expect.fail("signed"))).toBeNull();
  const opened = await open();
  await opened.close();
  expect(opened.take(() => expect.fail("signed"))).toBeNull();
});

test("a withdrawal that was signed before is refused for a swap's nonce, also as the same payment at a higher price", async () => {
  const ledger = await open();
  const signed = await ledger.signNext((nonce) => ok(pay(nonce)), false, signal);
  const taken = ledger.take((nonce) => pay(nonce, 1n, 20n)) ?? expect.fail("none");
  for (const tx of [signed.ok ? signed.value : expect.fail("not signed"), pay(0n, 1n, 40n)]) {
    const message = `nonce 0 is taken by ${taken.txid}, which belongs to a swap; make a new one with withdraw`;
    expect(await ledger.send(tx, signal)).toEqual({ ok: false, error: { kind: "Rejected", message } });
  }
  expect(chain.sent).toEqual([]);
});

test("whoever hands in a swap's own transaction has it sent and nothing stored: a refusal by the nodes frees no nonce", async () => {
  const ledger = await open();
  const taken = ledger.take((nonce) => pay(nonce)) ?? expect.fail("none");
  chain.outcomes.push({ kind: "rejected", code: -32_000, message: "no" });
  expect(await ledger.send(taken, signal)).toMatchObject({ ok: false });
  expect(await ledger.send(taken, signal)).toMatchObject({ ok: true });
  expect([ledger.next(), await store.load(1n, address)]).toEqual([1n, []]);
});

test("a nonce that is on its way into the store is not given to a swap meanwhile, and counts as gone", async () => {
  const ledger = await open();
  const plain = store.put;
  let during: readonly (bigint | undefined)[] = [];
  store.put = async (tx) => {
    if (during.length === 0) during = [ledger.take((nonce) => pay(nonce, 9n))?.tx.nonce, ledger.outgoing().wei];
    await plain(tx);
  };
  const sent = await ledger.signNext((nonce) => ok(pay(nonce, 5n)), true, signal);
  expect(sent).toMatchObject({ ok: true, value: { tx: { nonce: 0n } } });
  expect(during).toEqual([1n, 5n + 9n + 2n * GAS * 10n]);
});

test("after a restart a swap's stored bytes take their nonce again; several of a swap may share one", async () => {
  const ledger = await open();
  const [payment, cancellation] = [pay(2n, 5n), pay(2n, 0n, 20n)];
  for (const { raw } of [payment, cancellation, payment]) ledger.adopt(raw);
  expect(ledger.othersAt(2n).map(({ txid }) => txid)).toEqual([payment.txid, cancellation.txid]);
  expect(ledger.txAt(payment.txid)).toEqual(payment);
  await ledger.send(pay(0n), signal);
  await ledger.send(pay(1n), signal);
  expect(ledger.next()).toBe(3n);
  ledger.free(cancellation.txid);
  expect([ledger.next(), ledger.txAt(cancellation.txid)]).toEqual([3n, null]);
  ledger.free(payment.txid);
  expect(ledger.next()).toBe(2n);
});

test("bytes of another account, of another chain, or that are no transaction are not adopted", async () => {
  const ledger = await open();
  for (const raw of [pay(0n, 1n, 1n, keyOf(8)).raw, pay(0n, 1n, 1n, key, 2n).raw])
    expect(() => ledger.adopt(raw)).toThrow("no transaction of");
  expect(() => ledger.adopt(new Uint8Array(3))).toThrow("cannot be read");
  expect(ledger.next()).toBe(0n);
});

test("what swaps' transactions may take counts until a block has their nonce: of versions the dearest, tokens of payments", async () => {
  const ledger = await open();
  for (const { raw } of [pay(0n, 7n, 10n), pay(0n, 0n, 30n), tokenPay(1n, 500n), tokenPay(2n, 40n)]) ledger.adopt(raw);
  const gas = 2n * 150_000n * 10n;
  const { wei, token } = ledger.outgoing();
  expect([wei, token(TOKEN), token(CONTRACT)]).toEqual([GAS * 30n + gas, 540n, 0n]);
  chain.nonce = chain.pendingNonce = 2n;
  expect([ledger.outgoing().wei, ledger.outgoing().token(TOKEN)]).toEqual([gas / 2n, 40n]);
});

test("of more than a thousand what is deep is forgotten, a nonce used just now is not: a reorganisation may bring it back", async () => {
  const ledger = await open();
  const taken = ledger.take((nonce) => pay(nonce)) ?? expect.fail("none");
  const sample = pay(0n);
  for (let i = 0; i < 1_000; i++)
    ledger.take((nonce) => ({ ...sample, txid: nonce.toString(16).padStart(64, "0"), tx: { ...sample.tx, nonce } })) ?? expect.fail("none");
  chain.nonce = chain.pendingNonce = 64n;
  ledger.take((nonce) => pay(nonce));
  expect(ledger.txAt(taken.txid)).toEqual(taken);
  chain.nonce = chain.pendingNonce = 65n;
  ledger.take((nonce) => pay(nonce));
  expect(ledger.txAt(taken.txid)).toBeNull();
});

test("with 2,000 held no new one is taken, but what a swap stored is still adopted", async () => {
  const ledger = await open();
  const sample = pay(0n);
  for (let i = 0; i < 2_000; i++)
    ledger.take((nonce) => ({ ...sample, txid: nonce.toString(16).padStart(64, "0"), tx: { ...sample.tx, nonce } })) ?? expect.fail("none");
  expect(ledger.take((nonce) => pay(nonce))).toBeNull();
  ledger.adopt(pay(2_000n).raw);
  expect(ledger.next()).toBe(2_001n);
});

test("what nodes took says nothing of the nodes they are exchanged for, though the tip is the same", async () => {
  const ledger = await open();
  const own = ledger.take((nonce) => pay(nonce)) ?? expect.fail("none");
  const sent = pay(1n);
  await ledger.send(sent, signal);
  ledger.noteTaken(own.raw);
  expect([own, sent].map(({ txid }) => ledger.isOut(txid))).toEqual([true, true]);
  ledger.nodesExchanged();
  expect([own, sent].map(({ txid }) => ledger.isOut(txid))).toEqual([false, false]);
  ledger.noteTaken(own.raw);
  expect(ledger.isOut(own.txid)).toBe(true);
});

test("no other version is asked for of what went through in an older one; what another transaction kept from its nonce is asked for", async () => {
  const ledger = await open();
  const [older, newer, filler] = [pay(0n), pay(0n, 1n, 20n), pay(0n, 0n)];
  for (const { raw } of [older, newer, filler]) ledger.adopt(raw);
  const renew = async (): Promise<string | null> => null;
  ledger.entrust(newer.txid, null, renew);
  let mined = older;
  const block = { height: 100, hash: "ab".repeat(32) };
  const receipt = { succeeded: true, gasUsed: GAS, effectiveGasPrice: 10n };
  chain.tx = (txid) => (txid === mined.txid ? { txid, raw: mined.raw, block, seenAtMs: 0, receipt } : undefined);
  chain.nonce = chain.pendingNonce = 1n;
  expect(ledger.renewals()).toEqual([]);
  mined = filler;
  expect(ledger.renewals()).toEqual([renew]);
});
