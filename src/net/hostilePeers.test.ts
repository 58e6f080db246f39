import { expect, test } from "vitest";
import { type BarePeer, createP2pWorld, type WorldNode } from "../../test/fakes/p2pWorld.ts";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { type Control, encodeFrame } from "../core/gossip/frame.ts";
import { ed25519PeerIdBytes, peerIdText } from "../core/gossip/peerId.ts";
import { MsgpackWriter } from "../core/message/msgpackWriter.ts";
import { encodePeerResponse } from "../core/message/peerRequest.ts";
import { encodeKnownPeers } from "../core/message/peersExchange.ts";
import { fromHex } from "../core/util/bytes.ts";
import type { GossipVerdict } from "../ports/network.ts";
import { BanList } from "./banList.ts";
import { DialBook } from "./dialBook.ts";
import { GossipPeer } from "./gossipPeer.ts";
import { PeerManager } from "./peerManager.ts";
import { PeerRequests } from "./peerRequests.ts";
import { PeersExchange } from "./peersExchange.ts";
import { RELAY_MESH, RelayMesh } from "./relayMesh.ts";
import { TopicIndex } from "./topicIndex.ts";

const TOPIC = "orbk/KMD:LTC";
const text = (value: string): Uint8Array => Uint8Array.from(value, (c) => c.charCodeAt(0));
const texts = (node: WorldNode): string[] => node.received.map(({ data }) => String.fromCharCode(...data));
const control = (value: Control): Uint8Array => encodeFrame({ control: value });
const I_AM_RELAY = control({ iAmRelay: true });
const INCLUDED = control({ included: { included: true, meshSize: 1 } });
const subscribed = (topics: readonly string[]): Uint8Array =>
  encodeFrame({ subscriptions: topics.map((topic) => ({ subscribe: true, topic })) });
const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const bytesOf = (peer: BarePeer): number => peer.frames.reduce((sum, frame) => sum + frame.length, 0);

test("a peer that is dropped in the middle of a frame leaves nothing behind: it is no relay and has no topics", async () => {
  const world = createP2pWorld(101);
  const relay = await world.node({ isRelay: true });
  const bad = await world.bare();
  await world.dial(bad, relay.address);
  bad.transport.sendFrame(relay.peerId, subscribed(numbered("a", 5000)));
  // The hundredth topic above the limit ends the connection; the control message behind it must not count any more.
  const subscriptions = numbered("b", 100).map((topic) => ({ subscribe: true, topic }));
  bad.transport.sendFrame(relay.peerId, encodeFrame({ subscriptions, control: { iAmRelay: true } }));
  await world.clock.advance(1000);
  expect(bad.gone).toEqual([relay.peerId]);
  expect(relay.relays()).toEqual([]);
});

test.each([
  ["empty frames", new Uint8Array(0)],
  ["control frames of a few bytes", control({ meshSize: 1 })],
])("a flood of %s gets a peer dropped", async (_, frame) => {
  const world = createP2pWorld(102);
  const rate = { messagesPerSec: 50, bytesPerSec: 50_000, burstSec: 2 };
  const relay = await world.node({ isRelay: true, rates: { relay: rate, other: rate } });
  const bad = await world.bare();
  await world.dial(bad, relay.address);
  for (let i = 0; i < 400 && bad.gone.length === 0; i++) {
    for (let k = 0; k < 50; k++) bad.transport.sendFrame(relay.peerId, frame);
    await world.clock.advance(20);
  }
  expect(bad.gone).toEqual([relay.peerId]);
});

