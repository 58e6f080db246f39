import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { SEQUENCE_FINAL } from "../../core/utxo/txTemplate.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ServerFault } from "./fault.ts";

/** First and longest pause before who refused is offered the same again, ms; doubles from one to the other. */
const FIRST_MS = 5_000;
const LAST_MS = 120_000;
/** The longest while its lock time keeps it out of every block: each offer is refused, and blocks without which it stays so may be hours away. */
const EARLY_LAST_MS = 600_000;
/** Transactions remembered. */
const MAX_KNOWN = 200;

/** Answers of servers that refused a transaction and turned out not to have it, by their names. */
export type Refusals = ReadonlyMap<string, ServerFault>;
const NONE: Refusals = new Map();

type Refused = {
  readonly refusals: Refusals;
  /** What the answer may hang on: what is known of its inputs, and whether its time has come. */
  readonly met: string;
  readonly atMs: number;
  readonly pauseMs: number;
};

/**
 * Refusals of transactions that somebody keeps on sending: ElectrumX counts each for a hundred, and forgives about one a second. The same
 * bytes meet the same answer while nothing else is known of their inputs and their time has not come, or soon another. Who did not refuse them yet is asked
 * at once, and only it: one server that comes and goes is no reason to ask the others again.
 */
export class RefusedBroadcasts {
  readonly #index: ChainIndex;
  readonly #clock: Clock;
  readonly #known = new Map<string, Refused>();
  /** By transaction: with what words a server refused that turned out not to have it. */
  readonly #lacking = new Map<string, Map<string, string>>();

  constructor(index: ChainIndex, clock: Clock) {
    this.#index = index;
    this.#clock = clock;
  }

  /** What those said whom it is too early to ask again; the others are to be asked. */
  lately(txid: string, tx: Tx): Refusals {
    const known = this.#known.get(txid);
    if (known === undefined || known.met !== this.#meets(tx)) return NONE;
    const passedMs = this.#clock.nowMs() - known.atMs;
    return passedMs >= 0 && passedMs < known.pauseMs ? known.refusals : NONE;
  }

  /** @param lately those that were not asked again; they are among `refusals` */
  heard(txid: string, tx: Tx, refusals: Refusals, lately: Refusals): void {
    const before = this.#known.get(txid);
    if (refusals.size === 0) {
      this.forget(txid);
      return;
    }
    if (before !== undefined && lately.size > 0) {
      this.#known.set(txid, { ...before, refusals });
      return;
    }
    // The newest last: the oldest are left out first.
    this.#known.delete(txid);
    const met = this.#meets(tx);
    const pauseMs = before?.met === met ? Math.min(2 * before.pauseMs, this.#isEarly(tx) ? EARLY_LAST_MS : LAST_MS) : FIRST_MS;
    this.#known.set(txid, { refusals, met, atMs: this.#clock.nowMs(), pauseMs });
    dropOldest(this.#known, MAX_KNOWN, (oldest) => this.#lacking.delete(oldest));
  }

  forget(txid: string): void {
    this.#known.delete(txid);
    this.#lacking.delete(txid);
  }

  /** Servers by name with the words of a refusal, after which they turned out not to have a transaction; to be added to. */
  lacking(txid: string): Map<string, string> {
    if (this.#lacking.size > MAX_KNOWN) this.#lacking.clear();
    const lacking = this.#lacking.get(txid) ?? new Map<string, string>();
    this.#lacking.set(txid, lacking);
    return lacking;
  }

  #meets(tx: Tx): string {
    const parents = tx.inputs.map(({ txid }) => {
      const parent = this.#index.txEntry(txid);
      return parent === undefined ? "unknown" : (parent.block?.hash ?? "no block");
    });
    return [...parents, this.#isEarly(tx) ? "early" : "final"].join(" ");
  }

  /** A lock time binds only where an input is not final (BIP-65, BIP-113). */
  #isEarly({ lockTime, inputs }: Tx): boolean {
    return inputs.some(({ sequence }) => sequence !== SEQUENCE_FINAL) && lockTime >= (this.#index.tip()?.medianTimePastSec ?? 0);
  }
}
