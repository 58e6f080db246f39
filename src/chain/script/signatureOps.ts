import { OP } from "../../core/utxo/opcodes.ts";
import { pushBytes } from "../../core/utxo/script.ts";
import { decodeScriptNum, encodeScriptNum } from "../../core/utxo/scriptNum.ts";
import { VERIFY } from "./flags.ts";
import { findAndDelete } from "./scriptCode.ts";
import type { ScriptError } from "./scriptError.ts";
import type { SignatureChecker, SigVersion } from "./signatureChecker.ts";
import { checkPublicKeyEncoding, checkSignatureEncoding } from "./signatureEncoding.ts";
import { type Stack, top } from "./stackOps.ts";

export const MAX_OPS_PER_SCRIPT = 201;
const MAX_KEYS_PER_MULTISIG = 20;

export type SignatureContext = {
  readonly flags: number;
  readonly version: SigVersion;
  readonly checker: SignatureChecker;
  /** Script from the last executed CODESEPARATOR on. */
  readonly scriptCode: Uint8Array;
};

const bool = (b: boolean): Uint8Array => encodeScriptNum(b ? 1n : 0n);

/** Script code a legacy signature commits to: without the signature itself. */
function withoutSignature(context: SignatureContext, code: Uint8Array, signature: Uint8Array): Uint8Array | ScriptError {
  if (context.version !== "base") return code;
  const { script, found } = findAndDelete(code, pushBytes(signature));
  return found > 0 && context.flags & VERIFY.CONST_SCRIPTCODE ? "SigFindAndDelete" : script;
}

function checkEncodings(context: SignatureContext, signature: Uint8Array, key: Uint8Array): ScriptError | null {
  return checkSignatureEncoding(signature, context.flags) ?? checkPublicKeyEncoding(key, context.flags, context.version === "witness_v0");
}

export function runCheckSig(opcode: number, stack: Stack, context: SignatureContext): ScriptError | null {
  if (stack.length < 2) return "InvalidStackOperation";
  const signature = top(stack, 2);
  const key = top(stack, 1);
  const code = withoutSignature(context, context.scriptCode, signature);
  if (typeof code === "string") return code;
  const badForm = checkEncodings(context, signature, key);
  if (badForm) return badForm;
  const good = context.checker.checkSig(signature, key, code, context.version);
  if (!good && context.flags & VERIFY.NULLFAIL && signature.length > 0) return "SigNullFail";
  stack.splice(-2);
  if (opcode === OP.CHECKSIG) stack.push(bool(good));
  else if (!good) return "CheckSigVerify";
  return null;
}

function readCount(item: Uint8Array, flags: number): number | null {
  const n = decodeScriptNum(item, 4, (flags & VERIFY.MINIMALDATA) !== 0);
  return n === null ? null : Number(n);
}

/** @returns the new count of operations (each key counts as one), or the error */
export function runCheckMultisig(opcode: number, stack: Stack, context: SignatureContext, opCount: number): number | ScriptError {
  const { flags } = context;
  if (stack.length < 1) return "InvalidStackOperation";
  const keyCount = readCount(top(stack), flags);
  if (keyCount === null) return "ScriptNum";
  if (keyCount < 0 || keyCount > MAX_KEYS_PER_MULTISIG) return "PubkeyCount";
  const ops = opCount + keyCount;
  if (ops > MAX_OPS_PER_SCRIPT) return "OpCount";
  // Key count, keys, signature count, signatures, dummy: from the top down.
  if (stack.length < 2 + keyCount) return "InvalidStackOperation";
  const sigCount = readCount(top(stack, 2 + keyCount), flags);
  if (sigCount === null) return "ScriptNum";
  if (sigCount < 0 || sigCount > keyCount) return "SigCount";
  const depth = 2 + keyCount + sigCount;
  if (stack.length < depth) return "InvalidStackOperation";
  const keys = Array.from({ length: keyCount }, (_, i) => top(stack, 2 + i));
  const signatures = Array.from({ length: sigCount }, (_, i) => top(stack, 3 + keyCount + i));

  const good = matchSignatures(context, signatures, keys);
  if (typeof good === "string") return good;
  if (!good && flags & VERIFY.NULLFAIL && signatures.some((s) => s.length > 0)) return "SigNullFail";
  if (stack.length < depth + 1) return "InvalidStackOperation";
  if (flags & VERIFY.NULLDUMMY && top(stack, depth + 1).length > 0) return "SigNullDummy";
  stack.splice(-(depth + 1));
  if (opcode === OP.CHECKMULTISIG) stack.push(bool(good));
  else if (!good) return "CheckMultisigVerify";
  return ops;
}

/** Signatures must match keys in the same order; each key is tried once. */
function matchSignatures(context: SignatureContext, signatures: readonly Uint8Array[], keys: readonly Uint8Array[]): boolean | ScriptError {
  let code = context.scriptCode;
  for (const signature of signatures) {
    const next = withoutSignature(context, code, signature);
    if (typeof next === "string") return next;
    code = next;
  }
  let key = 0;
  let matched = 0;
  while (matched < signatures.length) {
    if (signatures.length - matched > keys.length - key) return false;
    const signature = signatures[matched];
    const candidate = keys[key];
    if (!signature || !candidate) return false;
    const badForm = checkEncodings(context, signature, candidate);
    if (badForm) return badForm;
    if (context.checker.checkSig(signature, candidate, code, context.version)) matched++;
    key++;
  }
  return true;
}
