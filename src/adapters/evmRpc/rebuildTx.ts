import { keccak_256 } from "@noble/hashes/sha3.js";
import type { EvmSignature, EvmTx } from "../../core/evm/tx.ts";
import { serializeEvmTx, V_EIP155, V_OLD } from "../../core/evm/txFields.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import type { TxAnswer } from "./answers.ts";

function legacy(answer: TxAnswer, v: bigint): { readonly tx: EvmTx; readonly yParity: bigint } | null {
  const { gasPrice } = answer;
  if (gasPrice === undefined || gasPrice === null) return null;
  const common = { type: "legacy", ...fieldsOf(answer), gasPrice } as const;
  if (v === V_OLD || v === V_OLD + 1n) return { tx: { ...common, chainId: null }, yParity: v - V_OLD };
  if (v < V_EIP155) return null;
  return { tx: { ...common, chainId: (v - V_EIP155) / 2n }, yParity: (v - V_EIP155) % 2n };
}

const fieldsOf = ({ nonce, gas, to, value, input }: TxAnswer) => ({ nonce, gasLimit: gas, to: to ?? null, value, data: input });

function typed(answer: TxAnswer): EvmTx | null {
  const { chainId, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = answer;
  if (chainId === undefined || chainId === null) return null;
  const accessList = (answer.accessList ?? []).map(({ address, storageKeys }) => ({ address, storageKeys: storageKeys.map(fromHex) }));
  const common = { ...fieldsOf(answer), chainId, accessList };
  if (answer.type === 1) return gasPrice === undefined || gasPrice === null ? null : { ...common, type: "eip2930", gasPrice };
  if (answer.type !== 2 || maxFeePerGas == null || maxPriorityFeePerGas == null) return null;
  return { ...common, type: "eip1559", maxFeePerGas, maxPriorityFeePerGas };
}

const parity = (value: bigint | null | undefined): 0 | 1 | null => (value === 0n ? 0 : value === 1n ? 1 : null);

/**
 * The signed bytes of a transaction from its fields as `eth_getTransactionByHash` answers them, proven by their hash. Null when
 * they do not give the id: another type, or fields that are not its own.
 */
export function rebuildTx(answer: TxAnswer, txid: string): Uint8Array | null {
  const v = answer.v ?? answer.yParity ?? 0n;
  const isLegacy = answer.type === undefined || answer.type === null || answer.type === 0;
  const old = isLegacy ? legacy(answer, v) : null;
  const tx = isLegacy ? old?.tx : typed(answer);
  const yParity = isLegacy ? parity(old?.yParity) : parity(answer.yParity ?? answer.v);
  if (tx === undefined || tx === null || yParity === null) return null;
  const signature: EvmSignature = { r: answer.r, s: answer.s, yParity };
  const raw = serializeEvmTx(tx, signature);
  return isTxOf(raw, txid) ? raw : null;
}

/** Whether the bytes have this id. */
export const isTxOf = (raw: Uint8Array, txid: string): boolean => toHex(keccak_256(raw)) === txid;
