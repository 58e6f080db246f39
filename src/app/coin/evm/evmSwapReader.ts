import { addressOfPubkey, checksumAddress, type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { parseErc20Call } from "../../../core/evm/erc20.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import { encodeSwapCall, parseSwapCall, type SwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { equalBytes } from "../../../core/util/bytes.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { SignedTx, TxRefusal } from "../../swap/swapCoin.ts";
import type { PaymentTerms } from "./paymentScript.ts";

/** The call that makes a payment. */
export function paymentCall({ id, token, receiver, secretHash, lockTime, units }: PaymentTerms): SwapCall {
  return token === ZERO_ADDRESS
    ? { kind: "ethPayment", id, receiver, secretHash, lockTime }
    : { kind: "erc20Payment", id, amount: units, token, receiver, secretHash, lockTime };
}

const refused = (reason: string): Result<never, TxRefusal> => err({ kind: "Refused", reason });

/** A signed transaction of a chain, or why it is none. */
function read(raw: Uint8Array, chainId: bigint): Result<SignedEvmTx, TxRefusal> {
  const parsed = parseEvmTx(raw);
  if (!parsed.ok)
    return refused(
      parsed.error.kind === "Unsupported"
        ? `transactions of type ${parsed.error.type} are not read`
        : `no transaction: ${parsed.error.detail}`,
    );
  const { tx } = parsed.value;
  return tx.chainId === chainId
    ? parsed
    : refused(`it is for ${tx.chainId === null ? "any chain" : `chain ${tx.chainId}`}, not for chain ${chainId}`);
}

/**
 * Whether transaction bytes make exactly the agreed payment: sender, contract, and every argument of the call, the amount of a token
 * included (KDF leaves that out, swap-protocol.md 5.5). What the chain made of it is asked of the contract itself.
 */
export function checkEvmPayment(raw: Uint8Array, terms: PaymentTerms, chainId: bigint): Result<SignedTx, TxRefusal> {
  const parsed = read(raw, chainId);
  if (!parsed.ok) return parsed;
  const { tx, from, txid } = parsed.value;
  if (from !== terms.sender) return refused(`it was sent by ${checksumAddress(from)}, agreed was ${checksumAddress(terms.sender)}`);
  if (tx.to !== terms.contract) return refused(`it does not call the swap contract ${checksumAddress(terms.contract)}`);
  const isNative = terms.token === ZERO_ADDRESS;
  const call = parseSwapCall(tx.data);
  if (!call.ok) return refused(`it does not call the swap contract: ${call.error.detail}`);
  const paid = isNative ? tx.value : call.value.kind === "erc20Payment" ? call.value.amount : 0n;
  const exact = encodeSwapCall(paymentCall({ ...terms, units: isNative ? terms.units : paid }));
  if (!equalBytes(tx.data, exact)) return refused("its call is not the one that was agreed on");
  if (!isNative && tx.value !== 0n) return refused(`it pays ${tx.value} wei to a token's payment`);
  if (paid !== terms.units) return err({ kind: "OtherValue", reason: `it pays ${paid} units, agreed were ${terms.units}` });
  return ok({ txid, raw });
}

/** The dex fee (swap-protocol.md 5.4): a transfer of at least the fee from the taker's address to that of the fee's key. */
export function checkEvmDexFee(
  raw: Uint8Array,
  chainId: bigint,
  token: EvmAddress | null,
  expected: { readonly takerKey: Uint8Array | null; readonly feeKey: Uint8Array; readonly units: bigint },
): Result<SignedTx, TxRefusal> {
  const parsed = read(raw, chainId);
  if (!parsed.ok) return parsed;
  const { tx, from, txid } = parsed.value;
  const [taker, dex] = [expected.takerKey && addressOfPubkey(expected.takerKey), addressOfPubkey(expected.feeKey)];
  if (taker && from !== taker) return refused(`it was sent by ${checksumAddress(from)}, agreed was ${checksumAddress(taker)}`);
  const transfer = token === null ? { to: tx.to, amount: tx.value } : tokenTransfer(tx.to === token ? tx.data : null);
  if (transfer === null) return refused("it is no transfer of the token");
  if (transfer.to !== dex) return refused(`it does not pay the fee address ${checksumAddress(dex)}`);
  return transfer.amount >= expected.units ? ok({ txid, raw }) : refused(`it pays ${transfer.amount} units, the fee is ${expected.units}`);
}

function tokenTransfer(data: Uint8Array | null): { readonly to: EvmAddress; readonly amount: bigint } | null {
  const call = data && parseErc20Call(data);
  return call?.ok && call.value.kind === "transfer" ? call.value : null;
}
