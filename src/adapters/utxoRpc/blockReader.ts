import { err, ok } from "../../core/util/result.ts";
import type { TxFormat } from "../../core/utxo/txCodec.ts";
import type { Answer, DaemonCalls } from "./daemonCalls.ts";
import type { ChainFault } from "./fault.ts";
import { type HeaderLayout, type ParsedBlock, parseBlock } from "./parseBlock.ts";

/** Blocks read per step, and raw bytes aimed at per step: what is in memory at once, and in one write. */
const MAX_BLOCKS_PER_STEP = 100;
const BYTES_PER_STEP = 8_000_000;
/** Blocks asked for at the same time. */
const PARALLEL = 4;

export type ReadBlock = { readonly height: number; readonly hash: string; readonly block: ParsedBlock };

/** Fetches runs of blocks of the best chain and parses them. */
export class BlockReader {
  readonly #calls: DaemonCalls;
  readonly #format: TxFormat;
  #layout: HeaderLayout = "plain";
  /** Running guess of a block's size; starts at a full Bitcoin block, so the first step is small. */
  #usualBytes = 2_000_000;

  constructor(calls: DaemonCalls, format: TxFormat) {
    this.#calls = calls;
    this.#format = format;
  }

  /**
   * Blocks `from`, `from + 1`, … linked to each other, at least one, at most `count`; fewer when that is enough for one step or a later one
   * failed. The caller checks the link to what it already has.
   */
  async read(from: number, count: number): Promise<Answer<readonly ReadBlock[]>> {
    const wanted = Math.max(1, Math.min(count, MAX_BLOCKS_PER_STEP, Math.floor(BYTES_PER_STEP / this.#usualBytes)));
    const hashes = await this.#calls.hashesAt(from, wanted);
    if (!hashes.ok) return hashes;
    const answers = await this.#fetchAll(from, hashes.value);
    const blocks: ReadBlock[] = [];
    for (const answer of answers) {
      if (!answer.ok) return blocks.length > 0 ? ok(blocks) : answer;
      const before = blocks.at(-1);
      if (before && before.hash !== answer.value.block.prevHash) break;
      blocks.push(answer.value);
    }
    return ok(blocks);
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
    const raw = await this.#calls.block(hash, height);
    if (!raw.ok) return raw;
    this.#usualBytes = Math.max(1, Math.round(0.8 * this.#usualBytes + 0.2 * raw.value.length));
    const parsed = parseBlock(raw.value, this.#format, this.#layout);
    if (!parsed.ok) return err({ kind: "bad_answer", method: "getblock", detail: `block ${height}: ${parsed.error.detail}` });
    this.#layout = parsed.value.layout;
    return ok({ height, hash, block: parsed.value.block });
  }
}
