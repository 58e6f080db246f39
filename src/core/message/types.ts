import type { Rational } from "../money/rational.ts";

/** Whether and how deep each side's payments must be confirmed. Confirmations: 0 or more. */
export type ConfSettings = {
  readonly baseConfs: number;
  readonly baseNota: boolean;
  readonly relConfs: number;
  readonly relNota: boolean;
};

export type TakerAction = "Buy" | "Sell";

/** Restriction of a taker request. Uuids in lower-case text; keys are 32-byte X coordinates in hex. */
export type MatchBy =
  | { readonly type: "Any" }
  | { readonly type: "Orders"; readonly data: readonly string[] }
  | { readonly type: "Pubkeys"; readonly data: readonly string[] };

/** Bodies of the order messages, reference p2p-wire.md section 9. All times unix seconds, uuids lower-case text. */
export type MakerOrderCreated = {
  readonly uuid: string;
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  readonly maxVolume: Rational;
  readonly minVolume: Rational;
  readonly createdAt: number;
  readonly conf: ConfSettings;
  readonly timestamp: number;
  /** 8 bytes; KDF sends zeros here */
  readonly pairTrieRoot: Uint8Array;
  readonly baseProtocolInfo: Uint8Array;
  readonly relProtocolInfo: Uint8Array;
};

export type MakerOrderUpdated = {
  readonly uuid: string;
  readonly newPrice: Rational | null;
  readonly newMaxVolume: Rational | null;
  readonly newMinVolume: Rational | null;
  readonly timestamp: number;
  readonly pairTrieRoot: Uint8Array;
  /** `undefined`: the old six-field form (V1), which has no such field; `null`: V2 without a change. */
  readonly conf: ConfSettings | null | undefined;
};

export type PubkeyKeepAlive = {
  /** alphabetically ordered pair `BASE:REL` → 8-byte root, in message order */
  readonly trieRoots: readonly (readonly [pair: string, root: Uint8Array])[];
  readonly timestamp: number;
};

export type MakerOrderCancelled = { readonly uuid: string; readonly timestamp: number; readonly pairTrieRoot: Uint8Array };

export type TakerRequest = {
  readonly base: string;
  readonly rel: string;
  readonly baseAmount: Rational;
  readonly relAmount: Rational;
  readonly action: TakerAction;
  readonly uuid: string;
  readonly matchBy: MatchBy;
  readonly conf: ConfSettings;
  /** Of the request's own base and rel coins; absent in messages of very old nodes. */
  readonly baseProtocolInfo?: Uint8Array;
  readonly relProtocolInfo?: Uint8Array;
  /** 1 = legacy swap, left out on the wire. */
  readonly swapVersion: number;
};

/** `base` and `rel` are the maker's. The swap's amounts are exactly these. */
export type MakerReserved = {
  readonly base: string;
  readonly rel: string;
  readonly baseAmount: Rational;
  readonly relAmount: Rational;
  readonly takerOrderUuid: string;
  readonly makerOrderUuid: string;
  readonly conf: ConfSettings;
  readonly baseProtocolInfo?: Uint8Array;
  readonly relProtocolInfo?: Uint8Array;
  readonly swapVersion: number;
};

export type OrderPair = { readonly takerOrderUuid: string; readonly makerOrderUuid: string };

export type OrderMessage =
  | { readonly type: "MakerOrderCreated"; readonly body: MakerOrderCreated }
  | { readonly type: "MakerOrderUpdated"; readonly body: MakerOrderUpdated }
  | { readonly type: "PubkeyKeepAlive"; readonly body: PubkeyKeepAlive }
  | { readonly type: "MakerOrderCancelled"; readonly body: MakerOrderCancelled }
  | { readonly type: "TakerRequest"; readonly body: TakerRequest }
  | { readonly type: "MakerReserved"; readonly body: MakerReserved }
  | { readonly type: "TakerConnect"; readonly body: OrderPair }
  | { readonly type: "MakerConnected"; readonly body: OrderPair };

/** Negotiation data of the legacy swap (reference swap-protocol.md 1.5). Times unix seconds. */
export type NegotiationData =
  | {
      readonly version: 1;
      readonly startedAt: number;
      readonly paymentLocktime: number;
      readonly secretHash: Uint8Array;
      readonly persistentPubkey: Uint8Array;
    }
  | {
      readonly version: 2;
      readonly startedAt: number;
      readonly paymentLocktime: number;
      readonly secretHash: Uint8Array;
      readonly persistentPubkey: Uint8Array;
      readonly makerCoinContract: Uint8Array;
      readonly takerCoinContract: Uint8Array;
    }
  | {
      readonly version: 3;
      readonly startedAt: number;
      readonly paymentLocktime: number;
      readonly secretHash: Uint8Array;
      readonly makerCoinContract: Uint8Array;
      readonly takerCoinContract: Uint8Array;
      readonly makerCoinHtlcPub: Uint8Array;
      readonly takerCoinHtlcPub: Uint8Array;
    };

/** `instructions` absent = the Regular form. `data` empty = no dex fee due. */
export type SwapTxData = { readonly data: Uint8Array; readonly instructions?: Uint8Array };

export type SwapMessage =
  | { readonly type: "Negotiation"; readonly data: NegotiationData }
  | { readonly type: "NegotiationReply"; readonly data: NegotiationData }
  | { readonly type: "Negotiated"; readonly accepted: boolean }
  | { readonly type: "TakerFee"; readonly tx: SwapTxData }
  | { readonly type: "MakerPayment"; readonly tx: SwapTxData }
  | { readonly type: "TakerPayment"; readonly tx: Uint8Array };

/** One order as it stands in a relay's answer; 8-element array on the wire. */
export type OrderbookItem = {
  /** compressed key, 66 hex */
  readonly pubkey: string;
  readonly base: string;
  readonly rel: string;
  readonly price: Rational;
  readonly maxVolume: Rational;
  readonly minVolume: Rational;
  readonly uuid: string;
  readonly createdAt: number;
};
