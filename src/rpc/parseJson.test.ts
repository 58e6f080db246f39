import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_JSON_DEPTH, parseJson } from "./parseJson.ts";

const parse = (text: string) => parseJson(new TextEncoder().encode(text));
const fault = (text: string): string => {
  const parsed = parse(text);
  if (parsed.ok) throw new Error(`parsed: ${text}`);
  return parsed.error.text;
};

/** Exact integers as the doubles JSON.parse makes of them. */
const asDoubles = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(asDoubles);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, asDoubles(v)]));
};

test("whatever JSON.stringify writes is read back", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const text = JSON.stringify(value);
      expect(asDoubles(parse(text))).toEqual({ ok: true, value: JSON.parse(text) });
    }),
  );
});

test("what JSON.parse refuses is refused, and nothing it accepts but numbers beyond a double and deep nesting is", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'[]{}",:0123.eE+-tfn\\u \n') }), (text) => {
      let accepted = true;
      try {
        JSON.parse(text);
      } catch {
        accepted = false;
      }
      const parsed = parse(text);
      if (parsed.ok) expect(accepted, text).toBe(true);
      else if (accepted) expect(parsed.error.text, text).toMatch(/number out of range|lone leading surrogate/);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["", "EOF while parsing a value at line 1 column 0"],
  ["abc", "expected value at line 1 column 1"],
  ['{"userpass":', "EOF while parsing a value at line 1 column 12"],
  ['{"a":1', "EOF while parsing an object at line 1 column 6"],
  ["[1", "EOF while parsing a list at line 1 column 2"],
  ['"ab', "EOF while parsing a string at line 1 column 3"],
  ["{a:1}", "key must be a string at line 1 column 2"],
  ['{"a" 1}', "expected `:` at line 1 column 6"],
  ["[1 2]", "expected `,` or `]` at line 1 column 4"],
  ['{"a":1,}', "trailing comma at line 1 column 8"],
  ["[1,]", "trailing comma at line 1 column 4"],
  ["1 2", "trailing characters at line 1 column 3"],
  ["\n\n x", "expected value at line 3 column 2"],
  ['"ü" x', "trailing characters at line 1 column 6"],
  ["nul", "EOF while parsing a value at line 1 column 3"],
  ["nux", "expected ident at line 1 column 3"],
  ["1e400", "number out of range at line 1 column 5"],
  ["-", "invalid number at line 1 column 1"],
  ["01", "invalid number at line 1 column 2"],
  ['"\\x"', "invalid escape at line 1 column 3"],
])("%j is refused with KDF's words", (text, expected) => {
  expect(fault(text)).toBe(expected);
});

test("nesting is bounded", () => {
  expect(parse("[".repeat(MAX_JSON_DEPTH) + "]".repeat(MAX_JSON_DEPTH)).ok).toBe(true);
  expect(fault("[".repeat(100_000))).toBe("recursion limit exceeded at line 1 column 128");
  expect(fault('{"a":'.repeat(100_000))).toMatch(/^recursion limit exceeded/);
});

test("an integer beyond 2^53 stays exact, a key named __proto__ is a key", () => {
  expect(parse("18446744073709551615")).toEqual({ ok: true, value: 18446744073709551615n });
  expect(parse("-9223372036854775808")).toEqual({ ok: true, value: -9223372036854775808n });
  expect(parse("123456789012345678901234567890")).toEqual({ ok: true, value: 1.2345678901234568e29 });
  const parsed = parse('{"__proto__":{"polluted":1}}');
  expect(parsed.ok && Object.keys(parsed.value as object)).toEqual(["__proto__"]);
  expect("polluted" in {}).toBe(false);
});

test("bytes that are no UTF-8 are refused", () => {
  expect(parseJson(Uint8Array.of(0x22, 0xff, 0x22))).toEqual({
    ok: false,
    error: { kind: "BadJson", text: expect.stringMatching(/UTF-8/) },
  });
});
