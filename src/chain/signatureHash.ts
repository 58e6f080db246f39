import { legacyDigest, SIGHASH_ALL, saplingDigest, segwitV0Digest } from "../core/utxo/sighash.ts";
import type { ChainParams } from "./chainParams.ts";
import type { SignatureHash } from "./script/signatureChecker.ts";

/**
 * Signature digests of a chain: the original scheme and BIP-143, or ZIP-243. On KMD-family chains only SIGHASH_ALL
 * exists here; a signature of another hash type never verifies.
 */
export function chainSignatureHash(params: ChainParams): SignatureHash {
  const { scheme } = params;
  if (scheme.kind === "sapling") {
    return (tx, index, code, hashType, value) => (hashType === SIGHASH_ALL ? saplingDigest(tx, index, code, value, scheme.branchId) : null);
  }
  return (tx, index, code, hashType, value, version) =>
    version === "witness_v0" ? segwitV0Digest(tx, index, code, value, hashType) : legacyDigest(tx, index, code, hashType);
}
