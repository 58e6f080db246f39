import { expect, test } from "vitest";
import { createP2pWorld, type WorldNode } from "../../test/fakes/p2pWorld.ts";
import { type Control, encodeFrame, type Frame, type WireMessage } from "../core/gossip/frame.ts";
import { parseFrame } from "../core/gossip/parseFrame.ts";
import { ed25519KeyPeerIdBytes, ed25519PeerIdBytes, parsePeerIdText, peerIdText } from "../core/gossip/peerId.ts";
import { openHealthcheck, signHealthcheck } from "../core/message/healthcheck.ts";
import { fromHex, toHex } from "../core/util/bytes.ts";
import { Aborted } from "../ports/clock.ts";

const text = (value: string): Uint8Array => Uint8Array.from(value, (c) => c.charCodeAt(0));
const texts = (node: WorldNode): string[] => node.received.map(({ data }) => String.fromCharCode(...data));
const TOPIC = "orbk/KMD:LTC";

function parsed(frames: readonly Uint8Array[]): Frame[] {
  return frames.map((bytes) => {
    const frame = parseFrame(bytes);
    if (!frame.ok) throw new Error(frame.error.why);
    return frame.value;
  });
}

const controls = (frames: readonly Uint8Array[]): Control[] => parsed(frames).flatMap(({ control }) => control ?? []);
const message = (data: string, topic = TOPIC, seqno = data): WireMessage => ({
  from: new Uint8Array(38).fill(1),
  data: text(data),
  seqno: text(seqno.padEnd(8).slice(0, 8)),
  topic,
});
const published = (data: string, topic?: string): Uint8Array => encodeFrame({ publish: [message(data, topic)] });
const control = (value: Control): Uint8Array => encodeFrame({ control: value });

test("two light nodes talk through one relay, each message arriving once", async () => {
  const world = createP2pWorld(1);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  const b = await world.node({ seeds: [relay.address] });
  a.subscribe(TOPIC);
  b.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), b.relayReady()]));
  await world.clock.advance(100);
  a.publish(TOPIC, text("from a"));
  b.publish(TOPIC, text("from b"));
  await world.clock.advance(1000);
  expect(texts(a)).toEqual(["from b"]);
  expect(texts(b)).toEqual(["from a"]);
  expect(texts(relay).sort()).toEqual(["from a", "from b"]);
  expect(a.relays()).toEqual([relay.peerId]);
});

test("a light node gets no topic it has not subscribed to, and none after it has left", async () => {
  const world = createP2pWorld(2);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  const b = await world.node({ seeds: [relay.address] });
  b.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), b.relayReady()]));
  await world.clock.advance(100);
  a.publish("orbk/BTC:KMD", text("other topic"));
  a.publish(TOPIC, text("1"));
  await world.clock.advance(100);
  b.unsubscribe(TOPIC);
  await world.clock.advance(100);
  a.publish(TOPIC, text("2"));
  await world.clock.advance(100);
  expect(texts(b)).toEqual(["1"]);
});

test("the first frame of a light node is its health topic, then inclusion; subscriptions come one per frame", async () => {
  const world = createP2pWorld(3);
  const relay = await world.bare(true);
  const a = await world.node({ seeds: [relay.address] });
  a.subscribe("orbk/A:B");
  a.subscribe("swap/1");
  await world.clock.advance(100);
  relay.transport.sendFrame(a.peerId, fromHex("1a022801"));
  await world.clock.advance(100);
  expect(parsed(relay.frames).map(({ subscriptions }) => subscriptions?.map(({ topic }) => topic))).toEqual([
    [`hcheck/${a.peerId}`],
    ["orbk/A:B"],
    ["swap/1"],
    [],
  ]);
  expect(toHex(relay.frames[3] ?? new Uint8Array())).toBe("1a06320408011001");
});

test("a relay sends nothing to a light node that has not put it into its mesh", async () => {
  const world = createP2pWorld(4);
  const relay = await world.node({ isRelay: true });
  const light = await world.bare();
  const author = await world.node({ seeds: [relay.address] });
  await world.settle(author.relayReady());
  await world.dial(light, relay.address);
  light.transport.sendFrame(relay.peerId, encodeFrame({ subscriptions: [{ subscribe: true, topic: TOPIC }] }));
  await world.clock.advance(100);
  author.publish(TOPIC, text("too early"));
  await world.clock.advance(100);
  expect(parsed(light.frames)).toMatchObject([{ control: { iAmRelay: true } }]);
  light.transport.sendFrame(relay.peerId, control({ included: { included: true, meshSize: 1 } }));
  await world.clock.advance(100);
  author.publish(TOPIC, text("now"));
  await world.clock.advance(100);
  const messages = parsed(light.frames).flatMap(({ publish = [] }) => publish);
  expect(messages.map(({ data }) => String.fromCharCode(...data))).toEqual(["now"]);
  light.transport.sendFrame(relay.peerId, control({ included: { included: false, meshSize: 0 } }));
  await world.clock.advance(100);
  author.publish(TOPIC, text("after"));
  await world.clock.advance(100);
  expect(parsed(light.frames).flatMap(({ publish = [] }) => publish)).toHaveLength(1);
});

