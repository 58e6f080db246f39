import type { EvmAddress } from "../../../src/core/evm/address.ts";
import { effectiveGasPrice, type GasBid, greatestFee } from "../../../src/core/evm/gas.ts";
import type { EvmTx, SignedEvmTx } from "../../../src/core/evm/tx.ts";
import type { CallRequest, Receipt } from "../../../src/ports/accountChain.ts";
import { type EvmLog, type Frame, type NativeContract, Revert } from "./evmCall.ts";
import type { EvmState } from "./evmState.ts";

/** What a transaction runs in. */
export type Surroundings = {
  readonly state: EvmState;
  readonly contracts: ReadonlyMap<EvmAddress, NativeContract>;
  readonly timeSec: number;
  /** Gas of every transaction beside its own, as on chains that write their data to another one. */
  readonly dataGas?: bigint;
};

export type MinedTx = {
  readonly signed: SignedEvmTx;
  readonly receipt: Receipt;
  readonly logs: readonly EvmLog[];
  /** What a reverted call gave back; null: it went well, or had too little gas. */
  readonly reason: Uint8Array | null;
  /** Wei it paid beside its gas. */
  readonly dataFee: bigint;
};

/** Who gets what is paid beside the base fee, and where the base fee goes. */
export const BLOCK_MAKER = "block maker";
export const BURNED = "burned";

const TX_GAS = 21_000n;
const ZERO_BYTE_GAS = 4n;
const BYTE_GAS = 16n;
/** Of the code of a call that fails; more is possible, and less. */
const REVERTED_GAS = 5_000n;

/** What a transaction costs before its first step; without access lists, which nobody here has. */
export const intrinsicGas = (data: Uint8Array): bigint => data.reduce((gas, byte) => gas + (byte === 0 ? ZERO_BYTE_GAS : BYTE_GAS), TX_GAS);

export const bidOf = (tx: EvmTx): GasBid =>
  tx.type === "eip1559"
    ? { kind: "eip1559", maxFeePerGas: tx.maxFeePerGas, maxPriorityFeePerGas: tx.maxPriorityFeePerGas }
    : { kind: "legacy", gasPrice: tx.gasPrice };

/** Wei that must be there before it can be in a block. */
export const upFront = (tx: EvmTx): bigint => tx.value + greatestFee(bidOf(tx), tx.gasLimit);

export type Ran =
  | { readonly ok: true; readonly output: Uint8Array; readonly gas: bigint; readonly logs: readonly EvmLog[] }
  | { readonly ok: false; readonly data: Uint8Array; readonly gas: bigint };

/** Carries out a call; what it did is in the state only if it ended well. Throws when `from` has less than `value`. */
export function runCall({ state, contracts, timeSec, dataGas = 0n }: Surroundings, { from, to, value, data }: CallRequest): Ran {
  const mark = state.mark();
  const gas = intrinsicGas(data) + dataGas;
  state.addWei(from, -value);
  state.addWei(to, value);
  const frame: Frame = { state, logs: [], timeSec: BigInt(timeSec), from, to, value, data };
  try {
    const ran = contracts.get(to)?.run(frame) ?? { output: new Uint8Array(0), gas: 0n };
    return { ok: true, output: ran.output, gas: gas + ran.gas, logs: frame.logs };
  } catch (cause) {
    state.rollback(mark);
    if (cause instanceof Revert) return { ok: false, data: cause.data, gas: gas + REVERTED_GAS };
    throw cause;
  }
}

/** Puts a transaction into the block that is being made; null when it cannot be in it. One that fails pays and uses its nonce. */
export function executeTx(around: Surroundings, signed: SignedEvmTx, baseFee: bigint, dataFee: bigint): MinedTx | null {
  const { state, dataGas = 0n } = around;
  const { tx, from } = signed;
  const price = effectiveGasPrice(bidOf(tx), baseFee);
  if (price === null || tx.to === null || tx.nonce !== state.nonce(from)) return null;
  if (state.wei(from) < upFront(tx) + dataFee || tx.gasLimit < intrinsicGas(tx.data) + dataGas) return null;
  state.addWei(from, -tx.gasLimit * price - dataFee);
  state.useNonce(from);
  const mark = state.mark();
  const ran = runCall(around, { from, to: tx.to, value: tx.value, data: tx.data });
  const isEnough = ran.gas <= tx.gasLimit;
  if (!isEnough) state.rollback(mark);
  const gasUsed = isEnough ? ran.gas : tx.gasLimit;
  state.addWei(from, (tx.gasLimit - gasUsed) * price);
  state.addWei(BLOCK_MAKER, gasUsed * (price - baseFee));
  state.addWei(BURNED, gasUsed * baseFee + dataFee);
  const succeeded = ran.ok && isEnough;
  const reason = isEnough && !ran.ok ? ran.data : null;
  return { signed, receipt: { succeeded, gasUsed, effectiveGasPrice: price }, logs: succeeded ? ran.logs : [], reason, dataFee };
}
