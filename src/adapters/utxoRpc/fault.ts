import { assertNever } from "../../core/util/result.ts";
import type { DaemonError } from "../../ports/daemonRpc.ts";

/** Why a look at the daemon did not end with a fresh view. None of them changes what the index knows. */
export type ChainFault =
  | DaemonError
  /** JSON of another shape or size than the method answers. */
  | { readonly kind: "bad_answer"; readonly method: string; readonly detail: string }
  /** A block the index has to read and the daemon no longer has (pruned). `isFetched`: it was told to get it from its peers again. */
  | { readonly kind: "block_gone"; readonly height: number; readonly message: string; readonly isFetched: boolean }
  /** Two answers that cannot both be true. */
  | { readonly kind: "contradiction"; readonly detail: string }
  | { readonly kind: "other_chain"; readonly expected: string; readonly found: string }
  /** The daemon is further back than the blocks we could compare with. */
  | { readonly kind: "behind"; readonly height: number; readonly ours: number }
  /** The best chain changed between two calls; the next round sees the new one. */
  | { readonly kind: "moved" };

/** One sentence for people: what is wrong and, where there is something to do, what. */
export function faultSentence(ticker: string, fault: ChainFault): string {
  switch (fault.kind) {
    case "rpc":
      return `The ${ticker} daemon refused a request: ${fault.message} (code ${fault.code}).`;
    case "unreachable":
      return `The ${ticker} daemon cannot be used: ${fault.message}${fault.message.endsWith("?") ? "" : "."}`;
    case "busy":
      return `The ${ticker} daemon is busy: ${fault.message}.`;
    case "bad_answer":
      return `The ${ticker} daemon gave an answer to ${fault.method} that cannot be used: ${fault.detail}.`;
    case "block_gone":
      return `The ${ticker} daemon no longer has block ${fault.height}, which this node still has to read (${fault.message}); ${
        fault.isFetched
          ? "it fetches it from its peers again, which takes a moment."
          : `let the daemon fetch it again, or prune less; where no swap needs ${ticker}, enable it once with "rescan": true.`
      }`;
    case "contradiction":
      return `The ${ticker} daemon contradicts itself: ${fault.detail}.`;
    case "other_chain":
      return `The ${ticker} daemon serves another chain: its first block is ${fault.found}, this node's data was built from ${fault.expected}; if it is the right daemon, enable ${ticker} once with "rescan": true.`;
    case "behind":
      return `The ${ticker} daemon is at block ${fault.height} and this node has already seen block ${fault.ours}: waiting for it to catch up.`;
    case "moved":
      return `The ${ticker} chain is changing too fast to follow; trying again.`;
    default:
      return assertNever(fault);
  }
}
