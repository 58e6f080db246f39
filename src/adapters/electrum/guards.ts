import type { Guard, OwnSpend } from "../../ports/chain.ts";

type Guarded = {
  readonly guards: Set<Guard>;
  /** Another one each time somebody else begins to guard it: who comes later has heard nothing yet. */
  round: number;
};

/** The scripts somebody guards. */
export class Guards {
  readonly #scripts = new Map<string, Guarded>();
  #rounds = 0;

  /** @returns ends it; more than once is harmless */
  add(scriptHex: string, guard: Guard): () => void {
    const guarded = this.#scripts.get(scriptHex) ?? { guards: new Set(), round: 0 };
    this.#scripts.set(scriptHex, guarded);
    guarded.guards.add(guard);
    guarded.round = ++this.#rounds;
    return () => {
      guarded.guards.delete(guard);
      if (guarded.guards.size === 0 && this.#scripts.get(scriptHex) === guarded) this.#scripts.delete(scriptHex);
    };
  }

  /** Those who guard a script are the same for as long as this is; 0: nobody does. */
  roundOf(scriptHex: string): number {
    return this.#scripts.get(scriptHex)?.round ?? 0;
  }

  /** The most urgent first. */
  scripts(): readonly string[] {
    const dues = [...this.#scripts].map(([scriptHex, { guards }]) => ({ scriptHex, dueSec: dueOf(guards) }));
    return dues.sort((a, b) => a.dueSec - b.dueSec).map(({ scriptHex }) => scriptHex);
  }

  /** When the most urgent is due, unix seconds; null: nothing is guarded. */
  get dueSec(): number | null {
    const dues = [...this.#scripts.values()].map(({ guards }) => dueOf(guards));
    return dues.length === 0 ? null : Math.min(...dues);
  }

  tell(scriptHex: string, tx: { readonly txid: string; readonly raw: Uint8Array }, teller: string): void {
    for (const { onTx } of this.#scripts.get(scriptHex)?.guards ?? []) onTx(tx, teller);
  }

  /** The own payments to a script, or what undoes one, in the order in which they are taken. */
  paymentsOf(scriptHex: string): readonly (readonly OwnSpend[])[] {
    return [...(this.#scripts.get(scriptHex)?.guards ?? [])].flatMap(({ payments }) => (payments ? [payments()] : []));
  }

  /** The own spends from a script, by what they spend, of each the one to be sent first. */
  spendsOf(scriptHex: string): readonly (readonly OwnSpend[])[] {
    return [...(this.#scripts.get(scriptHex)?.guards ?? [])].flatMap(({ spends }) => spends?.() ?? []);
  }
}

const dueOf = (guards: ReadonlySet<Guard>): number => Math.min(...[...guards].map(({ dueSec }) => dueSec));
