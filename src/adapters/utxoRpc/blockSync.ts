import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { MEDIAN_SPAN } from "../../chainIndex/medianTime.ts";
import { err, ok } from "../../core/util/result.ts";
import type { ChainStore, StoredHeader } from "../../ports/chainStore.ts";
import { type HeaderAnswer, parseHeader } from "./answers.ts";
import type { Answer } from "./daemonCalls.ts";
import type { SyncContext } from "./syncContext.ts";

/** Headers kept: reorganisations up to this depth are followed block by block; a deeper one reads everything again. */
const HEADER_WINDOW = 400;
/** Headers fetched at the first start: the median time, and room for a reorganisation. */
const FIRST_WINDOW = 2 * MEDIAN_SPAN + 2;

export type FollowStep = {
  /** Height of the daemon's tip. */
  readonly target: number;
  /** False: another step is needed to get there. */
  readonly atTip: boolean;
};

/**
 * Follows the daemon's best chain. Heights are never believed alone: each is checked against the hash the daemon
 * gives for it, each block against the one before.
 */
export class BlockSync {
  readonly #ctx: SyncContext;
  readonly #store: ChainStore;
  #genesis: string | null;
  #genesisChecked = false;

  constructor(ctx: SyncContext, store: ChainStore, genesis: string | null) {
    this.#ctx = ctx;
    this.#store = store;
    this.#genesis = genesis;
  }

  /** After a failure the daemon may be another one: its first block is looked at again. */
  distrust(): void {
    this.#genesisChecked = false;
  }

  /** One bounded step towards the daemon's tip. */
  async step(): Promise<Answer<FollowStep>> {
    const best = await this.#ctx.calls.bestHash();
    if (!best.ok) return best;
    const genesis = this.#genesisChecked ? ok(undefined) : await this.#checkGenesis();
    if (!genesis.ok) return genesis;
    const tip = this.#ctx.index.tipHeader;
    if (tip?.hash === best.value) return ok({ target: tip.height, atTip: true });
    const header = await this.#bestHeader(best.value, tip);
    if (!header.ok) return header;
    const target = header.value.height;
    if (tip === undefined) return this.#startAt(header.value, false);
    const fork = isNext(header.value, tip) ? ok(tip.height) : await this.#findFork(tip, target);
    if (!fork.ok) return fork;
    if (fork.value === null) return this.#startAt(header.value, true);
    if (fork.value === target) return this.#shrinkTo(target);
    return this.#extend(fork.value, header.value);
  }

  async #checkGenesis(): Promise<Answer<undefined>> {
    const hash = await this.#ctx.calls.hashAt(0);
    if (!hash.ok) return hash;
    if (hash.value === null) return err({ kind: "contradiction", detail: "it has a best block and no first block" });
    if (this.#genesis === null) {
      // It is kept for good, so it is asked for twice.
      const header = await this.#ctx.calls.header(hash.value);
      if (!header.ok) return header;
      if (header.value.height !== 0) return err({ kind: "contradiction", detail: `its first block claims height ${header.value.height}` });
      await this.#store.setGenesis(hash.value);
      this.#genesis = hash.value;
    }
    if (hash.value !== this.#genesis) return err({ kind: "other_chain", expected: this.#genesis, found: hash.value });
    this.#genesisChecked = true;
    return ok(undefined);
  }

