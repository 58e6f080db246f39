import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { Secret } from "../../core/util/secret.ts";
import { createSystemClock } from "../system/systemClock.ts";
import { createSystemRng } from "../system/systemRng.ts";
import { createNode } from "./createNode.ts";
import { FrameWriter } from "./frameWriter.ts";
import { withLengthPrefix } from "./lengthPrefix.ts";
import type { Connection, Stream } from "./libp2pTypes.ts";
import { exchange, RequestMemory, serve } from "./requestStream.ts";

const clock = createSystemClock();
const rng = createSystemRng();
const PROTOCOL = "/something/1";
const FRAME = withLengthPrefix([Uint8Array.of(1, 2, 3)]);
const { signal } = new AbortController();

/** Three megabytes that nobody asked for: one less and the library would end the stream. */
async function push(stream: Stream): Promise<void> {
  for (let n = 0; n < 48; n++) if (!stream.send(new Uint8Array(65_536))) await stream.onDrain({ signal: AbortSignal.timeout(5_000) });
}

/** A node of ours and a rogue that it is connected to. */
async function pair(onStream: (stream: Stream) => unknown, whose: "ours" | "rogue's") {
  const open = (listen: readonly string[]) => createNode({ identitySeed: new Secret(rng.bytes(32)), listen }, clock);
  const [ours, rogue] = [await open([]), await open(["/ip4/127.0.0.1/tcp/0"])];
  await (whose === "ours" ? ours : rogue).libp2p.handle(PROTOCOL, (stream) => void onStream(stream));
  await Promise.all([ours.libp2p.start(), rogue.libp2p.start()]);
  const connection: Connection = await ours.libp2p.dial(rogue.parseAddress(String(rogue.libp2p.getMultiaddrs()[0])));
  await expect.poll(() => rogue.libp2p.getConnections().length).toBe(1);
  const [back] = rogue.libp2p.getConnections();
  if (!back) throw new Error("not connected");
  const kept = (): number =>
    connection.streams.reduce((sum, stream) => sum + (stream as unknown as { readBufferLength: number }).readBufferLength, 0);
  return { connection, back, kept, stop: () => Promise.all([ours.stop(), rogue.stop()]) };
}

test("of what comes behind a request nothing is kept, however long its stream stays open", async () => {
  const memory = new RequestMemory(1_000_000);
  const { back, kept, stop } = await pair((stream) => serve(stream, signal, memory, async (payload) => payload), "ours");
  try {
    const stream = await back.newStream(PROTOCOL);
    const answered = new Promise((resolve) => stream.addEventListener("message", resolve));
    stream.send(FRAME);
    await answered;
    await push(stream);
    expect([stream.status, kept()]).toEqual(["open", 0]);
  } finally {
    await stop();
  }
});

test("of what comes behind an answer nothing is kept", async () => {
  let pushed: Promise<void> | null = null;
  const { connection, kept, stop } = await pair((stream) => {
    stream.send(FRAME);
    pushed = push(stream);
  }, "rogue's");
  try {
    await exchange(await connection.newStream(PROTOCOL), Uint8Array.of(1), signal);
    await pushed;
    expect(kept()).toBe(0);
  } finally {
    await stop();
  }
});

test("streams of requests and answers are gone when both ends are done", async () => {
  const memory = new RequestMemory(1_000_000);
  const { connection, back, stop } = await pair((stream) => serve(stream, signal, memory, async (payload) => payload), "rogue's");
  try {
    for (let n = 0; n < 5; n++)
      expect(await exchange(await connection.newStream(PROTOCOL), Uint8Array.of(n), signal)).toEqual(Uint8Array.of(n));
    await expect.poll(() => [connection.streams.length, back.streams.length]).toEqual([0, 0]);
  } finally {
    await stop();
  }
});

test("of what comes on a stream that is only written to nothing is kept, and it goes on", async () => {
  let heard = 0;
  let pushed: Promise<void> | null = null;
  const { connection, kept, stop } = await pair((stream) => {
    stream.addEventListener("message", ({ data }) => {
      heard += data.byteLength;
    });
    pushed = push(stream);
  }, "rogue's");
  const writer = new FrameWriter({ clock, open: () => connection.newStream(PROTOCOL), onBroken: () => undefined });
  try {
    writer.send(Uint8Array.of(1));
    await expect.poll(() => heard).toBe(2);
    await pushed;
    expect(kept()).toBe(0);
    writer.send(Uint8Array.of(1));
    await expect.poll(() => heard).toBe(4);
  } finally {
    writer.close();
    await stop();
  }
});

/** What the library has below a connection. */
type Below = {
  readonly muxer: {
    sendPing(id: number): void;
    readonly maConn: {
      readonly stream: { readonly socket: Socket };
      readonly writeBuffer: { byteLength: number };
      send(bytes: Uint8Array): boolean;
    };
  };
};

test("a peer that reads nothing is left when six megabytes of answers wait for it", async () => {
  const { connection, back, stop } = await pair(() => undefined, "ours");
  try {
    const [ours, rogue] = [connection, back].map((one) => (one as unknown as Below).muxer);
    if (!ours || !rogue) throw new Error("no multiplexer");
    rogue.maConn.stream.socket.pause();
    let most = 0;
    // As the library answers a ping of the multiplexer. The first megabytes are in the sockets.
    for (let id = 1; connection.status === "open" && id < 2_000_000; id++) {
      ours.sendPing(id);
      if (id % 5_000 !== 0) continue;
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, ours.maConn.writeBuffer.byteLength);
    }
    expect(connection.status).not.toBe("open");
    expect(most).toBeGreaterThan(5_000_000);
    expect(most).toBeLessThan(7_000_000);
  } finally {
    await stop();
  }
});

test("of many peers that read nothing those are left for whom most waits, once too much waits for all of them", async () => {
  const node = (listen: readonly string[], maxUnreadBytes: number) =>
    createNode({ identitySeed: new Secret(rng.bytes(32)), listen, maxUnreadBytes }, clock);
  const ours = await node(["/ip4/127.0.0.1/tcp/0"], 3_000_000);
  const rogues = await Promise.all(Array.from({ length: 3 }, () => node([], 1_000_000_000)));
  try {
    await Promise.all([ours, ...rogues].map(({ libp2p }) => libp2p.start()));
    const lines: { readonly muxer: Below["muxer"]; readonly connection: Connection }[] = [];
    for (const rogue of rogues) {
      const there: Connection = await rogue.libp2p.dial(rogue.parseAddress(String(ours.libp2p.getMultiaddrs()[0])));
      (there as unknown as Below).muxer.maConn.stream.socket.pause();
      await expect.poll(() => ours.libp2p.getConnections().length).toBe(lines.length + 1);
      const connection = ours.libp2p.getConnections().find(({ remotePeer }) => remotePeer.equals(rogue.libp2p.peerId));
      if (!connection) throw new Error("not connected");
      lines.push({ connection, muxer: (connection as unknown as Below).muxer });
    }
    // The first megabytes are in the sockets.
    const wanted = [2_500_000, 300_000, 400_000];
    for (const [i, { connection, muxer }] of lines.entries()) {
      while (connection.status === "open" && muxer.maConn.writeBuffer.byteLength < (wanted[i] ?? 0)) {
        muxer.maConn.send(new Uint8Array(50_000));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const open = () => lines.map(({ connection }) => connection.status === "open");
    await expect.poll(open, { timeout: 5_000 }).toEqual([false, true, true]);
  } finally {
    await Promise.all([ours, ...rogues].map((one) => one.stop()));
  }
});
