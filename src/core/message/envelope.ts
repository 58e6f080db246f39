import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Result } from "../util/result.ts";
import { type BadMessage, decode, MAX_MESSAGE_BYTES } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";

/** A signed message as received: nothing is checked yet but its shape. */
export type Envelope = {
  /** 33 bytes, compressed; who speaks */
  readonly publicKey: Uint8Array;
  /** 64 bytes r||s */
  readonly signature: Uint8Array;
  /** A view into the message. */
  readonly payload: Uint8Array;
  /** SHA-256 of the payload: what was signed */
  readonly digest: Uint8Array;
};

/** Same promise as `SignatureVerifier.verify` of the ports. */
export type VerifySignature = (signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array) => boolean;

const KEY_VARIANTS = ["Secp256k1"] as const;

/** Public keys by the bytes of the secret one: deriving it costs as much as the signature, and a node speaks under one key. */
const publicKeys = new WeakMap<Uint8Array, Uint8Array>();

function publicKeyOf(secretKey: Uint8Array): Uint8Array {
  let key = publicKeys.get(secretKey);
  if (!key) {
    key = secp256k1.getPublicKey(secretKey, true);
    publicKeys.set(secretKey, key);
  }
  return key;
}

/**
 * Wraps and signs the payload of a gossip message (reference p2p-wire.md section 7): ECDSA over one SHA-256 of the
 * payload, RFC 6979, low-S. Byte for byte what KDF makes of the same key and payload.
 *
 * @param secretKey 32 bytes
 */
export function signEnvelope(payload: Uint8Array, secretKey: Uint8Array): Uint8Array {
  const signature = secp256k1.sign(sha256(payload), secretKey, { prehash: false, lowS: true });
  return new MsgpackWriter().array(3).variant(0).bin(publicKeyOf(secretKey)).bin(signature).bin(payload).finish();
}

/** Reads the shape. The signature is checked by `isSignedByItsKey`, after the cheap limits. */
export function parseEnvelope(bytes: Uint8Array): Result<Envelope, BadMessage> {
  return decode(bytes, (r): Envelope => {
    r.body(3);
    r.variant(KEY_VARIANTS);
    const publicKey = r.intsOrBinOf(33);
    const signature = r.binOf(64);
    const payload = r.binView(MAX_MESSAGE_BYTES);
    let digest: Uint8Array | undefined;
    return {
      publicKey,
      signature,
      payload,
      // Many are dropped by their key alone.
      get digest() {
        digest ??= sha256(payload);
        return digest;
      },
    };
  });
}

export function isSignedByItsKey(envelope: Envelope, verify: VerifySignature): boolean {
  return verify(envelope.signature, envelope.digest, envelope.publicKey);
}
