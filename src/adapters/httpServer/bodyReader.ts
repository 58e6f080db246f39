import type { IncomingMessage } from "node:http";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { HttpLimits } from "./limits.ts";

export type BodyError = { readonly kind: "TooLarge" } | { readonly kind: "Busy" } | { readonly kind: "Broken" };

/** Reads request bodies within a bound per body and one over all bodies in memory. */
export class BodyReader {
  readonly #limits: HttpLimits;
  #held = 0;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** Bytes held for bodies that are still being read. */
  get held(): number {
    return this.#held;
  }

  async read(request: IncomingMessage): Promise<Result<Uint8Array, BodyError>> {
    if (Number(request.headers["content-length"] ?? 0) > this.#limits.bodyBytes) return err({ kind: "TooLarge" });
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        size += chunk.length;
        this.#held += chunk.length;
        if (size > this.#limits.bodyBytes) return err({ kind: "TooLarge" });
        if (this.#held > this.#limits.totalBodyBytes) return err({ kind: "Busy" });
        chunks.push(chunk);
      }
    } catch {
      // The client went away or was cut off by a time limit: there is nobody to tell.
      return err({ kind: "Broken" });
    } finally {
      this.#held -= size;
    }
    return ok(Buffer.concat(chunks));
  }
}
