import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { err, ok } from "../../core/util/result.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { ElectrumEndpoint, ServerHealth } from "../../ports/electrum.ts";
import type { Log } from "../../ports/log.ts";
import { type AnswerParser, parseStatus, parseTip, type TipAnswer, tryToParse } from "./answers.ts";
import { CallWindow } from "./callWindow.ts";
import { EndingMethods } from "./endingMethods.ts";
import { isUnknownMethod, METHOD_NOT_FOUND, type ServerAnswer, type ServerFault, serverFaultText } from "./fault.ts";
import { greet } from "./greeting.ts";
import { ServerConnection } from "./serverConnection.ts";
import type { ServerCredit } from "./serverCredit.ts";
import { tooLateText } from "./socketFault.ts";

/**
 * Methods that not every server has (electrs knows no `id_from_pos` in some versions, no `get_mempool` in most, others no fees) and without which it is of use
 * all the same. One that does not know another method is asked again: what it must prove it has to prove.
 */
const OPTIONAL: ReadonlySet<string> = new Set([
  "server.ping",
  "blockchain.estimatefee",
  "blockchain.relayfee",
  "mempool.get_fee_histogram",
  "blockchain.transaction.id_from_pos",
  "blockchain.scripthash.get_mempool",
]);
const ENDS_CONNECTION: ServerFault = { kind: "rpc", code: METHOD_NOT_FOUND, message: "it ends the connection when it is asked" };
/** Wait before a server that failed is tried again; doubles up to the longest. */
const FIRST_REST_MS = 1_000;
const MAX_REST_MS = 300_000;
/** Failures are forgotten after so long without one, ms. */
const FORGIVEN_AFTER_MS = 600_000;
/** A connection on which nothing came for so long is tried with a ping, ms: one that is dead shows only when something is sent. */
const SILENT_MS = 30_000;
/** A mean time to an answer that is slow, ms. */
const SLOW_MS = 1_000;
/** Wait after it said what is disproven, or serves another chain; doubles up to the longest. */
const DROPPED_REST_MS = 3_600_000;
const MAX_DROPPED_REST_MS = 24 * 3_600_000;
/** Longest wait while nobody else is left to ask, for one that was dropped and for one that was away. */
const NEEDED_DROPPED_REST_MS = 60_000;
const NEEDED_REST_MS = 30_000;
/** Share of the newest in the running mean of latencies. */
const LATENCY_SHARE = 0.2;
/** A latency counted for a server that has not answered yet, ms. */
const UNKNOWN_LATENCY_MS = 500;
/** Characters of a sentence about a server. */
const MAX_TROUBLE = 400;

export type RemoteServerDeps = {
  readonly endpoint: ElectrumEndpoint;
  readonly rules: HeaderRules;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly closed: AbortSignal;
  readonly credit: ServerCredit;
  /** When its voice was connected last before, unix ms; minus infinity: never. */
  readonly wasConnectedMs: number;
  /** The hash of the first block of the chain that is wanted of one that names `told`; null: not known yet. */
  readonly genesis: (told: string) => string | null;
  /** The server's state, tip or a status is another now. */
  readonly onNews: () => void;
};

/** One configured server: its connection, what it last told, and how far it is to be trusted. */
export class RemoteServer {
  readonly #deps: RemoteServerDeps;
  readonly #log: Log;
  readonly #statuses = new Map<string, string | null>();
  /** Scripts whose status is to be asked for anew. */
  readonly #doubted = new Set<string>();
  /** Optional methods it said it does not know, on this connection: another program may answer the next one. */
  readonly #unknown = new Map<string, ServerFault>();
  readonly #ending = new EndingMethods();
  readonly #window = new CallWindow();
  #state: ServerHealth["state"] = "idle";
  #connection: ServerConnection | null = null;
  #genesis: string | null = null;
  #forgets = false;
  #tip: TipAnswer | null = null;
  #latencyMs: number | null = null;
  #failures = 0;
  #contradictions = 0;
  #calls = 0;
  #trouble: string | null = null;
  #isOutvoted = false;
  #restMs = 0;
  #leftAtMs = 0;
  #arrivedAtMs = 0;
  #connectedMs: number;
  #wasHeard = false;
  #cancelPing: () => void = () => undefined;

