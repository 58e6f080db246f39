import { equalBytes } from "../../src/core/util/bytes.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { latin1, wasMade } from "../native/ownSignatures.ts";

/** Answers kept; the oldest half goes when it is full. */
const MAX_KEPT = 50_000;

type Known = { readonly digest: Uint8Array; readonly publicKey: Uint8Array; readonly answer: boolean };

/**
 * A verifier for all nodes of a world: the same message comes to each of them, and a signature is good or bad whoever asks.
 * Each is worked out once, by the real one; those that were made in this process are known to be good.
 */
export function sharedVerifier(real: SignatureVerifier): SignatureVerifier {
  const known = new Map<string, Known>();
  return {
    verify(signature, digest, publicKey) {
      const key = latin1(signature);
      const before = known.get(key);
      if (before && equalBytes(before.digest, digest) && equalBytes(before.publicKey, publicKey)) return before.answer;
      const answer = wasMade(signature, digest, publicKey) || real.verify(signature, digest, publicKey);
      if (before) return answer;
      if (known.size >= MAX_KEPT) for (const old of [...known.keys()].slice(0, MAX_KEPT / 2)) known.delete(old);
      known.set(key, { digest: digest.slice(), publicKey: publicKey.slice(), answer });
      return answer;
    },
  };
}
