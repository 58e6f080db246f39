import { parseArgs } from "node:util";
import { FAULT_KINDS, SERVER_FAULT_KINDS } from "./faults.ts";
import { DEFAULTS, type SimRunOptions } from "./options.ts";

export type SeedRange = {
  readonly first: number;
  readonly last: number;
  readonly orders: number;
  readonly accounts: number;
  readonly electrum: number;
};

/** What `npm run sim` is asked to do. */
export type CliOptions = {
  /** Null: only the usage is wanted. */
  readonly run: SimRunOptions | null;
  /** Seeds to run, each in a world of its own; null: one run with the options given. */
  readonly seeds: SeedRange | null;
  /** After them these: with all coins of the account chain, and with most coins on Electrum. */
  readonly more: readonly SeedRange[];
  /** Swaps that must have run in all, with every kind of fault and every rule; null: no matter. */
  readonly floor: number | null;
  readonly jobs: number;
  readonly shrink: boolean;
  readonly json: boolean;
};

const CI_SEEDS = { first: 1, last: 50, orders: 470, accounts: 0, electrum: 0 } as const;
/** Fewer orders: swaps of an account chain take longer to work out. */
const CI_ACCOUNT_SEEDS = { first: 56, last: 60, orders: 100, accounts: 3, electrum: 0 } as const;
/** Few: five servers are five times the work. */
const CI_ELECTRUM_SEEDS = { first: 61, last: 63, orders: 80, accounts: 0, electrum: 0.5 } as const;
/** Swaps that must come of them: a run in which nothing happens proves nothing. */
const CI_FLOOR = 20_000;

export const USAGE = `Usage: npm run sim -- [options]

Many whole nodes, their chains and their network in one process on a virtual clock; everything that goes wrong is drawn
from the seed. The same options give the same run, bit for bit: it prints its trace hash. Exit code 1: a rule of
docs/safety.md was broken; the seed, the smallest schedule found, how to run it again and the stories of swaps concerned are printed.

World
  --seed N         what everything is drawn from (${DEFAULTS.seed})
  --makers N       nodes that keep orders open (${DEFAULTS.makers})
  --takers N       nodes that buy and sell (${DEFAULTS.takers})
  --relays N       relays between them (${DEFAULTS.relays})
  --policy P       what the segwit coin's nodes relay: replace, or child as Litecoin's do (${DEFAULTS.relayPolicy})
  --coins N        1 to 4: segwit, legacy, notarized, quick (${DEFAULTS.coins})
  --accounts N     0 to 3 coins of an account chain beside them: its own, a token, one of the oldest kind (${DEFAULTS.accounts})
  --electrum 30%   share of the nodes' coins on Electrum, five servers each, of which up to two misbehave (0%)
  --hours N        virtual hours of trading; what is open then is run to its end (${DEFAULTS.hours})
  --rate N         orders of each taker per hour (${DEFAULTS.rate})
  --swaps N        most orders in all
  --one-way        takers buy the first coin for the second and nothing else
  --poll 20s       how often nodes look at their daemons
  --fsync 20ms     longest fsync
  --purse N        outputs of 2 coins a maker has of each coin; takers have ten for each 24 (${DEFAULTS.purse})
Lines, all through the run
  --loss 1%        messages lost on each hop
  --duplicate 1%   messages that come twice
  --late 200ms     how late messages may be
  --no-reorder     messages keep their order
Faults
  --faults N       per hour, over the whole world (${DEFAULTS.faults}; 0: none)
  --outside 15%    share of them from beyond the envelope
  --kinds a,b      only these: ${FAULT_KINDS.join(", ")};
                   with --electrum ${SERVER_FAULT_KINDS.join(", ")}
  --reorg N        deepest reorganisation, blocks (${DEFAULTS.reorg}); inside the envelope less than a coin's confirmations
  --skew 60s       largest clock error; inside the envelope 60 s at most
Runs
  --seeds 1-50     these seeds instead, each in a world of its own drawn from it, and of what is above only --accounts and --electrum
  --orders N       orders per seed then (400)
  --ci             what CI asks for: 50 seeds of 470 orders, 5 of 100 with an account chain, 3 of 80 on Electrum, all faults on; fails, too, when they become
                   fewer than 20,000 swaps, or a kind of fault or a rule did not come up
  --jobs N         processes for --seeds and --ci (2)
  --first          end a run at the first broken rule
  --only-trades 3,17   of what is drawn only these, by their numbers; "none": none
  --only-faults 5      the same of faults: a failing run prints the command for its smallest schedule
  --no-shrink      do not look for a smaller schedule after a failure
  --json           the figures as JSON
  --help
`;

/** `5%` or `0.05` → 0.05. */
export function share(text: string, name: string): number {
  const value = text.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(value >= 0 && value <= 1)) throw new RangeError(`--${name}: ${text} is no share between 0 and 1 (or 0% and 100%)`);
  return value;
}

/** `30s`, `200ms`, `2h` or a bare number in the unit meant → ms. */
function duration(text: string, name: string, bareMs: number): number {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  const units: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  if (!found) throw new RangeError(`--${name}: ${text} is no time such as 30s or 200ms`);
  return Number(found[1]) * (found[2] === undefined ? bareMs : (units[found[2]] ?? 1));
}