test("storms of GRAFT, PRUNE, IHAVE and IWANT cost a bounded answer and then the connection, others go on", async () => {
  const storms: Control[] = [
    { graft: Array.from({ length: 1000 }, () => TOPIC) },
    { prune: Array.from({ length: 1000 }, () => ({ topic: TOPIC, backoffSec: 9 })) },
    { ihave: [{ topic: TOPIC, ids: Array.from({ length: 1000 }, (_, i) => Uint8Array.of(0, 0, 0, 0, 0, 0, i >> 8, i)) }] },
    { iwant: [Array.from({ length: 1000 }, (_, i) => Uint8Array.of(1, 0, 0, 0, 0, 0, i >> 8, i))] },
  ];
  for (const storm of storms) {
    const world = createP2pWorld(103);
    const good = await world.node({ isRelay: true });
    const bad = await world.bare(true);
    const light = await world.node({ seeds: [good.address, bad.address] });
    light.subscribe(TOPIC);
    await world.settle(light.relayReady());
    await world.clock.advance(1000);
    const before = bytesOf(bad);
    const frame = control(storm);
    let sent = 0;
    for (let i = 0; i < 2000 && bad.gone.length === 0; i++) {
      if (bad.transport.sendFrame(light.peerId, frame)) sent += frame.length;
      if (i % 20 === 0) await world.clock.advance(10);
    }
    await world.clock.advance(100);
    expect(bad.gone).toEqual([light.peerId]);
    expect(bytesOf(bad) - before).toBeLessThan(sent / 4);
    light.publish(TOPIC, text("fine"));
    await world.clock.advance(100);
    expect(texts(good)).toEqual(["fine"]);
  }
});

test("what waits for a peer that does not read stays below a megabyte, and the next heartbeat ends it", () => {
  let isReading = false;
  const sent: number[] = [];
  const connection = { id: "bad", idBytes: new Uint8Array(38), address: "/memory/1", direction: "inbound" } as const;
  const peer = new GossipPeer(connection, { messagesPerSec: 1, bytesPerSec: 1, burstSec: 1 }, 0, (_, frame) => {
    if (isReading) sent.push(frame.length);
    return isReading;
  });
  for (let i = 0; i < 8; i++) peer.sendControl(new Uint8Array(100_000));
  expect(peer.flush()).toBe(true);
  for (let i = 0; i < 100; i++) peer.sendControl(new Uint8Array(100_000));
  isReading = true;
  expect(peer.flush()).toBe(false);
  expect(sent.reduce((a, b) => a + b)).toBeLessThanOrEqual(1024 * 1024);
});

test("a relay that says it is one and takes it back again and again is believed once", async () => {
  const world = createP2pWorld(105);
  const bad = await world.bare(true);
  const light = await world.node({ seeds: [bad.address] });
  let changes = 0;
  light.onRelaysChanged(() => changes++);
  await world.clock.advance(500);
  for (let i = 0; i < 50; i++) {
    bad.transport.sendFrame(light.peerId, I_AM_RELAY);
    bad.transport.sendFrame(light.peerId, control({ iAmRelay: false }));
  }
  await world.clock.advance(500);
  expect(changes).toBe(2);
  expect(light.relays()).toEqual([]);
});

test("strangers that call themselves relays do not keep a relay from dialling and using the seeds it was given", async () => {
  const world = createP2pWorld(106);
  const relay = await world.node({ isRelay: true, seeds: ["/memory/900"] });
  for (let i = 0; i < 13; i++) {
    const stranger = await world.bare();
    await world.dial(stranger, relay.address);
    stranger.transport.sendFrame(relay.peerId, I_AM_RELAY);
    stranger.transport.sendFrame(relay.peerId, INCLUDED);
  }
  await world.clock.advance(500);
  expect(relay.relays()).toHaveLength(13);
  const seed = await world.node({ isRelay: true, listen: "/memory/900" });
  await world.clock.advance(90_000);
  expect(relay.relays()).toContain(seed.peerId);
  expect(seed.relays()).toContain(relay.peerId);
  const light = await world.node({ seeds: ["/memory/900"] });
  await world.settle(light.relayReady());
  light.publish(TOPIC, text("through"));
  await world.clock.advance(100);
  expect(texts(relay)).toEqual(["through"]);
});

