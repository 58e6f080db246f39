import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { between, happens, pick } from "./dice.ts";
import { DEFAULTS, type SimRunOptions } from "./options.ts";

/**
 * The world of one seed of many: each is another mixture of nodes, lines and bad luck. A third of them stays inside the envelope altogether.
 * @param accounts coins of the account chain; with any of them there is one other coin, or there are two
 * @param density so many times the orders in the same hours, and as many times the coins in the purses. Faults stay as many an hour: a
 *   swap meets as many as ever, and each fault meets more swaps
 * @param electrum share of the nodes' coins on Electrum
 */
export function worldOf(seed: number, orders: number, accounts = 0, density = 1, electrum = 0): SimRunOptions {
  const dice = seededRng(seed ^ 0x77071d);
  const takers = between(dice, 5, 9);
  const hours = between(dice, 4, 10) / 4;
  const world: SimRunOptions = {
    ...DEFAULTS,
    seed,
    makers: between(dice, 2, 4),
    takers,
    relays: between(dice, 1, 3),
    coins: between(dice, 3, 4),
    hours: hours * 2,
    rate: (density * orders) / (takers * hours),
    swaps: Math.round(density * orders),
    purse: Math.ceil(density * DEFAULTS.purse),
    faults: between(dice, 4, 40),
    outside: happens(dice, 1 / 3) ? 0 : between(dice, 3, 30) / 100,
    loss: between(dice, 0, 5) / 100,
    duplicate: between(dice, 0, 5) / 100,
    lateMs: pick(dice, [0, 50, 500, 2_000]),
    reorder: happens(dice, 0.5),
    skewSec: pick(dice, [0, 10, 30, 60]),
    fsyncMs: pick(dice, [0, 5, 50]),
    pollSec: pick(dice, [20, 30, 45]),
    relayPolicy: pick(dice, ["replace", "child"] as const),
    electrum,
  };
  return accounts === 0 ? world : { ...world, accounts, coins: between(dice, 1, 2) };
}
