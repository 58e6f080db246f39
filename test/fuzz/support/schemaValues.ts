import { isSchema, type JsonSchema, propertiesOf } from "../../../scripts/rpcSchemas.ts";
import type { Pick } from "./fuzz.ts";

/** Values that fit no field, or only just; as JSON text, so that what no program would write can be written. */
const HOSTILE = [
  ...["null", "true", "[]", "{}", '""', "0", "-1", "-0", "1.0", "1.5", "1e0", "1e-999", "1e308", "1e400", "0.12345678901234567890123"],
  ...["18446744073709551615", "18446744073709551616", "-9223372036854775808", "9".repeat(400), `"${"9".repeat(2_000)}"`, '"1e999999999"'],
  ...['"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"é€😀"', '"\\"', '"a\u0001b"', "NaN", "01", "+1", "tru", "/**/1"],
  ...[
    '"__proto__"',
    '"constructor"',
    '{"__proto__":{"x":1},"constructor":2,"toString":null}',
    '{"a":1,"a":2}',
    '{"type":"All","type":"Coin"}',
  ],
  ...["[[1,[1]],[1,[0]]]", "[[1,[4294967295]],[1,[1]]]", '[[2,[1]],["1",[1]]]', '{"numer":"1","denom":"0"}', '{"numer":"-0","denom":"-1"}'],
  ...["[".repeat(127) + "]".repeat(127), "[".repeat(200), `${'{"a":'.repeat(100)}1${"}".repeat(100)}`, `[${"1,".repeat(1_500)}1]`],
  ...[`"${"x".repeat(5_000)}"`, '"../../../../etc/passwd"', '"\' OR 1=1 --"', '"%s%n"', '"<script>"'],
];

/** Keys of objects' own machinery, and near misses. */
export const ODD_KEYS = [
  ...[
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "prototype",
    "then",
    "toJSON",
    "length",
    "\\u0000",
    "",
    "Method",
  ],
  ...["__defineGetter__", "params", "id", "mmrpc", "userpass", "method"],
];

/** Texts that mean something to a node: tickers, uuids, addresses, keys, numbers. */
const KNOWN = [
  ...["DOC", "MARTY", "KMD", "WALLET", "NOSUCH", "doc"],
  ...["144ce75d-d765-4ecc-b29a-1504c99c1112", "5f2c6a2e-7a44-4b6f-9f0b-6a0d5b1c0e01", "aa2e902d-a810-4d81-aecb-202c8b037216"],
  ...["RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", "1", "0.1", "1/3", "hello", "b1".repeat(32), "0400008085202f89", "Created", "max"],
];

export const oneOf = <T>(pick: Pick, from: readonly T[]): T => from[pick(from.length)] as T;

const NUMBERS = ["0", "1", "2", "10", "500", "1795228902"];

/** How a value strays from its schema: `strange` of 16 values and keys do. */
export type Strangeness = number;

/** JSON text of a value of a schema, or of something else now and then. */
export function valueText(schema: JsonSchema, pick: Pick, strange: Strangeness, shapes: ReadonlyMap<string, JsonSchema>): string {
  const next = (part: unknown): string => valueText(isSchema(part) ? part : {}, pick, strange, shapes);
  if (pick(16) < strange) return oneOf(pick, HOSTILE);
  const name = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined;
  const named = name === undefined ? undefined : shapes.get(name);
  if (named) return next(named);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return JSON.stringify(oneOf(pick, schema.enum));
  const choices = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(choices) && choices.length > 0) return next(oneOf(pick, choices));
  switch (Array.isArray(schema.type) ? oneOf(pick, schema.type) : schema.type) {
    case "string":
      return schema.format === "uuid" ? JSON.stringify(KNOWN[6 + pick(3)]) : JSON.stringify(oneOf(pick, KNOWN));
    case "integer":
      return oneOf(pick, NUMBERS);
    case "number":
      return oneOf(pick, [...NUMBERS, "0.1", "0.333333333333333333333333333", "1e-8"]);
    case "boolean":
      return oneOf(pick, ["true", "false"]);
    case "null":
      return "null";
    case "array":
      return schema.items === undefined || "minItems" in schema
        ? oneOf(pick, ["[[1,[1]],[1,[10]]]", "[[1,[3]],[1,[1]]]", "[[0,[]],[1,[1]]]"])
        : `[${Array.from({ length: pick(4) }, () => next(schema.items)).join(",")}]`;
    case "object":
      return objectText(membersOf(schema, pick, strange, shapes));
  }
  return JSON.stringify(oneOf(pick, KNOWN));
}

export type Member = readonly [key: string, value: string];

/** Members of an object schema: all it needs, some of the others; strange ones lack a key, have one twice or an odd one. */
export function membersOf(schema: JsonSchema, pick: Pick, strange: Strangeness, shapes: ReadonlyMap<string, JsonSchema>): Member[] {
  const members: Member[] = propertiesOf(schema)
    .filter(({ required }) => required || pick(2) === 0)
    .map(({ name, schema: part }) => [name, valueText(part, pick, strange, shapes)]);
  if (pick(32) < strange) members.splice(pick(members.length + 1), 1);
  if (pick(32) < strange) members.push([oneOf(pick, ODD_KEYS), oneOf(pick, HOSTILE)]);
  const twice = pick(32) < strange ? members[0] : undefined;
  if (twice) members.push([twice[0], oneOf(pick, HOSTILE)]);
  return members;
}

/** Keys are written as they are, so that an escape in one stays an escape. */
export const objectText = (members: readonly Member[]): string => `{${members.map(([key, value]) => `"${key}":${value}`).join(",")}}`;
