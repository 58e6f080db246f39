import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { StatusFacts } from "../../chainIndex/chainStatus.ts";
import type { ChangeListeners } from "../../chainIndex/changeListeners.ts";
import { KEPT_HEADERS } from "../../core/proof/headerChain.ts";
import { err, ok } from "../../core/util/result.ts";
import type { ChainDelta, StoredHeader } from "../../ports/chainStore.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Look, LookFault } from "./fault.ts";
import type { FeeRates } from "./feeRates.ts";
import type { Guards } from "./guards.ts";
import type { HeaderFollower } from "./headerFollower.ts";
import type { HeaderPlan } from "./headerPlan.ts";
import { type HistoryWork, LATER_MS } from "./historyWork.ts";
import type { LoneWord } from "./loneWord.ts";
import type { MissingTxs } from "./missingTxs.ts";
import { mostOf } from "./mostOf.ts";
import type { Notarizations } from "./notarizations.ts";
import type { Omissions } from "./omissions.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { RewardReader } from "./rewardReader.ts";
import type { Fresh, ScriptViews, Tracked } from "./scriptViews.ts";
import { majorityOf, type ServerPool } from "./serverPool.ts";
import type { SpendSearch } from "./spendSearch.ts";
import type { WatchedTxs } from "./watchedTxs.ts";

/** What a look at the servers of one chain is made of. */
export type LookParts = {
  readonly pool: ServerPool;
  readonly follower: HeaderFollower;
  readonly views: ScriptViews;
  readonly work: HistoryWork;
  readonly watchedTxs: WatchedTxs;
  readonly missing: MissingTxs;
  readonly search: SpendSearch;
  readonly omissions: Omissions;
  readonly guards: Guards;
  readonly word: LoneWord;
  readonly notarizations: Notarizations;
  readonly fees: FeeRates;
  /** Null: nobody asks what blocks pay. */
  readonly rewards: RewardReader | null;
  readonly index: ChainIndex;
  readonly clock: Clock;
};

/** What a look brings the loop it is part of. */
type LookDeps = {
  readonly news: ChangeListeners;
  /** Stores, then applies to the index. */
  readonly commit: (delta: ChainDelta) => Promise<void>;
};

/** After so long a look stops where it is, ms: what waits between looks has its turn, and the next one goes on with what is new by then. */
const LOOK_MS = 60_000;
/** Headers kept: reorganisations up to this depth are followed; a deeper one reads everything again. */
const HEADER_WINDOW = KEPT_HEADERS - 1;

/** A look at the servers: headers, then histories, then what is missing. */
export class ServerLook {
  readonly #parts: LookParts;
  readonly #deps: LookDeps;
  /** Those that were asked for their last block and have not answered yet. */
  readonly #asked = new Map<RemoteServer, Promise<void>>();
  #untilMs = 0;
  #reached = false;
  #following: StatusFacts["following"] = null;

  constructor(parts: LookParts, deps: LookDeps) {
    this.#parts = parts;
    this.#deps = deps;
  }

