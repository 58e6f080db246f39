import type { Result } from "../util/result.ts";
import { type BadMessage, decode, MAX_MESSAGE_BYTES } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import { readTicker, readUuidText } from "./wireShapes.ts";

/** What a taker tells watchers, reference swap-protocol.md 6.6. Times unix seconds, transaction hashes in display order. */
export type WatcherMessage = {
  readonly uuid: string;
  readonly secretHash: Uint8Array;
  /** Complete but for the secret. */
  readonly makerPaymentSpendPreimage: Uint8Array;
  /** Fully signed. */
  readonly takerPaymentRefundPreimage: Uint8Array;
  readonly swapStartedAt: number;
  readonly lockDuration: number;
  readonly takerCoin: string;
  readonly takerFeeHash: Uint8Array;
  readonly takerPaymentHash: Uint8Array;
  readonly takerCoinStartBlock: number;
  readonly takerPaymentConfirmations: number;
  readonly takerPaymentRequiresNota: boolean | null;
  readonly makerCoin: string;
  /** The maker's HTLC key on the maker coin. */
  readonly makerPub: Uint8Array;
  readonly makerPaymentHash: Uint8Array;
  readonly makerCoinStartBlock: number;
};

const VARIANTS = ["TakerSwapWatcherMsg"] as const;
const FIELDS = 16;
/** Hashes and keys; 32 and 33 bytes on the chains known. */
const MAX_HASH_BYTES = 64;

/** Payload of the signed envelope on `swpwtchr/<TICKER>`. */
export function encodeWatcherMessage(m: WatcherMessage): Uint8Array {
  const w = new MsgpackWriter();
  w.variant(0).array(FIELDS).str(m.uuid).ints(m.secretHash);
  w.ints(m.makerPaymentSpendPreimage).ints(m.takerPaymentRefundPreimage);
  w.uint(m.swapStartedAt).uint(m.lockDuration).str(m.takerCoin);
  w.ints(m.takerFeeHash).ints(m.takerPaymentHash);
  w.uint(m.takerCoinStartBlock).uint(m.takerPaymentConfirmations);
  if (m.takerPaymentRequiresNota === null) w.nil();
  else w.bool(m.takerPaymentRequiresNota);
  w.str(m.makerCoin).ints(m.makerPub).ints(m.makerPaymentHash).uint(m.makerCoinStartBlock);
  return w.finish();
}

export function parseWatcherMessage(bytes: Uint8Array): Result<WatcherMessage, BadMessage> {
  return decode(bytes, (r): WatcherMessage => {
    r.variant(VARIANTS);
    r.body(FIELDS);
    return {
      uuid: readUuidText(r),
      secretHash: r.ints(MAX_HASH_BYTES),
      makerPaymentSpendPreimage: r.ints(MAX_MESSAGE_BYTES),
      takerPaymentRefundPreimage: r.ints(MAX_MESSAGE_BYTES),
      swapStartedAt: r.uint(),
      lockDuration: r.uint(),
      takerCoin: readTicker(r),
      takerFeeHash: r.ints(MAX_HASH_BYTES),
      takerPaymentHash: r.ints(MAX_HASH_BYTES),
      takerCoinStartBlock: r.uint(),
      takerPaymentConfirmations: r.uint(),
      takerPaymentRequiresNota: r.nil() ? null : r.bool(),
      makerCoin: readTicker(r),
      makerPub: r.ints(MAX_HASH_BYTES),
      makerPaymentHash: r.ints(MAX_HASH_BYTES),
      makerCoinStartBlock: r.uint(),
    };
  });
}
