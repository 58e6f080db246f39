import { expect, test } from "vitest";
import { signEnvelope } from "../../src/core/message/envelope.ts";
import { encodeOrderMessage } from "../../src/core/message/orderMessage.ts";
import { decimal } from "../../src/core/money/rational.ts";
import { bookPair } from "../fakes/bookPair.ts";
import { offer, tradingWorld } from "./trade.ts";

const QUIET_MS = 600_000;

test("a maker whose key speaks from another machine stops, shows its orders, and is on the book again when the other is silent", async () => {
  const t = await tradingWorld({ seed: 20_240_021 });
  const { world, maker, taker } = t;
  const uuid = await offer(world, maker, "4", "0.5");
  const asks = async (): Promise<readonly string[]> =>
    (await world.settle(bookPair(taker.node, "DOC", "MARTY"))).asks.map((a) => a.item.uuid);
  const place = () =>
    world.settle(
      maker.node.orders.placeMakerOrder({ base: "DOC", rel: "MARTY", price: decimal("0.5"), volume: decimal("1"), cancelPrevious: false }),
    );
  // Its own words, a crash and a new start included, are no other machine's.
  await world.advance(5 * 60_000);
  maker.crash();
  await maker.start(["DOC", "MARTY"]);
  await world.runUntil("it has a relay", () => maker.p2p.relays().length > 0);
  await world.advance(3 * 60_000);
  expect([await asks(), (await place()).ok]).toEqual([[uuid], true]);

  const other = world.addNode("other machine");
  await other.start();
  await world.runUntil("it has a relay", () => other.p2p.relays().length > 0);
  const body = { trieRoots: [["DOC:MARTY", new Uint8Array(8).fill(7)] as const], timestamp: Math.floor(world.clock.nowMs() / 1_000) };
  other.p2p.publish("orbk/DOC:MARTY", signEnvelope(encodeOrderMessage({ type: "PubkeyKeepAlive", body }), maker.key.secret.reveal()));
  await world.advance(2_000);
  expect(await place()).toMatchObject({ ok: false, error: { kind: "KeyInUseElsewhere", message: "PubkeyKeepAlive" } });
  expect(maker.node.orders.myOrders().makers).toHaveLength(2);
  await world.advance(4 * 60_000);
  expect(await asks()).toEqual([]);
  await world.advance(QUIET_MS);
  expect([(await asks()).length, (await place()).ok]).toEqual([2, true]);
  await world.close();
});

test("a ban by hand holds after a crash", async () => {
  const { world, maker, taker } = await tradingWorld({ seed: 20_240_022 });
  const key = Buffer.from(taker.key.publicKey).toString("hex");
  expect(maker.node.peers.ban(key, "rude", null)).toBe("done");
  await world.advance(1_000);
  maker.crash();
  await maker.start(["DOC", "MARTY"]);
  expect(maker.node.peers.banned()).toEqual([{ pubkey: key.slice(2), reason: { kind: "Manual", reason: "rude" }, untilMs: null }]);
  await world.close();
});
