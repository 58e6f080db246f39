import { sha256 } from "@noble/hashes/sha2.js";
import { equalBytes } from "../../core/util/bytes.ts";
import { OP } from "../../core/utxo/opcodes.ts";
import { p2pkhScript, witnessProgram } from "../../core/utxo/outputScript.ts";
import { pushBytes } from "../../core/utxo/script.ts";
import { VERIFY } from "./flags.ts";
import { evalScript, MAX_PUSH_BYTES } from "./interpreter.ts";
import { isPushOnly } from "./scriptCode.ts";
import type { ScriptError } from "./scriptError.ts";
import type { SignatureChecker } from "./signatureChecker.ts";
import { castToBool, type Stack } from "./stackOps.ts";

export function isP2sh(script: Uint8Array): boolean {
  return script.length === 23 && script[0] === OP.HASH160 && script[1] === 20 && script[22] === OP.EQUAL;
}

function topIsTrue(stack: Stack): boolean {
  const item = stack.at(-1);
  return item !== undefined && castToBool(item);
}

function runWitnessScript(items: readonly Uint8Array[], script: Uint8Array, flags: number, checker: SignatureChecker): ScriptError | null {
  if (items.some((i) => i.length > MAX_PUSH_BYTES)) return "PushSize";
  const stack: Stack = [...items];
  const problem = evalScript(stack, script, flags, checker, "witness_v0");
  if (problem) return problem;
  if (stack.length !== 1) return "CleanStack";
  return topIsTrue(stack) ? null : "EvalFalse";
}

/**
 * BIP-141. Taproot outputs (version 1, 32 bytes) cannot be spent here: these chains have no Schnorr rules, and letting
 * anyone take such an output, as before taproot, would lose a swap's change.
 */
function verifyWitnessProgram(
  program: { readonly version: number; readonly program: Uint8Array },
  witness: readonly Uint8Array[],
  flags: number,
  checker: SignatureChecker,
  inP2sh: boolean,
): ScriptError | null {
  const { version, program: hash } = program;
  if (version === 0 && hash.length === 32) {
    const script = witness.at(-1);
    if (!script) return "WitnessProgramEmpty";
    if (!equalBytes(sha256(script), hash)) return "WitnessProgramMismatch";
    return runWitnessScript(witness.slice(0, -1), script, flags, checker);
  }
  if (version === 0 && hash.length === 20) {
    if (witness.length !== 2) return "WitnessProgramMismatch";
    return runWitnessScript(witness, p2pkhScript(hash), flags, checker);
  }
  if (version === 0) return "WitnessProgramWrongLength";
  if (version === 1 && hash.length === 32 && !inP2sh) return "TaprootUnsupported";
  return flags & VERIFY.DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM ? "DiscourageUpgradableWitnessProgram" : null;
}

/** Whether `scriptSig` and `witness` may spend an output with `scriptPubKey`. Null: yes. */
export function verifyScript(
  scriptSig: Uint8Array,
  scriptPubKey: Uint8Array,
  witness: readonly Uint8Array[],
  flags: number,
  checker: SignatureChecker,
): ScriptError | null {
  if (flags & VERIFY.SIGPUSHONLY && !isPushOnly(scriptSig)) return "SigPushOnly";
  let stack: Stack = [];
  let problem = evalScript(stack, scriptSig, flags, checker, "base");
  if (problem) return problem;
  const pushed = [...stack];
  problem = evalScript(stack, scriptPubKey, flags, checker, "base");
  if (problem) return problem;
  if (!topIsTrue(stack)) return "EvalFalse";

  const withWitness = (flags & VERIFY.WITNESS) !== 0;
  let hadWitness = false;
  const bare = withWitness ? witnessProgram(scriptPubKey) : null;
  if (bare) {
    hadWitness = true;
    if (scriptSig.length > 0) return "WitnessMalleated";
    problem = verifyWitnessProgram(bare, witness, flags, checker, false);
    if (problem) return problem;
    stack = stack.slice(0, 1);
  }
  if (flags & VERIFY.P2SH && isP2sh(scriptPubKey)) {
    if (!isPushOnly(scriptSig)) return "SigPushOnly";
    const redeem = pushed.pop();
    if (!redeem) return "EvalFalse";
    stack = pushed;
    problem = evalScript(stack, redeem, flags, checker, "base");
    if (problem) return problem;
    if (!topIsTrue(stack)) return "EvalFalse";
    const nested = withWitness ? witnessProgram(redeem) : null;
    if (nested) {
      hadWitness = true;
      if (!equalBytes(scriptSig, pushBytes(redeem))) return "WitnessMalleatedP2sh";
      problem = verifyWitnessProgram(nested, witness, flags, checker, true);
      if (problem) return problem;
      stack = stack.slice(0, 1);
    }
  }
  if (flags & VERIFY.CLEANSTACK && stack.length !== 1) return "CleanStack";
  if (withWitness && !hadWitness && witness.length > 0) return "WitnessUnexpected";
  return null;
}
