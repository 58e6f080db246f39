import type { ConfSettings } from "../../core/message/types.ts";
import type { Rational } from "../../core/money/rational.ts";

/**
 * One of this node's maker orders exactly as the network was last told: what trie roots, keep-alives and answers to
 * other nodes are made from. Volumes held by an open handshake are still counted, because peers count them too.
 */
export type OwnOrderView = {
  readonly uuid: string;
  /** Orderbook tickers, as in messages. */
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  /** Announced volume still available, base coins. */
  readonly maxVolume: Rational;
  readonly minVolume: Rational;
  /** Unix seconds of the last MakerOrderCreated; part of the trie leaf (reference p2p-wire.md sections 9 and 10). */
  readonly createdAt: number;
  readonly conf: ConfSettings;
  readonly baseProtocolInfo: Uint8Array;
  readonly relProtocolInfo: Uint8Array;
};

/** Own open, announced maker orders. */
export interface OwnOrders {
  /** In order of announcement. */
  orders(): readonly OwnOrderView[];
  /** Called after every change of what `orders` answers, and before the message about it is published. Returns the unsubscriber. */
  onChange(listener: () => void): () => void;
}
