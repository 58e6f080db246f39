import { afterEach, expect, test } from "vitest";
import { deriveSwapSecret } from "../../src/core/keys/swapSecret.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { makerLock } from "../../src/core/swap/timelocks.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const L = 600;
const SECRET_A = (): Uint8Array => deriveSwapSecret(world.maker.key.secret, 1, 1).reveal();
const nowSec = (): number => Math.floor(world.clock.nowMs() / 1_000);
const of = (uuid: string, type: SwapMessage["type"]): SwapMessage => {
  const found = [...world.sent(world.maker, uuid), ...world.sent(world.taker, uuid)].find((m) => m.type === type);
  if (!found) throw new Error(`no ${type} was sent`);
  return found;
};

/** What a maker of the test's own offers. */
function offer(secret: Uint8Array, startedAt = nowSec()): SwapMessage {
  return {
    type: "Negotiation",
    data: {
      version: 2,
      startedAt,
      paymentLocktime: makerLock(startedAt, L),
      secretHash: hash160(secret),
      persistentPubkey: world.maker.key.publicKey,
      makerCoinContract: new Uint8Array(),
      takerCoinContract: new Uint8Array(),
    },
  };
}

test("old messages of another swap, put on the topic by a relay, do not end this one", async () => {
  world = await SwapWorld.open();
  const old = await world.start();
  await world.finish(old);
  await world.advance(300);
  const uuid = await world.start();
  for (let i = 0; i < 60; i++) {
    world.inject(world.maker, world.taker, uuid, of(old, "Negotiation"));
    world.inject(world.taker, world.maker, uuid, of(old, "NegotiationReply"));
    world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: false });
    world.inject(world.taker, world.maker, uuid, of(old, "TakerFee"));
    world.inject(world.maker, world.taker, uuid, of(old, "MakerPayment"));
    world.inject(world.taker, world.maker, uuid, of(old, "TakerPayment"));
    await world.clock.advance(700);
  }
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("an old consent of the maker, there before the taker has answered, costs the taker no fee in vain", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  for (let i = 0; i < 20; i++) {
    world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
    await world.clock.advance(100);
  }
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect(world.sent(world.taker, uuid)[0]?.type).toBe("NegotiationReply");
});

