import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { beats, type HeaderLimits, headerAt, isEven, tipOf } from "../../core/proof/headerChain.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { workOf } from "../../core/proof/proofOfWork.ts";
import { err, ok } from "../../core/util/result.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { ChainStore } from "../../ports/chainStore.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { BlockHeights } from "./blockHeights.ts";
import { CheckedHeaders } from "./checkedHeaders.ts";
import type { Look, LookFault } from "./fault.ts";
import { FirstBlock } from "./firstBlock.ts";
import { firstToTell } from "./firstToTell.ts";
import { forkWith } from "./forkSearch.ts";
import { type HeaderPlan, stayAt } from "./headerPlan.ts";
import type { HeaderReader } from "./headerReader.ts";
import { type Agreed, agreedBlock, dropWorkless, isHadBy, judgeByTip, judgeOthers } from "./headerVotes.ts";
import { KeptBranches } from "./keptBranches.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Headers fetched at the first start: the median time, and room for a reorganisation. */
const FIRST_WINDOW = 100;
/** How far back a block most agree on is looked for. Not where blocks prove themselves: each step costs every server a header. */
const MAX_BACK = 256;
/** Headers read per look at most; longer ways take several. */
const MAX_STEP = 2_000;
/** The same where each header costs milliseconds to check. */
const MAX_DEAR_STEP = 100;
/** How long all servers may be further back than we were before that is believed of a chain whose blocks cost nothing. */
const BEHIND_MS = 60_000;
const NO_HEIGHTS: LookFault = {
  kind: "missing",
  what: "the heights of their last blocks",
  why: "none shows the first transaction of such a block; enable the coin with other servers",
};

export type HeaderFollowerDeps = {
  readonly rules: HeaderRules;
  readonly index: ChainIndex;
  readonly store: ChainStore;
  readonly reader: HeaderReader;
  readonly heights: BlockHeights;
  readonly clock: Clock;
  readonly log: Log;
  readonly genesis: string | null;
  /** Servers there may be, connected or not. */
  readonly servers: number;
  readonly maxConnected: number;
  /** See `ElectrumOptions.costlyWork`. */
  readonly costlyWork: bigint;
  /** See `ElectrumOptions.headersPerLook`. */
  readonly headersPerLook: number | null;
};

/**
 * Decides which chain of headers to follow. The block most of the connected servers have is followed; where blocks cost work
 * nobody fakes, the branch with most work is, whoever showed it. What is followed is linked, dated and worked as the coin's rules
 * ask, from a first block on which most servers agree.
 */
export class HeaderFollower {
  readonly #deps: HeaderFollowerDeps;
  readonly #first: FirstBlock;
  readonly #headers: CheckedHeaders;
  #behindSinceMs: number | null = null;
  readonly #branches: KeptBranches;
  /** Last blocks of servers that show their work, each as that server gave it. */
  readonly #judged = new WeakSet<BlockHeader>();

  constructor(deps: HeaderFollowerDeps) {
    this.#deps = deps;
    this.#branches = new KeptBranches(deps);
    this.#first = new FirstBlock(deps);
    this.#headers = new CheckedHeaders(deps);
  }

  /** Hash of the first block; null before the first servers agreed on it. */
  get genesis(): string | null {
    return this.#first.hash;
  }

