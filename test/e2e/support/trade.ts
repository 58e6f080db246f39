import { expect } from "vitest";
import { add, cmp, decimal, mul, type Rational, sub, toDecimalString, ZERO } from "../../../src/core/money/rational.ts";
import { type DevNode, until } from "../../../src/devnet/devnet.ts";

/** What the tests read of a `my_swap_status` answer. */
export type SwapStatus = {
  readonly type: "Maker" | "Taker";
  readonly events: readonly { readonly timestamp: number; readonly event: { readonly type: string; readonly data?: unknown } }[];
  readonly is_finished: boolean;
  readonly is_success?: boolean;
  readonly swapnode: { readonly outcome: string | null };
};

/** One trade: the maker sells `volume` of `base` at `price` rel each; the taker takes `taken` of it. */
export type Trade = {
  readonly base: string;
  readonly rel: string;
  readonly price: string;
  readonly volume: string;
  readonly taken: string;
  /** How the taker asks for it. `sell`: the taker sells the maker's rel. */
  readonly by: "buy" | "sell";
};

/** Swaps of these tests need a handful of blocks; a loaded machine may take long for each. */
const SWAP_MS = 180_000;

export async function swapStatus(node: DevNode, uuid: string): Promise<SwapStatus> {
  return (await node.rpc.call("my_swap_status", { params: { uuid } })).result as SwapStatus;
}

/** Places the maker's order, waits until the taker sees it, and takes it. @returns the swap's uuid */
export async function match(maker: DevNode, taker: DevNode, t: Trade): Promise<string> {
  await maker.rpc.call("setprice", { base: t.base, rel: t.rel, price: t.price, volume: t.volume });
  await until("the taker sees the order", async () => {
    const book = await taker.rpc.call("orderbook", { base: t.base, rel: t.rel });
    return Number(book.numasks) > 0 ? true : null;
  });
  return take(taker, t);
}

/** Takes from the order book. `sell` states the same trade from the other side: base and rel change places, the price turns over. */
export async function take(taker: DevNode, t: Trade): Promise<string> {
  const price = decimal(t.price);
  const request =
    t.by === "buy"
      ? { base: t.base, rel: t.rel, price: t.price, volume: t.taken }
      : { base: t.rel, rel: t.base, price: { numer: String(price.d), denom: String(price.n) }, volume: paid(t) };
  const { result } = await taker.rpc.call(t.by, request);
  return (result as { uuid: string }).uuid;
}

/** What the taker pays the maker. */
export const paid = (t: Trade): string => toDecimalString(mul(decimal(t.price), decimal(t.taken)));

/** Both sides have come to an end. */
export function ended(
  maker: DevNode,
  taker: DevNode,
  uuid: string,
  timeoutMs = SWAP_MS,
): Promise<{ maker: SwapStatus; taker: SwapStatus }> {
  return until(
    "the swap ends on both sides",
    async () => {
      const [m, t] = [await swapStatus(maker, uuid), await swapStatus(taker, uuid)];
      return m.is_finished && t.is_finished ? { maker: m, taker: t } : null;
    },
    timeoutMs,
  );
}

/** A swap that was begun: who trades, and what both had before. */
export type Begun = {
  readonly maker: DevNode;
  readonly taker: DevNode;
  readonly trade: Trade;
  readonly before: Sides;
  readonly uuid: string;
};

/** Fails unless the swap ends well on both sides, and nothing but the trade and fees of at most `minerFees` has changed hands. */
export async function expectEndedWell({ maker, taker, trade, before, uuid }: Begun, minerFees?: string): Promise<void> {
  const done = await ended(maker, taker, uuid);
  expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
  expectTraded(trade, before, await sidesOf(maker, taker, [...before.maker.keys()]), minerFees);
}

/** One trade from the maker's order to its end. */
export async function expectTradedWell(maker: DevNode, taker: DevNode, trade: Trade, coins: readonly string[]): Promise<void> {
  const before = await sidesOf(maker, taker, coins);
  await expectEndedWell({ maker, taker, trade, before, uuid: await match(maker, taker, trade) });
  await maker.rpc.call("cancel_all_orders", { cancel_by: { type: "All" } });
}

/** One side has come to an end. */
export function endedAt(node: DevNode, uuid: string, timeoutMs = SWAP_MS): Promise<SwapStatus> {
  return until(
    `the swap ends for ${node.name}`,
    async () => {
      const status = await swapStatus(node, uuid);
      return status.is_finished ? status : null;
    },
    timeoutMs,
  );
}

/** Everything a node has of some coins, spendable or not. */
export type Wealth = ReadonlyMap<string, Rational>;

export async function wealthOf(node: DevNode, coins: readonly string[]): Promise<Wealth> {
  const wealth = new Map<string, Rational>();
  for (const coin of coins) {
    const { balance, unspendable_balance } = await node.rpc.call("my_balance", { coin });
    wealth.set(coin, add(decimal(String(balance)), decimal(String(unspendable_balance))));
  }
  return wealth;
}

/** Fails unless a coin's balance changed by `change`, less at most `cost`. */
export function expectChange(who: string, coin: string, before: Wealth, after: Wealth, change: string, cost: string): void {
  const [then, now] = [before.get(coin), after.get(coin)];
  if (!then || !now) throw new Error(`${who} has no ${coin}`);
  const by = sub(now, then);
  const wanted = change.startsWith("-") ? sub(ZERO, decimal(change.slice(1))) : decimal(change);
  const fits = cmp(by, wanted) <= 0 && cmp(by, sub(wanted, decimal(cost))) >= 0;
  expect(fits, `${who}: ${coin} changed by ${toDecimalString(by)}, wanted ${toDecimalString(wanted)} less at most ${cost}`).toBe(true);
}

/**
 * Most that the miners get of a payment which is taken back, a fiftieth and a tenth of it (`feeCap`). Locks of seconds leave so little time that fees
 * come near it where the machine is slow.
 */
export const mostForRefund = (payment: string): string => toDecimalString(mul(decimal(payment), decimal("0.12")));

/** What a finished swap must have done to both sides: the coins changed hands, and nothing but fees is missing. */
export function expectTraded(t: Trade, before: Sides, after: Sides, minerFees = "0.002"): void {
  const pays = paid(t);
  // The taker's dex fee is 1/777 of what it pays, at least 0.0001.
  const takerFees = toDecimalString(add(add(mul(decimal(pays), { n: 1n, d: 777n }), decimal("0.0001")), decimal(minerFees)));
  expectChange("the maker", t.base, before.maker, after.maker, `-${t.taken}`, minerFees);
  expectChange("the maker", t.rel, before.maker, after.maker, pays, minerFees);
  expectChange("the taker", t.base, before.taker, after.taker, t.taken, minerFees);
  expectChange("the taker", t.rel, before.taker, after.taker, `-${pays}`, takerFees);
}

export type Sides = { readonly maker: Wealth; readonly taker: Wealth };

export async function sidesOf(maker: DevNode, taker: DevNode, coins: readonly string[]): Promise<Sides> {
  return { maker: await wealthOf(maker, coins), taker: await wealthOf(taker, coins) };
}
