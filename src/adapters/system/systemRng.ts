import { randomFillSync } from "node:crypto";
import type { Rng } from "../../ports/rng.ts";

/** The operating system's generator. */
export function createSystemRng(): Rng {
  return { bytes: (length) => randomFillSync(new Uint8Array(length)) };
}
