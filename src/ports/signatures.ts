/** Verification of secp256k1 ECDSA (design D10). Signing is always noble, in core. */
export interface SignatureVerifier {
  /**
   * @param signature 64 bytes r||s; high-S is refused
   * @param digest 32 bytes
   * @param publicKey 33 bytes compressed
   * @returns false for anything malformed; never throws
   */
  verify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
  /**
   * The same for traffic that can wait, with other threads to help. Answers come in the order of the calls, over all
   * callers. Null: so many wait already that this one is not taken. Rejects with `Aborted` when the verifier is closed
   * meanwhile. Left out where everything runs in one thread: then `verify` is all there is.
   */
  verifyLater?(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean | null | Promise<boolean>;
}
