import { toHex } from "../../src/core/util/bytes.ts";
import type { BlockRef, BroadcastOutcome, ChainStatus, SeenOutput, UtxoChain } from "../../src/ports/chain.ts";

const TIP: BlockRef = { height: 100, hash: "00".repeat(32) };

/** A chain on which nothing moves: it has the outputs a test gives it, and remembers what it is asked to send. */
export class StillChain implements UtxoChain {
  readonly ticker: string;
  readonly sent: Uint8Array[] = [];
  /** What becomes of the next broadcasts. */
  outcome: BroadcastOutcome = { kind: "accepted" };
  readonly #outputs = new Map<string, SeenOutput[]>();
  #paid = 0;

  constructor(ticker: string) {
    this.ticker = ticker;
  }

  /** Pays `value` base units to a script, confirmed. */
  pay(script: Uint8Array, value: bigint): void {
    const txid = (++this.#paid).toString(16).padStart(64, "0");
    const list = this.#outputs.get(toHex(script)) ?? [];
    list.push({ txid, vout: 0, value, script, coinbase: false, block: TIP, spentBy: null });
    this.#outputs.set(toHex(script), list);
  }

  status(): ChainStatus {
    return { state: "ready", tip: { ...TIP, timeSec: 1_700_000_000, medianTimePastSec: 1_700_000_000 }, progress: null, error: null };
  }
  onChange(): () => void {
    return () => undefined;
  }
  async watchScript(): Promise<void> {}
  async watchTx(): Promise<void> {}
  async unwatch(): Promise<void> {}
  outputs(script: Uint8Array): readonly SeenOutput[] {
    return this.#outputs.get(toHex(script)) ?? [];
  }
  tx(): undefined {
    return undefined;
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
  async refresh(): Promise<void> {}
  async close(): Promise<void> {}
}
