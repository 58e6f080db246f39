import type { Clock } from "../../ports/clock.ts";

/** Looks that news of servers begin: so many at once, and so many each second after that. */
const BURST = 50;
const PER_SEC = 5;

/** Passes news on, however often they come, at a pace: one server that tells of changes without end must not keep the node busy. */
export class NewsPace {
  readonly #clock: Clock;
  readonly #tell: () => void;
  #credit = BURST;
  #creditAtMs: number;
  #isWaiting = false;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, tell: () => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#creditAtMs = clock.nowMs();
  }

  /** News came. Those that come until `seen` are told of once. */
  hear(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const nowMs = this.#clock.nowMs();
    this.#credit = Math.min(BURST, this.#credit + (Math.max(0, nowMs - this.#creditAtMs) * PER_SEC) / 1_000) - 1;
    this.#creditAtMs = nowMs;
    if (this.#credit >= 0) this.#tell();
    else this.#cancel = this.#clock.after(1_000 / PER_SEC, this.#tell);
  }

  /** A look begins: it sees all that was told so far. */
  seen(): void {
    this.#isWaiting = false;
    this.#cancel();
  }

  stop(): void {
    this.#isWaiting = true;
    this.#cancel();
  }
}
