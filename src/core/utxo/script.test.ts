import fc from "fast-check";
import { expect, test } from "vitest";
import { fromHex, toHex } from "../util/bytes.ts";
import { OP } from "./opcodes.ts";
import {
  classifyOutput,
  opReturnScript,
  p2pkhScript,
  p2pkScript,
  p2shScript,
  p2trScript,
  p2wpkhScript,
  p2wshScript,
  witnessProgram,
} from "./outputScript.ts";
import { decodeScript, isMinimalPush, MAX_SCRIPT_BYTES, pushBytes, pushesOf, pushMinimal, readOp, removeCodeSeparators } from "./script.ts";
import { decodeScriptNum, encodeScriptNum } from "./scriptNum.ts";

const H20 = new Uint8Array(20).fill(7);
const H32 = new Uint8Array(32).fill(9);

test("script numbers have the known forms", () => {
  const known: [bigint, string][] = [
    [0n, ""],
    [1n, "01"],
    [-1n, "81"],
    [40n, "28"],
    [127n, "7f"],
    [128n, "8000"],
    [-128n, "8080"],
    [255n, "ff00"],
    [256n, "0001"],
    [2500000n, "a02526"],
  ];
  for (const [n, hex] of known) {
    expect(toHex(encodeScriptNum(n))).toBe(hex);
    expect(decodeScriptNum(fromHex(hex))).toBe(n);
  }
});

test("script numbers survive the round trip; longer forms are refused unless allowed", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 39n) + 1n, max: 2n ** 39n - 1n }), (n) => {
      expect(decodeScriptNum(encodeScriptNum(n), 5)).toBe(n);
    }),
  );
  expect(decodeScriptNum(fromHex("0100"))).toBeNull();
  expect(decodeScriptNum(fromHex("0100"), 4, false)).toBe(1n);
  expect(decodeScriptNum(fromHex("0000000001"))).toBeNull();
  expect(decodeScriptNum(fromHex("80"), 4, false)).toBe(0n);
});

test("a push is as short as its data allows and reads back", () => {
  for (const [length, head] of [
    [0, "00"],
    [1, "01"],
    [75, "4b"],
    [76, "4c4c"],
    [255, "4cff"],
    [256, "4d0001"],
    [65535, "4dffff"],
  ] as const) {
    const data = new Uint8Array(length).fill(0xee);
    const script = pushBytes(data);
    expect(toHex(script.subarray(0, head.length / 2))).toBe(head);
    const [step] = decodeScript(script) ?? [];
    expect(step?.data).toEqual(data);
    expect(step && isMinimalPush(step)).toBe(true);
  }
  expect(() => pushBytes(new Uint8Array(65536))).toThrow(RangeError);
});

test("small numbers are pushed as opcodes only where minimality is asked for", () => {
  expect([...pushMinimal(Uint8Array.of(1))]).toEqual([OP.OP_1]);
  expect([...pushMinimal(Uint8Array.of(16))]).toEqual([OP.OP_16]);
  expect([...pushMinimal(Uint8Array.of(0x81))]).toEqual([OP.OP_1NEGATE]);
  expect([...pushBytes(Uint8Array.of(16))]).toEqual([1, 16]);
  const step = readOp(Uint8Array.of(1, 16), 0);
  expect(step && isMinimalPush(step)).toBe(false);
});

test("a push past the end makes the script unreadable", () => {
  for (const hex of ["02ff", "4c", "4c02ff", "4d01", "4dffff00", "4e00000001", "4effffffff"]) expect(decodeScript(fromHex(hex))).toBeNull();
});

test("standard outputs are recognised by what they pay to", () => {
  const key = fromHex("02031d4256c4bc9f99ac88bf3dba21773132281f65f9bf23a59928bce08961e2f3");
  expect(classifyOutput(p2pkhScript(H20))).toEqual({ kind: "p2pkh", hash: H20 });
  expect(classifyOutput(p2shScript(H20))).toEqual({ kind: "p2sh", hash: H20 });
  expect(classifyOutput(p2pkScript(key))).toEqual({ kind: "p2pk", pubkey: key });
  expect(classifyOutput(p2wpkhScript(H20))).toEqual({ kind: "p2wpkh", hash: H20 });
  expect(classifyOutput(p2wshScript(H32))).toEqual({ kind: "p2wsh", hash: H32 });
  expect(classifyOutput(p2trScript(H32))).toEqual({ kind: "p2tr", outputKey: H32 });
  expect(classifyOutput(opReturnScript(H20))).toEqual({ kind: "op_return", data: [H20] });
  expect(classifyOutput(Uint8Array.of(OP.RETURN))).toEqual({ kind: "op_return", data: [] });
  expect(classifyOutput(fromHex(`5121${toHex(key)}51ae`))).toEqual({ kind: "multisig", required: 1, pubkeys: [key] });
  expect(classifyOutput(fromHex("5820c05abd141ca8c2163e6444c7706df8985ef4d4ca0ad1ceb1f7dea34704f56640")).kind).toBe("witness_unknown");
  expect(classifyOutput(new Uint8Array(0)).kind).toBe("nonstandard");
  expect(classifyOutput(fromHex("6a02ff")).kind).toBe("nonstandard");
  expect(classifyOutput(p2pkScript(key.subarray(1))).kind).toBe("nonstandard");
  expect(witnessProgram(fromHex("0001ff"))).toBeNull();
});

test("builders refuse a hash of another length", () => {
  expect(() => p2pkhScript(H32)).toThrow(RangeError);
  expect(() => p2wshScript(H20)).toThrow(RangeError);
});

test("only scripts of pushes give their data, within the size limit", () => {
  expect(pushesOf(fromHex("0051604f0102"))?.map(toHex)).toEqual(["", "01", "10", "81", "02"]);
  expect(pushesOf(fromHex("5176"))).toBeNull();
  expect(pushesOf(new Uint8Array(MAX_SCRIPT_BYTES + 1))).toBeNull();
});

test("code separators are taken out, but not out of data or a broken tail", () => {
  expect(toHex(removeCodeSeparators(fromHex("ab76ab02ababac")))).toBe("7602ababac");
  expect(toHex(removeCodeSeparators(fromHex("ab76ab05ab")))).toBe("7605ab");
});
