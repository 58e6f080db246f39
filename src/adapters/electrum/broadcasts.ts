import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import type { BroadcastOutcome } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { broadcastTx } from "./broadcastTx.ts";
import type { Bounded } from "./callBound.ts";
import type { ChosenServers } from "./chosenServers.ts";
import type { ElectrumLoop } from "./electrumLoop.ts";
import { RefusedBroadcasts } from "./refusedBroadcasts.ts";
import type { RefusedHistories } from "./refusedHistories.ts";
import type { ServerPool } from "./serverPool.ts";
import type { WatchedTxs } from "./watchedTxs.ts";

export type BroadcastsDeps = {
  readonly ticker: string;
  readonly index: ChainIndex;
  readonly chosen: ChosenServers;
  readonly pool: ServerPool;
  readonly watchedTxs: WatchedTxs;
  readonly refusedHistories: RefusedHistories;
  readonly loop: ElectrumLoop;
  readonly clock: Clock;
  readonly log: Log;
  readonly bounded: Bounded;
};

/** A transaction on its way out: its bytes, and what they say. */
export type Outgoing = { readonly txid: string; readonly tx: Tx; readonly raw: Uint8Array };

/** Sends transactions to the connected servers, and knows of them from then on. */
export class Broadcasts {
  readonly #deps: BroadcastsDeps;
  readonly #refused: RefusedBroadcasts;

  constructor(deps: BroadcastsDeps) {
    this.#deps = deps;
    this.#refused = new RefusedBroadcasts(deps.index, deps.clock);
  }

  async send(outgoing: Outgoing, signal?: AbortSignal): Promise<BroadcastOutcome> {
    const { ticker, index, chosen, pool, watchedTxs, refusedHistories, log, bounded } = this.#deps;
    const { txid, tx, raw } = outgoing;
    const mined = index.txEntry(txid)?.block != null;
    watchedTxs.sent(txid, tx);
    refusedHistories.offered(txid, tx);
    const servers = pool.connected();
    // Of what has been seen since, no refusal counts.
    if (index.txEntry(txid) !== undefined) this.#refused.forget(txid);
    const refused = this.#refused.lately(txid, tx);
    const receivers = { servers, minConnected: chosen.needs.minConnected, lacking: this.#refused.lacking(txid), refused };
    const sent = await bounded(signal, null, () => broadcastTx(receivers, ticker, { txid, raw }, mined));
    if (sent === null) return { kind: "unknown", message: `The ${ticker} servers did not answer in time.` };
    const { outcome, refusals } = sent;
    void refusals.then((heard) => this.#refused.heard(txid, tx, heard, refused));
    // Not where all refused it so lately that none was asked.
    if (servers.length === 0 || servers.some(({ name }) => !refused.has(name))) log.info("broadcast", { txid, outcome: outcome.kind });
    if (outcome.kind === "accepted") await this.#note(outgoing, signal);
    return outcome;
  }

  /** Known at once, not only at the next look; a look that finds it missing takes it back. */
  async #note({ txid, tx, raw }: Outgoing, signal: AbortSignal | undefined): Promise<void> {
    const { index, loop, clock, log, bounded } = this.#deps;
    const noted = loop.enqueue(async () => {
      const facts = new FactsBuilder(index, clock.nowMs());
      facts.add([{ txid, tx, raw }], null);
      if (facts.size > 0) await loop.commit(facts.facts());
    });
    // It is out, whatever becomes of our note; the next look finds it again. A look that a slow server holds up is not waited for.
    await bounded(signal, undefined, () => noted).catch((cause: unknown) =>
      log.warn("broadcast_not_noted", { txid, cause: String(cause) }),
    );
  }
}
