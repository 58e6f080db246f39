/** Verification of secp256k1 ECDSA (design D10). Signing is always noble, in core. */
export interface SignatureVerifier {
  /**
   * @param signature 64 bytes r||s; high-S is refused
   * @param digest 32 bytes
   * @param publicKey 33 bytes compressed
   * @returns false for anything malformed; never throws
   */
  verify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
}