function number(text: string | undefined, name: string, fallback: number, min: number, max: number, whole = true): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!(value >= min && value <= max) || (whole && !Number.isInteger(value)))
    throw new RangeError(`--${name}: ${text} is not ${min} to ${max}`);
  return value;
}

function kindsOf(text: string | undefined): readonly string[] | null {
  if (text === undefined) return null;
  const kinds = text.split(",");
  const unknown = kinds.find((k) => !([...FAULT_KINDS, ...SERVER_FAULT_KINDS] as readonly string[]).includes(k));
  if (unknown !== undefined) throw new RangeError(`--kinds: there is no kind ${unknown}`);
  return kinds;
}

function idsOf(text: string | undefined, name: string): readonly number[] | null {
  if (text === undefined) return null;
  if (text === "none") return [];
  return text.split(",").map((id) => number(id, name, 0, 0, 10_000_000));
}

function policyOf(text: string | undefined): SimRunOptions["relayPolicy"] {
  if (text === undefined) return DEFAULTS.relayPolicy;
  if (text === "replace" || text === "child") return text;
  throw new RangeError(`--policy: ${text} is neither replace nor child`);
}

function seedsOf(text: string, orders: number, accounts: number, electrum: number): SeedRange {
  const found = /^(\d+)(?:-(\d+))?$/.exec(text);
  const first = Number(found?.[1]);
  const last = Number(found?.[2] ?? found?.[1]);
  if (!found || last < first) throw new RangeError(`--seeds: ${text} is no range such as 1-50`);
  return { first, last, orders, accounts, electrum };
}

/** Reads the command line. Throws `RangeError` or `TypeError` with a sentence for people. */
export function parseCli(args: readonly string[]): CliOptions {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values: v } = parseArgs({
    args: [...args],
    options: {
      seed: text,
      makers: text,
      takers: text,
      relays: text,
      coins: text,
      accounts: text,
      electrum: text,
      hours: text,
      rate: text,
      swaps: text,
      poll: text,
      fsync: text,
      purse: text,
      first: flag,
      "only-trades": text,
      "only-faults": text,
      "one-way": flag,
      loss: text,
      duplicate: text,
      late: text,
      "no-reorder": flag,
      faults: text,
      outside: text,
      kinds: text,
      policy: text,
      reorg: text,
      skew: text,
      seeds: text,
      orders: text,
      ci: flag,
      jobs: text,
      "no-shrink": flag,
      json: flag,
      help: flag,
    },
  });
  const d = DEFAULTS;
  const run: SimRunOptions = {
    seed: number(v.seed, "seed", d.seed, 0, 2 ** 31),
    makers: number(v.makers, "makers", d.makers, 1, 100),
    takers: number(v.takers, "takers", d.takers, 1, 500),
    relays: number(v.relays, "relays", d.relays, 1, 10),
    coins: number(v.coins, "coins", d.coins, 1, 4),
    accounts: number(v.accounts, "accounts", d.accounts, 0, 3),
    electrum: v.electrum === undefined ? d.electrum : share(v.electrum, "electrum"),
    hours: number(v.hours, "hours", d.hours, 0.01, 1_000, false),
    rate: number(v.rate, "rate", d.rate, 0.01, 1_000, false),
    swaps: v.swaps === undefined ? null : number(v.swaps, "swaps", 0, 1, 1_000_000),
    faults: number(v.faults, "faults", d.faults, 0, 10_000, false),
    outside: v.outside === undefined ? d.outside : share(v.outside, "outside"),
    kinds: kindsOf(v.kinds),
    relayPolicy: policyOf(v.policy),
    loss: v.loss === undefined ? d.loss : share(v.loss, "loss"),
    duplicate: v.duplicate === undefined ? d.duplicate : share(v.duplicate, "duplicate"),
    lateMs: v.late === undefined ? d.lateMs : duration(v.late, "late", 1),
    reorder: v["no-reorder"] !== true,
    reorg: number(v.reorg, "reorg", d.reorg, 0, 20),
    skewSec: v.skew === undefined ? d.skewSec : Math.round(duration(v.skew, "skew", 1_000) / 1_000),
    pollSec: v.poll === undefined ? d.pollSec : duration(v.poll, "poll", 1_000) / 1_000,
    fsyncMs: v.fsync === undefined ? d.fsyncMs : duration(v.fsync, "fsync", 1),
    purse: number(v.purse, "purse", d.purse, 1, 1_000),
    oneWay: v["one-way"] === true,
    first: v.first === true,
    onlyTrades: idsOf(v["only-trades"], "only-trades"),
    onlyFaults: idsOf(v["only-faults"], "only-faults"),
  };
  if (run.coins + run.accounts < 2) throw new RangeError("--coins: there must be two coins to trade, with those of --accounts");
  const orders = number(v.orders, "orders", 400, 1, 100_000);
  const seeds = v.ci ? CI_SEEDS : v.seeds === undefined ? null : seedsOf(v.seeds, orders, run.accounts, run.electrum);
  return {
    run: v.help ? null : run,
    seeds,
    more: v.ci === true ? [CI_ACCOUNT_SEEDS, CI_ELECTRUM_SEEDS] : [],
    floor: v.ci === true ? CI_FLOOR : null,
    jobs: number(v.jobs, "jobs", 2, 1, 64),
    shrink: v["no-shrink"] !== true,
    json: v.json === true,
  };
}
