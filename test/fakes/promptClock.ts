import type { Clock } from "../../src/ports/clock.ts";

/** A clock that stands still: what is to be done later is done in the next turn of the event loop. `onTurn` is called for each. */
export class PromptClock implements Clock {
  onTurn: () => void = () => undefined;

  nowMs(): number {
    return 0;
  }

  after(_delayMs: number, task: () => void): () => void {
    const turn = setImmediate(() => {
      this.onTurn();
      task();
    });
    return () => clearImmediate(turn);
  }
}
