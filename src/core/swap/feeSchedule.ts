import { max, min } from "../util/bigints.ts";
import { type FeeRate, feeForSize } from "../utxo/feeRate.ts";

/** What the fee of one transaction depends on. Base units, unix seconds, virtual bytes (on account chains gas, and wei per 1000 gas). */
export type FeeQuestion = {
  /** What is lost, or stays locked, while the transaction does not confirm. */
  readonly value: bigint;
  readonly size: number;
  /** Of `size` what is known to be needed, where that is less: the rest is paid only where it is needed, and lowers no price. */
  readonly sureSize?: number;
  /** What the backend asks for the next blocks. */
  readonly rate: FeeRate;
  /** Least rate worth offering, per 1000 bytes: what is relayed at all, or more by the coin's rules; null when nobody says. */
  readonly floorPerKb: bigint | null;
  /** What the backend itself relays, per 1000 bytes: what it finds absurd follows from that. Null when it does not say. */
  readonly relayPerKb: bigint | null;
  /** Most a node takes for one transaction whatever its size; null: what it finds absurd goes by the size. */
  readonly mostPerTx: bigint | null;
  /** When it could be sent first, and by when it must be in a block. */
  readonly since: number;
  readonly deadline: number;
  readonly now: number;
  /** Blocks since its first sending, which all left it out. */
  readonly blocksMissed: number;
  readonly stake: Stake;
};

/**
 * What is lost when a transaction is not in a block at its deadline. `race`: the value, somebody else can take it from then on.
 * `time`: nothing but more waiting. `trade`: this trade, the money comes back.
 */
export type Stake = "race" | "time" | "trade";

/**
 * What relays where the backend does not say, per 1000 bytes: Bitcoin Core's default for `minrelaytxfee` and for
 * `incrementalrelayfee`, the step BIP-125 rule 4 asks for.
 */
const DEFAULT_RELAY_PER_KB = 1_000n;
/**
 * Most of a value that is paid, as its n-th part.
 * - A half to keep it from somebody else. Beyond it the miner gets more than the owner, and a counterparty who bids for the same
 *   output could make us burn nearly all of it.
 * - A tenth to have it sooner: the least volume of a trade is ten spend fees (reference rpc.md 2.6), so that is the largest share
 *   the rules ever call reasonable.
 * - A fiftieth to save a trade: 2 %, the highest dex fee of any network profile, is the most anybody was ever asked for one.
 */
const SHARES: { readonly [S in Stake]: bigint } = { race: 2n, time: 10n, trade: 50n };
/** Fee spikes the envelope of the promise names: 50 times the usual rate. */
const SPIKE_FACTOR = 50n;
/**
 * How far time alone may raise the fee above the present rate, in doublings: 2^6 = 64, the first power above a spike of
 * 50. Each block that left the transaction out allows one more. Without it a long wait for a block, when nobody has
 * refused anything, would cost half the value.
 */
const UNPROVEN_DOUBLINGS = 6;
/**
 * Share of a value that may be paid up front where nothing can be added later: 1/777, the lowest dex fee of any network
 * profile. Insurance against a spike then never costs more than the trade itself does.
 */
const PREMIUM_SHARE = 777n;

/**
 * Daemons refuse a fee rate above 10,000 times the usual least one as a mistake: Bitcoin Core's 0.10 coins per 1000 bytes (`maxfeerate`),
 * Komodo's factor by name. A claim has 300 of the 496 bytes it is reckoned with and a child 192 of 446, so two fifths of the reckoned
 * size are always less than the real one.
 */
const ABSURD_FACTOR = 10_000n;

/** Least fee that relays, and the least step of a replacement (BIP-125 rule 4), rounded up. */
export function relayFee({ floorPerKb, size }: Pick<FeeQuestion, "floorPerKb" | "size">): bigint {
  return ((floorPerKb ?? DEFAULT_RELAY_PER_KB) * BigInt(size) + 999n) / 1_000n;
}

/** The fee the present rate asks for, never below what relays. */
export function goingFee(q: Pick<FeeQuestion, "rate" | "floorPerKb" | "size">): bigint {
  return max(feeForSize(q.rate, q.size), q.floorPerKb === null ? 1n : relayFee(q));
}

/** Most that is ever paid for a stake. */
export const feeCap = ({ value, stake }: Pick<FeeQuestion, "value" | "stake">): bigint => value / SHARES[stake];

