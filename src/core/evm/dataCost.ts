import { concatBytes, fromHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { decodeWords, encodeCall, encodeWords, WORD_BYTES } from "./abi.ts";
import { type EvmAddress, parseAnyCaseAddress } from "./address.ts";

/**
 * What a chain that writes its data to another one takes for a transaction as long as the longest of this node, as the chain tells it.
 * - `gas`: what a transfer of nothing with such data needs. Some count the data as gas (Arbitrum).
 * - `sureGas`: as much of that as as many nodes as must agree say; absent: all of it.
 * - `wei`: what is taken from the sender's balance beside gas times price (OP stack, Scroll); 0 on all others.
 */
export type DataCost = { readonly gas: bigint; readonly sureGas?: bigint; readonly wei: bigint };

export type DataCostFault = { readonly kind: "BadDataCost"; readonly detail: string };

const MIXED = (_: unknown, i: number): number => ((i * 167 + 91) % 255) + 1;
/** As long as the longest call of a swap, and of bytes that no compression makes fewer: what data costs elsewhere goes by that. */
export const CALL_SAMPLE = Uint8Array.from({ length: 196 }, MIXED);
/** As long as the longest transaction of a swap before it is signed; the oracle adds the signature itself. */
const TX_SAMPLE = Uint8Array.from({ length: 320 }, MIXED);
/** A transaction that is signed has so many bytes at most. */
export const SAMPLE_BYTES = TX_SAMPLE.length + 68;
/** More than the usual limit of any transaction of a swap. */
const SAMPLE_GAS = 250_000n;

/** A transfer with so many bytes costs no more on a chain of its own: 21,000, 40 a byte (EIP-7623), and what nodes are inexact by. */
const plainGas = (bytes: number): bigint => ((21_000n + 40n * BigInt(bytes)) * 102n) / 100n;
const PLAIN_GAS = plainGas(CALL_SAMPLE.length);

/** Gas that data needs beside what a chain of its own takes, at least, where a transfer of nothing with so many bytes needs `gas`. */
export function gasBeside({ gas }: Pick<DataCost, "gas">, bytes = CALL_SAMPLE.length): bigint {
  const plain = plainGas(bytes);
  return gas > plain ? gas - plain : 0n;
}
/** Gas that the data of one transaction needs now, above which nothing is begun. */
export const MOST_BESIDE = 750_000n;
/** What the transfer with the sample needs where data needs so much beside. */
export const sampleGas = (beside: bigint): bigint => PLAIN_GAS + beside;

function addressOf(text: string): EvmAddress {
  const address = parseAnyCaseAddress(text);
  if (!address.ok) throw new Error(`${text} is no address`);
  return address.value;
}

/** `GasPriceOracle`, which every chain of the OP stack has at this address (OP stack specification, predeploys), and no other chain. */
export const FEE_ORACLE = addressOf("0x420000000000000000000000000000000000000f");
/** `L1GasPriceOracle`, which Scroll and its kin have at this address (Scroll documentation, predeploys): another place, the same question. */
export const SCROLL_ORACLE = addressOf("0x5300000000000000000000000000000000000002");
/** `ArbSys`, which has code on every Arbitrum chain (Arbitrum documentation, precompiles). What data needs there may be little today. */
export const ARB_SYS = addressOf("0x0000000000000000000000000000000000000064");

/** `getL1Fee(bytes)`: there from Bedrock on, in every later version. `getL1FeeUpperBound(uint256)` is only since Fjord. */
const L1_FEE_SELECTOR = "49948e0e";
/** `getOperatorFee(uint256)`, since Isthmus; older ones refuse it. */
const OPERATOR_FEE_SELECTOR = "275aedd2";

/** What is asked of the oracle about the data. */
export function l1FeeCall(): Uint8Array {
  const padding = new Uint8Array((WORD_BYTES - (TX_SAMPLE.length % WORD_BYTES)) % WORD_BYTES);
  const head = encodeWords(["uint256", "uint256"], [BigInt(WORD_BYTES), BigInt(TX_SAMPLE.length)]);
  return concatBytes(fromHex(L1_FEE_SELECTOR), head, TX_SAMPLE, padding);
}
/** What is asked of it about the operator. */
export const operatorFeeCall = (): Uint8Array => encodeCall(OPERATOR_FEE_SELECTOR, ["uint256"], [SAMPLE_GAS]);

/** Most that is believed to be a figure at all: more wei than there are of any coin. */
const MOST_WEI = 1n << 128n;

/** One answer of the oracle. No bytes: there is no oracle. */
export function parseOracleFee(answer: Uint8Array): Result<bigint, DataCostFault> {
  if (answer.length === 0) return ok(0n);
  const word = decodeWords(answer, ["uint256"]);
  if (!word.ok) return err({ kind: "BadDataCost", detail: `the fee oracle answered ${answer.length} bytes` });
  return word.value[0] < MOST_WEI
    ? ok(word.value[0])
    : err({ kind: "BadDataCost", detail: "the fee oracle named more wei than there are" });
}