test("a million topics of one peer, or of many, leave every other peer room for its own", () => {
  const index = new TopicIndex();
  for (let peer = 0; peer < 40; peer++) for (const topic of numbered("t", 5100)) index.add(`bad${peer}`, topic);
  const held = (): number => Array.from({ length: 40 }, (_, peer) => index.topics(`bad${peer}`).size).reduce((a, b) => a + b);
  expect(held()).toBeLessThanOrEqual(110_000);
  for (const topic of numbered("orbk/", 200)) expect(index.add("good", topic)).toBe("added");
  expect(index.add("bad0", "one more")).toBe("too_many");
  expect(index.add("good", "one more")).toBe("no_room");
  for (let peer = 0; peer < 40; peer++) index.removePeer(`bad${peer}`);
  index.removePeer("good");
  expect(index.topics("good").size).toBe(0);
  expect(index.add("good", "again")).toBe("added");
});

test("a peer that never left the topics of thousands of swaps is heard in the next one, and leaves the oldest for it", () => {
  const index = new TopicIndex();
  index.add("maker", "orbk/A:B");
  for (const topic of numbered("swap/", 4_999)) expect(index.add("maker", topic)).toBe("added");
  const [oldest, second] = numbered("swap/", 2);
  expect(index.add("maker", "swap/next")).toEqual({ left: oldest });
  expect(index.add("maker", "swap/next")).toBe("added");
  expect(index.add("maker", "orbk/C:D")).toEqual({ left: second });
  expect([...index.peers("swap/next")]).toEqual(["maker"]);
  expect([oldest ?? "", "orbk/A:B", "orbk/C:D"].map((topic) => index.peers(topic).size)).toEqual([0, 1, 1]);
  expect(index.topics("maker").size).toBe(5_000);
  index.removePeer("maker");
  expect(index.isEmpty).toBe(true);
});

test("what the application was too busy to look at is taken from another peer", async () => {
  const world = createP2pWorld(107);
  const [r1, r2] = [await world.node({ isRelay: true }), await world.node({ isRelay: true })];
  const light = await world.node({ seeds: [r1.address, r2.address] });
  const author = await world.node({ seeds: [r1.address, r2.address] });
  light.subscribe(TOPIC);
  await world.settle(Promise.all([light.relayReady(), author.relayReady()]));
  await world.clock.advance(2000);
  const verdicts: GossipVerdict[] = ["busy", "accept"];
  light.verdict = () => verdicts.shift() ?? "accept";
  author.publish(TOPIC, text("twice"));
  await world.clock.advance(1000);
  expect(texts(light)).toEqual(["twice", "twice"]);
  expect(new Set(light.received.map(({ from }) => from)).size).toBe(2);
});

test("a relay whose mesh strangers have filled takes the relays it was given into it itself", () => {
  const told: string[] = [];
  const mesh = new RelayMesh({
    isRelay: true,
    sizes: RELAY_MESH,
    rng: seededRng(1),
    send: (peer, { included }) => void (included?.included && told.push(peer)),
    hasEverSubscribed: () => false,
    isChosen: (peer) => peer.startsWith("seed"),
    onChange: () => undefined,
  });
  for (const peer of [...numbered("stranger", 5), ...numbered("seed", 5)]) mesh.onIAmRelay(peer, true);
  expect(told).toEqual([...numbered("stranger", 4), ...numbered("seed", 4)]);
});

