import { type SortedUnspents, sortUnspents, withoutUnspents, withUnspents } from "../../core/utxo/sortedUnspents.ts";
import type { OutPoint } from "../../core/utxo/tx.ts";
import type { SeenOutput } from "../../ports/chain.ts";

/**
 * The own outputs as a chain lists them, by what is asked of them. A wallet may have thousands, most of them spent, and a transaction changes
 * a few: of a new list only what is another object than before is sorted in.
 */
export class ListedOutputs {
  #all: readonly SeenOutput[] = [];
  #unspent: SortedUnspents<SeenOutput> = sortUnspents([]);
  readonly #unconfirmed = new Set<SeenOutput>();
  readonly #byTx = new Map<string, Map<number, SeenOutput>>();
  /** Outputs in `#byTx`. */
  #count = 0;

  get all(): readonly SeenOutput[] {
    return this.#all;
  }

  /** Those that the chain shows in no spend, in the order in which they are chosen from. */
  get unspent(): SortedUnspents<SeenOutput> {
    return this.#unspent;
  }

  /** Those that an unconfirmed transaction makes or spends. */
  get unconfirmed(): Iterable<SeenOutput> {
    return this.#unconfirmed;
  }

  /** Those that one transaction makes. */
  of(txid: string): Iterable<SeenOutput> {
    return this.#byTx.get(txid)?.values() ?? [];
  }

  at({ txid, vout }: OutPoint): SeenOutput | undefined {
    return this.#byTx.get(txid)?.get(vout);
  }

  /** @param all what the chain lists now, each output once */
  update(all: readonly SeenOutput[]): void {
    const before = this.#all;
    this.#all = all;
    this.#sortIn(all.filter((o, i) => o !== before[i] && o !== this.at(o)));
    if (this.#count === all.length) return;
    // Some are gone, which is rare: after a reorganisation, or when they were spent long ago.
    this.#byTx.clear();
    this.#unconfirmed.clear();
    this.#count = 0;
    this.#unspent = sortUnspents([]);
    this.#sortIn(all);
  }

  #sortIn(changed: readonly SeenOutput[]): void {
    if (changed.length === 0) return;
    const former = changed.flatMap((o) => this.at(o) ?? []);
    for (const o of former) this.#unconfirmed.delete(o);
    for (const o of changed) {
      if (!o.block || (o.spentBy && !o.spentBy.block)) this.#unconfirmed.add(o);
      const others = this.#byTx.get(o.txid);
      if (others) others.set(o.vout, o);
      else this.#byTx.set(o.txid, new Map([[o.vout, o]]));
    }
    this.#count += changed.length - former.length;
    const left = withoutUnspents(this.#unspent, former);
    const unspent = changed.filter((o) => !o.spentBy);
    this.#unspent = left.length === 0 ? sortUnspents(unspent) : withUnspents(left, unspent);
  }
}
