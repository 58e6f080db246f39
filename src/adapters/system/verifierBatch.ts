/** One check as it crosses to a verifying thread: signature, digest, key. */
const SIGNATURE_BYTES = 64;
const DIGEST_BYTES = 32;
const KEY_BYTES = 33;
const CHECK_BYTES = SIGNATURE_BYTES + DIGEST_BYTES + KEY_BYTES;

/** Checks in one message to a thread. More would only delay the first answer. */
export const BATCH_CHECKS = 128;

/** What one check needs, as `SignatureVerifier.verify` takes it. */
export type Check = readonly [signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array];
type Verify = (...check: Check) => boolean;

/** The form for a thread. What has not the right length is written as zeros, which no key has signed. */
export function encodeChecks(checks: readonly Check[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(checks.length * CHECK_BYTES);
  let at = 0;
  for (const [signature, digest, publicKey] of checks) {
    if (signature.length === SIGNATURE_BYTES && digest.length === DIGEST_BYTES && publicKey.length === KEY_BYTES) {
      bytes.set(signature, at);
      bytes.set(digest, at + SIGNATURE_BYTES);
      bytes.set(publicKey, at + SIGNATURE_BYTES + DIGEST_BYTES);
    }
    at += CHECK_BYTES;
  }
  return bytes;
}

/** Verifies what `encodeChecks` made. @returns one byte per check, 1 for a good one */
export function verifyChecks(bytes: Uint8Array, verify: Verify): Uint8Array<ArrayBuffer> {
  const results = new Uint8Array(bytes.length / CHECK_BYTES);
  for (let i = 0; i < results.length; i++) {
    const at = i * CHECK_BYTES;
    const digestAt = at + SIGNATURE_BYTES;
    const keyAt = digestAt + DIGEST_BYTES;
    if (verify(bytes.subarray(at, digestAt), bytes.subarray(digestAt, keyAt), bytes.subarray(keyAt, keyAt + KEY_BYTES))) results[i] = 1;
  }
  return results;
}
