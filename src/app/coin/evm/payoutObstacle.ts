import { checksumAddress, type EvmAddress } from "../../../core/evm/address.ts";
import type { SpendObstacle } from "../../swap/swapCoin.ts";
import { dataBound, fromContract } from "./dataCost.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** What a transfer to an account without code needs. */
const PLAIN_GAS = 21_000n;
/** What a contract that pays with Solidity's `transfer` leaves the code of who is paid, as KDF's swap contracts do (swap-protocol.md 5.1). */
const STIPEND_GAS = 2_300n;
const MOST_GAS = PLAIN_GAS + STIPEND_GAS;
const NO_DATA = new Uint8Array(0);

/**
 * Why this account cannot be shown to take plain coins; null: it takes them. An account without code takes all.
 * One that delegated to code (EIP-7702) may refuse, or need more gas than a swap contract leaves it: its claims and refunds of
 * the platform coin would fail, and a claim that fails has shown its secret.
 * @param payer who would pay; it must have `units`, wei
 */
export async function payoutObstacle(
  { chain, address, platform }: Pick<EvmAccount, "chain" | "address" | "platform">,
  payer: EvmAddress,
  units: bigint,
  signal: AbortSignal,
): Promise<SpendObstacle | null> {
  const code = await chain.hasCode(address, signal);
  if (!code.ok)
    return { isRefused: false, reason: `whether this account takes ${platform} is not known: ${code.error.message.replace(/\.$/, "")}` };
  if (!code.value) return null;
  const payout = fromContract(chain, { from: payer, to: address, value: units, data: NO_DATA });
  const beside = dataBound(chain).gas;
  const tried = await chain.estimateGas(payout, signal, MOST_GAS + beside);
  if (tried.ok && tried.value <= MOST_GAS) return null;
  // What is above may be its data's, which a contract's transfer has none of, nor has what is only called. So much one node of two may name alone.
  const called = tried.ok && beside > 0n ? await chain.call(payout, signal, MOST_GAS) : null;
  if (called?.ok) return null;
  const last = called ?? tried;
  const why = last.ok ? `that needs ${last.value} gas, and swap contracts leave ${MOST_GAS} for it` : last.error.message.replace(/\.$/, "");
  const isRefused = last.ok || last.error.kind === "Reverted";
  const reason = `the account ${checksumAddress(address)} has code (EIP-7702), and is not shown to take ${platform} from a swap contract: ${why}; take the delegation back, or trade with another key`;
  return { isRefused, reason };
}
