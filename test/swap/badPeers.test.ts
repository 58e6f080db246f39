import { afterEach, describe, expect, test, vi } from "vitest";
import type { Contract, SignedTx } from "../../src/app/swap/swapCoin.ts";
import { signEnvelope } from "../../src/core/message/envelope.ts";
import { encodeSwapMessage } from "../../src/core/message/swapMessage.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import { makerLock, takerLock } from "../../src/core/swap/timelocks.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { p2pkhScript } from "../../src/core/utxo/outputScript.ts";
import { signInputs } from "../../src/core/utxo/signInput.ts";
import { feeOutputs } from "../../src/core/utxo/swapTx.ts";
import { parseTx, serializeTx } from "../../src/core/utxo/txCodec.ts";
import { draftTx } from "../../src/core/utxo/txTemplate.ts";
import { Aborted } from "../../src/ports/clock.ts";
import { payTo, testKey } from "../fakes/chainWorld.ts";
import { NO_POINT, type OfferData, offerMessage, replyMessage } from "../fakes/negotiationMessages.ts";
import { FEE_KEY, FEE_UNITS, SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const L = 600;
const SECRET = new Uint8Array(32).fill(9);
const NONE = new Uint8Array();
const nowSec = (): number => Math.floor(world.clock.nowMs() / 1_000);
const ok = <T>(r: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }): T => {
  if (!r.ok) throw new Error(JSON.stringify(r.error, (_, v: unknown) => (typeof v === "bigint" ? `${v}` : v)));
  return r.value;
};
const blameOf = (event: string, side: SwapWorld["maker"]): string => `${event} ${toHex(side.key.publicKey)}`;

const offer = (change: Partial<OfferData> = {}): SwapMessage =>
  offerMessage({ nowSec: nowSec(), lockSec: L, key: world.maker.key.publicKey, secretHash: hash160(SECRET) }, change);
/** A taker's answer to the maker's offer, under a key. */
async function replyOf(uuid: string, key: Uint8Array): Promise<SwapMessage> {
  const { secretHash } = (await world.maker.state(uuid)).terms;
  return replyMessage({ nowSec: nowSec(), lockSec: L, key, secretHash: fromHex(secretHash ?? "") });
}

describe("a maker of bad faith", () => {
  const cases: readonly (readonly [string, () => Partial<OfferData>])[] = [
    ["started 61 s after us", () => ({ startedAt: nowSec() + 61 })],
    ["started 61 s before us", () => ({ startedAt: nowSec() - 61 })],
    ["locks a second less than agreed", () => ({ paymentLocktime: makerLock(nowSec(), L) - 1 })],
    ["locks as long as the taker", () => ({ paymentLocktime: takerLock(nowSec(), L) })],
    ["has a secret hash of 32 bytes, where the pair has 20", () => ({ secretHash: new Uint8Array(32).fill(1) })],
    ["has a secret hash of no bytes", () => ({ secretHash: NONE })],
    ["has a key that is no point of the curve", () => ({ makerCoinHtlcPub: NO_POINT })],
    ["names a swap contract on a chain without contracts", () => ({ takerCoinContract: new Uint8Array(20).fill(1) })],
  ];
  for (const [what, change] of cases) {
    test(`that ${what} gets no answer and no fee; it is not banned for what it may have said in another swap`, async () => {
      world = await SwapWorld.open();
      const uuid = await world.start({ only: "taker" });
      world.inject(world.maker, world.taker, uuid, offer(change()));
      world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
      await world.advance(30);
      expect(await world.outcome(world.taker, uuid)).toBe("failed");
      expect(world.sent(world.taker, uuid)).toEqual([]);
      expect((await world.taker.state(uuid)).own.fee).toBeUndefined();
      expect(world.taker.blamed).toEqual([]);
      expect(world.taker.coin("BBB").ledger.held()).toBe(0n);
    });
  }

  for (const startDifference of [-60, 60]) {
    test(`started ${startDifference} s apart is still fine`, async () => {
      world = await SwapWorld.open();
      const uuid = await world.start({ only: "taker" });
      world.inject(world.maker, world.taker, uuid, offer({ startedAt: nowSec() + startDifference }));
      await world.advance(1);
      expect(world.sent(world.taker, uuid).map((m) => m.type)).toContain("NegotiationReply");
    });
  }
});

