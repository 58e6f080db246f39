import type { Block } from "../block.ts";
import type { ChainParams } from "../chainParams.ts";
import { MAX_MONEY } from "../chainParams.ts";
import { type ChainTx, outPointKey } from "../chainTx.ts";
import { type Coin, type CoinSet, spendableCoins } from "../coinSet.ts";
import { SCRIPT_ERROR_TEXT } from "../script/scriptError.ts";
import type { ScriptChecks } from "../scriptChecks.ts";
import { sigOpsCost } from "../scriptChecks.ts";
import { type BlockContext, MAX_BLOCK_SIGOPS_COST } from "./blockRules.ts";
import type { Reject } from "./reject.ts";
import { checkTxInputs, relativeLocksMet } from "./txRules.ts";

/** Coins each transaction spent, in block order (the coinbase spends none): what it takes to undo the block. */
export type BlockUndo = readonly (readonly Coin[])[];

export type ConnectContext = BlockContext & { readonly medianTimeAt: (height: number) => number };

/** Coins before this block, with what its earlier transactions made and took. */
class BlockView {
  readonly #base: CoinSet;
  readonly #made = new Map<string, Coin>();
  readonly #spent = new Set<string>();

  constructor(base: CoinSet) {
    this.#base = base;
  }

  get(key: string): Coin | undefined {
    return this.#spent.has(key) ? undefined : (this.#made.get(key) ?? this.#base.get(key));
  }

  spend(key: string): void {
    this.#spent.add(key);
  }

  make(coin: Coin): void {
    this.#made.set(outPointKey(coin), coin);
  }
}

function takeInputs(view: BlockView, { tx }: ChainTx): Coin[] | null {
  const coins: Coin[] = [];
  for (const input of tx.inputs) {
    const key = outPointKey(input);
    const coin = view.get(key);
    if (!coin) return null;
    coins.push(coin);
    view.spend(key);
  }
  return coins;
}

/**
 * Checks a block against the coins of its parent: inputs, maturity, value, relative locks, scripts, the coinbase's
 * amount. Changes nothing.
 */
export function checkBlockCoins(
  block: Block,
  params: ChainParams,
  coins: CoinSet,
  context: ConnectContext,
  scripts: ScriptChecks,
): { readonly undo: BlockUndo } | Reject {
  const view = new BlockView(coins);
  const undo: Coin[][] = [];
  let fees = 0n;
  let sigOps = 0;
  for (const [i, chainTx] of block.txs.entries()) {
    const made = spendableCoins(chainTx, context.height);
    // BIP-30: a transaction must not overwrite an unspent one with the same id.
    if (made.some((c) => coins.get(outPointKey(c)))) return { reason: "bad-txns-BIP30" };
    const spent = i === 0 ? [] : takeInputs(view, chainTx);
    if (!spent) return { reason: "bad-txns-inputs-missingorspent", detail: chainTx.txid };
    if (i > 0) {
      const checked = checkTxInputs(chainTx.tx, spent, context.height);
      if ("reason" in checked) return checked;
      fees += checked.fee;
      if (fees > MAX_MONEY) return { reason: "bad-txns-accumulated-fee-outofrange" };
      const locksMet = () => relativeLocksMet(chainTx.tx, spent, context.height, context.medianTime, context.medianTimeAt);
      if (params.relativeLocks && !locksMet()) return { reason: "bad-txns-nonfinal", detail: chainTx.txid };
    }
    sigOps += sigOpsCost(chainTx, spent, params.consensusFlags);
    if (sigOps > MAX_BLOCK_SIGOPS_COST) return { reason: "bad-blk-sigops" };
    const failed = i === 0 ? null : scripts.run(chainTx, spent, params.consensusFlags);
    if (failed) return { reason: `mandatory-script-verify-flag-failed (${SCRIPT_ERROR_TEXT[failed]})`, detail: chainTx.txid };
    undo.push(spent);
    for (const coin of made) view.make(coin);
  }
  const paid = block.txs[0]?.tx.outputs.reduce((n, o) => n + o.value, 0n) ?? 0n;
  const allowed = fees + params.subsidy(context.height);
  if (paid > allowed) return { reason: "bad-cb-amount", detail: `coinbase pays too much (actual=${paid} vs limit=${allowed})` };
  return { undo };
}
