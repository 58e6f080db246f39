import { expect, test, vi } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import type { SwapPayment } from "../../../ports/accountChain.ts";
import type { BlockRef } from "../../../ports/chain.ts";
import { EvmSwapChain } from "./evmSwapChain.ts";
import { paymentCall } from "./evmSwapReader.ts";
import { NonceLedger } from "./nonceLedger.ts";
import { agreedPayment, paymentScript } from "./paymentScript.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const call = { chainId: 1n, gasLimit: 21_000n, to: ZERO_ADDRESS, value: 1n, data: new Uint8Array(0), gasPrice: 10n };
const stored = signEvmTx({ type: "legacy", nonce: 5n, ...call }, key);

/** The chain has used the stored transaction's nonce for another one long ago. */
async function afterStart(): Promise<{
  chain: FakeAccountChain;
  swapChain: EvmSwapChain;
  nonces: NonceLedger;
  pass: (ms: number) => void;
}> {
  const chain = new FakeAccountChain();
  chain.nonce = chain.pendingNonce = 100n;
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  let now = 0;
  const clock = { nowMs: () => now };
  const swapChain = new EvmSwapChain({ chain, address, nonces, allowances: { done: () => undefined }, clock });
  nonces.adopt(stored.raw);
  swapChain.addStored(stored);
  return {
    chain,
    swapChain,
    nonces,
    pass: (ms) => {
      now += ms;
    },
  };
}

test("a swap's transaction whose nonce was used long before this start is lost, and deep from the block that showed it", async () => {
  const { chain, swapChain } = await afterStart();
  expect(swapChain.tx(stored.txid)).toBeUndefined();
  await swapChain.watchTx(stored.txid, 0);
  const first = swapChain.tx(stored.txid);
  expect(first).toMatchObject({ failed: true, raw: stored.raw, block: { height: chain.height } });
  chain.height++;
  expect(swapChain.tx(stored.txid)?.block).toEqual(first?.block);
  // A receipt nobody can read may be that of this very transaction.
  chain.unread.add(stored.txid);
  expect(swapChain.tx(stored.txid)).toBeUndefined();
  chain.unread.clear();
  chain.nonce = 5n;
  expect(swapChain.tx(stored.txid)).toBeUndefined();
});

test("that a nonce is used grows deep anew from what the nodes say that others were exchanged for", async () => {
  const { chain, swapChain, nonces } = await afterStart();
  await swapChain.watchTx(stored.txid, 0);
  const { height } = chain;
  expect(swapChain.tx(stored.txid)?.block?.height).toBe(height);
  chain.height = height + 9;
  nonces.nodesExchanged();
  chain.trouble = "the new ones have not answered yet";
  expect(swapChain.tx(stored.txid)).toBeUndefined();
  chain.height += 1;
  chain.trouble = null;
  expect(swapChain.tx(stored.txid)).toMatchObject({ failed: true, raw: stored.raw, block: { height: height + 10 } });
  chain.height = height + 12;
  expect(swapChain.tx(stored.txid)?.block?.height).toBe(height + 10);
  chain.nonce = 5n;
  expect(swapChain.tx(stored.txid)).toBeUndefined();
});

test("a lost transaction is no deeper than the chain is high after a reorganisation", async () => {
  const { chain, swapChain } = await afterStart();
  await swapChain.watchTx(stored.txid, 0);
  const { height } = chain;
  expect(swapChain.tx(stored.txid)?.block?.height).toBe(height);
  chain.height = height - 2;
  expect(swapChain.tx(stored.txid)?.block?.height).toBe(height - 2);
  // The same nonce was used again in a block below: it grows deep from there.
  chain.height = height + 5;
  expect(swapChain.tx(stored.txid)?.block?.height).toBe(height - 2);
});

test("a transaction that was seen is lost only when a later block and half a minute have not brought it back", async () => {
  const { chain, swapChain, pass } = await afterStart();
  await swapChain.watchTx(stored.txid, 0);
  const seen = vi.spyOn(chain, "tx").mockReturnValue({ txid: stored.txid, raw: stored.raw, block: null, receipt: null, seenAtMs: 0 });
  chain.nonce = 5n;
  expect(swapChain.tx(stored.txid)?.failed).toBeUndefined();
  // Its block is taken out of the chain in the middle of a look: the nonce of before, no receipt any more.
  chain.nonce = 6n;
  expect(swapChain.tx(stored.txid)?.failed).toBeUndefined();
  chain.height++;
  expect(swapChain.tx(stored.txid)?.failed).toBeUndefined();
  pass(30_000);
  expect(swapChain.tx(stored.txid)).toMatchObject({ failed: true, block: { height: chain.height - 1 } });
  chain.height--;
  expect(swapChain.tx(stored.txid)?.failed).toBeUndefined();
  seen.mockRestore();
});

