import { ed25519 } from "@noble/curves/ed25519.js";
import { concatBytes, equalBytes, fromHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type BadMessage, decode, type MsgpackReader, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";

/** "Are you there?" and its answer on `hcheck/<peer id>` (reference p2p-wire.md section 11). */
export type Healthcheck = {
  /** Raw ed25519 key of the sender's libp2p identity, 32 bytes. */
  readonly senderKey: Uint8Array;
  /** unix seconds */
  readonly expiresAt: number;
  readonly isReply: boolean;
};

export type HealthcheckError =
  | BadMessage
  | { readonly kind: "BadSignature" }
  | { readonly kind: "Expired" }
  | { readonly kind: "TooLongLived" };

/** Seconds a message may have left to live: the least and the most that are valid. */
const LEAST_TTL_SEC = 1;
const MOST_TTL_SEC = 10;
/** libp2p protobuf of an ed25519 public key: type 1, 32 bytes of data. */
const ED25519_KEY_PREFIX = fromHex("08011220");

/** The bytes that are signed. */
export function encodeHealthcheckData(data: Healthcheck): Uint8Array {
  return new MsgpackWriter()
    .array(3)
    .ints(concatBytes(ED25519_KEY_PREFIX, data.senderKey))
    .uint(data.expiresAt)
    .bool(data.isReply)
    .finish();
}

/**
 * @param identitySeed 32-byte ed25519 seed of the libp2p identity
 * @param expiresAt unix seconds, at most ten from now
 */
export function signHealthcheck(identitySeed: Uint8Array, expiresAt: number, isReply: boolean): Uint8Array {
  const data = encodeHealthcheckData({ senderKey: ed25519.getPublicKey(identitySeed), expiresAt, isReply });
  return new MsgpackWriter().array(2).ints(ed25519.sign(data, identitySeed)).raw(data).finish();
}

/**
 * Reads a message and checks signature and life time.
 *
 * @param nowSec unix seconds
 */
export function openHealthcheck(bytes: Uint8Array, nowSec: number): Result<Healthcheck, HealthcheckError> {
  const parsed = decode(bytes, (r) => {
    r.body(2);
    return { signature: r.intsOf(64), data: readData(r) };
  });
  if (!parsed.ok) return parsed;
  const { signature, data } = parsed.value;
  if (!ed25519.verify(signature, encodeHealthcheckData(data), data.senderKey)) return err({ kind: "BadSignature" });
  const ttl = data.expiresAt - nowSec;
  if (ttl < LEAST_TTL_SEC) return err({ kind: "Expired" });
  if (ttl > MOST_TTL_SEC) return err({ kind: "TooLongLived" });
  return ok(data);
}

function readData(r: MsgpackReader): Healthcheck {
  r.body(3);
  const key = r.intsOf(ED25519_KEY_PREFIX.length + 32);
  if (!equalBytes(key.subarray(0, ED25519_KEY_PREFIX.length), ED25519_KEY_PREFIX)) refuse("ed25519 key expected");
  return { senderKey: key.slice(ED25519_KEY_PREFIX.length), expiresAt: r.uint(), isReply: r.bool() };
}
