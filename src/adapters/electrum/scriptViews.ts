import type { BlockRef } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import { type HistoryLine, parseHistory } from "./answers.ts";
import { AskAgain } from "./askAgain.ts";
import { serverFaultText } from "./fault.ts";
import type { HistoryPace } from "./historyPace.ts";
import { mostOf } from "./mostOf.ts";
import type { Asking, RefusedHistories } from "./refusedHistories.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { scriptHashOf, statusOfHistory } from "./scriptHash.ts";
import { majorityOf } from "./serverPool.ts";
import type { Telling } from "./spendSearch.ts";

/**
 * Lines of one server's histories that are kept, some 13 MB: where they are more, the longest count as refused, for whoever fills a few must not keep others
 * from being told. Short ones are not counted: there are no more of them than scripts.
 */
const MAX_LINES = 100_000;
const COUNTED_FROM = 100;
const TOO_LONG_TOGETHER = "its histories are too long together";
/**
 * Fulcrum (up to 2.x) says of a history that is longer than it tells that there is none. It tells so many lines at least, however it is set up: where others tell
 * fewer, whoever says so leaves them out.
 */
const LEAST_TOLD = 1_000;
const SAYS_NOTHING = "it says that there is nothing of a script that is paid in a block";
/** A server may take this long to put a block it has told of into its histories, ms. */
const PATIENCE_MS = 30_000;

/**
 * What one server says of one script. `refusal`: why it does not tell the history; `lines` are then what it tells in other ways
 * (`RefusedHistories`), and without `hasPool` it tells nothing. `base`: the history as it was told last, to which `lines` add what was told
 * in other ways since (`added`: its status): it has changed and is too long to be asked for again now. `toldAt`: hash of the server's last block when it told it.
 */
type View = {
  readonly status: string | null;
  readonly lines: readonly HistoryLine[];
  readonly refusal: string | null;
  readonly hasPool?: true;
  readonly base?: { readonly lines: readonly HistoryLine[]; readonly added: string | null };
  readonly toldAt?: string | undefined;
};

/** Whether a server tells the whole history of a script, as it is now. */
export const isWhole = ({ refusal, base }: View): boolean => refusal === null && base === undefined;

/** What is asked for anew at a look beside what somebody waits for alone: nothing, the last blocks, and what somebody waits for, or all. */
export type Fresh = "nothing" | "tips" | "awaited" | "all";
type LookAsking = Omit<Asking, "fresh"> & { readonly fresh: Fresh };

/** A script that is followed at the servers. */
export type Tracked = {
  readonly scriptHex: string;
  readonly scriptHash: string;
  /** Blocks below do not count. */
  fromHeight: number;
  /** Null: all of its history counts. Otherwise it is only followed to find these transactions. */
  readonly only: ReadonlySet<string> | null;
  readonly views: Map<RemoteServer, View>;
  /** Long histories of servers that are not there now. */
  readonly left: WeakMap<RemoteServer, View>;
  /** When a server said first that there is nothing, though something is proven to be there, unix ms. */
  readonly silentSince: WeakMap<RemoteServer, number>;
  /** What was made of its history, by transaction: its block; null: in the mempool. */
  readonly done: Map<string, BlockRef | null>;
  /** A view is another one than when it was last worked off. */
  changed: boolean;
  /** When what nobody gave, or most deny, is to be asked for again, unix ms; null: there is no such thing. */
  laterMs: number | null;
  /** The lowest block somebody tells of that was not there when it was worked off; null: there is none. */
  aheadAt: number | null;
};

/** The histories of scripts as each server tells them. */
export class ScriptViews {
  readonly #tracked = new Map<string, Tracked>();
  readonly #again = new Map<RemoteServer, AskAgain>();
  /** Scripts nobody waits for. */
  readonly #calm = new Set<string>();
  /** Scripts that somebody waits for alone. */
  readonly #awaited = new Set<string>();
  readonly #refused: RefusedHistories;
  readonly #pace: HistoryPace;
  readonly #clock: Clock;
  /** Those that are asked, and whether they are being asked: one that is late is for longer than a look. */
  #there: ReadonlySet<RemoteServer> = new Set();
  readonly #asked = new Map<RemoteServer, Promise<void>>();

