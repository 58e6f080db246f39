import { z } from "zod";
import { err, ok, type Result } from "../core/util/result.ts";
import { cut, MISSING, wrongType, wrongValue } from "./serdeText.ts";

/** Reads one JSON value; the error is the final text of the reply. Never called with `undefined`. */
export type Read<T> = (value: unknown) => Result<T, string>;
/** JSON Schema of the accepted input, for the generated documents. */
export type InputSchema = { readonly [key: string]: unknown };

function run<T>(read: Read<T>, value: unknown, ctx: z.core.ParsePayload, absent = MISSING): T {
  const parsed = value === undefined ? err(absent) : read(value);
  if (parsed.ok) return parsed.value;
  ctx.issues.push({ code: "custom", message: parsed.error, input: value });
  return z.NEVER;
}

/**
 * Required key.
 * @param absent text for a missing key, where it is not serde's
 */
export const required = <T>(read: Read<T>, schema: InputSchema, absent?: string) =>
  z
    .unknown()
    .transform((value, ctx): T => run(read, value, ctx, absent))
    .meta(schema);

/** Key that may be absent or null, both meaning "not given". */
export const optional = <T>(read: Read<T>, schema: InputSchema) =>
  z
    .unknown()
    .optional()
    .transform((value, ctx): T | undefined => (value === undefined || value === null ? undefined : run(read, value, ctx)))
    .meta(schema);

/** Key with a default. An explicit null is refused like any wrong type (reference rpc.md 3.1, 4.4). */
export const defaulted = <T>(read: Read<T>, fallback: T, schema: InputSchema) =>
  z
    .unknown()
    .optional()
    .transform((value, ctx): T => (value === undefined ? fallback : run(read, value, ctx)))
    .meta(schema);

export const readString: Read<string> = (v) => (typeof v === "string" ? ok(v) : err(wrongType(v, "a string")));
export const readBool: Read<boolean> = (v) => (typeof v === "boolean" ? ok(v) : err(wrongType(v, "a boolean")));

/** Unsigned integer of a named width. Values from 2^53 on are refused: no field of ours means anything up there. */
const readUnsigned =
  (name: "u16" | "u32" | "u64" | "usize", max = Number.MAX_SAFE_INTEGER): Read<number> =>
  (v) => {
    if (typeof v !== "bigint" && (typeof v !== "number" || !Number.isInteger(v))) return err(wrongType(v, name));
    return v >= 0 && v <= max ? ok(Number(v)) : err(wrongValue(v, name));
  };
export const readU16 = readUnsigned("u16", 0xffff);
export const readU32 = readUnsigned("u32", 0xffff_ffff);
export const readU64 = readUnsigned("u64");
export const readUsize = readUnsigned("usize");

/** Page numbers start at 1. */
export const readNonZero: Read<number> = (v) => {
  const read = readUsize(v);
  if (read.ok && read.value > 0) return read;
  return err(typeof v === "number" || typeof v === "bigint" ? wrongValue(v, "a nonzero usize") : wrongType(v, "a nonzero usize"));
};

/** The hyphenated form may stand behind `urn:uuid:` or in braces. */
const WRAPPED_UUIDS = [/^urn:uuid:([^{}]{36})$/, /^\{([^{}]{36})\}$/];

/** A uuid in lower-case hyphenated text; the other forms the reference parser takes are read too: without hyphens, as a URN, in braces. */
export const readUuid: Read<string> = (v) => {
  if (typeof v !== "string") return err(wrongType(v, "a UUID string"));
  const hex = WRAPPED_UUIDS.reduce((text, form) => form.exec(text)?.[1] ?? text, v).toLowerCase();
  if (/^[0-9a-f]{32}$/.test(hex)) return ok(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"));
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(hex)) return ok(hex);
  return err(`UUID parsing failed: ${uuidFault(v)}`);
};

function uuidFault(text: string): string {
  const odd = /[^0-9a-fA-F-]/u.exec(text);
  if (odd) {
    return `invalid character: expected an optional prefix of \`urn:uuid:\` followed by [0-9a-fA-F-], found \`${odd[0]}\` at ${odd.index + 1}`;
  }
  const groups = text.split("-").length;
  if (groups === 1) return `invalid length: expected length 32 for simple format, found ${text.length}`;
  if (groups !== 5) return `invalid group count: expected 5, found ${groups}`;
  const lengths = [8, 4, 4, 4, 12];
  const wrong = text.split("-").findIndex((g, i) => g.length !== lengths[i]);
  return `invalid group length in group ${wrong}: expected ${lengths[wrong]}, found ${text.split("-")[wrong]?.length}`;
}

/** 32-byte X coordinate in hex, lower case on the way in. */
export const readPubkeyX: Read<string> = (v) => {
  if (typeof v !== "string") return err(wrongType(v, "a hash string"));
  return /^[0-9a-fA-F]{64}$/.test(v) ? ok(v.toLowerCase()) : err(wrongValue(v, "a hash string"));
};

/** Most elements of a list in a request. */
export const MAX_LIST = 1_000;

export const readList =
  <T>(read: Read<T>): Read<readonly T[]> =>
  (v) => {
    if (!Array.isArray(v)) return err(wrongType(v, "a sequence"));
    if (v.length > MAX_LIST) return err(`a list may have at most ${MAX_LIST} elements, found ${v.length}`);
    const items: T[] = [];
    for (const element of v) {
      const item = read(element);
      if (!item.ok) return item;
      items.push(item.value);
    }
    return ok(items);
  };

/** Fields shared by many methods. */
export const text = (): ReturnType<typeof required<string>> => required(readString, { type: "string" });
/** A coin's ticker. One too long for a text is no coin's: it is kept as errors repeat it. */
export const ticker = () =>
  required<string>((v) => (typeof v === "string" ? ok(cut(v)) : err(wrongType(v, "a string"))), { type: "string" });
export const optionalText = () => optional(readString, { type: "string" });
export const flag = (fallback: boolean) => defaulted(readBool, fallback, { type: "boolean", default: fallback });
export const optionalFlag = () => optional(readBool, { type: "boolean" });
export const optionalCount = () => optional(readU64, { type: "integer", minimum: 0 });
export const uuid = () => required(readUuid, { type: "string", format: "uuid" });

const NO_COIN = "No 'coin' field";

/** `coin` of the older one-coin methods, which look the key up by hand (reference rpc.md section 10). */
export const legacyCoin = () => required((v) => (typeof v === "string" ? ok(cut(v)) : err(NO_COIN)), { type: "string" }, NO_COIN);
