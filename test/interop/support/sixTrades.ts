import { expect } from "vitest";
import { decimal, mul, toDecimalString } from "../../../src/core/money/rational.ts";
import type { DevNode } from "../../../src/devnet/devnet.ts";
import { ended, expectChange, match, type Sides, sidesOf, type Trade } from "../../e2e/support/trade.ts";
import { ETH, TOKEN, UTXO } from "./accountNetwork.ts";

export const ALL = [UTXO, ETH, TOKEN];
/** Every fee of all six swaps in one coin: a token's are paid in ETH, but for the dex fees. */
const FEES = { [UTXO]: "0.01", [ETH]: "0.05", [TOKEN]: "0.02" };

/** Every ordered pair; no two amounts alike, so that sums tell which of them moved. */
const TRADES: readonly Trade[] = [
  { base: UTXO, rel: ETH, price: "0.5", volume: "2", taken: "2", by: "buy" },
  { base: ETH, rel: UTXO, price: "0.25", volume: "8", taken: "8", by: "sell" },
  { base: UTXO, rel: TOKEN, price: "3", volume: "1", taken: "1", by: "sell" },
  { base: TOKEN, rel: UTXO, price: "0.2", volume: "20", taken: "20", by: "buy" },
  { base: TOKEN, rel: ETH, price: "0.3", volume: "10", taken: "10", by: "sell" },
  { base: ETH, rel: TOKEN, price: "1.5", volume: "4", taken: "4", by: "buy" },
];

/** What the maker gains of each coin, whole coins. */
function gains(): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { base, rel, price, taken } of TRADES) {
    sum[base] = (sum[base] ?? 0) - Number(taken);
    sum[rel] = (sum[rel] ?? 0) + Number(toDecimalString(mul(decimal(price), decimal(taken))));
  }
  return sum;
}

function expectAllTraded(before: Sides, after: Sides): void {
  for (const [coin, gain] of Object.entries(gains())) {
    const fees = FEES[coin as keyof typeof FEES];
    expectChange("the maker", coin, before.maker, after.maker, String(gain), coin === TOKEN ? "0" : fees);
    expectChange("the taker", coin, before.taker, after.taker, String(-gain), fees);
  }
}

/** All six at once from one account of each side, each to its end. */
export async function expectSixTrades(maker: DevNode, taker: DevNode): Promise<void> {
  const before = await sidesOf(maker, taker, ALL);
  const uuids: string[] = [];
  for (const trade of TRADES) uuids.push(await match(maker, taker, trade));
  for (const [i, uuid] of uuids.entries()) {
    const done = await ended(maker, taker, uuid);
    expect([done.maker.is_success, done.taker.is_success], `${TRADES[i]?.base} for ${TRADES[i]?.rel}`).toEqual([true, true]);
  }
  expectAllTraded(before, await sidesOf(maker, taker, ALL));
}
