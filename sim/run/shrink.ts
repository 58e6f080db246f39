import type { Schedule } from "./schedule.ts";

export type ShrinkLimits = { readonly runs: number; readonly realMs: number };

/**
 * The smallest part of a schedule that still fails, as far as the limits let it look (delta debugging, Zeller and Hildebrandt):
 * first fewer faults, then fewer trades.
 * @param fails whether a part still fails in the same way
 */
export async function shrink(
  schedule: Schedule,
  limits: ShrinkLimits,
  fails: (part: Schedule) => Promise<boolean>,
): Promise<{ readonly schedule: Schedule; readonly runs: number }> {
  const endMs = performance.now() + limits.realMs;
  let runs = 0;
  const tryOut = async (part: Schedule): Promise<boolean> => {
    if (runs >= limits.runs || performance.now() > endMs) return false;
    runs++;
    return fails(part);
  };
  let best = schedule;
  // A run gets quicker with every trade that goes, so these are halved first.
  const fewTrades = await reduce(best.trades, (trades) => tryOut({ ...best, trades }), 4);
  best = { ...best, trades: fewTrades };
  const faults = await reduce(best.faults, (part) => tryOut({ ...best, faults: part }), Number.POSITIVE_INFINITY);
  best = { ...best, faults };
  const trades = await reduce(best.trades, (part) => tryOut({ ...best, trades: part }), Number.POSITIVE_INFINITY);
  return { schedule: { ...best, trades }, runs };
}

/** ddmin over one list. `finest`: into how many parts it is cut at most. */
async function reduce<T>(items: readonly T[], fails: (part: readonly T[]) => Promise<boolean>, finest: number): Promise<readonly T[]> {
  let best = items;
  let parts = 2;
  while (best.length >= 1) {
    const size = Math.max(1, Math.ceil(best.length / parts));
    let smaller: readonly T[] | null = null;
    for (let at = 0; at < best.length && smaller === null; at += size) {
      const rest = [...best.slice(0, at), ...best.slice(at + size)];
      if (await fails(rest)) smaller = rest;
    }
    if (smaller !== null) {
      best = smaller;
      parts = Math.max(2, parts - 1);
    } else if (size === 1 || parts * 2 > finest) return best;
    else parts *= 2;
  }
  return best;
}
