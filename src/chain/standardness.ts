import { compactSizeLength } from "../core/utxo/byteWriter.ts";
import { classifyOutput, witnessProgram } from "../core/utxo/outputScript.ts";
import type { TxOutput } from "../core/utxo/tx.ts";
import type { ChainParams } from "./chainParams.ts";
import type { ChainTx } from "./chainTx.ts";
import { type Coin, isUnspendable } from "./coinSet.ts";
import { countSigOps, isPushOnly } from "./script/scriptCode.ts";
import { isP2sh } from "./script/verifyScript.ts";
import { redeemScript } from "./scriptChecks.ts";

/** Relay limits of Bitcoin Core: a transaction's weight, its bytes without witness, a scriptSig, an OP_RETURN output. */
const MAX_STANDARD_WEIGHT = 400_000;
const MIN_STRIPPED_BYTES = 65;
const MAX_SCRIPT_SIG = 1_650;
const MAX_OP_RETURN = 83;
const MAX_P2SH_SIGOPS = 15;
/** P2WSH: script, stack elements, and bytes of each. */
const MAX_P2WSH_SCRIPT = 3_600;
const MAX_P2WSH_ITEMS = 100;
const MAX_P2WSH_ITEM = 80;
/** Input that spends an output: outpoint 36, script length 1, script 107, sequence 4; a witness counts a quarter. */
const SPEND_BYTES = 36 + 1 + 107 + 4;
const WITNESS_SPEND_BYTES = 36 + 1 + Math.floor(107 / 4) + 4;

/** Least value of an output that is worth spending at the dust rate (Core's GetDustThreshold), base units. */
function dustThreshold({ script }: TxOutput, params: ChainParams): bigint {
  if (isUnspendable(script)) return 0n;
  const own = 8 + compactSizeLength(script.length) + script.length;
  const isWitness = params.addresses.segwit && witnessProgram(script) !== null;
  return (BigInt(own + (isWitness ? WITNESS_SPEND_BYTES : SPEND_BYTES)) * params.dustFeePerKb) / 1_000n;
}

function outputProblem(output: TxOutput, params: ChainParams): string | null {
  const type = classifyOutput(output.script);
  switch (type.kind) {
    case "nonstandard":
      return "scriptpubkey";
    case "multisig":
      return type.pubkeys.length > 3 ? "scriptpubkey" : null;
    case "op_return":
      return output.script.length > MAX_OP_RETURN ? "scriptpubkey" : null;
    case "p2wpkh":
    case "p2wsh":
    case "p2tr":
    case "witness_unknown":
      return params.kind === "segwit" ? null : "scriptpubkey";
    default:
      return null;
  }
}

/** Form rules of relay that need no coins. Null: standard; else Core's word for the reason. */
export function standardProblem(chainTx: ChainTx, params: ChainParams): string | null {
  const { tx } = chainTx;
  if (params.kind !== "kmd" && (tx.version < 1 || tx.version > 2)) return "version";
  if (chainTx.weight > MAX_STANDARD_WEIGHT) return "tx-size";
  for (const input of tx.inputs) {
    if (input.scriptSig.length > MAX_SCRIPT_SIG) return "scriptsig-size";
    if (!isPushOnly(input.scriptSig)) return "scriptsig-not-pushonly";
  }
  let dataOutputs = 0;
  for (const output of tx.outputs) {
    const problem = outputProblem(output, params);
    if (problem) return problem;
    if (classifyOutput(output.script).kind === "op_return") dataOutputs++;
    else if (output.value < dustThreshold(output, params)) return "dust";
  }
  if (dataOutputs > 1) return "multi-op-return";
  return chainTx.strippedSize < MIN_STRIPPED_BYTES ? "tx-size-small" : null;
}

function witnessProblem(script: Uint8Array, witness: readonly Uint8Array[]): boolean {
  if (witness.length === 0) return false;
  const program = witnessProgram(script);
  if (!program) return true;
  if (program.version !== 0 || program.program.length !== 32) return false;
  const items = witness.slice(0, -1);
  const size = witness.at(-1)?.length ?? 0;
  return size > MAX_P2WSH_SCRIPT || items.length > MAX_P2WSH_ITEMS || items.some((i) => i.length > MAX_P2WSH_ITEM);
}

/** Relay rules about what is spent. Null: standard. */
export function inputsProblem({ tx }: ChainTx, coins: readonly Coin[]): string | null {
  for (const [i, input] of tx.inputs.entries()) {
    const coin = coins[i];
    if (!coin) continue;
    const type = classifyOutput(coin.script).kind;
    if (type === "nonstandard" || type === "witness_unknown") return "bad-txns-nonstandard-inputs";
    const redeem = isP2sh(coin.script) ? redeemScript(input.scriptSig) : null;
    if (isP2sh(coin.script) && (!redeem || countSigOps(redeem, true) > MAX_P2SH_SIGOPS)) return "bad-txns-nonstandard-inputs";
    if (witnessProblem(redeem ?? coin.script, input.witness)) return "bad-witness-nonstandard";
  }
  return null;
}