test("relays hand on to each other, a chain of three reaches the far end, nobody gets anything twice", async () => {
  const world = createP2pWorld(5);
  const r1 = await world.node({ isRelay: true });
  const r2 = await world.node({ isRelay: true, seeds: [r1.address] });
  const r3 = await world.node({ isRelay: true, seeds: [r2.address] });
  const a = await world.node({ seeds: [r1.address] });
  const b = await world.node({ seeds: [r3.address] });
  b.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), b.relayReady(), r1.relayReady(), r2.relayReady(), r3.relayReady()]));
  await world.clock.advance(1000);
  a.publish(TOPIC, text("far"));
  await world.clock.advance(1000);
  for (const node of [r1, r2, r3, b]) expect(texts(node)).toEqual(["far"]);
});

test("a relay whose mesh is above its upper size answers included=false and stays out of the other's mesh", async () => {
  const world = createP2pWorld(6);
  const relay = await world.node({ isRelay: true });
  const others = await Promise.all(Array.from({ length: 14 }, () => world.bare()));
  for (const other of others) {
    await world.dial(other, relay.address);
    other.transport.sendFrame(relay.peerId, control({ iAmRelay: true }));
    other.transport.sendFrame(relay.peerId, control({ included: { included: true, meshSize: 1 } }));
    await world.clock.advance(50);
  }
  expect(relay.relays()).toHaveLength(13);
  expect(controls(others[13]?.frames ?? [])).toContainEqual({ included: { included: false, meshSize: 13 } });
  // The upkeep cuts the mesh down to eight and tells those that go.
  await world.clock.advance(11_000);
  expect(relay.relays()).toHaveLength(8);
  const told = others.filter(({ frames }) => controls(frames).some(({ included }) => included?.included === false));
  expect(told).toHaveLength(6);
  const sized = others.filter(({ frames }) => controls(frames).some(({ meshSize }) => meshSize === 8));
  expect(sized).toHaveLength(8);
});

test("included=false from a relay takes it out of the mesh of a relay, but a light node ignores it", async () => {
  const world = createP2pWorld(7);
  const other = await world.bare(true);
  const relay = await world.node({ isRelay: true, seeds: [other.address] });
  const light = await world.node({ seeds: [other.address] });
  await world.clock.advance(100);
  for (const node of [relay, light]) other.transport.sendFrame(node.peerId, control({ iAmRelay: true }));
  await world.clock.advance(100);
  expect([relay.relays().length, light.relays().length]).toEqual([1, 1]);
  for (const node of [relay, light]) other.transport.sendFrame(node.peerId, control({ included: { included: false, meshSize: 13 } }));
  await world.clock.advance(100);
  expect([relay.relays().length, light.relays().length]).toEqual([0, 1]);
});

test("a peer that has announced a subscription is never taken for a relay", async () => {
  const world = createP2pWorld(8);
  const other = await world.bare(true);
  const a = await world.node({ seeds: [other.address] });
  await world.clock.advance(100);
  other.transport.sendFrame(a.peerId, encodeFrame({ subscriptions: [{ subscribe: true, topic: "x" }] }));
  other.transport.sendFrame(a.peerId, encodeFrame({ subscriptions: [{ subscribe: false, topic: "x" }] }));
  other.transport.sendFrame(a.peerId, control({ iAmRelay: true }));
  await world.clock.advance(100);
  expect(a.relays()).toEqual([]);
});

test("three relays are kept where there are three, and a lost one is replaced", async () => {
  const world = createP2pWorld(9);
  const relays: WorldNode[] = [];
  for (let i = 0; i < 4; i++) relays.push(await world.node({ isRelay: true, seeds: relays.map(({ address }) => address) }));
  const a = await world.node({ seeds: relays.map(({ address }) => address) });
  await world.clock.advance(15_000);
  expect(a.relays()).toHaveLength(3);
  const [lost] = a.relays();
  if (lost === undefined) throw new Error("no relay");
  world.net.cut(a.peerId, lost);
  await world.clock.advance(15_000);
  expect(a.relays()).toHaveLength(3);
  expect(a.relays()).not.toContain(lost);
});

