import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FrameDecoder, FramingError, withLengthPrefix } from "../../src/adapters/libp2p/lengthPrefix.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { encodeFrame, type ParsedFrame } from "../../src/core/gossip/frame.ts";
import { parseFrame } from "../../src/core/gossip/parseFrame.ts";
import { parseSeedNode } from "../../src/core/gossip/seedNode.ts";
import { equalBytes, fromHex } from "../../src/core/util/bytes.ts";
import { randomBelow } from "../../src/ports/rng.ts";
import { createP2pWorld } from "../fakes/p2pWorld.ts";
import { RUNS, SEED, watchMemory } from "./support/fuzz.ts";

type Vectors = { controlFrames: { frame: string }[]; messageFrames: { frame: string }[] };
const vectors: Vectors = JSON.parse(readFileSync(new URL("../vectors/gossip/kdf.json", import.meta.url), "utf8"));
const recorded = [...vectors.controlFrames, ...vectors.messageFrames].map(({ frame }) => {
  const bytes = fromHex(frame);
  return bytes.subarray((bytes[0] ?? 0) < 0x80 ? 1 : 2);
});
const ids = [fromHex("0102030405060708"), fromHex("aabb")];
const corpus = [
  ...recorded,
  encodeFrame({ control: { ihave: [{ topic: "orbk/A:B", ids }], iwant: [ids], graft: ["t"], prune: [{ topic: "t", backoffSec: 60 }] } }),
  encodeFrame({
    subscriptions: [{ subscribe: false, topic: "a" }],
    control: { iAmRelay: true, included: { included: true, meshSize: 9 }, meshSize: 3 },
  }),
];

function frames(seed: number) {
  const rng = seededRng(seed);
  const pick = (n: number): number => randomBelow(rng, n);
  /** A frame of the corpus, or two, with bytes changed, cut, doubled or inserted; sometimes plain noise. */
  function mutant(): Uint8Array {
    if (pick(20) === 0) return rng.bytes(pick(200));
    const base = corpus[pick(corpus.length)] ?? new Uint8Array();
    const other = corpus[pick(corpus.length)] ?? new Uint8Array();
    let bytes = [...base, ...(pick(3) === 0 ? other : [])];
    for (let n = pick(6); n > 0; n--) {
      const at = pick(bytes.length + 1);
      const kind = pick(4);
      if (kind === 0) bytes[Math.min(at, bytes.length - 1)] = pick(256);
      else if (kind === 1) bytes = bytes.slice(0, at);
      else if (kind === 2) bytes.splice(at, 0, ...rng.bytes(1 + pick(10)));
      else bytes.splice(at, 1 + pick(4));
    }
    return Uint8Array.from(bytes);
  }
  return { rng, pick, mutant };
}

const plain = ({ subscriptions, publish, control }: ParsedFrame): unknown => ({ subscriptions, publish, control });

test(`${RUNS} mutated frames are read or refused, and what is read survives writing (seed ${SEED})`, () => {
  const { mutant } = frames(SEED);
  const memory = watchMemory();
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const parsed = parseFrame(mutant());
    if (!parsed.ok) {
      refused++;
      continue;
    }
    const again = parseFrame(encodeFrame(parsed.value));
    if (!again.ok) throw new Error(`run ${i}: own frame refused`);
    expect(plain(again.value)).toEqual(plain(parsed.value));
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 20);
  expect(refused).toBeLessThan(RUNS);
});

test(`${RUNS} streams cut into random chunks give the frames that went in, damaged ones a FramingError at most (seed ${SEED})`, () => {
  const { rng, pick, mutant } = frames(SEED + 1);
  const memory = watchMemory();
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const sent = Array.from({ length: pick(5) }, () => (pick(50) === 0 ? rng.bytes(pick(40_000)) : mutant()));
    const stream = withLengthPrefix(sent);
    const isDamaged = pick(4) === 0 && stream.length > 0;
    if (isDamaged) stream[pick(stream.length)] = pick(256);
    const decoder = new FrameDecoder();
    const out: Uint8Array[] = [];
    try {
      for (let at = 0; at < stream.length; ) {
        const end = Math.min(stream.length, at + 1 + pick(pick(2) === 0 ? 4 : 5000));
        decoder.push(stream.subarray(at, end), (frame) => out.push(frame));
        at = end;
      }
    } catch (cause) {
      if (!isDamaged || !(cause instanceof FramingError)) throw cause;
      continue;
    }
    if (isDamaged) continue;
    expect(out.length).toBe(sent.length);
    expect(out.every((frame, at) => equalBytes(frame, sent[at] ?? new Uint8Array(1)))).toBe(true);
  }
  memory.check();
});

test(`a relay under ${RUNS} mutated frames and requests bans their senders and goes on working (seed ${SEED})`, async () => {
  const { rng, pick, mutant } = frames(SEED + 2);
  const world = createP2pWorld(SEED);
  const relay = await world.node({ isRelay: true });
  const light = await world.node({ seeds: [relay.address] });
  await world.settle(light.relayReady());
  // Beside the decoder: what the relay keeps of every address it ever banned, and the test's own lists.
  const memory = watchMemory(64_000_000);
  let bans = 0;
  for (let left = RUNS; left > 0; ) {
    const peer = await world.bare();
    await world.dial(peer, relay.address);
    for (let n = Math.min(left, 100); n > 0 && peer.gone.length === 0; n--) {
      left--;
      memory.tick();
      peer.transport.sendFrame(relay.peerId, mutant());
      if (pick(10) === 0) {
        const protocol = pick(2) === 0 ? "/request-response/2" : "/peers-exchange/2";
        const payload =
          pick(2) === 0 ? rng.bytes(pick(40)) : Uint8Array.of(0x91, 0x95, 0xcc, 0x81, pick(256), 0xcc, 0x81, pick(256), 0xcc, 0xc0);
        const asked = peer.transport.request(relay.peerId, protocol, payload, new AbortController().signal);
        asked.catch((cause: unknown) => expect(cause).toBeInstanceOf(Error));
      }
      if (pick(5) === 0) await world.clock.advance(20);
    }
    await world.clock.advance(100);
    bans += peer.gone.length;
    await world.settle(peer.transport.stop());
  }
  memory.check();
  expect(bans).toBeGreaterThan(0);
  const before = relay.received.length;
  light.publish("orbk/A:B", Uint8Array.of(1));
  await world.clock.advance(100);
  expect(relay.received).toHaveLength(before + 1);
  expect(relay.logged.filter(({ level }) => level === "error")).toEqual([]);
});

test(`${RUNS} mutated seed entries are read or refused (seed ${SEED})`, () => {
  const { rng, pick } = frames(SEED + 3);
  const good = ["127.0.0.1", "seed.example.org", "/ip4/1.2.3.4/tcp/5/wss", "a.b/p2p/12D3KooWDMw3TJ2jeLRxeWtVrUkBw5FzKE8T1bMZK9wYsgmKxsTh"];
  const memory = watchMemory();
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const text = [...(good[pick(good.length)] ?? "")];
    for (let n = pick(4); n > 0; n--) text[pick(text.length + 1)] = String.fromCharCode(...rng.bytes(1));
    const parsed = parseSeedNode(text.join(""), { tcp: 1, wss: 2 });
    if (parsed.ok) expect(parsed.value.address).toMatch(/^\/(memory|ip4|ip6|dns|dns4|dns6)\//);
    else expect(parsed.error.kind).toBe("BadSeedNode");
  }
  memory.check();
});
