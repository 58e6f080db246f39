import { saysTooOften } from "../../core/util/askedTooOften.ts";
import { assertNever } from "../../core/util/result.ts";
import type { DaemonError } from "../../ports/daemonRpc.ts";

/** Why one node gave no answer to use. */
export type NodeFault =
  | DaemonError
  /** JSON of another shape or size than the method answers. */
  | { readonly kind: "bad_answer"; readonly method: string; readonly detail: string };

/** EIP-1474's code for it, HTTP's, which providers put into single answers of a batch, and what they say under any other. */
const HTTP_TOO_MANY = 429;
const LIMIT_CODES = [-32005, HTTP_TOO_MANY];
const MAX_LIMIT_CHARS = 300;

/** The node would not look at what it was asked: that says nothing of what it can do. */
export const isLimit = (fault: NodeFault): boolean =>
  fault.kind === "rpc" && (LIMIT_CODES.includes(fault.code) || saysTooOften(fault.message));

const SIZE_TEXT = /\b(range|blocks|logs|results?|size)\b/i;
/** The same, and not for the size of what was asked: one of the codes stands for both. */
function isTooOften({ code, message }: { readonly code: number; readonly message: string }): boolean {
  return (code === HTTP_TOO_MANY || saysTooOften(message)) && !SIZE_TEXT.test(message.slice(0, MAX_LIMIT_CHARS));
}

/** Words of geth and what is made from it, Erigon, Besu, Nethermind and reth; the last two of logs up to a block that is yet to come. */
const LACKS_BLOCK =
  /\b(header|block|hash)\b.{0,100}\b(not found|not be found|not currently canonical)|\bunknown block|\bfind block|\bbeyond\b.{0,40}\b(head|latest)\b|\b\d+ could not be found/i;
const MAX_LACK_CHARS = 400;

/** The machine that was asked does not have the block; another one behind the same address, or the same a moment later, may. */
export const lacksBlock = (said: string): boolean => LACKS_BLOCK.test(said.slice(0, MAX_LACK_CHARS));

/** The same as of a limit: it says nothing of what the node can do. */
export const saysNothing = (fault: NodeFault): boolean => isLimit(fault) || (fault.kind === "rpc" && lacksBlock(fault.message));

/** It may give as many logs a moment later: fewer blocks at once would help nobody. */
export const isLater = (fault: NodeFault): boolean => fault.kind === "rpc" && (lacksBlock(fault.message) || isTooOften(fault));

/** Why a look at the chain, or a question to it, did not end. None of them changes what the view says. */
export type LookFault =
  /** No node answers. `trouble` of each, with its name. */
  | { readonly kind: "no_nodes"; readonly troubles: readonly string[] }
  /** All nodes that answer serve another chain. */
  | { readonly kind: "wrong_chain"; readonly troubles: readonly string[] }
  /** Fewer nodes answered than have to agree. */
  | { readonly kind: "too_few"; readonly what: string; readonly have: number; readonly need: number; readonly troubles: readonly string[] }
  /** Nodes contradict each other and none of the answers has a majority. */
  | { readonly kind: "disagree"; readonly what: string; readonly nodes: readonly string[] }
  /** The best chain changed meanwhile; the next look sees the new one. */
  | { readonly kind: "moved" };

/** Of one sentence; nodes' own words are cut before. */
const MAX_TROUBLES = 5;
const list = (parts: readonly string[]): string => parts.slice(0, MAX_TROUBLES).join("; ");

export function nodeFaultText(fault: NodeFault): string {
  switch (fault.kind) {
    case "rpc":
      return `it refused a request: ${fault.message} (code ${fault.code})`;
    case "unreachable":
    case "busy":
      return fault.message;
    case "bad_answer":
      return `its answer to ${fault.method} cannot be used: ${fault.detail}`;
    default:
      return assertNever(fault);
  }
}

/** One sentence for people: what is wrong and, where there is something to do, what. */
export function lookFaultText(ticker: string, fault: LookFault): string {
  switch (fault.kind) {
    case "no_nodes":
      return `None of the ${ticker} nodes can be used: ${list(fault.troubles)}.`;
    case "wrong_chain":
      return `The ${ticker} nodes given serve another chain: ${list(fault.troubles)}; check the URLs.`;
    case "too_few":
      return `Only ${fault.have} of the ${fault.need} ${ticker} nodes that must agree on ${fault.what} answered${
        fault.troubles.length > 0 ? `: ${list(fault.troubles)}` : ""
      }.`;
    case "disagree":
      return `The ${ticker} nodes contradict each other about ${fault.what} (${fault.nodes.slice(0, MAX_TROUBLES).join(", ")}): remove the one that is wrong or add another.`;
    case "moved":
      return `The ${ticker} chain is changing too fast to follow; trying again.`;
    default:
      return assertNever(fault);
  }
}
