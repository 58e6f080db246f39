import type { Json } from "../../../src/rpc/parseJson.ts";

/** What a value of a reply must be where it is not the same in every run. */
export type Check = {
  readonly what: string;
  readonly holds: (value: unknown) => boolean;
  /** The same with kept values put in. */
  readonly filled?: (fill: (value: Expected) => Expected) => Check;
};
/** A reply as it must be: a check where one stands, keys and elements exactly as given elsewhere. */
export type Expected = Check | null | boolean | number | string | readonly Expected[] | { readonly [key: string]: Expected };

/**
 * States a node can be in, each opened by `states.ts`. What kind of node it is:
 * `trade`: a whole node with keys, coins on chains and another whole node to trade with, in one process;
 * `kdf`: the same with `compatibility: kdf`;
 * `offline`, `keyless`: `main/compose.ts` itself, with `disable_p2p`, and without keys;
 * all others: the imitated node with the real orders service, for what would take a real one too long or cannot come about on test
 * chains: `busy` (an open order, one in a handshake, a finished swap), `full` (as many orders and bans as it holds, 1,001 swaps),
 * `slow` and `capped` (chains too slow, blocks too cheap for the amount), `raised` (the coins' least volumes have gone up since the
 * order), `unpaid` (a coin lost its dex fee key), `elsewhere` (another node trades with its key), `mute` (a kind of coin that does
 * not sign messages), `recovers` (a swap there is something to recover of), `accounts` (real coins, some of an account chain that
 * stands still), `tokens` (DOC and a token whose platform coin pays its fees).
 */
export type State =
  | "trade"
  | "kdf"
  | "offline"
  | "keyless"
  | "busy"
  | "full"
  | "slow"
  | "capped"
  | "raised"
  | "unpaid"
  | "elsewhere"
  | "mute"
  | "recovers"
  | "accounts"
  | "tokens";

type Failure = {
  /** The declared kind; `bad_params` where the parameters are refused before the method runs, `NoKeys` where it needs keys. */
  readonly error: string;
  /** Word for word. */
  readonly text: string;
  readonly type?: string;
  readonly data?: Expected;
  /** `error_path`, where it is not the method. */
  readonly path?: string;
  /** Keys beside `error` in the flat form. */
  readonly extra?: { readonly [key: string]: Expected };
};

/**
 * One request and what it must be answered. Texts `$name` in `params`, texts and replies stand for what an earlier row of the
 * state kept under that name.
 */
export type Row = {
  readonly on: State;
  readonly method: string;
  readonly style: "flat" | "v2";
  /** Why this row is there, where the reply does not say it. */
  readonly note?: string;
  /** Null: none at all, in a versioned call. */
  readonly params?: { readonly [key: string]: Json } | null;
  /** Default 200 for a result, 500 for a flat failure. A versioned failure names it. */
  readonly status?: number;
  /** Names for values of the reply, by their path below `result` (or the whole of a bare reply). */
  readonly keep?: { readonly [name: string]: string };
} & ({ readonly result: Expected } | Failure);

/** Something that happens between two rows of a state; `states.ts` knows how. */
export type Step = { readonly on: State; readonly step: string };
export type Entry = Row | Step;

const check = (what: string, holds: (value: unknown) => boolean): Check => ({ what, holds });
export const isCheck = (value: Expected): value is Check =>
  typeof value === "object" && value !== null && "holds" in value && typeof value.holds === "function";

