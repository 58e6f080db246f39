import { expect, test } from "vitest";
import { concatBytes, fromHex } from "../../core/util/bytes.ts";
import { OP } from "../../core/utxo/opcodes.ts";
import { pushBytes } from "../../core/utxo/script.ts";
import {
  BITCOIN_CONSENSUS_FLAGS,
  BITCOIN_POLICY_FLAGS,
  SAPLING_CONSENSUS_FLAGS,
  SAPLING_POLICY_FLAGS,
  SEGWIT_CONSENSUS_FLAGS,
  SEGWIT_POLICY_FLAGS,
  VERIFY,
} from "./flags.ts";
import { DISABLED_OPCODES, opcodeName } from "./opcodeInfo.ts";
import { countSigOps, findAndDelete, isPushOnly } from "./scriptCode.ts";
import type { ScriptError } from "./scriptError.ts";
import type { SignatureChecker } from "./signatureChecker.ts";
import { verifyScript } from "./verifyScript.ts";

/** Script from words: opcode names, `0x..` for raw bytes, `<..>` for a plain push of hex. */
function script(text: string): Uint8Array {
  const words = text.split(" ").filter((w) => w !== "");
  return concatBytes(
    ...words.map((w) => {
      if (w.startsWith("<")) return pushBytes(fromHex(w.slice(1, -1)));
      if (w.startsWith("0x")) return fromHex(w.slice(2));
      const known: { readonly [name: string]: number } = OP;
      const code = known[w] ?? known[`OP_${w}`];
      if (code !== undefined) return Uint8Array.of(code);
      return Uint8Array.of(OP.OP_1 + Number(w) - 1);
    }),
  );
}

/** No signature is good; lock times up to 100 and sequences up to 5 are reached. */
const checker: SignatureChecker = {
  checkSig: () => false,
  checkLockTime: (lock) => lock <= 100,
  checkSequence: (sequence) => sequence <= 5,
};

type Case = readonly [sig: string, key: string, expected: ScriptError | null, flags?: number];

