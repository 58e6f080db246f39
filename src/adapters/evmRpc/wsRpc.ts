import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { DaemonCall, DaemonCallOptions, DaemonRpc } from "../../ports/daemonRpc.ts";
import type { OpenTextSocket, TextSocket } from "../../wire/wsSocket.ts";
import type { EvmBackend } from "./evmNode.ts";
import { type Exchange, lostCall, NOT_JSON_RPC, type WsAnswer, WsCalls } from "./wsCalls.ts";

/** Deadline of a call that names none, and of connecting. */
const USUAL_TIMEOUT_MS = 15_000;
/** Wait before a lost connection is made again for the sake of new heads; doubles up to the longest. */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** A node that turned a batch away gets none for so long: it may have been starting, or too busy. */
const ONE_BY_ONE_MS = 600_000;
const CLOSED = "the connection was closed";

type Connected = Result<TextSocket, { readonly why: string }>;

/**
 * JSON-RPC over one WebSocket connection, made when it is needed and again when it is lost. While anybody listens, the node is
 * asked to tell of new heads (`eth_subscribe`); one that does not know how is polled like any other.
 */
export class WsRpc implements EvmBackend {
  readonly name: string;
  readonly rpc: DaemonRpc;
  readonly #open: OpenTextSocket;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  readonly #calls = new WsCalls();
  readonly #listeners = new Set<() => void>();
  #socket: TextSocket | null = null;
  #opening: Promise<Connected> | null = null;
  /** It turned a batch away: providers take fewer calls at once here than over HTTP. Until then it is asked call by call. */
  #oneByOneUntilMs = Number.NEGATIVE_INFINITY;
  #retryMs = FIRST_RETRY_MS;
  #cancelRetry: () => void = () => undefined;

  constructor(name: string, open: OpenTextSocket, clock: Clock) {
    this.name = name;
    this.#open = open;
    this.#clock = clock;
    this.rpc = {
      call: (method, params, options) => this.#call(method, params, options),
      callBatch: (calls, options = {}) => this.#send(calls, options),
    };
  }

  onHead(listener: () => void): () => void {
    const entry = (): void => listener();
    this.#listeners.add(entry);
    if (this.#listeners.size === 1) void (this.#socket === null ? this.#listen() : this.#subscribe());
    return () => void this.#listeners.delete(entry);
  }

  close(): void {
    this.#closed.abort();
    this.#cancelRetry();
    this.#end(CLOSED);
  }

  #onText(text: string): void {
    const heads = this.#calls.take(text);
    if (heads === null) this.#drop(NOT_JSON_RPC);
    else for (let i = 0; i < heads; i++) for (const listener of [...this.#listeners]) listener();
  }

  /** Ends the connection, if there is one: what waits for it is lost. */
  #end(why: string): void {
    const was = this.#socket;
    this.#socket = null;
    was?.close();
    this.#calls.failAll(why);
  }

  /** The same, and listeners get another connection. */
  #drop(why: string): void {
    this.#end(why);
    if (this.#listeners.size > 0 && !this.#closed.signal.aborted) this.#retryLater();
  }

  #retryLater(): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#clock.after(this.#retryMs, () => void this.#listen());
    this.#retryMs = Math.min(MAX_RETRY_MS, this.#retryMs * 2);
  }

  async #connected(): Promise<Connected> {
    if (this.#socket !== null) return ok(this.#socket);
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  async #connect(): Promise<Connected> {
    const { signal: closed } = this.#closed;
    try {
      let mine: TextSocket | null = null;
      const handlers = {
        onText: (text: string): void => this.#onText(text),
        onClose: (why: string): void => (mine !== null && mine === this.#socket ? this.#drop(why) : undefined),
      };
      const result = await withDeadline(this.#clock, USUAL_TIMEOUT_MS, closed, (signal) => this.#open(handlers, signal));
      if (!result.ok) return result;
      mine = result.value;
      if (closed.aborted) {
        mine.close();
        return err({ why: CLOSED });
      }
      this.#socket = mine;
      if (this.#listeners.size > 0) void this.#subscribe();
      return result;
    } catch (cause) {
      if (!(cause instanceof Aborted)) throw cause;
      return err({ why: closed.aborted ? CLOSED : `no connection within ${USUAL_TIMEOUT_MS / 1000} s` });
    } finally {
      this.#opening = null;
    }
  }

  /** Sees to it that there is a connection, and so a subscription, while somebody listens. */
  async #listen(): Promise<void> {
    if (this.#listeners.size === 0 || this.#closed.signal.aborted || this.#socket !== null) return;
    const ready = await this.#connected();
    if (!ready.ok && !this.#closed.signal.aborted) this.#retryLater();
  }

  async #subscribe(): Promise<void> {
    const answer = await this.#call("eth_subscribe", ["newHeads"]);
    if (answer.ok) this.#retryMs = FIRST_RETRY_MS;
  }

  async #call(method: string, params: readonly unknown[], options: DaemonCallOptions = {}): Promise<WsAnswer> {
    const [answer] = await this.#send([{ method, params }], options);
    return answer ?? lostCall("no answer");
  }

  async #send(calls: readonly DaemonCall[], { signal, timeoutMs = USUAL_TIMEOUT_MS }: DaemonCallOptions): Promise<readonly WsAnswer[]> {
    if (!this.#calls.hasRoomFor(calls.length)) return calls.map(() => err({ kind: "busy", message: "too many requests wait for it" }));
    const { signal: closed } = this.#closed;
    /** Of this call; they are taken out again, whatever becomes of it. */
    const ids: number[] = [];
    try {
      return await withDeadline(this.#clock, timeoutMs, signal ? [signal, closed] : closed, async (waited) => {
        const ready = await this.#connected();
        // Nobody waits any more: what is sent now would be kept until an answer comes, and nothing would ever take it out.
        if (waited.aborted) return [];
        return ready.ok ? this.#exchange(ready.value, calls, ids, waited) : calls.map(() => lostCall(ready.error.why));
      });
    } catch (cause) {
      if (!(cause instanceof Aborted) || signal?.aborted) throw cause;
      if (closed.aborted) return calls.map(() => lostCall(CLOSED));
      // Whatever else it carries, a connection without answers is replaced.
      if (this.#socket !== null) this.#drop(`no answer within ${timeoutMs / 1000} s`);
      return calls.map(() => lostCall(`no answer within ${timeoutMs / 1000} s`));
    } finally {
      this.#calls.forget(ids);
    }
  }

  /** Sends calls in one message where the node takes that, else one by one. @param ids theirs are added to it */
  async #exchange(to: TextSocket, calls: readonly DaemonCall[], ids: number[], waited: AbortSignal): Promise<readonly WsAnswer[]> {
    const ask = (some: readonly DaemonCall[]): Exchange["answers"] => {
      const { ids: mine, text, answers } = this.#calls.open(some);
      ids.push(...mine);
      if (!to.send(text)) this.#calls.failAll("the connection was lost");
      return answers;
    };
    const isOneByOne = this.#clock.nowMs() < this.#oneByOneUntilMs;
    const together = isOneByOne ? "no_batches" : await ask(calls);
    if (waited.aborted) return [];
    if (together !== "no_batches") return together;
    if (!isOneByOne) this.#oneByOneUntilMs = this.#clock.nowMs() + ONE_BY_ONE_MS;
    const each = await Promise.all(calls.map((call) => ask([call])));
    return each.map((answers) => (answers === "no_batches" ? undefined : answers[0]) ?? lostCall("no answer"));
  }
}
