import type { EvmAddress } from "./address.ts";

/** EIP-2930. Storage keys are 32 bytes. */
export type AccessList = readonly { readonly address: EvmAddress; readonly storageKeys: readonly Uint8Array[] }[];

type CommonFields = {
  /** Below 2^64 - 1 (EIP-2681). */
  readonly nonce: bigint;
  readonly gasLimit: bigint;
  /** Null creates a contract. */
  readonly to: EvmAddress | null;
  /** Wei. */
  readonly value: bigint;
  readonly data: Uint8Array;
};

/** The form before EIP-2718. `chainId` (EIP-155) is null only in old transactions that could be repeated on any chain: none of ours. */
export type LegacyTx = CommonFields & { readonly type: "legacy"; readonly chainId: bigint | null; readonly gasPrice: bigint };
export type AccessListTx = CommonFields & {
  readonly type: "eip2930";
  readonly chainId: bigint;
  readonly gasPrice: bigint;
  readonly accessList: AccessList;
};
export type FeeMarketTx = CommonFields & {
  readonly type: "eip1559";
  readonly chainId: bigint;
  /** Wei per gas, the base fee included. */
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly accessList: AccessList;
};

export type EvmTx = LegacyTx | AccessListTx | FeeMarketTx;

/** The same with a chain id: what may be signed here. */
export type SignableTx = (LegacyTx & { readonly chainId: bigint }) | AccessListTx | FeeMarketTx;

export type EvmSignature = { readonly r: bigint; readonly s: bigint; readonly yParity: 0 | 1 };

export type SignedEvmTx = {
  readonly tx: EvmTx;
  readonly signature: EvmSignature;
  /** Recovered from the signature. */
  readonly from: EvmAddress;
  /** Keccak-256 of `raw`, lower-case hex. */
  readonly txid: string;
  readonly raw: Uint8Array;
};