test("one routable address has 64 places, however many are free", () => {
  const refused: string[] = [];
  const clock = new VirtualClock();
  const rng = seededRng(1);
  const self = { id: "self", idBytes: new Uint8Array(38) };
  const manager = new PeerManager({
    transport: { dial: async () => "", disconnect: (peer) => void refused.push(peer) },
    clock,
    rng,
    log: new SilentLog(),
    isRelay: true,
    maxPeers: 512,
    book: new DialBook([], "self", rng),
    bans: new BanList(),
    requests: new PeerRequests({
      clock,
      log: new SilentLog(),
      send: async () => new Uint8Array(),
      blame: () => undefined,
      version: "",
      answerExchange: () => undefined,
    }),
    exchange: new PeersExchange({ rng, tcpPort: 1, self, ownAddress: undefined }),
    relays: () => ({ connected: new Set(), mesh: [] }),
    heardMs: () => undefined,
    onRelayVersion: () => undefined,
  });
  const admit = (id: string, address: string): boolean => manager.admit({ id, idBytes: new Uint8Array(38), address, direction: "inbound" });
  const admitted = numbered("peer", 65).filter((id, i) => admit(id, `/ip4/8.8.8.8/tcp/${1_000 + i}`));
  expect([admitted.length, refused]).toEqual([64, ["peer64"]]);
  expect([admit("neighbour", "/ip4/8.8.4.4/tcp/1"), admit("local", "/ip4/192.168.0.1/tcp/1")]).toEqual([true, true]);
});

test("a peer whose clock is 21 seconds behind is left, too", async () => {
  const world = createP2pWorld(117);
  const peer = await world.bare(true);
  peer.answer = async () => {
    const nowSec = Math.floor(world.clock.nowMs() / 1_000);
    return encodePeerResponse({ kind: "ok", data: new MsgpackWriter().uint(nowSec - 21).finish() });
  };
  const node = await world.node({ seeds: [peer.address] });
  await world.clock.advance(3_000);
  expect(node.logged).toContainEqual(expect.objectContaining({ event: "peer_clock_differs" }));
  expect(peer.gone).not.toEqual([]);
});

test("a full relay lets go of whoever has been silent for two minutes, and of nobody else", async () => {
  const world = createP2pWorld(108);
  const relay = await world.node({ isRelay: true, maxPeers: 5 });
  const idle = [];
  for (let i = 0; i < 5; i++) {
    const peer = await world.bare();
    await world.dial(peer, relay.address);
    idle.push(peer);
  }
  const late = await world.node({ seeds: [relay.address] });
  await world.clock.advance(30_000);
  expect(late.relays()).toEqual([]);
  for (const peer of idle.slice(1)) peer.transport.sendFrame(relay.peerId, control({ meshSize: 1 }));
  await world.clock.advance(61_000);
  for (const peer of idle.slice(1)) peer.transport.sendFrame(relay.peerId, control({ meshSize: 1 }));
  await world.clock.advance(100_000);
  expect(late.relays()).toEqual([relay.peerId]);
  expect(idle.map(({ gone }) => gone.length)).toEqual([1, 0, 0, 0, 0]);
});

test("a frame of garbage, cut varints and nested lengths never throws and ends in a ban", async () => {
  const world = createP2pWorld(109);
  const relay = await world.node({ isRelay: true });
  for (const hex of ["ffffffffffffffffffff01", "0a7f", "1affffffff0f", "1a021aff", "0b0b0b0b0c", "00"]) {
    const bad = await world.bare();
    await world.dial(bad, relay.address);
    for (let i = 0; i < 4; i++) bad.transport.sendFrame(relay.peerId, fromHex(hex));
    await world.clock.advance(100);
    expect([hex, bad.gone]).toEqual([hex, [relay.peerId]]);
  }
  expect(relay.peers()).toEqual([]);
});

test("a relay that passes on messages with topics nobody may use is kept, whoever sends them himself is not", async () => {
  const world = createP2pWorld(112);
  const relay = await world.bare(true);
  const light = await world.node({ seeds: [relay.address] });
  light.subscribe(TOPIC);
  await world.clock.advance(500);
  relay.transport.sendFrame(light.peerId, I_AM_RELAY);
  const own = await world.node({ isRelay: true });
  const author = await world.bare();
  await world.dial(author, own.address);
  // A topic of one byte that is no printable character.
  const frame = fromHex("12061201612201ff");
  for (let i = 0; i < 100; i++) {
    relay.transport.sendFrame(light.peerId, frame);
    author.transport.sendFrame(own.peerId, frame);
  }
  const good = { from: new Uint8Array(38), data: text("fine"), seqno: new Uint8Array(8), topic: TOPIC };
  relay.transport.sendFrame(light.peerId, encodeFrame({ publish: [good] }));
  await world.clock.advance(500);
  expect([relay.gone, texts(light)]).toEqual([[], ["fine"]]);
  expect(author.gone).toEqual([own.peerId]);
});