test("the mesh size goes to every relay in the mesh every ten seconds", async () => {
  const world = createP2pWorld(10);
  const relay = await world.bare(true);
  const a = await world.node({ seeds: [relay.address] });
  await world.clock.advance(100);
  relay.transport.sendFrame(a.peerId, control({ iAmRelay: true }));
  await world.clock.advance(30_500);
  expect(controls(relay.frames).filter(({ meshSize }) => meshSize === 1)).toHaveLength(3);
});

test("duplicates are dropped by message id for a minute; another sequence number or topic is another message", async () => {
  const world = createP2pWorld(11);
  const relay = await world.node({ isRelay: true });
  const peer = await world.bare();
  await world.dial(peer, relay.address);
  const send = (frame: Uint8Array): boolean => peer.transport.sendFrame(relay.peerId, frame);
  for (let i = 0; i < 3; i++) send(published("x"));
  send(encodeFrame({ publish: [message("x", TOPIC, "2")] }));
  send(published("x", "orbk/A:B"));
  await world.clock.advance(1000);
  expect(texts(relay)).toEqual(["x", "x", "x"]);
  await world.clock.advance(30_000);
  send(published("x"));
  await world.clock.advance(1000);
  expect(relay.received).toHaveLength(3);
  await world.clock.advance(30_000);
  send(published("x"));
  await world.clock.advance(1000);
  expect(relay.received).toHaveLength(4);
});

test("a message goes back neither to its source nor to whoever delivered it meanwhile, but to whomever it names as its author", async () => {
  const world = createP2pWorld(12);
  const relay = await world.node({ isRelay: true });
  const peers = await Promise.all(Array.from({ length: 4 }, () => world.bare()));
  for (const peer of peers) {
    await world.dial(peer, relay.address);
    peer.transport.sendFrame(relay.peerId, encodeFrame({ subscriptions: [{ subscribe: true, topic: TOPIC }] }));
    peer.transport.sendFrame(relay.peerId, control({ included: { included: true, meshSize: 1 } }));
  }
  await world.clock.advance(100);
  let decide: (verdict: "accept") => void = () => undefined;
  relay.verdict = () =>
    new Promise((resolve) => {
      decide = resolve;
    });
  const [source, author, second] = peers;
  const frame = encodeFrame({ publish: [{ ...message("m"), from: author?.transport.self.idBytes ?? new Uint8Array() }] });
  source?.transport.sendFrame(relay.peerId, frame);
  await world.clock.advance(100);
  second?.transport.sendFrame(relay.peerId, frame);
  await world.clock.advance(100);
  decide("accept");
  await world.clock.advance(100);
  expect(peers.map(({ frames }) => parsed(frames).flatMap(({ publish = [] }) => publish).length)).toEqual([0, 1, 0, 1]);
});

test("nobody keeps a message from a peer by saying it first under that peer's name", async () => {
  const world = createP2pWorld(15);
  const relay = await world.node({ isRelay: true });
  const victim = await world.node({ seeds: [relay.address] });
  const rogue = await world.bare();
  await world.dial(rogue, relay.address);
  victim.subscribe(TOPIC);
  await world.settle(victim.relayReady());
  await world.clock.advance(100);
  const said = message("an offer");
  const name = parsePeerIdText(victim.peerId);
  if (!name.ok) throw new Error("no peer id");
  rogue.transport.sendFrame(relay.peerId, encodeFrame({ publish: [{ ...said, from: name.value }] }));
  await world.clock.advance(10);
  rogue.transport.sendFrame(relay.peerId, encodeFrame({ publish: [said] }));
  await world.clock.advance(100);
  expect(texts(victim)).toEqual(["an offer"]);
});

test("a message is forwarded only after the application has accepted it", async () => {
  const world = createP2pWorld(13);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  const b = await world.node({ seeds: [relay.address] });
  b.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), b.relayReady()]));
  await world.clock.advance(100);
  relay.verdict = ({ data }) => (String.fromCharCode(...data) === "good" ? "accept" : "ignore");
  a.publish(TOPIC, text("bad"));
  a.publish(TOPIC, text("good"));
  await world.clock.advance(100);
  expect(texts(b)).toEqual(["good"]);
  expect(texts(relay)).toEqual(["bad", "good"]);
});

