import { dropOldest } from "../../core/util/dropOldest.ts";
import { MAX_HISTORY } from "./answers.ts";
import { ReadPace } from "./readPace.ts";

/** From so many lines on a history is not asked for at each change. */
const LONG = 100;
/** Pause for each line, ms: ElectrumX (1.15) counts one for 5,000 bytes it sends, some fifty lines, and forgives about one a second. */
const PER_LINE_MS = 25;
/**
 * Of what may be asked of a server this part is for all its long histories equally often, whatever their lengths, so that a very long one does not
 * wait for as many times its length as there are others. The rest is for each the same lines: one that is just long does not wait for a very long one.
 */
const EQUALLY_OFTEN = 0.75;
/**
 * Short ones are asked for at each change while a server bears that (`ReadPace`), and then in turns like long ones: one transaction can pay all contracts there
 * are, again and again. What ElectrumX counts for a call, and for a line of a mempool, in lines of blocks; and so many of these it counts for one.
 */
const CALL_LINES = 25;
const POOL_LINES = 2;
const LINES_PER_COST = 50;
/** What a server is asked for of short ones at once, as it counts: it may have to give blocks and proofs as well, and counts what it tells by itself. */
const SHORT_BURST = 1_500;
/** Histories of a server that are remembered, and what waits at as many scripts, long and short ones each; the ones told longest ago are forgotten. */
const MAX_KEPT = 2_000;

/** What a server was asked about a script. */
type Asked = "status" | "history";

/** `isLost`: the server was lost over it instead. */
type Told = { readonly lines: number; readonly atMs: number; readonly isLost?: true };

/** The long histories of one server, or its short ones, and their lines together. */
class Histories {
  readonly #told = new Map<string, Told>();
  #lines = 0;

  get(scriptHash: string): Told | undefined {
    return this.#told.get(scriptHash);
  }

  /** Told last: those told longest ago are forgotten. */
  set(scriptHash: string, told: Told): void {
    this.#told.set(scriptHash, told);
    this.#lines += told.lines;
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MAX_KEPT) break;
      this.delete(oldest);
    }
  }

  delete(scriptHash: string): void {
    this.#lines -= this.#told.get(scriptHash)?.lines ?? 0;
    this.#told.delete(scriptHash);
  }

  /**
   * Pause before one of so many lines may be asked for again, ms: all of them together, and those that share with them, then cost no more than a line each
   * `PER_LINE_MS`.
   */
  pauseMs(lines: number, sharing: Histories | undefined): number {
    const allLines = this.#lines + (sharing === undefined ? 0 : sharing.#lines);
    const count = this.#told.size + (sharing === undefined ? 0 : sharing.#told.size);
    return PER_LINE_MS / (EQUALLY_OFTEN / allLines + (1 - EQUALLY_OFTEN) / (lines * count));
  }
}

/**
 * When a long history may be asked for again: anybody can pay a script some thousands of times and then go on, and whoever asks for all of
 * it at each change is cut off by every honest server within minutes.
 */
export class HistoryPace {
  /** By server's name. */
  readonly #told = new Map<string, Histories>();
  readonly #short = new Map<string, Histories>();
  readonly #credit = new ReadPace(SHORT_BURST);
  /** Questions over which a server was lost, and which it has not answered since; the oldest first. */
  readonly #lost = new Set<string>();

  /** A clock that was set back makes nothing late: then it is due. */
  isDue(server: string, scriptHash: string, nowMs: number): boolean {
    const long = this.#told.get(server);
    const told = long?.get(scriptHash);
    if (long === undefined || told === undefined) return this.#isShortDue(server, scriptHash, nowMs);
    // Short ones take their turns among the long ones once a server bears no more.
    const sharing = this.bears(server, nowMs) ? undefined : this.#short.get(server);
    return nowMs < told.atMs || nowMs - told.atMs >= long.pauseMs(told.lines, sharing);
  }

  told(server: string, scriptHash: string, lines: number, nowMs: number): void {
    this.#lost.delete(keyOf(server, scriptHash, "history"));
    this.#note(server, scriptHash, lines, CALL_LINES + lines * POOL_LINES, nowMs);
  }

  /** The same of what waits in a mempool at a script: whoever likes can pay many scripts at once, and each is told apart. */
  isPoolDue(server: string, scriptHash: string, nowMs: number): boolean {
    return this.isDue(server, poolOf(scriptHash), nowMs);
  }

  poolTold(server: string, scriptHash: string, lines: number, nowMs: number): void {
    this.#note(server, poolOf(scriptHash), lines * POOL_LINES, CALL_LINES + lines * POOL_LINES, nowMs);
  }

  /** Whether a server bears another question than these now, of which others can bring about any number. */
  bears(server: string, nowMs: number): boolean {
    return this.#credit.open([{ name: server }], nowMs).length > 0;
  }

  /** @param cost as ElectrumX counts */
  spent(server: string, cost: number, nowMs: number): void {
    this.#credit.spend({ name: server }, cost, nowMs);
  }

  #note(server: string, key: string, lines: number, counted: number, nowMs: number): void {
    const long = this.#told.get(server) ?? new Histories();
    this.#told.set(server, long);
    long.delete(key);
    const short = this.#short.get(server) ?? new Histories();
    this.#short.set(server, short);
    short.delete(key);
    const [histories, all] = lines >= LONG ? [long, lines] : [short, counted];
    this.spent(server, all / LINES_PER_COST, nowMs);
    histories.set(key, { lines: all, atMs: nowMs });
  }

  #isShortDue(server: string, scriptHash: string, nowMs: number): boolean {
    const short = this.#short.get(server);
    const told = short?.get(scriptHash);
    if (short === undefined || told === undefined || nowMs < told.atMs) return true;
    if (this.bears(server, nowMs)) return true;
    return nowMs - told.atMs >= short.pauseMs(told.lines, this.#told.get(server));
  }

  /** Its status was told: that it was lost over it before was chance. */
  statusTold(server: string, scriptHash: string): void {
    this.#lost.delete(keyOf(server, scriptHash, "status"));
  }

  /**
   * The connection to a server was lost over a script: it works for too long at its history, or tells more than is read. Once may be chance.
   * From the second time in a row on it is asked for as seldom as the longest there are, also when the server is there again.
   */
  lostOver(server: string, scriptHash: string, asked: Asked, nowMs: number): void {
    const long = this.#told.get(server) ?? new Histories();
    this.#told.set(server, long);
    const key = keyOf(server, scriptHash, asked);
    if (this.#lost.delete(key) || long.get(scriptHash)?.isLost) {
      long.delete(scriptHash);
      long.set(scriptHash, { lines: MAX_HISTORY, atMs: nowMs, isLost: true });
      return;
    }
    this.#lost.add(key);
    dropOldest(this.#lost, MAX_KEPT);
  }

  /** Whether a server is not to be asked about a script at all now, for it was lost over that again and again. */
  isLost(server: string, scriptHash: string, nowMs: number): boolean {
    return this.#told.get(server)?.get(scriptHash)?.isLost === true && !this.isDue(server, scriptHash, nowMs);
  }

  /** Nobody follows the script any more: it holds up no others, at whomever it was asked for. */
  forget(scriptHash: string): void {
    for (const told of [...this.#told.values(), ...this.#short.values()])
      for (const key of [scriptHash, poolOf(scriptHash)]) told.delete(key);
  }
}

const poolOf = (scriptHash: string): string => `mempool ${scriptHash}`;
const keyOf = (server: string, scriptHash: string, asked: Asked): string => `${server} ${scriptHash} ${asked}`;
