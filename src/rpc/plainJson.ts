import { JsonNumber } from "./jsonNumber.ts";

/** A value of a request as `JSON.parse` alone would have it: numbers as doubles, for what is stored as JSON again. */
export function plainJson(value: unknown): unknown {
  if (value instanceof JsonNumber) return Number(value.source);
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plainJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, plainJson(v)]));
}
