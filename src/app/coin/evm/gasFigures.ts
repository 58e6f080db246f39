// Gas of claims and refunds. Each figure is of one kind, so that none is taken for another: what a call needs has no data in it, what nodes estimate
// and what a version is signed with has. Only the functions here lead from one kind to another.

import { MOST_BESIDE } from "../../../core/evm/dataCost.ts";

declare const KIND: unique symbol;
type Figure<K extends string> = bigint & { readonly [KIND]: K };

/** Of a call, the data of its transaction left out: what is usual for its kind, and what a try found it to need. */
export type CallGas = Figure<"call">;
/** For the data of one transaction, with room to rise (`DATA_ROOM`); 0 where a chain counts no data as gas. */
export type DataGas = Figure<"data">;
/** Of a whole transaction, its data in it: what nodes estimate, and what one is signed with. */
export type TxGas = Figure<"tx">;

const figure = <K extends string>(gas: bigint): Figure<K> => gas as Figure<K>;

/** Limits of KDF or of a coin's entry, and what was noted of a call: data is beside them. */
export const callGas = (gas: bigint): CallGas => figure(gas);
/** Nothing was found, or there is no such thing. */
export const NO_GAS: CallGas = callGas(0n);
/** A node's estimate, or the limit of a signed transaction. */
export const txGas = (gas: bigint): TxGas => figure(gas);

/**
 * What is asked for data now may have doubled by the block of the transaction: prices of the other chain rise by an eighth in each of its
 * blocks at most, so for six of them, as bids of gas are made to last. What is not needed is not paid.
 */
export const DATA_ROOM = 2n;
/** What data needs now, with that room. */
export const withRoom = (gas: bigint): DataGas => figure(gas * DATA_ROOM);
/** Gas for the data of one transaction, with that room, above which nothing is begun. */
export const MOST_DATA_GAS = withRoom(MOST_BESIDE);
export const NO_DATA: DataGas = withRoom(0n);

/** What was tried now is made in another block, hundredths. */
const MARGIN_PERCENT = 130n;
/** Ten times the usual limit: beyond it the token does something nobody agreed on. */
const MOST_SIGNED = 1_500_000n;
/** What a swap contract does for a claim beside the transfer, and the call itself: half of it as measured. */
export const CONTRACT_GAS = 60_000n;

const greater = (a: CallGas, b: CallGas): CallGas => (a > b ? a : b);

/** An estimate, or what a try found, with room for what another block may make of it. */
export const withGasMargin = (gas: CallGas | TxGas): bigint => (gas * MARGIN_PERCENT) / 100n;
/** The most that a call is found to need and is still made; with its margin it is signed with as much as any. */
export const MOST_NEEDED: CallGas = callGas((MOST_SIGNED * 100n) / MARGIN_PERCENT);
/** The same of the transfer by which a swap contract pays. */
export const MOST_TRANSFER: CallGas = callGas(MOST_NEEDED - CONTRACT_GAS);
/** Most that a claim or refund is signed with: eight times what data may need where one is begun, as promises have it; the greatest of Ethereum (EIP-7825) has little more. */
export const MOST_LIMIT: TxGas = txGas(8n * MOST_DATA_GAS);

/** What a claim or refund needs whose transfer needs so much. */
export const payoutGas = (transfer: CallGas): CallGas => callGas(transfer + CONTRACT_GAS);

/** An estimate less what data alone needs of it. @param beside without room */
export const withoutBeside = (estimate: TxGas, beside: bigint): CallGas => callGas(estimate - beside);
/** An estimate whose data nobody could tell from its call: data counts twice then. Too much is not paid. */
export const asCall = (estimate: TxGas): CallGas => callGas(estimate);

/** The most that nodes may estimate a transaction at whose call needs `most` at most: data is not the call's doing, and is paid for whatever it needs. */
export const mostEstimate = (most: CallGas, data: DataGas): TxGas => txGas(most + data);

/** With less a transaction of now would fail. @param found `NO_GAS`: nothing was */
export const leastLimit = (usual: CallGas, found: CallGas, data: DataGas): TxGas => txGas(greater(usual, found) + data / DATA_ROOM);

/** What a transaction has for its call beside what its data needs now. */
export const callRoom = (limit: TxGas, data: DataGas): CallGas => callGas(limit - data / DATA_ROOM);

/** What one is signed with: its margin and the room of its data are in it. */
export const ampleLimit = (usual: CallGas, found: CallGas, data: DataGas): TxGas =>
  txGas(greater(usual, callGas(withGasMargin(found))) + data);
/** Whether one signed with `limit` would be refused, or fail. */
export const lacks = (limit: TxGas, least: TxGas): boolean => limit < least;
