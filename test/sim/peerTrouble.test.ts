import { expect, test } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { signEnvelope } from "../../src/core/message/envelope.ts";
import { encodeSwapMessage } from "../../src/core/message/swapMessage.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { expectNobodyLost, isOver, purses } from "./audit.ts";
import { buy, COINS, match, offer, type TradingWorld, tradingWorld } from "./trade.ts";

const SEED = 909;
const MINUTE_MS = 60_000;

const isAt = (event: SwapEvent, type: SwapEvent["type"], slot?: Slot): boolean =>
  event.type === type && ("slot" in event ? event.slot : undefined) === slot;

/** Where a side falls silent, and how it ends for maker and taker; null: this side never had the swap. */
const SILENCES: readonly (readonly [who: Role, type: SwapEvent["type"], slot: Slot | undefined, outcomes: readonly (string | null)[]])[] = [
  ["maker", "started", undefined, ["failed", null]],
  ["maker", "negotiated", undefined, ["failed", "failed"]],
  ["taker", "tx_seen", "fee", ["failed", "failed"]],
  // From here on all that is needed is on the chains.
  ["maker", "tx_received", "fee", ["success", "success"]],
  ["maker", "tx_seen", "makerPayment", ["success", "success"]],
  ["taker", "tx_seen", "takerPayment", ["success", "success"]],
];

test.each(SILENCES)("a %s that is heard no more after %s %s costs nobody a coin", async (who, type, slot, outcomes) => {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const [relay, silent] = [world.node("relay").p2p.peerId, t[who].p2p.peerId];
  t[who].onEvent = (event) => {
    if (isAt(event, type, slot)) world.net.cut(relay, silent);
  };
  await offer(world, maker, "4", "0.5");
  const uuid = await buy(world, taker, "4", "0.5");
  await world.advance(5 * MINUTE_MS);
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), 10 * HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(outcomes);
  expectNobodyLost(t, uuid, before);
  // Nothing is kept for a swap that is over, and a handshake that came to nothing is forgotten.
  const held = [maker, taker].flatMap((n) => COINS.map((c) => n.node.coins.utxo(c)?.ledger.held()));
  expect(held).toEqual([0n, 0n, 0n, 0n]);
  await world.close();
});

/** Everything wrong that can be said on a swap's topic, by anybody. */
function nonsense(uuid: string, { maker, taker }: TradingWorld, mallory: SimNode, random: Uint8Array): readonly Uint8Array[] {
  const secretOf = (node: SimNode): Uint8Array => node.key.secret.reveal();
  const said = (message: SwapMessage, by: SimNode): Uint8Array => signEnvelope(encodeSwapMessage(message), secretOf(by));
  const both: readonly SimNode[] = [maker, taker];
  const right = said({ type: "Negotiated", accepted: false }, mallory);
  return [
    new Uint8Array(0),
    random,
    right.subarray(0, right.length / 2),
    // A stranger's word, well formed.
    right,
    said({ type: "TakerPayment", tx: random }, mallory),
    // The counterparty's own word, well signed: nonsense inside, or a transaction that is none.
    ...both.flatMap((node) => [
      signEnvelope(random, secretOf(node)),
      said({ type: "TakerPayment", tx: random }, node),
      said({ type: "MakerPayment", tx: { data: random } }, node),
    ]),
  ].map((bytes) => (bytes.length > 0 ? bytes : new TextEncoder().encode(uuid)));
}

test("garbage on the topic of a swap, from strangers and in the counterparty's name, does not stop it", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const mallory = world.addNode("mallory");
  await mallory.start();
  await world.runUntil("mallory has a relay", () => mallory.p2p.relays().length > 0);
  const rng = seededRng(SEED);
  const uuid = await match(t, "4", "0.5");
  let said = 0;
  const talk = (): void => {
    for (const bytes of nonsense(uuid, t, mallory, rng.bytes(1 + ((said * 37) % 400)))) mallory.p2p.publish(`swap/${uuid}`, bytes);
    said++;
    world.clock.after(5_000, talk);
  };
  talk();
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), 10 * HOUR_MS);
  expect(said).toBeGreaterThan(20);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(maker.log.lines.some((line) => line.includes("takerPayment refused: the bytes are not a transaction"))).toBe(true);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a flood of messages gets its sender dropped and costs the swap nothing", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const mallory = world.addNode("mallory");
  await mallory.start();
  await world.runUntil("mallory has a relay", () => mallory.p2p.relays().length > 0);
  const uuid = await match(t, "4", "0.5");
  const rng = seededRng(SEED);
  let batches = 0;
  const flood = (): void => {
    for (let i = 0; i < 1_000; i++) mallory.p2p.publish(`swap/${uuid}`, rng.bytes(100));
    if (++batches < 40) world.clock.after(100, flood);
  };
  flood();
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), 10 * HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  const bans = world.node("relay").log.lines.filter((line) => line.includes("peer_banned"));
  expect(bans).toEqual([expect.stringContaining(`"peer":"${mallory.p2p.peerId}","reason":"too many messages"`)]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});
