import { reasonOf } from "../../core/util/reasonOf.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { Clock } from "../../ports/clock.ts";
import type { OpenServerStream, ServerStream } from "../../ports/electrum.ts";
import { answerLimit, isPadded, MAX_LINE, MAX_NOTICE } from "./answerLimit.ts";
import type { CallWindow } from "./callWindow.ts";
import type { ServerAnswer } from "./fault.ts";
import { LineReader } from "./lineReader.ts";
import type { CreditShare, ServerCredit } from "./serverCredit.ts";

/** Calls that wait for those; one more is answered `busy`. */
const MAX_WAITING = 100_000;
/** Messages nobody asked for: so many at once, and so many each second after that; one longer than this counts for several. */
const MESSAGE_CHARS = 1_000;
const MESSAGE_BURST = 5_000;
const MESSAGES_PER_SEC = 500;
/** ElectrumX's refusals of whatever is asked: we cost it too much, or it took too long. Only the second may have to do with what was asked. */
const TOO_LONG = -102;
const OVERLOADED: readonly number[] = [-101, TOO_LONG];
/** Characters of a server's error message that are kept. */
const MAX_MESSAGE = 300;

type Fields = { readonly [key: string]: unknown };
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

type Call = {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly settle: (answer: ServerAnswer<unknown>) => void;
};
type Sent = Call & { readonly atMs: number; readonly limit: number };

export type ConnectionHandlers = {
  /** A message without an id: `method` as the server names it. */
  readonly onNotice: (method: string, params: readonly unknown[]) => void;
  /** Once, when the connection has ended for any reason but `close`. `at`: what the server was asked first of all that it left open when it closed it. */
  readonly onEnd: (why: string, at: string | null) => void;
  /** After each answer. */
  readonly onAnswer: (latencyMs: number) => void;
};

/** One member of an answer (JSON-RPC 2.0). Null: it is none. */
function readAnswer(message: Fields): ServerAnswer<unknown> | null {
  const { error } = message;
  if (error === undefined || error === null) return "result" in message ? ok(message.result) : null;
  // ElectrumX passes a daemon's refusal on as an object; some servers as a text.
  if (typeof error === "string") return err({ kind: "rpc", code: 0, message: error.slice(0, MAX_MESSAGE) });
  if (!isFields(error) || typeof error.code !== "number") return null;
  return err({ kind: "rpc", code: error.code, message: typeof error.message === "string" ? error.message.slice(0, MAX_MESSAGE) : "" });
}

/** The messages a line holds: one, or those of a batch. Null: it is no JSON. */
function messagesOf(line: string): readonly unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(line);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch (cause) {
    // SyntaxError: no JSON. RangeError: nested beyond the stack. Both are the server's doing.
    if (cause instanceof SyntaxError || cause instanceof RangeError) return null;
    throw cause;
  }
}

/**
 * JSON-RPC over one connection to one server: calls go out together, as many at once as is polite, and are answered in any order.
 * A server that leaves one unanswered beyond the deadline, sends what is no answer, or is overloaded loses the connection; everything
 * that waits for it is then answered `unreachable`, and the call it was lost over `too_much`.
 */
export class ServerConnection {
  readonly #share: CreditShare;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #handlers: ConnectionHandlers;
  readonly #window: CallWindow;
  readonly #reader = new LineReader(MAX_LINE);
  readonly #sent = new Map<number, Sent>();
  readonly #waiting: Call[] = [];
  #stream: ServerStream | null = null;
  #ended = false;
  #nextId = 1;
  #cancelWatch: (() => void) | null = null;
  #credit = MESSAGE_BURST;
  #creditAtMs: number;
  /** Bytes of the stream's that are no line yet, and of answers since nothing was on the way last. */
  #unreadBytes = 0;
  #answeredBytes = 0;

  /**
   * @param credit of all servers of the node
   * @param window of this server, whichever connection it is
   */
  constructor(clock: Clock, timeoutMs: number, handlers: ConnectionHandlers, credit: ServerCredit, window: CallWindow) {
    this.#share = credit.join((why) => this.end(why));
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#handlers = handlers;
    this.#window = window;
    this.#creditAtMs = clock.nowMs();
  }

