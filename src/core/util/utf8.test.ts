import { expect, test } from "vitest";
import { parseUtf8 } from "./utf8.ts";

test("text of one to four bytes a character is read", () => {
  expect(parseUtf8(new TextEncoder().encode("aß€𝄞"))).toBe("aß€𝄞");
  expect(parseUtf8(new Uint8Array())).toBe("");
});

test("a byte order mark is kept", () => {
  expect(parseUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe("\ufeffA");
});

test("ill-formed bytes give undefined", () => {
  const illFormed = [[0x80], [0xc3], [0xc0, 0x80], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x41, 0xff]];
  for (const bytes of illFormed) expect(parseUtf8(Uint8Array.from(bytes))).toBeUndefined();
});