  /** What it says of the chain's status. */
  get status(): Pick<StatusFacts, "reached" | "following"> {
    return { reached: this.#reached, following: this.#following };
  }

  /** No blocks are being read any more. */
  stop(): void {
    this.#follow(null);
  }

  /** @param fresh what servers have told is asked for again */
  async run(fresh: Fresh): Promise<Look<undefined>> {
    this.#untilMs = this.#parts.clock.nowMs() + LOOK_MS;
    const { pool, index, views, watchedTxs, missing, omissions, notarizations, fees, rewards, follower, clock } = this.#parts;
    const asked = pool.present();
    // The slow ones are asked too, and may become quicker; nobody waits for them.
    for (const server of pool.connected()) if (!asked.includes(server)) void this.#askTip(server);
    const isFresh = fresh !== "nothing";
    if (isFresh)
      await mostOf(
        clock,
        asked.map((s) => this.#askTip(s)),
      );
    const headers = await this.#followHeaders();
    if (!headers.ok) return headers;
    const { plan, delta } = headers.value;
    const followed = plan.headers.at(-1)?.hash ?? index.headerAt(plan.height)?.hash;
    if (pool.present().some((s) => s.tip !== null && s.tip.header.hash !== followed)) pool.widen();
    const nowMs = clock.nowMs();
    const txWatches = index.watches().filter((w) => w.kind === "tx");
    const found = await watchedTxs.look(txWatches, pool.present(), nowMs);
    await views.look(pool.present(), { fresh, nowMs, heightOf: (hash) => this.#heightOf(hash, plan) });
    const servers = pool.present();
    if (servers.length < Math.max(1, pool.minConnected)) return err(this.#nobody());
    const moved = plan.fork !== null && plan.fork < (index.tipHeader?.height ?? 0);
    // Further ahead than it was put: the clock was set back.
    const isTime = (laterMs: number): boolean => nowMs >= laterMs || nowMs < laterMs - LATER_MS;
    const isThere = ({ laterMs, aheadAt }: Tracked): boolean =>
      (laterMs !== null && isTime(laterMs)) || (aheadAt !== null && plan.height >= aheadAt);
    const open = views.all().filter((t) => t.changed || moved || isThere(t));
    const worked = await this.#workOff(open, plan, servers, { ...delta, ...found });
    this.#hearEach(servers);
    follower.adopt(plan);
    if (!worked.ok) return worked;
    if (plan.height < plan.target) return err({ kind: "moved" });
    const gone = await missing.gone(pool.present(), nowMs);
    if (gone.length > 0) await this.#deps.commit({ gone });
    if (isFresh) omissions.look(views.all(), (tracked, server) => views.hasToldAnew(server, tracked, fresh));
    this.#searchBlocks();
    const covered = await this.#cover();
    if (!covered.ok) return covered;
    for (const asked of [fees, notarizations]) this.#askBeside(asked, nowMs);
    const tip = follower.known(plan.height, plan);
    if (rewards !== null && tip !== null) void rewards.read(plan.height, tip, pool.present());
    return ok(undefined);
  }

  /** Nobody waits for what every server is asked beside the histories: those that answer late would hold up each look. */
  #askBeside(asked: FeeRates | Notarizations, nowMs: number): void {
    void asked.refresh(this.#parts.pool.present(), nowMs).then((isNew) => {
      if (isNew) this.#deps.news.mark();
      this.#deps.news.announce();
    });
  }

  /** Once at a time: others can begin five looks a second. */
  #askTip(server: RemoteServer): Promise<void> {
    const asked = this.#asked.get(server) ?? server.askTip().then(() => void this.#asked.delete(server));
    this.#asked.set(server, asked);
    return asked;
  }

  /** Height of a block as the plan has it, as far back as headers are kept. */
  #heightOf(hash: string, { fork, headers, height }: HeaderPlan): number | undefined {
    const at = headers.findLastIndex((h) => h.hash === hash);
    if (at >= 0) return height - headers.length + 1 + at;
    const own = this.#parts.index.heightOf(hash);
    return own !== undefined && fork !== null && own <= fork ? own : undefined;
  }

  #searchBlocks(): void {
    const { pool, views, search } = this.#parts;
    const servers = pool.present();
    const own = views.all().filter(({ only }) => only === null);
    const followed = own.map((tracked) => ({ ...tracked, telling: views.telling(tracked, servers) }));
    for (const { scriptHex, views: told, telling } of followed) {
      if (telling !== "crowded" && [...told.values()].some((v) => v.refusal !== null)) search.doubt(scriptHex);
    }
    search.tend(followed, servers);
  }