test("an application that never answers loses its messages after half a minute and blocks nobody", async () => {
  const world = createP2pWorld(14);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  await world.settle(a.relayReady());
  relay.verdict = () => new Promise(() => undefined);
  for (let i = 0; i < 5000; i++) {
    a.publish(TOPIC, text(`m${i}`));
    if (i % 1000 === 0) await world.clock.advance(100);
  }
  await world.clock.advance(100);
  expect(relay.received).toHaveLength(4096);
  await world.clock.advance(32_000);
  expect(relay.logged).toContainEqual({ level: "warn", event: "gossip_verdicts_missing", fields: { count: 4096 } });
  relay.verdict = () => "accept";
  a.publish(TOPIC, text("next"));
  await world.clock.advance(100);
  expect(texts(relay).at(-1)).toBe("next");
});

test("a handler that throws costs its message and nothing else", async () => {
  const world = createP2pWorld(15);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  await world.settle(a.relayReady());
  relay.verdict = () => {
    throw new Error("handler failed");
  };
  a.publish(TOPIC, text("1"));
  await world.clock.advance(100);
  relay.verdict = () => "accept";
  a.publish(TOPIC, text("2"));
  await world.clock.advance(100);
  expect(texts(relay)).toEqual(["1", "2"]);
  expect(relay.logged.some(({ event }) => event === "gossip_handler_failed")).toBe(true);
});

test("what is published before there is a relay goes out as soon as one is there, but not after ten seconds", async () => {
  const world = createP2pWorld(16);
  const relay = await world.node({ isRelay: true });
  const a = await world.node();
  a.publish(TOPIC, text("too old"));
  await world.clock.advance(10_500);
  const b = await world.node({ seeds: [relay.address] });
  for (let i = 0; i < 120; i++) b.publish(TOPIC, text(`early ${i}`));
  await world.settle(b.relayReady());
  await world.clock.advance(100);
  expect(texts(relay)).toEqual(Array.from({ length: 100 }, (_, i) => `early ${i}`));
  expect(b.logged.filter(({ event }) => event === "publish_lost_without_relay")).toHaveLength(20);
});

test("a slow reader misses messages while everybody else gets them, and gets its control frames later", async () => {
  const world = createP2pWorld(17);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  const slow = await world.node({ seeds: [relay.address] });
  const fast = await world.node({ seeds: [relay.address] });
  for (const node of [slow, fast]) node.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), slow.relayReady(), fast.relayReady()]));
  await world.clock.advance(100);
  world.net.setLink(relay.peerId, slow.peerId, { bytesPerSec: 20_000 });
  for (let i = 0; i < 100; i++) {
    a.publish(TOPIC, new Uint8Array(100_000).fill(i));
    await world.clock.advance(100);
  }
  await world.clock.advance(1000);
  expect(fast.received).toHaveLength(100);
  expect(slow.received.length).toBeLessThan(20);
  expect(relay.peers().map(({ id }) => id)).toContain(slow.peerId);
});

test.each([
  ["garbage frames", () => fromHex("ffffff")],
  ["malformed messages", () => encodeFrame({ publish: [{ data: text("x"), seqno: text("abc"), topic: TOPIC }] })],
])("%s get a peer dropped and kept away for five minutes, while others go on", async (_name, garbage) => {
  const world = createP2pWorld(18);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  await world.settle(a.relayReady());
  const bad = await world.bare();
  await world.dial(bad, relay.address);
  for (let i = 0; i < 30; i++) bad.transport.sendFrame(relay.peerId, garbage());
  await world.clock.advance(100);
  expect(bad.gone).toEqual([relay.peerId]);
  expect(relay.peers().map(({ id }) => id)).toEqual([a.peerId]);
  await world.dial(bad, relay.address);
  await world.clock.advance(100);
  expect(relay.peers()).toHaveLength(1);
  await world.clock.advance(300_000);
  await world.dial(bad, relay.address);
  await world.clock.advance(100);
  expect(relay.peers()).toHaveLength(2);
  a.publish(TOPIC, text("fine"));
  await world.clock.advance(100);
  expect(texts(relay)).toEqual(["fine"]);
});

