import { type SortedUnspents, sortUnspents } from "../../core/utxo/sortedUnspents.ts";
import type { OutPoint } from "../../core/utxo/tx.ts";
import type { SeenOutput } from "../../ports/chain.ts";

/** The own outputs as a chain lists them at one time, by what is asked of them: a wallet may have thousands, most of them spent. */
export class ListedOutputs {
  readonly all: readonly SeenOutput[];
  /** Those that the chain shows in no spend, in the order in which they are chosen from. */
  readonly unspent: SortedUnspents<SeenOutput>;
  /** Those that an unconfirmed transaction makes or spends. */
  readonly unconfirmed: readonly SeenOutput[];
  readonly #byTx = new Map<string, SeenOutput[]>();

  constructor(all: readonly SeenOutput[]) {
    this.all = all;
    this.unspent = sortUnspents(all.filter((o) => !o.spentBy));
    this.unconfirmed = all.filter((o) => !o.block || (o.spentBy && !o.spentBy.block));
    for (const output of all) {
      const others = this.#byTx.get(output.txid);
      if (others) others.push(output);
      else this.#byTx.set(output.txid, [output]);
    }
  }

  /** Those that one transaction makes. */
  of(txid: string): readonly SeenOutput[] {
    return this.#byTx.get(txid) ?? [];
  }

  at({ txid, vout }: OutPoint): SeenOutput | undefined {
    return this.of(txid).find((o) => o.vout === vout);
  }
}
