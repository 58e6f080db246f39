import type { z } from "zod";
import { parseDecimal, toDecimalString } from "../core/money/rational.ts";
import { isJsonObject, JsonNumber } from "./jsonNumber.ts";

/**
 * Wording of parse errors. Clients of KDF match on these texts (reference rpc.md 1.8, 4.1 row 1), so a wrong type or a
 * missing key reads the same here.
 */

/** Marks "the key is absent" in a schema's message; `issueText` puts the name in. */
export const MISSING = "missing field";

/** How the parser names what it found. */
export function found(value: unknown): string {
  switch (typeof value) {
    case "boolean":
      return `boolean \`${value}\``;
    case "bigint":
      return `integer \`${value}\``;
    case "number":
      return Number.isInteger(value) ? `integer \`${value}\`` : `floating point \`${value}\``;
    case "string":
      return `string ${quoted(value)}`;
    default:
      if (value instanceof JsonNumber) return `floating point \`${floatText(value.source)}\``;
      return value === null || value === undefined ? "null" : Array.isArray(value) ? "sequence" : "map";
  }
}

/** The parser writes such a number without an exponent and always with a point: `1e0` reads `1.0`, `-0` reads `-0.0`. */
function floatText(source: string): string {
  const parsed = parseDecimal(source);
  if (!parsed.ok) return cut(source);
  const text = toDecimalString(parsed.value);
  const signed = text === "0" && source.startsWith("-") ? "-0" : text;
  return cut(signed.includes(".") ? signed : `${signed}.0`);
}

/** Longest piece of input repeated in an error text. */
export const MAX_ECHO = 200;

/** Never in the middle of a character: half a pair is no text, and clients could not read the reply. */
export function cut(text: string): string {
  if (text.length <= MAX_ECHO) return text;
  const endsInPair = /[\ud800-\udbff]/.test(text[MAX_ECHO - 1] ?? "");
  return `${text.slice(0, endsInPair ? MAX_ECHO - 1 : MAX_ECHO)}…`;
}
const quoted = (value: string): string => JSON.stringify(cut(value));

/** Compact JSON of the input, numbers as they were written, cut to a readable length, for texts that repeat it. */
export const rawJson = (value: unknown): string => cut(compact(value));

function compact(value: unknown): string {
  if (value instanceof JsonNumber) return value.source;
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(compact).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value)
    .map(([key, v]) => `${JSON.stringify(key)}:${compact(v)}`)
    .join(",")}}`;
}

export const wrongType = (value: unknown, expected: string): string => `invalid type: ${found(value)}, expected ${expected}`;
export const wrongValue = (value: unknown, expected: string): string => `invalid value: ${found(value)}, expected ${expected}`;

/** ``unknown variant `X`, expected one of `A`, `B` ``; two variants are joined by "or", one stands alone. */
export function unknownVariant(value: string, variants: readonly string[]): string {
  const names = variants.map((v) => `\`${v}\``);
  const list = names.length === 1 ? names[0] : names.length === 2 ? names.join(" or ") : `one of ${names.join(", ")}`;
  return `unknown variant \`${cut(value)}\`, expected ${list}`;
}

/**
 * The one text shown for a failed parse: the first wrong value, else the first missing key. In that order because the
 * reference parser visits the keys that are there before it looks for those that are not.
 */
export function issueText(issues: readonly z.core.$ZodIssue[]): string {
  const wrong = issues.find((i) => i.message !== MISSING);
  if (wrong) return wrong.message;
  const missing = issues[0];
  return missing ? `${MISSING} \`${String(missing.path.at(-1))}\`` : "invalid request";
}
