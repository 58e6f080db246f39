import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Mailbox } from "./mailbox.ts";
import type { MakerSide } from "./makerSide.ts";
import type { OrderUpkeep } from "./orderUpkeep.ts";

/** Period of the main loop (reference rpc.md 6.1). */
const LOOP_MS = 777;
/** A failure of the loop that stays the same is logged this often. */
const FAULT_REPEAT_MS = 60_000;

export type OrderLoopDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly mailbox: Mailbox;
  readonly upkeep: OrderUpkeep;
  readonly makerSide: MakerSide;
};

/** The main loop of own orders: turn after turn while there is something to do, asleep until somebody stirs it otherwise. */
export class OrderLoop {
  readonly #deps: OrderLoopDeps;
  #stopTimer: () => void = () => undefined;
  #running = false;
  /** It waits for something to do. */
  #isAsleep = false;
  /** The task that ends now is a turn of the loop. */
  #isTurn = false;
  #isServing = false;
  #fault: { readonly text: string; readonly toldMs: number } | null = null;

  constructor(deps: OrderLoopDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#isAsleep = false;
    this.#turn();
  }

  stop(): void {
    this.#running = false;
    this.#stopTimer();
  }

  /** Something was done to an order, or to the funds for one. */
  stir(): void {
    if (this.#isTurn) this.#isTurn = false;
    else this.#deps.upkeep.stir();
    if (!this.#running || !this.#isAsleep) return;
    this.#isAsleep = false;
    this.#schedule();
  }

  /** A handshake has ended: who waits for its place is served at once, not at the next turn. */
  serveSoon(): void {
    const { mailbox, makerSide } = this.#deps;
    if (this.#isServing || !makerSide.hasWaiting) return;
    this.#isServing = mailbox.post("serve_waiting", () => {
      this.#isServing = false;
      return makerSide.serveWaiting();
    });
  }

  #schedule(): void {
    if (this.#running) this.#stopTimer = this.#deps.clock.after(LOOP_MS, () => this.#turn());
  }

  #turn(): void {
    const { mailbox, upkeep, makerSide, log } = this.#deps;
    if (!this.#running) return;
    const isQuiet = !makerSide.hasWaiting && !makerSide.hasVain;
    if (upkeep.isIdle && isQuiet) {
      this.#isAsleep = true;
      return;
    }
    if (upkeep.mayRest() && isQuiet) {
      this.#schedule();
      return;
    }
    const done = mailbox.call(async () => {
      await upkeep.tick();
      await makerSide.serveWaiting();
      await makerSide.giveBackVain();
      this.#isTurn = true;
    });
    // The next turn is set when this one is done, so that turns never pile up.
    done.then(
      () => {
        if (this.#fault) log.info("order_loop_works_again");
        this.#fault = null;
        this.#schedule();
      },
      (error: unknown) => {
        this.#failed(error);
        this.#schedule();
      },
    );
  }

  /** A disk that stays full would fill the log: the same failure is told once a minute. */
  #failed(error: unknown): void {
    const { clock, log } = this.#deps;
    const text = String(error);
    const nowMs = clock.nowMs();
    if (this.#fault?.text === text && nowMs - this.#fault.toldMs < FAULT_REPEAT_MS) return;
    this.#fault = { text, toldMs: nowMs };
    log.error("order_loop_failed", { error });
  }
}
