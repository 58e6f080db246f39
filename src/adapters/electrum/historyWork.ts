import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { type Facts, FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { longSpent } from "../../chainIndex/longSpent.ts";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { AskCredit } from "../../core/util/askCredit.ts";
import { err, ok } from "../../core/util/result.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { ChainDelta, ChainStore, StoredTx } from "../../ports/chainStore.ts";
import { AskAgain } from "./askAgain.ts";
import type { AskedBeside } from "./askedBeside.ts";
import { aheadOf, type Claim, claimsOf, knownBy, merge, namingOf } from "./claims.ts";
import type { Look } from "./fault.ts";
import type { HeaderFollower } from "./headerFollower.ts";
import type { HeaderPlan } from "./headerPlan.ts";
import type { HeaderReader } from "./headerReader.ts";
import { type Finding, isContested, isFound, type Job, mark, piecesOf, reopen } from "./historyJobs.ts";
import { inTurn } from "./inTurn.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { Tracked } from "./scriptViews.ts";
import { majorityOf, witnessesOf } from "./serverPool.ts";
import type { TxProver } from "./txProver.ts";

/** Most transactions read and proven at once, and fewest where they are large. */
const AT_ONCE = 200;
const FEWEST_AT_ONCE = 2;
/**
 * Transactions of one server worked off at a look that most others leave out of the same history. One honest server is a few ahead of the others;
 * a liar's twenty thousand, each answered as late as may be, would keep what the others tell waiting for an hour.
 */
const MAX_CONTESTED = 50;
/** And one more each so many ms: what cannot be read takes milliseconds, and whoever names it can tell of a change five times a second. */
const CONTESTED_MS = 100;
/**
 * What is left of these, and what of them nobody gives or proves, is gone through again so long after, ms: where a liar names tens of thousands that alone
 * takes a tenth of a second, and news of others can begin five looks a second.
 */
export const LATER_MS = 5_000;
/**
 * From so many transactions on each server is asked for a share of them, and not the first for all: ElectrumX (1.15) counts one for each
 * and cuts off at ten thousand, and whoever likes can pay a watched script that often.
 */
const SHARED_FROM = 100;
/** Transactions remembered that nobody gave. */
const MAX_UNGIVEN = 100_000;
/**
 * Blocks before all headers that are kept in which most deny what one names: all are asked for the header of so many at once, and of one more
 * each so many ms. One server can name others at each look, and each counts at all.
 */
const OLD_BLOCKS = 100;
const OLD_BLOCK_MS = 2_000;
/** How often a history is gone through again because it made known outputs that others of it may spend. */
const MAX_PASSES = 4;

export type HistoryWorkDeps = {
  readonly index: ChainIndex;
  readonly follower: HeaderFollower;
  readonly reader: HeaderReader;
  readonly prover: TxProver;
  readonly beside: AskedBeside<Finding>;
  /**
   * Bytes of transactions after which no more are begun with before what they say is written: whoever likes can pay a script with large
   * ones. As many again are on the way then, and each byte is two on the way.
   */
  readonly bytesPerWrite: number;
  /** Whether a transaction in no block that few name and most do not may be taken for there. */
  readonly mayTake: (txid: string) => boolean;
  /** How many must be connected before anything is believed. */
  readonly minConnected: () => number;
  readonly nowMs: () => number;
  /** Has what has left memory because it was spent long ago: servers would have to be asked for thousands of transactions each time it is gone through. */
  readonly store: Pick<ChainStore, "storedTxs" | "spentIn">;
  readonly commit: (delta: ChainDelta) => Promise<void>;
};

/** Makes facts of histories: what is in a block is proven, what is in the mempool has two witnesses. */
export class HistoryWork {
  readonly #deps: HistoryWorkDeps;
  /** Transactions that nobody gave when they were asked for last. */
  readonly #ungiven = new Set<string>();

  /** When who did not give what most name is asked for it again: each time counts, and may be of a hundred kilobytes. */
  readonly #again = new AskAgain();
  readonly #contested = new WeakMap<RemoteServer, AskCredit>();
  readonly #oldBlocks = new AskCredit(OLD_BLOCKS, OLD_BLOCK_MS);
  /** Of the largest transaction read lately, bytes. */
  #largest = 1;

  constructor(deps: HistoryWorkDeps) {
    this.#deps = deps;
  }

  /**
   * Works off the histories of `scripts` and writes what they say, the first time together with `before`.
   * `unproven`: a claim could not be proven now and not be disproven either. `moved`: who named what is new went away before it gave it. `unfinished`: it was late before all was worked off.
   */
  async run(
    scripts: readonly Tracked[],
    plan: HeaderPlan,
    servers: readonly RemoteServer[],
    before: ChainDelta,
    isLate: () => boolean,
  ): Promise<Look<undefined>> {
    const laterMs = this.#deps.nowMs() + LATER_MS;
    let delta = before;
    let unproven: Claim | undefined;
    let isLost = false;
    for (let pass = 0, again = true; again && pass < MAX_PASSES; pass++) {
      again = false;
      const pieces = [...piecesOf(this.#open(scripts, plan), servers.length, this.#ungiven, (job) => this.#mayRead(job), laterMs)];
      for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
        const findings = await this.#findSome(piece, plan, servers, isLate);
        const part = piece.slice(0, findings.length);
        if (part.length < piece.length) pieces.unshift(piece.slice(part.length));
        unproven ??= part[findings.indexOf("unproven")]?.claim;
        isLost ||= part.some((job, i) => findings[i] === "lost" && !isContested(job, servers.length));
        const { facts, spentFrom } = await this.#facts(part, findings);
        await this.#deps.commit(joined(delta, facts));
        delta = {};
        mark(part, findings, servers.length, laterMs);
        this.#noteUngiven(part, findings);
        if (spentFrom !== null) again = reopen(part, spentFrom) || again;
        if (isLate()) {
          for (const tracked of scripts) tracked.changed = true;
          return err({ kind: "unfinished", hasAsked: true });
        }
      }
    }
    if (Object.keys(delta).length > 0) await this.#deps.commit(delta);
    if (unproven !== undefined) return err({ kind: "unproven", txid: unproven.txid, heights: [...unproven.blocks.keys()] });
    return isLost ? err({ kind: "moved" }) : ok(undefined);
  }

  /** What the first of `jobs` come to, at least one of them: no more are begun with once these hold as much as is written at a time, or it is late. */
  async #findSome(
    jobs: readonly Job[],
    plan: HeaderPlan,
    servers: readonly RemoteServer[],
    isLate: () => boolean,
  ): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    let begun = 0;
    let bytes = 0;
    const { bytesPerWrite } = this.#deps;
    const atOnce = Math.max(FEWEST_AT_ONCE, Math.min(AT_ONCE, Math.floor(bytesPerWrite / this.#largest)));
    this.#largest = Math.ceil(this.#largest / 2);
    const work = async (): Promise<void> => {
      const isOver = (): boolean => bytes >= bytesPerWrite || (begun > 0 && isLate());
      for (let job = jobs[begun]; job !== undefined && !isOver(); job = jobs[begun]) {
        const at = begun++;
        const finding = await this.#findSoon(job, plan, servers, jobs.length < SHARED_FROM ? 0 : at);
        findings[at] = finding;
        if (isFound(finding)) bytes += finding.tx.raw.length;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return findings;
  }

  #noteUngiven(jobs: readonly Job[], findings: readonly Finding[]): void {
    if (this.#ungiven.size >= MAX_UNGIVEN) this.#ungiven.clear();
    for (const [i, { claim }] of jobs.entries()) {
      if (findings[i] === "ungiven") this.#ungiven.add(claim.txid);
      else if (findings[i] !== "lost" && findings[i] !== "late") this.#ungiven.delete(claim.txid);
    }
  }

  /** Claims of which something is still to be made, oldest block first, the mempool last. */
  #open(scripts: readonly Tracked[], plan: HeaderPlan): readonly Job[] {
    const open = new Map<string, { claim: Claim; scripts: Tracked[] }>();
    for (const tracked of scripts) {
      tracked.aheadAt = aheadOf(tracked, plan.height);
      const claims = claimsOf(tracked, plan.height);
      const named = new Set(claims.map(({ txid }) => txid));
      // What nobody names any more may be named again, in the same block, when its branch comes back.
      for (const txid of tracked.done.keys()) if (!named.has(txid)) tracked.done.delete(txid);
      for (const claim of claims) {
        const done = tracked.done.get(claim.txid);
        if (done !== undefined && this.#isSettled(claim, done, plan)) continue;
        const known = open.get(claim.txid);
        if (known === undefined) open.set(claim.txid, { claim, scripts: [tracked] });
        else {
          merge(known.claim, claim);
          known.scripts.push(tracked);
        }
      }
    }
    const height = ({ claim }: Job): number => Math.min(...claim.blocks.keys(), Number.POSITIVE_INFINITY);
    return [...open.values()].sort((a, b) => (height(a) < height(b) ? -1 : Number(height(a) > height(b))));
  }

  /** Nothing new since it was worked off: still in the block it was in, or still in no block. */
  #isSettled(claim: Claim, done: BlockRef | null, plan: HeaderPlan): boolean {
    const { index } = this.#deps;
    const entry = index.txEntry(claim.txid);
    if (done === null) return claim.blocks.size === 0 && entry !== undefined;
    // What is known without a block was taken back since then, with a branch that has come back.
    if (entry !== undefined && entry.block === null) return false;
    // It cannot be undone any more, and has left memory where all it paid was spent long ago.
    if (done.height < index.windowBottom) return true;
    for (const height of claim.blocks.keys()) if (this.hashAt(height, plan) === done.hash) return true;
    const block = entry?.block;
    return block != null && block.hash === done.hash && this.#stands(block, plan);
  }

  /** Whether a block in which something was proven is still there. What is older than all headers kept cannot be undone any more. */
  #stands(block: BlockRef, plan: HeaderPlan): boolean {
    return block.height < this.#deps.index.windowBottom || this.hashAt(block.height, plan) === block.hash;
  }

  /** Hash of the block at a height as the plan has it; null below what is kept. */
  hashAt(height: number, plan: HeaderPlan): string | null {
    const { index } = this.#deps;
    if (plan.fork === null || height > plan.fork) return plan.headers[height - (plan.height - plan.headers.length + 1)]?.hash ?? null;
    return index.headerAt(height)?.hash ?? null;
  }

  /** @param isDenied most say that nothing is there: null where that would cost too much to find out */
  async #header(height: number, plan: HeaderPlan, servers: readonly RemoteServer[], isDenied: () => boolean): Promise<BlockHeader | null> {
    const { follower, reader, nowMs } = this.#deps;
    const hash = this.hashAt(height, plan);
    const known = follower.known(height, plan);
    if (known !== null && known.hash === hash) return known;
    if (hash === null && isDenied() && !this.#oldBlocks.take(nowMs())) return null;
    const asked = hash === null ? await reader.agreedAt(servers, height) : await reader.withHash(servers, height, hash);
    return asked.ok ? asked.value : null;
  }

  /** What most deny holds up nobody: those few who say it may answer late. */
  async #findSoon(job: Job, plan: HeaderPlan, servers: readonly RemoteServer[], turn: number): Promise<Finding> {
    const find = (): Promise<Finding> => this.#find(job, plan, servers, turn);
    if (!isContested(job, servers.length)) return find();
    const { claim } = job;
    const taken = await this.#deps.beside.take(claim.txid, knownBy(claim), find);
    if (taken === null) return "late";
    const { answer, wasLate } = taken;
    if (!wasLate || !isFound(answer)) return answer;
    // Blocks may have left the chain since, and servers may tell something else.
    const holds = answer.block === null ? this.#isHeard(job, servers) : this.#stands(answer.block, plan);
    return holds ? answer : "late";
  }

  /** Whether enough tell of a transaction to believe it without a proof. */
  #isHeard(job: Job, servers: readonly RemoteServer[]): boolean {
    const { claim } = job;
    const isEnough = connectedOf(knownBy(claim)) >= witnessesOf(this.#present(servers));
    return isEnough && (!isContested(job, servers.length) || this.#deps.mayTake(claim.txid));
  }

  /** Of those that go away meanwhile the last must not be believed alone. */
  #present(servers: readonly RemoteServer[]): number {
    return Math.max(this.#deps.minConnected(), connectedOf(servers));
  }

  /** @param turn who of those that can be asked is asked first */
  async #find(job: Job, plan: HeaderPlan, servers: readonly RemoteServer[], turn: number): Promise<Finding> {
    const { index, store, prover, nowMs } = this.#deps;
    const { claim } = job;
    const isDenied = (): boolean => isContested(job, servers.length);
    const isHeard = (): boolean => this.#isHeard(job, servers);
    const isAway = (): boolean => connectedOf(knownBy(claim)) < knownBy(claim).length && !prover.isTooMuch(claim.txid);
    const unheard = (): Finding => (isAway() ? "lost" : "unheard");
    const known = index.txEntry(claim.txid);
    // One of two can name thousands, and each is open at each look.
    if (known === undefined && claim.blocks.size === 0 && !isHeard()) return unheard();
    const entry = known ?? (await store.storedTxs([claim.txid]))[0];
    const own = entry?.raw ? prover.read(entry.raw) : null;
    const block = entry?.block ?? null;
    if (own !== null && block !== null && this.#stands(block, plan)) return { tx: own, block };
    if (own === null && claim.blocks.size === 0 && !isHeard()) return unheard();
    const asked = own === null ? this.#mayGive(claim) : [];
    if (own === null && asked.length === 0) return "ungiven";
    const tx = own ?? (await prover.fetch(claim.txid, inTurn(asked, turn)));
    if (tx === null && isAway()) return "lost";
    if (tx === null) {
      if (!isDenied()) for (const server of asked) this.#again.refused(namingOf(claim, server), nowMs());
      return "ungiven";
    }
    for (const server of asked) this.#again.forget(namingOf(claim, server));
    this.#largest = Math.max(this.#largest, tx.raw.length);
    let isUnclear = false;
    let isOpen = false;
    for (const [height, claimants] of claim.blocks) {
      const header = await this.#header(height, plan, servers, isDenied);
      const told = header === null ? "unproven" : await prover.isIn(tx, height, header, inTurn(claimants, turn));
      if (header !== null && told === "proven") return { tx, block: { height, hash: header.hash } };
      isUnclear ||= told === "unclear";
      isOpen ||= told === "unasked";
      if (told === "unproven" || told === "unasked")
        for (const server of claimants) for (const { scriptHash } of job.scripts) server.doubt(scriptHash);
    }
    const insisting = new Set([...claim.blocks.values()].flat().filter((s) => s.state === "connected")).size;
    // What nobody can prove, as whoever paid it had it, must not make every look fail.
    if (!isUnclear && insisting >= majorityOf(this.#present(servers))) return "unproven";
    // Whoever says that it is in a block that it does not show must not be believed sooner than who says that it is in none.
    return own !== null || isHeard() ? { tx, block: null, ...(isOpen ? { isOpen } : {}) } : unheard();
  }

  /** Who may be asked for a transaction: of those who name it all who did not fail to give it lately. */
  #mayGive(claim: Claim): readonly RemoteServer[] {
    const nowMs = this.#deps.nowMs();
    return knownBy(claim).filter((server) => this.#again.isDue(namingOf(claim, server), nowMs));
  }

  /** Whether one of those who name what most deny may be asked for one more now. Counted at all of them. */
  #mayRead({ claim }: Job): boolean {
    const nowMs = this.#deps.nowMs();
    // What is not asked for now must not use up what others of its script wait for.
    if (this.#ungiven.has(claim.txid) && this.#mayGive(claim).length === 0) return false;
    const taken = knownBy(claim).map((server) => {
      const credit = this.#contested.get(server) ?? new AskCredit(MAX_CONTESTED, CONTESTED_MS);
      this.#contested.set(server, credit);
      return credit.take(nowMs);
    });
    return taken.includes(true);
  }

  /** @returns also the lowest block in which something may spend what became known with it; null: nothing did */
  async #facts(jobs: readonly Job[], findings: readonly Finding[]): Promise<{ readonly facts: Facts; readonly spentFrom: number | null }> {
    const { index, store, nowMs } = this.#deps;
    const found = findings.filter(isFound);
    const txs = found.map(({ tx }) => tx);
    const builder = new FactsBuilder(index, nowMs(), await longSpent(index, store, txs));
    const blocks = new Map<string, { readonly ref: BlockRef; readonly txs: RawTx[] }>();
    const pool: RawTx[] = [];
    for (const { tx, block } of found) {
      if (block === null) pool.push(tx);
      else if (blocks.has(block.hash)) blocks.get(block.hash)?.txs.push(tx);
      else blocks.set(block.hash, { ref: block, txs: [tx] });
    }
    for (const { ref, txs } of [...blocks.values()].sort((a, b) => a.ref.height - b.ref.height)) builder.add(txs, ref);
    if (pool.length > 0) builder.add(pool, null);
    const facts = builder.facts();
    const paying = new Set(facts.outputs.map(({ txid }) => txid));
    // What it pays may have become known beside what spends it, while it was in no block. What is deep was gone through long ago.
    const isOnlyNowIn = ({ txid, block }: StoredTx): boolean =>
      block !== null && block.height >= index.windowBottom && index.txEntry(txid)?.block === null;
    for (const tx of facts.txs) if (isOnlyNowIn(tx)) paying.add(tx.txid);
    const from = jobs.flatMap(({ claim }, i) => (paying.has(claim.txid) ? [this.#lowestOf(claim, findings[i])] : []));
    return { facts, spentFrom: from.length === 0 ? null : Math.min(...from) };
  }

  /** The lowest block a transaction can be in: what is not proven may be in an older one than it looks. */
  #lowestOf({ blocks }: Claim, finding: Finding | undefined): number {
    if (finding !== undefined && isFound(finding) && finding.block !== null) return finding.block.height;
    return Math.min(this.#deps.index.windowBottom, ...blocks.keys());
  }
}

const connectedOf = (servers: readonly RemoteServer[]): number => servers.filter((s) => s.state === "connected").length;

/** What was found before stands first: a block is the last word on a transaction. */
const joined = (delta: ChainDelta, { txs, outputs, spends }: Facts): ChainDelta => ({
  ...delta,
  txs: [...(delta.txs ?? []), ...txs],
  outputs: [...(delta.outputs ?? []), ...outputs],
  spends: [...(delta.spends ?? []), ...spends],
});
