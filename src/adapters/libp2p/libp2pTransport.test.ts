import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, test } from "vitest";
import { peerTransportContract } from "../../../test/contract/peerTransport.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PeerConnection } from "../../ports/network.ts";
import { seededRng } from "../virtualClock/seededRng.ts";
import { createNode, type Libp2pOptions } from "./createNode.ts";
import { withLengthPrefix } from "./lengthPrefix.ts";
import { createLibp2pTransport, type Libp2pTransport } from "./libp2pTransport.ts";
import { PING_PROTOCOL, PingAnswers } from "./pings.ts";

const rng = seededRng(Date.now());
const clock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};
const LOOPBACK = "/ip4/127.0.0.1/tcp/0";

type Extra = Partial<Libp2pOptions> & { readonly seed?: Uint8Array; readonly clock?: Clock };

function create(listen: readonly string[], { seed = rng.bytes(32), clock: ownClock = clock, ...extra }: Extra = {}): Libp2pTransport {
  return createLibp2pTransport({ clock: ownClock, rng, log: new SilentLog() }, { identitySeed: new Secret(seed), listen, ...extra });
}

/** Looks at the condition at every turn of the event loop. */
async function until(condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const endMs = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error("it did not happen in time");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

peerTransportContract("libp2p", async () => {
  const transports: Libp2pTransport[] = [];
  return {
    async create(listens) {
      const transport = create(listens ? [LOOPBACK] : []);
      transports.push(transport);
      let address = "";
      return {
        transport,
        address: () => {
          address = transport.listenAddresses()[0] ?? address;
          return address;
        },
      };
    },
    until,
    settle: (promise) => promise,
    async close() {
      await Promise.all(transports.map((transport) => transport.stop()));
    },
  };
});

type End = {
  readonly transport: Libp2pTransport;
  readonly peers: PeerConnection[];
  readonly gone: string[];
  /** Resolves when the first peer is gone. */
  readonly left: Promise<void>;
  frames: number;
};

async function open(listen: readonly string[], extra: Extra = {}): Promise<End> {
  const transport = create(listen, extra);
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const end: End = { transport, peers: [], gone: [], left, frames: 0 };
  await transport.start({
    onPeer: (peer) => end.peers.push(peer),
    onPeerGone(peer) {
      end.gone.push(peer);
      leave();
    },
    onFrame: () => {
      end.frames++;
    },
    onRequest: async (_peer, _protocol, payload) => payload,
  });
  return end;
}

const never = (): AbortSignal => new AbortController().signal;

test("the peer id grows from the seed, before the library is loaded", () => {
  const seed = Uint8Array.from("72cd6e8422c407fb6d098690f1130b7ded7ec2f7f5e1d30bd9d521f015363793".match(/../g) ?? [], (hex) =>
    Number.parseInt(hex, 16),
  );
  expect(create([], { seed }).self.id).toBe("12D3KooWDMw3TJ2jeLRxeWtVrUkBw5FzKE8T1bMZK9wYsgmKxsTh");
});

test.each(["ws", "wss"])("%s connections work like tcp", async (kind) => {
  const pem = (name: string): string => readFileSync(new URL(`../../../test/vectors/tls/${name}.pem`, import.meta.url), "utf8");
  const tls = { key: pem("key"), cert: pem("cert") };
  setDefaultCACertificates([...getCACertificates("default"), tls.cert]);
  const listener = await open([`/ip4/127.0.0.1/tcp/0/${kind}`], kind === "wss" ? { tls } : {});
  const dialler = await open([]);
  try {
    const [address = ""] = listener.transport.listenAddresses();
    const id = await dialler.transport.dial(address.replace("/tls/ws", "/wss"), never());
    expect(await dialler.transport.request(id, "/request-response/2", Uint8Array.of(1, 2), never())).toEqual(Uint8Array.of(1, 2));
    dialler.transport.sendFrame(id, Uint8Array.of(1));
    await until(() => listener.frames === 1);
  } finally {
    await Promise.all([dialler.transport.stop(), listener.transport.stop()]);
  }
});

test("a frame above the limit ends the connection to that peer only", async () => {
  const listener = await open([LOOPBACK]);
  const honest = await open([]);
  const seed = rng.bytes(32);
  const rogue = await createNode({ identitySeed: new Secret(seed), listen: [] }, clock);
  try {
    const [address = ""] = listener.transport.listenAddresses();
    const id = await honest.transport.dial(address, never());
    await rogue.libp2p.start();
    const connection = await rogue.libp2p.dial(rogue.parseAddress(address));
    await until(() => listener.peers.length === 2);
    const stream = await connection.newStream(["/meshsub/1.1.0"]);
    // The length 1,048,477 as a varint.
    stream.send(Uint8Array.of(0x9d, 0xff, 0x3f, 1, 2, 3));
    await listener.left;
    expect(listener.gone).toEqual([rogue.libp2p.peerId.toString()]);
    honest.transport.sendFrame(id, Uint8Array.of(1));
    await until(() => listener.frames === 1);
  } finally {
    await rogue.libp2p.stop();
    await Promise.all([honest.transport.stop(), listener.transport.stop()]);
  }
});

test("half-read requests of one peer take bounded memory, small ones of others are answered meanwhile and large ones afterwards", async () => {
  const listener = await open([LOOPBACK]);
  const honest = await open([]);
  const rogue = await createNode({ identitySeed: new Secret(rng.bytes(32)), listen: [] }, clock);
  try {
    const [address = ""] = listener.transport.listenAddresses();
    const id = await honest.transport.dial(address, never());
    await rogue.libp2p.start();
    const connection = await rogue.libp2p.dial(rogue.parseAddress(address));
    // A megabyte is announced on each stream and all of it but the last byte is sent.
    const almost = withLengthPrefix([new Uint8Array(1_000_000)]).subarray(0, -1);
    const streams: Awaited<ReturnType<typeof connection.newStream>>[] = [];
    for (let i = 0; i < 50; i++) {
      const stream = await connection.newStream("/request-response/2");
      stream.send(almost);
      streams.push(stream);
    }
    await until(() => streams.filter(({ status }) => status !== "open").length >= 16);
    const ask = (bytes: number) => honest.transport.request(id, "/request-response/2", new Uint8Array(bytes), never());
    expect((await ask(4000)).length).toBe(4000);
    for (const stream of streams) stream.abort(new Error("done"));
    await until(() => streams.every(({ status }) => status !== "open"));
    let large = 0;
    for (let i = 0; i < 50 && large === 0; i++) large = (await ask(1_000_000).catch(() => new Uint8Array(0))).length;
    expect(large).toBe(1_000_000);
  } finally {
    await Promise.all([listener.transport.stop(), honest.transport.stop(), rogue.libp2p.stop()]);
  }
});

test("stop does not wait for peers that opened a socket and say nothing, nor for half-open streams", async () => {
  const listener = await open([LOOPBACK]);
  const [address = ""] = listener.transport.listenAddresses();
  const port = Number(/tcp\/(\d+)/.exec(address)?.[1]);
  const sockets = Array.from({ length: 20 }, () => connect(port, "127.0.0.1"));
  const rogue = await createNode({ identitySeed: new Secret(rng.bytes(32)), listen: [] }, clock);
  try {
    for (const socket of sockets) socket.on("error", () => undefined);
    // Half of them begin a handshake and leave it there.
    for (const socket of sockets.slice(10)) socket.write(Uint8Array.of(0x13, 0x2f, 0x6d, 0x75));
    await rogue.libp2p.start();
    const connection = await rogue.libp2p.dial(rogue.parseAddress(address));
    for (let i = 0; i < 60; i++) (await connection.newStream("/request-response/2")).send(Uint8Array.of(0xff, 0xff));
    const gossip = await connection.newStream("/meshsub/1.1.0");
    gossip.send(Uint8Array.of(0x05, 1, 2));
    await until(() => listener.peers.length === 1);
    await listener.transport.stop();
    await until(() => sockets.every(({ destroyed, readyState }) => destroyed || readyState === "closed"));
  } finally {
    for (const socket of sockets) socket.destroy();
    await Promise.all([listener.transport.stop(), rogue.libp2p.stop()]);
  }
});

test("of two inbound gossip streams the newer one counts", async () => {
  const listener = await open([LOOPBACK]);
  const other = await createNode({ identitySeed: new Secret(rng.bytes(32)), listen: [] }, clock);
  try {
    await other.libp2p.start();
    const connection = await other.libp2p.dial(other.parseAddress(listener.transport.listenAddresses()[0] ?? ""));
    const older = await connection.newStream(["/meshsub/1.1.0"]);
    older.send(Uint8Array.of(1, 9));
    await until(() => listener.frames === 1);
    const newer = await connection.newStream(["/meshsub/1.0.0"]);
    newer.send(Uint8Array.of(1, 9));
    await until(() => listener.frames === 2);
    await until(() => older.status !== "open");
    newer.send(Uint8Array.of(1, 9, 1, 9));
    await until(() => listener.frames === 4);
  } finally {
    await other.libp2p.stop();
    await listener.transport.stop();
  }
});

test("all frames to a peer go over one stream", async () => {
  const other = await createNode({ identitySeed: new Secret(rng.bytes(32)), listen: [LOOPBACK] }, clock);
  const dialler = await open([]);
  let streams = 0;
  let bytes = 0;
  try {
    await other.libp2p.handle(["/meshsub/1.1.0", "/meshsub/1.0.0"], (stream) => {
      streams++;
      expect(stream.protocol).toBe("/meshsub/1.1.0");
      stream.addEventListener("message", ({ data }) => {
        bytes += data.byteLength;
      });
    });
    await other.libp2p.start();
    const id = await dialler.transport.dial(String(other.libp2p.getMultiaddrs()[0]), never());
    for (let i = 0; i < 20; i++) {
      dialler.transport.sendFrame(id, Uint8Array.of(1, 2, 3));
      // Sent in several turns: a second stream would be opened in one of them.
      if (i % 5 === 0) await until(() => bytes === (i + 1) * 4);
    }
    await until(() => bytes === 20 * 4);
    expect(streams).toBe(1);
  } finally {
    await dialler.transport.stop();
    await other.libp2p.stop();
  }
});

test("pings go out every 15 seconds and a peer that does not answer is closed", async () => {
  // The interval of 15 s passes at once; the deadline of 20 s is cut to what a loaded machine surely keeps.
  const faster: { readonly [delayMs: number]: number } = { 15000: 30, 20000: 2000 };
  let rounds = 0;
  const fast: Clock = {
    nowMs: () => Date.now(),
    after(delayMs, task) {
      if (delayMs === 15000) rounds++;
      return clock.after(faster[delayMs] ?? delayMs, task);
    },
  };
  const other = await createNode({ identitySeed: new Secret(rng.bytes(32)), listen: [LOOPBACK] }, clock);
  const dialler = await open([], { clock: fast });
  try {
    const pings = new PingAnswers(clock);
    await other.libp2p.handle(PING_PROTOCOL, (stream, connection) => pings.answer(stream, connection));
    await other.libp2p.start();
    const id = await dialler.transport.dial(String(other.libp2p.getMultiaddrs()[0]), never());
    // Each answered ping sets the timer of the next.
    await until(() => rounds > 3);
    expect(dialler.gone).toEqual([]);
    await other.libp2p.unhandle(PING_PROTOCOL);
    await other.libp2p.handle(PING_PROTOCOL, () => undefined);
    await dialler.left;
    expect(dialler.gone).toEqual([id]);
  } finally {
    await dialler.transport.stop();
    await other.libp2p.stop();
  }
});

test("stop leaves no socket and no timer open, and the transport can start again", async () => {
  const count = (): string[] =>
    process
      .getActiveResourcesInfo()
      .filter((name) => /TCP|Timeout|Immediate/.test(name))
      .sort();
  const before = count();
  const listener = await open([LOOPBACK]);
  const dialler = await open([]);
  await dialler.transport.dial(listener.transport.listenAddresses()[0] ?? "", never());
  dialler.transport.sendFrame(listener.transport.self.id, Uint8Array.of(1));
  await until(() => listener.frames === 1);
  await Promise.all([dialler.transport.stop(), listener.transport.stop()]);
  await until(() => count().length <= before.length);
  expect(dialler.gone).toEqual([listener.transport.self.id]);
  await listener.transport.start({
    onPeer: () => undefined,
    onPeerGone: () => undefined,
    onFrame: () => undefined,
    onRequest: async () => undefined,
  });
  expect(listener.transport.listenAddresses()).toHaveLength(1);
  await listener.transport.stop();
});

test("a port that is taken makes start fail", async () => {
  const first = await open([LOOPBACK]);
  const [address = ""] = first.transport.listenAddresses();
  const second = create([address.split("/p2p/")[0] ?? ""]);
  const handlers = { onPeer: () => undefined, onPeerGone: () => undefined, onFrame: () => undefined, onRequest: async () => undefined };
  await expect(second.start(handlers)).rejects.toThrow();
  await first.transport.stop();
});