const CASES: readonly Case[] = [
  // Truth
  ["", "", "EvalFalse"],
  ["1", "", null],
  ["0", "", "EvalFalse"],
  ["<80>", "", "EvalFalse"],
  ["<0080>", "", "EvalFalse"],
  ["<8000>", "", null],
  // Numbers
  ["1 2", "ADD 3 EQUAL", null],
  ["2 1NEGATE", "ADD 1 NUMEQUAL", null],
  ["<ffffff7f>", "1ADD <0000008000> EQUAL", null],
  ["<ffffff7f>", "1ADD 1SUB DROP 1", "ScriptNum"],
  ["<0500>", "5 NUMEQUAL", null],
  ["<0500>", "5 NUMEQUAL", "ScriptNum", BITCOIN_POLICY_FLAGS],
  ["<80>", "NOT", null],
  ["5", "NEGATE ABS 5 EQUAL", null],
  ["3 2 5", "WITHIN", null],
  ["5 2 5", "WITHIN", "EvalFalse"],
  ["1 2", "MIN 1 NUMEQUALVERIFY 1", null],
  ["1 2", "MAX 1 NUMEQUALVERIFY 1", "NumEqualVerify"],
  ["1 1", "BOOLAND", null],
  ["1 0", "BOOLAND", "EvalFalse"],
  // Stack
  ["1 2 3", "ROT 1 EQUALVERIFY 3 EQUALVERIFY 2 EQUAL", null],
  ["1 2", "SWAP 1 EQUALVERIFY 2 EQUAL", null],
  ["1 2", "TUCK 2 EQUALVERIFY 1 EQUALVERIFY 2 EQUAL", null],
  ["1 2 3 4 5 6", "2ROT 2 EQUALVERIFY 1 EQUALVERIFY DROP DROP DROP DROP 1", null],
  ["1 2 3 4", "2SWAP 2 EQUALVERIFY 1 EQUALVERIFY 4 EQUALVERIFY 3 EQUAL", null],
  ["1 2 3 4", "2OVER 2 EQUALVERIFY 1 EQUALVERIFY 2DROP 2DROP 1", null],
  ["7 8 9", "2 PICK 7 EQUAL", null],
  ["7 8 9", "2 ROLL 7 EQUALVERIFY DEPTH 2 EQUAL", null],
  ["7", "1 PICK", "InvalidStackOperation"],
  ["7", "1NEGATE PICK", "InvalidStackOperation"],
  ["", "DUP", "InvalidStackOperation"],
  ["", "FROMALTSTACK", "InvalidAltStackOperation"],
  ["5", "TOALTSTACK DEPTH 0 EQUALVERIFY FROMALTSTACK 5 EQUAL", null],
  ["0", "IFDUP DEPTH 1 EQUAL", null],
  ["<aabb>", "SIZE 2 EQUALVERIFY <aabb> EQUAL", null],
  // Flow
  ["1", "IF 1 ELSE 0 ENDIF", null],
  ["0", "IF 1 ELSE 0 ENDIF", "EvalFalse"],
  ["1", "NOTIF 0 ELSE 1 ENDIF", null],
  ["1", "IF 1", "UnbalancedConditional"],
  ["1", "ENDIF", "UnbalancedConditional"],
  ["1", "ELSE", "UnbalancedConditional"],
  ["", "IF ENDIF", "UnbalancedConditional"],
  ["1", "IF 1 ELSE 0 ELSE 1 ENDIF", null],
  ["0", "IF RETURN ENDIF 1", null],
  ["1", "RETURN", "OpReturn"],
  ["0", "VERIFY 1", "Verify"],
  ["1", "0 IF CAT ENDIF", "DisabledOpcode"],
  ["1", "0 IF VERIF ENDIF", "BadOpcode"],
  ["1", "0 IF 0xba ENDIF", null],
  ["1", "0xba", "BadOpcode"],
  ["1", "RESERVED", "BadOpcode"],
  // Pushes
  ["1", "0x4c", "BadOpcode"],
  ["1", "0x05aabb", "BadOpcode"],
  ["0x4c0101", "", null],
  ["0x4c0101", "", "MinimalData", BITCOIN_POLICY_FLAGS],
  ["<01>", "", "MinimalData", BITCOIN_POLICY_FLAGS],
  ["<20>", "", null, BITCOIN_POLICY_FLAGS],
  // Upgrades
  ["1", "NOP1", null],
  ["1", "NOP1", "DiscourageUpgradableNops", BITCOIN_POLICY_FLAGS],
  ["", "<64> CHECKLOCKTIMEVERIFY", null],
  ["", "<65> CHECKLOCKTIMEVERIFY", "UnsatisfiedLockTime"],
  ["", "1NEGATE CHECKLOCKTIMEVERIFY", "NegativeLockTime"],
  ["", "<000000000001> CHECKLOCKTIMEVERIFY", "ScriptNum"],
  ["", "CHECKLOCKTIMEVERIFY", "InvalidStackOperation"],
  ["", "CHECKLOCKTIMEVERIFY 1", null, VERIFY.P2SH],
  ["", "5 CHECKSEQUENCEVERIFY", null],
  ["", "6 CHECKSEQUENCEVERIFY", "UnsatisfiedLockTime"],
  ["", "6 CHECKSEQUENCEVERIFY", null, SAPLING_CONSENSUS_FLAGS],
  ["", "<0000008000> CHECKSEQUENCEVERIFY", null],
  // Signatures
  ["0", "<02> CHECKSIG NOT", null],
  ["0 0", "1 <02> 1 CHECKMULTISIG NOT", null],
  ["1 0", "1 <02> 1 CHECKMULTISIG NOT", "SigNullDummy"],
  ["1 0", "1 <02> 1 CHECKMULTISIG NOT", null, SAPLING_CONSENSUS_FLAGS],
  ["0", "1 <02> 1 CHECKMULTISIG", "InvalidStackOperation"],
  ["0", "0 0 CHECKMULTISIG", null],
  ["0", "1 0 CHECKMULTISIG", "SigCount"],
  ["0", "0 <15> CHECKMULTISIG", "PubkeyCount"],
  ["<3006020101020101>", "<02> CHECKSIG", "SigDer"],
  ["<300602010102010101>", "<02> CHECKSIG NOT", null],
  ["<300602010102010101>", "<0202> CHECKSIG NOT", "PubkeyType", BITCOIN_POLICY_FLAGS],
  // What is left over
  ["1 1", "", null],
  ["1 1", "", "CleanStack", BITCOIN_POLICY_FLAGS],
];

for (const [sig, key, expected, flags = BITCOIN_CONSENSUS_FLAGS] of CASES) {
  test(`scriptSig [${sig}] on [${key}] by rules ${flags} ends with ${expected ?? "success"}`, () => {
    expect(verifyScript(script(sig), script(key), [], flags, checker)).toBe(expected);
  });
}

