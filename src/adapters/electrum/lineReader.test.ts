import { expect, test } from "vitest";
import { LineReader } from "./lineReader.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text, "utf8");

test("lines come out whole, however they are cut, and each exactly as long as allowed", () => {
  const reader = new LineReader(5);
  expect(reader.push(bytes("ab"))).toEqual([]);
  expect(reader.push(bytes("c\n12345\n\nx"))).toEqual(["abc", "12345", ""]);
  expect(reader.push(bytes("yz\n"))).toEqual(["xyz"]);
});

test("a line longer than allowed is refused before it ends, in one piece and in many", () => {
  expect(new LineReader(5).push(bytes("123456"))).toBeNull();
  expect(new LineReader(5).push(bytes("123456\n"))).toBeNull();
  const reader = new LineReader(5);
  expect(reader.push(bytes("123"))).toEqual([]);
  expect(reader.push(bytes("456"))).toBeNull();
});
