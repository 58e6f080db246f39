import type { HttpHandler } from "../ports/http.ts";

/** Requests answered since the start; a batch is one. */
export type RequestCounts = { readonly answered: number; readonly failed: number };

/** The handler, and how often it answered: `failed` are replies with another status than 200. */
export function countedHandler(handler: HttpHandler): { readonly handler: HttpHandler; counts(): RequestCounts } {
  let answered = 0;
  let failed = 0;
  return {
    counts: () => ({ answered, failed }),
    async handler(request) {
      const reply = await handler(request);
      answered++;
      if (reply.status !== 200) failed++;
      return reply;
    },
  };
}