/** The maker hears no answer, the taker an old consent: it pays its fee to a maker that still offers. @returns what ends the loss */
async function agreedByReplay(uuid: string, back: () => void): Promise<() => void> {
  await world.until("the taker answers", () => world.sent(world.taker, uuid).some((m) => m.type === "NegotiationReply"));
  world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
  await world.until("the taker tells of its fee", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  expect((await world.maker.state(uuid)).negotiated).toBeNull();
  return back;
}
const answers = (uuid: string): number => world.sent(world.taker, uuid).filter((m) => m.type === "NegotiationReply").length;

test("an old consent of the maker while the taker's answer is lost: the offer that comes again is answered again, and both get what they wanted", async () => {
  world = await SwapWorld.open();
  const lost = world.lose(world.maker, (m) => m.type === "NegotiationReply");
  const uuid = await world.start();
  const back = await agreedByReplay(uuid, lost);
  await world.advance(30);
  back();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("the same when the taker restarts with its fee paid and its answer never heard", async () => {
  world = await SwapWorld.open();
  const lost = world.lose(world.maker, (m) => m.type === "NegotiationReply");
  const uuid = await world.start();
  const back = await agreedByReplay(uuid, lost);
  await world.taker.stop();
  back();
  await world.advance(20);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a maker that has agreed is answered once", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.finish(uuid);
  expect(answers(uuid)).toBe(1);
});

test("after the consent the offer that was agreed is answered again, one of another swap is not", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ only: "taker" });
  const startedAt = nowSec();
  world.inject(world.maker, world.taker, uuid, offer(SECRET_A(), startedAt));
  await world.advance(2);
  world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
  await world.until("the taker tells of its fee", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  // The offer that goes along with the consent, late.
  world.inject(world.maker, world.taker, uuid, offer(SECRET_A(), startedAt));
  await world.advance(12);
  expect(answers(uuid)).toBe(1);
  for (let i = 0; i < 4; i++) {
    world.inject(world.maker, world.taker, uuid, offer(new Uint8Array(32).fill(4), startedAt));
    await world.advance(5);
  }
  expect(answers(uuid)).toBe(1);
  world.inject(world.maker, world.taker, uuid, offer(SECRET_A(), startedAt));
  await world.advance(1);
  expect(answers(uuid)).toBe(2);
});

test("a maker that names one secret hash in two swaps gets one payment, not two", async () => {
  world = await SwapWorld.open();
  const [first, second] = [await world.start({ only: "taker" }), await world.start({ only: "taker" })];
  for (const uuid of [first, second]) world.inject(world.maker, world.taker, uuid, offer(SECRET_A()));
  await world.advance(3);
  for (const uuid of [first, second]) world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
  await world.advance(200);
  const states = [await world.taker.state(first), await world.taker.state(second)];
  expect(states.filter((s) => s.negotiated !== null)).toHaveLength(1);
  expect(states.filter((s) => s.own.fee !== undefined)).toHaveLength(1);
  // A later one is not even answered, and the status says why.
  const third = await world.start({ only: "taker" });
  for (let i = 0; i < 4; i++) {
    world.inject(world.maker, world.taker, third, offer(SECRET_A()));
    await world.advance(10);
  }
  expect(world.sent(world.taker, third)).toEqual([]);
  expect(JSON.stringify(await world.taker.status(third))).toContain("belongs to another swap of this node");
});

test("a fee that cannot count is passed over while the taker may still send a right one", async () => {
  world = await SwapWorld.open();
  const back = world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the taker tells of its fee", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data: Uint8Array.of(1, 2, 3) } });
  await world.advance(20);
  back();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a taker that only ever sends wrong fees is waited for as long as one that sends none, then refused with the reason", async () => {
  world = await SwapWorld.open();
  world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the swap is negotiated", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  for (let i = 0; i < 40; i++) {
    world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data: Uint8Array.of(1, 2, 3) } });
    await world.advance(15);
  }
  expect(await world.outcome(world.maker, uuid)).toBeNull();
  await world.until("the maker gives up", async () => (await world.outcome(world.maker, uuid)) === "failed", 120);
  expect(world.maker.blamed).toEqual([]);
  expect(JSON.stringify(await world.maker.status(uuid))).toContain("not a transaction of this coin");
});

test("a key that falls silent is not banned for the offers, fees and payments of its old swap that a relay puts in their place", async () => {
  world = await SwapWorld.open();
  const old = await world.start();
  await world.finish(old);
  await world.advance(300);
  const once = (side: SwapWorld["maker"]): readonly SwapMessage[] => [...new Map(world.sent(side, old).map((m) => [m.type, m])).values()];
  const [makers, takers] = [once(world.maker), once(world.taker)];
  const replay = async (uuid: string, over: () => Promise<boolean>): Promise<void> => {
    while (!(await over())) {
      for (const message of makers) world.inject(world.maker, world.taker, uuid, message);
      for (const message of takers) world.inject(world.taker, world.maker, uuid, message);
      await world.advance(60);
    }
  };
  // The taker's fee never comes.
  const restore = world.lose(world.maker, (m) => m.type === "TakerFee");
  const first = await world.start();
  await replay(first, async () => (await world.outcome(world.maker, first)) !== null && (await world.outcome(world.taker, first)) !== null);
  restore();
  // The maker never pays.
  const second = await world.start({ only: "taker" });
  world.inject(world.maker, world.taker, second, offer(SECRET_A()));
  await world.advance(2);
  await replay(second, async () => (await world.outcome(world.taker, second)) !== null);
  // The taker never pays.
  const third = await world.start();
  await world.until("the maker has paid", async () => (await world.maker.state(third)).own.makerPayment?.attempted === true);
  world.lose(world.maker, (m) => m.type === "TakerPayment");
  await world.taker.stop();
  await replay(third, async () => (await world.outcome(world.maker, third)) !== null);
  await world.taker.restart();
  const ends = [await world.outcome(world.maker, first), await world.outcome(world.taker, second), await world.outcome(world.maker, third)];
  expect(ends).toEqual(["failed", "failed", "refunded"]);
  expect([world.maker.blamed, world.taker.blamed]).toEqual([[], []]);
});

