import { dropOldest } from "../../core/util/dropOldest.ts";
import type { BlockRef } from "../../ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { ServerPool } from "./serverPool.ts";
import type { Visitable } from "./serverVisits.ts";

/** A server is asked for so long, ms: whoever waits for it has a time limit of its own. */
const ASK_MS = 5_000;
/** Servers that are not connected, asked at once about a block; if these do not decide it, the next. */
const MAX_AT_ONCE = 8;
/** All that can be asked about one block have answered long before, or not at all. */
const INQUIRY_MS = 180_000;
/** Rest before one that does not show the block is asked about it again, ms: it may be a block behind. Twice as long each time. */
const FIRST_AGAIN_MS = 5_000;
const MAX_AGAIN_MS = 300_000;
/** One that gave no answer is left alone for so long, ms, at first; twice as long each time, up to `MAX_AGAIN_MS`. */
const SILENT_REST_MS = 60_000;
/** Blocks about which is remembered what was said; the oldest go first. */
const MAX_BLOCKS = 100;
/** A server whose last block is older, ms, stands still: it says nothing of later ones. */
const STUCK_MS = 3 * 3_600_000;
/** So many that do not show a block weigh more than any number of connected ones. */
const MANY = 2;
/** Names told in one sentence. */
const MAX_NAMED = 3;

/** Who was connected so short ago, ms, may have shown the block itself, and is no witness of it. */
const APART_MS = 2 * 3_600_000;

/** What one server said of one block. `heard`: it has it, and was heard when it came. */
type Word = { readonly name: string; readonly said: "shown" | "heard" | "not"; readonly tries: number; readonly againAtMs: number };

type Inquiry = {
  readonly block: BlockRef;
  /** By the server's voice. */
  readonly words: Map<string, Word>;
  /** The block has left the chain that is followed: what was said of it counts no more, also should it come back. */
  isOver: boolean;
};

export type WitnessesDeps = {
  readonly ticker: string;
  readonly servers: readonly Visitable[];
  readonly pool: ServerPool;
  readonly reader: HeaderReader;
  /** Whether the last block shows work that nobody spends to deceive, as all before it: then each speaks for itself. */
  readonly isProof: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly closed: AbortSignal;
};

/**
 * Where a block costs nothing, most of the connected servers can make one up. So before a step that cannot be taken back rests on it, all that
 * are configured are asked whether they have it: one that has, and was not connected when the block came, is enough. If none has, two that answer
 * speak against it, connected or not, or one where two at most are heard: a single liar stops nobody where three are heard. Who gives no answer says
 * nothing, nor does who was found to lie.
 */
export class Witnesses {
  readonly #deps: WitnessesDeps;
  /** By the block's hash. */
  readonly #inquiries = new Map<string, Inquiry>();
  /** Those that gave no answer the last time, and until when they are left alone. Their hosts may answer at another port. */
  readonly #silent = new Map<RemoteServer, { readonly untilMs: number; readonly restMs: number }>();

  /** By the block's hash. */
  readonly #running = new Map<string, Promise<Inquiry>>();

  constructor(deps: WitnessesDeps) {
    this.#deps = deps;
  }