test("a relay that lets questions run out is asked after the others from then on", async () => {
  const world = createP2pWorld(110);
  const slow = await world.bare(true);
  slow.answer = () => new Promise(() => undefined);
  const good = await world.node({ isRelay: true });
  good.setRequestHandler(async () => ({ kind: "ok", data: text("answer") }));
  const light = await world.node({ seeds: [slow.address, good.address] });
  await world.clock.advance(300);
  slow.transport.sendFrame(light.peerId, I_AM_RELAY);
  await world.clock.advance(12_000);
  expect([...light.relays()].sort()).toEqual([slow.transport.self.id, good.peerId].sort());
  const took: number[] = [];
  for (let i = 0; i < 3; i++) {
    const startMs = world.clock.nowMs();
    expect((await world.settle(light.requestAnyRelay(text("question"))))?.peer).toBe(good.peerId);
    took.push(world.clock.nowMs() - startMs);
  }
  expect(took.slice(1).every((ms) => ms < 100)).toBe(true);
});

test("four hundred questions at once are all answered by one relay, at its pace", async () => {
  const world = createP2pWorld(113);
  const relay = await world.node({ isRelay: true });
  relay.setRequestHandler(async () => ({ kind: "ok", data: new Uint8Array(1) }));
  const light = await world.node({ seeds: [relay.address] });
  await world.settle(light.relayReady());
  const direct = Array.from({ length: 200 }, () => light.request(relay.peerId, new Uint8Array(1)));
  const any = Array.from({ length: 200 }, () => light.requestAnyRelay(new Uint8Array(1)));
  const answers = Promise.all([...direct, ...any]);
  await world.clock.advance(30_000);
  const kinds = (await answers).map((answer) => (answer === null ? "none" : "kind" in answer ? answer.kind : "ok"));
  expect(kinds).toEqual(kinds.map(() => "ok"));
});

test("questions that are dear to answer are answered less often, and other peers do not notice", async () => {
  const world = createP2pWorld(111);
  let busyMs = 0;
  const clock = {
    nowMs: () => world.clock.nowMs() + busyMs,
    after: (delayMs: number, task: () => void) => world.clock.after(delayMs, task),
  };
  const relay = await world.node({ isRelay: true, clock });
  relay.setRequestHandler(async () => {
    busyMs += 50;
    return { kind: "ok", data: text("answer") };
  });
  const greedy = await world.node({ seeds: [relay.address] });
  const modest = await world.node({ seeds: [relay.address] });
  await world.settle(Promise.all([greedy.relayReady(), modest.relayReady()]));
  const ask = (from: WorldNode) => world.settle(from.request(relay.peerId, text("dear")));
  const kinds: string[] = [];
  for (let i = 0; i < 40; i++) kinds.push((await ask(greedy)).kind);
  expect(kinds.filter((kind) => kind === "ok").length).toBeLessThan(8);
  expect((await ask(modest)).kind).toBe("ok");
});

test("of more relays than twice the upper mesh size those outside the mesh are left, seeds never", async () => {
  const world = createP2pWorld(112);
  const relay = await world.node({ isRelay: true, seeds: ["/memory/901"] });
  const strangers = [];
  for (let i = 0; i < 30; i++) {
    const stranger = await world.bare();
    await world.dial(stranger, relay.address);
    stranger.transport.sendFrame(relay.peerId, I_AM_RELAY);
    strangers.push(stranger);
  }
  const seed = await world.node({ isRelay: true, listen: "/memory/901" });
  await world.clock.advance(90_000);
  const left = strangers.filter(({ gone }) => gone.length === 0);
  expect(left.length).toBeLessThanOrEqual(24);
  expect(left.length).toBeGreaterThanOrEqual(23);
  expect(relay.peers().map(({ id }) => id)).toContain(seed.peerId);
});

