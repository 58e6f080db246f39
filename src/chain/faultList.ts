import type { Clock } from "../ports/clock.ts";
import { RpcError } from "./rpc/rpcError.ts";

/** How long a fault lasts and what it hits. */
export type FaultLimits = {
  /** Only these methods; all when null. */
  readonly methods: readonly string[] | null;
  /** Ends after so many uses; null: no limit. */
  readonly count: number | null;
  /** Ends after so long; null: no limit. */
  readonly forMs: number | null;
};

export type ActiveFault<E> = E & FaultLimits & { readonly id: number; used: number };

/** Most faults active at once. */
const MAX_FAULTS = 100;

/** Faults of one server that last until they are used up, their time is over, or they are cleared. */
export class FaultList<E extends { readonly kind: string }> {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #active = new Map<number, ActiveFault<E>>();
  readonly #kinds = new Map<string, readonly ActiveFault<E>[]>();
  readonly #timers = new Map<number, () => void>();
  #nextId = 1;

  /** @param onChange called after a fault began or ended */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#active.size;
  }

  list(): readonly ActiveFault<E>[] {
    return [...this.#active.values()];
  }

  add(plan: E & FaultLimits): ActiveFault<E> {
    if (this.#active.size >= MAX_FAULTS) throw new RpcError(-8, `at most ${MAX_FAULTS} faults at once`);
    const fault = { ...plan, id: this.#nextId++, used: 0 };
    this.#active.set(fault.id, fault);
    this.#kinds.clear();
    if (plan.forMs !== null) {
      const cancel = this.#clock.after(plan.forMs, () => this.clear(fault.id));
      this.#timers.set(fault.id, cancel);
    }
    this.#onChange();
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
    this.#kinds.clear();
    this.#onChange();
  }

  /** The first of this kind that hits one of the methods. */
  find<K extends E["kind"]>(kind: K, methods: readonly string[]): ActiveFault<Extract<E, { kind: K }>> | undefined {
    return this.ofKind(kind).find((f) => f.methods === null || f.methods.some((m) => methods.includes(m)));
  }

  /** The same, counted as used. */
  use<K extends E["kind"]>(kind: K, methods: readonly string[]): ActiveFault<Extract<E, { kind: K }>> | undefined {
    const fault = this.find(kind, methods);
    if (fault && fault.count !== null && ++fault.used >= fault.count) this.clear(fault.id);
    return fault;
  }

  ofKind<K extends E["kind"]>(kind: K): readonly ActiveFault<Extract<E, { kind: K }>>[] {
    const isOne = (f: ActiveFault<E>): f is ActiveFault<Extract<E, { kind: K }>> => f.kind === kind;
    const known = this.#kinds.get(kind) as readonly ActiveFault<Extract<E, { kind: K }>>[] | undefined;
    if (known) return known;
    const found = this.list().filter(isOne);
    this.#kinds.set(kind, found);
    return found;
  }
}
