import { toHex } from "../util/bytes.ts";
import { SELECTOR_BYTES } from "./abi.ts";

/** Errors of the swap contract of this node (contracts/SwapnodeSwap.sol) by selector, each a part of a sentence. */
const REASONS: Readonly<Record<string, string>> = {
  "1f2a2005": "ZeroAmount, the amount is zero",
  "0973c8b6": "ReceiverRefused, nobody could ever be paid there",
  "65d472ed": "IdUsed, the payment's id was used before",
  ddafad98: "NotOpen, no payment is open under the id",
  "73d1194c": "WrongTerms, the terms are not those of the payment",
  "085de625": "TooEarly, the lock time is not reached",
  "5619382c": "TokenRefused, the token's transfer failed or answered false",
  ea8ad658: "TokenAmountDiffers, a transfer of the token does not bring exactly its amount, as with a fee on transfers",
  f2766f49: "PayoutRefused, the account to be paid did not accept the coins",
  b5dfd9e5: "Reentered, the token called back in the middle of a transfer",
};

/** What the swap contract says of a call that would fail, from the data it returned; null: none of its own errors. */
export function swapRevertReason(data: Uint8Array | null): string | null {
  return data?.length === SELECTOR_BYTES ? (REASONS[toHex(data)] ?? null) : null;
}