/** The same for all of its size: for what is known to be needed no less of it is left than without the rest. */
const wholeCap = (q: FeeQuestion, stake = q.stake): bigint =>
  (feeCap({ value: q.value, stake }) * BigInt(q.size)) / BigInt(q.sureSize ?? q.size);

/** The fee from which on daemons take a transaction of this size for a mistake. */
export const absurdFee = ({ relayPerKb, size }: Pick<FeeQuestion, "relayPerKb" | "size">): bigint =>
  (ABSURD_FACTOR * min(relayPerKb ?? DEFAULT_RELAY_PER_KB, DEFAULT_RELAY_PER_KB) * BigInt(size)) / 1_000n;

/**
 * The cap as far as daemons let anybody pay it. Past the deadline of a spend that only takes time, half the value may go: who has
 * waited in vain for low fees has higher ones for good. Whatever a backend says of rates, no more than the share is paid.
 */
export function payableCap(q: FeeQuestion): bigint {
  const isOverdue = q.stake === "time" && q.now >= q.deadline;
  const last = isOverdue ? min(goingFee(q), wholeCap(q, "race")) : 0n;
  const sane = q.mostPerTx ?? max((absurdFee(q) * 2n) / 5n, 2n * relayFee(q));
  return min(sane, max(wholeCap(q), last));
}

/** Doublings from `from` to at least `to`. */
function doublings(from: bigint, to: bigint): number {
  let n = 0;
  for (let fee = max(from, 1n); fee < to; fee *= 2n) n++;
  return n;
}

/**
 * The fee to pay now. It is the going fee at first. A ladder from what relays to the cap, each rung twice the one below,
 * is climbed with the square of the time used: a quarter of the rungs after half the time, all of them at the deadline.
 * Where the going fee is higher, that is paid. Never above the cap; never falling as time passes, blocks are missed or
 * rates rise.
 */
export function scheduledFee(q: FeeQuestion): bigint {
  const going = goingFee(q);
  const cap = payableCap(q);
  const span = BigInt(Math.max(1, Math.floor(q.deadline - q.since)));
  const used = min(span, BigInt(Math.max(0, Math.floor(q.now - q.since))));
  const rungs = BigInt(doublings(relayFee(q), cap));
  // Rungs still above: rungs * (1 - (used/span)^2), rounded up.
  const above = (rungs * (span * span - used * used) + span * span - 1n) / (span * span);
  const allowed = going << BigInt(UNPROVEN_DOUBLINGS + Math.min(64, Math.max(0, q.blocksMissed)));
  return min(cap, max(going, min(cap >> above, allowed)));
}

/**
 * The fee of the next version of a transaction, or null while the last one will do. A version pays half as much again as
 * the one before, and at least the step that lets it replace it (BIP-125 rules 3 and 4); only the last step, to the cap,
 * may be smaller. So no transaction has more than `MAX_VERSIONS` versions.
 * @param paid fee of the last version
 */
export function nextFee(q: FeeQuestion, paid: bigint): bigint | null {
  const wanted = scheduledFee(q);
  if (wanted <= paid) return null;
  const fee = min(max(wanted, max(paid + paid / 2n, paid + relayFee(q))), payableCap(q));
  return fee >= paid + relayFee(q) ? fee : null;
}

/**
 * Most versions of one transaction. A fee starts above 2^4 units (300 bytes at 100 units per 1000) and ends below 2^51
 * (21 million coins of 10^8 units): 47 doublings, in steps of half as much again 47 / log2(1.5) = 81. The rest is for
 * versions of a payment that came back under another id.
 */
export const MAX_VERSIONS = 100;

/**
 * The fee to pay at once where nothing can be added later: enough for a spike of 50 times the going rate, as long as that
 * costs no more than the premium; never less than the going fee.
 * @param value what the transaction moves
 */
export function upFrontFee(value: bigint, going: bigint): bigint {
  return max(going, min(going * SPIKE_FACTOR, value / PREMIUM_SHARE));
}

/**
 * Change worth keeping for a child that pays for its parent: what both would cost in a spike, less what the parent pays,
 * but never more than is paid to save a trade.
 * @param value what the parent locks
 * @param going going fee of parent and child together
 */
export function bumpReserve(value: bigint, going: bigint): bigint {
  return min(going * (SPIKE_FACTOR - 1n), feeCap({ value, stake: "trade" }));
}
