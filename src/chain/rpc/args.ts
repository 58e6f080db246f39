import { parseHex } from "../../core/util/bytes.ts";
import { parseAmount } from "../money.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function wrongType(value: unknown, wanted: string): RpcError {
  return new RpcError(RPC_CODE.type, `JSON value of type ${jsonType(value)} is not of expected type ${wanted}`);
}

/** Parameters of one call, by position; every reader refuses what does not fit, as a daemon does. */
export class Args {
  readonly #values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.#values = values;
  }

  /** Absent and null mean the same. */
  has(index: number): boolean {
    return this.#values[index] !== undefined && this.#values[index] !== null;
  }

  any(index: number): unknown {
    return this.#values[index];
  }

  text(index: number, fallback?: string): string {
    if (!this.has(index) && fallback !== undefined) return fallback;
    const value = this.#values[index];
    if (typeof value !== "string") throw wrongType(value, "string");
    return value;
  }

  /** A whole number within the limits; text with digits is taken too, as old daemons do. */
  int(index: number, min: number, max: number, fallback?: number): number {
    if (!this.has(index) && fallback !== undefined) return fallback;
    const value = this.#values[index];
    const n = typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof n !== "number" || !Number.isInteger(n)) throw wrongType(value, "number");
    if (n < min || n > max) throw new RpcError(RPC_CODE.parameter, `parameter ${index + 1} out of range (${min} to ${max})`);
    return n;
  }

  bool(index: number, fallback: boolean): boolean {
    if (!this.has(index)) return fallback;
    const value = this.#values[index];
    if (typeof value === "boolean") return value;
    if (value === 0 || value === 1) return value === 1;
    throw wrongType(value, "bool");
  }

  /** Verbosity as number or as the older true/false. */
  verbosity(index: number, fallback: number): number {
    const value = this.#values[index];
    return typeof value === "boolean" ? Number(value) : this.int(index, 0, 3, fallback);
  }

  list(index: number, max: number): readonly unknown[] {
    if (!this.has(index)) return [];
    const value = this.#values[index];
    if (!Array.isArray(value)) throw wrongType(value, "array");
    if (value.length > max) throw new RpcError(RPC_CODE.parameter, `at most ${max} elements`);
    return value;
  }

  object(index: number): { readonly [key: string]: unknown } {
    const value = this.#values[index] ?? {};
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrongType(value, "object");
    return value as { readonly [key: string]: unknown };
  }

  hash(index: number, name: string): string {
    return parseHash(this.#values[index], name);
  }

  hex(index: number, code: number, message: string): Uint8Array {
    const parsed = parseHex(this.text(index));
    if (!parsed.ok) throw new RpcError(code, message);
    return parsed.value;
  }

  /** Coins, as number or text. @returns base units */
  amount(index: number): bigint {
    const parsed = parseAmount(this.#values[index]);
    if (!parsed.ok) throw new RpcError(RPC_CODE.type, "Invalid amount");
    return parsed.value;
  }
}

export function parseHash(value: unknown, name: string): string {
  if (typeof value !== "string") throw wrongType(value, "string");
  if (value.length !== 64)
    throw new RpcError(RPC_CODE.parameter, `${name} must be of length 64 (not ${value.length}, for '${value.slice(0, 80)}')`);
  if (!/^[0-9a-fA-F]*$/.test(value)) throw new RpcError(RPC_CODE.parameter, `${name} must be hexadecimal string (not '${value}')`);
  return value.toLowerCase();
}
