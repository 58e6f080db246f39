import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openEvmRpcChain } from "../../src/adapters/evmRpc/evmRpcChain.ts";
import { addressFromBytes, type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { approveCall, transferCall } from "../../src/core/evm/erc20.ts";
import { encodeSwapCall, paymentHash, paymentId } from "../../src/core/evm/swapContract.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import type { AccountChain } from "../../src/ports/accountChain.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { AnvilWorld, countedBackend, openChain, type Party } from "./support/anvilWorld.ts";

const SECRET = new Uint8Array(32).fill(0x11);
const HASH = hash160(SECRET);
const ETHER = 10n ** 18n;

describe.skipIf(noAnvil)(`an account chain over anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let world: AnvilWorld;
  let chain: AccountChain;
  let maker: Party;
  let taker: Party;
  let contract: EvmAddress;
  const opened: AccountChain[] = [];

  beforeAll(async () => {
    anvil = await startAnvil();
    world = new AnvilWorld(anvil);
    [maker, taker] = [world.party(0), world.party(1)];
    contract = await world.deploySwapContract(maker);
    chain = openChain([anvil.url]);
  });
  afterEach(async () => {
    for (const other of opened.splice(0)) await other.close();
  });
  afterAll(async () => {
    await chain?.close();
    await anvil?.stop();
  });

  test("tip, balance and nonce follow the chain", async () => {
    await chain.watchAccount(taker.address);
    const before = chain.account(taker.address) ?? expect.fail("no account");
    await world.send(maker, { to: taker.address, value: 3n * ETHER });
    await chain.refresh();
    const after = chain.account(taker.address) ?? expect.fail("no account");
    expect(after.balance - before.balance).toBe(3n * ETHER);
    expect([after.nonce, after.pendingNonce]).toEqual([before.nonce, before.pendingNonce]);
    const { state, tip, error, nodes } = chain.status();
    expect([state, error, tip?.height]).toEqual(["ready", null, Number(await anvil.call("eth_blockNumber"))]);
    expect(nodes).toMatchObject([{ name: new URL(anvil.url).host, state: "good", contradictions: 0, trouble: null }]);
    expect(tip?.finalized).not.toBeNull();
    expect(chain.gasPrices()?.nextBaseFee).toBeGreaterThan(0n);
    expect(chain.gasPrices()?.legacy).toBeGreaterThan(0n);
  });

  test("a transaction is seen in the pool, then in a block with its receipt; another broadcast of it is known", async () => {
    await chain.watchAccount(taker.address);
    await anvil.call("evm_setAutomine", [false]);
    const tx = await world.signed(taker, { to: maker.address, value: 1n, gasLimit: 21_000n });
    await chain.watchTx(tx.txid, 0);
    expect(chain.tx(tx.txid)).toBeUndefined();
    expect(await chain.broadcast(tx.raw)).toEqual({ kind: "accepted" });
    expect(await chain.broadcast(tx.raw)).toEqual({ kind: "already_known" });
    const { nonce } = chain.account(taker.address) ?? expect.fail("no account");
    await chain.refresh();
    expect(chain.tx(tx.txid)).toMatchObject({ raw: tx.raw, block: null, receipt: null });
    expect(chain.account(taker.address)).toMatchObject({ nonce, pendingNonce: nonce + 1n });
    await world.mine();
    await anvil.call("evm_setAutomine", [true]);
    await chain.refresh();
    const seen = chain.tx(tx.txid) ?? expect.fail("not seen");
    expect(seen.receipt).toMatchObject({ succeeded: true, gasUsed: 21_000n });
    expect(chain.confirmations(seen.block)).toBe(1);
    expect(chain.account(taker.address)?.nonce).toBe(nonce + 1n);
    expect(await chain.broadcast(tx.raw)).toEqual({ kind: "already_known" });
    chain.unwatch({ txids: [tx.txid] });
    await chain.refresh();
    expect(chain.tx(tx.txid)).toBeUndefined();
  });

  test("a transaction that cannot be is rejected with the node's own words", async () => {
    const poor = await world.signed(taker, { to: maker.address, value: 10n ** 30n });
    expect(await chain.broadcast(poor.raw)).toMatchObject({ kind: "rejected" });
    await expect(chain.broadcast(poor.raw.subarray(1))).rejects.toThrow("no transaction");
  });

  test("a payment in the native coin is followed from nothing to its claim, with the secret", async () => {
    const lockTime = Math.floor(Date.parse("2030-01-01") / 1000);
    const id = paymentId(lockTime, HASH);
    const key = { contract, id: toHex(id) };
    const from = chain.status().tip?.height ?? 0;
    await chain.watchPayment(key, from);
    expect(chain.payment(key)).toMatchObject({ state: "uninitialized", lockTime: 0n, sent: null, events: "complete" });
    const amount = ETHER / 100n;
    const call = { kind: "ethPayment", id, receiver: taker.address, secretHash: HASH, lockTime: BigInt(lockTime) } as const;
    const paid = await world.send(maker, { to: contract, value: amount, data: encodeSwapCall(call) });
    await chain.refresh();
    const sent = chain.payment(key) ?? expect.fail("no payment");
    const agreed = { receiver: taker.address, sender: maker.address, secretHash: HASH, token: ZERO_ADDRESS, amount };
    expect(toHex(sent.paymentHash)).toBe(toHex(paymentHash(agreed)));
    expect(sent).toMatchObject({ state: "sent", lockTime: BigInt(lockTime), events: "complete", spent: null });
    expect(sent.sent?.txid).toBe(paid.txid);
    expect(chain.tx(paid.txid)?.raw).toEqual(paid.raw);
    const spend = { kind: "receiverSpend", id, amount, secret: SECRET, token: ZERO_ADDRESS, sender: maker.address } as const;
    const claimed = await world.send(taker, { to: contract, data: encodeSwapCall(spend) });
    await chain.refresh();
    expect(chain.payment(key)).toMatchObject({
      state: "spent",
      events: "complete",
      sent: { txid: paid.txid },
      spent: { txid: claimed.txid, secret: SECRET },
      refunded: null,
    });
    // A chain opened later finds the same in the logs alone.
    const late = openChain([anvil.url]);
    opened.push(late);
    await late.watchPayment(key, from);
    expect(late.payment(key)).toEqual(chain.payment(key));
    const narrow = openChain([anvil.url], { logsBlockRange: 1 });
    opened.push(narrow);
    await narrow.watchPayment(key, from);
    expect(narrow.payment(key)).toEqual(chain.payment(key));
  });

  test("a payment of a token tells what the token brought the contract", async () => {
    const token = await world.deployToken(maker, 1_000n);
    await world.send(maker, { to: token, data: approveCall(contract, 700n) });
    const id = paymentId(1_877_000_000, HASH);
    const call = {
      kind: "erc20Payment",
      id,
      amount: 700n,
      token,
      receiver: taker.address,
      secretHash: HASH,
      lockTime: 1_877_000_000n,
    } as const;
    await world.send(maker, { to: contract, data: encodeSwapCall(call) });
    const key = { contract, id: toHex(id) };
    await chain.watchPayment(key, 0);
    expect(chain.payment(key)?.sent).toMatchObject({ payments: 1, arrivals: [{ token, amount: 700n }] });
  });

  test("a refund is found; a reverted claim before it is seen as such", async () => {
    const now = Number(((await anvil.call("eth_getBlockByNumber", ["latest", false])) as { timestamp: string }).timestamp);
    const lockTime = now - 100;
    const id = paymentId(lockTime, HASH);
    const key = { contract, id: toHex(id) };
    await chain.watchPayment(key, 0);
    const call = { kind: "ethPayment", id, receiver: taker.address, secretHash: HASH, lockTime: BigInt(lockTime) } as const;
    await world.send(maker, { to: contract, value: 5n, data: encodeSwapCall(call) });
    const wrong = { kind: "receiverSpend", id, amount: 5n, secret: HASH_AS_SECRET, token: ZERO_ADDRESS, sender: maker.address } as const;
    const request = { from: taker.address, to: contract, value: 0n, data: encodeSwapCall(wrong) };
    expect(await chain.estimateGas(request)).toMatchObject({ ok: false, error: { kind: "Reverted" } });
    const failed = await world.send(taker, { to: contract, data: encodeSwapCall(wrong) });
    await chain.watchTx(failed.txid, 0);
    expect(chain.tx(failed.txid)?.receipt?.succeeded).toBe(false);
    expect(chain.payment(key)?.state).toBe("sent");
    const back = { kind: "senderRefund", id, amount: 5n, secretHash: HASH, token: ZERO_ADDRESS, receiver: taker.address } as const;
    const refund = await world.send(maker, { to: contract, data: encodeSwapCall(back) });
    await chain.refresh();
    expect(chain.payment(key)).toMatchObject({
      state: "refunded",
      events: "complete",
      refunded: { txid: refund.txid, secret: null },
      spent: null,
    });
  });

  test("tokens: decimals, allowance, balance after a transfer, and a payment in them", async () => {
    const token = await world.deployToken(maker, 1_000_000n);
    expect(await chain.tokenDecimals(token)).toEqual({ ok: true, value: 6 });
    await chain.watchTokens(maker.address, [token]);
    expect(chain.token(token, maker.address)?.balance).toBe(1_000_000n);
    await world.send(maker, { to: token, data: transferCall(taker.address, 1n) });
    expect(await chain.allowance(token, maker.address, contract)).toEqual({ ok: true, value: 0n });
    await world.send(maker, { to: token, data: approveCall(contract, 77n) });
    await chain.refresh();
    expect(chain.token(token, maker.address)?.balance).toBe(999_999n);
    expect(await chain.allowance(token, maker.address, contract)).toEqual({ ok: true, value: 77n });
    const lockTime = 1_900_000_000;
    const id = paymentId(lockTime, HASH);
    const call = {
      kind: "erc20Payment",
      id,
      amount: 77n,
      token,
      receiver: taker.address,
      secretHash: HASH,
      lockTime: BigInt(lockTime),
    } as const;
    const request = { from: maker.address, to: contract, value: 0n, data: encodeSwapCall(call) };
    const gas = await chain.estimateGas(request);
    expect(gas.ok && gas.value > 60_000n && gas.value < 150_000n).toBe(true);
    expect(await chain.call(request)).toMatchObject({ ok: true });
    await world.send(maker, { to: contract, data: encodeSwapCall(call) });
    const key = { contract, id: toHex(id) };
    await chain.watchPayment(key, 0);
    const agreed = { receiver: taker.address, sender: maker.address, secretHash: HASH, token, amount: 77n };
    expect(toHex(chain.payment(key)?.paymentHash ?? HASH)).toBe(toHex(paymentHash(agreed)));
  });

  test("balances of 500 tokens are read in a handful of requests, and one that is no token does not spoil the others", async () => {
    const token = await world.deployToken(maker, 5n);
    const code = await anvil.call("eth_getCode", [`0x${token}`, "latest"]);
    const tokens = Array.from({ length: 500 }, (_, i) =>
      addressFromBytes(Uint8Array.from({ length: 20 }, (_, b) => (b === 18 ? 1 + (i >> 8) : b === 19 ? i & 255 : 0x77))),
    );
    await anvil.callAll(tokens.map((t) => ({ method: "anvil_setCode", params: [`0x${t}`, code] })));
    const mint = (n: bigint): Uint8Array => fromHex(`40c10f19${maker.address.padStart(64, "0")}${n.toString(16).padStart(64, "0")}`);
    // Each is in a block when it is done: what is only in the pool is in no balance.
    for (const [i, to] of [tokens[0] ?? token, tokens[499] ?? token].entries()) await world.send(maker, { to, data: mint(BigInt(i) + 7n) });
    const all = [...tokens, contract, taker.address];
    const counted = countedBackend(anvil.url);
    const other = openEvmRpcChain({ ...counted.deps, options: { pollMs: 600_000, leastMs: 1 } });
    opened.push(other);
    await other.watchTokens(maker.address, all);
    // Head, support of block hashes, balances in one, price of gas.
    expect(counted.requests()).toBeLessThanOrEqual(4);
    expect(all.map((t) => other.token(t, maker.address)?.balance)).toEqual([7n, ...Array(498).fill(0n), 8n, undefined, undefined]);
    await chain.watchTokens(maker.address, all);
    const balances = all.map((t) => chain.token(t, maker.address)?.balance);
    expect(balances.slice(0, 2)).toEqual([7n, 0n]);
    expect(balances[499]).toBe(8n);
    expect(balances.slice(500)).toEqual([undefined, undefined]);
    expect(balances.slice(0, 500).every((b) => b !== undefined)).toBe(true);
    chain.unwatch({ tokens: all.map((t) => ({ token: t, owner: maker.address })) });
  });

  test("a reorg takes a payment and its transaction back, and what takes their place is seen", async () => {
    const lockTime = 1_950_000_000;
    const id = paymentId(lockTime, HASH);
    const key = { contract, id: toHex(id) };
    await chain.watchPayment(key, 0);
    const snapshot = await anvil.call("evm_snapshot");
    const call = { kind: "ethPayment", id, receiver: taker.address, secretHash: HASH, lockTime: BigInt(lockTime) } as const;
    const paid = await world.send(maker, { to: contract, value: 9n, data: encodeSwapCall(call) });
    await chain.watchTx(paid.txid, 0);
    await world.mine(2);
    await chain.refresh();
    expect(chain.payment(key)).toMatchObject({ state: "sent", sent: { txid: paid.txid } });
    expect(chain.confirmations(chain.tx(paid.txid)?.block ?? null)).toBe(3);
    const news: ReadonlySet<string>[] = [];
    const stop = chain.onChange(({ keys }) => news.push(keys));
    await anvil.call("evm_revert", [snapshot]);
    await anvil.call("evm_increaseTime", [7]);
    await world.mine(5);
    await chain.refresh();
    stop();
    expect(chain.payment(key)).toMatchObject({ state: "uninitialized", sent: null, events: "complete" });
    expect(chain.tx(paid.txid)).toBeUndefined();
    expect(news.some((keys) => keys.has(key.id) && keys.has(paid.txid))).toBe(true);
    // Mined by itself, it would be at a time of the chain's own choosing.
    await anvil.call("evm_setAutomine", [false]);
    expect(await chain.broadcast(paid.raw)).toEqual({ kind: "accepted" });
    await world.mine();
    await anvil.call("evm_setAutomine", [true]);
    await chain.refresh();
    expect(chain.payment(key)).toMatchObject({ state: "sent", sent: { txid: paid.txid }, events: "complete" });
    expect(chain.confirmations(chain.tx(paid.txid)?.block ?? null)).toBe(1);
  });

  test("a contract address without code, or with another interface, is named in a clear sentence", async () => {
    const token = await world.deployToken(maker, 1n);
    expect(await chain.checkSwapContract(contract)).toEqual({ ok: true, value: undefined });
    expect(await chain.checkSwapContract(taker.address)).toMatchObject({ ok: false, error: { kind: "NoCode" } });
    expect(await chain.checkSwapContract(token)).toMatchObject({ ok: false, error: { kind: "OtherInterface" } });
    expect(await chain.tokenDecimals(contract)).toMatchObject({ ok: false, error: { kind: "OtherInterface" } });
    expect(await chain.tokenDecimals(taker.address)).toMatchObject({ ok: false, error: { kind: "NoCode" } });
    const many = await world.deployToken(maker, 1n, 31n);
    expect(await chain.tokenDecimals(many)).toMatchObject({ ok: false, error: { kind: "OtherInterface" } });
    // Code that takes every call and returns zeros: PUSH1 96, PUSH1 0, RETURN.
    const yes = addressFromBytes(new Uint8Array(20).fill(0xee));
    await anvil.call("anvil_setCode", [`0x${yes}`, "0x60606000f3"]);
    expect(await chain.checkSwapContract(yes)).toMatchObject({ ok: false, error: { kind: "OtherInterface" } });
    const key = { contract: taker.address, id: "ab".repeat(32) };
    await chain.watchPayment(key, 0);
    expect(chain.payment(key)).toBeUndefined();
    expect(chain.status()).toMatchObject({ state: "ready", error: expect.stringContaining("There is no contract at 0x") });
    chain.unwatch({ payments: [key] });
  });

  test("a node of another chain is refused and named", async () => {
    const other = await startAnvil({ chainId: 5 });
    const both = openChain([other.url, anvil.url, anvil.url]);
    opened.push(both);
    await both.refresh();
    const { nodes, tip } = both.status();
    expect(nodes).toMatchObject([
      { state: "refused", trouble: "it serves the chain with id 5, not 31337" },
      { state: "good" },
      { state: "good" },
    ]);
    expect(tip?.height).toBe(Number(await anvil.call("eth_blockNumber")));
    const wrong = openChain([other.url]);
    opened.push(wrong);
    const stop = new AbortController();
    const news = new Promise<void>((resolve) => wrong.onChange(() => resolve()));
    const refused = wrong.refresh(stop.signal);
    await news;
    expect(wrong.status()).toMatchObject({ state: "unreachable", error: expect.stringContaining("serve another chain") });
    stop.abort();
    await expect(refused).rejects.toThrow("aborted");
    await other.stop();
  });
});

const HASH_AS_SECRET = new Uint8Array(32).fill(0x22);
