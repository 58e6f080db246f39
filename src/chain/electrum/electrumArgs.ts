import { badRequest } from "./electrumError.ts";

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? null)).slice(0, 100);

/** Parameters of one call by position; each reader refuses what does not fit in ElectrumX's words. */
export class ElectrumArgs {
  readonly #values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.#values = values;
  }

  any(index: number): unknown {
    return this.#values[index];
  }

  /** A script's name, 64 digits. */
  scriptHash(index: number): string {
    return this.#hash(index, "is not a valid script hash");
  }

  txid(index: number): string {
    return this.#hash(index, "should be a transaction hash");
  }

  #hash(index: number, problem: string): string {
    const value = this.#values[index];
    if (typeof value !== "string" || !/^[0-9a-fA-F]{64}$/.test(value)) throw badRequest(`${shown(value)} ${problem}`);
    return value.toLowerCase();
  }

  /** A whole number from 0 on. */
  count(index: number, fallback?: number): number {
    const value = this.#values[index] ?? fallback;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
      throw badRequest(`${shown(value)} should be a non-negative integer`);
    }
    return value;
  }

  flag(index: number): boolean {
    const value = this.#values[index] ?? false;
    if (typeof value !== "boolean") throw badRequest(`${shown(value)} should be a boolean value`);
    return value;
  }

  text(index: number): string {
    const value = this.#values[index];
    if (typeof value !== "string") throw badRequest(`${shown(value)} should be a string`);
    return value;
  }
}
