import { checksumAddress, type EvmAddress } from "../../core/evm/address.ts";
import { type PaymentRecord, parsePaymentRecord, paymentsCall } from "../../core/evm/swapContract.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { ChainReadError, PaymentKey } from "../../ports/accountChain.ts";
import { paymentKey } from "./chainView.ts";
import type { LookFault } from "./fault.ts";
import { callQuery } from "./query.ts";
import { asLookFault, type Quorum, quorumRead, type Read } from "./quorum.ts";

type ContractError = Extract<ChainReadError, { kind: "NoCode" | "OtherInterface" }>;

export function noCode(ticker: string, address: EvmAddress): ContractError {
  const message = `There is no contract at ${checksumAddress(address)} on the ${ticker} chain: check the address and the chain.`;
  return { kind: "NoCode", address, message };
}

export function otherInterface(ticker: string, address: EvmAddress, what: string): ContractError {
  const message = `The contract at ${checksumAddress(address)} on the ${ticker} chain ${what}.`;
  return { kind: "OtherInterface", address, message };
}

const NOT_A_SWAP_CONTRACT = "is not a swap contract: it does not answer payments(bytes32) as one must";

/** What a contract answered to `payments(id)`; `fault` of the nodes comes apart, because it is no fault of the contract. */
export function recordOf(ticker: string, contract: EvmAddress, read: Read<Uint8Array>): Result<PaymentRecord, ContractError | LookFault> {
  if (!read.ok) {
    if (read.error.kind === "reverted") return err(otherInterface(ticker, contract, NOT_A_SWAP_CONTRACT));
    return err(asLookFault(read.error));
  }
  if (read.value.length === 0) return err(noCode(ticker, contract));
  const record = parsePaymentRecord(read.value);
  return record.ok ? record : err(otherInterface(ticker, contract, NOT_A_SWAP_CONTRACT));
}

export type PaymentRecords = {
  readonly records: ReadonlyMap<string, PaymentRecord>;
  /** Sentence on a contract that is none, if there is one. Its payments are left out of `records`. */
  readonly trouble: string | null;
};

/** The contracts' own state of the payments at the block of a quorum, from its majority. */
export async function readPayments(
  ticker: string,
  quorum: Quorum,
  keys: readonly PaymentKey[],
  signal: AbortSignal,
): Promise<Result<PaymentRecords, LookFault>> {
  const queries = keys.map(({ contract, id }) => callQuery(contract, paymentsCall(fromHex(id))));
  const reads = await quorumRead(quorum, queries, signal);
  const records = new Map<string, PaymentRecord>();
  let trouble: string | null = null;
  for (const [i, key] of keys.entries()) {
    const read = reads[i];
    if (read === undefined) continue;
    const record = recordOf(ticker, key.contract, read);
    if (record.ok) records.set(paymentKey(key), record.value);
    else if (record.error.kind === "NoCode" || record.error.kind === "OtherInterface") trouble ??= record.error.message;
    else return err(record.error);
  }
  return ok({ records, trouble });
}
