import { secp256k1 } from "@noble/curves/secp256k1.js";
import { createLibp2pTransport } from "../../src/adapters/libp2p/libp2pTransport.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { OrderbookService } from "../../src/app/orderbook/orderbookService.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { createP2p } from "../../src/net/p2pNode.ts";
import type { GossipVerdict } from "../../src/ports/network.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { TRAFFIC_PAIRS } from "./orderTraffic.ts";

/** The part of a node that takes order messages: transport, gossip with the product's limits, order book. */
export type Receiver = {
  readonly verdicts: { readonly [V in GossipVerdict]: number };
  readonly book: OrderbookService;
  /** Log lines of level warn and above: none in a run that went well. */
  readonly troubles: readonly string[];
  /** Resolves when all relays are in the mesh. */
  connected(): Promise<void>;
  stop(): Promise<void>;
};

/** A light node that follows all pairs of the traffic and dials these relays. */
export async function startReceiver(relays: readonly string[], verifier: SignatureVerifier): Promise<Receiver> {
  const clock = createSystemClock();
  const rng = createSystemRng();
  const log = new SilentLog();
  const identitySeed = new Secret(rng.bytes(32));
  const transport = createLibp2pTransport({ clock, rng, log }, { identitySeed, listen: [], websocket: false });
  const seedNodes = relays.map((address) => ({ address }));
  const p2p = createP2p({
    transport,
    clock,
    rng,
    log,
    config: { isRelay: false, seedNodes, tcpPort: 47_771, identitySeed, version: "bench" },
  });
  const secretKey = rng.bytes(32);
  const book = new OrderbookService({
    p2p,
    clock,
    log,
    verifier,
    ownOrders: { orders: () => [], onChange: () => () => undefined },
    publicKey: secp256k1.getPublicKey(secretKey, true),
    secretKey: new Secret(secretKey),
    isBanned: () => false,
    hasHistory: () => false,
  });
  const verdicts = { accept: 0, ignore: 0, reject: 0, busy: 0 };
  p2p.setMessageHandler((message) => {
    const verdict = book.handleGossip(message);
    if (typeof verdict === "string") verdicts[verdict]++;
    else void verdict.then((late) => verdicts[late]++);
    return verdict;
  });
  p2p.setRequestHandler((peer, request) => book.handleRequest(peer, request));
  book.start();
  await p2p.start();
  for (const [base, rel] of TRAFFIC_PAIRS) await book.subscribePair(base, rel);
  return {
    verdicts,
    book,
    get troubles() {
      return log.lines
        .filter(({ level }) => level === "warn" || level === "error")
        .map(({ event, fields }) => `${event} ${JSON.stringify(fields)}`);
    },
    async connected() {
      while (p2p.relays().length < relays.length) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    async stop() {
      book.stop();
      await p2p.stop();
    },
  };
}
