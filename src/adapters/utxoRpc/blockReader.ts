import type { HeaderLayout } from "../../core/proof/headerRules.ts";
import { err, ok } from "../../core/util/result.ts";
import type { TxFormat } from "../../core/utxo/txCodec.ts";
import type { Answer, DaemonCalls } from "./daemonCalls.ts";
import type { ChainFault } from "./fault.ts";
import { type ParsedBlock, parseBlock } from "./parseBlock.ts";
import { FETCHED_AT_ONCE, type PrunedBlocks } from "./prunedBlocks.ts";

/** Blocks read per step, and raw bytes aimed at per step: what is in memory at once, and in one write. */
const MAX_BLOCKS_PER_STEP = 100;
const BYTES_PER_STEP = 8_000_000;
/** Blocks asked for at the same time. */
const PARALLEL = 4;

/** Blocks kept for whoever asks for them again soon: at most so many, and as many bytes raw, together. */
const MAX_KEPT = 32;
const MAX_KEPT_BYTES = 1_000_000;

export type ReadBlock = { readonly height: number; readonly hash: string; readonly block: ParsedBlock };

/** Fetches runs of blocks of the best chain and parses them. */
export class BlockReader {
  readonly #calls: DaemonCalls;
  readonly #pruned: PrunedBlocks;
  readonly #format: TxFormat;
  #layout: HeaderLayout = "plain";
  /** Running guess of a block's size; starts at a full Bitcoin block, so the first step is small. */
  #usualBytes = 2_000_000;
  /** By hash, the oldest first. A block never changes: a new watch reads the last ones again, and each new swap has one. */
  readonly #kept = new Map<string, { readonly block: ParsedBlock; readonly bytes: number }>();
  #keptBytes = 0;

  constructor(calls: DaemonCalls, pruned: PrunedBlocks, format: TxFormat) {
    this.#calls = calls;
    this.#pruned = pruned;
    this.#format = format;
  }

  /**
   * Blocks `from`, `from + 1`, … linked to each other, at least one, at most `count`; fewer when that is enough for one step or a later one
   * failed. The caller checks the link to what it already has.
   * @param knownHash the hash at a height as far as the caller knows it: of such heights the daemon is not asked for theirs
   */
  async read(from: number, count: number, knownHash: (height: number) => string | undefined): Promise<Answer<readonly ReadBlock[]>> {
    const wanted = Math.max(1, Math.min(count, MAX_BLOCKS_PER_STEP, Math.floor(BYTES_PER_STEP / this.#usualBytes)));
    const hashes = await this.#hashesAt(from, wanted, knownHash);
    if (!hashes.ok) return hashes;
    const answers = await this.#fetchAll(from, hashes.value);
    const blocks: ReadBlock[] = [];
    for (const answer of answers) {
      if (!answer.ok && blocks.length > 0) return ok(blocks);
      if (!answer.ok) return answer.error.kind === "block_gone" ? this.#fetchAgain(answer.error, count) : answer;
      const before = blocks.at(-1);
      if (before && before.hash !== answer.value.block.prevHash) break;
      blocks.push(answer.value);
    }
    return ok(blocks);
  }

  async #hashesAt(from: number, count: number, knownHash: (height: number) => string | undefined): Promise<Answer<readonly string[]>> {
    const known = Array.from({ length: count }, (_, i) => knownHash(from + i)).filter((hash) => hash !== undefined);
    return known.length === count ? ok(known) : this.#calls.hashesAt(from, count);
  }

  async #fetchAll(from: number, hashes: readonly string[]): Promise<Answer<ReadBlock>[]> {
    const answers: Answer<ReadBlock>[] = [];
    let next = 0;
    let failed = false;
    const worker = async (): Promise<void> => {
      while (next < hashes.length && !failed) {
        const i = next++;
        const answer = await this.#fetch(from + i, hashes[i] ?? "");
        answers[i] = answer;
        if (!answer.ok) failed = true;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    // A failure stops the workers: what lies behind it was not asked for.
    const missing: ChainFault = { kind: "moved" };
    return Array.from({ length: hashes.length }, (_, i) => answers[i] ?? err(missing));
  }

  async #fetch(height: number, hash: string): Promise<Answer<ReadBlock>> {
    const kept = this.#kept.get(hash);
    if (kept) return ok({ height, hash, block: kept.block });
    const raw = await this.#calls.block(hash, height);
    if (!raw.ok) return raw.error.kind === "block_gone" ? this.#gone(raw.error, hash) : raw;
    this.#usualBytes = Math.max(1, Math.round(0.8 * this.#usualBytes + 0.2 * raw.value.length));
    const parsed = parseBlock(raw.value, this.#format, this.#layout);
    if (!parsed.ok) return err({ kind: "bad_answer", method: "getblock", detail: `block ${height}: ${parsed.error.detail}` });
    this.#layout = parsed.value.layout;
    this.#keep(hash, parsed.value.block, raw.value.length);
    return ok({ height, hash, block: parsed.value.block });
  }

  /** A block that the daemon no longer has may have been replaced since its hash was learned: then the chain moved. */
  async #gone(fault: ChainFault & { readonly kind: "block_gone" }, hash: string): Promise<Answer<never>> {
    const there = await this.#calls.hashAt(fault.height);
    if (!there.ok) return there;
    return err(there.value === hash ? fault : { kind: "moved" });
  }

  /** Those after it are gone, too, as a rule. @param count blocks from it on that are wanted */
  async #fetchAgain(fault: ChainFault & { readonly kind: "block_gone" }, count: number): Promise<Answer<never>> {
    const hashes = await this.#calls.hashesAt(fault.height, Math.min(count, FETCHED_AT_ONCE));
    return hashes.ok ? err({ ...fault, isFetched: await this.#pruned.fetch(hashes.value) }) : hashes;
  }

  #keep(hash: string, block: ParsedBlock, bytes: number): void {
    if (bytes > MAX_KEPT_BYTES || this.#kept.has(hash)) return;
    this.#kept.set(hash, { block, bytes });
    this.#keptBytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT && this.#keptBytes <= MAX_KEPT_BYTES) return;
      this.#kept.delete(oldest);
      this.#keptBytes -= freed;
    }
  }
}
