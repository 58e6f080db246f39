import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { parseRawTx } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { ScriptViews } from "./scriptViews.ts";
import { majorityOf } from "./serverPool.ts";

/**
 * A transaction that no history names any more is believed gone after this long, ms, though servers still give its bytes: their
 * daemons keep transactions of blocks that left the chain.
 */
const FORGOTTEN_MS = 60_000;
/** Transactions asked for at one look, the first that are known; whoever likes can pay a watched script thousands of times. */
const MAX_ASKED = 500;

/** Finds out which unconfirmed transactions have left the mempools. */
export class MissingTxs {
  readonly #index: ChainIndex;
  readonly #views: ScriptViews;
  readonly #missingSinceMs = new Map<string, number>();

  constructor(index: ChainIndex, views: ScriptViews) {
    this.#index = index;
    this.#views = views;
  }

  /** Those of our unconfirmed transactions that are gone by the word of most servers. */
  async gone(servers: readonly RemoteServer[], nowMs: number): Promise<readonly string[]> {
    const unconfirmed = this.#index.unconfirmed();
    if (unconfirmed.length === 0) {
      this.#missingSinceMs.clear();
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
      if (unnamed.size >= MAX_ASKED) return;
      unnamed.add(txid);
      const sinceMs = Math.min(nowMs, this.#missingSinceMs.get(txid) ?? nowMs);
      this.#missingSinceMs.set(txid, sinceMs);
      const answers = await Promise.all(servers.map((s) => s.ask("blockchain.transaction.get", [txid], parseRawTx)));
      const without = answers.filter((a) => !a.ok && a.error.kind === "rpc").length;
      if (without >= majorityOf(servers.length) || (nowMs - sinceMs >= FORGOTTEN_MS && naming.size === 0)) gone.push(txid);
    });
    await Promise.all(looks);
    for (const txid of this.#missingSinceMs.keys()) if (!unnamed.has(txid)) this.#missingSinceMs.delete(txid);
    return gone;
  }
}
