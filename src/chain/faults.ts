import type { Clock } from "../ports/clock.ts";
import { type ActiveFault, type FaultLimits, FaultList } from "./faultList.ts";
import { RpcError } from "./rpc/rpcError.ts";

/** Ways of a daemon to misbehave. */
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

export type FaultPlan = FaultEffect & FaultLimits;

/** The connection broke, or the server answered with something that is not JSON-RPC. */
export class TransportFault extends Error {
  override readonly name = "TransportFault";
  readonly kind: "connection_closed" | "http_500";

  constructor(kind: "connection_closed" | "http_500") {
    super(kind === "http_500" ? "HTTP 500" : "connection closed without an answer");
    this.kind = kind;
  }
}

/** Most calls held back. */
const MAX_WAITING = 1_000;

/** The faults of one daemon. Each rule that applies to a call is used up by it once. */
export class Faults {
  readonly #clock: Clock;
  readonly #faults: FaultList<FaultEffect>;
  #waiting: { readonly method: string; readonly wake: () => void; readonly fail: (cause: TransportFault) => void }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#faults = new FaultList(clock, () => this.#wake());
  }

  list(): readonly ActiveFault<FaultEffect>[] {
    return this.#faults.list();
  }

  add(plan: FaultPlan): ActiveFault<FaultEffect> {
    return this.#faults.add(plan);
  }

  /** Ends one fault, or all. */
  clear(id?: number): void {
    this.#faults.clear(id);
  }

  #wake(): void {
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter((w) => !this.#faults.find("stall", [w.method]));
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
    return this.#faults.ofKind("wrong_height").reduce((n, f) => n + f.delta, 0);
  }

  /** Carries out `work` as the active faults let it. */
  async around(method: string, work: () => unknown): Promise<unknown> {
    if (this.#faults.size === 0) return work();
    const hit = [method];
    if (this.#faults.find("stall", hit)) await this.#wait(method);
    const slow = this.#faults.use("slow", hit);
    if (slow) await new Promise<void>((resolve) => void this.#clock.after(slow.delayMs, resolve));
    if (this.#faults.use("http_500", hit)) throw new TransportFault("http_500");
    const refuse = method === "sendrawtransaction" ? this.#faults.use("refuse_broadcast", hit) : undefined;
    if (refuse) throw new RpcError(refuse.code, refuse.message);
    const result = work();
    if (this.#faults.use("lost_reply", hit)) throw new TransportFault("connection_closed");
    return result;
  }

  #wait(method: string): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) throw new TransportFault("connection_closed");
    return new Promise((resolve, reject) => this.#waiting.push({ method, wake: resolve, fail: reject }));
  }
}
