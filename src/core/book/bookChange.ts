/** Why the book does not take what a message or answer says. */
export type BookRefusal =
  | "own_key"
  | "not_followed"
  | "bad_ticker"
  /** The time in the message is more than a minute from ours. */
  | "stale"
  /** The maker has said something newer about this order. */
  | "superseded"
  | "recently_cancelled"
  | "unknown_order"
  | "long_numbers"
  | "full";

export type BookChange =
  | { readonly kind: "stored" }
  | { readonly kind: "removed" }
  | { readonly kind: "refused"; readonly reason: BookRefusal };

export type KeepAliveOutcome =
  | { readonly kind: "refused"; readonly reason: BookRefusal }
  /** `differing`: followed pairs whose announced root is not the one held here; ask for these. */
  | { readonly kind: "alive"; readonly differing: readonly AnnouncedRoot[] };

/** What a key said about its orders in a pair, signed. */
export type AnnouncedRoot = {
  readonly pair: string;
  readonly root: Uint8Array;
  /** Time in the message, unix seconds. */
  readonly timestamp: number;
};

export const refused = (reason: BookRefusal): { readonly kind: "refused"; readonly reason: BookRefusal } => ({ kind: "refused", reason });
