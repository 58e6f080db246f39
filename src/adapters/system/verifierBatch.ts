/** One check as it crosses to a verifying thread: signature, digest, key. */
const SIGNATURE_BYTES = 64;
const DIGEST_BYTES = 32;
const KEY_BYTES = 33;
const CHECK_BYTES = SIGNATURE_BYTES + DIGEST_BYTES + KEY_BYTES;

/** Checks in one message to a thread. More would only delay the first answer. */
export const BATCH_CHECKS = 128;

type Verify = (signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array) => boolean;

/** Checks that travel together, in order. */
export class VerifierBatch {
  readonly #bytes = new Uint8Array(BATCH_CHECKS * CHECK_BYTES);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** What has not the right length is written as zeros, which no key has signed. */
  add(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): void {
    const at = this.#count++ * CHECK_BYTES;
    if (signature.length !== SIGNATURE_BYTES || digest.length !== DIGEST_BYTES || publicKey.length !== KEY_BYTES) return;
    this.#bytes.set(signature, at);
    this.#bytes.set(digest, at + SIGNATURE_BYTES);
    this.#bytes.set(publicKey, at + SIGNATURE_BYTES + DIGEST_BYTES);
  }

  /** The bytes for a thread: a copy, since what is sent belongs to the receiver. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#count * CHECK_BYTES);
  }

  /** Verifies here. @returns one byte per check, 1 for a good one */
  run(verify: Verify): Uint8Array<ArrayBuffer> {
    return verifyBatch(this.toBytes(), verify);
  }
}

/** Verifies what `toBytes` made. @returns one byte per check, 1 for a good one */
export function verifyBatch(bytes: Uint8Array, verify: Verify): Uint8Array<ArrayBuffer> {
  const results = new Uint8Array(bytes.length / CHECK_BYTES);
  for (let i = 0; i < results.length; i++) {
    const at = i * CHECK_BYTES;
    const digestAt = at + SIGNATURE_BYTES;
    const keyAt = digestAt + DIGEST_BYTES;
    if (verify(bytes.subarray(at, digestAt), bytes.subarray(digestAt, keyAt), bytes.subarray(keyAt, keyAt + KEY_BYTES))) results[i] = 1;
  }
  return results;
}
