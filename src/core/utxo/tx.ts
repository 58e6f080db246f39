/** Reference to an output: `txid` in display order (byte-reversed hash, lower-case hex). */
export type OutPoint = { readonly txid: string; readonly vout: number };

export type TxInput = OutPoint & {
  readonly scriptSig: Uint8Array;
  /** u32 */
  readonly sequence: number;
  /** Empty for a non-witness input. */
  readonly witness: readonly Uint8Array[];
};

export type TxOutput = {
  /** Base units, 0 or more. */
  readonly value: bigint;
  readonly script: Uint8Array;
};

/**
 * Overwinter/Sapling v4 fields (ZIP-202, ZIP-243). Shielded parts are kept as raw bytes: we never make them,
 * we only re-serialise what a daemon gave us, and read what signatures of others cover.
 */
export type SaplingFields = {
  /** u32, 0x892f2085 for v4 */
  readonly versionGroupId: number;
  /** u32; 0 = none */
  readonly expiryHeight: number;
  /** i64 */
  readonly valueBalance: bigint;
  /** Everything from the shielded-spend count to the end of the transaction, as serialised; `00 00 00` when transparent only. */
  readonly shieldedTail: Uint8Array;
};

/** Confirmations after which what came out of Litecoin's extension block can be spent (`PEGOUT_MATURITY`; litecoind 0.21.2 takes it from the sixth on). */
export const PEG_OUT_CONFS = 6;

/** One transaction of a Bitcoin-like chain. */
export type Tx = {
  /** i32 as u32, without the overwinter bit */
  readonly version: number;
  readonly sapling?: SaplingFields;
  /** JoinSplit part of a Sprout (v2) transaction as serialised, on chains of the Zcash family; absent elsewhere. */
  readonly sproutTail?: Uint8Array;
  /** Litecoin's block-final transaction that moves the extension block's balance (LIP-3); absent elsewhere. */
  readonly hogEx?: boolean;
  /** What a Litecoin transaction in the mempool carries for the extension block (LIP-3), as serialised; no part of its id, left out in blocks. */
  readonly mwebData?: Uint8Array;
  /** Payload of a typed transaction of the Dash family (DIP-2), without its length; absent elsewhere. */
  readonly extraPayload?: Uint8Array;
  /** Pays coins out of Dash's platform, and may be signed anew without another id (DIP-27): that leaves out the last bytes of the payload. */
  readonly isSignedBeside?: boolean;
  readonly inputs: readonly TxInput[];
  readonly outputs: readonly TxOutput[];
  /** u32: height below 500,000,000, else unix seconds (BIP-65). */
  readonly lockTime: number;
};
