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

  /** Listens instead of iterating: an iterator over a body of one piece costs as much as the rest of a short call. */
  read(request: IncomingMessage): Promise<Result<Uint8Array, BodyError>> {
    if (Number(request.headers["content-length"] ?? 0) > this.#limits.bodyBytes) return Promise.resolve(err({ kind: "TooLarge" }));
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const end = (result: Result<Uint8Array, BodyError>): void => {
        this.#held -= size;
        request.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
        // An error that comes later is nobody's; without a listener it would end the process.
        request.on("error", () => undefined);
        resolve(result);
      };
      const onData = (chunk: Buffer): void => {
        size += chunk.length;
        this.#held += chunk.length;
        if (size > this.#limits.bodyBytes) end(err({ kind: "TooLarge" }));
        else if (this.#held > this.#limits.totalBodyBytes) end(err({ kind: "Busy" }));
        else chunks.push(chunk);
      };
      const onEnd = (): void => end(ok(Buffer.concat(chunks)));
      // The client went away or was cut off by a time limit: there is nobody to tell.
      const onBroken = (): void => end(err({ kind: "Broken" }));
      request.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
    });
  }
}
