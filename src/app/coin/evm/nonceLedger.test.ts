import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { addressOfPubkey, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { ok } from "../../../core/util/result.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import { NonceLedger } from "./nonceLedger.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const { signal } = new AbortController();
const GAS = 21_000n;

let chain: FakeAccountChain;
let store: AccountTxStore;
beforeEach(() => {
  chain = new FakeAccountChain();
  store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
});

const pay = (nonce: bigint, value = 1n, gasPrice = 10n): SignedEvmTx =>
  signEvmTx({ type: "legacy", chainId: 1n, nonce, gasLimit: GAS, to: ZERO_ADDRESS, value, data: new Uint8Array(0), gasPrice }, key);

async function open(): Promise<NonceLedger> {
  const ledger = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  await ledger.open(signal);
  return ledger;
}

test("the next nonce is the least that neither the chain, nor the pools, nor an own sent transaction has", async () => {
  chain.nonce = 3n;
  const ledger = await open();
  expect(ledger.next()).toBe(3n);
  chain.pendingNonce = 5n;
  expect(ledger.next()).toBe(5n);
  await ledger.send(pay(5n), signal);
  expect(ledger.next()).toBe(6n);
  await ledger.send(pay(7n), signal);
  expect(ledger.next()).toBe(6n);
  await ledger.send(pay(6n), signal);
  expect(ledger.next()).toBe(8n);
});

test("a transaction that is only signed takes no nonce; the second of two to be sent is refused, also after a restart", async () => {
  const ledger = await open();
  const first = await ledger.signNext((nonce) => ok(pay(nonce, 1n)), false, signal);
  const second = await ledger.signNext((nonce) => ok(pay(nonce, 2n)), false, signal);
  if (!first.ok || !second.ok) expect.fail("not signed");
  expect([first.value.tx.nonce, second.value.tx.nonce]).toEqual([0n, 0n]);
  expect(chain.sent).toEqual([]);
  expect(await ledger.send(second.value, signal)).toEqual({ ok: true, value: second.value.txid });
  const refused = { ok: false, error: { kind: "Rejected", message: expect.stringContaining(`is taken by ${second.value.txid}`) } };
  expect(await ledger.send(first.value, signal)).toMatchObject(refused);
  expect(await (await open()).send(first.value, signal)).toMatchObject(refused);
});

test("it is stored before it is sent, so a crash in between cannot give its nonce to another", async () => {
  const tx = pay(0n);
  chain.broadcast = async () => {
    expect(await store.load(1n, address)).toMatchObject([{ txid: tx.txid, state: "sent", raw: tx.raw }]);
    throw new Error("the process ends here");
  };
  await expect((await open()).send(tx, signal)).rejects.toThrow("the process ends here");
  chain = new FakeAccountChain();
  const later = await open();
  expect(chain.sent).toEqual([tx.raw]);
  expect(later.next()).toBe(1n);
});

test("a refusal by the nodes frees the nonce, silence does not", async () => {
  const ledger = await open();
  chain.outcomes.push({ kind: "rejected", code: -32_000, message: "gas too low" }, { kind: "unknown", message: "no answer" });
  expect(await ledger.send(pay(0n), signal)).toEqual({ ok: false, error: { kind: "Rejected", message: "gas too low" } });
  expect(ledger.next()).toBe(0n);
  expect(await ledger.send(pay(0n, 2n), signal)).toMatchObject({ error: { kind: "Transport" } });
  expect(ledger.next()).toBe(1n);
});

test("the same payment at a higher price replaces the one before; another payment, or the same at that price, does not", async () => {
  const ledger = await open();
  await ledger.send(pay(0n, 1n, 10n), signal);
  expect(await ledger.send(pay(0n, 2n, 20n), signal)).toMatchObject({ error: { kind: "Rejected" } });
  expect(await ledger.send(pay(0n, 1n, 9n), signal)).toMatchObject({ error: { kind: "Rejected" } });
  expect(await ledger.send(pay(0n, 1n, 12n), signal)).toMatchObject({ ok: true });
  // One of the two will be mined: the dearer one counts.
  expect(ledger.outgoing().wei).toBe(1n + GAS * 12n);
  chain.nonce = 1n;
  expect(ledger.outgoing().wei).toBe(0n);
  expect(await ledger.send(pay(0n, 5n, 50n), signal)).toMatchObject({
    error: { message: "nonce 0 has been used by another transaction of this account; make a new one with withdraw" },
  });
});

test("what tokens a waiting transfer takes is counted by contract", async () => {
  const ledger = await open();
  const token = addressOfPubkey(key.publicKey);
  const data = transferCall(ZERO_ADDRESS, 500n);
  const common = { type: "legacy", chainId: 1n, nonce: 0n, gasLimit: 60_000n, value: 0n, gasPrice: 10n } as const;
  await ledger.send(signEvmTx({ ...common, to: token, data }, key), signal);
  expect([ledger.outgoing().token(token), ledger.outgoing().token(ZERO_ADDRESS)]).toEqual([500n, 0n]);
});

test("withdrawals asked for at once are sent with one nonce each", async () => {
  const ledger = await open();
  const all = await Promise.all([1n, 2n, 3n, 4n].map((value) => ledger.signNext((nonce) => ok(pay(nonce, value)), true, signal)));
  expect(all.map((r) => (r.ok ? r.value.tx.nonce : null))).toEqual([0n, 1n, 2n, 3n]);
});

test("of what is long mined, and of what was never sent, 200 each are remembered", async () => {
  const ledger = await open();
  for (let i = 0n; i < 205n; i++) await ledger.send(pay(i), signal);
  for (let i = 0; i < 205; i++) await ledger.signNext((nonce) => ok(pay(nonce, BigInt(i))), false, signal);
  expect((await store.load(1n, address)).length).toBe(405);
  chain.nonce = 300n;
  await open();
  expect((await store.load(1n, address)).map(({ nonce }) => nonce)).toEqual(Array.from({ length: 200 }, (_, i) => BigInt(i + 5)));
});

test("nodes that named too high a nonce, and were exchanged, have had nothing forgotten that waits", async () => {
  const ledger = await open();
  const sent = pay(0n, 5n);
  await ledger.send(sent, signal);
  const claim = ledger.take((nonce) => pay(nonce, 7n)) ?? expect.fail("none");
  chain.nonce = chain.pendingNonce = 1_000n;
  ledger.take((nonce) => pay(nonce, 8n));
  await ledger.send(pay(1_001n, 9n), signal);
  chain.nonce = chain.pendingNonce = 0n;
  ledger.nodesExchanged();
  expect(ledger.next()).toBe(2n);
  expect(ledger.waiting().map(({ signed }) => signed.txid)).toEqual(expect.arrayContaining([sent.txid, claim.txid]));
  expect((await store.load(1n, address)).map(({ txid }) => txid)).toContain(sent.txid);
});

test("a sent transaction that all nodes refuse after a restart frees its nonce: it would hold up everything after it for ever", async () => {
  chain.outcomes.push({ kind: "unknown", message: "no answer" });
  await (await open()).send(pay(0n), signal);
  chain.outcomes.push({ kind: "rejected", code: -32_000, message: "insufficient funds" });
  const later = await open();
  expect(later.next()).toBe(0n);
  expect(later.outgoing().wei).toBe(0n);
});

test("what did not arrive is sent once more before the next one, without a restart; what arrived is not", async () => {
  const ledger = await open();
  chain.outcomes.push({ kind: "unknown", message: "no answer" });
  await ledger.send(pay(0n), signal);
  expect(await ledger.send(pay(1n), signal)).toMatchObject({ ok: true });
  expect(chain.sent).toEqual([pay(0n).raw, pay(0n).raw, pay(1n).raw]);
  await ledger.signNext((nonce) => ok(pay(nonce)), true, signal);
  expect(chain.sent).toEqual([pay(0n).raw, pay(0n).raw, pay(1n).raw, pay(2n).raw]);
});

test("while no node answers for a transaction nothing after it is sent: a withdrawal tried thrice is not paid thrice", async () => {
  const ledger = await open();
  const unknown = { kind: "unknown", message: "a: no answer within 10 s." } as const;
  chain.outcomes.push(unknown, unknown, unknown);
  const tries = [];
  for (let i = 0; i < 3; i++) tries.push(await ledger.signNext((nonce) => ok(pay(nonce)), true, signal));
  const { txid } = pay(0n);
  const again = `transaction ${txid} may be out, and is sent again before any other of this account`;
  expect(tries[0]).toEqual({ ok: false, error: { kind: "Transport", message: `a: no answer within 10 s; ${again}` } });
  const refused = {
    error: {
      kind: "Rejected",
      message: expect.stringContaining(`no node takes or refuses ${txid}, which was sent before with nonce 0 (a: no answer within 10 s);`),
    },
  };
  expect(tries.slice(1)).toMatchObject([refused, refused]);
  expect(chain.sent).toEqual([pay(0n).raw, pay(0n).raw, pay(0n).raw]);
  // The same one again, and a dearer one in its place, may be sent.
  expect(await ledger.send(pay(0n), signal)).toMatchObject({ ok: true });
});

test("while the nodes are away nothing is sent, nor kept to be sent later", async () => {
  const ledger = await open();
  chain.trouble = "None of the ETH nodes can be used: a: nothing listens there.";
  const words = "None of the ETH nodes can be used: a: nothing listens there; nothing was sent";
  expect(await ledger.signNext((nonce) => ok(pay(nonce)), true, signal)).toEqual({
    ok: false,
    error: { kind: "Rejected", message: words },
  });
  expect(await ledger.send(pay(0n), signal)).toEqual({ ok: false, error: { kind: "Rejected", message: words } });
  expect([chain.sent, await store.load(1n, address)]).toEqual([[], []]);
});

test("what the pools dropped is sent once more when the chain has moved on", async () => {
  const ledger = await open();
  await ledger.send(pay(0n), signal);
  chain.pendingNonce = 1n;
  chain.tipHash = "cd".repeat(32);
  await ledger.send(pay(1n), signal);
  expect(chain.sent.length).toBe(2);
  chain.pendingNonce = 0n;
  chain.tipHash = "ef".repeat(32);
  await ledger.send(pay(2n), signal);
  expect(chain.sent.slice(2)).toEqual([pay(0n).raw, pay(1n).raw, pay(2n).raw]);
});

test("a closed ledger waits for what is under way and takes no more, so that the next one knows all", async () => {
  const ledger = await open();
  let [arrive, answer] = [(): void => undefined, (): void => undefined];
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const answered = new Promise<void>((resolve) => (answer = resolve));
  chain.broadcast = async (raw) => {
    chain.sent.push(raw);
    arrive();
    await answered;
    return { kind: "rejected", code: -32_000, message: "gas too low" };
  };
  const first = ledger.send(pay(0n), signal);
  const second = ledger.signNext((nonce) => ok(pay(nonce, 2n)), true, signal);
  await arrived;
  const closed = ledger.close().then(() => store.load(1n, address));
  answer();
  // The refusal came after the closing began and is stored all the same.
  expect((await closed).map(({ nonce, state }) => [nonce, state])).toEqual([[0n, "signed"]]);
  expect(await first).toMatchObject({ error: { message: "gas too low" } });
  expect(await second).toMatchObject({ error: { kind: "Rejected", message: expect.stringContaining("just disabled") } });
  expect(chain.sent.length).toBe(1);
});

test("what is stored and is no transaction keeps no account closed: the rest is taken up", async () => {
  const [good, bad] = [pay(0n), pay(1n, 1n, 2n ** 300n)];
  for (const { txid, raw, tx } of [good, bad]) await store.put({ chainId: 1n, from: address, nonce: tx.nonce, txid, raw, state: "sent" });
  const ledger = await open();
  expect(ledger.waiting().map(({ signed }) => signed.txid)).toEqual([good.txid]);
  expect(chain.sent).toEqual([good.raw]);
});

test("what is in no block whatever it pays is not sent, and takes no nonce", async () => {
  const ledger = await open();
  for (const [gasLimit, words] of [
    [GAS - 1n, "needs 21000 gas at least"],
    [chain.gasLimit + 1n, "more than a block has"],
  ] as const) {
    const made = signEvmTx({ ...pay(0n).tx, type: "legacy", chainId: 1n, gasPrice: 10n, gasLimit }, key);
    expect(await ledger.send(made, signal)).toMatchObject({ ok: false, error: { message: expect.stringContaining(words) } });
  }
  expect([chain.sent, ledger.next()]).toEqual([[], 0n]);
});

test("a transaction made elsewhere with a nonce far ahead is not sent: each nonce that it skips would be filled at the account's expense", async () => {
  const ledger = await open();
  expect(await ledger.send(pay(17n), signal)).toMatchObject({
    ok: false,
    error: { kind: "Rejected", message: expect.stringContaining("nonce 17 is far above 0, the next of this account") },
  });
  expect(ledger.waiting()).toEqual([]);
  for (const nonce of [16n, 0n, 17n]) expect(await ledger.send(pay(nonce), signal)).toMatchObject({ ok: true });
});
