import { chainOf } from "../../src/app/swap/contracts.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import type { Chain } from "./cell.ts";
import type { MatrixChain } from "./chains/matrixChain.ts";
import { CONFIRMATIONS, type MatrixWorld } from "./matrixWorld.ts";
import type { Ticker } from "./pairs.ts";

/** Blocks are full for so long after each new transaction of the swap, and after a restart. */
const CONGESTED_SEC = 75;
/** One less than what a payment must have. */
const REORG_DEPTH = CONFIRMATIONS - 1;
/** Whoever needs one of these again must send it again; others go back to the mempool. */
const FORGOTTEN: readonly Slot[] = ["fee", "takerPaymentSpend", "makerPaymentSpend", "makerPaymentRefund", "takerPaymentRefund"];

const tickerOf = (role: Role, slot: Slot): Ticker => (chainOf(role, slot) === "maker" ? "AAA" : "BBB");

/** What the chains do, by column. The same until the crash whatever the crash is. */
export class Weather {
  readonly #kind: Chain;
  readonly #world: MatrixWorld;
  readonly #fullUntilMs = new Map<MatrixChain, number>();
  readonly #txs = new Map<string, { readonly chain: MatrixChain; readonly slot: Slot }>();
  /** Reorganised once: a chain that undoes every new version of a transaction for ever is one nobody can trade on. */
  readonly #reorged = new Set<Slot>();
  readonly #congested = new Set<Slot>();
  #isOver = false;

  constructor(kind: Chain, world: MatrixWorld) {
    this.#kind = kind;
    this.#world = world;
    world.beforeBlock = (chain) => this.#beforeBlock(chain);
    world.afterBlock = (chain) => this.#afterBlock(chain);
  }

  /** An event of either side was stored. */
  onStored(role: Role, e: SwapEvent): void {
    if ("raw" in e) this.#txs.set(e.txid, { chain: this.#world.chain(tickerOf(role, e.slot)), slot: e.slot });
    if (this.#kind !== "congested" || e.type !== "tx_attempted" || this.#congested.has(e.slot)) return;
    this.#congested.add(e.slot);
    this.#fill(this.#world.chain(tickerOf(role, e.slot)), CONGESTED_SEC);
  }

  onCrash(restartInSec: number): void {
    if (this.#kind === "congested") for (const chain of this.#world.chains) this.#fill(chain, restartInSec + CONGESTED_SEC);
    if (this.#kind === "reorganising") for (const chain of this.#world.chains) chain.reorg(REORG_DEPTH, []);
  }

  end(): void {
    this.#isOver = true;
    for (const chain of this.#world.chains) chain.congest(false);
  }

  #fill(chain: MatrixChain, sec: number): void {
    const untilMs = this.#world.clock.nowMs() + sec * 1_000;
    this.#fullUntilMs.set(chain, Math.max(this.#fullUntilMs.get(chain) ?? 0, untilMs));
    chain.congest(true);
  }

  #beforeBlock(chain: MatrixChain): void {
    if ((this.#fullUntilMs.get(chain) ?? 0) <= this.#world.clock.nowMs()) chain.congest(false);
  }

  #afterBlock(chain: MatrixChain): void {
    if (this.#kind !== "reorganising" || this.#isOver) return;
    const due = [...this.#txs].filter(
      ([txid, tx]) => tx.chain === chain && !this.#reorged.has(tx.slot) && chain.depth(txid) === REORG_DEPTH,
    );
    if (due.length === 0) return;
    for (const [, { slot }] of due) this.#reorged.add(slot);
    chain.reorg(
      REORG_DEPTH,
      due.flatMap(([txid, { slot }]) => (FORGOTTEN.includes(slot) ? [txid] : [])),
    );
  }
}
