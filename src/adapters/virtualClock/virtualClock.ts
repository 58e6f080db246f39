import type { Clock } from "../../ports/clock.ts";

/** `task`: undefined once it has run or was cancelled. */
type Timer = { task: (() => void) | undefined };

/** The timers of one millisecond, in the order of their creation; those before `next` have been dealt with. */
type Moment = { timers: Timer[]; next: number };

/** Fewer cancelled timers than this are no burden. */
const LEAST_SWEPT = 256;

/** Why `run` came back: the condition holds, the time is reached, or no timer is left. */
export type RunEnd = "until" | "time" | "idle";

/**
 * Time for the simulator and for tests. Timers run one at a time in order of (due time, creation). Between two timers
 * all promise continuations settle, so a run is a function of its inputs as long as nothing inside does real I/O.
 */
export class VirtualClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  /** By milliseconds since the start: small integers are quicker keys. */
  readonly #moments = new Map<number, Moment>();
  /** Binary heap of the milliseconds in `#moments`: many timers are due together, and one entry stands for all of them. */
  readonly #due: number[] = [];
  /** Timers in `#moments` still to run, and cancelled ones, which stay until they surface, or until they are most of it. */
  #waiting = 0;
  #cancelled = 0;

  /** @param startMs unix milliseconds at the start; the default is an arbitrary fixed date */
  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, task: () => void): () => void {
    if (!(delayMs >= 0)) throw new RangeError(`a delay of ${delayMs} ms`);
    // Whole milliseconds, as a real clock shows: what reads the time may count on it.
    const due = Math.ceil(this.#nowMs + delayMs) - this.#startMs;
    const timer: Timer = { task };
    const moment = this.#moments.get(due);
    if (moment) moment.timers.push(timer);
    else {
      this.#moments.set(due, { timers: [timer], next: 0 });
      this.#push(due);
    }
    this.#waiting++;
    return () => {
      if (timer.task === undefined) return;
      timer.task = undefined;
      this.#waiting--;
      this.#cancelled++;
      if (this.#cancelled > LEAST_SWEPT && this.#cancelled > this.#waiting) this.#sweep();
    };
  }

  /**
   * Runs timers until `until` holds (looked at after each timer), the clock stands at `untilMs` with everything due
   * by then done, or no timer is left. An exception of a timer's task ends the run and is thrown.
   */
  run(options: { readonly untilMs?: number; readonly until?: () => boolean } = {}): Promise<RunEnd> {
    const { untilMs = Number.POSITIVE_INFINITY, until } = options;
    return new Promise((resolve, reject) => {
      const next = (): void => {
        try {
          const end = until?.() ? "until" : this.#step(untilMs);
          if (end === null) settle(next);
          else resolve(end);
        } catch (cause) {
          reject(cause);
        }
      };
      settle(next);
    });
  }

  /** Runs the next timer that is due by then. @returns null: there was one */
  #step(untilMs: number): RunEnd | null {
    for (;;) {
      const due = this.#due[0];
      const moment = due === undefined ? undefined : this.#moments.get(due);
      if (due === undefined || moment === undefined || due + this.#startMs > untilMs) break;
      const timer = moment.timers[moment.next++];
      if (timer === undefined) {
        this.#moments.delete(due);
        this.#pop();
        continue;
      }
      const { task } = timer;
      if (task === undefined) {
        this.#cancelled--;
        continue;
      }
      timer.task = undefined;
      this.#waiting--;
      const dueMs = due + this.#startMs;
      if (dueMs > this.#nowMs) this.#nowMs = dueMs;
      task();
      return null;
    }
    if (untilMs === Number.POSITIVE_INFINITY) return "idle";
    if (untilMs > this.#nowMs) this.#nowMs = untilMs;
    return "time";
  }

  /** Runs everything due within the next `durationMs`. */
  advance(durationMs: number): Promise<RunEnd> {
    return this.run({ untilMs: this.#nowMs + durationMs });
  }

  /** Throws out what was cancelled. */
  #sweep(): void {
    for (const moment of this.#moments.values()) {
      moment.timers = moment.timers.filter(({ task }) => task !== undefined);
      moment.next = 0;
    }
    this.#cancelled = 0;
  }

  #push(due: number): void {
    const heap = this.#due;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as number;
      if (due >= above) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#due;
    const last = heap.pop() as number;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && right < left) child++;
      const smaller = heap[child] as number;
      if (smaller >= last) break;
      heap[at] = smaller;
      at = child;
    }
    heap[at] = last;
  }
}

/** Turns without one of the real event loop, which lets signals and finalizers of the engine have their say. */
const TURNS_PER_LOOP = 256;
let turns = 0;
/** Runs that wait for a turn of the event loop. */
let looping = 0;

const done = Promise.resolve();

/**
 * Calls `then` when every promise continuation that can run has run, and no virtual time has passed. Node runs a tick asked for by a
 * continuation when none is left; a turn of the event loop, which asks the operating system for news, costs ten times as much. It comes
 * after all ticks: where one run waits for it, another at the same time has to wait too, or it would go on to its end alone.
 */
function settle(then: () => void): void {
  turns = (turns + 1) % TURNS_PER_LOOP;
  if (turns !== 0 && looping === 0) {
    void done.then(() => process.nextTick(then));
    return;
  }
  looping++;
  setImmediate(() => {
    looping--;
    then();
  });
}
