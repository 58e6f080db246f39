import type { OwnSpend } from "../../ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { type HistoryLine, parseHistory, parseTxid } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import { bothEnds } from "./bothEnds.ts";
import type { Guards } from "./guards.ts";
import type { HistoryPace } from "./historyPace.ts";
import type { LoneWord, Told } from "./loneWord.ts";
import type { RefusedHistories } from "./refusedHistories.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { scriptHashOf } from "./scriptHash.ts";
import type { ServerPool } from "./serverPool.ts";
import type { SpendSearch } from "./spendSearch.ts";
import { visitPauseMs } from "./visitPace.ts";

/** A visit ends after so long, ms, whatever the server still has to say. */
const VISIT_MS = 30_000;
/** Scripts asked about at a visit: the most urgent, and so many of the others. */
const MAX_URGENT = 50;
const MAX_OTHERS = 50;

/** Own spends of one script that are given at a visit: of so many forms of a payment, and of each so many versions. */
const MAX_SPENDS = 10;
const MAX_VERSIONS = 4;

/** One configured server: as the pool has it, and with a connection of its own for visits. */
export type Visitable = { readonly pooled: RemoteServer; readonly visitor: () => RemoteServer };

export type ServerVisitsDeps = {
  readonly servers: readonly Visitable[];
  readonly pool: ServerPool;
  /** Whether what the connected servers say is believed now. */
  readonly isReady: () => boolean;
  readonly guards: Guards;
  readonly word: LoneWord;
  readonly refused: RefusedHistories;
  readonly pace: HistoryPace;
  readonly search: SpendSearch;
  /** Height of a block on the chain that is followed. */
  readonly heightOf: (hash: string) => number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly closed: AbortSignal;
};

/**
 * Servers that are connected can lie together by leaving out. So, while a script is guarded, all others that are configured are visited in
 * turns: whether or not they are wanted, slow, or were dropped, for what is taken from one is only what proves itself. One at a time, and
 * nobody where nothing is guarded.
 */
export class ServerVisits {
  readonly #deps: ServerVisitsDeps;
  readonly #visitors = new Map<RemoteServer, RemoteServer>();
  /** When each was visited last, by count. */
  readonly #turns = new Map<RemoteServer, number>();
  readonly #refused = new Map<RemoteServer, AskAgain>();
  /** How many of the less urgent scripts each was asked about so far. */
  readonly #asked = new Map<RemoteServer, number>();
  #count = 0;
  #lastMs = 0;
  #isVisiting = false;
  #cancel: () => void = () => undefined;

  constructor(deps: ServerVisitsDeps) {
    this.#deps = deps;
  }

