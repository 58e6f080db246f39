import { contractOf } from "../../src/app/swap/contracts.ts";
import { ownPayment } from "../../src/core/swap/events.ts";
import type { SimNode } from "../world/simNode.ts";
import type { SimWorld } from "../world/simWorld.ts";
import type { ChainFacts } from "./chainFacts.ts";
import { ENVELOPE } from "./envelope.ts";
import type { SwapRecord, SwapSide } from "./swapBook.ts";

/** Blocks that servers do not show are waited for so long after a lock. */
const HELD_UP_MS = 3_600_000;
/** Without a new block for so long, an account chain may stand still for all its node knows. A little less than the product's ten minutes. */
const STILL_MS = 540_000;

/** Which refunds may leave though their chain's time has not come. */
export class HeldUp {
  readonly #world: SimWorld;
  readonly #facts: (ticker: string) => ChainFacts;
  /** Swaps whose node had a wrong clock and saw no blocks: what has left once is tried again. */
  readonly #blind = new Set<SwapRecord>();

  constructor(world: SimWorld, facts: (ticker: string) => ChainFacts) {
    this.#world = world;
    this.#facts = facts;
  }

  /**
   * Servers may withhold blocks, and so may nodes of an account chain, whose next block has the time of its making: through them a refund leaves an hour
   * after its lock by the clock, and a taker's a quarter of the way to the maker's lock. A clock that is wrong makes that early; of an account chain, where
   * each that is early costs gas, only while the node sees no new blocks either.
   */
  mayLeave(swap: SwapRecord, side: SwapSide): boolean {
    const ticker = side.role === "maker" ? side.terms.makerCoin : side.terms.takerCoin;
    const node = this.#world.node(side.node);
    const isAccount = this.#facts(ticker).kind === "account";
    if (!isAccount && node.serverLine(ticker) === undefined) return false;
    if (swap.isTimeWrong && isAccount && this.#isBlind(node, ticker)) this.#blind.add(swap);
    if (swap.isTimeWrong && (!isAccount || this.#blind.has(swap))) return true;
    const { lock } = contractOf(side.state, ownPayment(side.role));
    const restMs = side.role === "taker" ? 1_000 * (contractOf(side.state, "makerPayment").lock - lock) : Number.POSITIVE_INFINITY;
    const lateMs = this.#world.clock.nowMs() - 1_000 * lock;
    return lateMs > Math.min(HELD_UP_MS, restMs / 4) - ENVELOPE.clockErrorMs;
  }

  #isBlind(node: SimNode, ticker: string): boolean {
    const { state, tip } = node.node.coins.active(ticker)?.chain.status() ?? {};
    if (state !== "ready" || !tip) return true;
    const facts = this.#facts(ticker);
    const sinceSec = facts.timeSecAt(tip.height + 1) ?? facts.timeSecAt(tip.height) ?? 0;
    return sinceSec * 1_000 < this.#world.clock.nowMs() - STILL_MS;
  }
}
