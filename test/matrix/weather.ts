import { chainOf } from "../../src/app/swap/contracts.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import type { Chain } from "./cell.ts";
import { CONFIRMATIONS, type MatrixWorld, TICKERS, type Ticker } from "./matrixWorld.ts";

/** Blocks are full for so long after each new transaction of the swap, and after a restart. */
const CONGESTED_SEC = 75;
/** Others pay this many times the relay minimum then. */
const CONGESTED_FEE_PER_KB = 30_000n;
/** One less than what a payment must have. */
const REORG_DEPTH = CONFIRMATIONS - 1;
/** Whoever needs one of these again must send it again; others go back to the mempool. */
const FORGOTTEN: readonly Slot[] = ["fee", "takerPaymentSpend", "makerPaymentSpend", "makerPaymentRefund", "takerPaymentRefund"];

const tickerOf = (role: Role, slot: Slot): Ticker => (chainOf(role, slot) === "maker" ? "AAA" : "BBB");

/** What the chains do, by column. The same until the crash whatever the crash is. */
export class Weather {
  readonly #kind: Chain;
  readonly #world: MatrixWorld;
  readonly #fullUntilMs = new Map<Ticker, number>();
  readonly #txs = new Map<string, { readonly ticker: Ticker; readonly slot: Slot }>();
  /** Reorganised once: a chain that undoes every new version of a transaction for ever is one nobody can trade on. */
  readonly #reorged = new Set<Slot>();
  readonly #congested = new Set<Slot>();
  #isOver = false;

  constructor(kind: Chain, world: MatrixWorld) {
    this.#kind = kind;
    this.#world = world;
    world.beforeBlock = (ticker) => this.#beforeBlock(ticker);
    world.afterBlock = (ticker) => this.#afterBlock(ticker);
  }

  /** An event of either side was stored. */
  onStored(role: Role, e: SwapEvent): void {
    if ("raw" in e) this.#txs.set(e.txid, { ticker: tickerOf(role, e.slot), slot: e.slot });
    if (this.#kind !== "congested" || e.type !== "tx_attempted" || this.#congested.has(e.slot)) return;
    this.#congested.add(e.slot);
    this.#fill(tickerOf(role, e.slot), CONGESTED_SEC);
  }

  onCrash(restartInSec: number): void {
    if (this.#kind === "congested") for (const ticker of TICKERS) this.#fill(ticker, restartInSec + CONGESTED_SEC);
    if (this.#kind === "reorganising") for (const ticker of TICKERS) this.#reorg(ticker, []);
  }

  end(): void {
    this.#isOver = true;
    for (const ticker of TICKERS) this.#policy(ticker).blockFeePerKb = 0n;
  }

  #policy(ticker: Ticker) {
    return this.#world.chain(ticker).chain.policy;
  }

  #fill(ticker: Ticker, sec: number): void {
    const untilMs = this.#world.clock.nowMs() + sec * 1_000;
    this.#fullUntilMs.set(ticker, Math.max(this.#fullUntilMs.get(ticker) ?? 0, untilMs));
    this.#policy(ticker).blockFeePerKb = CONGESTED_FEE_PER_KB;
  }

  #beforeBlock(ticker: Ticker): void {
    if ((this.#fullUntilMs.get(ticker) ?? 0) <= this.#world.clock.nowMs()) this.#policy(ticker).blockFeePerKb = 0n;
  }

  #afterBlock(ticker: Ticker): void {
    if (this.#kind !== "reorganising" || this.#isOver) return;
    const { state } = this.#world.chain(ticker).chain;
    const due = [...this.#txs].filter(([txid, tx]) => {
      const at = tx.ticker === ticker && !this.#reorged.has(tx.slot) ? state.blockOfTx(txid) : undefined;
      return at !== undefined && state.tip.height - at.height + 1 === REORG_DEPTH;
    });
    if (due.length === 0) return;
    for (const [, { slot }] of due) this.#reorged.add(slot);
    this.#reorg(
      ticker,
      due.flatMap(([txid, { slot }]) => (FORGOTTEN.includes(slot) ? [txid] : [])),
    );
  }

  #reorg(ticker: Ticker, forget: readonly string[]): void {
    this.#world.chain(ticker).reorg(REORG_DEPTH, forget);
  }
}
