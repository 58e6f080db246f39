import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { anchorAt, beats, type Checked, extend, type HeaderLimits, headerAt, isEven, rewind, tipOf } from "../../core/proof/headerChain.ts";
import type { HeaderFault } from "../../core/proof/headerFault.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { workOf } from "../../core/proof/proofOfWork.ts";
import { err, ok } from "../../core/util/result.ts";
import type { ChainStore } from "../../ports/chainStore.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Look } from "./fault.ts";
import { forkWith } from "./forkSearch.ts";
import type { HeaderReader } from "./headerReader.ts";
import { type Agreed, agreedBlock, dropWorkless, isHadBy, judgeOthers } from "./headerVotes.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf, witnessesOf } from "./serverPool.ts";

/** Headers fetched at the first start: the median time, and room for a reorganisation. */
const FIRST_WINDOW = 100;
/** Headers read per look at most; longer ways take several. */
const MAX_STEP = 2_000;
/** The same where each header costs milliseconds to check. */
const MAX_DEAR_STEP = 100;
/** How long all servers may be further back than we were before that is believed of a chain whose blocks cost nothing. */
const BEHIND_MS = 60_000;
/** A branch that took longer to look at and is not better is left alone for so many times as long, and at most so long, ms. */
const QUICK_MS = 2_000;
const REST_FACTOR = 10;
const MAX_REST_MS = 1_800_000;
/** What is to become of the chain of headers. Nothing is changed until `adopt`. */
export type HeaderPlan = {
  /** The last block that stays; null: all that was known goes. */
  readonly fork: number | null;
  /** Above the fork, ascending. */
  readonly headers: readonly BlockHeader[];
  /** Height after this step, and that of the chain followed. */
  readonly height: number;
  readonly target: number;
  /** Null: the chain stays as it is. */
  readonly chain: Anchored | null;
};

/** Work is counted from the anchor on: only chains with the same one can be compared. `anchor`: its hash. */
type Anchored = { readonly checked: Checked; readonly anchor: string };

export type HeaderFollowerDeps = {
  readonly rules: HeaderRules;
  readonly index: ChainIndex;
  readonly store: ChainStore;
  readonly reader: HeaderReader;
  readonly clock: Clock;
  readonly log: Log;
  readonly genesis: string | null;
  /** Servers there may be, connected or not. */
  readonly servers: number;
  /** See `ElectrumOptions.costlyWork`. */
  readonly costlyWork: bigint;
};

/**
 * Decides which chain of headers to follow. The block most of the connected servers have is followed; where blocks cost work
 * nobody fakes, the branch with most work is, whoever showed it. What is followed is linked, dated and worked as the coin's rules
 * ask, from a first block on which most servers agree.
 */
export class HeaderFollower {
  readonly #deps: HeaderFollowerDeps;
  #genesis: string | null;
  #chain: Anchored | null = null;
  #behindSinceMs: number | null = null;
  /** Until when branches of a server are left alone: one that answers late must not use up every look. */
  readonly #restUntilMs = new WeakMap<RemoteServer, number>();
  /** Last blocks of servers that show their work, each as that server gave it. */
  readonly #judged = new WeakSet<BlockHeader>();

  constructor(deps: HeaderFollowerDeps) {
    this.#deps = deps;
    this.#genesis = deps.genesis;
  }

  /** Hash of the first block; null before the first servers agreed on it. */
  get genesis(): string | null {
    return this.#genesis;
  }