  /** Header of the best block, its height proven by asking for the hash at that height, unless it is the next one on ours. */
  async #bestHeader(hash: string, tip: StoredHeader | undefined): Promise<Answer<HeaderAnswer>> {
    const { calls } = this.#ctx;
    const header = await calls.header(hash);
    if (!header.ok) return header;
    const { height } = header.value;
    if (tip !== undefined && isNext(header.value, tip)) return header;
    const there = await calls.hashAt(height);
    if (!there.ok) return there;
    if (there.value === hash) return header;
    const again = await calls.bestHash();
    if (!again.ok) return again;
    if (again.value !== hash) return err({ kind: "moved" });
    return err({
      kind: "contradiction",
      detail: `its best block ${hash} claims height ${height}, where it has ${there.value ?? "no block"}`,
    });
  }

  /** The first view of a chain: headers only, no blocks. `reset`: also forget what the index held. */
  async #startAt(best: HeaderAnswer, reset: boolean): Promise<Answer<FollowStep>> {
    const { calls, commit, log } = this.#ctx;
    const from = Math.max(0, best.height - FIRST_WINDOW + 1);
    const hashes = await calls.hashesAt(from, best.height - from + 1);
    if (!hashes.ok) return hashes;
    const answers = await calls.askMany(
      "getblockheader",
      hashes.value.map((h) => [h]),
      parseHeader,
    );
    const headers: StoredHeader[] = [];
    for (const [i, hash] of hashes.value.entries()) {
      const answer = answers[i]?.ok ? answers[i] : await calls.header(hash);
      if (!answer.ok) return answer;
      const before = headers.at(-1);
      if (before && answer.value.prevHash !== before.hash) return err({ kind: "moved" });
      if (answer.value.hash !== hash || answer.value.height !== from + i)
        return err({ kind: "contradiction", detail: `block ${hash} at height ${from + i} claims height ${answer.value.height}` });
      headers.push(answer.value);
    }
    if (headers.at(-1)?.hash !== best.hash) return err({ kind: "moved" });
    if (reset) log.warn("chain_reorganised_beyond_window", { height: best.height });
    await commit({ reset, headers });
    return ok({ target: best.height, atTip: true });
  }

  /** Height of the last block we share with the daemon's best chain; null when it is below all headers we kept. */
  async #findFork(tip: StoredHeader, target: number): Promise<Answer<number | null>> {
    const { calls, index } = this.#ctx;
    if (target < index.windowBottom) return err({ kind: "behind", height: target, ours: tip.height });
    for (let height = Math.min(target, tip.height); height >= index.windowBottom; height--) {
      const theirs = await calls.hashAt(height);
      if (!theirs.ok) return theirs;
      if (theirs.value === null) return err({ kind: "moved" });
      if (theirs.value === index.headerAt(height)?.hash) return ok(height);
    }
    return target < tip.height ? err({ kind: "behind", height: target, ours: tip.height }) : ok(null);
  }

  async #shrinkTo(height: number): Promise<Answer<FollowStep>> {
    const { commit, index, log } = this.#ctx;
    log.warn("chain_shrank", { from: index.tipHeader?.height, to: height });
    await commit({ rollbackTo: height, gone: index.coinbasesAbove(height) });
    return ok({ target: height, atTip: true });
  }

  /** Reads the next blocks above `fork` and commits them together with what they replace. */
  async #extend(fork: number, best: HeaderAnswer): Promise<Answer<FollowStep>> {
    const target = best.height;
    const { index, reader, rewards, commit, outputsFound, clock, log } = this.#ctx;
    const blocks = await reader.read(fork + 1, target - fork, (height) => (height === target ? best.hash : undefined));
    if (!blocks.ok) return blocks;
    if (blocks.value[0]?.block.prevHash !== index.headerAt(fork)?.hash) return err({ kind: "moved" });
    const facts = new FactsBuilder(index, clock.nowMs());
    const headers: StoredHeader[] = [];
    for (const { height, hash, block } of blocks.value) {
      facts.add(block.txs, { height, hash });
      headers.push({ height, hash, prevHash: block.prevHash, timeSec: block.timeSec });
    }
    const ours = index.tipHeader?.height ?? fork;
    const reorg = fork < ours ? { rollbackTo: fork, gone: index.coinbasesAbove(fork) } : {};
    if (fork < ours) log.warn("chain_reorganised", { fork, depth: ours - fork });
    const reached = headers.at(-1)?.height ?? fork;
    const found = facts.newOutputs();
    await commit({ ...reorg, headers, dropHeadersBelow: reached - HEADER_WINDOW, ...facts.facts() });
    rewards.note(blocks.value);
    outputsFound(found);
    return ok({ target, atTip: reached === target });
  }
}

/** The block after our tip: what is known of ours says how high it is and where it forks off. */
const isNext = (header: HeaderAnswer, tip: StoredHeader): boolean => header.prevHash === tip.hash && header.height === tip.height + 1;
