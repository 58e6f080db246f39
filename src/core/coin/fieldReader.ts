import { err, type Result } from "../util/result.ts";

/** Longest text read from one field of a coins-file entry. */
const MAX_TEXT = 1_000;

export type BadField = { readonly field: string; readonly detail: string };

/**
 * Reads fields of one untrusted object; null counts as absent. The first wrong field is kept in `problem` and the
 * reader's answer is then worthless, so look once at the end.
 */
export class FieldReader {
  problem: BadField | null = null;
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.#fields = fields;
  }

  fail(field: string, detail: string): null {
    this.problem ??= { field, detail };
    return null;
  }

  #get(field: string): unknown {
    return Object.hasOwn(this.#fields, field) ? (this.#fields[field] ?? null) : null;
  }

  text(field: string): string | null {
    const v = this.#get(field);
    if (v === null) return null;
    if (typeof v !== "string") return this.fail(field, "must be a text");
    return v.length <= MAX_TEXT ? v : this.fail(field, `longer than ${MAX_TEXT} characters`);
  }

  /** A whole number from 0 to `max`. */
  uint(field: string, max = Number.MAX_SAFE_INTEGER): number | null {
    const v = this.#get(field);
    if (v === null) return null;
    if (typeof v !== "number" || !Number.isSafeInteger(v) || v < 0 || v > max)
      return this.fail(field, `must be a whole number from 0 to ${max}`);
    return v;
  }

  /** A finite number that is no amount of money: seconds, percent. */
  quantity(field: string): number | null {
    const v = this.#get(field);
    if (v === null) return null;
    return typeof v === "number" && Number.isFinite(v) && v >= 0 ? v : this.fail(field, "must be a number, 0 or more");
  }

  /** `true`, `false`, 1 or 0; absent is false. */
  flag(field: string): boolean {
    const v = this.#get(field);
    if (v === null || v === false || v === 0) return false;
    if (v === true || v === 1) return true;
    this.fail(field, "must be true or false");
    return false;
  }

  /** A u32 as number or `0x` hex text. */
  word(field: string): number | null {
    const v = this.#get(field);
    if (typeof v !== "string") return this.uint(field, 0xffffffff);
    return /^0x[0-9a-fA-F]{1,8}$/.test(v) ? Number.parseInt(v.slice(2), 16) : this.fail(field, "must be a number or 0x hex text");
  }

  object(field: string): Readonly<Record<string, unknown>> | null {
    const v = this.#get(field);
    if (v === null) return null;
    return isRecord(v) ? v : this.fail(field, "must be an object");
  }

  /** A decimal of any size, as text or number. */
  decimalText(field: string): string | null {
    const v = this.#get(field);
    return typeof v === "number" ? String(v) : this.text(field);
  }
}

export function isRecord(v: unknown): v is Readonly<Record<string, unknown>> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

export function badEntry<K extends string>(
  kind: K,
  coin: string | null,
  problem: BadField,
): Result<never, { kind: K; coin: string | null } & BadField> {
  return err({ kind, coin, ...problem });
}
