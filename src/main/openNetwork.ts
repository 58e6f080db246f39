import { readFileSync } from "node:fs";
import { createLibp2pTransport } from "../adapters/libp2p/libp2pTransport.ts";
import type { NodeConfig } from "../config/nodeConfig.ts";
import { parseSeedNode, type SeedNode } from "../core/gossip/seedNode.ts";
import type { KeyPair } from "../core/keys/keyPair.ts";
import { seedPeerKey } from "../core/keys/seedPeerKey.ts";
import { isOtherGeneration } from "../core/network/generation.ts";
import { reasonOf } from "../core/util/reasonOf.ts";
import { Secret } from "../core/util/secret.ts";
import { createOfflineP2p } from "../net/offlineP2p.ts";
import { createP2p } from "../net/p2pNode.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { P2p } from "../ports/network.ts";
import type { Rng } from "../ports/rng.ts";
import { listenRefused } from "./listenRefused.ts";
import { StartRefused } from "./runningNode.ts";

/** The network and its life; `start` and `stop` do nothing when it is switched off. */
export type Network = { readonly p2p: P2p; readonly online: boolean; start(): Promise<void>; stop(): Promise<void> };

/** Where a seed listens when the configuration names no address. */
const ANY_ADDRESS = "0.0.0.0";

/** Builds the peer-to-peer network the configuration asks for; nothing is dialled or bound before `start`. */
export function openNetwork(
  config: NodeConfig,
  key: KeyPair,
  deps: { readonly clock: Clock; readonly rng: Rng; readonly log: Log },
  version: string,
): Network {
  const { p2p: settings } = config;
  if (settings.disabled) return { p2p: createOfflineP2p(), online: false, start: async () => undefined, stop: async () => undefined };
  if (settings.inMemory) throw new StartRefused("p2p_in_memory is for tests inside one process and has no meaning here: remove it");
  const { tcpPort, wssPort, isSeed } = settings;
  const seedNodes = settings.seedNodes.map((entry): SeedNode => {
    const parsed = parseSeedNode(entry, { tcp: tcpPort, wss: wssPort });
    if (!parsed.ok) throw new StartRefused(`seednodes: ${JSON.stringify(parsed.error.entry)}: ${parsed.error.why}`);
    return parsed.value;
  });
  // A seed keeps its peer id; a light node has a new one at every start.
  const identitySeed = isSeed ? seedPeerKey(key) : new Secret(deps.rng.bytes(32));
  const ip = settings.myIp ?? ANY_ADDRESS;
  const certs = settings.wssCerts;
  const listen = isSeed ? [`/ip4/${ip}/tcp/${tcpPort}`, ...(certs ? [`/ip4/${ip}/tcp/${wssPort}/wss`] : [])] : [];
  const transport = createLibp2pTransport(deps, {
    identitySeed,
    listen,
    maxPeers: settings.maxConnections,
    // Nobody is dialled over websocket but a seed whose address says so: what nodes tell each other is tcp.
    websocket: certs !== null || seedNodes.some(({ address }) => /\/wss?(?:\/|$)/.test(address)),
    ...(certs ? { tls: { key: readPem(certs.keyPath), cert: readPem(certs.certPath) } } : {}),
  });
  const p2p = createP2p({
    transport,
    ...deps,
    config: {
      isRelay: isSeed,
      seedNodes,
      tcpPort,
      identitySeed,
      version,
      maxPeers: settings.maxConnections,
      ...(isSeed && settings.myIp !== null ? { ownAddress: `/ip4/${settings.myIp}/tcp/${tcpPort}` } : {}),
      onRelayVersion: (peer, theirs) => warnOfOtherGeneration(deps.log, config, peer, theirs),
    },
  });
  const start = (): Promise<void> =>
    p2p.start().catch((cause: unknown) => {
      throw listenRefused(`the peer-to-peer network cannot start on ${ip}:${tcpPort} (myipaddr, netid)`, cause);
    });
  return { p2p, online: true, start, stop: () => p2p.stop() };
}

function readPem(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new StartRefused(`wss_certs: ${path} cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

function warnOfOtherGeneration(log: Log, config: NodeConfig, peer: string, theirs: string): void {
  if (isOtherGeneration(config.profile.name, theirs)) {
    log.warn("relay_of_other_generation", {
      peer,
      version: theirs,
      profile: config.profile.name,
      hint: "swaps between the two fail at the dex fee: check network_profile",
    });
  }
}