  /** What too few say to count is shown to who guards the script. Nobody waits for it: it may be asked of one who answers late. */
  #hearEach(servers: readonly RemoteServer[]): void {
    const { guards, views, word } = this.#parts;
    const guarded = guards.scripts();
    for (const server of guarded.length === 0 ? [] : servers) {
      const told = guarded.map((scriptHex) => word.unread(server, scriptHex, views.get(scriptHex)?.views.get(server)?.lines ?? []));
      if (told.some(({ lines }) => lines.length > 0)) void word.hear(server, told);
    }
  }

  async #workOff(
    open: readonly Tracked[],
    plan: HeaderPlan,
    servers: readonly RemoteServer[],
    before: ChainDelta,
  ): Promise<Look<undefined>> {
    for (const tracked of open) {
      tracked.changed = false;
      tracked.laterMs = null;
    }
    try {
      return await this.#parts.work.run(open, plan, servers, before, () => this.#isLate);
    } catch (cause) {
      // Nothing of it is stored, or not all: it is to be worked off again.
      for (const tracked of open) tracked.changed = true;
      throw cause;
    }
  }

  get #isLate(): boolean {
    return this.#parts.clock.nowMs() >= this.#untilMs;
  }

  #nobody(): LookFault {
    const { pool } = this.#parts;
    return { kind: "no_servers", have: pool.present().length, need: pool.minConnected, troubles: pool.troubles() };
  }

  /** What is to become of our headers. Long ways are written on the way; the last step waits for what its blocks bring. */
  async #followHeaders(): Promise<Look<{ readonly plan: HeaderPlan; readonly delta: ChainDelta }>> {
    const { pool, follower, index } = this.#parts;
    const startTip = index.tipHeader?.height ?? null;
    for (;;) {
      const servers = pool.present();
      if (servers.length < Math.max(1, pool.minConnected)) return err(this.#nobody());
      this.#reached = true;
      const plan = await follower.plan(servers);
      if (!plan.ok) return plan;
      const delta = this.#deltaOf(plan.value);
      const isWhole = plan.value.fork !== null && plan.value.height === plan.value.target;
      this.#follow(isWhole ? null : { from: startTip, to: plan.value.target });
      if (isWhole) return ok({ plan: plan.value, delta });
      const isBack = plan.value.fork !== null && plan.value.fork < (index.tipHeader?.height ?? 0);
      // A chain that begins anew forgets first: what is made of histories must not lean on what goes.
      await this.#deps.commit(delta);
      if (plan.value.fork === null) this.#parts.views.restart();
      // The steps after this one go on from here, and a transaction may stand at the same height again.
      if (isBack) this.#parts.views.reopen();
      follower.adopt(plan.value);
      this.#deps.news.announce();
      if (this.#isLate) return err({ kind: "unfinished", hasAsked: false });
    }
  }

  #follow(following: StatusFacts["following"]): void {
    if (this.#following?.to !== following?.to) this.#deps.news.mark();
    this.#following = following;
  }

  #deltaOf({ fork, headers, height }: HeaderPlan): ChainDelta {
    const { index } = this.#parts;
    const own = index.tipHeader?.height;
    const first = height - headers.length + 1;
    const stored = headers.map(({ hash, prevHash, timeSec }, i): StoredHeader => ({ height: first + i, hash, prevHash, timeSec }));
    if (fork === null) return { reset: own !== undefined, headers: stored };
    const back = own !== undefined && fork < own ? { rollbackTo: fork, gone: index.coinbasesAbove(fork) } : {};
    return stored.length === 0 ? back : { ...back, headers: stored, dropHeadersBelow: height - HEADER_WINDOW };
  }

  /** Watches whose past most servers have told and nothing of it is open. */
  async #cover(): Promise<Look<undefined>> {
    const { pool, index, views, watchedTxs, search } = this.#parts;
    const servers = pool.present();
    const need = majorityOf(servers.length);
    let refused: LookFault | null = null;
    const covered = index.pendingWatches().filter((w) => {
      if (w.kind === "tx") return watchedTxs.isAnswered(w.key, servers);
      const told = [...(views.get(w.key)?.views ?? [])].filter(([server]) => servers.includes(server));
      const refusal = told.find(([, v]) => v.refusal !== null);
      if (told.filter(([, v]) => v.refusal === null).length >= need) return true;
      // What is in no block has to be told by most as well.
      const isSearched = told.filter(([, v]) => v.refusal === null || v.hasPool).length >= need && search.has(w.key);
      if (isSearched && search.isThrough(w.key)) return true;
      if (refusal && !isSearched)
        refused = { kind: "missing", what: "the history of a script", why: `${refusal[0].name}: ${refusal[1].refusal}` };
      return false;
    });
    if (covered.length > 0) await this.#deps.commit({ watches: covered.map((w) => ({ ...w, nextHeight: null })) });
    return refused === null ? ok(undefined) : err(refused);
  }
}
