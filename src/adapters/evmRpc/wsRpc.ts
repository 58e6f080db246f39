import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { DaemonCall, DaemonCallOptions, DaemonError } from "../../ports/daemonRpc.ts";
import type { OpenTextSocket, TextSocket } from "../../wire/wsSocket.ts";
import type { EvmBackend } from "./evmNode.ts";
import { countsValues } from "./jsonBounds.ts";

/** Deadline of a call that names none, and of connecting. */
const USUAL_TIMEOUT_MS = 15_000;
/** Calls without an answer yet; one more is answered `busy`. */
const MAX_PENDING = 2_000;
/** Wait before a lost connection is made again for the sake of new heads; doubles up to the longest. */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** A node that turned a batch away gets none for so long: it may have been starting, or too busy. */
const ONE_BY_ONE_MS = 600_000;
/** Characters of a node's error message that are kept. */
const MAX_MESSAGE = 300;

type Fields = { readonly [key: string]: unknown };
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

type Answer = Result<unknown, DaemonError>;
const lost = (message: string): Answer => err({ kind: "unreachable", message });

/** One member of an answer (JSON-RPC 2.0). */
function readMember(value: Fields): Answer {
  const { error } = value;
  if (error === undefined || error === null)
    return "result" in value ? ok(value.result) : lost("it answered with something that is not JSON-RPC");
  if (!isFields(error) || typeof error.code !== "number") return lost("it answered with something that is not JSON-RPC");
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

/**
 * JSON-RPC over one WebSocket connection, made when it is needed and again when it is lost. While anybody listens, the node is
 * asked to tell of new heads (`eth_subscribe`); one that does not know how is polled like any other.
 */
export function createWsRpc(name: string, open: OpenTextSocket, clock: Clock): EvmBackend {
  const closed = new AbortController();
  const pending = new Map<number, (answer: Answer) => void>();
  const listeners = new Set<() => void>();
  let socket: TextSocket | null = null;
  let opening: Promise<Result<TextSocket, { readonly why: string }>> | null = null;
  let nextId = 1;
  /** Batches without all of their answers yet; each refuses itself. */
  const batches = new Map<readonly number[], () => void>();
  /** It turned one away: providers take fewer calls at once here than over HTTP. Until then it is asked call by call. */
  let oneByOneUntilMs = Number.NEGATIVE_INFINITY;
  let retryMs = FIRST_RETRY_MS;
  let cancelRetry: () => void = () => undefined;

  function failAll(why: string): void {
    const waiting = [...pending.values()];
    pending.clear();
    for (const settle of waiting) settle(lost(why));
  }

  function onText(text: string): void {
    const messages = parseWsText(text);
    if (messages === null) {
      drop("it answered with something that is not JSON-RPC");
      return;
    }
    for (const message of messages) {
      if (!isFields(message)) continue;
      if (message.method === "eth_subscription") for (const listener of [...listeners]) listener();
      if (typeof message.id !== "number") continue;
      const settle = pending.get(message.id);
      pending.delete(message.id);
      settle?.(readMember(message));
    }
    noteRefusal(messages, /^\s*\[/.test(text));
  }

  /**
   * A batch that is turned away has one error for all of its calls: in a list with the id of the first (go-ethereum), or without an id. The
   * others would wait in vain, and the node pass for one that is away.
   */
  function noteRefusal(messages: readonly unknown[], isList: boolean): void {
    const answers = messages.filter(isFields).filter(({ method }) => method === undefined);
    if (answers.length === 0 || answers.some(({ error }) => error === undefined || error === null)) return;
    const isMeant = (ids: readonly number[]): boolean => answers.some(({ id }) => typeof id !== "number" || (isList && ids.includes(id)));
    const [, refuse] = [...batches].find(([ids]) => answers.length < ids.length && isMeant(ids)) ?? [];
    refuse?.();
  }

  /** Ends the connection, if there is one: what waits for it is lost, and listeners get another. */
  function drop(why: string): void {
    const was = socket;
    socket = null;
    was?.close();
    failAll(why);
    if (listeners.size > 0 && !closed.signal.aborted) retryLater();
  }

  function retryLater(): void {
    cancelRetry();
    cancelRetry = clock.after(retryMs, () => void listen());
    retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
  }

  async function connected(): Promise<Result<TextSocket, { readonly why: string }>> {
    if (socket !== null) return ok(socket);
    opening ??= connect();
    return opening;
  }

  async function connect(): Promise<Result<TextSocket, { readonly why: string }>> {
    try {
      let mine: TextSocket | null = null;
      const handlers = { onText, onClose: (why: string): void => (mine !== null && mine === socket ? drop(why) : undefined) };
      const result = await withDeadline(clock, USUAL_TIMEOUT_MS, closed.signal, (signal) => open(handlers, signal));
      if (!result.ok) return result;
      mine = result.value;
      if (closed.signal.aborted) {
        mine.close();
        return err({ why: "the connection was closed" });
      }
      socket = mine;
      if (listeners.size > 0) void subscribe();
      return result;
    } catch (cause) {
      if (!(cause instanceof Aborted)) throw cause;
      return err({ why: closed.signal.aborted ? "the connection was closed" : `no connection within ${USUAL_TIMEOUT_MS / 1000} s` });
    } finally {
      opening = null;
    }
  }

  /** Sees to it that there is a connection, and so a subscription, while somebody listens. */
  async function listen(): Promise<void> {
    if (listeners.size === 0 || closed.signal.aborted || socket !== null) return;
    const ready = await connected();
    if (!ready.ok && !closed.signal.aborted) retryLater();
  }

  async function subscribe(): Promise<void> {
    const answer = await call("eth_subscribe", ["newHeads"]);
    if (answer.ok) retryMs = FIRST_RETRY_MS;
  }

  /** Sends calls in one message. @param sent their ids are added to it */
  function exchange(to: TextSocket, calls: readonly DaemonCall[], sent: number[]): Promise<readonly Answer[] | "no_batches"> {
    const bodies = calls.map(({ method, params }) => ({ jsonrpc: "2.0", id: nextId++, method, params }));
    const ids = bodies.map(({ id }) => id);
    sent.push(...ids);
    const answers = Promise.all(ids.map((id) => new Promise<Answer>((resolve) => void pending.set(id, resolve))));
    const refused = new Promise<"no_batches">((resolve) => {
      if (ids.length > 1) batches.set(ids, () => resolve("no_batches"));
    });
    if (!to.send(JSON.stringify(bodies.length === 1 ? bodies[0] : bodies))) failAll("the connection was lost");
    return Promise.race([answers, refused]).finally(() => batches.delete(ids));
  }

  async function send(
    calls: readonly DaemonCall[],
    { signal, timeoutMs = USUAL_TIMEOUT_MS }: DaemonCallOptions,
  ): Promise<readonly Answer[]> {
    if (pending.size + calls.length > MAX_PENDING) return calls.map(() => err({ kind: "busy", message: "too many requests wait for it" }));
    const parents = signal ? [signal, closed.signal] : closed.signal;
    const ids: number[] = [];
    try {
      return await withDeadline(clock, timeoutMs, parents, async (waited) => {
        const ready = await connected();
        // Nobody waits any more: what is sent now would be kept until an answer comes, and nothing would ever take it out.
        if (waited.aborted) return [];
        if (!ready.ok) return calls.map(() => lost(ready.error.why));
        const isOneByOne = clock.nowMs() < oneByOneUntilMs;
        const together = isOneByOne ? "no_batches" : await exchange(ready.value, calls, ids);
        if (waited.aborted) return [];
        if (together !== "no_batches") return together;
        if (!isOneByOne) oneByOneUntilMs = clock.nowMs() + ONE_BY_ONE_MS;
        const each = await Promise.all(calls.map((call) => exchange(ready.value, [call], ids)));
        return each.map((answers) => (answers === "no_batches" ? undefined : answers[0]) ?? lost("no answer"));
      });
    } catch (cause) {
      if (!(cause instanceof Aborted) || signal?.aborted) throw cause;
      if (closed.signal.aborted) return calls.map(() => lost("the connection was closed"));
      // Whatever else it carries, a connection without answers is replaced.
      if (socket !== null) drop(`no answer within ${timeoutMs / 1000} s`);
      return calls.map(() => lost(`no answer within ${timeoutMs / 1000} s`));
    } finally {
      for (const id of ids) pending.delete(id);
      for (const batch of batches.keys()) if (batch.some((id) => ids.includes(id))) batches.delete(batch);
    }
  }

  async function call(method: string, params: readonly unknown[], options: DaemonCallOptions = {}): Promise<Answer> {
    const [answer] = await send([{ method, params }], options);
    return answer ?? lost("no answer");
  }

  return {
    name,
    rpc: { call, callBatch: (calls, options = {}) => send(calls, options) },
    onHead(listener) {
      const entry = (): void => listener();
      listeners.add(entry);
      if (listeners.size === 1) void (socket === null ? listen() : subscribe());
      return () => void listeners.delete(entry);
    },
    close() {
      closed.abort();
      cancelRetry();
      const was = socket;
      socket = null;
      was?.close();
      failAll("the connection was closed");
    },
  };
}