  constructor(deps: RemoteServerDeps) {
    this.#deps = deps;
    this.#connectedMs = deps.wasConnectedMs;
    this.#log = deps.log.child({ server: deps.endpoint.name });
  }

  get name(): string {
    return this.#deps.endpoint.name;
  }
  get voter(): string {
    return this.#deps.endpoint.voter ?? this.name;
  }
  get state(): ServerHealth["state"] {
    return this.#state;
  }
  get trouble(): string | null {
    return this.#trouble;
  }
  /** The last block it told of; null while it is not connected. */
  get tip(): TipAnswer | null {
    return this.#tip;
  }
  /** Hash of its first block; null while it is not connected. */
  get genesis(): string | null {
    return this.#genesis;
  }
  /** Grows with slowness and misconduct: the cheapest are asked first. */
  get cost(): number {
    return (this.#latencyMs ?? UNKNOWN_LATENCY_MS) * (1 + this.#failures) * (1 + this.#contradictions);
  }
  /**
   * When it may be connected again, unix ms; null while it is connected or connecting.
   * @param isNeeded there is no other: it is then tried again soon
   */
  restUntilMs(isNeeded: boolean): number | null {
    if (this.#state === "connected" || this.#state === "connecting") return null;
    // A clock that was set back must not make the rest hours longer.
    this.#leftAtMs = Math.min(this.#leftAtMs, this.#deps.clock.nowMs());
    const needed = this.#state === "dropped" ? NEEDED_DROPPED_REST_MS : NEEDED_REST_MS;
    return this.#leftAtMs + Math.min(this.#restMs, isNeeded ? needed : Number.POSITIVE_INFINITY);
  }

  /** It is left alone for another first block than most named, and for nothing else: these may have made theirs up. */
  get isOutvoted(): boolean {
    return this.#state === "dropped" && this.#isOutvoted;
  }

  /** When it was connected last, unix ms: now, while it is; -Infinity: never. */
  get connectedMs(): number {
    return this.#state === "connected" ? this.#deps.clock.nowMs() : this.#connectedMs;
  }

  health(): ServerHealth {
    return {
      name: this.name,
      state: this.#state,
      height: this.#tip?.height ?? null,
      latencyMs: this.#latencyMs === null ? null : Math.round(this.#latencyMs),
      contradictions: this.#contradictions,
      calls: this.#calls,
      trouble: this.#trouble,
    };
  }

  /**
   * Connects and greets: version, first block, tip. Ends in `connected`, `away` or `dropped`; rejects with `Aborted` when closed.
   * @param isWanted asked once it has greeted: whether it is still needed; else it ends in `idle`
   */
  async connect(isWanted: () => boolean = () => true): Promise<void> {
    const { endpoint, clock, closed, timeoutMs } = this.#deps;
    this.#state = "connecting";
    this.#unknown.clear();
    const handlers = {
      onNotice: (method: string, params: readonly unknown[]) => this.#hear(method, params),
      onEnd: (why: string, at: string | null) => {
        if (at !== null && OPTIONAL.has(at)) this.#ending.ended(at, clock.nowMs());
        this.#lost(connection, why);
      },
      onAnswer: (latencyMs: number) => this.#timed(latencyMs),
    };
    const connection = new ServerConnection(clock, timeoutMs, handlers, this.#deps.credit, this.#window);
    this.#connection = connection;
    try {
      const opened = await withDeadline(clock, timeoutMs, closed, (signal) => connection.open(endpoint.open, signal));
      if (!opened.ok) connection.end(opened.error.why);
      else if ((await this.#greet()) && (await withDeadline(clock, timeoutMs, closed, () => connection.keep()))) {
        if (isWanted()) this.#arrived();
        else this.release();
      }
    } catch (cause) {
      if (!(cause instanceof Aborted)) throw cause;
      if (closed.aborted) {
        connection.close();
        throw cause;
      }
      connection.end(tooLateText(timeoutMs));
    }
  }

  /** False: it is not taken, or the connection has ended meanwhile. */
  async #greet(): Promise<boolean> {
    const greeting = await greet(this, this.#deps);
    if (!greeting.ok) {
      const { kind, why } = greeting.error;
      if (kind === "refused") this.#connection?.end(why);
      else this[kind](why);
      return false;
    }
    this.#genesis = greeting.value.genesis;
    this.#forgets = greeting.value.forgets;
    return this.#connection !== null;
  }

  #arrived(): void {
    this.#state = "connected";
    this.#arrivedAtMs = this.#deps.clock.nowMs();
    this.#trouble = null;
    this.#log.info("server_connected", { height: this.#tip?.height });
    this.#pingWhenSilent();
    this.#deps.onNews();
  }

  #pingWhenSilent(): void {
    this.#wasHeard = false;
    this.#cancelPing = this.#deps.clock.after(SILENT_MS, () => {
      // The deadline of the call ends a dead connection; what is answered does not matter.
      if (!this.#wasHeard) void (this.#notAsked("server.ping") === undefined ? this.ask("server.ping", [], ok) : this.askTip());
      this.#pingWhenSilent();
    });
  }

  /** Asks for the tip now and is told of later ones. */
  async askTip(): Promise<ServerAnswer<TipAnswer>> {
    const tip = await this.ask("blockchain.headers.subscribe", [], (v) => parseTip(v, this.#deps.rules));
    if (tip.ok) this.#tip = tip.value;
    return tip;
  }

  /** The status of a script as told last; undefined: it was not asked for on this connection, or is in doubt. */
  statusOf(scriptHash: string): string | null | undefined {
    return this.#doubted.has(scriptHash) ? undefined : this.#statuses.get(scriptHash);
  }

  /** What it told of a script does not hold any more: it may have forgotten to say so, or be about to. */
  doubt(scriptHash: string): void {
    if (this.#statuses.has(scriptHash)) this.#doubted.add(scriptHash);
  }

  /** Asks for the status of a script now and is told of later ones. */
  async askStatus(scriptHash: string): Promise<ServerAnswer<string | null>> {
    const status = await this.ask("blockchain.scripthash.subscribe", [scriptHash], parseStatus);
    this.#doubted.delete(scriptHash);
    if (status.ok) this.#statuses.set(scriptHash, status.value);
    return status;
  }

  /**
   * No longer told of a script. Older servers do not know how: they go on telling, and nobody listens. They are not asked, for
   * ElectrumX counts each request it cannot carry out for a hundred and cuts off who costs too much.
   */
  forget(scriptHash: string): void {
    this.#doubted.delete(scriptHash);
    if (this.#statuses.delete(scriptHash) && this.#forgets) void this.#connection?.call("blockchain.scripthash.unsubscribe", [scriptHash]);
  }

  /** One call; what it does not know and need not know is asked once a connection. A server whose answer has another shape than the method's loses the connection. Never rejects. */
  async ask<T>(method: string, params: readonly unknown[], parse: AnswerParser<T>): Promise<ServerAnswer<T>> {
    const connection = this.#connection;
    if (connection === null) return err({ kind: "unreachable", message: this.#trouble ?? "it is not connected" });
    const notAsked = this.#notAsked(method);
    if (notAsked !== undefined) return err(notAsked);
    this.#calls++;
    const answer = await connection.call(method, params);
    if (answer.ok || answer.error.kind === "rpc") this.#ending.answered(method);
    if (!answer.ok) {
      if (OPTIONAL.has(method) && isUnknownMethod(answer.error) && connection === this.#connection) this.#unknown.set(method, answer.error);
      return answer;
    }
    const parsed = tryToParse(parse, answer.value);
    if (parsed.ok) return ok(parsed.value);
    const fault: ServerFault = { kind: "bad_answer", method, detail: parsed.error.detail };
    connection.end(serverFaultText(fault));
    return err(fault);
  }

  /** The answer to a method that it need not know and does not; undefined: it is to be asked. */
  #notAsked(method: string): ServerFault | undefined {
    return this.#ending.has(method, this.#deps.clock.nowMs()) ? ENDS_CONNECTION : this.#unknown.get(method);
  }

  /** What it said is disproven: it is left alone for long and named. */
  contradicted(what: string): void {
    this.#drop(what, false);
  }

  /** Most name another first block, where none is known by itself: it is left alone in the same way. */
  outvoted(what: string): void {
    this.#drop(what, true);
  }

  #drop(what: string, isOutvoted: boolean): void {
    // Much is asked at once: what it said before it was dropped is the same lie, or the same mistake.
    if (this.#state === "dropped") return;
    this.#isOutvoted = isOutvoted;
    const was = this.#connection;
    this.#connection = null;
    was?.close();
    this.#contradictions++;
    this.#leave("dropped", what, Math.min(MAX_DROPPED_REST_MS, DROPPED_REST_MS * 2 ** Math.min(this.#contradictions - 1, 10)));
    this.#log.warn("server_dropped", { why: this.#trouble, contradictions: this.#contradictions });
  }

  /** Something is wrong with it that proves nothing. */
  suspect(what: string): void {
    this.#trouble = what.slice(0, MAX_TROUBLE);
  }

  /** What it was suspected of is over. */
  cleared(): void {
    if (this.#state === "connected") this.#trouble = null;
  }

  /** It is not needed now. */
  release(): void {
    const was = this.#connection;
    this.#connection = null;
    was?.close();
    this.#leave("idle", this.#trouble, 0);
  }

  /** Answers so late that nobody waits for it while there are others. */
  get isSlow(): boolean {
    return (this.#latencyMs ?? 0) > SLOW_MS;
  }

  /** It answered all that a look wanted: earlier failures are forgiven once it has done so for long. */
  forgive(): void {
    if (this.#state === "connected" && this.#deps.clock.nowMs() - this.#arrivedAtMs >= FORGIVEN_AFTER_MS) this.#failures = 0;
  }

  #lost(connection: ServerConnection, why: string): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    const restMs = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** Math.min(this.#failures++, 20));
    this.#leave("away", why, restMs);
    this.#log.info("server_lost", { why: this.#trouble, restMs });
  }

  #leave(state: ServerHealth["state"], why: string | null, restMs: number): void {
    this.#cancelPing();
    this.#connectedMs = this.connectedMs;
    this.#state = state;
    this.#tip = null;
    this.#genesis = null;
    this.#statuses.clear();
    this.#doubted.clear();
    this.#trouble = why?.slice(0, MAX_TROUBLE) ?? null;
    this.#leftAtMs = this.#deps.clock.nowMs();
    this.#restMs = restMs;
    this.#deps.onNews();
  }

  #timed(latencyMs: number): void {
    this.#wasHeard = true;
    this.#latencyMs = this.#latencyMs === null ? latencyMs : this.#latencyMs * (1 - LATENCY_SHARE) + latencyMs * LATENCY_SHARE;
  }

  #hear(method: string, params: readonly unknown[]): void {
    this.#wasHeard = true;
    if (method === "blockchain.headers.subscribe") {
      const tip = tryToParse((v) => parseTip(v, this.#deps.rules), params[0]);
      if (!tip.ok) {
        this.#connection?.end(serverFaultText({ kind: "bad_answer", method, detail: tip.error.detail }));
        return;
      }
      this.#tip = tip.value;
      this.#deps.onNews();
    }
    if (method === "blockchain.scripthash.subscribe") {
      const [scriptHash] = params;
      const status = parseStatus(params[1]);
      if (typeof scriptHash !== "string" || !this.#statuses.has(scriptHash) || !status.ok) return;
      // ElectrumX (1.15) says so, too, of a history that has become too long to be told, and forgets who is subscribed: to be asked again.
      if (status.value === null) this.#statuses.delete(scriptHash);
      else this.#statuses.set(scriptHash, status.value);
      this.#deps.onNews();
    }
  }
}
