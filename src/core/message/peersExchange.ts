import { toHex } from "../util/bytes.ts";
import type { Result } from "../util/result.ts";
import { type BadMessage, decode, type MsgpackReader } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";

/** A peer and where it listens. Which addresses are acceptable is the caller's rule (reference p2p-wire.md 5.4). */
export type KnownPeer = {
  /** Multihash bytes of the peer id. */
  readonly peerId: Uint8Array;
  /** Multiaddress texts. */
  readonly addresses: readonly string[];
};

const REQUEST = ["GetKnownPeers"] as const;
const RESPONSE = ["KnownPeers"] as const;
/** Most peers asked for, answered and read. */
export const MAX_KNOWN_PEERS = 20;
const MAX_PEER_ID_BYTES = 64;
const MAX_ADDRESSES = 32;
const MAX_ADDRESS_BYTES = 256;

/** Request of `/peers-exchange/2`. */
export function encodeGetKnownPeers(count: number): Uint8Array {
  return new MsgpackWriter().variant(0).array(1).uint(count).finish();
}

/** How many peers are wanted; more than `MAX_KNOWN_PEERS` gets no answer from KDF. */
export function parseGetKnownPeers(bytes: Uint8Array): Result<number, BadMessage> {
  return decode(bytes, (r) => {
    r.variant(REQUEST);
    r.body(1);
    return r.uint();
  });
}

export function encodeKnownPeers(peers: readonly KnownPeer[]): Uint8Array {
  const w = new MsgpackWriter().variant(0).array(1).map(peers.length);
  for (const { peerId, addresses } of peers) {
    w.ints(peerId).array(addresses.length);
    for (const address of addresses) w.str(address);
  }
  return w.finish();
}

/** At most `MAX_KNOWN_PEERS`, each named once. An empty list is what a node answers that knows nobody. */
export function parseKnownPeers(bytes: Uint8Array): Result<readonly KnownPeer[], BadMessage> {
  return decode(bytes, (r): readonly KnownPeer[] => {
    r.variant(RESPONSE);
    r.body(1);
    const peers = new Map<string, KnownPeer>();
    for (let left = r.map(MAX_KNOWN_PEERS); left > 0; left--) {
      const peerId = r.ints(MAX_PEER_ID_BYTES);
      peers.set(toHex(peerId), { peerId, addresses: readAddresses(r) });
    }
    return [...peers.values()];
  });
}

/** Payload of the floodsub topic `PEERS`: where a relay listens, unsigned. */
export function encodePeerAddresses(addresses: readonly string[]): Uint8Array {
  const w = new MsgpackWriter().array(addresses.length);
  for (const address of addresses) w.str(address);
  return w.finish();
}

export function parsePeerAddresses(bytes: Uint8Array): Result<readonly string[], BadMessage> {
  return decode(bytes, readAddresses);
}

function readAddresses(r: MsgpackReader): string[] {
  return Array.from({ length: r.array(MAX_ADDRESSES) }, () => r.str(MAX_ADDRESS_BYTES));
}
