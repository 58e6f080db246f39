import { sha256 } from "@noble/hashes/sha2.js";
import { Secret } from "../util/secret.ts";
import type { KeyPair } from "./keyPair.ts";

/**
 * Ed25519 seed of a seed node's libp2p identity: SHA-256 of the node's secp256k1 secret, so that a seed node keeps its
 * peer id across restarts. Light nodes draw theirs at random instead.
 */
export function seedPeerKey(node: KeyPair): Secret<Uint8Array> {
  return new Secret(sha256(node.secret.reveal()));
}
