import { Aborted, type Clock, withDeadline } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { StorageError } from "../ports/sql.ts";
import { type Auth, isLoopback } from "./auth.ts";
import type { RpcContext } from "./ctx.ts";
import type { Method, Outcome } from "./define.ts";
import { DISPATCH_ERRORS, type DispatchErrorType } from "./dispatchErrors.ts";
import { type Answer, flatError, flatReply, type RequestId, readableId, v2Error, v2Reply } from "./envelope.ts";
import { isJsonObject } from "./jsonNumber.ts";
import type { Json, JsonObject } from "./parseJson.ts";
import { cut, found, unknownVariant, wrongType } from "./serdeText.ts";
import { isPublic, type MethodTable } from "./table.ts";

export type DispatchOptions = {
  readonly ctx: RpcContext;
  readonly table: MethodTable;
  readonly auth: Auth;
  readonly clock: Clock;
  readonly log: Log;
  /** `rpc_local_only`: refuse other machines everything but the public methods. */
  readonly localOnly: boolean;
  /** A call that has no answer by then gets a time-out reply; what it started goes on. */
  readonly deadlineMs: number;
};

/** Most requests in one batch. */
export const MAX_BATCH = 500;
/**
 * Of a batch, calls without password at work at once; and characters of its answer beyond which none of them is begun. A full book is
 * some 20 MB of text and several times that in memory, and anybody who reaches the port may ask for it.
 */
const PUBLIC_AT_ONCE = 4;
export const MAX_BATCH_TEXT = 64_000_000;

/**
 * From parsed JSON to an answer, in the order of reference rpc.md 1.3 to 1.8. Every refusal happens before a handler
 * runs; the order of the checks is what clients see, so it is part of the contract.
 */
export class Dispatcher {
  readonly #o: DispatchOptions;

  constructor(options: DispatchOptions) {
    this.#o = options;
  }

  /** Never rejects. */
  async answer(body: Json, address: string): Promise<Answer> {
    if (!Array.isArray(body)) return this.#one(body, address);
    if (body.length > MAX_BATCH) return flatError(`a batch may have at most ${MAX_BATCH} requests, found ${body.length}`, 413);
    return this.#batch(body, address);
  }

  async #batch(elements: readonly Json[], address: string): Promise<Answer> {
    let length = 0;
    const answer = async (element: Json): Promise<string> => {
      const { body } = await this.#one(element, address);
      length += body.length;
      return body;
    };
    const lanes = Array.from({ length: PUBLIC_AT_ONCE }, (): Promise<unknown> => Promise.resolve());
    let next = 0;
    const inTurn = (element: Json): Promise<string> => {
      const lane = next++ % PUBLIC_AT_ONCE;
      const done = (lanes[lane] ?? Promise.resolve()).then(() => (length > MAX_BATCH_TEXT ? tooMuch(element).body : answer(element)));
      lanes[lane] = done;
      return done;
    };
    const needsNoPassword = (element: Json): boolean => isJsonObject(element) && isPublic(element.method);
    const answers = await Promise.all(elements.map((element) => (needsNoPassword(element) ? inTurn(element) : answer(element))));
    try {
      return { status: 200, body: `[${answers.join(",")}]` };
    } catch (cause) {
      this.#o.log.error("rpc_reply_failed", { error: cause });
      return flatError(UNWRITABLE);
    }
  }

  async #one(body: Json, address: string): Promise<Answer> {
    try {
      return await this.#answerOne(body, address);
    } catch (cause) {
      // A reply too long to be written as one text, for one.
      this.#o.log.error("rpc_reply_failed", { error: cause });
      return flatError(UNWRITABLE);
    }
  }

  async #answerOne(body: Json, address: string): Promise<Answer> {
    if (body !== null && !isJsonObject(body)) {
      return flatError(`a request is a JSON object (or an array of them), found ${found(body)}`);
    }
    const request: JsonObject = body ?? {};
    const version = request.mmrpc;
    if (version === undefined || version === null) return this.#flat(request, address);
    const id = readableId(request.id);
    if (version !== "2.0") {
      const detail = typeof version === "string" ? unknownVariant(version, ["2.0"]) : wrongType(version, "string or map");
      const text = `Error parsing mmrpc version: ${detail}`;
      return refused("InvalidMmRpcVersion", text, id, detail);
    }
    return this.#v2(request, address);
  }

  async #flat(request: JsonObject, address: string): Promise<Answer> {
    const name = request.method;
    const open = isPublic(name);
    if (this.#isForeign(address) && !open) return flatError("Selected method can only be called from localhost.");
    if (this.#o.auth.isBanned(address)) return flatError("Your IP is banned.");
    if (!open) {
      const verdict = this.#o.auth.check(request.userpass, address);
      if (verdict.kind === "not_set") return flatError("Userpass is not set!");
      if (verdict.kind === "wrong") return flatError(wrongPassword(verdict.attemptsLeft));
    }
    const method = typeof name === "string" ? this.#o.table.flat.get(name) : undefined;
    if (!method) return this.#v2({ ...request, mmrpc: "2.0" }, address);
    const outcome = await this.#run(method, request);
    switch (outcome.kind) {
      case "reply":
        return flatReply(outcome.value, method.flatReply === "wrapped");
      case "bad_params":
        return flatError(outcome.text);
      case "fault":
        return flatError(outcome.fault.text, outcome.fault.flatHttp, outcome.fault.flatExtra);
      case "timeout":
        return flatError(outcome.text);
      case "crash":
        return flatError(outcome.text);
    }
  }

  async #v2(request: JsonObject, address: string): Promise<Answer> {
    const id = readableId(request.id);
    const shape = shapeFault(request);
    if (shape !== undefined) return invalidRequest(shape, id);
    const { method: name, userpass } = request;
    const open = isPublic(name);
    if (this.#isForeign(address) && !open) return refused("LocalHostOnly", "Selected method can be called from localhost only!", id);
    if (this.#o.auth.isBanned(address)) return refused("Banned", "Your ip is banned.", id);
    if (!open) {
      const verdict = this.#o.auth.check(userpass, address);
      if (verdict.kind === "not_set") return refused("UserpassIsNotSet", "Userpass is not set!", id);
      if (verdict.kind === "wrong") {
        const data = { error_type: "NbAttemptsLeft", error_data: verdict.attemptsLeft };
        return refused("UserpassIsInvalid", wrongPassword(verdict.attemptsLeft), id, data, "rate_limiter");
      }
    }
    const method = typeof name === "string" ? this.#o.table.v2.get(name) : undefined;
    if (!method) {
      const otherForm = typeof name === "string" && this.#o.table.flat.has(name) ? flatOnly(name) : undefined;
      return refused("NoSuchMethod", "No such method", id, otherForm);
    }
    const outcome = await this.#run(method, request.params ?? null);
    switch (outcome.kind) {
      case "reply":
        return v2Reply(outcome.value, id);
      case "bad_params":
        return invalidRequest(outcome.text, id);
      case "fault":
        return v2Error(outcome.fault, method.name, id);
      case "timeout":
        return refused("Timeout", outcome.text, id);
      case "crash":
        return refused("InternalError", outcome.text, id);
    }
  }

  #isForeign(address: string): boolean {
    return this.#o.localOnly && !isLoopback(address);
  }

  async #run(method: Method, params: unknown): Promise<Outcome | { kind: "timeout" | "crash"; text: string }> {
    const { ctx, clock, deadlineMs, log } = this.#o;
    let deadline: AbortSignal | undefined;
    const run = (signal: AbortSignal): Promise<Outcome> => {
      deadline = signal;
      return method.run(params, ctx, { signal });
    };
    try {
      return await withDeadline(clock, deadlineMs, undefined, run);
    } catch (cause) {
      if (cause instanceof Aborted && deadline?.aborted) {
        log.warn("rpc_timeout", { method: method.name, deadlineMs });
        return { kind: "timeout", text: timedOut(method.name, deadlineMs) };
      }
      // Not by the deadline: what the method waited for was closed.
      if (cause instanceof Aborted) {
        log.warn("rpc_cut_short", { method: method.name });
        return { kind: "timeout", text: cutShort(method.name) };
      }
      log.error("rpc_handler_failed", { method: method.name, error: cause });
      return { kind: "crash", text: crashed(method.name, cause) };
    }
  }
}

