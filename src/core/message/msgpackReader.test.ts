import { expect, test } from "vitest";
import { bytesOf, hexOf } from "../../../test/vectors/wire/wireVectors.ts";
import { decode, MAX_MESSAGE_BYTES, type MsgpackReader } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import { readRational, writeRational } from "./wireShapes.ts";

const read = <T>(hex: string, reader: (r: MsgpackReader) => T): T | undefined => {
  const parsed = decode(bytesOf(hex), reader);
  return parsed.ok ? parsed.value : undefined;
};

test("every integer encoding is read, and numbers a double cannot hold are refused", () => {
  const values = { "00": 0, "7f": 127, ccff: 255, cdffff: 65535, ceffffffff: 4294967295, cf001fffffffffffff: Number.MAX_SAFE_INTEGER };
  for (const [hex, value] of Object.entries(values)) expect(read(hex, (r) => r.uint())).toBe(value);
  const signed = { ff: -1, d080: -128, d18000: -32768, d280000000: -2147483648, d3ffffffffffffffff: -1, d30000000000000005: 5 };
  for (const [hex, value] of Object.entries(signed)) expect(read(hex, (r) => r.int())).toBe(value);
  for (const hex of ["cf0020000000000000", "cfffffffffffffffff", "ff", "ca00000000", "c0", "a0", ""]) {
    expect(read(hex, (r) => r.uint())).toBeUndefined();
  }
});

test("the shortest form of every length and number is written", () => {
  const w = new MsgpackWriter();
  for (const n of [0, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, Number.MAX_SAFE_INTEGER]) w.uint(n);
  expect(hexOf(w.finish())).toBe("007fcc80ccffcd0100cdffffce00010000ceffffffffcf0000000100000000cf001fffffffffffff");
  const headOf = (w: MsgpackWriter): string => hexOf(w.finish().slice(0, 3));
  expect(headOf(new MsgpackWriter().str("x".repeat(31)))).toBe("bf7878");
  expect(headOf(new MsgpackWriter().str("x".repeat(32)))).toBe("d92078");
  expect(headOf(new MsgpackWriter().str("x".repeat(256)))).toBe("da0100");
  expect(headOf(new MsgpackWriter().array(16))).toBe("dc0010");
  expect(headOf(new MsgpackWriter().bin(new Uint8Array(256)))).toBe("c50100");
  expect(hexOf(new MsgpackWriter().bin(new Uint8Array(65536)).finish().slice(0, 5))).toBe("c600010000");
});

test("a number that is no unsigned integer is a mistake of ours", () => {
  for (const n of [-1, 0.5, Number.NaN, 2 ** 53]) expect(() => new MsgpackWriter().uint(n)).toThrow(RangeError);
});

test("a header that promises more than is there is refused before anything is made of it", () => {
  expect(decode(bytesOf("ddffffffff00"), (r) => r.array())).toMatchObject({ ok: false, error: { kind: "BadMessage" } });
  expect(decode(bytesOf("df7fffffff0000"), (r) => r.map(10))).toMatchObject({ ok: false });
  expect(decode(bytesOf("c6ffffffff00"), (r) => r.bin(MAX_MESSAGE_BYTES))).toMatchObject({ ok: false });
  expect(decode(bytesOf("81a0c0"), (r) => r.map(0))).toMatchObject({ ok: false });
  expect(decode(new Uint8Array(MAX_MESSAGE_BYTES + 1), (r) => r.uint())).toMatchObject({ ok: false });
});

test("nesting is passed over without recursion", () => {
  const deep = new Uint8Array(100_000).fill(0x91);
  deep[deep.length - 1] = 0xc0;
  expect(decode(deep, (r) => r.skip()).ok).toBe(true);
});

test("text that is not UTF-8 is refused", () => {
  expect(read("a2c3a9", (r) => r.str(10))).toBe("é");
  expect(read("a1ff", (r) => r.str(10))).toBeUndefined();
});

test("a fraction of too many limbs is refused, the largest allowed one is read and written", () => {
  const ofLimbs = (count: number): Uint8Array => {
    const w = new MsgpackWriter();
    writeRational(w, { n: (1n << BigInt(32 * count)) - 1n, d: 1n });
    return w.finish();
  };
  expect(decode(ofLimbs(64), readRational)).toEqual({ ok: true, value: { n: (1n << 2048n) - 1n, d: 1n } });
  expect(decode(ofLimbs(65), readRational).ok).toBe(false);
});

test("fractions are kept as sent, whatever signs and zeros they carry", () => {
  expect(read("9292ff910292ff9104", readRational)).toEqual({ n: -2n, d: -4n });
  expect(read("929201910092019101", readRational)).toEqual({ n: 0n, d: 1n });
  expect(read("929200910592019101", readRational)).toEqual({ n: 0n, d: 1n });
  expect(read("929201910192029101", readRational)).toBeUndefined();
});
