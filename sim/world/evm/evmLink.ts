import { type FaultEffect, Faults } from "../../../src/chain/faults.ts";
import type { Clock } from "../../../src/ports/clock.ts";

/** What the nodes of a user say wrong while those that lie are the majority; for heights there is the fault `wrong_height`. */
export type EvmLies = {
  /** Time of the tip, seconds. */
  timeSec: number;
  /** All prices of gas, in hundredths of the true ones. */
  gasPercent: bigint;
  /** What a transaction's data costs beside its gas; null: they say what it is. */
  dataWei: bigint | null;
};

/** Name of the call a broadcast counts as, for `Faults`. */
export const SEND = "sendrawtransaction";

/**
 * The nodes of an account chain that one node of the world asks, taken as one: what is wrong with them outlives the crashes of
 * whoever asks. Faults as of daemons; a `stall` is no answer at all, `isStuck` one about a chain that stands still.
 */
export class EvmLink {
  readonly faults: Faults;
  readonly lies: EvmLies = { timeSec: 0, gasPercent: 100n, dataWei: null };
  /** While true they see no new blocks and transactions; what they are sent they pass on. */
  isStuck = false;
  /** While true they take a transaction, say so, and pass it on to nobody. */
  isSwallowing = false;
  /** While true their logs have no events of the swap contracts. */
  hasNoLogs = false;
  /** While true the search of their logs for what those lack has not come to its end: of a chain with many blocks it takes hours. */
  isSearching = false;
  /** While they are away one of them is left: too few to agree on anything, and it shows what proves itself. */
  isOneLeft = false;
  /** Of so many of the newest blocks they know what became of accounts and contracts, and neither receipts nor logs yet. */
  receiptsBehind = 0;
  /** Of blocks below they have neither receipts nor logs any more. */
  receiptsFrom = 0;
  /** So much more gas than is needed says one of two; of the two figures the greater counts, as far as who asks takes so much. */
  moreGas = 0n;
  /** While true they carry out no call with replaced code. */
  hasNoOverrides = false;
  /** How long after a block they tell of it, ms; null: they do not, and the view waits for its next look. */
  headDelayMs: number | null = null;

  constructor(clock: Clock) {
    this.faults = new Faults(clock);
  }

  /** Misbehave from now on: until `count` uses, for `forMs`, or until `faults.clear()`. */
  fault(effect: FaultEffect, until: { readonly count?: number; readonly forMs?: number } = {}): void {
    this.faults.add({
      ...effect,
      methods: effect.kind === "lost_reply" ? [SEND] : null,
      count: until.count ?? null,
      forMs: until.forMs ?? null,
    });
  }
}
