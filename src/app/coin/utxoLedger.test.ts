import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { fundAll } from "../../../sim/world/funding.ts";
import { payTo, testKey } from "../../../test/fakes/chainWorld.ts";
import { FEE_KEY, SwapWorld } from "../../../test/fakes/swapWorld.ts";
import { decimal, toUnits } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Unspent } from "../../core/utxo/sortedUnspents.ts";
import { parseTx } from "../../core/utxo/txCodec.ts";
import type { Contract, SignedTx } from "../swap/swapCoin.ts";
import type { Reservation } from "../tradingCoin.ts";
import type { UtxoCoin } from "./utxoCoin.ts";

const COIN = 100_000_000n;
const NEVER = new AbortController().signal;
const CONTRACT: Contract = {
  lock: 1_800_000_000,
  secretHash: new Uint8Array(20),
  refundKey: testKey("maker").publicKey,
  claimKey: testKey("taker").publicKey,
  units: COIN,
  swapContract: null,
};

let world: SwapWorld;
afterEach(() => world.close());
const coinOf = (): UtxoCoin => world.maker.coin("AAA");
const sum = (us: readonly Unspent[]): bigint => us.reduce((n, u) => n + u.value, 0n);
const free = (): bigint => sum(coinOf().ledger.spendable());

/** A wallet of confirmed outputs of these values; the chain grows only when a test says so. */
async function wallet(...values: readonly bigint[]): Promise<UtxoCoin> {
  const [first = COIN, ...rest] = values;
  world = new SwapWorld({ blockSec: null, funds: first });
  for (const v of rest) world.fund("AAA", world.maker, v);
  await world.maker.open();
  await world.taker.open();
  return coinOf();
}

function reserve(coin: UtxoCoin, ...amounts: readonly string[]): Reservation {
  const held = coin.reserve(amounts.map(decimal), 60_000);
  if (!held.ok) throw new Error(JSON.stringify(held.error, (_, v: unknown) => (typeof v === "bigint" ? `${v}` : v)));
  return held.value;
}
function payment(coin: UtxoCoin, units: bigint, reservation: Reservation | null): SignedTx {
  const built = coin.buildPayment({ contract: { ...CONTRACT, units }, reservation });
  if (!built.ok) throw new Error(built.error.kind);
  return built.value;
}
async function send(coin: UtxoCoin, tx: SignedTx): Promise<string> {
  return (await world.drive(coin.chain.broadcast(tx.raw))).kind;
}
async function confirm(): Promise<void> {
  world.mine("AAA");
  await world.drive(coinOf().chain.refresh());
}
const txOf = (coin: UtxoCoin, tx: SignedTx) => {
  const parsed = parseTx(tx.raw, coin.spec.kind.template.format);
  if (!parsed.ok) throw new Error("bad transaction");
  return parsed.value;
};

describe("promises", () => {
  test("are by value: one large output serves several swaps through its change, and no more than it holds", async () => {
    const coin = await wallet(10n * COIN);
    reserve(coin, "4");
    reserve(coin, "3", "2");
    expect(coin.ledger.held()).toBeGreaterThan(9n * COIN);
    expect(coin.reserve([decimal("1")], 60_000)).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance", coin: "AAA" } });
  });

  test("end by themselves, unless a swap keeps them, and when they are released", async () => {
    const coin = await wallet(10n * COIN);
    const kept = reserve(coin, "4");
    reserve(coin, "4");
    coin.adopt(kept);
    await world.advance(61);
    expect(coin.ledger.held()).toBeLessThan(5n * COIN);
    expect(coin.ledger.held()).toBeGreaterThan(4n * COIN);
    coin.release(kept);
    coin.release(kept);
    expect(coin.ledger.held()).toBe(0n);
  });

  test("are used up by the transaction signed for them, and stand again when it is dropped", async () => {
    const coin = await wallet(10n * COIN);
    const held = reserve(coin, "4");
    const before = coin.ledger.held();
    const tx = payment(coin, 4n * COIN, held);
    expect(coin.ledger.held()).toBe(0n);
    coin.releaseInputs(tx.raw);
    expect([coin.ledger.held(), free()]).toEqual([before, 10n * COIN]);
  });

  test("of others are not touched by a transaction without a promise", async () => {
    const coin = await wallet(10n * COIN);
    reserve(coin, "8");
    expect(coin.buildPayment({ contract: { ...CONTRACT, units: 3n * COIN }, reservation: null }).ok).toBe(false);
    const withdraw = (amount: string) =>
      world.drive(coin.withdraw({ to: coin.address, amount: decimal(amount), fee: undefined, broadcast: false }, NEVER));
    expect(await withdraw("3")).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance" } });
    expect((await withdraw("1")).ok).toBe(true);
    expect(coin.buildPayment({ contract: { ...CONTRACT, units: COIN }, reservation: null }).ok).toBe(true);
  });

  test("are at most 1000", async () => {
    const coin = await wallet(10n * COIN);
    // Promises of nothing cost nothing to replay.
    for (let i = 0; i < 1_000; i++) expect(coin.ledger.hold([], null).ok).toBe(true);
    expect(coin.ledger.hold([], null).ok).toBe(false);
  });
});

