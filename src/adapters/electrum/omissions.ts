import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { isWhole, type Tracked } from "./scriptViews.ts";

/** A server may take this long to put a block it has told of into its histories, ms. */
const PATIENCE_MS = 30_000;
/** Omissions remembered. */
const MAX_REMEMBERED = 10_000;
/** Headers one server is asked for at a look, all at once: it may leave out thousands, and answer late. */
const MAX_ASKED = 50;

/** A transaction that a server leaves out, with the block it is proven to be in. */
type Omitted = { readonly txid: string; readonly block: BlockRef };

/**
 * Finds servers that keep from us what another one has proven: a transaction in a block they have themselves is missing in the
 * history they tell, or stands there elsewhere.
 */
export class Omissions {
  readonly #index: ChainIndex;
  readonly #reader: HeaderReader;
  readonly #clock: Clock;
  #sinceMs = new Map<string, number>();
  /** Scripts of which somebody who is not asked otherwise proved something. */
  readonly #suspected = new Set<string>();
  /** Servers that are asked just now whether they have the blocks. */
  readonly #judging = new Set<RemoteServer>();

  constructor(index: ChainIndex, reader: HeaderReader, clock: Clock) {
    this.#index = index;
    this.#reader = reader;
    this.#clock = clock;
  }

  /** One that is visited proved more of a script than all who are asked tell: that these agree is no excuse then. */
  suspect(scriptHex: string): void {
    if (this.#suspected.size >= MAX_REMEMBERED) this.#suspected.clear();
    this.#suspected.add(scriptHex);
  }

  /**
   * To be called after a look that asked for statuses anew. Nobody waits for what the servers say to it.
   * @param isAsked whether a server did so for a script: what it tells of that by then is no matter of a late message, or of one that was forgotten
   */
  look(scripts: readonly Tracked[], isAsked: (tracked: Tracked, server: RemoteServer) => boolean): void {
    const still = new Map<string, number>();
    const overdue = new Map<RemoteServer, Omitted[]>();
    const nowMs = this.#clock.nowMs();
    for (const tracked of scripts) {
      const { scriptHex, scriptHash, views, only } = tracked;
      const statuses = new Set([...views.values()].map((v) => v.status));
      if (only !== null || (statuses.size < 2 && !this.#suspected.has(scriptHex))) continue;
      const touching = this.#touching(scriptHex);
      for (const [server, view] of views) {
        const heights = new Map(view.lines.map((l) => [l.txid, l.height]));
        for (const txid of touching) {
          const block = this.#index.txEntry(txid)?.block;
          if (!block || !isWhole(view) || heights.get(txid) === block.height || still.size >= MAX_REMEMBERED) continue;
          if (server.tip === null || server.tip.height < block.height) continue;
          const key = `${server.name} ${scriptHash} ${txid} ${block.hash}`;
          const sinceMs = Math.min(nowMs, this.#sinceMs.get(key) ?? nowMs);
          still.set(key, sinceMs);
          if (nowMs - sinceMs >= PATIENCE_MS && isAsked(tracked, server))
            overdue.set(server, [...(overdue.get(server) ?? []).slice(1 - MAX_ASKED), { txid, block }]);
        }
      }
    }
    this.#sinceMs = still;
    for (const [server, omitted] of overdue) void this.#judge(server, omitted);
  }

  async #judge(server: RemoteServer, omitted: readonly Omitted[]): Promise<void> {
    if (this.#judging.has(server)) return;
    this.#judging.add(server);
    const had = await Promise.all(omitted.map(({ block }) => this.#has(server, block)));
    this.#judging.delete(server);
    const hidden = omitted.find((_, i) => had[i]);
    if (hidden === undefined) return;
    server.contradicted(`it hides transaction ${hidden.txid}, which is proven to be in block ${hidden.block.height}`);
  }

  /**
   * Transactions that pay a script or spend what pays it: these belong into its history, whoever names them. What somebody names there
   * without reason nobody else has to.
   */
  #touching(scriptHex: string): ReadonlySet<string> {
    const touching = new Set<string>();
    for (const { txid, spentBy } of this.#index.outputsOf(scriptHex)) {
      touching.add(txid);
      if (spentBy !== null) touching.add(spentBy.txid);
    }
    return touching;
  }

  /** Whether the server's own chain has the block. */
  async #has(server: RemoteServer, block: BlockRef): Promise<boolean> {
    const header = await this.#reader.headerOf(server, block.height);
    return header.ok && header.value.hash === block.hash;
  }
}