/** Negotiates as the maker with keys of our own and waits until the taker has paid its fee. @returns the contract of the maker payment */
async function untilMakerPays(uuid: string): Promise<Contract> {
  const startedAt = nowSec();
  world.inject(world.maker, world.taker, uuid, offer({ startedAt }));
  await world.advance(2);
  world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
  await world.until("the fee", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  return {
    lock: makerLock(startedAt, L),
    secretHash: hash160(SECRET),
    refundKey: world.maker.key.publicKey,
    claimKey: world.taker.key.publicKey,
    units: 0n,
    swapContract: null,
  };
}

describe("a maker payment", () => {
  test("of a unit less, to another script, as garbage or never broadcast at all is not paid for; the one of a unit less is bad faith, whatever comes after it", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start({ only: "taker" });
    const contract = await untilMakerPays(uuid);
    const coin = world.maker.coin("AAA");
    const unsent = (tx: SignedTx): Uint8Array => {
      coin.releaseInputs(tx.raw);
      return tx.raw;
    };
    const built = [
      unsent(ok(coin.buildPayment({ contract: { ...contract, units: 199_999_999n }, reservation: null }))),
      unsent(ok(coin.buildPayment({ contract: { ...contract, lock: contract.lock - 1, units: 200_000_000n }, reservation: null }))),
      unsent(ok(coin.buildDexFee({ feeUnits: 200_000_000n, burnUnits: 0n, feeKey: world.taker.key.publicKey, reservation: null }))),
      new Uint8Array(300).fill(255),
      NONE,
    ];
    for (const data of built) {
      world.inject(world.maker, world.taker, uuid, { type: "MakerPayment", tx: { data } });
      await world.advance(2);
    }
    await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) !== null, 800);
    expect(await world.outcome(world.taker, uuid)).toBe("failed");
    expect((await world.taker.state(uuid)).own.takerPayment).toBeUndefined();
    expect(world.taker.blamed).toEqual([blameOf("MakerPaymentValidateFailed", world.maker)]);
  });

  test("to another script, a fee or garbage in its place, and a wrong amount that anybody sent to the contract's address prove no bad faith", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start({ only: "taker" });
    const contract = await untilMakerPays(uuid);
    const coin = world.maker.coin("AAA");
    const other = ok(coin.buildPayment({ contract: { ...contract, lock: contract.lock - 1, units: 200_000_000n }, reservation: null }));
    coin.releaseInputs(other.raw);
    const fee = ok(coin.buildDexFee({ feeUnits: FEE_UNITS, burnUnits: 0n, feeKey: FEE_KEY.publicKey, reservation: null }));
    expect(world.chain("AAA").payFromFaucet(coin.contractScript(contract), 199_999_999n).ok).toBe(true);
    for (const data of [other.raw, fee.raw, new Uint8Array(300).fill(255), NONE]) {
      world.inject(world.maker, world.taker, uuid, { type: "MakerPayment", tx: { data } });
      await world.advance(2);
    }
    await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) !== null, 800);
    expect(await world.outcome(world.taker, uuid)).toBe("failed");
    expect(JSON.stringify(await world.taker.status(uuid))).toContain("what came instead");
    expect(world.taker.blamed).toEqual([]);
  });

  test("at another output, dust to the contract's address and the exact payment twice: only the exact one counts, once", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start({ only: "taker" });
    const contract = await untilMakerPays(uuid);
    const coin = world.maker.coin("AAA");
    for (const units of [1_000n, 200_000_001n])
      expect(world.chain("AAA").payFromFaucet(coin.contractScript(contract), units).ok).toBe(true);
    await world.advance(60);
    expect((await world.taker.state(uuid)).facts.makerPayment).toBeUndefined();
    const first = ok(coin.buildPayment({ contract: { ...contract, units: 200_000_000n }, reservation: null }));
    await world.drive(coin.chain.broadcast(first.raw));
    const second = ok(coin.buildPayment({ contract: { ...contract, units: 200_000_000n }, reservation: null }));
    await world.drive(coin.chain.broadcast(second.raw));
    await world.until("the taker pays", async () => (await world.taker.state(uuid)).own.takerPayment !== undefined);
    const paid = (await world.taker.state(uuid)).facts.makerPayment?.txid;
    expect([first.txid, second.txid]).toContain(paid);
    await world.advance(100);
    expect((await world.taker.state(uuid)).facts.makerPayment?.txid).toBe(paid);
  });

  test("announced again and again in another form, and never on the chain, is written down five times at most", async () => {
    world = await SwapWorld.open();
    const refused = { ok: false, error: { kind: "rpc", code: -26, message: "no" } } as const;
    world.taker.rpcOf("AAA").instead.set("sendrawtransaction", refused);
    const uuid = await world.start({ only: "taker" });
    const contract = await untilMakerPays(uuid);
    const coin = world.maker.coin("AAA");
    const ids = new Set<string>();
    for (let i = 0; i < 9; i++) {
      // Another second, another lock time, another transaction.
      const { txid, raw } = ok(coin.buildPayment({ contract: { ...contract, units: 200_000_000n }, reservation: null }));
      coin.releaseInputs(raw);
      ids.add(txid);
      world.inject(world.maker, world.taker, uuid, { type: "MakerPayment", tx: { data: raw } });
      await world.advance(3);
    }
    const received = (await world.taker.events(uuid)).filter(({ event }) => event.type === "tx_received");
    expect([ids.size, received.length]).toEqual([9, 5]);
  });

  test("announced in other forms of nearly the size of a block's is written down up to 50 kB, and taken from the chain all the same", async () => {
    world = await SwapWorld.open();
    const refused = { ok: false, error: { kind: "rpc", code: -26, message: "no" } } as const;
    world.taker.rpcOf("AAA").instead.set("sendrawtransaction", refused);
    const uuid = await world.start({ only: "taker" });
    const contract = await untilMakerPays(uuid);
    const coin = world.maker.coin("AAA");
    const { raw } = ok(coin.buildPayment({ contract: { ...contract, units: 200_000_000n }, reservation: null }));
    const { inputs, outputs, ...rest } = ok(parseTx(raw, { kind: "bitcoin" }));
    const large = (n: number): Uint8Array =>
      serializeTx({ ...rest, inputs, outputs: [...outputs, { value: BigInt(n), script: new Uint8Array(30_000) }] });
    for (let i = 0; i < 3; i++) {
      world.inject(world.maker, world.taker, uuid, { type: "MakerPayment", tx: { data: large(i) } });
      await world.advance(3);
    }
    const received = (await world.taker.events(uuid)).filter(({ event }) => event.type === "tx_received");
    expect(received.length).toBe(1);
    await world.drive(coin.chain.broadcast(raw));
    await world.until("the payment is seen", async () => (await world.taker.state(uuid)).facts.makerPayment !== undefined);
  });

  test("that is deep and exact, but spent before the taker pays, is not paid for", async () => {
    world = await SwapWorld.open({ blockSec: null });
    const uuid = await world.start({ only: "taker" });
    const contract = await untilMakerPays(uuid);
    const coin = world.maker.coin("AAA");
    const payment = ok(coin.buildPayment({ contract: { ...contract, units: 200_000_000n }, reservation: null }));
    expect(await world.drive(coin.chain.broadcast(payment.raw))).toMatchObject({ kind: "accepted" });
    await world.advance(5);
    // The same key on another machine takes it, with the secret that this test knows; the block has the payment alone.
    const claim = ok(world.taker.coin("AAA").buildClaim({ contract, payment: payment.raw, secret: SECRET }));
    expect(await world.drive(coin.chain.broadcast(claim.raw))).toMatchObject({ kind: "accepted" });
    const tx = world.chain("AAA").mempool.graph.get(payment.txid)?.chainTx;
    expect(tx && world.chain("AAA").mineExactly(world.maker.script, [tx]).ok).toBe(true);
    await world.advance(60);
    const s = await world.taker.state(uuid);
    expect([s.facts.makerPayment?.confirmed, s.own.takerPayment]).toEqual([true, undefined]);
    expect(JSON.stringify(world.taker.log.lines)).toContain(`makerPayment is already spent by ${claim.txid}`);
  });
});

