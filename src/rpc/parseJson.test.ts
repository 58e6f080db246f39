import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonNumber } from "./jsonNumber.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, parseJson } from "./parseJson.ts";

const parse = (text: string) => parseJson(new TextEncoder().encode(text));
const fault = (text: string): string => {
  const parsed = parse(text);
  if (parsed.ok) throw new Error(`parsed: ${text}`);
  return parsed.error.text;
};

/** Exact numbers as the doubles JSON.parse makes of them. */
const asDoubles = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof JsonNumber) return Number(value.source);
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
      else if (accepted) expect(parsed.error.text, text).toMatch(/number out of range|lone leading surrogate|end of hex escape/);
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
  // Of a wrong character the first byte is where it goes wrong; a byte order mark is one, too.
  ['"ü" ü', "trailing characters at line 1 column 6"],
  ["{ü", "key must be a string at line 1 column 2"],
  ["😀", "expected value at line 1 column 1"],
  ["\ufeff{}", "expected value at line 1 column 1"],
  ['["ü', "EOF while parsing a string at line 1 column 4"],
  ["nul", "EOF while parsing a value at line 1 column 3"],
  ["nux", "expected ident at line 1 column 3"],
  ["1e400", "number out of range at line 1 column 5"],
  ["-", "invalid number at line 1 column 1"],
  ["01", "invalid number at line 1 column 2"],
  ['"\\x"', "invalid escape at line 1 column 3"],
  // Half a pair of surrogates; the second half alone is called "leading" by the reference parser, too.
  ['"\\ud800"', "unexpected end of hex escape at line 1 column 8"],
  ['"\\ud800\\n"', "unexpected end of hex escape at line 1 column 9"],
  ['"\\ud800\\ud800"', "lone leading surrogate in hex escape at line 1 column 13"],
  ['"\\udc00"', "lone leading surrogate in hex escape at line 1 column 7"],
  ['"\\ud800', "EOF while parsing a string at line 1 column 7"],
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
  const parsed = parse('{"__proto__":{"polluted":1}}');
  expect(parsed.ok && Object.keys(parsed.value as object)).toEqual(["__proto__"]);
  expect("polluted" in {}).toBe(false);
});

test.each(["0.1", "1.0", "1e0", "-0", "-0.0", "1E+3", "123456789012345678901234567890", "18446744073709551616", "1e-999999999"])(
  "%s keeps its text",
  (source) => {
    expect(parse(source)).toEqual({ ok: true, value: new JsonNumber(source) });
  },
);

test("a safe integer is a number", () => {
  expect(parse("[0,-1,9007199254740991]")).toEqual({ ok: true, value: [0, -1, 9007199254740991] });
});

test("a body of very many values is refused", () => {
  expect(parse(`[${"0,".repeat(MAX_JSON_VALUES - 2)}0]`).ok).toBe(true);
  expect(fault(`[${"0,".repeat(MAX_JSON_VALUES - 1)}0]`)).toMatch(/^more than 1000000 values at line 1/);
});

const bytesOf = (...parts: readonly (string | number)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "number" ? [part] : [...new TextEncoder().encode(part)])));

test.each([
  [bytesOf('"', 0xff, '"'), "invalid unicode code point at line 1 column 3"],
  // A half of a character, a surrogate, an overlong form; columns count bytes, also of what is well-formed before.
  [bytesOf('{"ü":\n "a', 0xc3, '"}'), "invalid unicode code point at line 2 column 5"],
  [bytesOf('["ü","', 0xed, 0xa0, 0x80, '"]'), "invalid unicode code point at line 1 column 11"],
  [bytesOf('{"', 0xc0, 0x80, '":1}'), "invalid unicode code point at line 1 column 5"],
  [bytesOf(0xff), "expected value at line 1 column 1"],
  [bytesOf("[1", 0xff, "]"), "expected `,` or `]` at line 1 column 3"],
  [bytesOf('"', 0xff), "EOF while parsing a string at line 1 column 2"],
])("bytes that are no UTF-8 are refused with KDF's words: %#", (bytes, text) => {
  expect(parseJson(bytes)).toEqual({ ok: false, error: { kind: "BadJson", text } });
});
