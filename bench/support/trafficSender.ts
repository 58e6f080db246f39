import { setTimeout as pause } from "node:timers/promises";
import { createLibp2pTransport } from "../../src/adapters/libp2p/libp2pTransport.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { encodeFrame } from "../../src/core/gossip/frame.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { orderTraffic, toFrame } from "./orderTraffic.ts";

// A process of its own: several relays, one libp2p node each, that hand signed order messages to whoever has dialled
// them, as fast as the streams take them. Told what to do over IPC.

export type SenderOrder = { readonly peers: number; readonly keys: number; readonly perKey: number };
export type SenderReport =
  | { readonly kind: "listening"; readonly addresses: readonly string[] }
  | { readonly kind: "sent"; readonly count: number; readonly cpuSeconds: number };

/** The queue of a stream holds some 4000 frames: it is looked after often enough not to run dry. */
const REFILL_MS = 5;

const clock = createSystemClock();
const rng = createSystemRng();
const report = (message: SenderReport): void => void process.send?.(message);

async function relay(
  frames: readonly Uint8Array[],
  go: Promise<void>,
  idBytesOf: (id: Uint8Array) => void,
): Promise<{ readonly address: string; readonly sent: Promise<void> }> {
  const seed = rng.bytes(32);
  const log = new SilentLog();
  const transport = createLibp2pTransport(
    { clock, rng, log },
    { identitySeed: new Secret(seed), listen: ["/ip4/127.0.0.1/tcp/0"], websocket: false },
  );
  idBytesOf(transport.self.idBytes);
  let resolvePeer: (id: string) => void = () => undefined;
  const peer = new Promise<string>((resolve) => {
    resolvePeer = resolve;
  });
  await transport.start({
    onPeer: ({ id }) => {
      transport.sendFrame(id, encodeFrame({ control: { iAmRelay: true } }));
      resolvePeer(id);
    },
    onPeerGone: () => undefined,
    onFrame: () => undefined,
    onRequest: async () => undefined,
  });
  const send = async (): Promise<void> => {
    const [id] = await Promise.all([peer, go]);
    for (const frame of frames) while (!transport.sendFrame(id, frame)) await pause(REFILL_MS);
  };
  return { address: transport.listenAddresses()[0] ?? "", sent: send() };
}

process.once("message", async ({ peers, keys, perKey }: SenderOrder) => {
  const nowSec = Math.floor(clock.nowMs() / 1_000);
  const go = new Promise<void>((resolve) => process.once("message", () => resolve()));
  const relays = [];
  for (let p = 0; p < peers; p++) {
    const frames: Uint8Array[] = [];
    const opened = await relay(frames, go, (id) => {
      for (const [n, message] of orderTraffic(keys, perKey, p * keys, nowSec).entries()) frames.push(toFrame(message, id, n));
    });
    relays.push(opened);
  }
  report({ kind: "listening", addresses: relays.map(({ address }) => address) });
  await go;
  const before = process.cpuUsage();
  await Promise.all(relays.map(({ sent }) => sent));
  const { user, system } = process.cpuUsage(before);
  report({ kind: "sent", count: peers * keys * perKey, cpuSeconds: (user + system) / 1e6 });
});
process.once("disconnect", () => process.exit(0));