export const A_UUID = check("a uuid", (v) => typeof v === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(v));
export const A_TIME_MS = check("unix milliseconds", (v) => Number.isSafeInteger(v) && Number(v) > 1_600_000_000_000);
export const A_TIME_SEC = check("unix seconds", (v) => Number.isSafeInteger(v) && Number(v) > 1_600_000_000 && Number(v) < 10_000_000_000);
export const A_COUNT = check("a count", (v) => Number.isSafeInteger(v) && Number(v) >= 0);
export const A_HASH = check("64 hex", (v) => typeof v === "string" && /^[0-9a-f]{64}$/.test(v));
export const A_KEY = check("a compressed key", (v) => typeof v === "string" && /^0[23][0-9a-f]{64}$/.test(v));
export const SOME_HEX = check("hex", (v) => typeof v === "string" && /^([0-9a-f]{2})+$/.test(v));
export const A_TEXT = check("a text", (v) => typeof v === "string" && v !== "");
export const A_PEER = check("a peer id", (v) => typeof v === "string" && /^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/.test(v));
/** A decimal as 3.3 of the reference writes it. */
export const A_DECIMAL = check("a decimal", (v) => typeof v === "string" && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(v));
export const ANYTHING = check("anything", (v) => v !== undefined);
type Fields = { readonly [key: string]: Expected };
/** The keys given, whatever others there are. */
export const having = (fields: Fields): Check => ({
  what: `an object with ${JSON.stringify(fields)}`,
  holds: (v) =>
    typeof v === "object" && v !== null && Object.entries(fields).every(([key, e]) => differences(e, Reflect.get(v, key), "").length === 0),
  filled: (fill) => having(fill(fields) as Fields),
});
/** Every element so. */
export const listOf = (element: Expected, least = 0): Check => ({
  what: `a list of ${least} or more ${JSON.stringify(element)}`,
  holds: (v) => Array.isArray(v) && v.length >= least && v.every((item: unknown) => differences(element, item, "").length === 0),
  filled: (fill) => listOf(fill(element), least),
});

/** A map from any name to such values, of at least one entry. */
export const mapOf = (value: Expected): Check => ({
  what: `a map of ${JSON.stringify(value)}`,
  holds: (v) => typeof v === "object" && v !== null && Object.keys(v).length > 0 && listOf(value).holds(Object.values(v)),
  filled: (fill) => mapOf(fill(value)),
});

type Limbs = readonly [sign: number, words: readonly number[]];
const limbs = (n: bigint): Limbs => {
  const words: number[] = [];
  for (let rest = n < 0n ? -n : n; rest > 0n; rest >>= 32n) words.push(Number(rest & 0xffff_ffffn));
  return [n === 0n ? 0 : n < 0n ? -1 : 1, words];
};
/** The forms of one number (reference rpc.md 3.2, 3.4), written down by hand: `decimal` is not worked out from the fraction. */
export const pair = (name: string, decimal: string, numer: bigint, denom: bigint): { readonly [key: string]: Expected } => ({
  [name]: decimal,
  [`${name}_rat`]: [limbs(numer), limbs(denom)],
});
export const triple = (name: string, decimal: string, numer: bigint, denom: bigint): { readonly [key: string]: Expected } => ({
  ...pair(name, decimal, numer, denom),
  [`${name}_fraction`]: { numer: String(numer), denom: String(denom) },
});
export const detail = (decimal: string, numer: bigint, denom: bigint): Expected => ({
  decimal,
  rational: [limbs(numer), limbs(denom)],
  fraction: { numer: String(numer), denom: String(denom) },
});
/** A number of which only the form is known. */
export const anyPair = (name: string): { readonly [key: string]: Expected } => ({ [name]: A_DECIMAL, [`${name}_rat`]: ANYTHING });
export const anyTriple = (name: string): { readonly [key: string]: Expected } => ({
  ...anyPair(name),
  [`${name}_fraction`]: { numer: A_TEXT, denom: A_TEXT },
});
export const anyDetail: Expected = { decimal: A_DECIMAL, rational: ANYTHING, fraction: { numer: A_TEXT, denom: A_TEXT } };

/** Where a reply is not as it must be, a line each; empty when it is. */
export function differences(expected: Expected, actual: unknown, at: string): readonly string[] {
  const said = `${at || "reply"}: ${JSON.stringify(actual)}`;
  if (isCheck(expected)) return expected.holds(actual) ? [] : [`${said} is not ${expected.what}`];
  if (typeof expected !== "object" || expected === null) return expected === actual ? [] : [`${said}, wanted ${JSON.stringify(expected)}`];
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return [`${said}, wanted a list of ${expected.length}`];
    return expected.flatMap((e: Expected, i) => differences(e, actual[i], `${at}[${i}]`));
  }
  if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return [`${said}, wanted an object`];
  const wanted = Object.entries(expected) as readonly (readonly [string, Expected])[];
  const extra = Object.keys(actual).filter((key) => !wanted.some(([name]) => name === key));
  return [
    ...extra.map((key) => `${at}.${key} is there, and none is wanted`),
    ...wanted.flatMap(([key, e]) => differences(e, Reflect.get(actual, key), `${at}.${key}`)),
  ];
}