describe("locks", () => {
  test("two transactions never use one output, signed or sent, and the change counts at once", async () => {
    const coin = await wallet(5n * COIN, 5n * COIN);
    const [a, b] = [reserve(coin, "4"), reserve(coin, "4")];
    const inputs = [payment(coin, 4n * COIN, a), payment(coin, 4n * COIN, b)].flatMap((tx) =>
      txOf(coin, tx).inputs.map((i) => `${i.txid}:${i.vout}`),
    );
    expect(new Set(inputs).size).toBe(inputs.length);
    expect(free()).toBeGreaterThan(2n * COIN - 10_000n);
  });

  test("change the backend does not list yet counts, but nothing is built on it", async () => {
    const coin = await wallet(10n * COIN);
    const [a, b] = [reserve(coin, "4"), reserve(coin, "4")];
    const first = payment(coin, 4n * COIN, a);
    expect(free()).toBeGreaterThan(5n * COIN);
    // An order asked for now finds its fees: it is paid for later.
    expect(coin.paymentFee(decimal("1"), "order").ok).toBe(true);
    expect(coin.buildPayment({ contract: { ...CONTRACT, units: 4n * COIN }, reservation: b })).toMatchObject({
      ok: false,
      error: { kind: "NotSufficientBalance" },
    });
    expect(await send(coin, first)).toBe("accepted");
    const second = payment(coin, 4n * COIN, b);
    expect(txOf(coin, second).inputs.map((i) => i.txid)).toEqual([first.txid]);
    expect(await send(coin, second)).toBe("accepted");
  });

  test("hold while a reorg puts the spend of an output back and the mempool forgets it", async () => {
    const coin = await wallet(10n * COIN);
    const tx = payment(coin, 4n * COIN, reserve(coin, "4"));
    await send(coin, tx);
    await confirm();
    expect(world.chain("AAA").reorg({ depth: 1, forget: [tx.txid] }).ok).toBe(true);
    await world.drive(coin.chain.refresh());
    // Its swap sends it again: the change still counts, the inputs stay taken, and nothing is built before it is back.
    expect(free()).toBeLessThan(6n * COIN);
    expect(coin.buildPayment({ contract: { ...CONTRACT, units: COIN }, reservation: null }).ok).toBe(false);
  });

  test("are told to whoever sends a transaction of his own", async () => {
    const coin = await wallet(10n * COIN);
    const loose = await world.drive(coin.withdraw({ to: coin.address, amount: decimal("1"), fee: undefined, broadcast: false }, NEVER));
    if (!loose.ok) throw new Error(loose.error.kind);
    const tx = payment(coin, 4n * COIN, reserve(coin, "4"));
    const sent = await world.drive(coin.sendRaw(loose.value.raw, NEVER));
    expect(sent).toMatchObject({ ok: false, error: { kind: "Rejected", message: expect.stringContaining(tx.txid) } });
  });
});

