import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { concatBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";

/** Identity multihash (code 0) around a protobuf public key: field 1 = key type, field 2 = key bytes. */
const ED25519_PROTOBUF = Uint8Array.of(0x08, 0x01, 0x12, 0x20);
const SECP256K1_PROTOBUF = Uint8Array.of(0x08, 0x02, 0x12, 0x21);

/** Peer id bytes (38) of the ed25519 identity that grows from 32 seed bytes. */
export function ed25519PeerIdBytes(identitySeed: Uint8Array): Uint8Array {
  return ed25519KeyPeerIdBytes(ed25519.getPublicKey(identitySeed));
}

/** Peer id bytes (38) of a raw ed25519 public key. */
export function ed25519KeyPeerIdBytes(publicKey: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(0x00, 0x24), ED25519_PROTOBUF, publicKey);
}

export function peerIdText(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

/** Base58 text of an ed25519 or secp256k1 peer id, the two kinds this network has; at most 64 characters. */
export function parsePeerIdText(text: string): Result<Uint8Array, { kind: "BadPeerId"; text: string }> {
  const bad = err({ kind: "BadPeerId" as const, text: text.slice(0, 80) });
  if (text.length > 64 || !/^[1-9A-HJ-NP-Za-km-z]+$/.test(text)) return bad;
  const bytes = base58.decode(text);
  return isPeerId(bytes) ? ok(bytes) : bad;
}

/** Whether bytes have the form of an ed25519 (38) or secp256k1 (39) peer id. */
export function isPeerId(bytes: Uint8Array): boolean {
  const starts = (...head: readonly number[]): boolean => head.every((b, i) => bytes[i] === b);
  if (bytes.length === 38) return starts(0x00, 0x24, ...ED25519_PROTOBUF);
  return bytes.length === 39 && starts(0x00, 0x25, ...SECP256K1_PROTOBUF);
}
