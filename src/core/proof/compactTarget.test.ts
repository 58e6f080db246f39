import fc from "fast-check";
import { expect, test } from "vitest";
import { bitsOfTarget, targetOfBits, workOfTarget } from "./compactTarget.ts";

test.each([
  [0x01123456, 0x12n],
  [0x02123456, 0x1234n],
  [0x03123456, 0x123456n],
  [0x04123456, 0x12345600n],
  [0x05009234, 0x92340000n],
  [0x1d00ffff, 0xffffn << 208n],
  [0x207fffff, 0x7fffffn << 232n],
  [0x20123456, 0x123456n << 232n],
  [0x2200007f, 0x7fn << 248n],
])("compact %s is read as Bitcoin reads it", (bits, target) => {
  expect(targetOfBits(bits)).toBe(target);
});

test.each([
  0, 0x00123456, 0x01003456, 0x02000056, 0x03000000, 0x1d000000, 0x20000000, 0x01fedcba, 0x04923456, 0x1d800001, 0xff123456, 0x23000001,
  0x22000100, 0x21010000,
])("zero, negative and too large a compact target %s means nothing", (bits) => {
  expect(targetOfBits(bits)).toBeNull();
});

test.each([
  [0x12n, 0x01120000],
  [0x80n, 0x02008000],
  [0x1234n, 0x02123400],
  [0x92340000n, 0x05009234],
  [0xffffn << 208n, 0x1d00ffff],
])("a target %s is written in its shortest form", (target, bits) => {
  expect(bitsOfTarget(target)).toBe(bits);
});

test("writing and reading a target rounds it down, by less than one part in 32768", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), (target) => {
      const back = targetOfBits(bitsOfTarget(target)) ?? 0n;
      expect(back <= target && (target - back) * 0x8000n < target).toBe(true);
      expect(bitsOfTarget(back)).toBe(bitsOfTarget(target));
    }),
  );
});

test("work is the hashes a target asks for", () => {
  expect(workOfTarget((1n << 255n) - 1n)).toBe(2n);
  expect(workOfTarget(2n ** 256n - 1n)).toBe(1n);
  expect(workOfTarget(0xffffn << 208n)).toBe(0x100010001n);
});
