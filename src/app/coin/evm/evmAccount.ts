import type { EvmAddress } from "../../../core/evm/address.ts";
import type { GasPolicy, GasRules } from "../../../core/evm/evmKind.ts";
import type { GasPrices } from "../../../core/evm/gas.ts";
import type { KeyPair } from "../../../core/keys/keyPair.ts";
import type { AccountChain, AccountState } from "../../../ports/accountChain.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { AccountFunds } from "./accountFunds.ts";
import type { AllowanceKeeper } from "./allowanceKeeper.ts";
import type { ClaimTrials } from "./claimTrials.ts";
import type { NonceKeeper } from "./nonceKeeper.ts";
import type { NonceLedger } from "./nonceLedger.ts";
import type { PayoutGate } from "./payoutGate.ts";
import type { TokenTrials } from "./tokenTrials.ts";

/** Rules for gas with the policy in force: one that a client chose counts for the tokens, too, whatever their entries say. */
export type AccountGas = Omit<GasRules, "policy"> & { policy: GasPolicy | null; chosen?: GasPolicy };

/** What the platform coin and the tokens of one account share. Closed when the last of them goes. */
export type EvmAccount = {
  /** Ticker of the platform coin, which pays all fees; its decimals. */
  readonly platform: string;
  readonly platformDecimals: number;
  /** The platform coin's own, for what a token's entry leaves out. */
  readonly gas: AccountGas;
  readonly signMessagePrefix: string | null;
  readonly chain: AccountChain;
  readonly key: KeyPair;
  readonly address: EvmAddress;
  readonly nonces: NonceLedger;
  /** What of it is promised to swaps. */
  readonly funds: AccountFunds;
  readonly keeper: NonceKeeper;
  /** Whether it takes the platform coin from contracts. */
  readonly payouts: PayoutGate;
  /** What swap contracts may take of its tokens. */
  readonly allowances: AllowanceKeeper;
  /** Whether its tokens arrive whole at swap contracts. */
  readonly tokens: TokenTrials;
  /** Whether its nodes say what claims of tokens would come to. */
  readonly claims: ClaimTrials;
  readonly clock: Clock;
};

/** The account as last seen. It was seen before the first coin of it could be used. */
export function accountState({ chain, address }: Pick<EvmAccount, "chain" | "address">): AccountState {
  const state = chain.account(address);
  if (!state) throw new Error(`the ${chain.ticker} account is not followed`);
  return state;
}

/**
 * Why nothing can be reckoned or sent, one sentence; null: prices are known. They were seen before the first coin of the account could be
 * used, but nodes that were exchanged since may not have told them.
 */
export const priceObstacle = ({ chain, platform }: Pick<EvmAccount, "chain" | "platform">): string | null =>
  chain.gasPrices() ? null : `the ${platform} nodes have told no price of gas`;

/** Prices as last seen; see `priceObstacle`. */
export function gasPricesOf({ chain }: Pick<EvmAccount, "chain">): GasPrices {
  const prices = chain.gasPrices();
  if (!prices) throw new Error(`no gas prices of ${chain.ticker} are known`);
  return prices;
}

/** Wei the account has that no sent transaction may still take and no swap was promised; never below 0. */
export const freeWei = (account: EvmAccount): bigint => account.funds.free(null);
