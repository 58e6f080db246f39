import type { Rng } from "../../src/ports/rng.ts";
import { SERVERS } from "../world/simServers.ts";
import { between, happens, pick } from "./dice.ts";
import { ENVELOPE } from "./envelope.ts";
import type { SimRunOptions } from "./options.ts";

export const FAULT_KINDS = [
  "crash",
  "power_cut",
  "daemon_down",
  "daemon_stall",
  "daemon_slow",
  "daemon_lies",
  "daemon_refuses",
  "lost_reply",
  "forget",
  "partition",
  "bad_line",
  "reorg",
  "drought",
  "burst",
  "fee_spike",
  "clock",
  "clock_set",
  "disk_full",
  "backup",
  "litter",
  "new_coins",
  "odd_forms",
] as const;
/** Of Electrum servers, where nodes have coins on them. */
export const SERVER_FAULT_KINDS = ["server_down", "server_stalls", "server_lags", "server_lies"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number] | (typeof SERVER_FAULT_KINDS)[number];
/** What a lying server does: the first four cannot be disproven, for the others it is dropped. */
const SERVER_LIES = ["denies", "swallows", "fees", "mute", "heights", "branches", "headers"] as const;

/** Boundaries a process dies at: at its n-th write or broadcast from the fault's time on, before or after it is carried out. */
export const CRASH_POINTS = ["before_store", "after_store", "before_broadcast", "after_broadcast"] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export type ServerLie = (typeof SERVER_LIES)[number];

type At = { readonly atMs: number };
type OnNode = { readonly node: string };
type OnChain = { readonly coin: string };
type Lasts = { readonly forMs: number };

/** One thing that goes wrong, as data. Times in ms after the start of trading. */
export type FaultPlan = At &
  (
    | ({
        readonly kind: "crash";
        readonly point: CrashPoint;
        readonly n: number;
        readonly again: { readonly n: number; readonly afterMs: number } | null;
      } & OnNode &
        Lasts)
    /** The machine dies at this moment, with whatever waits for the disk. */
    | ({ readonly kind: "power_cut" } & OnNode & Lasts)
    | ({ readonly kind: "daemon_down" } & OnNode & OnChain & Lasts)
    /** `stuck`: it answers about a chain that stands still (nodes of account chains only). */
    | ({ readonly kind: "daemon_stall"; readonly how?: "stuck" } & OnNode & OnChain & Lasts)
    /** `swallow`: it says that it took the transaction, and passes it on to nobody (the same). */
    | ({ readonly kind: "daemon_refuses"; readonly how?: "swallow" } & OnNode & OnChain & Lasts)
    /** `no_logs`: what is late are the events of contracts, which never come meanwhile (the same). */
    | ({ readonly kind: "daemon_slow"; readonly delayMs: number; readonly how?: "no_logs" } & OnNode & OnChain & Lasts)
    /** It names heights that are wrong by so much; nodes of account chains, `how`: times, by so many seconds, or prices, so many hundredths of the true ones. */
    | ({ readonly kind: "daemon_lies"; readonly delta: number; readonly how?: "time" | "gas" } & OnNode & OnChain & Lasts)
    | ({ readonly kind: "lost_reply"; readonly count: number } & OnNode & OnChain)
    /** Every mempool loses all it holds, or the youngest transaction. */
    | ({ readonly kind: "forget"; readonly all: boolean } & OnChain)
    /** The node reaches nobody. */
    | ({ readonly kind: "partition" } & OnNode & Lasts)
    | ({ readonly kind: "bad_line"; readonly loss: number; readonly duplicate: number; readonly lateMs: number } & Lasts)
    | ({ readonly kind: "reorg"; readonly depth: number; readonly reorgInside: boolean; readonly forget: boolean } & OnChain)
    | ({ readonly kind: "drought" } & OnChain & Lasts)
    | ({ readonly kind: "burst"; readonly blocks: number } & OnChain)
    /** Miners take nothing below `factor` times the usual rate. */
    | ({ readonly kind: "fee_spike"; readonly factor: number } & OnChain & Lasts)
    | ({ readonly kind: "clock"; readonly skewMs: number } & OnNode & Lasts)
    /** The clock is set by minutes to hours, until it is set right again. `restart`: so long after that the process dies, and comes back with it. */
    | ({
        readonly kind: "clock_set";
        readonly skewMs: number;
        readonly restart: { readonly afterMs: number; readonly forMs: number } | null;
      } & OnNode &
        Lasts)
    | ({ readonly kind: "disk_full" } & OnNode & Lasts)
    /** The node dies, and starts again from a copy of its database made `ageMs` before. */
    | ({ readonly kind: "backup"; readonly ageMs: number } & OnNode & Lasts)
    /** One of the servers, for all who use it. */
    | ({ readonly kind: "server_down" | "server_stalls"; readonly server: number } & OnChain & Lasts)
    | ({ readonly kind: "server_lags"; readonly server: number; readonly blocks: number } & OnChain & Lasts)
    | ({ readonly kind: "server_lies"; readonly server: number; readonly how: (typeof SERVER_LIES)[number] } & OnChain & Lasts)
    /** Strangers pay dust, a unit too little and a unit too much to the contracts of swaps, before those are paid. */
    | ({ readonly kind: "litter" } & OnChain & Lasts)
    /** Miners take claims and refunds in forms that nobody relays, under other ids. */
    | ({ readonly kind: "odd_forms" } & OnChain & Lasts)
    /** The first to owe a payment of the coin meanwhile mines it, of new coins, and sends none. */
    | ({ readonly kind: "new_coins" } & OnChain & Lasts)
  );

