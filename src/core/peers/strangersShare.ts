/** Funds of one coin that wait for a counterparty who has paid nothing yet: an open handshake, or a swap before its fee. Base units. */
export type OpenHold = { readonly peer: string; readonly units: bigint; readonly orderUuid: string };

/** A taker's request for funds of a maker order. Base units. */
export type ShareAsk = OpenHold & {
  /** What the order can still sell, holds not counted. */
  readonly orderAvailable: bigint;
  readonly spendable: bigint;
  readonly held: readonly OpenHold[];
  /** What history vouches for, per key. */
  readonly trusted: (peer: string) => bigint;
  readonly throttled: boolean;
};

/** `alone`: more than a share, for want of anybody else: of the order, or of the whole balance. */
export type ShareVerdict =
  | { readonly kind: "within" }
  | { readonly kind: "alone"; readonly of: "order" | "balance" }
  | { readonly kind: "refused"; readonly reason: "key_share" | "strangers_share" | "throttled" };

/** Keys without history together, and any one key, hold at most one part in so many; a throttled key one in so many. */
export const SHARE_DIVISOR = 2n;
const THROTTLED_DIVISOR = 8n;

const sum = (holds: readonly Pick<OpenHold, "units">[]): bigint => holds.reduce((all, { units }) => all + units, 0n);

/** What all keys hold beyond what their history vouches for. */
export function heldByStrangers(holds: readonly OpenHold[], trusted: (peer: string) => bigint): bigint {
  const perPeer = new Map<string, bigint>();
  for (const { peer, units } of holds) perPeer.set(peer, (perPeer.get(peer) ?? 0n) + units);
  let strange = 0n;
  for (const [peer, units] of perPeer) if (units > trusted(peer)) strange += units - trusted(peer);
  return strange;
}

/**
 * Whether a request may hold funds before its taker has paid anything. Handshakes and swaps up to the fee cost a taker
 * nothing and keys are free, so that all keys without history together hold at most half of a balance and half of an
 * order, and one key never more than half; the rest stays for keys with history. A request that finds nothing open may
 * have more, or large orders could never be matched whole: the caller bounds how often.
 */
export function shareOf(ask: ShareAsk): ShareVerdict {
  const { peer, units, orderUuid, held, spendable, trusted } = ask;
  const own = sum(held.filter((h) => h.peer === peer)) + units;
  if (ask.throttled && THROTTLED_DIVISOR * own > spendable) return { kind: "refused", reason: "throttled" };
  const ofOrder = held.filter((h) => h.orderUuid === orderUuid);
  const keyFits = SHARE_DIVISOR * own <= spendable;
  const balanceFits = keyFits && SHARE_DIVISOR * heldByStrangers([...held, ask], trusted) <= spendable;
  const orderFits = SHARE_DIVISOR * heldByStrangers([...ofOrder, ask], trusted) <= ask.orderAvailable + sum(ofOrder);
  if (balanceFits && orderFits) return { kind: "within" };
  if (!balanceFits && held.length > 0) return { kind: "refused", reason: keyFits ? "strangers_share" : "key_share" };
  if (!orderFits && ofOrder.length > 0) return { kind: "refused", reason: "strangers_share" };
  return { kind: "alone", of: balanceFits ? "order" : "balance" };
}

/** A request for one more match of a coin whose balance can be cut into so many payments only. */
export type MatchAsk = {
  readonly peer: string;
  /** What is open, in the order it came. */
  readonly held: readonly { readonly peer: string }[];
  /** For how many matches at a time history vouches, per key. */
  readonly vouched: (peer: string) => number;
  /** Whether there is room for this match, and for so many more beside it. */
  readonly hasRoom: (more: number) => boolean;
};

/**
 * The same for the number of payments: unconfirmed ones hang on each other's change, and nodes relay short chains only, so that tiny requests
 * would use up all that one large output can serve. After a match of a key without history as many more are possible as such keys hold.
 */
export function matchShareOf({ peer, held, vouched, hasRoom }: MatchAsk): ShareVerdict {
  const counts = new Map<string, number>();
  let strange = 0;
  for (const hold of held) {
    const count = (counts.get(hold.peer) ?? 0) + 1;
    counts.set(hold.peer, count);
    if (count > vouched(hold.peer)) strange++;
  }
  if ((counts.get(peer) ?? 0) < vouched(peer) || hasRoom(strange + 1)) return { kind: "within" };
  return strange > 0 ? { kind: "refused", reason: "strangers_share" } : { kind: "alone", of: "balance" };
}

/** A match's fees of one balance, which wait as `OpenHold`s do. Base units of that balance. */
export type FeeHold = { readonly peer: string; readonly units: bigint };

/** A request for fees of a balance. */
export type FeeAsk = FeeHold & {
  readonly balance: bigint;
  /** In the order they came. */
  readonly held: readonly FeeHold[];
  /** For how many matches at a time history vouches, per key. */
  readonly vouched: (peer: string) => number;
  readonly throttled: boolean;
};

/**
 * The same for a balance that pays fees. Each match holds those of all its steps whatever its amount, so that tiny requests would tie up all
 * of it: history is counted in matches here, and no amounts of coins vouch for gas. A key's own first match within them is never kept
 * waiting for what others hold.
 */
export function feeShareOf(ask: FeeAsk): ShareVerdict {
  const { peer, units, balance, held, vouched } = ask;
  const counts = new Map<string, number>();
  let [strange, own] = [0n, 0n];
  for (const hold of held) {
    const count = (counts.get(hold.peer) ?? 0) + 1;
    counts.set(hold.peer, count);
    if (count > vouched(hold.peer)) strange += hold.units;
    if (hold.peer === peer) own += hold.units;
  }
  if (ask.throttled && THROTTLED_DIVISOR * (own + units) > balance) return { kind: "refused", reason: "throttled" };
  const keyFits = SHARE_DIVISOR * (own + units) <= balance;
  if ((counts.get(peer) ?? 0) < vouched(peer)) return keyFits || own === 0n ? { kind: "within" } : { kind: "refused", reason: "key_share" };
  if (keyFits && SHARE_DIVISOR * (strange + units) <= balance) return { kind: "within" };
  if (strange > 0n || own > 0n) return { kind: "refused", reason: keyFits ? "strangers_share" : "key_share" };
  return { kind: "alone", of: "balance" };
}
