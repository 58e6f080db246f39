import type { BlockRef } from "../../ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { ServerPool } from "./serverPool.ts";
import type { Visitable } from "./serverVisits.ts";

/** A server is asked for so long, ms: whoever waits for it has a time limit of its own. */
const ASK_MS = 5_000;
/** Servers asked at once about a block. */
const MAX_AT_ONCE = 8;
/** Rest before one that does not show the block is asked about it again, ms: it may be a block behind. Twice as long each time. */
const FIRST_AGAIN_MS = 5_000;
const MAX_AGAIN_MS = 300_000;
/** One that gave no answer is left alone for so long, ms. */
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

export type WitnessesDeps = {
  readonly ticker: string;
  readonly servers: readonly Visitable[];
  readonly pool: ServerPool;
  readonly reader: HeaderReader;
  /** Whether a header shows work that nobody spends to deceive: then it speaks for itself. */
  readonly isCostly: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly closed: AbortSignal;
};

/**
 * Where a block costs nothing, servers that are all connected can make one up. So before a step that cannot be taken back rests on it, others
 * that are configured are asked whether they have it: one that has, and was not connected when the block came, is enough. If none has, two that answer speak against it, or one where
 * two at most are connected: a single liar stops nobody with three servers. Who gives no answer says nothing.
 */
export class Witnesses {
  readonly #deps: WitnessesDeps;
  /** By the block's hash and the server's voice. */
  readonly #words = new Map<string, Map<string, Word>>();
  /** Until when a voice that gave no answer is left alone. */
  readonly #silentUntilMs = new Map<string, number>();

  constructor(deps: WitnessesDeps) {
    this.#deps = deps;
  }

  /** Why a block of the chain that is followed may be made up, one sentence; null: nothing speaks against it. */
  async doubt(block: BlockRef, signal?: AbortSignal): Promise<string | null> {
    const { pool, isCostly } = this.#deps;
    if (isCostly()) return null;
    const words = this.#wordsOn(block);
    if (isShown(words)) return null;
    await this.#ask(block, words, signal);
    const voices = new Set(this.#others().map(({ pooled }) => pooled.voter));
    const against = [...words].filter(([voice, { said }]) => voices.has(voice) && said === "not").map(([, { name }]) => name);
    const heard = new Set(pool.present().map(({ voter }) => voter)).size;
    const isDoubted = against.length >= MANY || 2 * against.length >= Math.max(1, heard);
    return isShown(words) || !isDoubted ? null : this.#sentence(block, against, heard);
  }

  #sentence({ height, hash }: BlockRef, against: readonly string[], heard: number): string {
    const names = against.slice(0, MAX_NAMED).join(", ");
    const { ticker } = this.#deps;
    return `block ${height} (${hash}) of ${ticker} is shown by the ${heard} connected servers and not by ${names}, and costs too little to prove itself: if it stays so, enable ${ticker} with servers that agree`;
  }

  /** One of each voice that is not heard. */
  #others(): readonly Visitable[] {
    const heard = new Set(this.#deps.pool.present().map(({ voter }) => voter));
    const byVoice = new Map(
      this.#deps.servers.flatMap((s) =>
        heard.has(s.pooled.voter) || s.pooled.state === "connecting" ? [] : [[s.pooled.voter, s] as const],
      ),
    );
    return [...byVoice.values()];
  }

  #wordsOn({ hash }: BlockRef): Map<string, Word> {
    const words = this.#words.get(hash) ?? new Map<string, Word>();
    this.#words.set(hash, words);
    const [oldest] = this.#words.keys();
    if (this.#words.size > MAX_BLOCKS && oldest !== undefined) this.#words.delete(oldest);
    return words;
  }

  /** Until one shows the block, or all have said what they have to say. */
  async #ask(block: BlockRef, words: Map<string, Word>, signal: AbortSignal | undefined): Promise<void> {
    const { clock, closed } = this.#deps;
    const nowMs = clock.nowMs();
    const againAtMs = ({ pooled }: Visitable): number =>
      Math.max(words.get(pooled.voter)?.againAtMs ?? 0, this.#silentUntilMs.get(pooled.voter) ?? 0, restOf(pooled));
    const due = this.#others()
      .filter((server) => againAtMs(server) <= nowMs)
      .sort((a, b) => a.pooled.cost - b.pooled.cost)
      .slice(0, MAX_AT_ONCE);
    let open = due.length;
    if (open === 0) return;
    const settled = new Promise<void>((resolve) => {
      for (const server of due) {
        void this.#askOne(server, block, words).finally(() => {
          open--;
          if (open === 0 || isShown(words)) resolve();
        });
      }
    });
    await withDeadline(clock, 2 * ASK_MS, signal ? [signal, closed] : closed, () => settled);
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
      this.#silentUntilMs.set(pooled.voter, nowMs + SILENT_REST_MS);
      return;
    }
    const tries = words.get(pooled.voter)?.tries ?? 0;
    const againAtMs = nowMs + Math.min(MAX_AGAIN_MS, FIRST_AGAIN_MS * 2 ** Math.min(tries, 10));
    const wasHeard = servers.some((s) => s.pooled.voter === pooled.voter && s.pooled.connectedMs > nowMs - APART_MS);
    const said = has ? (wasHeard ? "heard" : "shown") : "not";
    words.set(pooled.voter, { name: pooled.name, said, tries: tries + 1, againAtMs });
  }
}

/** Whoever was away a moment ago is not waited for once more. */
const restOf = (server: RemoteServer): number => (server.state === "away" ? (server.restUntilMs(false) ?? 0) : 0);

const isShown = (words: ReadonlyMap<string, Word>): boolean => [...words.values()].some(({ said }) => said === "shown");
