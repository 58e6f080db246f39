import { ZERO_ADDRESS } from "../../../core/evm/address.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** As long as the longest call of a swap, and of bytes that no compression makes fewer: what data costs elsewhere goes by that. */
const SAMPLE = Uint8Array.from({ length: 196 }, (_, i) => ((i * 167 + 91) % 255) + 1);
/** A transfer with it costs no more on a chain of its own: 21,000, 40 a byte (EIP-7623), and what nodes are inexact by. */
const USUAL_GAS = ((21_000n + 40n * BigInt(SAMPLE.length)) * 102n) / 100n;
/** What is asked there may have doubled by the block of the transaction; what is not needed is not paid. */
export const DATA_GAS_ROOM = 2n;

/**
 * Gas that every transaction needs beside what its call does, because the chain writes its data to another one and counts that as gas
 * (Arbitrum does). It is found by a transfer of nothing to nobody with data of the same length: a claim itself cannot be estimated
 * without showing its secret, and one with too little gas shows it and earns nothing. Null: the nodes do not say.
 */
export async function dataGas({ chain, address }: Pick<EvmAccount, "chain" | "address">, signal: AbortSignal): Promise<bigint | null> {
  const tried = await chain.estimateGas({ from: address, to: ZERO_ADDRESS, value: 0n, data: SAMPLE }, signal);
  if (!tried.ok) return null;
  return tried.value > USUAL_GAS ? (tried.value - USUAL_GAS) * DATA_GAS_ROOM : 0n;
}
