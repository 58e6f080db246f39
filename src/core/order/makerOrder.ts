import type { ConfSettings, MakerReserved, TakerRequest } from "../message/types.ts";
import { add, gt, lt, type Rational, sub, ZERO } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";

/** A match without `connect` is dropped this long after it was reserved (reference rpc.md 6.1). */
export const MATCH_LIFE_MS = 30_000;
/** Bound on the entries one order holds, connected ones included until `forgetSettled`. */
const MAX_MATCHES_PER_ORDER = 1_000;
/** With this many entries the settled ones are let go, down to so many. The order is stored whole with each new match. */
const FORGET_FROM = 200;
const KEPT_MATCHES = 100;
/** Swaps of an order that are listed, the latest. */
const MAX_STARTED = 1_000;
/** Denominators of the volume an order is cut to when it forgets; matches that would make it finer stay. */
const FINEST_CUT = 1n << 512n;
/**
 * The volume left keeps a denominator below this. Each taker may bring another odd denominator, and they multiply:
 * without a bound a hundred requests would stop the node for a minute.
 */
const FINEST_REST = 1n << 2_048n;

/** One answered request. It holds `reserved.baseAmount` of the order until dropped; connected matches are never dropped. */
export type MakerMatch = {
  readonly request: TakerRequest;
  /** Envelope key of the taker, 66 hex. */
  readonly taker: string;
  readonly reserved: MakerReserved;
  readonly reservedAtMs: number;
  /** When the taker's `connect` was accepted; null while the match is half-open. */
  readonly connectedAtMs: number | null;
};

/** Own order on the book: sells up to `maxBaseVol` of `base` at `price` rel per base. Times unix ms, volumes whole base coins. */
export type MakerOrder = {
  readonly uuid: string;
  /** Tickers of own coins. */
  readonly base: string;
  readonly rel: string;
  readonly baseOrderbookTicker: string | null;
  readonly relOrderbookTicker: string | null;
  readonly price: Rational;
  /** Everything the order may sell, volumes of the matches it holds included. */
  readonly maxBaseVol: Rational;
  readonly minBaseVol: Rational;
  readonly conf: ConfSettings;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** `timeout_in_minutes` of setprice, from creation on; null: does not expire. */
  readonly timeoutMinutes: number | null;
  readonly saveInHistory: boolean;
  /** Keyed by the taker request's uuid. */
  readonly matches: ReadonlyMap<string, MakerMatch>;
  /** Taker uuids in the order their swaps began. */
  readonly startedSwaps: readonly string[];
};

export type MakerEndReason = "Fulfilled" | "InsufficientBalance" | "Cancelled" | "Expired";

export type NewMakerOrder = Omit<MakerOrder, "updatedAtMs" | "matches" | "startedSwaps">;

export function createMakerOrder(order: NewMakerOrder): MakerOrder {
  return { ...order, updatedAtMs: order.createdAtMs, matches: new Map(), startedSwaps: [] };
}

/** Ticker the book and the wire know the order's base by. */
export const makerBaseTicker = (order: MakerOrder): string => order.baseOrderbookTicker ?? order.base;
export const makerRelTicker = (order: MakerOrder): string => order.relOrderbookTicker ?? order.rel;

/** Sums known already: a set of matches never changes, and adding up a thousand odd fractions is slow. */
const knownSums = new WeakMap<ReadonlyMap<string, MakerMatch>, Rational>();

/** Base volume taken by all matches, half-open and connected. */
export function reservedVolume({ matches }: MakerOrder): Rational {
  let sum = knownSums.get(matches);
  if (sum === undefined) {
    sum = ZERO;
    for (const match of matches.values()) sum = add(sum, match.reserved.baseAmount);
    knownSums.set(matches, sum);
  }
  return sum;
}

/** What the order can still sell. Never negative. */
export const availableVolume = (order: MakerOrder): Rational => sub(order.maxBaseVol, reservedVolume(order));

const isHalfOpen = (match: MakerMatch): boolean => match.connectedAtMs === null;

/** Known already, like the sums: asked several times a second for as long as an order stands. */
const knownHalfMatched = new WeakMap<ReadonlyMap<string, MakerMatch>, boolean>();

/** True while a request was answered and its taker has neither connected nor run out of time. */
export function isHalfMatched({ matches }: MakerOrder): boolean {
  let is = knownHalfMatched.get(matches);
  if (is === undefined) {
    is = [...matches.values()].some(isHalfOpen);
    knownHalfMatched.set(matches, is);
  }
  return is;
}

/** The order with other matches that hold `reserved` in all. */
function withMatches(order: MakerOrder, matches: ReadonlyMap<string, MakerMatch>, reserved: Rational): MakerOrder {
  knownSums.set(matches, reserved);
  return { ...order, matches };
}

export type ReserveRefusal = "AlreadyMatched" | "NotPositive" | "BelowMinimum" | "AboveAvailable" | "TooFine" | "TooManyMatches";

/** Takes the match's base amount out of what is available. The one place where volume is given away. */
export function reserveMatch(order: MakerOrder, match: MakerMatch): Result<MakerOrder, ReserveRefusal> {
  const { takerOrderUuid, baseAmount, relAmount } = match.reserved;
  if (order.matches.has(takerOrderUuid)) return err("AlreadyMatched");
  if (order.matches.size >= MAX_MATCHES_PER_ORDER) return err("TooManyMatches");
  if (!gt(baseAmount, ZERO) || !gt(relAmount, ZERO)) return err("NotPositive");
  if (lt(baseAmount, order.minBaseVol)) return err("BelowMinimum");
  if (gt(baseAmount, availableVolume(order))) return err("AboveAvailable");
  const reserved = add(reservedVolume(order), baseAmount);
  if (reserved.d >= FINEST_REST) return err("TooFine");
  return ok(withMatches(order, new Map(order.matches).set(takerOrderUuid, match), reserved));
}

