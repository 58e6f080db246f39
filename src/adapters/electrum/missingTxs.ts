import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { AskCredit } from "../../core/util/askCredit.ts";
import type { Clock } from "../../ports/clock.ts";
import { parseRawTx } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import { mostOf } from "./mostOf.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { ScriptViews } from "./scriptViews.ts";
import { majorityOf } from "./serverPool.ts";

/**
 * A transaction that no history names any more is believed gone after this long, ms, though servers still give its bytes: their
 * daemons keep transactions of blocks that left the chain. So is one that most do not name, where there was nothing left to ask with.
 */
const FORGOTTEN_MS = 60_000;
/**
 * Transactions asked for at once, and the pause for one more, ms: ElectrumX (1.15) counts a hundred for each that a server does not have, forgives
 * one a second and cuts off at ten thousand. Whoever likes can pay a watched script hundreds of times and replace it all at once.
 */
const MAX_ASKED = 20;
const ASK_AGAIN_MS = 100_000;

/** Finds out which unconfirmed transactions have left the mempools. */
export class MissingTxs {
  readonly #index: ChainIndex;
  readonly #views: ScriptViews;
  readonly #clock: Clock;
  readonly #missingSinceMs = new Map<string, number>();
  readonly #credit = new AskCredit(MAX_ASKED, ASK_AGAIN_MS);
  readonly #denied = new AskAgain();
  /** Taken for there though most do not name them: what to ask for each with is put aside until then. */
  readonly #taken = new Set<string>();

  constructor(index: ChainIndex, views: ScriptViews, clock: Clock) {
    this.#index = index;
    this.#views = views;
    this.#clock = clock;
  }

  /** Those of our unconfirmed transactions that are gone by the word of most servers. */
  async gone(servers: readonly RemoteServer[], nowMs: number): Promise<readonly string[]> {
    const unconfirmed = this.#index.unconfirmed();
    if (unconfirmed.length === 0) {
      this.#missingSinceMs.clear();
      this.#giveBack();
      return [];
    }
    const named = this.#views.namedBy(new Set(unconfirmed));
    const gone: string[] = [];
    const unnamed = new Set<string>();
    const silent = this.#views.silent();
    // All at once: one server that answers late must not make each wait for the one before.
    const looks = unconfirmed.map(async (txid) => {
      // Who refuses the history that would name it says nothing of it.
      const naming = new Set([...(named.get(txid) ?? []), ...(silent.get(txid) ?? []), ...(silent.get(null) ?? [])]);
      // Those who name it and those who do not cannot both be most.
      if (servers.filter((s) => !naming.has(s)).length < majorityOf(servers.length)) return;
      unnamed.add(txid);
      const sinceMs = Math.min(nowMs, this.#missingSinceMs.get(txid) ?? nowMs);
      this.#missingSinceMs.set(txid, sinceMs);
      const isForgotten = nowMs - sinceMs >= FORGOTTEN_MS;
      const mayAsk = !(isForgotten && naming.size === 0) && (this.#taken.delete(txid) || this.#credit.take(nowMs));
      if (mayAsk ? await this.#isNowhere(txid, servers) : isForgotten) gone.push(txid);
    });
    await Promise.all(looks);
    this.#giveBack();
    for (const txid of this.#missingSinceMs.keys()) if (!unnamed.has(txid)) this.#missingSinceMs.delete(txid);
    for (const txid of gone) this.#denied.refused(txid, nowMs);
    return gone;
  }

  /**
   * Whether what few name and most do not may be taken for there: only where the others can be asked for it, and less and less often what they
   * deny.
   */
  mayTake(txid: string, nowMs: number): boolean {
    if (this.#taken.has(txid)) return true;
    const mayTake = this.#denied.isDue(txid, nowMs) && this.#credit.take(nowMs);
    if (mayTake) this.#taken.add(txid);
    return mayTake;
  }

  /** Of those that are left nobody was asked: most name them by now, or nobody gave their bytes. */
  #giveBack(): void {
    for (let i = 0; i < this.#taken.size; i++) this.#credit.giveBack();
    this.#taken.clear();
  }

  /** Whether most servers say that they do not have a transaction. What nobody refuses costs nothing. */
  async #isNowhere(txid: string, servers: readonly RemoteServer[]): Promise<boolean> {
    const asked = servers.map((s) => s.ask("blockchain.transaction.get", [txid], parseRawTx));
    const answers = await mostOf(this.#clock, asked);
    const refusals = answers.filter((a) => a?.ok === false && a.error.kind === "rpc").length;
    if (refusals === 0) this.#credit.giveBack();
    return refusals >= majorityOf(servers.length);
  }
}
