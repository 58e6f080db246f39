import { absurdFee } from "../../core/swap/feeSchedule.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Result } from "../../core/util/result.ts";
import { type BuildError, type BuiltTx, worthSpending } from "../../core/utxo/buildTx.ts";
import type { FeeRate } from "../../core/utxo/feeRate.ts";
import type { Unspent } from "../../core/utxo/sortedUnspents.ts";
import type { OutPoint, Tx } from "../../core/utxo/tx.ts";
import { serializeTx, txid } from "../../core/utxo/txCodec.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import { Aborted, type Clock, sleep } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { UtxoLedger } from "./utxoLedger.ts";
import { broadcastToResult, holdSent } from "./withdraw.ts";

/** When own outputs are merged into one: KDF's `utxo_merge_params` (reference rpc.md 5.1). */
export type MergeRule = { readonly mergeAt: number; readonly checkEverySec: number; readonly maxMergeAtOnce: number };

/** What merging needs of its coin. */
export interface MergeFrom {
  readonly ticker: string;
  readonly ledger: UtxoLedger;
  readonly chain: UtxoChain;
  readonly closed: AbortSignal;
  rate(stage: null): FeeRate;
  /** All of these outputs into one own output, less the fee, signed. */
  buildMerge(unspents: readonly Unspent[], rate: FeeRate): Result<{ readonly tx: Tx; readonly built: BuiltTx }, BuildError>;
  after(delayMs: number, task: () => void): void;
}

/** A merge costs at most this share of what it merges: nobody waits for it, and it can be cheaper another day. */
const MOST_SHARE = 50n;

export type MergerDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a coin was put aside: it stays for what its swaps need alone. */
  isAside(ticker: string): boolean;
};

/** Merges until the coin closes, but for the time it is put aside; never rejects. */
export async function keepMerging(coin: MergeFrom, rule: MergeRule, deps: MergerDeps): Promise<void> {
  for (;;) {
    try {
      await sleep(deps.clock, rule.checkEverySec * 1_000, coin.closed);
      if (!deps.isAside(coin.ticker)) await mergeOnce(coin, rule, deps.log);
    } catch (cause) {
      if (cause instanceof Aborted && coin.closed.aborted) return;
      deps.log.error("utxo_merge_failed", { coin: coin.ticker, error: cause });
    }
  }
}

/**
 * Merges the smallest confirmed outputs when there are enough of them. Not while swaps or handshakes are promised anything, while the
 * view of the chain is old, or at a fee above what a daemon takes for a mistake or a fiftieth of the value.
 */
async function mergeOnce(coin: MergeFrom, { mergeAt, maxMergeAtOnce }: MergeRule, log: Log): Promise<void> {
  const { ledger, chain, ticker } = coin;
  if (chain.status().state !== "ready" || ledger.held() > 0n) return;
  const rate = coin.rate(null);
  const confirmed = confirmedOf(chain, worthSpending(ledger.ready(), rate));
  if (confirmed.length < mergeAt) return;
  const smallest = confirmed.slice(0, maxMergeAtOnce);
  const made = coin.buildMerge(smallest, rate);
  if (!made.ok) return;
  const { tx, built } = made.value;
  const raw = serializeTx(tx);
  const value = smallest.reduce((n, u) => n + u.value, 0n);
  const most = absurdFee({ relayPerKb: chain.relayFeePerKb(), size: raw.length });
  if (built.fee * MOST_SHARE > value || built.fee >= most) {
    log.info("utxo_merge_too_dear", { coin: ticker, fee: built.fee, value });
    return;
  }
  ledger.lock(tx);
  const id = txid(tx);
  const sent = broadcastToResult(await chain.broadcast(raw, coin.closed), id);
  log.info("utxos_merged", { coin: ticker, txid: id, outputs: smallest.length, fee: built.fee, sent: sent.ok });
  if (!sent.ok && sent.error.kind === "Rejected") return ledger.unlock(tx);
  if (!sent.ok) ledger.dropChange(tx);
  holdSent(coin, tx, raw);
}

/** Those that are in a block. What the chain lists is gone through once for all: a wallet that needs merging may have tens of thousands. */
function confirmedOf(chain: UtxoChain, unspents: readonly Unspent[]): readonly Unspent[] {
  const keyOf = ({ txid: id, vout }: OutPoint): string => `${id}:${vout}`;
  const scripts = new Map(unspents.map(({ script }) => [toHex(script), script]));
  const listed = [...scripts.values()].flatMap((script) => chain.outputs(script));
  const inBlocks = new Set(listed.filter((o) => o.block !== null && o.spentBy === null).map(keyOf));
  return unspents.filter((u) => inBlocks.has(keyOf(u)));
}
