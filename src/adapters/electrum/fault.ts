import { assertNever, type Result } from "../../core/util/result.ts";

/** Why one server's answer is of no use. */
export type ServerFault =
  /** The connection broke, was never made, or gave no answer in time. Whether a call was carried out is not known. */
  | { readonly kind: "unreachable"; readonly message: string }
  /** The connection ended over this very call: no answer in time, or one that is longer than any may be. */
  | { readonly kind: "too_much"; readonly message: string }
  /** The server refused (ElectrumX: 1 a bad request or a refused transaction, 2 the daemon's refusal; electrs: 2 a refused transaction, too). */
  | { readonly kind: "rpc"; readonly code: number; readonly message: string }
  /** We have too many calls waiting for it. */
  | { readonly kind: "busy"; readonly message: string }
  /** Of another shape or size than the method answers. */
  | { readonly kind: "bad_answer"; readonly method: string; readonly detail: string };

/** JSON-RPC 2.0: the method does not exist. Servers that give it another number say it in words. */
export const METHOD_NOT_FOUND = -32601;
const NO_SUCH_METHOD = /\b(?:unknown|unsupported) method\b|\bmethod not found\b/i;

/** Whether a server does not know how to answer a method, whatever its parameters. */
export const isUnknownMethod = (fault: ServerFault): boolean =>
  fault.kind === "rpc" && (fault.code === METHOD_NOT_FOUND || NO_SUCH_METHOD.test(fault.message));

export type ServerAnswer<T> = Result<T, ServerFault>;

/** Why a look at the servers did not end with a fresh view. None of them changes what the index knows. */
export type LookFault =
  | { readonly kind: "no_servers"; readonly have: number; readonly need: number; readonly troubles: readonly string[] }
  /** The servers do not agree on anything that would let us go on. */
  | { readonly kind: "disagree"; readonly what: string }
  /** The servers are further back than what was proven before. */
  | { readonly kind: "behind"; readonly height: number; readonly ours: number }
  /** No server could give what a watched script or transaction needs. */
  | { readonly kind: "missing"; readonly what: string; readonly why: string }
  /** The best chain changed between two calls, or a server left; the next round sees what is there then. */
  | { readonly kind: "moved" }
  /** Most servers say that a transaction is in a block of ours and none proves it now: their chain has just changed, or they cannot. */
  | { readonly kind: "unproven"; readonly txid: string; readonly heights: readonly number[] }
  /** Its time is over and more is to be read: the next look goes on where this one stopped. */
  | { readonly kind: "unfinished" /** What was to be asked for anew was. */; readonly hasAsked: boolean };

export type Look<T> = Result<T, LookFault>;

/** The end of a sentence about a server. */
export function serverFaultText(fault: ServerFault): string {
  switch (fault.kind) {
    case "unreachable":
    case "too_much":
    case "busy":
      return fault.message;
    case "rpc":
      return `it refused a request: ${fault.message} (code ${fault.code})`;
    case "bad_answer":
      return `its answer to ${fault.method} cannot be used: ${fault.detail}`;
    default:
      return assertNever(fault);
  }
}

/** One sentence for people: what is wrong and, where there is something to do, what. */
export function lookFaultSentence(ticker: string, fault: LookFault): string {
  switch (fault.kind) {
    case "no_servers": {
      const why = fault.troubles.length === 0 ? "" : `: ${fault.troubles.join("; ")}`;
      if (fault.have === 0) return `No Electrum server of ${ticker} can be used${why}.`;
      return `Only ${fault.have} Electrum ${fault.have === 1 ? "server" : "servers"} of ${ticker} can be used, ${fault.need} are wanted${why}.`;
    }
    case "disagree":
      return `The ${ticker} servers contradict each other about ${fault.what}; enable ${ticker} with more servers.`;
    case "behind":
      return `The ${ticker} servers are at block ${fault.height} and this node has already seen block ${fault.ours}: waiting for them to catch up.`;
    case "missing":
      return `The ${ticker} servers do not give ${fault.what}: ${fault.why}.`;
    case "moved":
      return `The ${ticker} chain is changing too fast to follow; trying again.`;
    case "unproven":
      return `The ${ticker} servers name transaction ${fault.txid} in block ${fault.heights.join(" or ")} and do not prove it; asking them again.`;
    case "unfinished":
      return `There is more of the ${ticker} chain to read.`;
    default:
      return assertNever(fault);
  }
}
