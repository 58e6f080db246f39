import { witnessProgram } from "../core/utxo/outputScript.ts";
import { pushesOf } from "../core/utxo/script.ts";
import type { Tx } from "../core/utxo/tx.ts";
import type { SignatureVerifier } from "../ports/signatures.ts";
import type { ChainParams } from "./chainParams.ts";
import type { ChainTx } from "./chainTx.ts";
import type { Coin } from "./coinSet.ts";
import { legacySigOps } from "./consensus/blockRules.ts";
import { VERIFY } from "./script/flags.ts";
import { countSigOps } from "./script/scriptCode.ts";
import type { ScriptError } from "./script/scriptError.ts";
import { createSignatureChecker } from "./script/signatureChecker.ts";
import { isP2sh, verifyScript } from "./script/verifyScript.ts";
import { chainSignatureHash } from "./signatureHash.ts";

/** Most transactions remembered as checked. */
const MAX_CACHED = 50_000;

/** Runs the scripts of transactions and remembers which ones passed, by the hash that covers their signatures. */
export class ScriptChecks {
  readonly #params: ChainParams;
  readonly #verifier: SignatureVerifier;
  readonly #passed = new Set<string>();

  constructor(params: ChainParams, verifier: SignatureVerifier) {
    this.#params = params;
    this.#verifier = verifier;
  }

  /** @param coins what the inputs spend, in order */
  run(chainTx: ChainTx, coins: readonly Coin[], flags: number): ScriptError | null {
    if (this.#passed.has(`${chainTx.wtxid}:${flags}`)) return null;
    const hash = chainSignatureHash(this.#params);
    for (const [i, input] of chainTx.tx.inputs.entries()) {
      const coin = coins[i];
      if (!coin) throw new Error("script check without the spent coin");
      const checker = createSignatureChecker(chainTx.tx, i, coin.value, hash, this.#verifier);
      const problem = verifyScript(input.scriptSig, coin.script, input.witness, flags, checker);
      if (problem) return problem;
    }
    this.remember(chainTx, flags);
    return null;
  }

  /** Takes it as checked under these rules; only for rules that a passed check includes. */
  remember(chainTx: ChainTx, flags: number): void {
    if (this.#passed.size >= MAX_CACHED) {
      const [oldest] = this.#passed;
      if (oldest !== undefined) this.#passed.delete(oldest);
    }
    this.#passed.add(`${chainTx.wtxid}:${flags}`);
  }
}

function witnessSigOps(tx: Tx, index: number, script: Uint8Array): number {
  const program = witnessProgram(script);
  if (program?.version !== 0) return 0;
  if (program.program.length === 20) return 1;
  const witnessScript = tx.inputs[index]?.witness.at(-1);
  return witnessScript ? countSigOps(witnessScript, true) : 0;
}

/** Redeem script a scriptSig ends with, when it only pushes. */
export function redeemScript(scriptSig: Uint8Array): Uint8Array | null {
  return pushesOf(scriptSig)?.at(-1) ?? null;
}

/** Signature operations as a block counts them: legacy and P2SH ones four times, witness ones once (BIP-141). */
export function sigOpsCost(chainTx: ChainTx, coins: readonly Coin[], flags: number): number {
  let cost = legacySigOps(chainTx) * 4;
  for (const [i, input] of chainTx.tx.inputs.entries()) {
    const coin = coins[i];
    if (!coin) continue;
    const redeem = isP2sh(coin.script) ? redeemScript(input.scriptSig) : null;
    if (redeem) cost += countSigOps(redeem, true) * 4;
    if (flags & VERIFY.WITNESS) cost += witnessSigOps(chainTx.tx, i, redeem ?? coin.script);
  }
  return cost;
}
