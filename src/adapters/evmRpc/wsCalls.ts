import { refusesForNow } from "../../core/util/askedTooOften.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { DaemonCall, DaemonError } from "../../ports/daemonRpc.ts";
import { countsValues } from "./jsonBounds.ts";

/** Calls without an answer yet. */
const MAX_PENDING = 2_000;
/** Characters of a node's error message that are kept. */
const MAX_MESSAGE = 300;

type Fields = { readonly [key: string]: unknown };
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

export type WsAnswer = Result<unknown, DaemonError>;
export const lostCall = (message: string): WsAnswer => err({ kind: "unreachable", message });
export const NOT_JSON_RPC = "it answered with something that is not JSON-RPC";

/** One member of an answer (JSON-RPC 2.0). */
function readMember(value: Fields): WsAnswer {
  const { error } = value;
  if (error === undefined || error === null) return "result" in value ? ok(value.result) : lostCall(NOT_JSON_RPC);
  if (!isFields(error) || typeof error.code !== "number") return lostCall(NOT_JSON_RPC);
  const message = typeof error.message === "string" ? error.message.slice(0, MAX_MESSAGE) : "";
  return err({ kind: "rpc", code: error.code, message, ...(error.data === undefined ? {} : { data: error.data }) });
}

/** The messages a text holds: one, or those of a batch. Null: it is no JSON, or more than any answer. */
export function parseWsText(text: string): readonly unknown[] | null {
  if (!countsValues(text)) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch (cause) {
    // SyntaxError: no JSON. RangeError: nested beyond the stack. Both are the node's doing.
    if (cause instanceof SyntaxError || cause instanceof RangeError) return null;
    throw cause;
  }
}

/** What was sent as one text: the ids of its calls, and what comes back; `no_batches`: the node takes none. */
export type Exchange = {
  readonly ids: readonly number[];
  readonly text: string;
  readonly answers: Promise<readonly WsAnswer[] | "no_batches">;
};

/** The calls over one node's WebSocket that wait for an answer, by their ids. */
export class WsCalls {
  readonly #pending = new Map<number, (answer: WsAnswer) => void>();
  /** Batches without all of their answers yet; each refuses itself. */
  readonly #batches = new Map<readonly number[], () => void>();
  #nextId = 1;

  hasRoomFor(calls: number): boolean {
    return this.#pending.size + calls <= MAX_PENDING;
  }

  /** Waits for the answers to `calls`, in their order; more than one are a batch. */
  open(calls: readonly DaemonCall[]): Exchange {
    const bodies = calls.map(({ method, params }) => ({ jsonrpc: "2.0", id: this.#nextId++, method, params }));
    const ids = bodies.map(({ id }) => id);
    const each = Promise.all(ids.map((id) => new Promise<WsAnswer>((resolve) => void this.#pending.set(id, resolve))));
    const refused = new Promise<"no_batches">((resolve) => {
      if (ids.length > 1) this.#batches.set(ids, () => resolve("no_batches"));
    });
    const answers = Promise.race([each, refused]).finally(() => this.#batches.delete(ids));
    return { ids, text: JSON.stringify(bodies.length === 1 ? bodies[0] : bodies), answers };
  }

  /** Nobody waits for these any more. */
  forget(ids: readonly number[]): void {
    for (const id of ids) this.#pending.delete(id);
    for (const batch of this.#batches.keys()) if (batch.some((id) => ids.includes(id))) this.#batches.delete(batch);
  }

  failAll(why: string): void {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const settle of waiting) settle(lostCall(why));
  }

  /**
   * Takes what the node sent.
   * @returns how many of its messages tell of a new head; null: it is no JSON-RPC
   */
  take(text: string): number | null {
    const messages = parseWsText(text);
    if (messages === null) return null;
    const fields = messages.filter(isFields);
    for (const message of fields) {
      if (typeof message.id !== "number") continue;
      this.#settle(message.id, readMember(message));
    }
    this.#noteRefusal(fields, /^\s*\[/.test(text));
    return fields.filter(({ method }) => method === "eth_subscription").length;
  }

  #settle(id: number, answer: WsAnswer): void {
    const settle = this.#pending.get(id);
    this.#pending.delete(id);
    settle?.(answer);
  }

  /**
   * A batch that is turned away has one error for all of its calls: in a list with the id of the first (go-ethereum), or without an id. The
   * others would wait in vain, and the node pass for one that is away. Of one that is asked too often the error is that of each call.
   */
  #noteRefusal(messages: readonly Fields[], isList: boolean): void {
    const answers = messages.filter(({ method }) => method === undefined);
    if (answers.length === 0 || answers.some(({ error }) => error === undefined || error === null)) return;
    const isMeant = (ids: readonly number[]): boolean => answers.some(({ id }) => typeof id !== "number" || (isList && ids.includes(id)));
    const [ids = [], refuse] = [...this.#batches].find(([of]) => answers.length < of.length && isMeant(of)) ?? [];
    const error = answers[0] && readMember(answers[0]);
    if (error?.ok === false && error.error.kind === "rpc" && refusesForNow(error.error.message))
      for (const id of ids) this.#settle(id, error);
    else refuse?.();
  }
}