  /** One bounded step towards the best chain of `servers`; at least one of them. */
  async plan(servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    if (dropWorkless(servers, this.#deps.rules, this.#judged)) return err({ kind: "moved" });
    const first = await this.#agreeOnGenesis(servers);
    if (!first.ok) return first;
    const agreed = await agreedBlock(this.#deps.reader, servers);
    if (!agreed.ok) return agreed;
    judgeOthers(agreed.value, servers);
    const plan = await this.#planFor(agreed.value, servers);
    if (!plan.ok || !this.#isCostly(servers)) return plan;
    if (await this.#isUnmeasured(plan.value, servers)) return this.#keepOwn(agreed.value.height, servers);
    const best = await this.#withMoreWork(plan.value, servers);
    return this.#isLess(best) ? this.#keepOwn(best.height, servers) : ok(best);
  }

  /** Whether a plan leaves our chain for one with no more work. */
  #isLess({ fork, chain }: HeaderPlan): boolean {
    const own = this.#deps.index.tipHeader;
    if (own === undefined || fork === null || fork >= own.height || chain === null || this.#chain === null) return false;
    const isOwn = tipOf(this.#chain.checked).hash === own.hash && chain.anchor === this.#chain.anchor;
    return isOwn && !beats(chain.checked, this.#chain.checked);
  }

  /**
   * Whether a plan leaves for good a chain that somebody still has, for one that shares no block with it by which their work could be
   * compared. The dearer block then decides.
   */
  async #isUnmeasured({ fork, chain }: HeaderPlan, servers: readonly RemoteServer[]): Promise<boolean> {
    const { index, reader, rules } = this.#deps;
    const own = index.tipHeader;
    if (own === undefined || fork !== null || chain === null || !(await isHadBy(reader, own, servers))) return false;
    const ours = this.#chain ?? (await this.#ownChain(servers));
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
    if (plan.chain !== null) this.#chain = plan.chain;
  }

  async #agreeOnGenesis(servers: readonly RemoteServer[]): Promise<Look<undefined>> {
    if (this.#genesis !== null) return ok(undefined);
    const counts = new Map<string, number>();
    for (const { genesis } of servers) if (genesis !== null) counts.set(genesis, (counts.get(genesis) ?? 0) + 1);
    const found = [...counts].find(([, count]) => count >= majorityOf(servers.length));
    if (found === undefined) return err({ kind: "disagree", what: "the first block" });
    const [genesis, count] = found;
    // One of several may be the only one that is there; for good it takes two, or it would shut out all that come later.
    if (count < witnessesOf(this.#deps.servers)) return ok(undefined);
    await this.#deps.store.setGenesis(genesis);
    this.#genesis = genesis;
    const others = servers.filter((s) => s.genesis !== genesis);
    for (const s of others) s.contradicted(`it serves another chain: its first block is ${s.genesis}, not ${genesis}`);
    return others.length === 0 ? ok(undefined) : err({ kind: "moved" });
  }

  /** Whether the last block of the chain that is followed shows work that nobody spends to deceive. */
  get isCostly(): boolean {
    const { rules, costlyWork } = this.#deps;
    return rules.work.kind !== "unchecked" && this.#chain !== null && workOf(tipOf(this.#chain.checked), rules) >= costlyWork;
  }

  /** The same, and none of the blocks before it was far easier: then whoever showed it spent that work on each. */
  get isProof(): boolean {
    return this.isCostly && this.#chain !== null && isEven(this.#chain.checked, this.#deps.rules);
  }

  #isCostly(servers: readonly RemoteServer[]): boolean {
    const { rules, costlyWork } = this.#deps;
    // Once there is a chain it tells: anybody can show one cheap block.
    if (rules.work.kind === "unchecked" || this.#chain !== null) return this.isCostly;
    return servers.every((s) => s.tip === null || workOf(s.tip.header, rules) >= costlyWork);
  }

  /** Somebody's branch that has more work than what most servers have is followed instead. */
  async #withMoreWork(plan: HeaderPlan, servers: readonly RemoteServer[]): Promise<HeaderPlan> {
    const own = this.#deps.index.tipHeader;
    if (own === undefined || plan.fork === null || plan.height < plan.target) return plan;
    let best = plan;
    for (const server of servers) {
      const { tip } = server;
      if (tip === null || tip.header.hash === own.hash) continue;
      const followed = best.chain ?? this.#chain ?? (await this.#ownChain(servers));
      if (followed === null || tipOf(followed.checked).hash === tip.header.hash || this.#rests(server)) continue;
      const sinceMs = this.#deps.clock.nowMs();
      const other = await this.#planFor({ height: tip.height, hash: tip.header.hash, servers: [server] }, servers);
      const chain = other.ok && other.value.height === other.value.target ? other.value.chain : null;
      if (other.ok && chain !== null && chain.anchor === followed.anchor && beats(chain.checked, followed.checked)) best = other.value;
      else this.#letRest(server, sinceMs);
    }
    return best;
  }

  #letRest(server: RemoteServer, sinceMs: number): void {
    const nowMs = this.#deps.clock.nowMs();
    const tookMs = nowMs - sinceMs;
    if (tookMs > QUICK_MS) this.#restUntilMs.set(server, nowMs + Math.min(MAX_REST_MS, REST_FACTOR * tookMs));
  }

  #rests(server: RemoteServer): boolean {
    const leftMs = (this.#restUntilMs.get(server) ?? 0) - this.#deps.clock.nowMs();
    // A clock that was set back must not make the rest hours longer.
    return leftMs > 0 && leftMs <= MAX_REST_MS;
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
    if (this.#isCostly(servers) || waitedMs < BEHIND_MS) return err({ kind: "behind", height: agreed.height, ours: own.height });
    log.warn("chain_shrank", { from: own.height, to: agreed.height });
    this.#behindSinceMs = null;
    if (agreed.height < index.windowBottom) return this.#startAt(agreed, servers);
    this.#chain = this.#rewound(agreed.height);
    return ok(stayAt(agreed.height));
  }

  /** Against our clock, or that of most servers' blocks where ours is behind: then ours is the wrong one. */
  #limits(servers: readonly RemoteServer[]): HeaderLimits {
    const times = servers.flatMap((s) => s.tip?.header.timeSec ?? []).sort((a, b) => a - b);
    const agreed = times[Math.floor((times.length - 1) / 2)] ?? 0;
    return { nowSec: Math.max(Math.floor(this.#deps.clock.nowMs() / 1000), agreed) };
  }

  /** What headers from the anchor on make, or what is wrong with them. */
  #anchored(headers: readonly BlockHeader[], from: number, limits: HeaderLimits): Anchored | string {
    const { rules } = this.#deps;
    const [first, ...rest] = headers;
    const anchor = first && anchorAt(first, from, rules, limits);
    if (first === undefined || !anchor?.ok) return "its headers do not show the work they claim";
    const checked = extend(anchor.value, rest, rules, limits);
    return checked.ok ? { checked: checked.value, anchor: first.hash } : brokenRule(checked.error);
  }

  #extended(base: Anchored, headers: readonly BlockHeader[], limits: HeaderLimits): Anchored | string {
    const checked = extend(base.checked, headers, this.#deps.rules, limits);
    return checked.ok ? { ...base, checked: checked.value } : brokenRule(checked.error);
  }

  /** The first view of a chain. */
  async #startAt(agreed: Agreed, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { reader, index, log } = this.#deps;
    const from = Math.max(0, agreed.height - FIRST_WINDOW + 1);
    const limits = this.#limits(servers);
    const run = await reader.run(agreed, from, agreed.height, (headers) => this.#anchored(headers, from, limits));
    if (!run.ok) return run;
    if (index.tipHeader !== undefined) log.warn("chain_reorganised_beyond_window", { height: agreed.height });
    const { headers, value: chain } = run.value;
    return ok({ fork: null, headers, height: agreed.height, target: agreed.height, chain });
  }

  /** The way from our chain to another tip. */
  async #lead(agreed: Agreed, servers: readonly RemoteServer[]): Promise<Look<HeaderPlan>> {
    const { reader, index } = this.#deps;
    const limits = this.#limits(servers);
    for (const server of agreed.servers) {
      const next = this.#nextBlock(agreed, server);
      if (next === null || this.#chain === null) continue;
      const chain = this.#extended(this.#chain, [next], limits);
      if (typeof chain !== "string")
        return ok({ fork: agreed.height - 1, headers: [next], height: agreed.height, target: agreed.height, chain });
      // Nobody else is blamed: the hash of a merge-mined header does not cover the proof that came with it.
      server.contradicted(chain);
    }
    // What one says of the fork is held against its own headers only. That nothing is shared must be said by more than say otherwise.
    let apart = 0;
    let failure: Look<HeaderPlan> = err({ kind: "moved" });
    for (const server of agreed.servers) {
      const fork = await forkWith(index, reader, server, agreed.height);
      if (fork.ok && fork.value === null) apart++;
      if (!fork.ok || fork.value === null) continue;
      const plan = await this.#leadFrom(fork.value, server, agreed, limits);
      if (plan.ok) return plan;
      apart--;
      failure = plan;
    }
    return apart > 0 ? this.#startAt(agreed, servers) : failure;
  }

  /** The way from a block that, by a server's word, is the last its chain shares with ours. */
  async #leadFrom(told: number, server: RemoteServer, agreed: Agreed, limits: HeaderLimits): Promise<Look<HeaderPlan>> {
    const { reader, log, index } = this.#deps;
    const base = await this.#checkedAt(told, agreed.servers, limits);
    if (!base.ok) return base;
    const to = Math.min(agreed.height, told + this.#stepSize);
    const end = { height: agreed.height, hash: agreed.hash, servers: [server] };
    const run = await reader.run(end, told + 1, to, (headers) => this.#extended(base.value, headers, limits));
    if (!run.ok) return run;
    const { headers: all, value: chain } = run.value;
    // Nothing is taken back that the server's own headers hold.
    const shared = all.findIndex(({ hash }, i) => index.headerAt(told + 1 + i)?.hash !== hash);
    if (shared < 0) return err({ kind: "moved" });
    const [fork, headers] = [told + shared, all.slice(shared)];
    const own = index.tipHeader?.height ?? 0;
    if (fork < own) log.warn("chain_reorganised", { fork, depth: own - fork });
    return ok({ fork, headers, height: to, target: agreed.height, chain });
  }

  get #stepSize(): number {
    const { kind } = this.#deps.rules.work;
    return kind === "sha256d" || kind === "unchecked" ? MAX_STEP : MAX_DEAR_STEP;
  }

  /** The ordinary case: one block on ours, whose header a server has told already. */
  #nextBlock(agreed: Agreed, server: RemoteServer): BlockHeader | null {
    const own = this.#deps.index.tipHeader;
    const told = server.tip?.header.hash === agreed.hash ? server.tip : null;
    if (own === undefined || !told || this.#chain === null || tipOf(this.#chain.checked).hash !== own.hash) return null;
    return agreed.height === own.height + 1 && told.header.prevHash === own.hash ? told.header : null;
  }

  /** Our chain with its work, which a restart forgets. Null: nobody gives its headers now. */
  async #ownChain(servers: readonly RemoteServer[]): Promise<Anchored | null> {
    const own = this.#deps.index.tipHeader;
    const chain = own && (await this.#checkedAt(own.height, servers, this.#limits(servers)));
    return chain?.ok ? chain.value : null;
  }

  #rewound(height: number): Anchored | null {
    if (this.#chain === null) return null;
    const checked = rewind(this.#chain.checked, height, this.#deps.rules);
    return checked && { ...this.#chain, checked };
  }

  /** Our chain up to `height`; read again where only its hashes are still known. */
  async #checkedAt(height: number, servers: readonly RemoteServer[], limits: HeaderLimits): Promise<Look<Anchored>> {
    const { index, reader } = this.#deps;
    const hash = index.headerAt(height)?.hash ?? "";
    const kept = this.#rewound(height);
    if (kept !== null && tipOf(kept.checked).hash === hash) return ok(kept);
    const from = index.windowBottom;
    const run = await reader.run({ height, hash, servers }, from, height, (headers) => this.#anchored(headers, from, limits));
    if (!run.ok) return run;
    this.#chain ??= run.value.value;
    return ok(run.value.value);
  }

  /** A header of the chain as checked lately; null: it has to be asked for. */
  known(height: number, plan: HeaderPlan): BlockHeader | null {
    const chain = plan.chain ?? this.#chain;
    return chain === null ? null : headerAt(chain.checked, height);
  }
}

const stayAt = (height: number): HeaderPlan => ({ fork: height, headers: [], height, target: height, chain: null });

const brokenRule = ({ kind }: HeaderFault): string => `its headers break the rules of the chain (${kind})`;