describe("a withdrawal that was signed before and is sent by itself", () => {
  async function signed(coin: UtxoCoin, amount: string, to: UtxoCoin): Promise<SignedTx> {
    const request = { to: to.address, amount: decimal(amount), fee: undefined, broadcast: false };
    const done = await world.drive(coin.withdraw(request, NEVER));
    if (!done.ok) throw new Error(done.error.kind);
    return done.value;
  }
  const toTaker = (coin: UtxoCoin, amount: string): Promise<SignedTx> => signed(coin, amount, world.taker.coin("AAA"));

  test("takes nothing that was promised to a swap meanwhile", async () => {
    const coin = await wallet(10n * COIN);
    const loose = await toTaker(coin, "6");
    const held = reserve(coin, "8");
    expect(await world.drive(coin.sendRaw(loose.raw, NEVER))).toMatchObject({
      ok: false,
      error: { kind: "Rejected", message: expect.stringContaining("promised to swaps") },
    });
    expect(await send(coin, payment(coin, 8n * COIN, held))).toBe("accepted");
  });

  test("takes its outputs before it leaves, and no swap is promised them while the backend does not list it yet", async () => {
    const coin = await wallet(10n * COIN);
    const loose = await toTaker(coin, "6");
    const sending = coin.sendRaw(loose.raw, NEVER);
    expect(coin.reserve([decimal("8")], 60_000)).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance" } });
    expect(await world.drive(sending)).toEqual({ ok: true, value: loose.txid });
    expect(free()).toBeLessThan(4n * COIN);
    expect(coin.reserve([decimal("3")], 60_000).ok).toBe(true);
  });

  test("gives them back when it is refused", async () => {
    const coin = await wallet(10n * COIN);
    const loose = await toTaker(coin, "6");
    const broken = loose.raw.map((byte, i) => (i === 60 ? byte ^ 1 : byte));
    expect((await world.drive(coin.sendRaw(broken, NEVER))).ok).toBe(false);
    expect([free(), coin.reserve([decimal("8")], 60_000).ok]).toEqual([10n * COIN, true]);
  });

  test("goes where it leaves the promises what they need, and again as often as it is asked for", async () => {
    const coin = await wallet(10n * COIN);
    const [loose, own] = [await toTaker(coin, "1"), await signed(coin, "9", coin)];
    const held = reserve(coin, "8");
    expect(await world.drive(coin.sendRaw(loose.raw, NEVER))).toEqual({ ok: true, value: loose.txid });
    expect(await world.drive(coin.sendRaw(loose.raw, NEVER))).toEqual({ ok: true, value: loose.txid });
    expect((await world.drive(coin.sendRaw(own.raw, NEVER))).ok).toBe(false);
    await confirm();
    expect(await send(coin, payment(coin, 8n * COIN, held))).toBe("accepted");
  });
});

test("a block's reward counts as not spendable until it is mature", async () => {
  const coin = await wallet(COIN);
  expect(world.chain("AAA").mineExactly(world.maker.script, []).ok).toBe(true);
  await world.drive(coin.chain.refresh());
  const reward = coin.ledger.own.unspendable();
  expect([reward > 0n, free()]).toEqual([true, COIN]);
  world.mine("AAA", coin.matureConfirmations - 2);
  await world.drive(coin.chain.refresh());
  expect([coin.ledger.own.unspendable(), free()]).toEqual([reward, COIN]);
  world.mine("AAA");
  await world.drive(coin.chain.refresh());
  expect([coin.ledger.own.unspendable(), free()]).toEqual([0n, COIN + reward]);
});