  /** Connects; to be called once, before anything is asked. Rejects only with `Aborted`. */
  async open(open: OpenServerStream, signal: AbortSignal): Promise<Result<undefined, { readonly why: string }>> {
    const handlers = {
      onBytes: (bytes: Uint8Array) => this.#hear(bytes),
      onUnread: (bytes: number) => this.#noteUnread(bytes),
      onClose: (why: string) => this.#closed(why),
    };
    const stream = await open(handlers, signal);
    if (!stream.ok) return stream;
    if (this.#ended) {
      stream.value.close();
      return err({ why: "it closed the connection" });
    }
    this.#stream = stream.value;
    return ok(undefined);
  }

  /** Never rejects. */
  call(method: string, params: readonly unknown[]): Promise<ServerAnswer<unknown>> {
    if (this.#ended) return Promise.resolve(err({ kind: "unreachable", message: "the connection is closed" }));
    if (this.#waiting.length >= MAX_WAITING) return Promise.resolve(err({ kind: "busy", message: "too many requests wait for it" }));
    return new Promise((settle) => {
      this.#waiting.push({ id: this.#nextId++, method, params, settle });
      this.#pump();
    });
  }

  /** Keeps what the server showed of itself. False: it is not the one that is known, or nothing could be kept, and the connection is ended. Never rejects. */
  async keep(): Promise<boolean> {
    const why = await this.#stream?.keep?.().catch((cause: unknown) => `what it showed could not be kept: ${reasonOf(cause)}`);
    if (typeof why === "string") this.end(why);
    return !this.#ended;
  }

  close(): void {
    this.#finish("closed");
  }

  /** Ends the connection for a reason others are told. @param over the call it is lost over */
  end(why: string, over?: Sent): void {
    if (this.#ended) return;
    this.#finish(why, over);
    this.#handlers.onEnd(why, null);
  }

  /** The server has ended it, or the way there broke. */
  #closed(why: string): void {
    if (this.#ended) return;
    const at = this.#oldest()?.method ?? null;
    this.#finish(why);
    this.#handlers.onEnd(why, at);
  }

  #finish(why: string, over?: Sent): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#share.leave();
    this.#cancelWatch?.();
    const lost = [...this.#sent.values(), ...this.#waiting];
    this.#sent.clear();
    this.#waiting.length = 0;
    this.#stream?.close();
    for (const { id, settle } of lost) settle(err({ kind: id === over?.id ? "too_much" : "unreachable", message: why }));
  }

  #pump(): void {
    const nowMs = this.#clock.nowMs();
    const atOnce = this.#window.size(nowMs);
    while (!this.#ended && this.#stream !== null && this.#sent.size < atOnce) {
      const call = this.#waiting.shift();
      if (call === undefined) break;
      const { id, method, params } = call;
      this.#sent.set(id, { ...call, atMs: nowMs, limit: answerLimit(method, params) });
      if (!this.#stream.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }))) this.end("the connection was lost");
    }
    this.#watch();
  }

  /** One timer for the call that waits longest: answers mostly come in order, and a timer for each would cost more than the call. */
  #watch(): void {
    const oldest = this.#oldest();
    if (this.#cancelWatch !== null || oldest === undefined) return;
    const leftMs = Math.min(this.#timeoutMs, Math.max(0, oldest.atMs + this.#timeoutMs - this.#clock.nowMs()));
    this.#cancelWatch = this.#clock.after(leftMs, () => {
      this.#cancelWatch = null;
      const late = this.#oldest();
      const nowMs = this.#clock.nowMs();
      const waitedMs = late === undefined ? 0 : nowMs - late.atMs;
      // Less than none: the clock was set back, and nobody knows how long it was.
      if (late === undefined || (waitedMs >= 0 && waitedMs < this.#timeoutMs)) {
        this.#watch();
        return;
      }
      // What waited behind too many others may have been nothing to wait for.
      const wereTooMany = waitedMs >= 0 && this.#window.late(this.#sent.size, nowMs);
      this.end(`no answer to ${late.method} within ${this.#timeoutMs / 1000} s`, wereTooMany ? undefined : late);
    });
  }

  #oldest(): Sent | undefined {
    return this.#sent.values().next().value;
  }

  #hear(bytes: Uint8Array): void {
    if (this.#ended) return;
    const lines = this.#reader.push(bytes);
    if (lines === null) {
      this.end("it sent a line without end", this.#longest());
      return;
    }
    for (const line of lines) {
      if (this.#ended) return;
      const messages = messagesOf(line);
      if (messages === null) {
        this.end("it sent something that is not JSON");
        return;
      }
      // Nothing would be counted of batches of nothing, however many come.
      if (messages.length === 0) {
        this.end("it sent something that is not JSON-RPC");
        return;
      }
      const chars = Math.ceil(line.length / messages.length);
      for (const message of messages) this.#take(message, chars);
    }
    // What was answered before nothing more was on the way is used by now, but for what its asker is just making of it.
    if (this.#sent.size === 0 && this.#waiting.length === 0) this.#answeredBytes = 0;
    this.#noteHeld();
    this.#pump();
  }

  /** The call whose answer may be longest; of several the one asked first, which most servers answer first. */
  #longest(): Sent | undefined {
    let longest: Sent | undefined;
    for (const sent of this.#sent.values()) if (sent.limit > (longest?.limit ?? 0)) longest = sent;
    return longest;
  }

  #noteUnread(bytes: number): void {
    this.#unreadBytes = bytes;
    this.#noteHeld();
  }

  /** Tells what is held, and ends the connection on which more comes than what was asked for may take. */
  #noteHeld(): void {
    if (this.#ended) return;
    const unread = this.#unreadBytes + this.#reader.heldBytes;
    const longest = this.#longest();
    if (unread > MAX_NOTICE && unread > (longest?.limit ?? 0)) {
      this.end(`it sends a message of more than ${unread} bytes, longer than any answer to what it is asked`, longest);
      return;
    }
    this.#share.hold(unread + this.#answeredBytes);
  }

  /** @param chars its length */
  #take(message: unknown, chars: number): void {
    if (this.#ended) return;
    if (!isFields(message)) {
      this.end("it sent something that is not JSON-RPC");
      return;
    }
    const sent = typeof message.id === "number" ? this.#sent.get(message.id) : undefined;
    if (sent === undefined) {
      this.#unasked(message, chars);
      return;
    }
    if (chars > sent.limit) {
      this.end(`its answer to ${sent.method} has ${chars} characters and may have ${sent.limit}`, sent);
      return;
    }
    const answer = readAnswer(message);
    if (answer === null) {
      this.end("it sent something that is not JSON-RPC");
      return;
    }
    if (!answer.ok && answer.error.kind === "rpc" && OVERLOADED.includes(answer.error.code)) {
      this.end(`it is overloaded: ${answer.error.message}`, answer.error.code === TOO_LONG ? sent : undefined);
      return;
    }
    if (answer.ok && isPadded(sent.method, answer.value, chars)) {
      this.end(`its answer to ${sent.method} has ${chars} characters, far more than its lines take`);
      return;
    }
    this.#sent.delete(sent.id);
    this.#answeredBytes += chars;
    this.#handlers.onAnswer(Math.max(0, this.#clock.nowMs() - sent.atMs));
    sent.settle(answer);
  }

  #unasked({ method, params }: Fields, chars: number): void {
    const nowMs = this.#clock.nowMs();
    const earned = (Math.max(0, nowMs - this.#creditAtMs) * MESSAGES_PER_SEC) / 1000;
    this.#credit = Math.min(MESSAGE_BURST, this.#credit + earned) - Math.ceil(chars / MESSAGE_CHARS);
    this.#creditAtMs = nowMs;
    if (this.#credit < 0) {
      this.end("it sends messages without end");
      return;
    }
    if (typeof method === "string" && Array.isArray(params)) this.#handlers.onNotice(method, params);
  }
}