const RELAY_ID = ed25519PeerIdBytes(new Uint8Array(32).fill(9));
const good = { peerId: RELAY_ID, addresses: ["/ip4/8.8.4.4/tcp/47771"] };
test.each<[string, readonly { readonly peerId: Uint8Array; readonly addresses: readonly string[] }[], number]>([
  ["one good address", [good], 1],
  ["several addresses of one peer", [{ ...good, addresses: Array.from({ length: 30 }, (_, i) => `/ip4/8.8.4.${i}/tcp/47771`) }], 1],
  ["an address of another network", [{ ...good, addresses: ["/ip4/8.8.4.4/tcp/47772"] }], 0],
  ["a private address", [{ ...good, addresses: ["/ip4/192.168.1.1/tcp/47771"] }], 0],
  ["our own loopback", [{ ...good, addresses: ["/ip4/127.0.0.1/tcp/47771"] }], 0],
  ["a good address and a bad one", [{ ...good, addresses: [...good.addresses, "/dns/evil.example/tcp/47771"] }], 0],
  ["a good peer and one without address", [good, { peerId: ed25519PeerIdBytes(new Uint8Array(32).fill(8)), addresses: [] }], 0],
  ["an id that is none", [{ ...good, peerId: new Uint8Array(38) }], 0],
  [
    "more than twenty peers",
    Array.from({ length: 21 }, (_, i) => ({ ...good, peerId: ed25519PeerIdBytes(new Uint8Array(32).fill(i)) })),
    0,
  ],
])("an answer to peer exchange with %s", (_, peers, taken) => {
  const self = { id: "self", idBytes: RELAY_ID };
  const exchange = new PeersExchange({ rng: seededRng(1), tcpPort: 47771, self, ownAddress: undefined });
  expect(exchange.read(encodeKnownPeers(peers))).toHaveLength(taken);
});

test("learned addresses: the same address under another id does not hide the right one, a hundred are kept, none is dialled twice within five minutes", () => {
  const book = new DialBook([], "self", seededRng(1));
  const ids = Array.from({ length: 121 }, (_, i) => peerIdText(ed25519PeerIdBytes(new Uint8Array(32).fill(i))));
  const [wrong = "", right = ""] = ids;
  for (const id of [wrong, right]) book.learn(`/ip4/8.8.8.8/tcp/1/p2p/${id}`, id);
  expect(book.learned().map(({ peer }) => peer)).toEqual([wrong, right]);
  const [target] = book.due(0, () => false);
  if (target === undefined) throw new Error("nothing to dial");
  target.state = "dialling";
  book.failed(target, 1_000);
  expect(book.due(300_999, () => false)).not.toContain(target);
  expect(book.due(301_000, () => false)).toContain(target);
  for (const id of ids) book.learn(`/ip4/9.9.9.9/tcp/1/p2p/${id}`, id);
  expect(book.learned()).toHaveLength(100);
});

test("a clock that is set back by an hour stops neither dialling nor the end of a ban", async () => {
  const world = createP2pWorld(113);
  let setBackMs = 0;
  const clock = {
    nowMs: () => world.clock.nowMs() - setBackMs,
    after: (delayMs: number, task: () => void) => world.clock.after(delayMs, task),
  };
  const light = await world.node({ seeds: ["/memory/902"], clock });
  await world.clock.advance(60_000);
  setBackMs = 3_600_000;
  const relay = await world.node({ isRelay: true, listen: "/memory/902", clock });
  await world.clock.advance(5_000);
  expect(light.relays()).toEqual([relay.peerId]);
  const bans = new BanList();
  bans.add("bad", undefined, 3_600_000 + 300_000);
  expect([bans.isPeerBanned("bad", 3_600_000), bans.isPeerBanned("bad", 1000)]).toEqual([true, false]);
});
