import type { Result } from "../../src/core/util/result.ts";
import type { DaemonCall, DaemonCallOptions, DaemonError, DaemonRpc } from "../../src/ports/daemonRpc.ts";

type Answer = Result<unknown, DaemonError>;

/** Puts faults in front of any daemon: it is down, it never answers a method, it answers something else. */
export class FaultyRpc implements DaemonRpc {
  readonly #inner: DaemonRpc;
  #down = false;
  /** Hear that it goes down. */
  readonly onDown = new Set<() => void>();
  /** Methods that never answer. */
  readonly stalled = new Set<string>();
  /** Changes what a method answered. */
  readonly twist = new Map<string, (answer: Answer, params: readonly unknown[]) => Answer>();
  /** Answers in place of the daemon, which does not hear of it. */
  readonly instead = new Map<string, Answer>();
  /** Answers in place of the daemon where it has one to give. */
  judge: ((method: string, params: readonly unknown[]) => Answer | null) | null = null;
  readonly counts = new Map<string, number>();

  constructor(inner: DaemonRpc) {
    this.#inner = inner;
  }

  get down(): boolean {
    return this.#down;
  }
  set down(is: boolean) {
    this.#down = is;
    if (is) for (const listener of [...this.onDown]) listener();
  }

  get total(): number {
    return [...this.counts.values()].reduce((a, b) => a + b, 0);
  }

  /** As the daemon behind does it, call by call where it has no batches. */
  callBatch(calls: readonly DaemonCall[], options?: DaemonCallOptions): Promise<readonly Answer[]> {
    const faulty =
      this.down || this.judge || calls.some((c) => this.stalled.has(c.method) || this.instead.has(c.method) || this.twist.has(c.method));
    if (faulty || !this.#inner.callBatch) return Promise.all(calls.map((c) => this.call(c.method, c.params, options)));
    for (const { method } of calls) this.counts.set(method, (this.counts.get(method) ?? 0) + 1);
    return this.#inner.callBatch(calls, options);
  }

  async call(method: string, params: readonly unknown[], options?: DaemonCallOptions): Promise<Answer> {
    this.counts.set(method, (this.counts.get(method) ?? 0) + 1);
    if (this.down) return { ok: false, error: { kind: "unreachable", message: "nothing listens there" } };
    if (this.stalled.has(method)) return new Promise<Answer>(() => undefined);
    const replaced = this.instead.get(method) ?? this.judge?.(method, params);
    if (replaced) return replaced;
    const answer = await this.#inner.call(method, params, options);
    return this.twist.get(method)?.(answer, params) ?? answer;
  }
}