test("an element of 520 bytes passes and one of 521 does not", () => {
  const run = (n: number) => verifyScript(pushBytes(new Uint8Array(n).fill(1)), Uint8Array.of(OP.SIZE), [], 0, checker);
  expect([run(520), run(521)]).toEqual([null, "PushSize"]);
});

test("the 202nd operation and the 10,001st byte are too many", () => {
  const nops = (n: number) => verifyScript(Uint8Array.of(OP.OP_1), new Uint8Array(n).fill(OP.NOP), [], 0, checker);
  expect([nops(201), nops(202)]).toEqual([null, "OpCount"]);
  const long = (n: number) => verifyScript(new Uint8Array(0), new Uint8Array(n).fill(OP.OP_1), [], 0, checker);
  expect(long(10_001)).toBe("ScriptSize");
});

test("keys of a multisig count as operations", () => {
  const keys = Array.from({ length: 20 }, () => "<02>").join(" ");
  const nops = (n: number) => Array.from({ length: n }, () => "NOP").join(" ");
  const run = (n: number) => verifyScript(script("0"), script(`0 ${keys} <14> CHECKMULTISIG ${nops(n)}`), [], 0, checker);
  expect([run(180), run(181)]).toEqual([null, "OpCount"]);
});

test("a P2SH scriptSig that does more than push fails even when it would be true", () => {
  const redeem = script("1");
  const p2sh = script("HASH160 <da1745e9b549bd0bfa1a569971c77eba30cd5a4b> EQUAL");
  expect(verifyScript(pushBytes(redeem), p2sh, [], BITCOIN_CONSENSUS_FLAGS, checker)).toBeNull();
  expect(verifyScript(concatBytes(script("NOP"), pushBytes(redeem)), p2sh, [], BITCOIN_CONSENSUS_FLAGS, checker)).toBe("SigPushOnly");
});

test("a signature inside the script code is taken out, only where an instruction starts", () => {
  expect(findAndDelete(script("<aabb> NOP <aabb>"), script("<aabb>"))).toEqual({ script: script("NOP"), found: 2 });
  expect(findAndDelete(script("<02aabb>"), script("<aabb>"))).toEqual({ script: script("<02aabb>"), found: 0 });
});

test("signature operations are counted with and without the number of keys", () => {
  const multisig = script("2 <02> <02> <02> 3 CHECKMULTISIG CHECKSIG");
  expect([countSigOps(multisig, false), countSigOps(multisig, true)]).toEqual([21, 4]);
});

test("push-only knows pushes from opcodes and from a cut push", () => {
  expect([script("1 <aa> 0 RESERVED"), script("1 NOP"), fromHex("05aa")].map(isPushOnly)).toEqual([true, false, false]);
});

test("opcodes have the names daemons print", () => {
  expect([0x00, 0x4f, 0x51, 0x60, 0xb1, 0xb6, 0x76, 0xfe].map(opcodeName)).toEqual([
    "0",
    "-1",
    "1",
    "16",
    "OP_CHECKLOCKTIMEVERIFY",
    "OP_NOP7",
    "OP_DUP",
    "OP_UNKNOWN",
  ]);
  expect(DISABLED_OPCODES.size).toBe(15);
});

test("relay rules include all rules of blocks", () => {
  expect(BITCOIN_POLICY_FLAGS & BITCOIN_CONSENSUS_FLAGS).toBe(BITCOIN_CONSENSUS_FLAGS);
  expect(SEGWIT_POLICY_FLAGS & SEGWIT_CONSENSUS_FLAGS).toBe(SEGWIT_CONSENSUS_FLAGS);
  expect(SAPLING_POLICY_FLAGS & SAPLING_CONSENSUS_FLAGS).toBe(SAPLING_CONSENSUS_FLAGS);
});

test("a spend that breaks a rule of blocks breaks the relay rules too", () => {
  for (const [sig, key] of CASES) {
    const byBlock = verifyScript(script(sig), script(key), [], BITCOIN_CONSENSUS_FLAGS, checker);
    const byRelay = verifyScript(script(sig), script(key), [], BITCOIN_POLICY_FLAGS, checker);
    if (byBlock !== null) expect(byRelay, `${sig} | ${key}`).not.toBeNull();
  }
});
