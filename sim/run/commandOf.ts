import { DEFAULTS, type SimRunOptions } from "./options.ts";

const ids = (all: readonly number[]): string => (all.length === 0 ? "none" : all.join(","));

/** How each option is written on the command line; null: as a flag. */
const WRITTEN: {
  readonly [K in keyof SimRunOptions]: readonly [name: string, text: (value: NonNullable<SimRunOptions[K]>) => string | null];
} = {
  seed: ["seed", String],
  makers: ["makers", String],
  takers: ["takers", String],
  relays: ["relays", String],
  coins: ["coins", String],
  accounts: ["accounts", String],
  electrum: ["electrum", String],
  hours: ["hours", String],
  rate: ["rate", String],
  swaps: ["swaps", String],
  faults: ["faults", String],
  outside: ["outside", String],
  relayPolicy: ["policy", String],
  kinds: ["kinds", (kinds) => kinds.join(",")],
  loss: ["loss", String],
  duplicate: ["duplicate", String],
  lateMs: ["late", (ms) => `${ms}ms`],
  reorder: ["no-reorder", () => null],
  reorg: ["reorg", String],
  skewSec: ["skew", (sec) => `${sec}s`],
  pollSec: ["poll", (sec) => `${sec}s`],
  fsyncMs: ["fsync", (ms) => `${ms}ms`],
  purse: ["purse", String],
  oneWay: ["one-way", () => null],
  first: ["first", () => null],
  onlyTrades: ["only-trades", ids],
  onlyFaults: ["only-faults", ids],
};

/** The command that runs these options again: what `parseCli` makes them of. */
export function commandOf(options: SimRunOptions): string {
  const written = <K extends keyof SimRunOptions>(key: K): readonly string[] => {
    const value = options[key];
    if ((value === DEFAULTS[key] && key !== "seed") || value === null) return [];
    const [name, text] = WRITTEN[key];
    const said = text(value as NonNullable<SimRunOptions[K]>);
    return [`--${name}`, ...(said === null ? [] : [said])];
  };
  const keys = Object.keys(WRITTEN) as (keyof SimRunOptions)[];
  return ["npm run sim --", ...keys.flatMap((key) => written(key))].join(" ");
}
