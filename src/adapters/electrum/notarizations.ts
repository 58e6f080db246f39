import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { type Depth, parseDepth, parsePlacedId } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";

/** Notarizations also come between blocks. */
const MAX_AGE_MS = 10_000;
/** Where most servers have seen none so far, a new block is what brings the first; without one they are asked again after this long, ms. */
const UNCOUNTED_MAX_AGE_MS = 60_000;
/** A chain whose servers show none is asked again after this long, ms. */
const NONE_MAX_AGE_MS = 600_000;
/** Below every height. */
const NEVER = -1;

/**
 * Which blocks are notarized (KMD family), as far as followed transactions stand in them: servers tell it only in a transaction's
 * details. What most servers say counts.
 */
export class Notarizations {
  readonly #index: ChainIndex;
  /** Servers that were seen to count by notarizations. */
  readonly #capping = new Set<string>();
  #height = NEVER;
  #isShown = true;
  /** Most servers count by notarizations, as far as known. */
  #isCounted = true;
  #askedAtMs: number | null = null;
  #askedAtTip = "";
  #isAsking = false;

  constructor(index: ChainIndex) {
    this.#index = index;
  }

  /** Height up to which all is notarized, as far as known; -1 where nothing is. */
  get height(): number {
    return this.#height;
  }

  /** @returns whether the height changed */
  async refresh(servers: readonly RemoteServer[], nowMs: number): Promise<boolean> {
    const tip = this.#index.tipHeader;
    if (tip === undefined) return false;
    const isOld = this.#askedAtMs === null || Math.abs(nowMs - this.#askedAtMs) >= this.#maxAgeMs();
    if (!isOld && !(this.#isShown && tip.hash !== this.#askedAtTip)) return false;
    const before = this.#height;
    // What was notarized cannot be undone by the chain, but the chain may have been another one's.
    if (this.#height > tip.height) this.#height = NEVER;
    // One of each block: all in it, and all below, share what is said of it.
    const waiting = new Map(this.#index.txsAbove(this.#height).map(({ txid, height }) => [height, txid]));
    if (waiting.size > 0 && !this.#isAsking) {
      this.#isAsking = true;
      this.#askedAtMs = nowMs;
      this.#askedAtTip = tip.hash;
      try {
        const blocks = [...waiting].sort(([a], [b]) => a - b);
        await this.#search(blocks, tip.height, servers);
      } finally {
        this.#isAsking = false;
      }
    }
    return this.#height !== before;
  }

  /** @param blocks height, and a transaction in it; ascending */
  async #search(
    blocks: readonly (readonly [height: number, txid: string])[],
    tipHeight: number,
    servers: readonly RemoteServer[],
  ): Promise<void> {
    const counting = await Promise.all(servers.map(async (s) => ((await this.#caps(s, tipHeight)) ? [s.name] : [])));
    const capping = new Set(counting.flat());
    this.#isCounted = capping.size >= majorityOf(servers.length);
    // What is notarized ends somewhere: each answer leaves half of the blocks, however many wait and however deep they are.
    for (let low = 0, high = blocks.length; low < high; ) {
      const middle = Math.floor((low + high) / 2);
      const [height, txid] = blocks[middle] ?? [NEVER, ""];
      const isNotarized = await this.#ask(txid, height, servers, capping);
      // None can be where not enough count by them; that one was asked about shows whether any do.
      if (isNotarized === null || !this.#isCounted) break;
      // The chain goes on meanwhile: it may stand elsewhere by now.
      if (this.#index.txEntry(txid)?.block?.height !== height) break;
      if (isNotarized) this.#height = height;
      if (isNotarized) low = middle + 1;
      else high = middle;
    }
  }

  #maxAgeMs(): number {
    if (!this.#isShown) return NONE_MAX_AGE_MS;
    return this.#isCounted ? MAX_AGE_MS : UNCOUNTED_MAX_AGE_MS;
  }

  /** Whether most servers say that a transaction's block is notarized. Null: more show no such thing of any block than do. */
  async #ask(txid: string, height: number, servers: readonly RemoteServer[], capping: ReadonlySet<string>): Promise<boolean | null> {
    // Who is not there yet knows nothing of it, and counts as one who does not say it is notarized; so does who is on another chain by now.
    const ours = this.#index.txEntry(txid)?.block?.hash;
    const having = servers.filter((s) => s.tip !== null && s.tip.height >= height);
    const answers = await Promise.all(having.map((s) => s.ask("blockchain.transaction.get", [txid, true], parseDepth)));
    if (answers.every((a) => !a.ok)) return false;
    const shown = answers.filter((a) => a.ok && a.value !== null).length;
    // One that makes it up would have all others asked every few seconds, also on chains without notaries.
    this.#isShown = shown > 0 && shown >= answers.filter((a) => a.ok && a.value === null).length;
    if (!this.#isShown) return null;
    const isSaid = (depth: Depth): boolean => depth.counted > 1 && (depth.block === null || depth.block === ours);
    const sayNotarized = answers.filter((a, i) => a.ok && a.value !== null && isSaid(a.value) && capping.has(having[i]?.name ?? ""));
    return sayNotarized.length >= majorityOf(servers.length);
  }

  /**
   * Whether a server's daemon counts by notarizations at all: before the first one that it has seen, all its blocks count (Komodo's
   * `komodo_dpowconfs`). The block before the last shows it, which is hardly ever notarized already.
   */
  async #caps(server: RemoteServer, tipHeight: number): Promise<boolean> {
    const isKnown = this.#capping.has(server.name);
    if (isKnown || tipHeight < 2 || server.tip === null || server.tip.height < tipHeight - 1) return isKnown;
    const coinbase = await server.ask("blockchain.transaction.id_from_pos", [tipHeight - 1, 0, false], parsePlacedId);
    if (!coinbase.ok) return false;
    const depth = await server.ask("blockchain.transaction.get", [coinbase.value, true], parseDepth);
    if (depth.ok && depth.value !== null && depth.value.counted === 1 && depth.value.blocks > 1) this.#capping.add(server.name);
    return this.#capping.has(server.name);
  }
}