  /**
   * Why a block of the chain that is followed may be made up, one sentence; null: nothing speaks against it.
   * @param isOneEnough whether one that denies it is: where no step waits for it
   */
  async doubt(block: BlockRef, signal?: AbortSignal, isOneEnough = false): Promise<string | null> {
    const { ticker, clock, closed, isProof } = this.#deps;
    if (isProof()) return null;
    const until = signal ? [signal, closed] : closed;
    const { words, isOver } = await withDeadline(clock, INQUIRY_MS, until, () => this.#running.get(block.hash) ?? this.#begin(block));
    if (isOver) return `block ${block.height} (${block.hash}) of ${ticker} is on the chain no more, or not without a break`;
    return this.#isShown(words) || !this.#isDenied(words, isOneEnough) ? null : this.#sentence(block, words);
  }

  /**
   * Whether a block that was asked about may be denied when it is asked about again: no witness has it, and one at least has not said, or what was
   * said is forgotten, for many others were asked about since.
   */
  mayBeDenied({ hash }: BlockRef): boolean {
    if (this.#deps.isProof()) return false;
    const words = this.#inquiries.get(hash)?.words;
    return words === undefined || (!this.#isShown(words) && [...this.#trusted()].some((voter) => !words.has(voter)));
  }

  /** The chain goes back to a block: what was said of later ones is forgotten. Liars can bring back a block that honest servers had once. */
  forgetAbove(height: number): void {
    for (const [hash, inquiry] of this.#inquiries) {
      if (inquiry.block.height <= height) continue;
      inquiry.isOver = true;
      this.#inquiries.delete(hash);
      this.#running.delete(hash);
    }
  }

  /** Swaps whose payments are in one block ask about it together. */
  #begin(block: BlockRef): Promise<Inquiry> {
    const running = this.#inquire(block).finally(() => {
      if (this.#running.get(block.hash) === running) this.#running.delete(block.hash);
    });
    this.#running.set(block.hash, running);
    return running;
  }

  async #inquire(block: BlockRef): Promise<Inquiry> {
    const inquiry = this.#inquiryOn(block);
    const { words } = inquiry;
    const asked = new Set<RemoteServer>();
    for (let due = this.#due(words, asked); due.length > 0 && !this.#isShown(words); due = this.#due(words, asked)) {
      for (const { pooled } of due) asked.add(pooled);
      await this.#ask(due, block, words);
      if (this.#isDenied(words)) break;
    }
    return inquiry;
  }

  /** Voices that are heard. */
  #heard(): ReadonlySet<string> {
    return new Set(this.#deps.pool.present().map(({ voter }) => voter));
  }

  /** Voices that are named now, and were not found to lie, at whichever of their ports: what others said before counts no more either. */
  #trusted(): ReadonlySet<string> {
    const { servers } = this.#deps;
    const liars = new Set(servers.flatMap(({ pooled }) => (pooled.state === "dropped" && !pooled.isOutvoted ? [pooled.voter] : [])));
    return new Set(servers.flatMap(({ pooled: { voter } }) => (liars.has(voter) ? [] : [voter])));
  }

