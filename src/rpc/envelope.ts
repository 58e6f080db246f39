import type { HttpReply } from "../ports/http.ts";
import type { Fault } from "./fault.ts";
import { SwapList } from "./swapList.ts";

/** Request id of a versioned call: a non-negative integer, or null when none was given. */
export type RequestId = number | bigint | null;

/** One finished answer: the same inside a batch and alone. */
export type Answer = HttpReply;

/** `id` echoed even of a request that could not be parsed, when it is a non-negative integer (reference rpc.md 1.5). */
export function readableId(value: unknown): RequestId {
  if (typeof value === "bigint") return value >= 0n ? value : null;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** `{"mmrpc":"2.0","result":…,"id":…}`, keys in that order. */
export function v2Reply(value: unknown, id: RequestId): Answer {
  return { status: 200, body: `{"mmrpc":"2.0","result":${resultText(value)},"id":${id}}` };
}

export type V2Failure = Pick<Fault, "http" | "text" | "type" | "data">;

/**
 * Error envelope of a versioned call. `error_path` names what refused (`dispatcher`, `rate_limiter` or the method); `error_trace` has
 * the shape clients know, `name:number]`, and its number carries no meaning.
 */
export function v2Error(failure: V2Failure, path: string, id: RequestId): Answer {
  const envelope = {
    mmrpc: "2.0",
    error: failure.text,
    error_path: path,
    error_trace: `${path}:1]`,
    error_type: failure.type,
    ...(failure.data === undefined ? {} : { error_data: failure.data }),
  };
  return { status: failure.http, body: `${JSON.stringify(envelope).slice(0, -1)},"id":${id}}` };
}

/** `{"result":…}`, or the value itself. */
export function flatReply(value: unknown, isWrapped: boolean): Answer {
  if (value instanceof SwapList) return { status: 200, body: isWrapped ? `{"result":${value.text}}` : value.text };
  return { status: 200, body: JSON.stringify(isWrapped ? { result: value } : value) };
}

const resultText = (value: unknown): string => (value instanceof SwapList ? value.text : JSON.stringify(value));

/** `{"error": text}`. KDF puts `file:line] ` items in front of the text; clients look for the text within, so we leave them out. */
export function flatError(text: string, status = 500, extra: { readonly [key: string]: unknown } = {}): Answer {
  return { status, body: JSON.stringify({ error: text, ...extra }) };
}
