import { parseEnvelope } from "../../src/core/message/envelope.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { orderTraffic } from "./orderTraffic.ts";

const MEASURE_MS = 1_000;

/** Envelopes a second whose signature this thread verifies when it does nothing else. */
export function bareVerifyRate(verifier: SignatureVerifier): number {
  const checks = orderTraffic(50, 20, 1_000_000, 0).map(({ envelope }) => {
    const parsed = parseEnvelope(envelope);
    if (!parsed.ok) throw new Error(parsed.error.detail);
    return parsed.value;
  });
  const round = (): void => {
    for (const { signature, digest, publicKey } of checks)
      if (!verifier.verify(signature, digest, publicKey)) throw new Error("a bad signature");
  };
  round();
  const startMs = performance.now();
  let rounds = 0;
  while (performance.now() - startMs < MEASURE_MS) {
    round();
    rounds++;
  }
  return (rounds * checks.length * 1_000) / (performance.now() - startMs);
}