test("a flood of messages or of bytes gets a peer dropped while others go on", async () => {
  for (const size of [1, 60_000]) {
    const world = createP2pWorld(19);
    const rate = { messagesPerSec: 50, bytesPerSec: 100_000, burstSec: 2 };
    const relay = await world.node({ isRelay: true, rates: { relay: rate, other: rate } });
    const a = await world.node({ seeds: [relay.address] });
    const bad = await world.bare();
    await world.settle(a.relayReady());
    await world.dial(bad, relay.address);
    for (let i = 0; i < 400 && bad.gone.length === 0; i++) {
      bad.transport.sendFrame(
        relay.peerId,
        encodeFrame({ publish: [{ data: new Uint8Array(size), seqno: text(`${i}`.padEnd(8)), topic: TOPIC }] }),
      );
      if (i % 10 === 0) await world.clock.advance(20);
    }
    await world.clock.advance(100);
    expect(bad.gone).toEqual([relay.peerId]);
    const before = relay.received.length;
    a.publish(TOPIC, text("fine"));
    await world.clock.advance(100);
    expect(relay.received).toHaveLength(before + 1);
  }
});

test("rejected messages get a light node dropped, but not a relay that only passes them on", async () => {
  const world = createP2pWorld(20);
  const relay = await world.node({ isRelay: true });
  relay.verdict = () => "reject";
  const light = await world.bare();
  const courier = await world.bare();
  await world.dial(light, relay.address);
  await world.dial(courier, relay.address);
  courier.transport.sendFrame(relay.peerId, control({ iAmRelay: true }));
  for (let i = 0; i < 30; i++) {
    light.transport.sendFrame(relay.peerId, published(`a${i}`));
    courier.transport.sendFrame(relay.peerId, published(`b${i}`));
  }
  await world.clock.advance(100);
  expect(light.gone).toEqual([relay.peerId]);
  expect(courier.gone).toEqual([]);
  const own = (i: number): WireMessage => ({ ...message(`c${i}`), from: courier.transport.self.idBytes });
  for (let i = 0; i < 30; i++) courier.transport.sendFrame(relay.peerId, encodeFrame({ publish: [own(i)] }));
  await world.clock.advance(100);
  expect(courier.gone).toEqual([relay.peerId]);
});

test("a lost connection recovers, with its subscriptions", async () => {
  const world = createP2pWorld(21);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  const b = await world.node({ seeds: [relay.address] });
  let changes = 0;
  b.onRelaysChanged(() => changes++);
  b.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), b.relayReady()]));
  await world.clock.advance(60_000);
  world.net.breakConnection(b.peerId, relay.peerId);
  expect(b.relays()).toEqual([]);
  await world.clock.advance(5000);
  expect(b.relays()).toEqual([relay.peerId]);
  expect(changes).toBe(3);
  a.publish(TOPIC, text("again"));
  await world.clock.advance(100);
  expect(texts(b)).toEqual(["again"]);
  // An operator can see that there was nobody, and since when there is again.
  const told = b.logged.filter(({ level }) => level === "info").map(({ event, fields }) => [event, fields.peer]);
  expect(told).toEqual([
    ["relay_found", relay.peerId],
    ["last_relay_lost", undefined],
    ["relay_found", relay.peerId],
  ]);
  await b.stop();
  expect(b.logged.filter(({ event }) => event === "last_relay_lost")).toHaveLength(1);
});

test("a node that finds no relay within a minute of its start says which seeds it tried; one that does says nothing", async () => {
  const world = createP2pWorld(23);
  const relay = await world.node({ isRelay: true });
  const gone = "/ip4/127.0.0.9/tcp/1";
  const [found, lost] = [await world.node({ seeds: [relay.address] }), await world.node({ seeds: [gone] })];
  await world.clock.advance(60_000);
  const told = (node: typeof lost) =>
    node.logged.filter(({ event }) => event === "no_relay_found").map(({ level, fields }) => [level, fields]);
  expect(told(lost)).toEqual([["warn", { seeds: [gone], sinceSec: 60, peers: 0 }]]);
  expect([told(found), told(relay)]).toEqual([[], []]);
});

test("dialling a seed that is down slows down to once a minute and succeeds once it is up", async () => {
  const world = createP2pWorld(22);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  await world.settle(a.relayReady());
  world.net.cut(a.peerId, relay.peerId);
  await world.clock.advance(3_600_000);
  const failures = a.logged.filter(({ event }) => event === "dial_failed").length;
  expect(failures).toBeGreaterThan(40);
  expect(failures).toBeLessThan(90);
  world.net.heal();
  await world.clock.advance(80_000);
  expect(a.relays()).toEqual([relay.peerId]);
});

