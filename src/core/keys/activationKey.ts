import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Secret } from "../util/secret.ts";

/** Separates this use of the key from every other. */
const PURPOSE = utf8ToBytes("kept activations");

/**
 * The key under which a node keeps what activations name in secret, such as a daemon's password: HKDF-SHA256 (RFC 5869, no salt) of the
 * node's secret with info = "kept activations" (docs/adr/0038).
 *
 * @param nodeSecret secret of the node's key, 32 bytes
 */
export function activationKey(nodeSecret: Secret<Uint8Array>): Secret<Uint8Array> {
  return new Secret(hkdf(sha256, nodeSecret.reveal(), undefined, PURPOSE, 32));
}