describe("unconfirmed chains", () => {
  test("own change is spent until 20 transactions hang together; the promise of one more is refused until a block comes", async () => {
    const coin = await wallet(100n * COIN);
    const held = Array.from({ length: 20 }, () => reserve(coin, "1"));
    expect(coin.reserve([decimal("1")], 60_000).ok).toBe(false);
    for (const h of held) expect(await send(coin, payment(coin, COIN, h))).toBe("accepted");
    expect(coin.reserve([decimal("1")], 60_000).ok).toBe(false);
    await confirm();
    expect(coin.reserve([decimal("1")], 60_000).ok).toBe(true);
  });

  test("several short chains are not joined into one that nodes refuse", async () => {
    const coin = await wallet(3n * COIN, 3n * COIN);
    // Two chains of 12: together more than 20.
    for (let i = 0; i < 24; i++) {
      const tx = payment(coin, COIN / 100n, reserve(coin, "0.01"));
      expect(await send(coin, tx)).toBe("accepted");
    }
    const all = coin.buildPayment({ contract: { ...CONTRACT, units: 5n * COIN }, reservation: null });
    expect(all.ok).toBe(false);
    const one = payment(coin, COIN, null);
    expect(await send(coin, one)).toBe("accepted");
  });

  test("confirmed outputs are spent first, so that a swap hangs on no other", async () => {
    const coin = await wallet(10n * COIN, 2n * COIN);
    await send(coin, payment(coin, COIN, null));
    const next = txOf(coin, payment(coin, 3n * COIN, null));
    expect(next.inputs.every((i) => coin.chain.tx(i.txid)?.block)).toBe(true);
  });

  test("an unconfirmed payment of somebody else is not built on", async () => {
    const coin = await wallet(2n * COIN);
    world.chain("AAA").payFromFaucet(world.maker.script, 50n * COIN);
    await world.drive(coin.chain.refresh());
    expect([free(), coin.ledger.own.unspendable()]).toEqual([2n * COIN, 50n * COIN]);
  });
});

describe("large outputs", () => {
  test("come back in pieces where more swaps are promised than outputs are left, and then 60 swaps fit where 20 did", async () => {
    const coin = await wallet(200n * COIN);
    const held = Array.from({ length: 20 }, () => reserve(coin, "1"));
    const first = payment(coin, COIN, held[0] ?? null);
    const tx = txOf(coin, first);
    const own = tx.outputs.slice(2);
    expect(own).toHaveLength(4);
    expect(new Set(own.map((o) => toHex(o.script)))).toEqual(new Set([toHex(payTo(world.maker.key))]));
    // The payment itself is where both protocol and counterparty look for it.
    expect(tx.outputs[0]?.value).toBe(COIN);
    expect(await send(coin, first)).toBe("accepted");
    for (const h of held.slice(1)) expect(await send(coin, payment(coin, COIN, h))).toBe("accepted");
    await confirm();
    for (let i = 0; i < 60; i++) expect(coin.reserve([decimal("1")], 60_000).ok, `swap ${i}`).toBe(true);
  });

  test("stay whole where the outputs suffice, or where a piece would be too small for two swaps", async () => {
    const coin = await wallet(10n * COIN, 10n * COIN, 10n * COIN);
    reserve(coin, "1");
    expect(txOf(coin, payment(coin, COIN, reserve(coin, "1"))).outputs).toHaveLength(3);
    await world.close();
    const small = await wallet(10n * COIN);
    const held = reserve(small, "3");
    reserve(small, "3");
    expect(txOf(small, payment(small, 3n * COIN, held)).outputs).toHaveLength(3);
  });

  test("the fee of a taker is cut the same way, behind its output 0", async () => {
    const coin = await wallet(100n * COIN);
    const held = reserve(coin, "0.001", "1");
    reserve(coin, "0.001", "1");
    const fee = coin.buildDexFee({ feeUnits: 100_000n, burnUnits: 0n, feeKey: FEE_KEY.publicKey, reservation: held });
    if (!fee.ok) throw new Error(fee.error.kind);
    const tx = txOf(coin, fee.value);
    expect(tx.outputs.length).toBeGreaterThan(2);
    expect(
      coin.checkDexFee(fee.value.raw, { takerKey: world.maker.key.publicKey, feeKey: FEE_KEY.publicKey, feeUnits: 100_000n, burnUnits: 0n })
        .ok,
    ).toBe(true);
  });
});

describe("more outputs than fit into one transaction", () => {
  test("an order may offer nearly all they hold; a single payment takes as much as it can carry, and can be built", async () => {
    world = new SwapWorld({ blockSec: null, funds: 1_000n });
    const outputs = Array.from({ length: 1_500 }, (_, i) => ({ value: COIN / 100n + BigInt(i), script: world.maker.script }));
    fundAll(world.chain("AAA"), outputs);
    world.mine("AAA");
    await world.maker.open();
    await world.taker.open();
    const coin = coinOf();
    const total = outputs.reduce((n, o) => n + o.value, 0n);
    const [order, start] = [coin.maxPayment("order"), coin.maxPayment("start")];
    if (!order.ok || !start.ok) throw new Error("no volume");
    const [offered, once] = [toUnits(order.value.volume, 8), toUnits(start.value.volume, 8)];
    expect([offered > (total * 99n) / 100n, offered < total]).toEqual([true, true]);
    expect([once > total / 3n, once < total / 2n]).toEqual([true, true]);
    const tx = payment(coin, once, null);
    expect(txOf(coin, tx).inputs.length).toBeGreaterThan(500);
  });
});

