import { expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { expectNobodyLost, isOver, purses } from "./audit.ts";
import { COINS, match, type TradingWorld, tradingWorld } from "./trade.ts";

const SEED = 20_261_121;
/** Nodes look at their daemons this often; a slow look keeps hours of trouble cheap. */
const POLL_MS = 15_000;
const MINUTE_MS = 60_000;
/** Well within the 52 minutes a payment has to confirm. */
const SHORT_MS = 10 * MINUTE_MS;
/** Past the taker's lock of 2 h 10 min, before the maker's of 4 h 20 min. */
const LONG_MS = 3 * HOUR_MS;
const LIMIT_MS = 10 * HOUR_MS;

const TROUBLES = {
  "is down": { kind: "http_500" },
  "does not answer": { kind: "stall" },
  "is slow": { kind: "slow", delayMs: 9_000 },
  "claims 500 blocks too many": { kind: "wrong_height", delta: 500 },
  "claims 5 blocks too few": { kind: "wrong_height", delta: -5 },
  "refuses every broadcast": { kind: "refuse_broadcast" },
  "takes broadcasts and loses the replies": { kind: "lost_reply", count: 1_000 },
} as const;
type Trouble = keyof typeof TROUBLES;
const troubles = Object.keys(TROUBLES) as Trouble[];

type Moment = { readonly who: Role; readonly type: SwapEvent["type"]; readonly slot?: Slot };

/** Moments of a swap, as the event a node has just stored. */
const MOMENTS: readonly Moment[] = [
  { who: "maker", type: "tx_signed", slot: "makerPayment" },
  { who: "maker", type: "tx_signed", slot: "takerPaymentSpend" },
  { who: "taker", type: "tx_signed", slot: "takerPayment" },
  { who: "taker", type: "secret_learned" },
];

/** One swap; from that moment the node's daemons, of both coins, misbehave for so long. Gives both outcomes. */
async function troubledSwap(t: TradingWorld, trouble: Trouble, moment: Moment, forMs: number): Promise<readonly (string | null)[]> {
  const { world, maker, taker } = t;
  const victim = t[moment.who];
  const before = purses(t);
  let begun = false;
  victim.onEvent = (event) => {
    if (begun || event.type !== moment.type || ("slot" in event ? event.slot : undefined) !== moment.slot) return;
    begun = true;
    for (const ticker of COINS) void victim.daemonFault(ticker, { ...TROUBLES[trouble], forMs });
  };
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), LIMIT_MS);
  victim.onEvent = () => undefined;
  expect(begun, "the moment came").toBe(true);
  for (const ticker of COINS) await victim.daemonFault(ticker, { kind: "clear" });
  // A daemon that just came back is looked at again, and the last orders go.
  await world.advance(2 * MINUTE_MS);
  for (const n of [maker, taker]) await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
  expectNobodyLost(t, uuid, before);
  return [maker.outcome(uuid), taker.outcome(uuid)];
}

test.each(troubles)("a daemon that %s for ten minutes costs no swap, at whatever moment and on whichever side", async (trouble) => {
  const t = await tradingWorld({ seed: SEED, pollMs: POLL_MS });
  for (const moment of MOMENTS) {
    expect([moment, await troubledSwap(t, trouble, moment, SHORT_MS)]).toEqual([moment, ["success", "success"]]);
  }
  await t.world.close();
});

test.each<[Trouble, Moment, readonly string[]]>([
  // The secret never left, so both take their own back.
  ["is down", { who: "maker", type: "tx_signed", slot: "takerPaymentSpend" }, ["refunded", "refunded"]],
  // Never sent in time, so never sent at all.
  ["does not answer", { who: "taker", type: "tx_signed", slot: "takerPayment" }, ["refunded", "failed"]],
  // The taker knows the maker's claim only when its daemon is back, still before the maker's lock.
  ["is down", { who: "taker", type: "secret_learned" }, ["success", "success"]],
  ["refuses every broadcast", { who: "maker", type: "tx_signed", slot: "takerPaymentSpend" }, ["refunded", "refunded"]],
])("a daemon that %s for three hours from %o on costs nobody a coin", async (trouble, moment, outcomes) => {
  const t = await tradingWorld({ seed: SEED, pollMs: POLL_MS });
  expect(await troubledSwap(t, trouble, moment, LONG_MS)).toEqual(outcomes);
  await t.world.close();
});