export type ConnectRefusal = "NoMatch" | "NotTheTaker" | "AlreadyConnected" | "TooLate";

/** The taker's `connect`. `sender`: envelope key, 66 hex. */
export function connectMatch(order: MakerOrder, takerUuid: string, sender: string, nowMs: number): Result<MakerOrder, ConnectRefusal> {
  const match = order.matches.get(takerUuid);
  if (!match) return err("NoMatch");
  if (match.taker !== sender) return err("NotTheTaker");
  if (!isHalfOpen(match)) return err("AlreadyConnected");
  if (nowMs - match.reservedAtMs > MATCH_LIFE_MS) return err("TooLate");
  const matches = new Map(order.matches).set(takerUuid, { ...match, connectedAtMs: nowMs });
  const connected = withMatches(order, matches, reservedVolume(order));
  return ok({ ...connected, startedSwaps: [...order.startedSwaps, takerUuid] });
}

/** Gives a match's volume back: its handshake failed, or its swap was never stored and so cannot run. */
export function dropMatch(order: MakerOrder, takerUuid: string): MakerOrder {
  const match = order.matches.get(takerUuid);
  if (!match) return order;
  const matches = new Map(order.matches);
  matches.delete(takerUuid);
  const dropped = withMatches(order, matches, sub(reservedVolume(order), match.reserved.baseAmount));
  return { ...dropped, startedSwaps: order.startedSwaps.filter((uuid) => uuid !== takerUuid) };
}

/**
 * The order without its oldest matches whose swaps are none of its business any more; what they took is taken off its volume, so
 * that what it can still sell stays the same. KDF keeps all for the life of the order: each match makes the next one slower.
 *
 * @param isSettled of a connected match: its swap runs on its own, and its volume will not come back
 */
export function forgetSettled(order: MakerOrder, isSettled: (takerUuid: string, match: MakerMatch) => boolean): MakerOrder {
  if (order.matches.size < FORGET_FROM) return order;
  const matches = new Map(order.matches);
  let [maxBaseVol, reserved] = [order.maxBaseVol, reservedVolume(order)];
  for (const [uuid, match] of order.matches) {
    if (matches.size <= KEPT_MATCHES) break;
    if (isHalfOpen(match) || !isSettled(uuid, match)) continue;
    const cut = sub(maxBaseVol, match.reserved.baseAmount);
    if (cut.d >= FINEST_CUT) continue;
    matches.delete(uuid);
    maxBaseVol = cut;
    reserved = sub(reserved, match.reserved.baseAmount);
  }
  if (matches.size === order.matches.size) return order;
  return { ...withMatches(order, matches, reserved), maxBaseVol, startedSwaps: order.startedSwaps.slice(-MAX_STARTED) };
}

/** Half-open matches whose time is over, oldest first; one of far ahead means that the clock was set back. */
export function staleMatches(order: MakerOrder, nowMs: number): readonly string[] {
  const stale: string[] = [];
  for (const [uuid, match] of order.matches)
    if (isHalfOpen(match) && Math.abs(nowMs - match.reservedAtMs) > MATCH_LIFE_MS) stale.push(uuid);
  return stale;
}

/**
 * Fits the order to `funds`, the greatest payment the base coin could make now. Never grows it
 * (reference rpc.md 6.6). `null`: funds are below the order's minimum, the order must end.
 */
export function shrinkToFunds(order: MakerOrder, funds: Rational): MakerOrder | null {
  if (lt(funds, order.minBaseVol)) return null;
  const reserved = reservedVolume(order);
  if (!lt(funds, sub(order.maxBaseVol, reserved))) return order;
  return { ...order, maxBaseVol: add(reserved, funds) };
}

/** Whether an order has nothing left to sell; an order never changes, another takes its place. */
const knownOver = new WeakMap<MakerOrder, boolean>();

/** Why the order must be removed now, or null. Expiry does not wait for an open handshake; the rest does (reference rpc.md 6.4). */
export function makerEndReason(order: MakerOrder, nowMs: number): MakerEndReason | null {
  if (order.timeoutMinutes !== null && nowMs - order.createdAtMs >= order.timeoutMinutes * 60_000) return "Expired";
  let isOver = knownOver.get(order);
  if (isOver === undefined) {
    isOver = !isHalfMatched(order) && lt(availableVolume(order), order.minBaseVol);
    knownOver.set(order, isOver);
  }
  if (!isOver) return null;
  return order.matches.size > 0 ? "Fulfilled" : "InsufficientBalance";
}

/**
 * The order as it continues after a restart: handshakes that were half-open are over, a connected match whose swap
 * was never stored is given back (its taker was never told `connected`).
 *
 * @param swapStored whether a swap with this uuid was ever stored
 */
export function resumeMakerOrder(order: MakerOrder, swapStored: (uuid: string) => boolean): MakerOrder {
  let resumed = order;
  for (const [uuid, match] of order.matches) if (isHalfOpen(match) || !swapStored(uuid)) resumed = dropMatch(resumed, uuid);
  return resumed;
}
