import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { between, happens, pick } from "./dice.ts";
import { DEFAULTS, type SimRunOptions } from "./options.ts";

/** The world of one seed of many: each is another mixture of nodes, lines and bad luck. A third of them stays inside the envelope altogether. */
export function worldOf(seed: number, orders: number): SimRunOptions {
  const dice = seededRng(seed ^ 0x77071d);
  const takers = between(dice, 5, 9);
  const hours = between(dice, 4, 10) / 4;
  return {
    ...DEFAULTS,
    seed,
    makers: between(dice, 2, 4),
    takers,
    relays: between(dice, 1, 3),
    coins: between(dice, 3, 4),
    hours: hours * 2,
    rate: orders / (takers * hours),
    swaps: orders,
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
  };
}
