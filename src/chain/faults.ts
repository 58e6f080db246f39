import type { Clock } from "../ports/clock.ts";
import { RpcError } from "./rpc/rpcError.ts";

/** Ways to misbehave that last until they are used up, their time is over, or they are cleared. */
export type FaultEffect =
  /** No answer while it lasts; what waits is carried out when it ends. */
  | { readonly kind: "stall" }
  /** Every answer `delayMs` late. */
  | { readonly kind: "slow"; readonly delayMs: number }
  /** The call is carried out and the connection closed without an answer. */
  | { readonly kind: "lost_reply" }
  /** HTTP 500 without JSON, nothing carried out. */
  | { readonly kind: "http_500" }
  /** `sendrawtransaction` is refused with this code and sentence, nothing carried out. */
  | { readonly kind: "refuse_broadcast"; readonly code: number; readonly message: string }
  /** Heights are told wrong by so much. */
  | { readonly kind: "wrong_height"; readonly delta: number };

export type FaultPlan = FaultEffect & {
  /** Only these methods; all when null. */
  readonly methods: readonly string[] | null;
  /** Ends after so many uses; null: no limit. */
  readonly count: number | null;
  /** Ends after so long; null: no limit. */
  readonly forMs: number | null;
};

export type ActiveFault = FaultPlan & { readonly id: number; used: number };

/** The connection broke, or the server answered with something that is not JSON-RPC. */
export class TransportFault extends Error {
  override readonly name = "TransportFault";
  readonly kind: "connection_closed" | "http_500";

  constructor(kind: "connection_closed" | "http_500") {
    super(kind === "http_500" ? "HTTP 500" : "connection closed without an answer");
    this.kind = kind;
  }
}

/** Most faults active at once, and most calls held back. */
const MAX_FAULTS = 100;
const MAX_WAITING = 1_000;

/** The faults of one daemon. Each rule that applies to a call is used up by it once. */
export class Faults {
  readonly #clock: Clock;
  readonly #active = new Map<number, ActiveFault>();
  readonly #timers = new Map<number, () => void>();
  #waiting: { readonly method: string; readonly wake: () => void; readonly fail: (cause: TransportFault) => void }[] = [];
  #nextId = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  list(): readonly ActiveFault[] {
    return [...this.#active.values()];
  }

  add(plan: FaultPlan): ActiveFault {
    if (this.#active.size >= MAX_FAULTS) throw new RpcError(-8, `at most ${MAX_FAULTS} faults at once`);
    const fault = { ...plan, id: this.#nextId++, used: 0 };
    this.#active.set(fault.id, fault);
    if (plan.forMs !== null)
      this.#timers.set(
        fault.id,
        this.#clock.after(plan.forMs, () => this.clear(fault.id)),
      );
    return fault;
  }

  /** Ends one fault, or all. */
  clear(id?: number): void {
    for (const fault of this.list()) {
      if (id !== undefined && fault.id !== id) continue;
      this.#active.delete(fault.id);
      this.#timers.get(fault.id)?.();
      this.#timers.delete(fault.id);
    }
    const ready = this.#waiting.filter((w) => !this.#find("stall", w.method));
    this.#waiting = this.#waiting.filter((w) => !ready.includes(w));
    for (const w of ready) w.wake();
  }

  /** Ends everything; calls held back fail. */
  close(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.clear();
    for (const w of waiting) w.fail(new TransportFault("connection_closed"));
  }

  heightLie(): number {
    return this.list().reduce((n, f) => n + (f.kind === "wrong_height" ? f.delta : 0), 0);
  }

  #find<K extends FaultEffect["kind"]>(kind: K, method: string): (ActiveFault & { kind: K }) | undefined {
    for (const fault of this.#active.values()) {
      if (fault.kind === kind && (fault.methods?.includes(method) ?? true)) return fault as ActiveFault & { kind: K };
    }
    return undefined;
  }

  /** The fault of this kind that hits the call, counted as used. */
  #use<K extends FaultEffect["kind"]>(kind: K, method: string): (ActiveFault & { kind: K }) | undefined {
    const fault = this.#find(kind, method);
    if (fault && fault.count !== null && ++fault.used >= fault.count) this.clear(fault.id);
    return fault;
  }

  /** Carries out `work` as the active faults let it. */
  async around(method: string, work: () => unknown): Promise<unknown> {
    if (this.#active.size === 0) return work();
    if (this.#find("stall", method)) await this.#wait(method);
    const slow = this.#use("slow", method);
    if (slow) await new Promise<void>((resolve) => void this.#clock.after(slow.delayMs, resolve));
    if (this.#use("http_500", method)) throw new TransportFault("http_500");
    const refuse = method === "sendrawtransaction" ? this.#use("refuse_broadcast", method) : undefined;
    if (refuse) throw new RpcError(refuse.code, refuse.message);
    const result = work();
    if (this.#use("lost_reply", method)) throw new TransportFault("connection_closed");
    return result;
  }

  #wait(method: string): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) throw new TransportFault("connection_closed");
    return new Promise((resolve, reject) => this.#waiting.push({ method, wake: resolve, fail: reject }));
  }
}
