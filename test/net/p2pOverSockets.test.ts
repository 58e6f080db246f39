import { expect, test } from "vitest";
import { createLibp2pTransport, type Libp2pTransport } from "../../src/adapters/libp2p/libp2pTransport.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { createP2p, type P2pNode } from "../../src/net/p2pNode.ts";
import { SilentLog } from "../fakes/silentLog.ts";

const clock = createSystemClock();
const rng = createSystemRng();
const TOPIC = "orbk/KMD:LTC";

function node(
  seeds: readonly string[],
  isRelay = false,
  identity = rng.bytes(32),
): { readonly p2p: P2pNode; readonly transport: Libp2pTransport } {
  const identitySeed = new Secret(identity);
  const log = new SilentLog();
  const transport = createLibp2pTransport({ clock, rng, log }, { identitySeed, listen: isRelay ? ["/ip4/127.0.0.1/tcp/0"] : [] });
  const seedNodes = seeds.map((address) => ({ address }));
  const p2p = createP2p({ transport, clock, rng, log, config: { isRelay, seedNodes, tcpPort: 47771, identitySeed, version: "test" } });
  return { p2p, transport };
}

test("two light nodes talk and ask through a relay over real tcp, noise and yamux", async () => {
  const relay = node([], true);
  await relay.p2p.start();
  const seeds = relay.transport.listenAddresses();
  const [a, b] = [node(seeds), node(seeds)];
  try {
    b.p2p.subscribe(TOPIC);
    const received = new Promise<string>((resolve) => {
      b.p2p.setMessageHandler(({ topic, data, from }) => {
        resolve(`${topic} ${data.join()} ${from === relay.p2p.peerId}`);
        return "accept";
      });
    });
    relay.p2p.setRequestHandler(async (_, request) => ({ kind: "ok", data: request }));
    await Promise.all([a.p2p.start(), b.p2p.start()]);
    await Promise.all([a.p2p.relayReady(), b.p2p.relayReady()]);
    expect(await b.p2p.request(relay.p2p.peerId, Uint8Array.of(0x81, 0x00, 0xc0))).toEqual({
      kind: "ok",
      data: Uint8Array.of(0x81, 0x00, 0xc0),
    });
    // Until the relay has b's subscription and inclusion: nothing tells a when that is.
    const publishing = setInterval(() => a.p2p.publish(TOPIC, Uint8Array.of(1, 2, 3)), 20);
    expect(await received.finally(() => clearInterval(publishing))).toBe(`${TOPIC} 1,2,3 true`);
    expect(await a.p2p.requestAnyRelay(Uint8Array.of(0x81, 0x00, 0xc0))).toEqual({
      peer: relay.p2p.peerId,
      data: Uint8Array.of(0x81, 0x00, 0xc0),
    });
  } finally {
    await Promise.all([a.p2p.stop(), b.p2p.stop(), relay.p2p.stop()]);
  }
});

test("two nodes with one identity disturb each other and nobody else, and when one leaves the other works", {
  timeout: 60_000,
}, async () => {
  const relay = node([], true);
  await relay.p2p.start();
  const seeds = relay.transport.listenAddresses();
  const identity = rng.bytes(32);
  const [first, second, other] = [node(seeds, false, identity), node(seeds, false, identity), node(seeds)];
  const heard = new Set<string>();
  const bothHeard = new Promise<void>((resolve) => {
    relay.p2p.setMessageHandler(({ data }) => {
      heard.add(data.join());
      if (heard.size === 2) resolve();
      return "accept";
    });
  });
  try {
    await Promise.all([other.p2p.start(), first.p2p.start()]);
    await Promise.all([other.p2p.relayReady(), first.p2p.relayReady()]);
    const disturbed = new Promise<void>((resolve) => {
      first.p2p.onRelaysChanged(() => {
        if (first.p2p.relays().length === 0) resolve();
      });
    });
    await second.p2p.start();
    await disturbed;
    other.p2p.publish(TOPIC, Uint8Array.of(1));
    await first.p2p.stop();
    const speak = (): void => second.p2p.publish(TOPIC, Uint8Array.of(2));
    second.p2p.onRelaysChanged(speak);
    speak();
    await bothHeard;
    expect(heard).toEqual(new Set(["1", "2"]));
    expect(relay.p2p.peers().length).toBe(2);
  } finally {
    await Promise.all([first.p2p.stop(), second.p2p.stop(), other.p2p.stop(), relay.p2p.stop()]);
  }
});
