/** What one run is made of; `main.ts` reads it from the command line. */
export type SimRunOptions = {
  readonly seed: number;
  readonly makers: number;
  readonly takers: number;
  readonly relays: number;
  /** How many of the simulator's coins take part, 1 to 4; at least two with those of the account chain. */
  readonly coins: number;
  /** How many coins of the account chain take part beside them, 0 to 3. */
  readonly accounts: number;
  /** Share of the coins of nodes that are on Electrum instead of a daemon, 0 to 1; drawn for each node and coin. */
  readonly electrum: number;
  /** Virtual hours of trading; what is open then is run to its end. */
  readonly hours: number;
  /** Orders each taker places per hour, on average. */
  readonly rate: number;
  /** Most orders in all; null: as many as the hours give. */
  readonly swaps: number | null;
  /** Faults per hour over the whole world, on average. */
  readonly faults: number;
  /** Share of faults drawn from beyond the envelope, 0 to 1. */
  readonly outside: number;
  /** What the segwit coin's nodes relay: replacements (Bitcoin's) or only children that pay for their parents (Litecoin's). */
  readonly relayPolicy: "replace" | "child";
  /** Kinds of faults; null: all. */
  readonly kinds: readonly string[] | null;
  /** Always on: share of gossip messages lost on each hop, doubled, and how late they may be. */
  readonly loss: number;
  readonly duplicate: number;
  readonly lateMs: number;
  readonly reorder: boolean;
  /** Deepest reorg drawn, blocks; inside the envelope never as deep as a coin's confirmations. */
  readonly reorg: number;
  /** Largest clock error of the faults, seconds. */
  readonly skewSec: number;
  /** How often nodes look at their daemons, seconds. */
  readonly pollSec: number;
  /** Longest fsync, ms. */
  readonly fsyncMs: number;
  /** Outputs of 2 coins a maker has of each coin; a taker has the same, up to 10, and of more than 24 ten for each 24. */
  readonly purse: number;
  /** Takers buy the first coin for the second and nothing else: what is spent does not come back. */
  readonly oneWay: boolean;
  /** Ends at the first broken rule. A run that breaks none is the same either way. */
  readonly first: boolean;
  /** Of what is drawn only the trades and faults with these numbers; null: all. So the smallest schedule of a failing run is run again. */
  readonly onlyTrades: readonly number[] | null;
  readonly onlyFaults: readonly number[] | null;
};

export const DEFAULTS: SimRunOptions = {
  seed: 1,
  makers: 3,
  takers: 8,
  relays: 2,
  coins: 3,
  accounts: 0,
  electrum: 0,
  hours: 2,
  rate: 24,
  swaps: null,
  faults: 40,
  outside: 0.15,
  relayPolicy: "replace",
  kinds: null,
  loss: 0.01,
  duplicate: 0.01,
  lateMs: 200,
  reorder: true,
  reorg: 4,
  skewSec: 60,
  pollSec: 20,
  fsyncMs: 20,
  purse: 24,
  oneWay: false,
  first: false,
  onlyTrades: null,
  onlyFaults: null,
};
