import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import type { Guard } from "../../ports/chain.ts";

/** Spends kept of one script: every version of a claim and a refund. */
const MAX_SENT_PER_SCRIPT = 20;

type Guarded = {
  readonly guards: Set<Guard>;
  /** Another one each time somebody else begins to guard it: who comes later has heard nothing yet. */
  round: number;
  /** Own spends by their ids, bytes in hex, the newest last. */
  readonly sent: Map<string, string>;
};

/** The scripts somebody guards, and what was sent from here that spends from them. */
export class Guards {
  readonly #index: ChainIndex;
  readonly #scripts = new Map<string, Guarded>();
  #rounds = 0;

  constructor(index: ChainIndex) {
    this.#index = index;
  }

  /** @returns ends it; more than once is harmless */
  add(scriptHex: string, guard: Guard): () => void {
    const guarded = this.#scripts.get(scriptHex) ?? { guards: new Set(), round: 0, sent: new Map() };
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

  tell(scriptHex: string, tx: { readonly txid: string; readonly raw: Uint8Array }): void {
    for (const { onTx } of this.#scripts.get(scriptHex)?.guards ?? []) onTx(tx);
  }

  /** A transaction is sent from here: one that spends from what is guarded is given to everybody who does not have it. */
  sent(txid: string, tx: Tx, raw: Uint8Array): void {
    const spent = new Set(tx.inputs.map((input) => `${input.txid}:${input.vout}`));
    for (const [scriptHex, { guards, sent }] of this.#scripts) {
      // Servers can also deny that it was ever paid.
      const isKnown = [...guards].some(({ payment }) => payment !== undefined && spent.has(`${payment}:0`));
      if (!isKnown && !this.#index.outputsOf(scriptHex).some((o) => spent.has(`${o.txid}:${o.vout}`))) continue;
      sent.delete(txid);
      sent.set(txid, toHex(raw));
      for (const oldest of sent.keys()) {
        if (sent.size <= MAX_SENT_PER_SCRIPT) break;
        sent.delete(oldest);
      }
    }
  }

  /** The own spend from a script that is in a block, which may be made up, or the last one; null: none was sent. */
  lastSent(scriptHex: string): { readonly txid: string; readonly hex: string } | null {
    const sent = [...(this.#scripts.get(scriptHex)?.sent ?? [])];
    const last = sent.find(([txid]) => this.#index.txEntry(txid)?.block) ?? sent.at(-1);
    return last ? { txid: last[0], hex: last[1] } : null;
  }
}

const dueOf = (guards: ReadonlySet<Guard>): number => Math.min(...[...guards].map(({ dueSec }) => dueSec));
