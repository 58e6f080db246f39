import { toHex } from "../core/util/bytes.ts";
import { OP } from "../core/utxo/opcodes.ts";
import { MAX_SCRIPT_BYTES } from "../core/utxo/script.ts";
import type { OutPoint } from "../core/utxo/tx.ts";
import { type ChainTx, isCoinbase, outPointKey } from "./chainTx.ts";

/** An unspent output and where it came from. */
export type Coin = OutPoint & {
  readonly value: bigint;
  readonly script: Uint8Array;
  readonly scriptHex: string;
  readonly height: number;
  readonly coinbase: boolean;
};

export function coinOf({ tx, txid }: ChainTx, vout: number, height: number): Coin | null {
  const output = tx.outputs[vout];
  if (!output) return null;
  return { txid, vout, ...output, scriptHex: toHex(output.script), height, coinbase: isCoinbase(tx) };
}

/** Nothing can ever spend it, so it never enters the set (Core's rule). */
export const isUnspendable = (script: Uint8Array): boolean => script[0] === OP.RETURN || script.length > MAX_SCRIPT_BYTES;

/** The coins of one transaction that enter the set. */
export function spendableCoins(chainTx: ChainTx, height: number): Coin[] {
  const coins: Coin[] = [];
  for (const [vout, output] of chainTx.tx.outputs.entries()) {
    const coin = isUnspendable(output.script) ? null : coinOf(chainTx, vout, height);
    if (coin) coins.push(coin);
  }
  return coins;
}

/** Unspent outputs of the active chain, found by outpoint and by script. Bounded by the blocks the chain may hold. */
export class CoinSet {
  readonly #coins = new Map<string, Coin>();
  readonly #byScript = new Map<string, Map<string, Coin>>();

  get size(): number {
    return this.#coins.size;
  }

  get(key: string): Coin | undefined {
    return this.#coins.get(key);
  }

  add(coin: Coin): void {
    const key = outPointKey(coin);
    this.#coins.set(key, coin);
    let same = this.#byScript.get(coin.scriptHex);
    if (!same) {
      same = new Map();
      this.#byScript.set(coin.scriptHex, same);
    }
    same.set(key, coin);
  }

  /** Takes a coin out; it must be there. */
  remove(key: string): void {
    const coin = this.#coins.get(key);
    if (!coin) throw new Error(`coin set: ${key} is not there`);
    this.#coins.delete(key);
    const same = this.#byScript.get(coin.scriptHex);
    same?.delete(key);
    if (same?.size === 0) this.#byScript.delete(coin.scriptHex);
  }

  /** In the order they entered. */
  ofScript(scriptHex: string): readonly Coin[] {
    return [...(this.#byScript.get(scriptHex)?.values() ?? [])];
  }
}
