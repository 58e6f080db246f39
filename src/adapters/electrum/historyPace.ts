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
/** Histories of a server that are remembered, long and short ones; the ones told longest ago are forgotten. */
const MAX_KEPT = 1_000;

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

  /** Pause before one of so many lines may be asked for again, ms: all of them together then cost no more than a line each `PER_LINE_MS`. */
  pauseMs(lines: number): number {
    return PER_LINE_MS / (EQUALLY_OFTEN / this.#lines + (1 - EQUALLY_OFTEN) / (lines * this.#told.size));
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
    return nowMs < told.atMs || nowMs - told.atMs >= long.pauseMs(told.lines);
  }

  told(server: string, scriptHash: string, lines: number, nowMs: number): void {
    const long = this.#told.get(server) ?? new Histories();
    this.#told.set(server, long);
    long.delete(scriptHash);
    this.#lost.delete(keyOf(server, scriptHash, "history"));
    const short = this.#short.get(server) ?? new Histories();
    this.#short.set(server, short);
    short.delete(scriptHash);
    if (lines >= LONG) {
      long.set(scriptHash, { lines, atMs: nowMs });
      return;
    }
    const counted = CALL_LINES + lines * POOL_LINES;
    this.#credit.spend({ name: server }, counted / LINES_PER_COST, nowMs);
    short.set(scriptHash, { lines: counted, atMs: nowMs });
  }

  #isShortDue(server: string, scriptHash: string, nowMs: number): boolean {
    const short = this.#short.get(server);
    const told = short?.get(scriptHash);
    if (short === undefined || told === undefined || nowMs < told.atMs) return true;
    if (this.#credit.open([{ name: server }], nowMs).length > 0) return true;
    return nowMs - told.atMs >= short.pauseMs(told.lines);
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
    for (const oldest of this.#lost) {
      if (this.#lost.size <= MAX_KEPT) break;
      this.#lost.delete(oldest);
    }
  }

  /** Whether a server is not to be asked about a script at all now, for it was lost over that again and again. */
  isLost(server: string, scriptHash: string, nowMs: number): boolean {
    return this.#told.get(server)?.get(scriptHash)?.isLost === true && !this.isDue(server, scriptHash, nowMs);
  }

  /** Nobody follows the script any more: it holds up no others, at whomever it was asked for. */
  forget(scriptHash: string): void {
    for (const told of [...this.#told.values(), ...this.#short.values()]) told.delete(scriptHash);
  }
}

const keyOf = (server: string, scriptHash: string, asked: Asked): string => `${server} ${scriptHash} ${asked}`;