  /** Something else is guarded now. */
  plan(): void {
    const { guards, clock, closed } = this.#deps;
    this.#cancel();
    const { dueSec } = guards;
    if (dueSec === null) {
      this.#lastMs = 0;
      this.#refused.clear();
      return;
    }
    if (closed.aborted || this.#isVisiting) return;
    const nowMs = clock.nowMs();
    // The first visit has a pause before it: a swap that nobody hides anything from is often over by then. A clock set back delays nothing.
    this.#lastMs = this.#lastMs === 0 ? nowMs : Math.min(this.#lastMs, nowMs);
    const restMs = this.#lastMs + visitPauseMs(dueSec, nowMs) - nowMs;
    this.#cancel = clock.after(Math.max(0, restMs), () => void this.#next());
  }

  stop(): void {
    this.#cancel();
    for (const visitor of this.#visitors.values()) visitor.release();
  }

  async #next(): Promise<void> {
    const { clock, log, closed } = this.#deps;
    const server = this.#choose();
    this.#lastMs = clock.nowMs();
    this.#isVisiting = true;
    try {
      if (server !== null) await this.#visit(server);
    } catch (cause) {
      if (!(cause instanceof Aborted)) log.warn("visit_failed", { server: server?.pooled.name, cause: String(cause) });
    } finally {
      this.#isVisiting = false;
    }
    if (!closed.aborted) this.plan();
  }

  /** Whose turn it is; null: nobody's. Two of one host are one voice: the other is not visited while one of them is asked anyway. */
  #choose(): Visitable | null {
    const { servers, pool, isReady, clock } = this.#deps;
    const heard = isReady() ? pool.present() : [];
    const voices = new Set(heard.map(({ voter }) => voter));
    const open = servers.filter(({ pooled }) => {
      if (voices.has(pooled.voter) || pooled.state === "connecting") return false;
      const restMs = pooled.state === "connected" ? null : (this.#visitors.get(pooled)?.restUntilMs(false) ?? null);
      return restMs === null || restMs <= clock.nowMs();
    });
    const turn = ({ pooled }: Visitable): number => this.#turns.get(pooled) ?? 0;
    const [first] = open.toSorted((a, b) => turn(a) - turn(b));
    if (first !== undefined) this.#turns.set(first.pooled, ++this.#count);
    return first ?? null;
  }

  async #visit({ pooled, visitor }: Visitable): Promise<void> {
    if (pooled.state === "connected") return this.#within(() => this.#ask(pooled));
    const guest = this.#visitors.get(pooled) ?? visitor();
    this.#visitors.set(pooled, guest);
    try {
      await this.#within(async () => {
        await guest.connect();
        if (guest.state === "connected") await this.#ask(guest);
      });
    } finally {
      // Whoever was lost or dropped on the way rests as long as that takes.
      if (guest.state === "connected" || guest.state === "connecting") guest.release();
    }
  }

  #within(work: () => Promise<void>): Promise<void> {
    return withDeadline(this.#deps.clock, VISIT_MS, this.#deps.closed, work);
  }

  /** All scripts at once, what is to be given first: one that answers late, or names much of one script, must not use up its visit with it. */
  async #ask(server: RemoteServer): Promise<void> {
    const { word, search } = this.#deps;
    const scripts = this.#scriptsFor(server);
    const told = await Promise.all(
      scripts.map(async (scriptHex): Promise<readonly Told[]> => {
        const lines = await this.#linesOf(server, scriptHex);
        const told = word.told(scriptHex, lines);
        await this.#givePayments(server, scriptHex, lines);
        await this.#give(server, scriptHex, lines);
        return [told];
      }),
    );
    await word.hear(server, told.flat());
    if (scripts.some((scriptHex) => !search.isThrough(scriptHex) && search.has(scriptHex))) await search.readAt(server);
  }

  /** Whoever likes can make a history too long to be told: that must neither keep a claim at home nor hide one. */
  async #linesOf(server: RemoteServer, scriptHex: string): Promise<readonly HistoryLine[]> {
    const { refused, pace, search, clock, heightOf } = this.#deps;
    const scriptHash = scriptHashOf(scriptHex);
    const asking = { fresh: true, nowMs: clock.nowMs(), heightOf };
    if (pace.isDue(server.name, scriptHash, asking.nowMs)) {
      const history = await server.ask("blockchain.scripthash.get_history", [scriptHash], parseHistory);
      if (history.ok && history.value !== "too_long") {
        pace.told(server.name, scriptHash, history.value.length, asking.nowMs);
        // Fulcrum says so, too, of what is longer than it tells.
        if (history.value.length > 0 || !refused.isPaidBelow(server, scriptHex)) return history.value;
      }
      if (!history.ok && history.error.kind === "too_much") pace.lostOver(server.name, scriptHash, "history", asking.nowMs);
      if (!history.ok && history.error.kind !== "rpc") return [];
      search.doubt(scriptHex);
    } else if (pace.isLost(server.name, scriptHash, asking.nowMs)) search.doubt(scriptHex);
    return (await refused.linesOf(server, { scriptHex, scriptHash, only: null }, asking)) ?? [];
  }

  /** Others may have begun more urgent swaps, as many as they like: those must not keep the rest from being asked about. */
  #scriptsFor(server: RemoteServer): readonly string[] {
    const scripts = this.#deps.guards.scripts();
    const others = scripts.slice(MAX_URGENT);
    const start = this.#asked.get(server) ?? 0;
    this.#asked.set(server, start + MAX_OTHERS);
    const turn = others.slice(0, MAX_OTHERS).flatMap((_, i) => others[(start + i) % others.length] ?? []);
    return [...scripts.slice(0, MAX_URGENT), ...turn];
  }

  /** The same as below of what is spent: liars who keep it until it may not be mined any more may be the only ones who have it. */
  async #givePayments(server: RemoteServer, scriptHex: string, lines: readonly HistoryLine[]): Promise<void> {
    const told = new Set(lines.map(({ txid }) => txid));
    for (const payments of this.#deps.guards.paymentsOf(scriptHex).slice(0, MAX_SPENDS)) {
      // Whoever tells of the payment has what it is built on.
      const last = payments.at(-1);
      if (last === undefined || told.has(last.txid)) continue;
      for (const payment of payments.slice(-MAX_VERSIONS)) await this.#giveOne(server, [payment], told);
    }
  }

  /** What was sent from here may have been given to nobody: this one gets it, too, if it does not tell of it. */
  async #give(server: RemoteServer, scriptHex: string, lines: readonly HistoryLine[]): Promise<void> {
    const spends = this.#deps.guards.spendsOf(scriptHex).slice(0, MAX_SPENDS);
    const inBlocks = new Set(lines.flatMap(({ txid, height }) => (height > 0 ? [txid] : [])));
    // What they spend is one payment in several forms, of which one alone can be there.
    if (spends.flat().some(({ txid }) => inBlocks.has(txid))) return;
    const told = new Set(lines.map(({ txid }) => txid));
    for (const versions of spends) await this.#giveOne(server, versions, told);
  }

  /** The newest version, and where that is refused, for its fee perhaps, some of the others: from both ends, until one is taken. */
  async #giveOne(server: RemoteServer, versions: readonly OwnSpend[], told: ReadonlySet<string>): Promise<void> {
    const { clock } = this.#deps;
    const again = this.#refused.get(server) ?? new AskAgain();
    this.#refused.set(server, again);
    /** Whether it is there now; null: the server says nothing of it. */
    const give = async ({ txid, hex }: OwnSpend): Promise<boolean | null> => {
      if (server.state !== "connected") return null;
      if (told.has(txid)) return true;
      if (!again.isDue(txid, clock.nowMs())) return false;
      const taken = await server.ask("blockchain.transaction.broadcast", [hex], parseTxid);
      if (taken.ok || taken.error.kind !== "rpc") return taken.ok ? true : null;
      again.refused(txid, clock.nowMs());
      return false;
    };
    for (const version of [...versions.slice(0, 1), ...bothEnds(versions.slice(1))].slice(0, MAX_VERSIONS)) {
      const isThere = await give(version);
      // No history of the script tells of them: one that is there is refused, which says nothing of the next.
      if (isThere) for (const child of version.children?.slice(-MAX_VERSIONS) ?? []) await give(child);
      if (isThere !== false) return;
    }
  }
}
