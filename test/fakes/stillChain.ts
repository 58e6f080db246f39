import { toHex } from "../../src/core/util/bytes.ts";
import type {
  BlockRef,
  BroadcastOutcome,
  ChainChange,
  ChainStatus,
  ScanProgress,
  SeenOutput,
  SeenTx,
  UtxoChainWithHistory,
} from "../../src/ports/chain.ts";
import type { StoredOutput, StoredTx } from "../../src/ports/chainStore.ts";
import { Aborted } from "../../src/ports/clock.ts";
import type { ServerHealth } from "../../src/ports/electrum.ts";

const TIP: BlockRef = { height: 100, hash: "00".repeat(32) };

const EVERYTHING: ChainChange = { all: true, keys: new Set() };

/** A chain on which nothing moves: it has the outputs a test gives it, and remembers what it is asked to send. */
export class StillChain implements UtxoChainWithHistory {
  readonly ticker: string;
  readonly sent: Uint8Array[] = [];
  /** Transactions it knows, by id. */
  readonly followed = new Map<string, SeenTx>();
  /** What has left memory. */
  readonly stored = new Map<string, StoredTx>();
  /** What becomes of the next broadcasts. */
  outcome: BroadcastOutcome = { kind: "accepted" };
  reward: bigint | null = null;
  isClosed = false;
  /** What it says of its servers. */
  health: readonly ServerHealth[] = [];
  /** Why the daemon cannot be used; null: it can. */
  trouble: string | null = null;
  /** How far the first scan is; null: it is over. */
  #scan: ScanProgress | null = null;
  readonly #outputs = new Map<string, SeenOutput[]>();
  readonly #listeners = new Set<(change: ChainChange) => void>();
  readonly #waiting: (() => void)[] = [];
  #paid = 0;

  constructor(ticker: string) {
    this.ticker = ticker;
  }

  /** Pays `value` base units to a script, confirmed. */
  pay(script: Uint8Array, value: bigint): void {
    const txid = (++this.#paid).toString(16).padStart(64, "0");
    const list = this.#outputs.get(toHex(script)) ?? [];
    this.#outputs.set(toHex(script), [...list, { txid, vout: 0, value, script, coinbase: false, block: TIP, spentBy: null }]);
  }

  /** The daemon answers, and the first scan is so far. */
  scanned(progress: ScanProgress): void {
    this.trouble = null;
    this.#scan = progress;
    for (const tell of this.#listeners) tell(EVERYTHING);
  }

  /** The daemon answers, and the first scan is over. */
  comeUp(): void {
    this.trouble = null;
    this.#scan = null;
    for (const tell of this.#listeners) tell(EVERYTHING);
    for (const answer of this.#waiting.splice(0)) answer();
  }

  status(): ChainStatus {
    if (this.trouble !== null) return { state: "unreachable", tip: null, progress: null, error: this.trouble };
    const tip = { ...TIP, timeSec: 1_700_000_000, medianTimePastSec: 1_700_000_000 };
    return { state: this.#scan === null ? "ready" : "syncing", tip, progress: this.#scan, error: null };
  }
  onChange(listener: (change: ChainChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  async watchScript(_script: Uint8Array, _fromHeight: number, signal?: AbortSignal): Promise<void> {
    if (this.trouble === null && this.#scan === null) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push(resolve);
      signal?.addEventListener("abort", () => reject(new Aborted()));
    });
  }
  async watchTx(): Promise<void> {}
  async unwatch(): Promise<void> {}
  outputs(script: Uint8Array): readonly SeenOutput[] {
    return this.#outputs.get(toHex(script)) ?? [];
  }
  tx(txid: string): SeenTx | undefined {
    return this.followed.get(txid);
  }
  async rawTx(txid: string): Promise<Uint8Array | null> {
    return this.followed.get(txid)?.raw ?? null;
  }
  confirmations(block: BlockRef | null): number {
    return block === null ? 0 : TIP.height - block.height + 1;
  }
  isNotarized(): boolean {
    return false;
  }
  async broadcast(raw: Uint8Array): Promise<BroadcastOutcome> {
    this.sent.push(raw);
    return this.outcome;
  }
  async estimateFeePerKb(): Promise<bigint | null> {
    return null;
  }
  relayFeePerKb(): bigint | null {
    return null;
  }
  blockRewardUnits(): bigint | null {
    return this.reward;
  }
  async refresh(): Promise<void> {}
  async history(): Promise<readonly string[]> {
    return [];
  }
  async spentOutputs(): Promise<readonly StoredOutput[]> {
    return [];
  }
  async storedTxs(txids: readonly string[]): Promise<readonly StoredTx[]> {
    return txids.flatMap((txid) => this.stored.get(txid) ?? []);
  }
  serverNeeds(): null {
    return null;
  }
  servers(): readonly ServerHealth[] {
    return this.health;
  }
  async blockTimeSec(): Promise<number | null> {
    return null;
  }
  async close(): Promise<void> {
    this.isClosed = true;
  }
}