  #saying(words: ReadonlyMap<string, Word>, what: Word["said"]): readonly Word[] {
    const trusted = this.#trusted();
    return [...words].flatMap(([voter, word]) => (word.said === what && trusted.has(voter) ? [word] : []));
  }

  #isShown(words: ReadonlyMap<string, Word>): boolean {
    return this.#saying(words, "shown").length > 0;
  }

  #isDenied(words: ReadonlyMap<string, Word>, isOneEnough = false): boolean {
    const against = this.#saying(words, "not");
    // Who serves another chain denies each block: one alone must not stop all swaps with it.
    const outvoted = new Set(this.#deps.servers.flatMap(({ pooled }) => (pooled.isOutvoted ? [pooled.name] : [])));
    const alone = against.filter(({ name }) => !outvoted.has(name)).length;
    return against.length >= MANY || 2 * alone >= Math.max(1, this.#heard().size) || (isOneEnough && alone > 0);
  }

  #sentence({ height, hash }: BlockRef, words: ReadonlyMap<string, Word>): string {
    const against = this.#saying(words, "not").map(({ name }) => name);
    const showing = [...this.#heard()].filter((voice) => words.get(voice)?.said !== "not").length;
    const names = against.slice(0, MAX_NAMED).join(", ");
    const { ticker } = this.#deps;
    return `block ${height} (${hash}) of ${ticker} is shown by ${showing} connected servers and not by ${names}, and costs too little to prove itself: if it stays so, enable ${ticker} with servers that agree`;
  }

  /** One of each voice whose time has come: those that are connected, and of the others the best. */
  #due(words: ReadonlyMap<string, Word>, asked: ReadonlySet<RemoteServer>): readonly Visitable[] {
    const nowMs = this.#deps.clock.nowMs();
    // A clock that was set back must not make the rest hours longer.
    const isOver = (untilMs: number): boolean => untilMs <= nowMs || untilMs > nowMs + MAX_AGAIN_MS;
    const isDue = (server: RemoteServer): boolean =>
      isOver(words.get(server.voter)?.againAtMs ?? 0) && isOver(this.#silent.get(server)?.untilMs ?? 0) && restOf(server) <= nowMs;
    const trusted = this.#trusted();
    const open = this.#deps.servers
      .filter(({ pooled }) => trusted.has(pooled.voter) && !asked.has(pooled) && isDue(pooled))
      .sort((a, b) => a.pooled.cost - b.pooled.cost);
    const connected = open.filter(({ pooled }) => pooled.state === "connected");
    const taken = new Set(connected.map(({ pooled }) => pooled.voter));
    const others = open.filter(({ pooled: { voter } }) => taken.size < taken.add(voter).size);
    return [...connected, ...others.slice(0, MAX_AT_ONCE)];
  }

  #inquiryOn(block: BlockRef): Inquiry {
    const inquiry = this.#inquiries.get(block.hash) ?? { block, words: new Map<string, Word>(), isOver: false };
    this.#inquiries.set(block.hash, inquiry);
    dropOldest(this.#inquiries, MAX_BLOCKS);
    return inquiry;
  }

  /** Until one shows the block, or all have said what they have to say. */
  async #ask(due: readonly Visitable[], block: BlockRef, words: Map<string, Word>): Promise<void> {
    let open = due.length;
    await new Promise<void>((resolve) => {
      for (const server of due) {
        void this.#askOne(server, block, words).finally(() => {
          open--;
          if (open === 0 || this.#isShown(words)) resolve();
        });
      }
    });
  }

  /** Lists of servers name some that stopped long ago: these would deny every block. */
  #isStuck({ tip }: RemoteServer): boolean {
    return tip === null || tip.header.timeSec * 1_000 < this.#deps.clock.nowMs() - STUCK_MS;
  }

  /** Never rejects. */
  async #askOne({ pooled, visitor }: Visitable, block: BlockRef, words: Map<string, Word>): Promise<void> {
    const { servers, clock, closed, reader, log } = this.#deps;
    const asked = pooled.state === "connected" ? pooled : visitor();
    let has: boolean | null = null;
    try {
      await withDeadline(clock, ASK_MS, closed, async () => {
        if (asked !== pooled) await asked.connect();
        const header = await reader.headerOf(asked, block.height);
        if (header.ok && header.value.hash === block.hash) has = true;
        // Another one, or none of that height yet.
        else if ((header.ok || header.error.kind === "rpc") && !this.#isStuck(asked)) has = false;
      });
    } catch (cause) {
      if (!(cause instanceof Aborted)) log.warn("witness_failed", { server: pooled.name, cause: String(cause) });
    } finally {
      if (asked !== pooled) asked.release();
    }
    const nowMs = clock.nowMs();
    if (has === null) {
      const before = this.#silent.get(pooled)?.restMs;
      const restMs = before === undefined ? SILENT_REST_MS : Math.min(2 * before, MAX_AGAIN_MS);
      this.#silent.set(pooled, { untilMs: nowMs + restMs, restMs });
      return;
    }
    this.#silent.delete(pooled);
    const tries = words.get(pooled.voter)?.tries ?? 0;
    const againAtMs = nowMs + Math.min(MAX_AGAIN_MS, FIRST_AGAIN_MS * 2 ** Math.min(tries, 10));
    // Who is being connected is one of the connected in a moment, and may have been before a start.
    const isHeard = (s: RemoteServer): boolean => s.state === "connecting" || s.connectedMs > nowMs - APART_MS;
    const wasHeard = servers.some((s) => s.pooled.voter === pooled.voter && isHeard(s.pooled));
    const said = has ? (wasHeard ? "heard" : "shown") : "not";
    words.set(pooled.voter, { name: pooled.name, said, tries: tries + 1, againAtMs });
  }
}

/** Whoever was away a moment ago is not waited for once more. */
const restOf = (server: RemoteServer): number => (server.state === "away" ? (server.restUntilMs(false) ?? 0) : 0);