const gaveUp = (uuid: string): Promise<void> =>
  world.until("the maker gives up", async () => (await world.outcome(world.maker, uuid)) !== null, 800);

/** A fee the taker signed, out of an output that never was. */
function madeUpFee(n: number): Uint8Array {
  const { key } = world.taker;
  const { template, scheme } = world.chain("BBB").params;
  const spent = { txid: n.toString(16).padStart(64, "e"), vout: 0, value: 2n * FEE_UNITS, script: payTo(key) };
  const input = { txid: spent.txid, vout: 0, scriptSig: NONE, sequence: 0xffffffff, witness: [] };
  const outputs = feeOutputs({ feeKey: FEE_KEY.publicKey, fee: FEE_UNITS, burn: 0n });
  return serializeTx(signInputs(draftTx(template, { inputs: [input], outputs, lockTime: 0 }), [spent], key, scheme));
}

describe("a taker of bad faith", () => {
  test("that echoes our hash with a key that is no point is refused", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start({ only: "maker" });
    world.inject(world.taker, world.maker, uuid, await replyOf(uuid, NO_POINT));
    await world.advance(2);
    expect(await world.outcome(world.maker, uuid)).toBe("failed");
    expect(world.sent(world.maker, uuid).at(-1)).toEqual({ type: "Negotiated", accepted: false });
    expect(world.maker.blamed).toEqual([]);
  });

  test("that pays the fee of another swap again gets no maker payment", async () => {
    world = await SwapWorld.open();
    const first = await world.start();
    await world.until("the first fee counts", async () => (await world.maker.state(first)).received.fee !== undefined);
    const fee = world.sent(world.taker, first).find((m) => m.type === "TakerFee");
    world.lose(world.maker, (m, uuid) => m.type === "TakerFee" && uuid !== first);
    const second = await world.start();
    await world.until("the second is negotiated", async () => (await world.maker.state(second)).negotiated !== null);
    for (let i = 0; i < 20; i++) {
      if (fee) world.inject(world.taker, world.maker, second, fee);
      await world.advance(10);
    }
    await gaveUp(second);
    expect((await world.maker.state(second)).own.makerPayment).toBeUndefined();
    expect(JSON.stringify(await world.maker.status(second))).toContain("already paid for another swap");
    expect(world.maker.blamed).toEqual([]);
  });

  test("that shows a right fee from before the swap gets no maker payment", async () => {
    world = await SwapWorld.open();
    const old = ok(
      world.taker.coin("BBB").buildDexFee({ feeUnits: FEE_UNITS, burnUnits: 0n, feeKey: FEE_KEY.publicKey, reservation: null }),
    );
    await world.drive(world.taker.coin("BBB").chain.broadcast(old.raw));
    world.mine("BBB");
    await world.advance(5);
    world.lose(world.maker, (m) => m.type === "TakerFee");
    const uuid = await world.start();
    await world.until("it is negotiated", async () => (await world.maker.state(uuid)).negotiated !== null);
    for (let i = 0; i < 15; i++) {
      world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data: old.raw } });
      await world.advance(10);
    }
    await gaveUp(uuid);
    expect((await world.maker.state(uuid)).received.fee).toBeUndefined();
    expect(JSON.stringify(await world.maker.status(uuid))).toContain("before this swap began");
    expect(world.maker.blamed).toEqual([]);
  });

  test("that pays a fee one unit short, or with somebody else's inputs, gets no maker payment; it may be the fee of another swap", async () => {
    world = await SwapWorld.open();
    world.lose(world.maker, (m) => m.type === "TakerFee");
    const uuid = await world.start();
    await world.until("it is negotiated", async () => (await world.maker.state(uuid)).negotiated !== null);
    const short = ok(
      world.taker.coin("BBB").buildDexFee({ feeUnits: FEE_UNITS - 1n, burnUnits: 0n, feeKey: FEE_KEY.publicKey, reservation: null }),
    );
    const stranger = world.chain("BBB").payFromFaucet(payTo(FEE_KEY), FEE_UNITS);
    if (!stranger.ok) throw new Error("the faucet failed");
    for (const data of [short.raw, stranger.value.raw]) {
      world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data } });
      await world.advance(70);
    }
    await gaveUp(uuid);
    expect(await world.outcome(world.maker, uuid)).toBe("failed");
    expect(world.maker.blamed).toEqual([]);
    expect((await world.maker.state(uuid)).own.makerPayment).toBeUndefined();
  });

  test("that tells of one made-up fee after the other has few of them given to servers, which count what they refuse, and may still pay", async () => {
    world = await SwapWorld.open();
    const stop = world.lose(world.maker, (m) => m.type === "TakerFee");
    const uuid = await world.start();
    await world.until("it is negotiated", async () => (await world.maker.state(uuid)).negotiated !== null);
    const given = vi.spyOn(world.maker.coin("BBB").chain, "broadcast");
    for (let i = 0; i < 30; i++) {
      world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data: madeUpFee(i) } });
      await world.advance(3);
    }
    const fees = new Set(given.mock.calls.map(([raw]) => toHex(raw)));
    expect(fees.size).toBeGreaterThan(2);
    expect(fees.size).toBeLessThanOrEqual(4);
    stop();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  });

  test("that begins many swaps and makes up fees for each has servers asked for few of them, and none of its fees holds up one that is there, also where a block has it soon", async () => {
    world = await SwapWorld.open();
    const stop = world.lose(world.maker, (m) => m.type === "TakerFee");
    const { chain } = world.maker.coin("BBB");
    const madeUp = new Set<string>();
    // A fee that is there comes to our servers some seconds after its message, and a block may take it out of mempools soon.
    let askedMs = null as number | null;
    const isWaiting = async (raw: Uint8Array): Promise<boolean> => {
      if (madeUp.has(toHex(raw))) return false;
      askedMs ??= world.clock.nowMs();
      const passedMs = world.clock.nowMs() - askedMs;
      return passedMs >= 3_000 && passedMs < 8_000;
    };
    Object.assign(chain, { isWaiting });
    const given = vi.spyOn(chain, "broadcast");
    const small = { makerAmount: "0.2", takerAmount: "0.1" };
    const uuids: string[] = [];
    for (let i = 0; i < 8; i++) uuids.push(await world.start(small));
    const honest = await world.start(small);
    for (const uuid of uuids) await world.until("it is negotiated", async () => (await world.maker.state(uuid)).negotiated !== null);
    for (let i = 0; i < 5; i++) {
      for (const [n, uuid] of uuids.entries()) {
        const data = madeUpFee(10 * n + i);
        madeUp.add(toHex(data));
        world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data } });
      }
      await world.advance(3);
    }
    const fees = given.mock.calls.map(([raw]) => toHex(raw)).filter((hex) => madeUp.has(hex));
    expect(new Set(fees).size).toBeGreaterThan(2);
    expect(new Set(fees).size).toBeLessThanOrEqual(10);
    stop();
    expect(await world.finish(honest)).toEqual({ maker: "success", taker: "success" });
  });

  test("that only falls silent is not banned", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start();
    await world.until("the maker has paid", async () => (await world.maker.state(uuid)).own.makerPayment !== undefined);
    await world.taker.stop();
    await world.until("it is over", async () => (await world.outcome(world.maker, uuid)) !== null);
    expect([await world.outcome(world.maker, uuid), world.maker.blamed]).toEqual(["refunded", []]);
    await world.taker.restart();
  });
});

