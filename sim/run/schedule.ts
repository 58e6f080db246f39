import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import type { Rng } from "../../src/ports/rng.ts";
import { between, happens, pick, waitFor } from "./dice.ts";
import { type Drawn, drawFault, drawServerFault, type FAULT_KINDS, type Fault, SERVER_FAULT_KINDS } from "./faults.ts";
import type { SimRunOptions } from "./options.ts";
import { chainTickerOf } from "./simAccounts.ts";
import { Envelope, ServerTroubles } from "./trouble.ts";

type NodeFaultKind = (typeof FAULT_KINDS)[number];

/** One order a taker places. Amounts in thousandths of a coin. */
export type Trade = {
  readonly id: number;
  readonly atMs: number;
  readonly taker: number;
  readonly action: "Buy" | "Sell";
  readonly base: string;
  readonly rel: string;
  readonly milli: number;
};

/** Everything that will happen to the nodes from outside; times in ms after the start of trading. Data: a subset is a schedule too. */
export type Schedule = { readonly trades: readonly Trade[]; readonly faults: readonly Fault[] };

const HOUR_MS = 3_600_000;
/** Kinds with dice of their own, as often as one of the others: what they add leaves the other faults of a seed as they were. */
const OWN_DICE: readonly (readonly [NodeFaultKind, number])[] = [
  ["litter", 0x11773],
  ["new_coins", 0x2ec01],
  ["odd_forms", 0x0ddf0],
  ["clock_set", 0xc10c5],
];
/** Least and most a taker asks for, thousandths of a coin. */
const MIN_MILLI = 10;
const MAX_MILLI = 400;

function drawTrades(rng: Rng, options: SimRunOptions, coins: readonly string[]): readonly Trade[] {
  const spanMs = options.hours * HOUR_MS;
  const meanMs = HOUR_MS / (options.rate * options.takers);
  const trades: Trade[] = [];
  const oneWay = { action: "Buy", base: coins[0] ?? "", rel: coins[1] ?? "" } as const;
  for (let atMs = waitFor(rng, meanMs, HOUR_MS); atMs < spanMs; atMs += waitFor(rng, meanMs, HOUR_MS)) {
    if (options.swaps !== null && trades.length >= options.swaps) break;
    const base = pick(rng, coins);
    const rel = pick(
      rng,
      coins.filter((c) => c !== base),
    );
    const action = pick(rng, ["Buy", "Sell"] as const);
    trades.push({
      id: trades.length,
      atMs,
      taker: between(rng, 0, options.takers - 1),
      ...(options.oneWay ? oneWay : { action, base, rel }),
      milli: between(rng, MIN_MILLI, MAX_MILLI),
    });
  }
  return trades;
}

function drawFaults(
  rng: Rng,
  options: SimRunOptions,
  coins: Drawn["coins"],
  kinds: readonly NodeFaultKind[],
  tradedMs: number,
): readonly Fault[] {
  if (kinds.length === 0 || options.faults === 0) return [];
  const spanMs = tradedMs + HOUR_MS / 2;
  const envelope = new Envelope();
  const faults: Fault[] = [];
  const meanMs = HOUR_MS / options.faults;
  for (let atMs = waitFor(rng, meanMs, HOUR_MS); atMs < spanMs; atMs += waitFor(rng, meanMs, HOUR_MS)) {
    const outside = happens(rng, options.outside);
    const drawn = drawFault(rng, pick(rng, kinds), { options, coins, outside, atMs });
    if (drawn === null) continue;
    const side = envelope.place(drawn);
    // What was to stay inside and no longer would, together with what came before it, is left out.
    if (!outside && side === "outside") continue;
    faults.push({ ...drawn, id: faults.length, envelope: side });
  }
  return faults;
}

/** Of each chain's servers less than half misbehave at a time: what would be more is left out. */
function drawServerFaults(rng: Rng, options: SimRunOptions, chains: Drawn["coins"], tradedMs: number): readonly Fault[] {
  const kinds = SERVER_FAULT_KINDS.filter((kind) => options.kinds?.includes(kind) ?? true);
  const coins = chains.filter(({ isAccount }) => !isAccount);
  if (options.electrum === 0 || options.faults === 0 || kinds.length === 0 || coins.length === 0) return [];
  const troubles = new ServerTroubles();
  const faults: Fault[] = [];
  const meanMs = HOUR_MS / options.faults;
  for (let atMs = waitFor(rng, meanMs, HOUR_MS); atMs < tradedMs + HOUR_MS / 2; atMs += waitFor(rng, meanMs, HOUR_MS)) {
    const drawn = drawServerFault(rng, pick(rng, kinds), pick(rng, coins).ticker, atMs);
    if (troubles.fits(drawn)) faults.push({ ...drawn, id: faults.length, envelope: "inside" });
  }
  return faults;
}

/** Draws the trades and faults of a run; the same options give the same schedule. */
export function drawSchedule(options: SimRunOptions, coins: Drawn["coins"], kinds: readonly NodeFaultKind[]): Schedule {
  const trades = drawTrades(
    seededRng(options.seed * 2 + 1),
    options,
    coins.map((c) => c.ticker),
  );
  const last = trades.at(-1)?.atMs ?? 0;
  // What happens to a chain happens to it once, however many coins are on it.
  const chains = coins.filter(({ ticker }) => chainTickerOf(ticker) === ticker);
  const others = kinds.filter((kind) => !OWN_DICE.some(([own]) => own === kind));
  const faults = [...drawFaults(seededRng(options.seed * 2), options, chains, others, last)];
  const rare = { ...options, faults: options.faults / (others.length + 1) };
  for (const [kind, salt] of OWN_DICE)
    if (kinds.includes(kind)) faults.push(...drawFaults(seededRng(options.seed ^ salt), rare, chains, [kind], last));
  faults.push(...drawServerFaults(seededRng(options.seed ^ 0xe1ec7), options, chains, last));
  const isWanted = (only: readonly number[] | null, id: number): boolean => only === null || only.includes(id);
  return {
    trades: trades.filter(({ id }) => isWanted(options.onlyTrades, id)),
    faults: faults.map((fault, id) => ({ ...fault, id })).filter(({ id }) => isWanted(options.onlyFaults, id)),
  };
}
