import { parsePaymentRecord, parseSwapCall, paymentHash, paymentsCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { equalBytes } from "../../../core/util/bytes.ts";
import { hash160 } from "../../../core/utxo/hash.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** Whether the swap contract holds what a claim of this account asks for. Only the payment's id is asked with; null: nobody says, or it is no claim. */
export async function isClaimable(
  { chain, address }: Pick<EvmAccount, "chain" | "address">,
  { tx: { to, data } }: SignedEvmTx,
  signal: AbortSignal,
): Promise<boolean | null> {
  const call = parseSwapCall(data);
  if (to === null || !call.ok || call.value.kind !== "receiverSpend") return null;
  const { id, amount, secret, token, sender } = call.value;
  const asked = await chain.call({ from: address, to, value: 0n, data: paymentsCall(id) }, signal);
  const read = asked.ok ? parsePaymentRecord(asked.value) : null;
  if (!read?.ok) return null;
  const agreed = paymentHash({ receiver: address, sender, secretHash: hash160(secret), token, amount });
  return read.value.state === "sent" && equalBytes(read.value.paymentHash, agreed);
}
