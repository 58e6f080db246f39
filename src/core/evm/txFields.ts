import { concatBytes } from "../util/bytes.ts";
import { addressBytes } from "./address.ts";
import { encodeRlp, type RlpItem, rlpUint } from "./rlp.ts";
import type { AccessList, EvmSignature, EvmTx } from "./tx.ts";

/** First byte of a typed transaction (EIP-2718); a legacy one begins with an RLP list, 0xc0 or above. */
export const TYPE_BYTES = { eip2930: 1, eip1559: 2 } as const;
/** `v` of a signature without, and with, a chain id (EIP-155). */
export const V_OLD = 27n;
export const V_EIP155 = 35n;

const accessListItem = (list: AccessList): RlpItem => list.map((entry) => [addressBytes(entry.address), entry.storageKeys]);

function fieldsOf(tx: EvmTx): RlpItem[] {
  const target: RlpItem[] = [tx.to === null ? new Uint8Array(0) : addressBytes(tx.to), rlpUint(tx.value), tx.data];
  if (tx.type === "legacy") return [rlpUint(tx.nonce), rlpUint(tx.gasPrice), rlpUint(tx.gasLimit), ...target];
  const price = tx.type === "eip2930" ? [rlpUint(tx.gasPrice)] : [rlpUint(tx.maxPriorityFeePerGas), rlpUint(tx.maxFeePerGas)];
  return [rlpUint(tx.chainId), rlpUint(tx.nonce), ...price, rlpUint(tx.gasLimit), ...target, accessListItem(tx.accessList)];
}

const typed = (tx: EvmTx, fields: RlpItem[]): Uint8Array =>
  tx.type === "legacy" ? encodeRlp(fields) : concatBytes(Uint8Array.of(TYPE_BYTES[tx.type]), encodeRlp(fields));

/** The bytes whose Keccak-256 is signed. */
export function signingBytes(tx: EvmTx): Uint8Array {
  const fields = fieldsOf(tx);
  const bound = tx.type === "legacy" && tx.chainId !== null ? [rlpUint(tx.chainId), rlpUint(0n), rlpUint(0n)] : [];
  return typed(tx, [...fields, ...bound]);
}

function recoveryValue(tx: EvmTx, yParity: 0 | 1): bigint {
  if (tx.type !== "legacy") return BigInt(yParity);
  return BigInt(yParity) + (tx.chainId === null ? V_OLD : V_EIP155 + 2n * tx.chainId);
}

/** The transaction as it goes over the wire. */
export function serializeEvmTx(tx: EvmTx, { r, s, yParity }: EvmSignature): Uint8Array {
  return typed(tx, [...fieldsOf(tx), rlpUint(recoveryValue(tx, yParity)), rlpUint(r), rlpUint(s)]);
}
