import { beforeEach, expect, test, vi } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { addressOfPubkey, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { ok } from "../../../core/util/result.ts";
import { claimObstacle } from "./claimObstacle.ts";
import { EvmSwapChain } from "./evmSwapChain.ts";
import { NonceLedger } from "./nonceLedger.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const { signal } = new AbortController();
const GWEI = 10n ** 9n;
const FEE = 150_000n * 3n * GWEI;

const pay = (nonce: bigint, maxFeePerGas: bigint): SignedEvmTx => {
  const call = { chainId: 1n, nonce, gasLimit: 21_000n, to: ZERO_ADDRESS, value: 1n, data: new Uint8Array(0), accessList: [] };
  return signEvmTx({ type: "eip1559", ...call, maxFeePerGas, maxPriorityFeePerGas: GWEI }, key);
};

let chain: FakeAccountChain;
let nonces: NonceLedger;
beforeEach(async () => {
  chain = new FakeAccountChain();
  chain.balance = 10n ** 18n;
  chain.nonce = chain.pendingNonce = 5n;
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  await nonces.open(signal);
});
const obstacle = (claim: SignedEvmTx | null = null, hasCode = false): string | null =>
  claimObstacle({ chain, address, nonces, platform: "ETH", payouts: { hasCode } }, claim, FEE);
/** A transaction of a swap, signed and not sent. */
const take = (price: bigint): SignedEvmTx => nonces.take((nonce) => pay(nonce, price)) ?? expect.fail("no nonce");
/** One that all pools have. */
const send = (price: bigint): SignedEvmTx => {
  const signed = take(price);
  chain.pendingNonce++;
  return signed;
};

test("nothing waits, or only what the next block takes: the claim may go", () => {
  expect(obstacle()).toBeNull();
  send(2n * GWEI);
  expect(obstacle()).toBeNull();
});

test("of an account with code nothing may wait before the claim: pools that take one at a time would refuse it, having read its secret", () => {
  expect(obstacle(null, true)).toBeNull();
  const before = send(2n * GWEI);
  const claim = take(2n * GWEI);
  expect(obstacle(claim)).toBeNull();
  const said = `${before.txid} waits for its block, and nodes take one waiting transaction at a time of an account with code (EIP-7702)`;
  expect([obstacle(claim, true), obstacle(null, true)]).toEqual([said, said]);
  chain.nonce++;
  expect(obstacle(claim, true)).toBeNull();
});

test("what no node has is before it: no secret is shown behind a line that does not move; one node that shows it is enough", () => {
  const first = take(9n * GWEI);
  expect(obstacle()).toBe(`no ETH node has ${first.txid}, and the claim would wait behind it`);
  const claim = take(9n * GWEI);
  expect(obstacle(claim)).toContain(first.txid);
  const seen = vi.spyOn(chain, "tx").mockImplementation((txid) => {
    return txid === first.txid ? { txid, raw: first.raw, block: null, receipt: null, seenAtMs: 0 } : undefined;
  });
  // Also where the nodes do not count their pools.
  expect([chain.pendingNonce, obstacle(claim)]).toEqual([5n, null]);
  seen.mockRestore();
  expect(obstacle(claim)).toContain(first.txid);
  chain.pendingNonce = 6n;
  expect(obstacle(claim)).toBeNull();
});

test("an approval or withdrawal that nodes took is not before it until a block passes without their pools having it", async () => {
  expect((await nonces.signNext((nonce) => ok(pay(nonce, 9n * GWEI)), true, signal)).ok).toBe(true);
  expect([chain.pendingNonce, obstacle()]).toEqual([5n, null]);
  chain.mine();
  expect(obstacle()).toMatch(/^no ETH node has/);
  chain.pendingNonce = 6n;
  expect(obstacle()).toBeNull();
});

test("a swap's transaction that nodes took is no more before it, where nodes show nobody their pools", async () => {
  const swapChain = new EvmSwapChain({ chain, address, nonces, allowances: { done: () => undefined }, clock: { nowMs: () => 0 } });
  const first = take(9n * GWEI);
  chain.outcomes.push({ kind: "unknown", message: "no answer" }, { kind: "rejected", code: -32_000, message: "no" });
  for (let i = 0; i < 2; i++) await swapChain.broadcast(first.raw, signal);
  expect(obstacle()).toMatch(/^no ETH node has/);
  await swapChain.broadcast(first.raw, signal);
  expect([chain.pendingNonce, obstacle()]).toEqual([5n, null]);
  chain.mine();
  expect(obstacle()).toMatch(/^no ETH node has/);
  chain.outcomes.push({ kind: "already_known" });
  await swapChain.broadcast(first.raw, signal);
  expect(obstacle()).toBeNull();
  // Given back, and signed again by another swap.
  nonces.free(first.txid);
  nonces.adopt(first.raw);
  expect(obstacle()).toMatch(/^no ETH node has/);
});

test("a payment below the base fee is before it: whoever reads the secret in a pool would be quicker", () => {
  const stuck = send(GWEI - 1n);
  expect(obstacle()).toContain(`${stuck.txid} waits at a price below what ETH asks`);
  const claim = take(9n * GWEI);
  expect(obstacle(claim)).toContain("waits at a price below");
  nonces.adopt(pay(5n, 4n * GWEI).raw);
  expect(obstacle(claim)).toBeNull();
});

test("what comes after the claim does not matter", () => {
  const claim = take(9n * GWEI);
  take(1n);
  expect(obstacle(claim)).toBeNull();
});

test("a nonce that nothing of this node has stands before it", () => {
  chain.pendingNonce = 7n;
  expect(obstacle()).toContain("nonce 5 of the ETH account is used by nothing this node knows");
});

test("a nonce that pools are said to have is not for a claim, though it is given away again: what has it may keep the claim out", () => {
  chain.pendingNonce = 7n;
  nonces.doubt(7n);
  expect(nonces.next()).toBe(5n);
  expect(obstacle()).toContain("nonce 5 of the ETH account is used by nothing this node knows");
  send(9n * GWEI);
  nonces.adopt(pay(6n, 9n * GWEI).raw);
  chain.pendingNonce = 7n;
  expect([nonces.next(), obstacle()]).toEqual([7n, null]);
  // So many are not believed.
  chain.pendingNonce = 40n;
  expect(obstacle()).toBeNull();
});

test("an account that cannot pay for the claim shows no secret", () => {
  chain.balance = FEE - 1n;
  expect(obstacle()).toBe("the ETH account lacks 1 wei for the claim's fee");
  chain.balance = FEE;
  expect(obstacle()).toBeNull();
});

test("a nonce whose dex fee was given up is before it until a filler at a good price is out", async () => {
  const fee = take(9n * GWEI);
  nonces.giveUp(fee.txid, true);
  expect(obstacle()).toBe(
    "nonce 5 of the ETH account is of a transaction that no swap needs and no node has, and the claim would wait for it",
  );
  const fill = (nonce: bigint): SignedEvmTx => {
    const call = { chainId: 1n, nonce, gasLimit: 21_000n, to: address, value: 0n, data: new Uint8Array(0) };
    const bid = { maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: GWEI };
    return signEvmTx({ type: "eip1559", ...call, ...bid, accessList: [] }, key);
  };
  await nonces.signNext((nonce) => ({ ok: true, value: fill(nonce) }), true, signal, true);
  expect(obstacle()).toBeNull();
});

test("a claim that is signed shows no secret where another wallet's transaction has its nonce, in a block or as the pools are believed", () => {
  const claim = take(9n * GWEI);
  chain.pendingNonce = 6n;
  expect(obstacle(claim)).toBe(
    "the ETH nodes have another transaction of the account with the claim's nonce 5, and would refuse the claim",
  );
  const seen = vi.spyOn(chain, "tx").mockImplementation((txid) => {
    return txid === claim.txid ? { txid, raw: claim.raw, block: null, receipt: null, seenAtMs: 0 } : undefined;
  });
  // It is the claim itself: a log put back to before it left.
  expect(obstacle(claim)).toBeNull();
  seen.mockRestore();
  // So many are not believed.
  chain.pendingNonce = 40n;
  expect(obstacle(claim)).toBeNull();
  chain.nonce = chain.pendingNonce = 6n;
  expect(obstacle(claim)).toBe("a block has another transaction of the ETH account with the claim's nonce 5");
});

test("no secret is shown behind a transaction that no block takes, though a node has it", () => {
  const before = send(2n * GWEI);
  expect(obstacle()).toBeNull();
  chain.gasLimit = 20_000n;
  expect(obstacle()).toBe(`${before.txid} is in no block of ETH with the gas that it has, and the claim would wait behind it`);
});