test("a peer whose clock is 21 seconds off is left, one at 19 seconds stays", async () => {
  const world = createP2pWorld(23);
  const relay = await world.node({ isRelay: true });
  const shifted = (ms: number) => ({ nowMs: () => world.clock.nowMs() + ms, after: (d: number, t: () => void) => world.clock.after(d, t) });
  const near = await world.node({ seeds: [relay.address], clock: shifted(19_000) });
  const far = await world.node({ seeds: [relay.address], clock: shifted(-21_000) });
  await world.clock.advance(3000);
  expect(near.peers()).toHaveLength(1);
  await world.clock.run({
    until: () => far.logged.some(({ event }) => event === "peer_clock_differs"),
    untilMs: world.clock.nowMs() + 60_000,
  });
  expect(far.logged).toContainEqual({
    level: "warn",
    event: "peer_clock_differs",
    fields: { peer: relay.peerId, gap_sec: 21, limit_sec: 20 },
  });
  await world.clock.advance(200);
  expect(relay.peers().map(({ id }) => id)).toEqual([near.peerId]);
});

test("time and version are answered as recorded, and the version of a relay reaches the hook", async () => {
  const world = createP2pWorld(24);
  const versions: string[] = [];
  const relay = await world.node({ isRelay: true, version: "2.5.1-beta_a9fbf6096" });
  const a = await world.node({ seeds: [relay.address], onRelayVersion: (peer, version) => versions.push(`${peer} ${version}`) });
  await world.clock.advance(3000);
  expect(versions).toEqual([`${relay.peerId} 2.5.1-beta_a9fbf6096`]);
  const peer = await world.bare();
  await world.dial(peer, relay.address);
  const ask = (hex: string): Promise<string> =>
    world.settle(peer.transport.request(relay.peerId, "/request-response/2", fromHex(hex), new AbortController().signal).then(toHex));
  const now = Math.floor(world.clock.nowMs() / 1000);
  const ints = [...fromHex(now.toString(16))].map((b) => (b < 0x80 ? "" : "cc") + b.toString(16).padStart(2, "0")).join("");
  expect(await ask("9195cc8101cc8101ccc0")).toBe(`81009195ccce${ints}`);
  expect(await ask("9195cc8101cc8100ccc0")).toBe("810091dc0015ccb4322e352e312d626574615f613966626636303936");
  expect(a.peers()).toHaveLength(1);
});

test("requests reach the application's handler and its answer comes back; any relay is asked until one says Ok", async () => {
  const world = createP2pWorld(25);
  const r1 = await world.node({ isRelay: true });
  const r2 = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [r1.address, r2.address] });
  await world.clock.advance(3000);
  r1.setRequestHandler(async () => ({ kind: "none" }));
  r2.setRequestHandler(async (peer, request) => ({ kind: "ok", data: Uint8Array.of(...request, peer === a.peerId ? 1 : 0) }));
  const request = fromHex("8100c0");
  expect(await world.settle(a.request(r1.peerId, request))).toEqual({ kind: "none" });
  expect(await world.settle(a.requestAnyRelay(request))).toEqual({ peer: r2.peerId, data: fromHex("8100c001") });
  expect(await world.settle(a.requestAnyRelay(request, { not: [r2.peerId] }))).toBeNull();
  r1.setRequestHandler(async () => {
    throw new Error("handler failed");
  });
  expect(await world.settle(a.request(r1.peerId, request))).toEqual({ kind: "err", message: "internal error" });
  expect(await world.settle(a.request("nobody", request))).toMatchObject({ kind: "err" });
});

test("a request that is not answered ends after ten seconds with Aborted", async () => {
  const world = createP2pWorld(26);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  await world.settle(a.relayReady());
  relay.setRequestHandler(() => new Promise(() => undefined));
  const startMs = world.clock.nowMs();
  expect(await world.settle(a.request(relay.peerId, fromHex("8100c0")).catch((cause: unknown) => cause))).toBeInstanceOf(Aborted);
  expect(world.clock.nowMs() - startMs).toBe(10_000);
});

test("more than a hundred requests at once from one peer go unanswered, and a malformed one gets no answer", async () => {
  const world = createP2pWorld(27);
  const relay = await world.node({ isRelay: true });
  const peer = await world.bare();
  await world.dial(peer, relay.address);
  await world.clock.advance(100);
  const ask = (hex: string): Promise<string> =>
    peer.transport.request(relay.peerId, "/request-response/2", fromHex(hex), new AbortController().signal).then(toHex, () => "none");
  expect(await world.settle(ask("c0"))).toBe("none");
  const answers = await world.settle(Promise.all(Array.from({ length: 150 }, () => ask("9195cc8101cc8100ccc0"))));
  const answered = answers.filter((answer) => answer !== "none").length;
  expect(answered).toBeGreaterThanOrEqual(16);
  expect(answered).toBeLessThanOrEqual(101);
});

