import { bech32 } from "@scure/base";
import { expect, test } from "vitest";
import { bech32Fault } from "./bech32Fault.ts";

const GOOD = bech32.encode("doc", [0, ...bech32.toWords(new Uint8Array(20).fill(7))]);

test.each([
  ["", 'missing human-readable separator, "1"'],
  ["RXX", 'missing human-readable separator, "1"'],
  ["1qqqqqq", "invalid length"],
  [`${"a".repeat(84)}1qqqqqq`, "invalid length"],
  ["doc1qqqqq", "invalid length"],
  ["doc1", "invalid length"],
  ["do c1qqqqqq", "invalid character (code=32)"],
  ["doc\u{1F600}1qqqqqq", "invalid character (code=128512)"],
  ["doc1qqbqqqq", "invalid character (code=98)"],
  ["doc1qqqüqqq", "invalid character (code=252)"],
  ["doc1qqqqQqqq", "mixed-case strings not allowed"],
  [`${GOOD.slice(0, -1)}${GOOD.endsWith("q") ? "p" : "q"}`, "invalid checksum"],
  // The prefix may hold the separator, too: the last one counts.
  ["a1b1qqqqqq", "invalid checksum"],
])("%j: %s", (text, fault) => {
  expect(bech32Fault(text)).toBe(fault);
});
