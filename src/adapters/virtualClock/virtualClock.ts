import type { Clock } from "../../ports/clock.ts";

type Timer = { readonly dueMs: number; readonly order: number; task: (() => void) | undefined };

/** Why `run` came back: the condition holds, the time is reached, or no timer is left. */
export type RunEnd = "until" | "time" | "idle";

/**
 * Time for the simulator and for tests. Timers run one at a time in order of (due time, creation). Between two timers
 * all promise continuations settle, so a run is a function of its inputs as long as nothing inside does real I/O.
 */
export class VirtualClock implements Clock {
  #nowMs: number;
  #created = 0;
  /** Binary heap on (dueMs, order). Cancelled timers stay until they surface. */
  readonly #heap: Timer[] = [];

  /** @param startMs unix milliseconds at the start; the default is an arbitrary fixed date */
  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, task: () => void): () => void {
    if (!(delayMs >= 0)) throw new RangeError(`a delay of ${delayMs} ms`);
    // Whole milliseconds, as a real clock shows: what reads the time may count on it.
    const timer: Timer = { dueMs: Math.ceil(this.#nowMs + delayMs), order: this.#created++, task };
    this.#push(timer);
    return () => {
      timer.task = undefined;
    };
  }

  /**
   * Runs timers until `until` holds (looked at after each timer), the clock stands at `untilMs` with everything due
   * by then done, or no timer is left. An exception of a timer's task ends the run and is thrown.
   */
  async run(options: { readonly untilMs?: number; readonly until?: () => boolean } = {}): Promise<RunEnd> {
    const { untilMs = Number.POSITIVE_INFINITY, until } = options;
    await settle();
    for (;;) {
      if (until?.()) return "until";
      const timer = this.#heap[0];
      if (timer === undefined || timer.dueMs > untilMs) break;
      this.#pop();
      const { task } = timer;
      if (task === undefined) continue;
      timer.task = undefined;
      if (timer.dueMs > this.#nowMs) this.#nowMs = timer.dueMs;
      task();
      await settle();
    }
    if (untilMs === Number.POSITIVE_INFINITY) return "idle";
    if (untilMs > this.#nowMs) this.#nowMs = untilMs;
    return "time";
  }

  /** Runs everything due within the next `durationMs`. */
  advance(durationMs: number): Promise<RunEnd> {
    return this.run({ untilMs: this.#nowMs + durationMs });
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Timer;
      if (!isBefore(timer, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, left)) child++;
      const smaller = heap[child] as Timer;
      if (!isBefore(smaller, last)) break;
      heap[at] = smaller;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** Turns without one of the real event loop, which lets signals and finalizers of the engine have their say. */
const TURNS_PER_LOOP = 256;
let turns = 0;

/**
 * Every promise continuation that can run has run, and no virtual time has passed. Node runs a tick asked for by a
 * continuation when none is left; a turn of the event loop, which asks the operating system for news, costs ten times as much.
 */
function settle(): Promise<void> {
  turns = (turns + 1) % TURNS_PER_LOOP;
  if (turns === 0) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}