  /** One bounded step towards the best chain of the servers that are there; at least one of them. */
  async plan(present: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { reader, index, heights, rules } = this.#deps;
    if (dropWorkless(present, rules, this.#judged)) return err({ kind: "moved" });
    const first = await this.#first.agree(present);
    if (!first.ok) return first;
    // A chain that begins has nothing yet by which heights could be told to be wrong.
    const servers = index.tipHeader === undefined && rules.tellsHeights ? await heights.tellers(present) : present;
    if (servers.length === 0) return err(NO_HEIGHTS);
    const own = (await this.#isCostly(servers)) ? index.tipHeader : undefined;
    const agreed = await agreedBlock(reader, servers, own === undefined ? MAX_BACK : 0);
    if (!agreed.ok) return own === undefined ? agreed : this.#byWorkAlone(servers, own, agreed);
    judgeOthers(agreed.value, servers);
    const plan = await this.#planFor(agreed.value, servers);
    if (!plan.ok || !(await this.#isCostly(servers))) return plan;
    if (await this.#isUnmeasured(plan.value, servers)) return this.#keepOwn(agreed.value.height, servers);
    // What most have may be more than was read of it: until that shows, it is read like anybody's branch.
    const isOpen = plan.value.height < plan.value.target && (await this.#isLess(plan.value, servers));
    const start = isOpen ? stayAt(index.tipHeader?.height ?? 0) : plan.value;
    const best = await this.#withMoreWork(start, servers);
    const isKept = (await this.#isLess(best, servers)) || (isOpen && best === start);
    return isKept ? this.#keepOwn(plan.value.height, servers) : ok(best);
  }

  /** Where blocks prove themselves most need not agree: half of the servers could keep all of them from it by naming what they like. */
  async #byWorkAlone(servers: readonly RemoteServer[], own: BlockRef, disagreement: Look<never>): Promise<Look<HeaderPlan>> {
    const start = stayAt(own.height);
    const best = await this.#withMoreWork(start, servers);
    if (best === start && !(await isHadBy(this.#deps.reader, own, servers))) return disagreement;
    judgeByTip(servers, best.chain === null ? own : { height: best.height, hash: tipOf(best.chain.checked).hash });
    return ok(best);
  }

  /** Whether a plan leaves our chain for one with no more work. After a restart its work is read again from who still has it. */
  async #isLess({ fork, chain }: HeaderPlan, servers: readonly RemoteServer[]): Promise<boolean> {
    const own = this.#deps.index.tipHeader;
    if (own === undefined || fork === null || fork >= own.height || chain === null) return false;
    const { now } = this.#headers;
    const ours = now !== null && tipOf(now.checked).hash === own.hash ? now : await this.#headers.own(servers);
    if (ours === null || ours.anchor !== chain.anchor) return false;
    this.#headers.now = ours;
    return !beats(chain.checked, ours.checked);
  }

  /**
   * Whether a plan leaves for good a chain that somebody still has, for one that shares no block with it by which their work could be
   * compared. The dearer block then decides.
   */
  async #isUnmeasured({ fork, chain }: HeaderPlan, servers: readonly RemoteServer[]): Promise<boolean> {
    const { index, reader, rules } = this.#deps;
    const own = index.tipHeader;
    if (own === undefined || fork !== null || chain === null || !(await isHadBy(reader, own, servers))) return false;
    const ours = this.#headers.now ?? (await this.#headers.own(servers));
    return ours !== null && workOf(tipOf(ours.checked), rules) >= workOf(tipOf(chain.checked), rules);
  }

  /** Our chain stays, if somebody still has it; otherwise what is known is better than what can be asked for. */
  async #keepOwn(height: number, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const own = this.#deps.index.tipHeader;
    if (own === undefined) return err({ kind: "moved" });
    if (await isHadBy(this.#deps.reader, own, servers)) return ok(stayAt(own.height));
    return err({ kind: "behind", height, ours: own.height });
  }

  /** The plan is stored. */
  adopt(plan: HeaderPlan): void {
    if (plan.chain !== null) this.#headers.now = plan.chain;
  }

  /** Whether the last block of the chain that is followed shows work that nobody spends to deceive. */
  get isCostly(): boolean {
    const { rules, costlyWork } = this.#deps;
    return rules.work.kind !== "unchecked" && this.#headers.now !== null && workOf(tipOf(this.#headers.now.checked), rules) >= costlyWork;
  }

  /** The same, and none of the blocks before it was far easier: then whoever showed it spent that work on each. */
  get isProof(): boolean {
    return this.isCostly && this.#headers.now !== null && isEven(this.#headers.now.checked, this.#deps.rules);
  }

  async #isCostly(servers: readonly RemoteServer[]): Promise<boolean> {
    const { rules, costlyWork } = this.#deps;
    // Once there is a chain it tells: anybody can show one cheap block.
    if (rules.work.kind === "unchecked" || this.#headers.now !== null) return this.isCostly;
    if (servers.every((s) => s.tip === null || workOf(s.tip.header, rules) >= costlyWork)) return true;
    // Also the one of before a start, where somebody still gives its headers. Where targets bind nothing no chain costs so much.
    return rules.target !== null && (await this.#headers.own(servers)) !== null && this.isCostly;
  }

  /** Somebody's branch that has more work than what most servers have is followed instead. */
  async #withMoreWork(plan: HeaderPlan, servers: readonly RemoteServer[]): Promise<HeaderPlan> {
    const own = this.#deps.index.tipHeader;
    if (own === undefined || plan.fork === null || plan.height < plan.target) return plan;
    let best = plan;
    for (const server of servers) {
      const { tip } = server;
      if (tip === null || tip.header.hash === own.hash) continue;
      const followed = best.chain ?? this.#headers.now ?? (await this.#headers.own(servers));
      if (followed === null || tipOf(followed.checked).hash === tip.header.hash || this.#branches.rests(server)) continue;
      const agreed = { height: tip.height, hash: tip.header.hash, servers: [server] };
      const read = await this.#branches.read(server, () => this.#branchOf(server, agreed, servers));
      if (read === null) continue;
      const { plan: other } = read;
      const chain = other?.chain ?? null;
      // What was read of it so far may be enough: its work is there, however much more follows.
      if (other !== null && chain !== null && chain.anchor === followed.anchor && beats(chain.checked, followed.checked)) {
        best = other;
        this.#branches.forget(server);
      } else this.#branches.looked(server, chain === null ? { ...read, plan: null } : read);
    }
    return best;
  }

  /** The way to a server's last block, read on from where it was left; null: it gives none now. */
  async #branchOf(server: RemoteServer, agreed: Agreed, servers: readonly RemoteServer[]): Promise<HeaderPlan | null> {
    const kept = await this.#branches.standing(server, agreed.height);
    if (kept === null) {
      const plan = await this.#planFor(agreed, servers);
      return plan.ok ? plan.value : null;
    }
    if (kept.height === agreed.height) return kept;
    const height = Math.min(agreed.height, kept.height + this.#stepSize);
    const limits = this.#headers.limits(servers);
    const run = await this.#deps.reader.run(agreed, kept.height + 1, height, (headers) =>
      this.#headers.extended(kept.chain, headers, limits),
    );
    if (!run.ok) return null;
    const { headers, value: chain } = run.value;
    return { fork: kept.fork, headers: [...kept.headers, ...headers], height, target: agreed.height, chain };
  }

  async #planFor(agreed: Agreed, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { index } = this.#deps;
    const own = index.tipHeader;
    if (own === undefined) return this.#startAt(agreed, servers);
    if (own.hash === agreed.hash) {
      this.#behindSinceMs = null;
      return ok(stayAt(own.height));
    }
    const isBelow = agreed.height < index.windowBottom;
    if (agreed.height < own.height && (isBelow || index.headerAt(agreed.height)?.hash === agreed.hash))
      return this.#behind(agreed, servers);
    this.#behindSinceMs = null;
    return this.#lead(agreed, servers);
  }

  /** Most servers are where we were before. Who still has our block is right; otherwise we wait, and where blocks cost nothing give in. */
  async #behind(agreed: Agreed, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { index, clock, log } = this.#deps;
    const own = index.tipHeader;
    if (own === undefined) return err({ kind: "moved" });
    if (await isHadBy(this.#deps.reader, own, servers)) {
      this.#behindSinceMs = null;
      return ok(stayAt(own.height));
    }
    const nowMs = clock.nowMs();
    this.#behindSinceMs = Math.min(nowMs, this.#behindSinceMs ?? nowMs);
    const waitedMs = nowMs - this.#behindSinceMs;
    if ((await this.#isCostly(servers)) || waitedMs < BEHIND_MS) return err({ kind: "behind", height: agreed.height, ours: own.height });
    log.warn("chain_shrank", { from: own.height, to: agreed.height });
    this.#behindSinceMs = null;
    if (agreed.height < index.windowBottom) return this.#startAt(agreed, servers);
    this.#headers.now = this.#headers.rewound(agreed.height);
    return ok(stayAt(agreed.height));
  }

  /** The first view of a chain. */
  async #startAt(agreed: Agreed, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { reader, index, log, heights, rules } = this.#deps;
    const from = Math.max(0, agreed.height - FIRST_WINDOW + 1);
    const limits = this.#headers.limits(servers);
    const run = await reader.run(agreed, from, agreed.height, (headers) => this.#headers.anchored(headers, from, limits));
    if (!run.ok) return run;
    const last = run.value.headers.at(-1);
    if (rules.tellsHeights && last && !(await heights.isShown({ height: agreed.height, header: last }, agreed.servers)))
      return err(NO_HEIGHTS);
    if (index.tipHeader !== undefined) log.warn("chain_reorganised_beyond_window", { height: agreed.height });
    const { headers, value: chain } = run.value;
    return ok({ fork: null, headers, height: agreed.height, target: agreed.height, chain });
  }

  /** The way from our chain to another tip. */
  async #lead(agreed: Agreed, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { reader, index, clock, log } = this.#deps;
    const limits = this.#headers.limits(servers);
    for (const server of agreed.servers) {
      const next = this.#nextBlock(agreed, server);
      if (next === null || this.#headers.now === null) continue;
      const chain = this.#headers.extended(this.#headers.now, [next], limits);
      if (typeof chain !== "string")
        return ok({ fork: agreed.height - 1, headers: [next], height: agreed.height, target: agreed.height, chain });
      // Nobody else is blamed: the hash of a merge-mined header does not cover the proof that came with it.
      server.contradicted(chain);
    }
    // What one says of the fork is held against its own headers only. That nothing is shared must be said by more than say otherwise.
    let apart = 0;
    let failure: Look<HeaderPlan> = err({ kind: "moved" });
    const found = await firstToTell(clock, agreed.servers, async (server) => {
      const fork = await forkWith(index, reader, server, agreed.height);
      if (fork.ok && fork.value === null) apart++;
      if (!fork.ok || fork.value === null) return null;
      const plan = await this.#leadFrom(fork.value, server, agreed, limits);
      if (plan.ok) return plan;
      apart--;
      failure = plan;
      return null;
    });
    if (found === null) return apart > 0 ? this.#startAt(agreed, servers) : failure;
    const [{ fork }, own] = [found.value, index.tipHeader?.height ?? 0];
    if (fork < own) log.warn("chain_reorganised", { fork, depth: own - fork });
    return found;
  }

  /** The way from a block that, by a server's word, is the last its chain shares with ours. */
  async #leadFrom(
    told: number,
    server: RemoteServer,
    agreed: Agreed,
    limits: HeaderLimits,
  ): Promise<Look<HeaderPlan & { readonly fork: number }>> {
    const { reader, index } = this.#deps;
    const base = await this.#headers.at(told, [server, ...agreed.servers.filter((s) => s !== server)], limits);
    if (!base.ok) return base;
    const to = Math.min(agreed.height, told + this.#stepSize);
    const end = { height: agreed.height, hash: agreed.hash, servers: [server] };
    const run = await reader.run(end, told + 1, to, (headers) => this.#headers.extended(base.value, headers, limits));
    if (!run.ok) return run;
    const { headers: all, value: chain } = run.value;
    // Nothing is taken back that the server's own headers hold.
    const shared = all.findIndex(({ hash }, i) => index.headerAt(told + 1 + i)?.hash !== hash);
    if (shared < 0) return err({ kind: "moved" });
    const [fork, headers] = [told + shared, all.slice(shared)];
    return ok({ fork, headers, height: to, target: agreed.height, chain });
  }

  get #stepSize(): number {
    const { rules, headersPerLook } = this.#deps;
    const { kind } = rules.work;
    if (headersPerLook !== null) return headersPerLook;
    return kind === "sha256d" || kind === "unchecked" ? MAX_STEP : MAX_DEAR_STEP;
  }

  /** The ordinary case: one block on ours, whose header a server has told already. */
  #nextBlock(agreed: Agreed, server: RemoteServer): BlockHeader | null {
    const own = this.#deps.index.tipHeader;
    const told = server.tip?.header.hash === agreed.hash ? server.tip : null;
    if (own === undefined || !told || this.#headers.now === null || tipOf(this.#headers.now.checked).hash !== own.hash) return null;
    return agreed.height === own.height + 1 && told.header.prevHash === own.hash ? told.header : null;
  }

  /** A header of the chain as checked lately; null: it has to be asked for. */
  known(height: number, plan: HeaderPlan): BlockHeader | null {
    const chain = plan.chain ?? this.#headers.now;
    return chain === null ? null : headerAt(chain.checked, height);
  }
}