test("a refusal that comes right behind the maker's consent does not undo it", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ only: "taker" });
  world.inject(world.maker, world.taker, uuid, offer(SECRET_A()));
  await world.advance(2);
  world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
  world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: false });
  await world.advance(1);
  expect((await world.taker.state(uuid)).negotiated).not.toBeNull();
});

/** A swap whose maker is not told of the taker's fee. `before`: what the maker's backend followed without it. */
async function feeThatIsLost() {
  world = await SwapWorld.open();
  const before = await world.maker.watches("BBB");
  world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the taker tells of its fee", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  const fee = of(uuid, "TakerFee");
  if (fee.type !== "TakerFee") throw new Error("no fee");
  return { uuid, before, fee };
}

test("fees that no chain ever has are not followed for ever, however many a taker tells of", async () => {
  const { uuid, before, fee } = await feeThatIsLost();
  let told = 0;
  for (; (await world.outcome(world.maker, uuid)) === null; told++) {
    // Well signed, from an output that is nowhere.
    const data = fee.tx.data.slice();
    data[5] = told;
    world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data } });
    await world.advance(125);
  }
  await world.advance(5);
  expect(await world.outcome(world.maker, uuid)).toBe("failed");
  expect(JSON.stringify(await world.maker.status(uuid))).toContain("unknown to our backend");
  expect(await world.maker.watches("BBB")).toBe(before);
  // Each was offered for two minutes, with a block every few seconds that may make it good; servers count what they refuse.
  const receivers = SwapWorld.backend === "electrum" ? 5 : 1;
  expect(world.maker.rpcOf("BBB").counts.get("sendrawtransaction")).toBeLessThanOrEqual(30 * told * receivers);
});

test("a fee that no chain ever has is not followed for ever either where it is told of in the last second", async () => {
  const { uuid, before, fee } = await feeThatIsLost();
  const negotiated = (await world.maker.events(uuid)).find(({ event }) => event.type === "negotiated");
  const { paymentMessageWaitSec, messageGraceSec } = profileOfNetid(9_998);
  const lastSec = Math.floor((negotiated?.atMs ?? 0) / 1_000) + paymentMessageWaitSec + messageGraceSec;
  await world.advance(lastSec - nowSec());
  const data = fee.tx.data.slice();
  data[5] = 7;
  world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data } });
  await world.advance(1);
  expect(await world.maker.watches("BBB")).toBeGreaterThan(before);
  await world.until("the maker gives up", async () => (await world.outcome(world.maker, uuid)) !== null);
  await world.advance(5);
  expect(await world.maker.watches("BBB")).toBe(before);
});

test("an old fee that never confirmed, repeated by a relay all the time, does not crowd out the right one", async () => {
  world = await SwapWorld.open();
  const heard = world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the taker tells of its fee", () => world.sent(world.taker, uuid).some((m) => m.type === "TakerFee"));
  const fee = of(uuid, "TakerFee");
  if (fee.type !== "TakerFee") throw new Error("no fee");
  // Well signed, from an output that is nowhere; before and after each message of the taker.
  const data = fee.tx.data.slice();
  data[5] = 7;
  const repeat = (): void => world.inject(world.taker, world.maker, uuid, { type: "TakerFee", tx: { data } });
  const hasFee = async (): Promise<boolean> => (await world.maker.state(uuid)).received.fee !== undefined;
  repeat();
  await world.advance(1);
  heard();
  for (let i = 0; i < 600 && !(await hasFee()); i++) {
    repeat();
    await world.clock.advance(50);
  }
  expect(await hasFee()).toBe(true);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});
