import type { ServedFees } from "../../core/coin/servedFees.ts";
import { min } from "../../core/util/bigints.ts";
import { parseFeePerKb, parseHistogram } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";

/** How long a relay floor stays good, ms; and when it is asked for again where most servers named none, as when some were away. */
const RELAY_FEE_MAX_AGE_MS = 600_000;
const ASK_AGAIN_MS = 60_000;
/** Virtual bytes a block takes, for chains that say no more than their histogram. */
const BLOCK_VBYTES = 1_000_000;
const BYTES_PER_KB = 1_000n;

/**
 * The middle word of most servers, the lower of two. That there is no rate, as in an empty mempool, is the lowest of all: where most say so, or
 * most do not know, what the others name counts for nothing.
 */
function middleOf(words: readonly (bigint | null)[], servers: number): bigint | null {
  if (words.length < majorityOf(servers)) return null;
  const sorted = words.map((rate) => rate ?? 0n).sort((a, b) => (a < b ? -1 : Number(a > b)));
  return sorted[Math.floor((sorted.length - 1) / 2)] || null;
}

/** What a transaction must pay to be among the first `targetBlocks` blocks of a mempool, base units per 1000 bytes; null: it is almost empty. */
function rateOfHistogram(steps: readonly (readonly [number, number])[], targetBlocks: number): bigint | null {
  let ahead = 0;
  for (const [rate, size] of [...steps].sort((a, b) => b[0] - a[0])) {
    ahead += size;
    if (ahead > targetBlocks * BLOCK_VBYTES) return BigInt(Math.ceil(rate)) * BYTES_PER_KB;
  }
  return null;
}

/** What the servers say of fees: the middle of their words. */
export class FeeRates {
  readonly #decimals: number;
  readonly #most: ServedFees;
  #relayFee: bigint | null = null;
  #askedAtMs: number | null = null;
  #askAgainMs = ASK_AGAIN_MS;

  /** @param most all that is sent pays the relay floor, so who lies of estimates lies of it, too */
  constructor(decimals: number, most: ServedFees) {
    this.#decimals = decimals;
    this.#most = most;
  }

  get relayFee(): bigint | null {
    return this.#relayFee;
  }

  /** Base units per 1000 bytes, rounded up; null without an estimate. Their estimates first, then their mempools. */
  async estimate(servers: readonly RemoteServer[], targetBlocks: number): Promise<bigint | null> {
    const said = await this.#estimate(servers, targetBlocks);
    return said === null ? null : min(said, this.#most.mostPerKb);
  }

  async #estimate(servers: readonly RemoteServer[], targetBlocks: number): Promise<bigint | null> {
    const estimate = await this.#middle(servers, "blockchain.estimatefee", [targetBlocks]);
    if (estimate !== null) return estimate;
    const answers = await Promise.all(servers.map((s) => s.ask("mempool.get_fee_histogram", [], parseHistogram)));
    return middleOf(
      answers.flatMap((a) => (a.ok ? [rateOfHistogram(a.value, targetBlocks)] : [])),
      servers.length,
    );
  }

  /** @returns whether a read answer changed */
  async refresh(servers: readonly RemoteServer[], nowMs: number): Promise<boolean> {
    if (this.#askedAtMs !== null && Math.abs(nowMs - this.#askedAtMs) < this.#askAgainMs) return false;
    this.#askedAtMs = nowMs;
    this.#askAgainMs = ASK_AGAIN_MS;
    const said = await this.#middle(servers, "blockchain.relayfee", []);
    const fee = said !== null && said > this.#most.mostRelayPerKb ? null : said;
    this.#askAgainMs = fee === null ? ASK_AGAIN_MS : RELAY_FEE_MAX_AGE_MS;
    if (fee === null || fee === this.#relayFee) return false;
    this.#relayFee = fee;
    return true;
  }

  async #middle(servers: readonly RemoteServer[], method: string, params: readonly unknown[]): Promise<bigint | null> {
    const answers = await Promise.all(servers.map((s) => s.ask(method, params, (v) => parseFeePerKb(v, this.#decimals))));
    return middleOf(
      answers.flatMap((a) => (a.ok ? [a.value] : [])),
      servers.length,
    );
  }
}