test("a node whose client asks for hundreds of books in two seconds keeps its relay; one that goes on by thousands does not", async () => {
  const world = createP2pWorld(29);
  const relay = await world.node({ isRelay: true });
  const peer = await world.bare();
  await world.dial(peer, relay.address);
  await world.clock.advance(100);
  const ask = (): Promise<string> =>
    peer.transport
      .request(relay.peerId, "/request-response/2", fromHex("9195cc8101cc8100ccc0"), new AbortController().signal)
      .then(toHex, () => "none");
  const askOften = (times: number): Promise<string[]> => world.settle(Promise.all(Array.from({ length: times }, ask)));
  const isThere = (): boolean => relay.peers().length === 1;
  await askOften(1_000);
  expect(isThere()).toBe(true);
  await world.clock.advance(20_000);
  expect(await world.settle(ask())).not.toBe("none");
  await askOften(12_000);
  expect(isThere()).toBe(false);
});

test("a health check on the own topic is answered with the own key, also through a relay", async () => {
  const world = createP2pWorld(28);
  const relay = await world.node({ isRelay: true });
  const target = await world.node({ seeds: [relay.address] });
  const checker = await world.bare();
  await world.settle(target.relayReady());
  await world.dial(checker, relay.address);
  await world.clock.advance(100);
  const seed = world.rng.bytes(32);
  const reply = `hcheck/${peerIdText(ed25519PeerIdBytes(seed))}`;
  const send = (frame: Frame): boolean => checker.transport.sendFrame(relay.peerId, encodeFrame(frame));
  send({ subscriptions: [{ subscribe: true, topic: reply }] });
  send({ control: { included: { included: true, meshSize: 1 } } });
  const nowSec = Math.floor(world.clock.nowMs() / 1000);
  const check = (isReply: boolean, seqno: string): WireMessage => ({
    data: signHealthcheck(seed, nowSec + 9, isReply),
    seqno: text(seqno),
    topic: `hcheck/${target.peerId}`,
  });
  send({ publish: [check(false, "00000001"), check(true, "00000002")] });
  await world.clock.advance(500);
  const replies = parsed(checker.frames).flatMap(({ publish = [] }) => publish);
  expect(replies.map(({ topic }) => topic)).toEqual([reply]);
  const opened = openHealthcheck(replies[0]?.data ?? new Uint8Array(), nowSec);
  if (!opened.ok) throw new Error(opened.error.kind);
  expect(opened.value.isReply).toBe(true);
  expect(peerIdText(ed25519KeyPeerIdBytes(opened.value.senderKey))).toBe(target.peerId);
  // Checks are no business of the application.
  expect(target.received).toEqual([]);
});

test("unknown control fields are logged once with number and wire type", async () => {
  const world = createP2pWorld(29);
  const relay = await world.node({ isRelay: true });
  const peer = await world.bare();
  await world.dial(peer, relay.address);
  for (let i = 0; i < 3; i++) peer.transport.sendFrame(relay.peerId, fromHex("1a024801"));
  await world.clock.advance(100);
  expect(relay.logged.filter(({ event }) => event === "unknown_gossip_control")).toEqual([
    { level: "info", event: "unknown_gossip_control", fields: { peer: peer.transport.self.id, field: 9, wireType: 0 } },
  ]);
});

test("light nodes connected directly form a mesh, forward to each other, and IHAVE brings what was missed", async () => {
  const world = createP2pWorld(30);
  const peer = await world.bare(true);
  const a = await world.node({ seeds: [peer.address] });
  a.subscribe(TOPIC);
  await world.clock.advance(100);
  const send = (frame: Frame): boolean => peer.transport.sendFrame(a.peerId, encodeFrame(frame));
  send({ subscriptions: [{ subscribe: true, topic: TOPIC }] });
  await world.clock.advance(1500);
  expect(controls(peer.frames)).toContainEqual({ graft: [TOPIC] });
  // Announced messages are asked for, once.
  const ids = [fromHex("0102030405060708")];
  send({ control: { ihave: [{ topic: TOPIC, ids }] } });
  await world.clock.advance(100);
  expect(controls(peer.frames)).toContainEqual({ iwant: [ids] });
  // Pruned, the peer is told of new messages by IHAVE and gets them for IWANT.
  send({ control: { prune: [{ topic: TOPIC, backoffSec: 60 }] } });
  await world.clock.advance(100);
  a.publish(TOPIC, text("news"));
  await world.clock.advance(1000);
  const announced = controls(peer.frames).flatMap(({ ihave = [] }) => ihave);
  expect(announced[0]?.topic).toBe(TOPIC);
  const before = parsed(peer.frames).flatMap(({ publish = [] }) => publish).length;
  send({ control: { iwant: [announced[0]?.ids ?? []] } });
  await world.clock.advance(100);
  expect(parsed(peer.frames).flatMap(({ publish = [] }) => publish)).toHaveLength(before + 1);
});

