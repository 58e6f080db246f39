import type { FaultLimits } from "../faultList.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";

/** An object that asks for a fault, from outside. */
export type Fields = { readonly [key: string]: unknown };

/** Longest delay or stall asked for, ms, and most uses. */
export const MAX_MS = 86_400_000;
export const MAX_COUNT = 1_000_000;
const MAX_NAMES = 100;

export const bad = (text: string): RpcError => new RpcError(RPC_CODE.parameter, text);

export function whole(fields: Fields, key: string, min: number, max: number, fallback: number | null = null): number {
  const value = fields[key] ?? fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max)
    throw bad(`${key} must be a whole number from ${min} to ${max}`);
  return value;
}

const optional = (fields: Fields, key: string, max: number): number | null => (fields[key] == null ? null : whole(fields, key, 1, max));

export function names(fields: Fields, key: string, fallback: readonly string[] | null): readonly string[] | null {
  const value = fields[key];
  if (value == null) return fallback;
  const list = Array.isArray(value) ? value : [value];
  if (list.length > MAX_NAMES || !list.every((v): v is string => typeof v === "string"))
    throw bad(`${key} must be up to ${MAX_NAMES} names`);
  return list;
}

/** The fields every lasting fault has. */
export const limitsOf = (fields: Fields): FaultLimits => ({
  methods: names(fields, "methods", null),
  count: optional(fields, "count", MAX_COUNT),
  forMs: optional(fields, "forMs", MAX_MS),
});

/** A text of up to 1000 characters. */
export function text(fields: Fields, key: string, fallback?: string): string {
  const value = fields[key] ?? fallback;
  if (typeof value !== "string" || value.length > 1_000) throw bad(`${key} must be a text`);
  return value;
}
