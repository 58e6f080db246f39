import { refusesForNow } from "../../core/util/askedTooOften.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { DaemonError } from "../../ports/daemonRpc.ts";
import type { HttpAnswer } from "./postJson.ts";

/** Characters of a daemon's error message that are kept. */
const MAX_MESSAGE = 300;
const RPC_IN_WARMUP = -28;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;
/** In plain text, with status 503 or, up to Bitcoin Core 0.21 and its kin, 500. */
const QUEUE_FULL = "Work queue depth exceeded";

type Fields = { readonly [key: string]: unknown };
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** The reviver's third argument (ES2025 "JSON.parse source text access"), not in every library typing yet. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const keepExact: SourceReviver = (_key, value, context) =>
  typeof value === "number" && !Number.isSafeInteger(value) ? (context.source ?? value) : value;

/**
 * Values one answer may hold. The longest that is read is a UTXO scan: 100 000 outputs of nine fields. 20 MB of `[],[],…`
 * would take a gigabyte and half a minute in which nothing else runs.
 */
const MAX_VALUES = 1_200_000;
const VALUE_MARKS = [",", "[", "{"];

/** Whether a body holds more commas and brackets than any answer that is read; those inside texts count too. */
function holdsTooMuch(body: Buffer): boolean {
  let marks = 0;
  for (const mark of VALUE_MARKS) {
    for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + 1)) if (++marks > MAX_VALUES) return true;
  }
  return false;
}

/** JSON in which every number but a safe integer is its own text: amounts must not pass through a double. */
function parseJson(body: Buffer): Result<unknown, null> {
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"), keepExact as (key: string, value: unknown) => unknown);
    return ok(parsed);
  } catch (cause) {
    // SyntaxError: not JSON. RangeError: nested beyond the stack. Both are the daemon's doing.
    if (cause instanceof SyntaxError || cause instanceof RangeError) return err(null);
    throw cause;
  }
}

const NOT_JSON_RPC: DaemonError = {
  kind: "unreachable",
  message: "it answered with something that is not JSON-RPC; is this the daemon's RPC port?",
};

/** More requests wait at the daemon than its `rpcworkqueue` allows: none of this one was done, and it may be sent again. */
export function isTurnedAway({ status, body }: HttpAnswer): boolean {
  return status === SERVICE_UNAVAILABLE || body.subarray(0, QUEUE_FULL.length).toString("latin1") === QUEUE_FULL;
}

function statusError(status: number): DaemonError | null {
  if (status === UNAUTHORIZED) return { kind: "unreachable", message: "wrong rpc user or password", isUnsent: true };
  if (status === FORBIDDEN) return { kind: "unreachable", message: "it does not accept this address (rpcallowip)" };
  if (status === TOO_MANY_REQUESTS) return { kind: "unreachable", message: "it limits how often it may be asked" };
  return null;
}

/** Content of an answer that has no fault of its own as HTTP or JSON. */
function open(answer: Result<HttpAnswer, DaemonError>): Result<unknown, DaemonError> {
  if (!answer.ok) return answer;
  const { status, body } = answer.value;
  const refused = statusError(status);
  if (refused && status !== FORBIDDEN) return err(refused);
  if (holdsTooMuch(body)) return err({ kind: "unreachable", message: `its answer holds more than ${MAX_VALUES} values` });
  const parsed = parseJson(body);
  // Providers refuse single methods so, with the reason in the body: the others they answer. A daemon says nothing with it.
  if (refused && !(parsed.ok && isFields(parsed.value) && isFields(parsed.value.error))) return err(refused);
  if (parsed.ok) return parsed;
  return err(status === NOT_FOUND ? { kind: "unreachable", message: "there is no JSON-RPC at that path" } : NOT_JSON_RPC);
}

function readError(error: unknown): DaemonError {
  if (!isFields(error) || typeof error.code !== "number") return NOT_JSON_RPC;
  const message = typeof error.message === "string" ? error.message.slice(0, MAX_MESSAGE) : "";
  if (error.code === RPC_IN_WARMUP) return { kind: "busy", message };
  return { kind: "rpc", code: error.code, message, ...(error.data === undefined ? {} : { data: error.data }) };
}

/** One member of JSON-RPC 1.0 (both fields, one null) or 2.0 (one field). */
function readMember(value: unknown, id: number): Result<unknown, DaemonError> {
  if (!isFields(value)) return err(NOT_JSON_RPC);
  if (value.error !== undefined && value.error !== null) return err(readError(value.error));
  if (value.id !== id || !("result" in value)) return err(NOT_JSON_RPC);
  return ok(value.result);
}

export function parseSingleAnswer(answer: Result<HttpAnswer, DaemonError>, id: number): Result<unknown, DaemonError> {
  const content = open(answer);
  return content.ok ? readMember(content.value, id) : content;
}

/** One error for all calls of a batch: the server takes none, or none of so many, or is asked too often. */
function refusalOf(first: unknown, count: number): readonly Result<unknown, DaemonError>[] | "no_batches" {
  const error = isFields(first) && isFields(first.error) ? readError(first.error) : null;
  return error?.kind === "rpc" && refusesForNow(error.message) ? Array.from({ length: count }, () => err(error)) : "no_batches";
}

/**
 * Answers of a batch in the order of its ids `firstId`, `firstId + 1`, …; `no_batches` when the daemon takes none, or none of so many:
 * go-ethereum has one error for all calls of a batch above its limit, in a list.
 */
export function parseBatchAnswer(
  answer: Result<HttpAnswer, DaemonError>,
  firstId: number,
  count: number,
): readonly Result<unknown, DaemonError>[] | "no_batches" {
  const content = open(answer);
  if (!content.ok) return Array.from({ length: count }, () => content);
  if (isFields(content.value)) return refusalOf(content.value, count);
  if (!Array.isArray(content.value) || content.value.length > count) return Array.from({ length: count }, () => err(NOT_JSON_RPC));
  const isRefused = content.value.length < count && content.value.every((member) => isFields(member) && isFields(member.error));
  if (isRefused && content.value.length > 0) return refusalOf(content.value[0], count);
  const byId = new Map<unknown, unknown>(content.value.map((member: unknown) => [isFields(member) ? member.id : undefined, member]));
  return Array.from({ length: count }, (_, i) => readMember(byId.get(firstId + i), firstId + i));
}