test("a clock that is set back by hours keeps no transaction from being found lost", async () => {
  const { chain, swapChain, pass } = await afterStart();
  await swapChain.watchTx(stored.txid, 0);
  const seen = vi.spyOn(chain, "tx").mockReturnValue({ txid: stored.txid, raw: stored.raw, block: null, receipt: null, seenAtMs: 0 });
  chain.nonce = 6n;
  expect(swapChain.tx(stored.txid)?.failed).toBeUndefined();
  chain.height++;
  pass(-8 * 3_600_000);
  expect(swapChain.tx(stored.txid)?.failed).toBeUndefined();
  pass(30_000);
  expect(swapChain.tx(stored.txid)?.failed).toBe(true);
  seen.mockRestore();
});

test("a payment that the contract has is not lost though no node has its receipt, and shows its end; one that it has of another is", async () => {
  const { chain, swapChain } = await afterStart();
  const terms = { contract: ZERO_ADDRESS, id: new Uint8Array(32).fill(3), token: ZERO_ADDRESS, sender: address, receiver: ZERO_ADDRESS };
  const script = paymentScript({ ...terms, secretHash: new Uint8Array(20), lockTime: 9n, units: 1n });
  const { key, paymentHash, lockTime } = agreedPayment(script);
  await swapChain.watchScript(script, 0);
  swapChain.addSender(key.id, stored.txid);
  await swapChain.watchTx(stored.txid, 0);
  const there = {
    ...key,
    block: { height: 1, hash: "" },
    state: "sent",
    paymentHash,
    lockTime,
    sent: null,
    spent: null,
    refunded: null,
    unshown: null,
  } as const;
  const isLost = (payment: Partial<SwapPayment>): boolean | undefined => {
    Object.assign(chain, { payment: () => ({ ...there, events: "missing", ...payment }) });
    return swapChain.tx(stored.txid)?.failed;
  };
  expect(isLost({})).toBeUndefined();
  const spent = { txid: "cc".repeat(32), block: { height: 7, hash: "" }, secret: new Uint8Array(32), payments: 0, arrivals: [] };
  expect(isLost({ state: "spent", spent })).toBeUndefined();
  expect(swapChain.outputs(script)).toMatchObject([{ txid: stored.txid, block: null, value: 1n, spentBy: { txid: spent.txid } }]);
  expect(swapChain.endedBy(spent.txid)).toEqual([{ kind: "claim", payment: stored.txid, secret: spent.secret }]);
  chain.nonce = 5n;
  expect(swapChain.outputs(script)).toEqual([]);
  chain.nonce = 100n;
  expect(isLost({ state: "uninitialized", paymentHash: new Uint8Array(20), lockTime: 0n })).toBe(true);
  expect(isLost({ paymentHash: new Uint8Array(20) })).toBe(true);
});

test("the other side's payment that no node shows any more is named by the log's bytes; of a token only what was seen whole", async () => {
  const { chain, swapChain } = await afterStart();
  const payer = keyPairFromScalar(new Uint8Array(32).fill(8)) ?? expect.fail("no key");
  const unshown = { height: 90, hash: "90" };
  const shown = async (token: EvmAddress, isWhole: boolean, since: BlockRef | null): Promise<unknown> => {
    const id = new Uint8Array(32).fill(4);
    const terms = { contract: address, id, token, sender: addressOfPubkey(payer.publicKey), receiver: address };
    const rest = { secretHash: new Uint8Array(20), lockTime: 9n, units: 5n };
    const script = paymentScript({ ...terms, ...rest });
    const raw = signEvmTx(
      { type: "legacy", nonce: 0n, ...call, to: address, data: encodeSwapCall(paymentCall({ ...terms, ...rest })) },
      payer,
    );
    await swapChain.watchScript(script, 0);
    swapChain.remember(raw.raw, isWhole);
    const { key, paymentHash, lockTime } = agreedPayment(script);
    const nothing = { sent: null, spent: null, refunded: null, events: "missing" };
    const payment = { ...key, block: unshown, state: "sent", paymentHash, lockTime, ...nothing, unshown: since };
    Object.assign(chain, { payment: () => payment });
    const found = swapChain.outputs(script).map(({ txid, block, value, spentBy }) => ({
      ...{ isIt: txid === raw.txid, block, value, spentBy },
      sameBytes: swapChain.tx(txid)?.raw === raw.raw,
    }));
    await swapChain.unwatch({ scripts: [script] });
    return found;
  };
  const there = { isIt: true, block: unshown, value: 5n, spentBy: null, sameBytes: true };
  expect(await shown(ZERO_ADDRESS, false, unshown)).toEqual([there]);
  expect(await shown(ZERO_ADDRESS, false, null)).toEqual([]);
  expect(await shown(address, true, unshown)).toEqual([there]);
  expect(await shown(address, false, unshown)).toEqual([]);
});

test("a chain whose nodes call no block final says so once it was seen, and not before", async () => {
  const { chain, swapChain } = await afterStart();
  const tip = chain.status().tip ?? expect.fail("no tip");
  const says = (finalized: number | null | undefined): boolean => {
    vi.spyOn(chain, "status").mockReturnValue({ ...chain.status(), tip: finalized === undefined ? null : { ...tip, finalized } });
    return swapChain.hasNoFinality();
  };
  expect([says(undefined), says(null), says(90)]).toEqual([false, true, false]);
  expect([swapChain.isNotarized(90), swapChain.isNotarized(91)]).toEqual([true, false]);
});