export type Side = "inside" | "outside";
export type Fault = FaultPlan & { readonly id: number; readonly envelope: Side };

export type Drawn = {
  readonly options: SimRunOptions;
  /** One for each chain. */
  readonly coins: readonly {
    readonly ticker: string;
    readonly confirmations: number;
    readonly blockSec: number;
    readonly isAccount: boolean;
  }[];
  readonly outside: boolean;
  readonly atMs: number;
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** How long troubles last: short ones are as likely as long ones. */
const SHORT_MS = [SECOND_MS, 20 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, ENVELOPE.troubleMs] as const;
const LONG_MS = [40 * MINUTE_MS, 90 * MINUTE_MS, 180 * MINUTE_MS, 300 * MINUTE_MS] as const;
/** By how much a clock is set at most, minutes: an hour hides less than the locks of a swap, twelve hide both. */
const SET_MINUTES = [10, 60, 240, 720] as const;
/** Blocks of an account chain come so many times as often, and as deep are the reorganisations that are drawn beyond the envelope. */
const ACCOUNT_REORG_FACTOR = 4;
/** A process whose clock was set dies within this, if it does. */
const HALF_HOUR_MS = 30 * MINUTE_MS;
/** More writes or broadcasts than a swap makes on one side lie between two crashes. */
const MAX_BOUNDARY = 40;

const lasting = (rng: Rng, outside: boolean): number => pick(rng, outside ? LONG_MS : SHORT_MS);

export function drawNode(rng: Rng, { makers, takers }: SimRunOptions): string {
  // Makers are in more swaps: each is hit as often as a few takers.
  const isMaker = happens(rng, 0.4);
  return isMaker ? `maker${between(rng, 0, makers - 1)}` : `taker${between(rng, 0, takers - 1)}`;
}

type DaemonKind = "daemon_down" | "daemon_stall" | "daemon_refuses" | "daemon_slow" | "daemon_lies";
type DaemonBase = At & OnNode & OnChain;

function drawDaemonTrouble(rng: Rng, kind: DaemonKind, base: DaemonBase, outside: boolean): FaultPlan | null {
  switch (kind) {
    case "daemon_slow":
      return outside ? null : { ...base, kind, delayMs: between(rng, 1, 9) * SECOND_MS, forMs: lasting(rng, false) };
    case "daemon_lies":
      return { ...base, kind, delta: pick(rng, [-20, -3, -1, 1, 2, 500]), forMs: lasting(rng, outside) };
    default:
      return { ...base, kind, forMs: lasting(rng, outside) };
  }
}

/** Of the nodes of an account chain. Most of them must agree before one is believed: heights above the true ones are lies of most. */
function drawAccountTrouble(rng: Rng, kind: DaemonKind, base: DaemonBase, outside: boolean): FaultPlan | null {
  const isOther = happens(rng, 0.5);
  const forMs = lasting(rng, outside && kind !== "daemon_slow");
  switch (kind) {
    case "daemon_down":
      return { ...base, kind, forMs };
    case "daemon_stall":
      return { ...base, kind, forMs, ...(isOther ? { how: "stuck" } : {}) };
    case "daemon_refuses":
      return { ...base, kind, forMs, ...(isOther ? { how: "swallow" } : {}) };
    case "daemon_slow":
      return outside ? null : { ...base, kind, delayMs: between(rng, 1, 9) * SECOND_MS, forMs, ...(isOther ? { how: "no_logs" } : {}) };
    case "daemon_lies":
      if (outside) return { ...base, kind, delta: pick(rng, [1, 2, 500]), forMs };
      return pick(rng, [
        { ...base, kind, delta: pick(rng, [-20, -3, -1]), forMs },
        { ...base, kind, how: "time", delta: pick(rng, [-3_600, -60, 60, 3_600]), forMs },
        { ...base, kind, how: "gas", delta: pick(rng, [10, 50, 200, 1_000]), forMs },
      ] as const);
  }
}

/** Of one server: others are enough, so however long. */
export function drawServerFault(rng: Rng, kind: (typeof SERVER_FAULT_KINDS)[number], coin: string, atMs: number): FaultPlan {
  const base = { atMs, coin, server: between(rng, 0, SERVERS - 1), forMs: pick(rng, [...SHORT_MS, ...LONG_MS]) };
  switch (kind) {
    case "server_lags":
      return { ...base, kind, blocks: between(rng, 1, 6) };
    case "server_lies":
      return { ...base, kind, how: pick(rng, SERVER_LIES) };
    default:
      return { ...base, kind };
  }
}

/** Draws one fault of a kind, inside or outside the envelope; null where the kind has nothing on that side. */
export function drawFault(rng: Rng, kind: (typeof FAULT_KINDS)[number], at: Drawn): FaultPlan | null {
  const { options, outside, atMs } = at;
  const node = drawNode(rng, options);
  const coin = pick(rng, at.coins);
  const base = { atMs, node, coin: coin.ticker };
  switch (kind) {
    case "crash": {
      const again = happens(rng, 0.3) ? { n: between(rng, 0, 5), afterMs: pick(rng, SHORT_MS.slice(0, 3)) } : null;
      return { atMs, node, kind, point: pick(rng, CRASH_POINTS), n: between(rng, 0, MAX_BOUNDARY), again, forMs: lasting(rng, outside) };
    }
    case "power_cut":
      return { atMs, node, kind, forMs: lasting(rng, outside) };
    case "daemon_down":
    case "daemon_stall":
    case "daemon_refuses":
    case "daemon_slow":
    case "daemon_lies":
      return coin.isAccount ? drawAccountTrouble(rng, kind, base, outside) : drawDaemonTrouble(rng, kind, base, outside);
    case "lost_reply":
      return outside ? null : { ...base, kind, count: between(rng, 1, 3) };
    case "forget":
      return outside ? null : { atMs, coin: coin.ticker, kind, all: happens(rng, 0.5) };
    case "partition":
      // However long: the chains alone finish a swap.
      return outside ? null : { atMs, node, kind, forMs: pick(rng, [...SHORT_MS, ...LONG_MS]) };
    case "bad_line":
      return outside
        ? null
        : {
            atMs,
            kind,
            loss: between(rng, 0, 30) / 100,
            duplicate: between(rng, 0, 20) / 100,
            lateMs: between(rng, 0, 5_000),
            forMs: between(rng, 1, 10) * MINUTE_MS,
          };
    case "reorg": {
      const deepest = coin.confirmations - ENVELOPE.reorgBelowConfirmations;
      // Below what is final it will not happen.
      const most = coin.isAccount ? options.reorg * ACCOUNT_REORG_FACTOR : options.reorg;
      const depth = outside
        ? between(rng, coin.confirmations, Math.max(coin.confirmations, most))
        : between(rng, 1, Math.min(deepest, options.reorg));
      return options.reorg === 0 || (outside && depth > most)
        ? null
        : { atMs, coin: coin.ticker, kind, depth, reorgInside: depth <= deepest, forget: happens(rng, 0.5) };
    }
    case "drought":
      return {
        atMs,
        coin: coin.ticker,
        kind,
        forMs: outside ? pick(rng, LONG_MS) : between(rng, 1, ENVELOPE.blockGapMs / MINUTE_MS) * MINUTE_MS,
      };
    case "burst":
      return outside ? null : { atMs, coin: coin.ticker, kind, blocks: between(rng, 2, 8) };
    case "fee_spike":
      return {
        atMs,
        coin: coin.ticker,
        kind,
        factor: outside ? ENVELOPE.feeFactor * 10 : between(rng, 2, ENVELOPE.feeFactor),
        forMs: outside ? pick(rng, LONG_MS) : between(rng, 1, ENVELOPE.feeSpikeMs / MINUTE_MS) * MINUTE_MS,
      };
    case "clock": {
      const most = outside ? 3_600 : Math.min(options.skewSec, ENVELOPE.clockErrorMs / SECOND_MS);
      if (most === 0) return null;
      const sec = outside ? between(rng, 120, most) : between(rng, 1, most);
      return { atMs, node, kind, skewMs: pick(rng, [-1, 1]) * sec * SECOND_MS, forMs: between(rng, 1, 30) * MINUTE_MS };
    }
    case "clock_set": {
      if (!outside) return null;
      const skewMs = pick(rng, [-1, 1]) * between(rng, 2, pick(rng, SET_MINUTES)) * MINUTE_MS;
      const forMs = pick(rng, [...SHORT_MS, ...LONG_MS]);
      const restart = happens(rng, 0.3) ? { afterMs: between(rng, 0, Math.min(forMs, HALF_HOUR_MS)), forMs: pick(rng, SHORT_MS) } : null;
      return { atMs, node, kind, skewMs, restart, forMs };
    }
    case "disk_full":
      return { atMs, node, kind, forMs: lasting(rng, outside) };
    case "backup":
      return outside
        ? { atMs, node, kind, ageMs: pick(rng, [MINUTE_MS, 10 * MINUTE_MS, 40 * MINUTE_MS]), forMs: pick(rng, SHORT_MS) }
        : null;
    case "new_coins":
    case "odd_forms":
      return outside || coin.isAccount ? null : { atMs, coin: coin.ticker, kind, forMs: between(rng, 5, 30) * MINUTE_MS };
    case "litter":
      // Nobody can pay into a contract for somebody else there.
      return outside || coin.isAccount ? null : { atMs, coin: coin.ticker, kind, forMs: between(rng, 5, 30) * MINUTE_MS };
  }
}
