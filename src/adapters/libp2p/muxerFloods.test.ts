import { expect, test } from "vitest";
import { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import { createSystemClock } from "../system/systemClock.ts";
import { createSystemRng } from "../system/systemRng.ts";
import { createNode } from "./createNode.ts";
import type { Connection } from "./libp2pTypes.ts";
import { MuxerFloods } from "./muxerFloods.ts";

const rng = createSystemRng();
const system = createSystemClock();
/** Nothing is earned while a flood lasts. */
const frozen: Clock = { nowMs: () => 0, after: (delayMs, task) => system.after(delayMs, task) };

const [DATA, WINDOW, PING] = [0, 1, 2];
const [SYN, RST] = [1, 8];

/** One frame of the multiplexer, with a byte where it has data. */
function frame(type: number, flag: number, id: number, length: number): Uint8Array {
  const bytes = new Uint8Array(type === DATA ? 13 : 12);
  const view = new DataView(bytes.buffer);
  view.setUint8(1, type);
  view.setUint16(2, flag);
  view.setUint32(4, id);
  view.setUint32(8, length);
  return bytes;
}

/** What the library has below a connection. */
type Muxer = {
  readonly maConn: { send(bytes: Uint8Array): boolean };
  handlePingResponse(id: number): void;
  ping(options: { readonly signal: AbortSignal }): Promise<number>;
};
const FIRST_PING = 1_000_000;

/** A rogue sends so many frames to a node of ours; whether that answers it afterwards. */
async function isStillServed(frames: readonly Uint8Array[]): Promise<boolean> {
  const open = (listen: readonly string[]) => createNode({ identitySeed: new Secret(rng.bytes(32)), listen }, frozen);
  const [ours, rogue] = [await open(["/ip4/127.0.0.1/tcp/0"]), await open([])];
  try {
    await Promise.all([ours.libp2p.start(), rogue.libp2p.start()]);
    const connection: Connection = await rogue.libp2p.dial(rogue.parseAddress(String(ours.libp2p.getMultiaddrs()[0])));
    await expect.poll(() => ours.libp2p.getConnections().length).toBe(1);
    const { muxer } = connection as unknown as { readonly muxer: Muxer };
    const take = muxer.handlePingResponse.bind(muxer);
    muxer.handlePingResponse = (id) => {
      if (id < FIRST_PING) take(id);
    };
    for (let at = 0; at < frames.length && connection.status === "open"; at += 1_000)
      muxer.maConn.send(Buffer.concat(frames.slice(at, at + 1_000)));
    const left = new AbortController();
    connection.addEventListener("close", () => left.abort());
    if (connection.status !== "open") left.abort();
    return await muxer.ping({ signal: AbortSignal.any([left.signal, AbortSignal.timeout(5_000)]) }).then(
      () => true,
      () => false,
    );
  } finally {
    await Promise.all([ours.stop(), rogue.stop()]);
  }
}

const many = (count: number, one: (n: number) => readonly Uint8Array[]): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, n) => one(n)).flat();
const openAndReset = (n: number) => [frame(WINDOW, SYN, 1001 + 2 * n, 0), frame(WINDOW, RST, 1001 + 2 * n, 0)];

test.each([
  ["opens and resets streams", many(1_100, openAndReset)],
  ["opens streams that are too many already", many(1_100, (n) => [frame(WINDOW, SYN, 1001 + 2 * n, 0)])],
  ["pings the multiplexer", many(26_000, (n) => [frame(PING, SYN, 0, FIRST_PING + n)])],
  ["sends single bytes", many(26_000, () => [frame(DATA, 0, 7, 1)])],
])("a peer that %s without end is left", async (_what, frames) => {
  expect(await isStillServed(frames)).toBe(false);
});

test("one that opens nine hundred streams in one go stays", async () => {
  expect(await isStillServed(many(900, openAndReset))).toBe(true);
});

test("with each new connection from one address nothing new may be sent, and from another it may", () => {
  const floods = new MuxerFloods(frozen);
  const sent = (host: string, frames: number): number => {
    const connection = {};
    floods.isFrom(connection, host);
    let taken = 0;
    const factory = { createStreamMuxer: () => ({ handleFrame: () => taken++ }) } as unknown as Parameters<MuxerFloods["limited"]>[0];
    const muxer = floods.limited(factory).createStreamMuxer(connection as never) as unknown as { handleFrame(frame: unknown): void };
    const one = { header: { flag: 0, streamID: 7 } };
    try {
      for (let n = 0; n < frames; n++) muxer.handleFrame(one);
    } catch {
      // The connection ends.
    }
    return taken;
  };
  expect(sent("8.8.8.8", 30_000)).toBe(25_000);
  expect(sent("8.8.8.8", 10)).toBe(0);
  expect(sent("9.9.9.9", 10)).toBe(10);
  // Many nodes share an address behind a proxy of our own.
  expect([sent("127.0.0.1", 30_000), sent("127.0.0.1", 10)]).toEqual([25_000, 10]);
});
