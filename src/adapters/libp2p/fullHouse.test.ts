import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { freshTransport, startEcho } from "../../../test/fakes/echoTransport.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { Secret } from "../../core/util/secret.ts";
import { createP2p } from "../../net/p2pNode.ts";
import type { Clock } from "../../ports/clock.ts";
import { createSystemClock } from "../system/systemClock.ts";
import { createSystemRng } from "../system/systemRng.ts";
import { createNode } from "./createNode.ts";
import type { Libp2pTransport } from "./libp2pTransport.ts";
import { PendingInbound } from "./pendingInbound.ts";

const clock = createSystemClock();
const rng = createSystemRng();
const LOOPBACK = "/ip4/127.0.0.1/tcp/0";

/** Whether a node that comes now gets in, and an answer. */
async function isServed(address: string): Promise<boolean> {
  const honest = await startEcho([]);
  const { signal } = new AbortController();
  try {
    const id = await honest.dial(address, signal);
    return (await honest.request(id, "/request-response/2", Uint8Array.of(7), signal))[0] === 7;
  } catch {
    return false;
  } finally {
    await honest.stop();
  }
}

test("a peer that connects again and again takes nobody's place", async () => {
  const listener = await startEcho([LOOPBACK], { maxPeers: 1 });
  const [address = ""] = listener.listenAddresses();
  const rogue = await createNode({ identitySeed: new Secret(rng.bytes(32)), listen: [] }, clock);
  try {
    await rogue.libp2p.start();
    for (let n = 0; n < 95; n++) await rogue.libp2p.dial(rogue.parseAddress(address), { force: true }).catch(() => undefined);
    // Of one address so many are let in a second.
    await expect.poll(() => isServed(address), { timeout: 10_000 }).toBe(true);
    await expect.poll(() => rogue.libp2p.getConnections().length).toBe(2);
  } finally {
    await Promise.all([rogue.stop(), listener.stop()]);
  }
});

/** Opens sockets that never say a word, and waits until they are connected. */
async function silentSockets(address: string, count: number): Promise<readonly Socket[]> {
  const port = Number(/tcp\/(\d+)/.exec(address)?.[1]);
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  return sockets;
}
const openOf = (sockets: readonly Socket[]): number => sockets.filter(({ readyState }) => readyState === "open").length;

test.each(["", "/ws"])("sockets that say nothing (tcp%s) keep nobody out, are few, and do not hold up the end", async (kind) => {
  const listener = await startEcho([LOOPBACK + kind]);
  const [address = ""] = listener.listenAddresses();
  const sockets = await silentSockets(address, 90);
  try {
    await expect.poll(() => openOf(sockets)).toBeLessThanOrEqual(64);
    expect(await isServed(address)).toBe(true);
    expect(openOf(sockets)).toBeGreaterThan(50);
    await listener.stop();
    await expect.poll(() => openOf(sockets)).toBe(0);
  } finally {
    for (const socket of sockets) socket.destroy();
    await listener.stop();
  }
});

test("where too many handshakes are under way the address with most of them loses its oldest, and of equals the oldest of all goes", () => {
  const pending = new PendingInbound();
  const gone: string[] = [];
  const begin = (host: string, port: number): void => pending.began(host, String(port), () => gone.push(`${host} ${port}`));
  begin("honest", 1);
  for (let port = 1; port <= 63; port++) begin("rogue", port);
  begin("honest", 2);
  expect(gone).toEqual(["rogue 1"]);
  begin("rogue", 63);
  pending.ended("rogue", "63");
  begin("rogue", 64);
  expect(gone).toEqual(["rogue 1"]);
  begin("rogue", 65);
  expect(gone).toEqual(["rogue 1", "rogue 2"]);
  const single = new PendingInbound();
  for (let n = 1; n <= 65; n++) single.began(`host${n}`, "1", () => gone.push(`host${n}`));
  expect(gone.at(-1)).toBe("host1");
});

test("in a full house whoever has been silent for two minutes makes room for the next", async () => {
  let aheadMs = 0;
  const movable: Clock = { nowMs: () => Date.now() + aheadMs, after: (delayMs, task) => clock.after(delayMs, task) };
  const relay = freshTransport([LOOPBACK], { maxPeers: 3, clock: movable });
  const identitySeed = new Secret(rng.bytes(32));
  const config = { isRelay: true, seedNodes: [], tcpPort: 47771, identitySeed, version: "test", maxPeers: 3 };
  const p2p = createP2p({ transport: relay, clock: movable, rng, log: new SilentLog(), config });
  p2p.setRequestHandler(async (_peer, request) => ({ kind: "ok", data: request }));
  await p2p.start();
  const [address = ""] = relay.listenAddresses();
  const silent = await Promise.all(Array.from({ length: 3 }, () => startEcho([])));
  const late = await startEcho([]);
  const { signal } = new AbortController();
  try {
    for (const one of silent) await one.dial(address, signal);
    const isIn = (one: Libp2pTransport): boolean => p2p.peers().some(({ id }) => id === one.self.id);
    await expect.poll(() => silent.filter(isIn).length).toBe(3);
    aheadMs = 121_000;
    await late.dial(address, signal).catch(() => undefined);
    await expect.poll(() => [isIn(late), silent.filter(isIn).length]).toEqual([true, 2]);
  } finally {
    await Promise.all([...silent, late].map((one) => one.stop()));
    await p2p.stop();
  }
});