test("fees that wait in no mempool and are there all the same use up nothing of what servers may be asked for: a block may have them at once", async () => {
  world = await SwapWorld.open();
  Object.assign(world.maker.coin("BBB").chain, { isWaiting: async () => false });
  for (let i = 0; i < 12; i++)
    expect(await world.finish(await world.start({ makerAmount: "0.2", takerAmount: "0.1" }))).toEqual({
      maker: "success",
      taker: "success",
    });
});

test("a fee that a block had before it could be seen to wait is asked about at the address of its taker, so that made-up fees do not hold it up", async () => {
  world = await SwapWorld.open();
  const payers = new Set<string>();
  const isWaiting = async (_raw: Uint8Array, payer: Uint8Array | null): Promise<boolean> => {
    payers.add(payer === null ? "" : toHex(payer));
    return payer !== null;
  };
  Object.assign(world.maker.coin("BBB").chain, { isWaiting });
  const uuid = await world.start();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  const { negotiated } = await world.maker.state(uuid);
  expect([...payers]).toEqual([toHex(p2pkhScript(hash160(fromHex(negotiated?.takerCoinPub ?? ""))))]);
});

test("messages signed by a stranger, unsigned or of another kind are passed on and change nothing", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  const stranger = { ...world.taker, key: testKey("a stranger") } as SwapWorld["taker"];
  for (let i = 0; i < 30; i++) {
    world.inject(stranger, world.maker, uuid, { type: "Negotiated", accepted: false });
    world.inject(stranger, world.maker, uuid, { type: "TakerFee", tx: { data: Uint8Array.of(1) } });
    const verdict = world.maker.runner.onGossip({
      topic: `swap/${uuid}`,
      data: new TextEncoder().encode('{"method":"swapstatus"}'),
      from: "relay",
    });
    expect(verdict).toBe("accept");
    await world.advance(1);
  }
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a stranger cannot slip into a negotiation, neither under its own key nor under the taker's with its own signature", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ only: "maker" });
  const stranger = testKey("a stranger");
  const own = signEnvelope(encodeSwapMessage(await replyOf(uuid, stranger.publicKey)), stranger.secret.reveal());
  const forged = fromHex(toHex(own).replace(toHex(stranger.publicKey), toHex(world.taker.key.publicKey)));
  const verdicts = [own, forged].map((data) => world.maker.runner.onGossip({ topic: `swap/${uuid}`, data, from: "relay" }));
  await world.advance(5);
  expect([(await world.maker.state(uuid)).negotiated, verdicts]).toEqual([null, ["accept", "reject"]]);
});

