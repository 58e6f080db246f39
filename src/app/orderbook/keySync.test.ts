import { secp256k1 } from "@noble/curves/secp256k1.js";
import { expect, test } from "vitest";
import { type BookNode, BookWorld } from "../../../test/fakes/bookWorld.ts";
import { signEnvelope } from "../../core/message/envelope.ts";
import { encodeOrderMessage } from "../../core/message/orderMessage.ts";
import { parseP2pRequest } from "../../core/message/requestMessage.ts";

const PAIR = "AAA:BBB";
const TOPIC = `orbk/${PAIR}`;

/** Announces orders that nobody has, under so many fresh keys. */
function announce(from: BookNode, keys: number, timestamp: number): void {
  const body = { trieRoots: [[PAIR, new Uint8Array(8).fill(7)]] as [string, Uint8Array][], timestamp };
  for (let n = 0; n < keys; n++)
    from.p2p.publish(TOPIC, signEnvelope(encodeOrderMessage({ type: "PubkeyKeepAlive", body }), secp256k1.utils.randomSecretKey()));
}

test("peers that announce orders under ever new keys and tell none do not keep a seed from asking others", async () => {
  const world = new BookWorld();
  const seed = world.relay("seed");
  const rogues = Array.from({ length: 16 }, (_, n) => world.light(`rogue${n}`, "seed"));
  for (const rogue of rogues) rogue.p2p.setRequestHandler(() => new Promise(() => undefined));
  const alice = world.light("alice", "seed");
  world.hub.deliver = (from) => from !== "alice";
  alice.offer(1);
  await world.clock.advance(29_000);
  expect(seed.sees()).toEqual([]);
  world.hub.deliver = () => true;
  for (const rogue of rogues) announce(rogue, 16, Math.floor(world.clock.nowMs() / 1_000));
  await world.clock.advance(5_000);
  expect(seed.sees()).toEqual([1]);
});

test("ever new keys without orders do not keep a node from asking a relay for those of a key it knows", async () => {
  const world = new BookWorld();
  const relay = world.relay("relay");
  const [rogue, alice, viewer] = [world.light("rogue", "relay"), world.light("alice", "relay"), world.light("viewer", "relay")];
  const loading = viewer.service.subscribePair("AAA", "BBB");
  await world.clock.advance(1_000);
  await loading;
  alice.offer(1);
  await world.clock.advance(1_000);
  world.hub.deliver = (_, to) => to !== "viewer";
  alice.offer(2);
  await world.clock.advance(27_000);
  expect(viewer.sees()).toEqual([1]);
  // As one that is asked more than it answers.
  relay.p2p.setRequestHandler((peer, request) => {
    const parsed = parseP2pRequest(request);
    const isOfAlice = parsed.ok && parsed.value.type === "SyncPubkeyOrderbookState" && parsed.value.pubkey === alice.pubkey;
    return isOfAlice ? relay.service.handleRequest(peer, request) : new Promise(() => undefined);
  });
  world.hub.deliver = () => true;
  announce(rogue, 16, Math.floor(world.clock.nowMs() / 1_000));
  await world.clock.advance(5_000);
  expect(viewer.sees()).toEqual([1, 2]);
});
