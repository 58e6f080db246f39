import type { EvmAddress } from "../../../core/evm/address.ts";
import type { GasBid } from "../../../core/evm/gas.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import type { AccessList, EvmTx, SignedEvmTx } from "../../../core/evm/tx.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** What is to be sent; `value` in wei. */
export type Call = { readonly to: EvmAddress; readonly value: bigint; readonly data: Uint8Array };

/** Signs a call with the account's key, in the form its bid asks for. */
export function signCall(
  { chain, key }: Pick<EvmAccount, "chain" | "key">,
  { to, value, data }: Pick<EvmTx, "to" | "value" | "data">,
  how: { readonly bid: GasBid; readonly gasLimit: bigint; readonly nonce: bigint; readonly accessList?: AccessList },
): SignedEvmTx {
  const { bid, gasLimit, nonce, accessList = [] } = how;
  const common = { chainId: chain.chainId, nonce, gasLimit, to, value, data };
  if (bid.kind === "eip1559") {
    const { maxFeePerGas, maxPriorityFeePerGas } = bid;
    return signEvmTx({ type: "eip1559", ...common, maxFeePerGas, maxPriorityFeePerGas, accessList }, key);
  }
  const { gasPrice } = bid;
  // Nothing but a list asks for the form of EIP-2930.
  return signEvmTx(
    accessList.length === 0 ? { type: "legacy", ...common, gasPrice } : { type: "eip2930", ...common, gasPrice, accessList },
    key,
  );
}
