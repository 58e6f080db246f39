import { createLibp2pTransport, type Libp2pTransport } from "../../src/adapters/libp2p/libp2pTransport.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { Secret } from "../../src/core/util/secret.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { SilentLog } from "./silentLog.ts";

export type EchoOptions = { readonly maxPeers?: number; readonly clock?: Clock };

/** A transport over real sockets with a fresh identity, not started. */
export function freshTransport(
  listen: readonly string[],
  { maxPeers = 512, clock = createSystemClock() }: EchoOptions = {},
): Libp2pTransport {
  const rng = createSystemRng();
  return createLibp2pTransport({ clock, rng, log: new SilentLog() }, { identitySeed: new Secret(rng.bytes(32)), listen, maxPeers });
}

/** One that answers each request with its payload, started. */
export async function startEcho(listen: readonly string[], options: EchoOptions = {}): Promise<Libp2pTransport> {
  const one = freshTransport(listen, options);
  await one.start({
    onPeer: () => undefined,
    onPeerGone: () => undefined,
    onFrame: () => undefined,
    onRequest: async (_peer, _protocol, payload) => payload,
  });
  return one;
}