test("a graft within the back-off after a prune is refused", async () => {
  const world = createP2pWorld(31);
  const peer = await world.bare(true);
  const a = await world.node({ seeds: [peer.address] });
  a.subscribe(TOPIC);
  await world.clock.advance(100);
  peer.transport.sendFrame(a.peerId, encodeFrame({ subscriptions: [{ subscribe: true, topic: TOPIC }] }));
  await world.clock.advance(1500);
  peer.transport.sendFrame(a.peerId, control({ prune: [{ topic: TOPIC, backoffSec: 60 }] }));
  peer.transport.sendFrame(a.peerId, control({ graft: [TOPIC] }));
  await world.clock.advance(1500);
  expect(controls(peer.frames)).toContainEqual({ prune: [{ topic: TOPIC, backoffSec: 60 }] });
  expect(controls(peer.frames).filter(({ graft }) => graft !== undefined)).toHaveLength(1);
});

test("peers exchange passes on routable addresses of the netid only, and learned relays are dialled", async () => {
  const world = createP2pWorld(32);
  const relay = await world.node({ isRelay: true, ownAddress: "/ip4/8.8.8.8/tcp/47771" });
  const peer = await world.bare();
  await world.dial(peer, relay.address);
  const ask = (hex: string): Promise<string> =>
    world.settle(
      peer.transport.request(relay.peerId, "/peers-exchange/2", fromHex(hex), new AbortController().signal).then(toHex, () => "none"),
    );
  expect(await ask("81009114")).toContain(toHex(text("/ip4/8.8.8.8/tcp/47771")));
  expect(await ask("81009115")).toBe("none");
  const lonely = await world.node({ isRelay: true, ownAddress: "/ip4/127.0.0.1/tcp/47771" });
  await world.dial(peer, lonely.address);
  const empty = world.settle(peer.transport.request(lonely.peerId, "/peers-exchange/2", fromHex("81009114"), new AbortController().signal));
  expect(toHex(await empty)).toBe("81009180");
});

test("relays learned by peers exchange are dialled", async () => {
  const world = createP2pWorld(34);
  const address = "/ip4/8.8.4.4/tcp/47771";
  const hidden = await world.node({ isRelay: true, listen: address });
  const relay = await world.node({ isRelay: true, seeds: [address] });
  const a = await world.node({ seeds: [relay.address] });
  await world.clock.advance(15_000);
  expect(a.relays()).toEqual([relay.peerId]);
  await world.clock.advance(20_000);
  expect(a.relays()).toEqual([relay.peerId, hidden.peerId]);
});

test("stop ends waiting calls with Aborted and leaves no timer behind", async () => {
  const world = createP2pWorld(33);
  const a = await world.node({ seeds: ["/memory/99"] });
  const waiting = a.relayReady().catch((cause: unknown) => cause);
  await world.clock.advance(1000);
  await a.stop();
  expect(await world.settle(waiting)).toBeInstanceOf(Aborted);
  expect(await world.clock.run()).toBe("idle");
});

test("the meshes are shown: own topics, the relay, and what each peer wants", async () => {
  const world = createP2pWorld(77);
  const relay = await world.node({ isRelay: true });
  const a = await world.node({ seeds: [relay.address] });
  const b = await world.node({ seeds: [relay.address] });
  a.subscribe(TOPIC);
  await world.settle(Promise.all([a.relayReady(), b.relayReady()]));
  await world.clock.advance(100);
  expect([...a.mesh().topics]).toEqual([
    [`hcheck/${a.peerId}`, []],
    [TOPIC, []],
  ]);
  expect([...a.mesh().peerTopics]).toEqual([[relay.peerId, []]]);
  expect([...relay.mesh().topics]).toEqual([]);
  expect(new Map(relay.mesh().peerTopics)).toEqual(
    new Map([
      [a.peerId, [`hcheck/${a.peerId}`, TOPIC]],
      [b.peerId, [`hcheck/${b.peerId}`]],
    ]),
  );
  a.unsubscribe(TOPIC);
  await world.clock.advance(100);
  expect([...a.mesh().topics.keys()]).toEqual([`hcheck/${a.peerId}`]);
  expect(relay.mesh().peerTopics.get(a.peerId)).toEqual([`hcheck/${a.peerId}`]);
});
