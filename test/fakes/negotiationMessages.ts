import type { NegotiationData, SwapMessage } from "../../src/core/message/types.ts";
import { makerLock, takerLock } from "../../src/core/swap/timelocks.ts";

/** No point of the curve has this X coordinate. */
export const NO_POINT = Uint8Array.from({ length: 33 }, (_, i) => (i === 0 ? 2 : i === 32 ? 5 : 0));

const NO_CONTRACTS = { makerCoinContract: new Uint8Array(), takerCoinContract: new Uint8Array() } as const;

type Data<V> = Extract<NegotiationData, { version: V }>;
export type OfferData = Data<3>;
export type ReplyData = Data<2>;

/** `nowSec`: when its writer's swap started; `lockSec`: seconds the taker's payment is locked; `key`: its writer's. */
type Said = { readonly nowSec: number; readonly lockSec: number; readonly key: Uint8Array; readonly secretHash: Uint8Array };

/** A maker's offer, right but for what is changed. Its lock follows from when it started. */
export function offerMessage({ nowSec, lockSec, key, secretHash }: Said, change: Partial<OfferData> = {}): SwapMessage {
  const startedAt = change.startedAt ?? nowSec;
  const data: OfferData = {
    version: 3,
    startedAt,
    paymentLocktime: makerLock(startedAt, lockSec),
    secretHash,
    ...NO_CONTRACTS,
    makerCoinHtlcPub: key,
    takerCoinHtlcPub: key,
    ...change,
  };
  return { type: "Negotiation", data };
}

/** A taker's answer, right but for what is changed. Its lock follows from when it started. */
export function replyMessage({ nowSec, lockSec, key, secretHash }: Said, change: Partial<ReplyData> = {}): SwapMessage {
  const startedAt = change.startedAt ?? nowSec;
  const data: ReplyData = {
    version: 2,
    startedAt,
    paymentLocktime: takerLock(startedAt, lockSec),
    secretHash,
    persistentPubkey: key,
    ...NO_CONTRACTS,
    ...change,
  };
  return { type: "NegotiationReply", data };
}