test("amounts too small to be claimed at the present miner fee are not paid for", async () => {
  world = await SwapWorld.open({ coin: { txfee: 200_000 } });
  const uuid = await world.start({ makerAmount: "0.0005" });
  await world.until("the maker decides", async () => (await world.outcome(world.maker, uuid)) !== null, 300);
  expect(await world.outcome(world.maker, uuid)).toBe("failed");
  expect(JSON.stringify(await world.maker.status(uuid))).toContain("too few to be claimed or refunded");
});

test("floods on a swap's topic have no signature checked, neither of strangers nor of what was said before", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.until("the maker pays", async () => (await world.maker.state(uuid)).own.makerPayment?.attempted === true, 60);
  const say = encodeSwapMessage({ type: "Negotiated", accepted: false });
  const stranger = signEnvelope(say, testKey("a stranger").secret.reveal());
  const said = world.taker.p2p.published.find(({ topic }) => topic === `swap/${uuid}`)?.data ?? NONE;
  const before = world.maker.verified;
  for (const data of [stranger, said])
    for (let i = 0; i < 1_000; i++) expect(world.maker.runner.onGossip({ topic: `swap/${uuid}`, data, from: "relay" })).toBe("accept");
  expect([said.length > 0, world.maker.verified - before]).toEqual([true, 0]);
  expect(await world.finish(uuid), world.report()).toEqual({ maker: "success", taker: "success" });
});

test("signatures of a swap's messages are checked beside the event loop where there are threads for it, and a full queue is no verdict", async () => {
  world = await SwapWorld.open();
  world.maker.later = async (check) => check();
  const uuid = await world.start();
  expect(await world.finish(uuid), world.report()).toEqual({ maker: "success", taker: "success" });
  const other = await world.start({ only: "maker" });
  const reply = signEnvelope(encodeSwapMessage(await replyOf(other, world.taker.key.publicKey)), world.taker.key.secret.reveal());
  const say = (): unknown => world.maker.runner.onGossip({ topic: `swap/${other}`, data: reply, from: "relay" });
  world.maker.later = () => null;
  expect(say()).toBe("busy");
  world.maker.later = async () => Promise.reject(new Aborted("the verifier is closed"));
  expect(await say()).toBe("ignore");
  expect((await world.maker.state(other)).negotiated).toBeNull();
  world.maker.later = async (check) => check();
  expect(await say()).toBe("accept");
  await world.advance(1);
  expect((await world.maker.state(other)).negotiated).not.toBeNull();
});