  constructor(refused: RefusedHistories, pace: HistoryPace, clock: Clock) {
    this.#refused = refused;
    this.#pace = pace;
    this.#clock = clock;
  }

  all(): readonly Tracked[] {
    return [...this.#tracked.values()];
  }

  get(scriptHex: string): Tracked | undefined {
    return this.#tracked.get(scriptHex);
  }

  /** Follows a script; one that is followed already keeps what is known of it, unless it has to go further back. */
  add(scriptHex: string, fromHeight: number): void {
    const known = this.#tracked.get(scriptHex);
    if (known?.only === null && known.fromHeight <= fromHeight) return;
    this.#put(scriptHex, fromHeight, null, known);
  }

  /** Follows a script only for the sake of a transaction that pays it. */
  addFor(txid: string, scriptHex: string, fromHeight: number): void {
    const known = this.#tracked.get(scriptHex);
    if (known?.only === null || known?.only.has(txid)) return;
    this.#put(scriptHex, Math.min(fromHeight, known?.fromHeight ?? fromHeight), new Set([...(known?.only ?? []), txid]), known);
  }

  #put(scriptHex: string, fromHeight: number, only: ReadonlySet<string> | null, known: Tracked | undefined): void {
    this.#tracked.set(scriptHex, {
      scriptHex,
      scriptHash: scriptHashOf(scriptHex),
      fromHeight,
      only,
      views: known?.views ?? new Map(),
      left: known?.left ?? new WeakMap(),
      silentSince: known?.silentSince ?? new WeakMap(),
      done: new Map(),
      changed: true,
      laterMs: null,
      aheadAt: null,
    });
  }

  /** Nobody waits for what comes to a script: it is asked about anew with all others alone. Until it is removed. */
  calm(scriptHex: string): void {
    this.#calm.add(scriptHex);
  }

  /** Somebody waits for what comes to a script: it is asked about anew at the next look. */
  askAnew(scriptHex: string): void {
    this.#awaited.add(scriptHex);
  }

  /** Whether a script is asked about anew at such a look, for whomever it is. */
  #isAskedAnew({ scriptHex }: Tracked, fresh: Fresh): boolean {
    return fresh === "all" || (fresh === "awaited" && !this.#calm.has(scriptHex));
  }

  /** Whether a server was asked about a script anew at such a look, which is the last one, and has answered. */
  hasToldAnew(server: RemoteServer, tracked: Tracked, fresh: Fresh): boolean {
    return this.#isAskedAnew(tracked, fresh) && !this.#asked.has(server);
  }

  remove(scriptHex: string, servers: readonly RemoteServer[]): void {
    this.#calm.delete(scriptHex);
    const tracked = this.#tracked.get(scriptHex);
    if (tracked === undefined) return;
    this.#tracked.delete(scriptHex);
    this.#pace.forget(tracked.scriptHash);
    for (const server of servers) {
      server.forget(tracked.scriptHash);
      this.#again.get(server)?.forget(tracked.scriptHash);
    }
  }

  /** What was made of the histories is forgotten: the index is empty again. */
  restart(): void {
    for (const tracked of this.#tracked.values()) {
      tracked.done.clear();
      tracked.changed = true;
    }
  }

  /** Blocks have left the chain: every history is to be worked off again, whether or not it changed. */
  reopen(): void {
    for (const tracked of this.#tracked.values()) tracked.changed = true;
  }

  /** A script is no longer needed for the sake of a transaction. */
  removeFor(txid: string, scriptHex: string, servers: readonly RemoteServer[]): void {
    const known = this.#tracked.get(scriptHex);
    if (known === undefined || known.only === null || !known.only.has(txid)) return;
    const only = new Set([...known.only].filter((id) => id !== txid));
    if (only.size === 0) this.remove(scriptHex, servers);
    else this.#put(scriptHex, known.fromHeight, only, known);
  }

  /**
   * Brings the views up to date. A server that fails on the way simply is not there any more; what one that is late tells counts once it comes.
   * @param asking `fresh`: ask for the status of every script that somebody waits for, or of all, again instead of trusting what the servers
   * told by themselves
   */
  async look(servers: readonly RemoteServer[], { fresh, ...asking }: LookAsking): Promise<void> {
    const there = new Set(servers);
    this.#there = there;
    for (const server of this.#again.keys()) if (!there.has(server)) this.#again.delete(server);
    for (const tracked of this.#tracked.values()) {
      for (const [server, view] of tracked.views) {
        if (there.has(server)) continue;
        if (view.refusal === null && view.lines.length >= COUNTED_FROM) tracked.left.set(server, view);
        tracked.views.delete(server);
        tracked.changed = true;
      }
    }
    const awaited = new Set(this.#awaited);
    this.#awaited.clear();
    const isFresh = (tracked: Tracked): boolean => this.#isAskedAnew(tracked, fresh) || awaited.has(tracked.scriptHex);
    const update = (server: RemoteServer, tracked: Tracked) => this.#update(server, tracked, { ...asking, fresh: isFresh(tracked) });
    const asked = servers.map((server) =>
      this.#askOnce(server, async () => {
        // Of those that waited for one that was late only the last goes on.
        if (there === this.#there) await Promise.all(this.all().map((tracked) => update(server, tracked)));
      }),
    );
    await mostOf(this.#clock, asked);
  }

  /** Nothing of a script is asked for twice at a time. */
  #askOnce(server: RemoteServer, ask: () => Promise<void>): Promise<void> {
    const before = this.#asked.get(server);
    const asked = (before === undefined ? ask() : before.then(ask, ask)).finally(() => {
      if (this.#asked.get(server) === asked) this.#asked.delete(server);
    });
    this.#asked.set(server, asked);
    return asked;
  }

  async #update(server: RemoteServer, tracked: Tracked, asking: Asking): Promise<void> {
    const { nowMs } = asking;
    this.#restore(server, tracked, nowMs);
    const known = tracked.views.get(server);
    if (known?.refusal == null || this.#againOf(server).isDue(tracked.scriptHash, nowMs)) {
      await this.#ask(server, tracked, asking);
      if (tracked.views.get(server)?.refusal == null) {
        this.#againOf(server).forget(tracked.scriptHash);
        // What waits at a script of a short history costs as much to ask for as that.
        const base = tracked.views.get(server)?.base;
        if (base !== undefined && base.lines.length >= COUNTED_FROM) await this.#addLater(server, tracked, asking);
        return;
      }
      this.#againOf(server).refused(tracked.scriptHash, nowMs);
    }
    await this.#askOtherwise(server, tracked, asking);
  }

  /** One that is slow for a moment, or lost, must not be asked for all of it each time it is there again. */
  #restore(server: RemoteServer, tracked: Tracked, nowMs: number): void {
    const left = tracked.left.get(server);
    tracked.left.delete(server);
    if (left !== undefined && !this.#pace.isDue(server.name, tracked.scriptHash, nowMs)) this.#set(server, tracked, left);
  }

  async #askOtherwise(server: RemoteServer, tracked: Tracked, asking: Asking): Promise<void> {
    const lines = await this.#refused.linesOf(server, tracked, asking);
    const view = tracked.views.get(server);
    if (lines === null || view === undefined || view.refusal === null) return;
    if (view.hasPool && statusOfHistory(view.lines) === statusOfHistory(lines)) return;
    if (!this.#makeRoom(server, tracked, lines.length)) return;
    this.#set(server, tracked, { status: null, lines, refusal: view.refusal, hasPool: true });
  }

  /** What is told in other ways of a history that is too long to be asked for at each change. Its blocks stand as they were told. */
  async #addLater(server: RemoteServer, tracked: Tracked, asking: Asking): Promise<void> {
    const later = await this.#refused.linesOf(server, tracked, asking);
    const view = tracked.views.get(server);
    if (later === null || view?.base === undefined) return;
    const { lines: told } = view.base;
    const added = statusOfHistory(later);
    // To go through all of it takes milliseconds, and news can begin five looks a second.
    if (view.base.added === added || !this.#makeRoom(server, tracked, told.length + later.length)) return;
    const lines = new Map(told.map((line) => [line.txid, line]));
    for (const line of later) if ((lines.get(line.txid)?.height ?? 0) <= 0) lines.set(line.txid, line);
    this.#set(server, tracked, { ...view, base: { lines: told, added }, lines: [...lines.values()] });
  }

  /** Whether so many lines of a script can be kept beside all others of the server. Longer ones make room, the longest first. */
  #makeRoom(server: RemoteServer, tracked: Tracked, count: number): boolean {
    if (count < COUNTED_FROM) return true;
    const others = this.all().flatMap((other) => {
      const length = other === tracked ? 0 : (other.views.get(server)?.lines.length ?? 0);
      return length === 0 ? [] : [{ other, length }];
    });
    let held = others.reduce((sum, { length }) => sum + length, count);
    if (held <= MAX_LINES) return true;
    for (const { other, length } of others.sort((a, b) => b.length - a.length)) {
      if (held <= MAX_LINES || length <= count) break;
      this.#set(server, other, { status: null, lines: [], refusal: TOO_LONG_TOGETHER });
      held -= length;
    }
    return held <= MAX_LINES;
  }

  #againOf(server: RemoteServer): AskAgain {
    const again = this.#again.get(server) ?? new AskAgain();
    this.#again.set(server, again);
    return again;
  }

  async #ask(server: RemoteServer, tracked: Tracked, { fresh, nowMs, heightOf }: Asking): Promise<void> {
    let known = tracked.views.get(server);
    if (this.#pace.isLost(server.name, tracked.scriptHash, nowMs)) {
      // What it told before is no excuse: what came since is looked for in other ways.
      this.#refuse(server, tracked, known, "it is lost each time it is asked for it");
      return;
    }
    let status = server.statusOf(tracked.scriptHash);
    // Who refused it does not tell of it any more.
    if (fresh || status === undefined || (known?.refusal ?? null) !== null) {
      const answer = await server.askStatus(tracked.scriptHash);
      if (!answer.ok) {
        if (answer.error.kind === "rpc") this.#refuse(server, tracked, known, serverFaultText(answer.error));
        if (answer.error.kind === "too_much") this.#pace.lostOver(server.name, tracked.scriptHash, "status", nowMs);
        return;
      }
      this.#pace.statusTold(server.name, tracked.scriptHash);
      status = answer.value;
      // It may have made room meanwhile for what another script's history has.
      known = tracked.views.get(server);
    }
    if (status === null && this.#tellsNothing(server, tracked, nowMs)) {
      this.#refuse(server, tracked, known, SAYS_NOTHING);
      return;
    }
    if (known !== undefined && known.status === status && known.refusal === null) {
      const { base, ...view } = known;
      if (base !== undefined) this.#set(server, tracked, { ...view, lines: base.lines });
      return;
    }
    if (status === null) {
      this.#set(server, tracked, { status, lines: [], refusal: null });
      return;
    }
    // What another server told under this status is the same history, to the letter.
    const same = [...tracked.views.values()].find((v) => v.status === status && v.refusal === null && statusOfHistory(v.lines) === status);
    if (same !== undefined) {
      this.#set(server, tracked, same);
      return;
    }
    const tip = server.tip?.header.hash;
    // Nobody can prove what he told of blocks that left the chain since: that is not to be held against him.
    const hasLeft = known?.toldAt !== undefined && known.toldAt !== tip && heightOf(known.toldAt) === undefined;
    if (known !== undefined && !this.#pace.isDue(server.name, tracked.scriptHash, nowMs) && !hasLeft) {
      if (isWhole(known)) tracked.views.set(server, { ...known, base: { lines: known.lines, added: null } });
      return;
    }
    const lines = await server.ask("blockchain.scripthash.get_history", [tracked.scriptHash], parseHistory);
    if (!lines.ok) {
      if (lines.error.kind === "rpc") this.#refuse(server, tracked, known, serverFaultText(lines.error));
      if (lines.error.kind === "too_much") this.#pace.lostOver(server.name, tracked.scriptHash, "history", nowMs);
      return;
    }
    const count = lines.value === "too_long" ? 0 : lines.value.length;
    this.#pace.told(server.name, tracked.scriptHash, count, nowMs);
    if (lines.value === "too_long") this.#refuse(server, tracked, known, "its history is too long");
    else if (!this.#makeRoom(server, tracked, count)) this.#refuse(server, tracked, known, TOO_LONG_TOGETHER);
    else this.#set(server, tracked, { status, lines: lines.value, refusal: null, toldAt: tip });
  }

  /** Whether a server that says that there is nothing of a script tells none of it, for it is too much. */
  #tellsNothing(server: RemoteServer, tracked: Tracked, nowMs: number): boolean {
    const { scriptHex, views, silentSince } = tracked;
    const isShort = [...views.values()].some(({ refusal, lines: { length } }) => refusal === null && length > 0 && length < LEAST_TOLD);
    if (isShort || !this.#refused.isPaidBelow(server, scriptHex)) {
      silentSince.delete(server);
      return false;
    }
    const sinceMs = Math.min(nowMs, silentSince.get(server) ?? nowMs);
    silentSince.set(server, sinceMs);
    return nowMs - sinceMs >= PATIENCE_MS;
  }

  /** What it told in other ways until now stands until it is asked again. */
  #refuse(server: RemoteServer, tracked: Tracked, known: View | undefined, refusal: string): void {
    if (known?.refusal === refusal) return;
    this.#set(server, tracked, known?.hasPool ? { ...known, refusal } : { status: null, lines: [], refusal });
  }

  /** Whether most of `servers` tell the history of a script, or so many refuse it that these cannot. */
  telling({ views }: Tracked, servers: readonly RemoteServer[]): Telling {
    const heard = servers.flatMap((server) => views.get(server) ?? []);
    const refusing = heard.filter(({ refusal }) => refusal !== null).length;
    const need = majorityOf(servers.length);
    if (heard.filter(isWhole).length >= need) return "told";
    return refusing > 0 && servers.length - refusing < need ? "crowded" : null;
  }

  /** Which servers name one of `txids` in a history, in a block or in the mempool. */
  namedBy(txids: ReadonlySet<string>): ReadonlyMap<string, ReadonlySet<RemoteServer>> {
    const named = new Map<string, Set<RemoteServer>>();
    for (const { views } of this.#tracked.values()) {
      for (const [server, { lines }] of views) {
        for (const { txid } of lines) if (txids.has(txid)) named.set(txid, (named.get(txid) ?? new Set()).add(server));
      }
    }
    return named;
  }

  /** Who tells nothing of a script: by the transaction it is followed for, those of scripts of our own under null. */
  silent(): ReadonlyMap<string | null, ReadonlySet<RemoteServer>> {
    const silent = new Map<string | null, Set<RemoteServer>>();
    for (const { views, only } of this.#tracked.values()) {
      for (const [server, { refusal, hasPool }] of views) {
        if (refusal === null || hasPool) continue;
        for (const txid of only ?? [null]) silent.set(txid, (silent.get(txid) ?? new Set()).add(server));
      }
    }
    return silent;
  }

  /** One that is late may tell it when it is not asked any more, or of a script that is followed for something else by then, or not at all. */
  #set(server: RemoteServer, { scriptHex }: Tracked, view: View): void {
    const tracked = this.#tracked.get(scriptHex);
    if (tracked === undefined || !this.#there.has(server)) return;
    tracked.views.set(server, view);
    tracked.changed = true;
  }
}
