import { ripemd160, sha1 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { equalBytes } from "../../core/util/bytes.ts";
import { hash160, hash256 } from "../../core/utxo/hash.ts";
import { OP } from "../../core/utxo/opcodes.ts";
import { isMinimalPush, MAX_SCRIPT_BYTES, readOp } from "../../core/utxo/script.ts";
import { decodeScriptNum, encodeScriptNum } from "../../core/utxo/scriptNum.ts";
import { VERIFY } from "./flags.ts";
import { runNumericOp } from "./numericOps.ts";
import { DISABLED_OPCODES } from "./opcodeInfo.ts";
import type { ScriptError } from "./scriptError.ts";
import { SEQUENCE_DISABLE, type SignatureChecker, type SigVersion } from "./signatureChecker.ts";
import { MAX_OPS_PER_SCRIPT, runCheckMultisig, runCheckSig } from "./signatureOps.ts";
import { castToBool, runStackOp, type Stack, top } from "./stackOps.ts";

/** Longest element pushed, bytes. */
export const MAX_PUSH_BYTES = 520;
/** Most elements on stack and alt stack together. */
const MAX_STACK_ITEMS = 1_000;

const HASHES: ReadonlyMap<number, (data: Uint8Array) => Uint8Array> = new Map([
  [OP.RIPEMD160, ripemd160],
  [OP.SHA1, sha1],
  [OP.SHA256, sha256],
  [OP.HASH160, hash160],
  [OP.HASH256, hash256],
]);

function runLockOp(opcode: number, stack: Stack, flags: number, checker: SignatureChecker): ScriptError | null {
  const isTime = opcode === OP.CHECKLOCKTIMEVERIFY;
  if (!(flags & (isTime ? VERIFY.CHECKLOCKTIMEVERIFY : VERIFY.CHECKSEQUENCEVERIFY))) return null;
  if (stack.length < 1) return "InvalidStackOperation";
  const wanted = decodeScriptNum(top(stack), 5, (flags & VERIFY.MINIMALDATA) !== 0);
  if (wanted === null) return "ScriptNum";
  if (wanted < 0n) return "NegativeLockTime";
  // Five bytes at most, so exact as a number; the bit test of BIP-112 needs only the low 32 bits.
  const n = Number(wanted);
  if (isTime) return checker.checkLockTime(n) ? null : "UnsatisfiedLockTime";
  const low = Number(wanted & 0xffffffffn);
  if (low & SEQUENCE_DISABLE) return null;
  return checker.checkSequence(low) ? null : "UnsatisfiedLockTime";
}

/** The argument of an executed IF or NOTIF, or the error. */
function takeCondition(opcode: number, stack: Stack, flags: number, version: SigVersion): boolean | ScriptError {
  const item = stack.at(-1);
  if (!item) return "UnbalancedConditional";
  if (version === "witness_v0" && flags & VERIFY.MINIMALIF && (item.length > 1 || (item.length === 1 && item[0] !== 1))) {
    return "MinimalIf";
  }
  stack.pop();
  return castToBool(item) === (opcode === OP.IF);
}

function runPlainOp(opcode: number, stack: Stack, flags: number): ScriptError | null | undefined {
  if (opcode === OP.OP_1NEGATE || (opcode >= OP.OP_1 && opcode <= OP.OP_16)) {
    stack.push(encodeScriptNum(BigInt(opcode - OP.OP_1 + 1)));
    return null;
  }
  const hash = HASHES.get(opcode);
  if (hash) {
    const item = stack.pop();
    if (!item) return "InvalidStackOperation";
    stack.push(hash(item));
    return null;
  }
  switch (opcode) {
    case OP.NOP:
      return null;
    case OP.VERIFY:
      if (stack.length < 1) return "InvalidStackOperation";
      if (!castToBool(top(stack))) return "Verify";
      stack.pop();
      return null;
    case OP.RETURN:
      return "OpReturn";
    case OP.EQUAL:
    case OP.EQUALVERIFY: {
      if (stack.length < 2) return "InvalidStackOperation";
      const equal = equalBytes(top(stack, 2), top(stack, 1));
      stack.splice(-2);
      if (opcode === OP.EQUAL) stack.push(encodeScriptNum(equal ? 1n : 0n));
      else if (!equal) return "EqualVerify";
      return null;
    }
    default:
      if (opcode === OP.NOP1 || (opcode >= OP.NOP4 && opcode <= OP.NOP10)) {
        return flags & VERIFY.DISCOURAGE_UPGRADABLE_NOPS ? "DiscourageUpgradableNops" : null;
      }
      return undefined;
  }
}

/**
 * Runs one script over `stack`, which it changes. Bitcoin's rules for legacy and version-0 witness scripts; which of
 * the later rules hold is said by `flags`.
 * @returns null when the script ran to its end
 */
export function evalScript(
  stack: Stack,
  script: Uint8Array,
  flags: number,
  checker: SignatureChecker,
  version: SigVersion,
): ScriptError | null {
  if (script.length > MAX_SCRIPT_BYTES) return "ScriptSize";
  const altStack: Stack = [];
  const branches: boolean[] = [];
  const minimal = (flags & VERIFY.MINIMALDATA) !== 0;
  let opCount = 0;
  let codeFrom = 0;
  let at = 0;
  while (at < script.length) {
    const step = readOp(script, at);
    if (!step) return "BadOpcode";
    at = step.end;
    const { op, data } = step;
    if (data && data.length > MAX_PUSH_BYTES) return "PushSize";
    if (op > OP.OP_16 && ++opCount > MAX_OPS_PER_SCRIPT) return "OpCount";
    if (DISABLED_OPCODES.has(op)) return "DisabledOpcode";
    if (op === OP.CODESEPARATOR && version === "base" && flags & VERIFY.CONST_SCRIPTCODE) return "CodeSeparator";
    const executing = !branches.includes(false);
    if (op >= OP.IF && op <= OP.ENDIF) {
      const problem = runBranch(op, executing);
      if (problem) return problem;
    } else if (executing) {
      if (data) {
        if (minimal && !isMinimalPush(step)) return "MinimalData";
        stack.push(data);
      } else {
        const problem = runExecuted(op);
        if (problem) return problem;
      }
    }
    if (stack.length + altStack.length > MAX_STACK_ITEMS) return "StackSize";
  }
  return branches.length > 0 ? "UnbalancedConditional" : null;

  function runBranch(op: number, executing: boolean): ScriptError | null {
    if (op === OP.IF || op === OP.NOTIF) {
      const condition = executing ? takeCondition(op, stack, flags, version) : false;
      if (typeof condition === "string") return condition;
      branches.push(condition);
      return null;
    }
    if (op !== OP.ELSE && op !== OP.ENDIF) return "BadOpcode";
    const open = branches.pop();
    if (open === undefined) return "UnbalancedConditional";
    if (op === OP.ELSE) branches.push(!open);
    return null;
  }

  function runExecuted(op: number): ScriptError | null {
    switch (op) {
      case OP.CHECKLOCKTIMEVERIFY:
      case OP.CHECKSEQUENCEVERIFY:
        return runLockOp(op, stack, flags, checker);
      case OP.CODESEPARATOR:
        codeFrom = at;
        return null;
      case OP.CHECKSIG:
      case OP.CHECKSIGVERIFY:
        return runCheckSig(op, stack, { flags, version, checker, scriptCode: script.subarray(codeFrom) });
      case OP.CHECKMULTISIG:
      case OP.CHECKMULTISIGVERIFY: {
        const outcome = runCheckMultisig(op, stack, { flags, version, checker, scriptCode: script.subarray(codeFrom) }, opCount);
        if (typeof outcome === "string") return outcome;
        opCount = outcome;
        return null;
      }
    }
    let outcome = runPlainOp(op, stack, flags);
    if (outcome === undefined) outcome = runStackOp(op, stack, altStack);
    if (outcome === undefined) outcome = runNumericOp(op, stack, minimal);
    return outcome === undefined ? "BadOpcode" : outcome;
  }
}