describe("many tiny outputs", () => {
  test("that cost more to spend than they hold are left alone, by payments and by the largest volume", async () => {
    // At 20 per byte an input costs 2960: what is sent to an address in pieces of 2000 is a trap, not money.
    world = new SwapWorld({ blockSec: null, funds: 10n * COIN, coin: { txfee: 20_000 } });
    for (let i = 0; i < 30; i++) world.chain("AAA").payFromFaucet(world.maker.script, 2_000n);
    world.mine("AAA");
    await world.maker.open();
    await world.taker.open();
    const coin = coinOf();
    expect(coin.ledger.spendable()).toHaveLength(31);
    const tx = payment(coin, COIN, null);
    expect(txOf(coin, tx).inputs).toHaveLength(1);
    coin.releaseInputs(tx.raw);
    const most = coin.maxPayment("start");
    expect(most.ok && most.value.fee.n / most.value.fee.d).toBe(0n);
    expect(await world.drive(coin.withdraw({ to: coin.address, amount: "max", fee: undefined, broadcast: false }, NEVER))).toMatchObject({
      ok: true,
    });
  });
});

test("a withdrawal of which it is not known whether it was sent keeps its inputs for ten minutes and counts no change", async () => {
  const coin = await wallet(10n * COIN);
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "lost" } });
  const sent = await world.drive(coin.withdraw({ to: coin.address, amount: decimal("1"), fee: undefined, broadcast: true }, NEVER));
  expect(sent).toMatchObject({ ok: false, error: { kind: "Transport" } });
  expect(free()).toBe(0n);
  await world.advance(601);
  expect(free()).toBe(10n * COIN);
});

test("a withdrawal that is cancelled while it is sent does the same: nothing is built on change that may never be", async () => {
  const coin = await wallet(10n * COIN);
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "lost" } });
  const cancel = new AbortController();
  const sent = coin.withdraw({ to: coin.address, amount: decimal("1"), fee: undefined, broadcast: true }, cancel.signal);
  cancel.abort();
  await expect(sent).rejects.toThrow();
  expect(free()).toBe(0n);
  await world.advance(601);
  expect(free()).toBe(10n * COIN);
});

test("what a coin is to do later ends with it, and leaves nothing behind when it is done", async () => {
  const coin = await wallet();
  const done: number[] = [];
  for (const sec of [1, 2, 60]) coin.after(sec * 1_000, () => done.push(sec));
  expect(getEventListeners(coin.closed, "abort").length).toBeLessThanOrEqual(1);
  await world.advance(3);
  expect(done).toEqual([1, 2]);
  await world.drive(coin.close());
  await world.advance(120);
  expect(done).toEqual([1, 2]);
});

test("what is worth offering follows from the coins file, what a daemon finds absurd from what it relays itself", async () => {
  world = new SwapWorld({ coin: { txfee: 20_000 } });
  await world.maker.open();
  await world.taker.open();
  expect(coinOf().spendRates()).toMatchObject({ floorPerKb: 20_000n, relayPerKb: 1_000n });
});

test("change that waits for a block because too many own transactions hang together is told of until that block comes", async () => {
  const coin = await wallet(1_000n * COIN);
  for (let i = 0; i < 20; i++) {
    await send(coin, payment(coin, COIN, reserve(coin, "1")));
    await world.drive(coin.chain.refresh());
  }
  const rest = coin.waitingChange();
  expect([coin.maxPayment("order").ok, toUnits(rest, coin.decimals) > 979n * COIN]).toEqual([false, true]);
  await confirm();
  expect([coin.maxPayment("order").ok, coin.waitingChange()]).toEqual([true, decimal("0")]);
});
