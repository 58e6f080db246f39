import { expect, test } from "vitest";
import { startEcho } from "../../../test/fakes/echoTransport.ts";
import { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import { createSystemClock } from "../system/systemClock.ts";
import { createSystemRng } from "../system/systemRng.ts";
import { createNode } from "./createNode.ts";
import type { Stream } from "./libp2pTypes.ts";
import { PING_PROTOCOL, ping } from "./pings.ts";

const clock = createSystemClock();
const rng = createSystemRng();
const LOOPBACK = "/ip4/127.0.0.1/tcp/0";

const node = (listen: readonly string[] = []) => createNode({ identitySeed: new Secret(rng.bytes(32)), listen }, clock);

/** How many bytes the other end takes, up to 16 MiB, before it ends the stream or takes nothing for a second. */
async function pushed(stream: Stream): Promise<number> {
  const piece = new Uint8Array(65_536);
  let bytes = 0;
  try {
    while (bytes < 16 * 1024 * 1024) {
      const hasRoom = stream.send(piece);
      bytes += piece.length;
      if (!hasRoom) await stream.onDrain({ signal: AbortSignal.timeout(1_000) });
    }
  } catch {
    // Ended, or nothing is taken any more.
  }
  return bytes;
}

test.each([false, true])(
  "pings are answered, and a peer that sends them without end (and reads no answer: %s) has nothing kept",
  async (isDeaf) => {
    const listener = await startEcho([LOOPBACK]);
    const rogue = await node();
    try {
      await rogue.libp2p.start();
      const connection = await rogue.libp2p.dial(rogue.parseAddress(listener.listenAddresses()[0] ?? ""));
      for (let n = 0; n < 10; n++) await ping(await connection.newStream(PING_PROTOCOL), rng, AbortSignal.timeout(5_000));
      const stream = await connection.newStream(PING_PROTOCOL);
      if (isDeaf) stream.pause();
      expect(await pushed(stream)).toBeLessThan(2 * 1024 * 1024);
    } finally {
      await Promise.all([rogue.stop(), listener.stop()]);
    }
  },
);

test("a peer that answers a ping with megabytes has nothing kept of them", async () => {
  const rogue = await node([LOOPBACK]);
  // The first ping comes at once instead of after 15 s.
  const fast: Clock = { nowMs: () => Date.now(), after: (delayMs, task) => clock.after(delayMs === 15_000 ? 10 : delayMs, task) };
  const dialler = await startEcho([], { clock: fast });
  try {
    const taken = new Promise<number>((resolve) => {
      void rogue.libp2p.handle(PING_PROTOCOL, (stream) => void pushed(stream).then(resolve));
    });
    await rogue.libp2p.start();
    await dialler.dial(String(rogue.libp2p.getMultiaddrs()[0]), new AbortController().signal);
    expect(await taken).toBeLessThan(2 * 1024 * 1024);
  } finally {
    await Promise.all([rogue.stop(), dialler.stop()]);
  }
});