const UNWRITABLE =
  "Internal error: the reply could not be written, and the log of the node has the details; what was asked for may be done all the same, so look at the state before you repeat it";

function tooMuch(element: Json): Answer {
  const text = `the answers of this batch are longer than ${MAX_BATCH_TEXT} characters already: ask for the rest in another one`;
  const isVersioned = isJsonObject(element) && element.mmrpc === "2.0";
  return isVersioned ? refused("InternalError", text, readableId(element.id)) : flatError(text);
}

const wrongPassword = (left: number): string => `Userpass is invalid! - Rate Limit attempts left: ${left}`;
/** What the operator can mend is said; everything else stays in the log. */
function crashed(method: string, cause: unknown): string {
  const kind = cause instanceof StorageError ? cause.kind : null;
  if (kind === "DiskFull") return `${method}: the disk of the node is full, so nothing was stored; free some space and try again`;
  if (kind === "Corrupt" && cause instanceof Error) return `${method}: ${cause.message}`;
  return `Internal error in ${method}; the log of the node has the details`;
}
const timedOut = (method: string, ms: number): string =>
  `${method} gave no answer within ${ms / 1000} s; it may still finish, so look at the state before you repeat it`;

const cutShort = (method: string): string =>
  `${method} was cut short, as when its coin is disabled or the node stops; it may be done all the same, so look at the state before you repeat it`;

const refused = (type: DispatchErrorType, text: string, id: RequestId, data?: unknown, path = "dispatcher"): Answer =>
  v2Error({ http: DISPATCH_ERRORS[type].http, text, type, data }, path, id);

const flatOnly = (name: string): string =>
  `${name} is called in the flat form: its parameters stand beside \`method\`, without \`mmrpc\` and \`params\``;

const invalidRequest = (detail: string, id: RequestId): Answer => refused("InvalidRequest", `Error parsing request: ${detail}`, id, detail);

const V2_KEYS = ["mmrpc", "userpass", "method", "params", "id"];

/** The strict shape of a versioned body; undefined when it is right. Comes before authentication, as in KDF. */
function shapeFault(request: JsonObject): string | undefined {
  for (const [key, value] of Object.entries(request)) {
    if (!V2_KEYS.includes(key)) return `unknown field \`${cut(key)}\`, expected one of ${V2_KEYS.map((k) => `\`${k}\``).join(", ")}`;
    if (key === "method" && typeof value !== "string") return wrongType(value, "a string");
    if (key === "userpass" && value !== null && typeof value !== "string") return wrongType(value, "a string");
    if (key === "id" && value !== null && readableId(value) === null) {
      return typeof value === "bigint" || Number.isInteger(value)
        ? `invalid value: ${found(value)}, expected usize`
        : wrongType(value, "usize");
    }
  }
  return request.method === undefined ? "missing field `method`" : undefined;
}
