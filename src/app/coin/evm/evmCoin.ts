import { addressFaultText, checksumAddress, type EvmAddress, parseAddress, parseAnyCaseAddress } from "../../../core/evm/address.ts";
import { signEthMessage, verifyEthMessage } from "../../../core/evm/ethMessage.ts";
import type { EvmKind, GasPolicy } from "../../../core/evm/evmKind.ts";
import type { GasBid } from "../../../core/evm/gas.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import type { HdAddressId } from "../../../core/keys/hd.ts";
import { type KeyPair, uncompressedPubkey } from "../../../core/keys/keyPair.ts";
import { fromUnits, type Rational, ZERO } from "../../../core/money/rational.ts";
import { toHex } from "../../../core/util/bytes.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import { Secret } from "../../../core/util/secret.ts";
import type { ServerHealth, ServerNeeds } from "../../../ports/electrum.ts";
import type { SwapCoin } from "../../swap/swapCoin.ts";
import type { Outage } from "../../tradingCoin.ts";
import type { AnyAddressForm } from "../addressForm.ts";
import type { AccountInfo } from "../evmParts.ts";
import { lookAgain } from "../lookAgain.ts";
import { type AddressSelector, addressId } from "../messageSigner.ts";
import type { TradeFee } from "../tradeFee.ts";
import { broadcastToResult, type SendError, type Withdrawal, type WithdrawError, type WithdrawRequest } from "../withdraw.ts";
import { dataBound } from "./dataCost.ts";
import { accountState, type EvmAccount, gasPricesOf, priceObstacle } from "./evmAccount.ts";
import { type BidRule, bidRuleOf, marketBid, priceOf } from "./gasBid.ts";
import { nodeNeeds, nodesAsServers } from "./nodesAsServers.ts";
import { withdrawEvm } from "./withdrawEvm.ts";

/** What an ETH-like coin or token is, fixed at activation. */
export type EvmSpec = {
  readonly kind: EvmKind;
  /** The entry's, or what the contract says. */
  readonly decimals: number;
  readonly signMessagePrefix: string | null;
  readonly swapContract: EvmAddress | null;
  readonly fallbackSwapContract: EvmAddress | null;
  readonly orderbookTicker: string | null;
  readonly walletOnly: boolean;
  /** Whole coins. */
  readonly minTradingVol: Rational | null;
  readonly confirmations: number;
  readonly notarization: boolean;
  /** HD wallets: the coin's path, and the key of each of its addresses. */
  readonly hd: { readonly derivationPath: string; readonly keyAt: (id: HdAddressId) => KeyPair | null } | null;
};

/**
 * An activated coin of an account chain as the wallet uses it: the platform coin, or a token on it, which shares the platform's
 * account.
 */
export class EvmCoin {
  readonly family = "account";
  readonly spec: EvmSpec;
  readonly account: EvmAccount;
  readonly matureConfirmations = null;
  /** The same coin as orders and swaps use it. */
  readonly swapCoin: SwapCoin;
  #settings: { readonly confirmations: number; readonly notarization: boolean };

  constructor(spec: EvmSpec, account: EvmAccount, toSwapCoin: (coin: EvmCoin) => SwapCoin) {
    this.spec = spec;
    this.account = account;
    this.swapCoin = toSwapCoin(this);
    this.#settings = { confirmations: spec.confirmations, notarization: spec.notarization };
  }

  get ticker(): string {
    return this.spec.kind.ticker;
  }
  get decimals(): number {
    return this.spec.decimals;
  }
  get address(): string {
    return checksumAddress(this.account.address);
  }
  get settings(): { readonly confirmations: number; readonly notarization: boolean } {
    return this.#settings;
  }
  /** Contract of the token; null for the platform coin. */
  get contract(): EvmAddress | null {
    const { asset } = this.spec.kind;
    return asset.kind === "token" ? asset.contract : null;
  }
  accountInfo(): AccountInfo {
    const { platform, key } = this.account;
    return {
      platform,
      contract: this.contract === null ? null : checksumAddress(this.contract),
      publicKey: uncompressedPubkey(key.publicKey),
    };
  }
  setRequiredConfirmations(confirmations: number): void {
    this.#settings = { ...this.#settings, confirmations };
  }
  setRequiresNotarization(notarization: boolean): void {
    this.#settings = { ...this.#settings, notarization };
  }

  /** That the nodes have not told what the account has of it: those that were exchanged since it was enabled, or a token that answers no more. */
  untold(): Outage | null {
    const { chain, address, platform } = this.account;
    if (this.contract === null || chain.token(this.contract, address)) return null;
    return { kind: "Transport", coin: this.ticker, message: `the ${platform} nodes have told no balance of ${this.ticker}` };
  }
  /** What the chain says the account has, base units; see `untold`. */
  balanceUnits(): bigint {
    const { chain, address } = this.account;
    if (this.contract === null) return accountState(this.account).balance;
    const state = chain.token(this.contract, address);
    if (!state) throw new Error(`the balance of ${this.ticker} is not followed`);
    return state.balance;
  }
  /**
   * The same less what sent transactions may still take and what is promised to swaps; never below 0.
   * @param without ids of holds that count as not promised
   */
  freeUnits(without?: ReadonlySet<string>): bigint {
    return this.account.funds.free(this.contract, without);
  }
  spendable(): Rational {
    return fromUnits(this.balanceUnits(), this.decimals);
  }
  unspendable(): Rational {
    return ZERO;
  }
  /** Promised to swaps and not signed for yet; of the platform coin with the gas of its tokens' swaps. */
  locked(): Rational {
    return fromUnits(this.account.funds.held(this.contract), this.decimals);
  }

  bidRule(): BidRule {
    const { gas } = this.spec.kind;
    return bidRuleOf(this.account.gas, { ...gas, policy: this.account.gas.chosen ?? gas.policy });
  }
  /** What gas costs now, as this coin bids. The nodes have told their prices. */
  market(): GasBid {
    return marketBid(gasPricesOf(this.account), this.bidRule());
  }
  /** How its swaps bid for gas, and the choice of another way, for all coins of the account until the last of them is disabled. */
  get gasPolicy(): { readonly now: GasPolicy; choose(policy: GasPolicy): void } {
    const { gas } = this.account;
    const choose = (policy: GasPolicy): void => {
      gas.policy = gas.chosen = policy;
    };
    return { now: this.bidRule().policy, choose };
  }
  /** KDF's figure: a swap transaction's gas at today's price, paid in the platform coin; and what its data costs beside that. */
  async tradeFee(signal: AbortSignal): Promise<Result<TradeFee, Outage>> {
    await lookAgain(this.account.clock, this.account.chain, signal);
    const message = priceObstacle(this.account);
    if (message !== null) return err({ kind: "Transport", coin: this.ticker, message });
    const price = priceOf(this.market());
    const { platform, platformDecimals } = this.account;
    const { gas, wei } = dataBound(this.account.chain);
    return ok({ coin: platform, amount: fromUnits(price * (this.spec.kind.gas.limits.tradeFee + gas) + wei, platformDecimals) });
  }

  privKey(): Secret<string> {
    return new Secret(`0x${toHex(this.account.key.secret.reveal())}`);
  }
  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }> {
    const parsed = parseAddress(address);
    return parsed.ok ? ok(undefined) : err({ kind: "InvalidAddress", reason: addressFaultText(parsed.error) });
  }
  convertAddress(address: string, to: AnyAddressForm): Result<string, { readonly kind: "NotConvertible"; readonly reason: string }> {
    const no = (reason: string): Result<never, { readonly kind: "NotConvertible"; readonly reason: string }> =>
      err({ kind: "NotConvertible", reason });
    if (to.format === "singlecase") return no("conversion is available only to mixed-case");
    if (to.format !== "mixedcase") return no(`${this.ticker} has no ${to.format} addresses`);
    const parsed = parseAnyCaseAddress(address);
    return parsed.ok ? ok(checksumAddress(parsed.value)) : no(addressFaultText(parsed.error));
  }
  async rawTx(id: string): Promise<Uint8Array | null> {
    return this.account.chain.tx(id)?.raw ?? null;
  }
  /** Account chains do not list the transactions of an address. */
  history(): null {
    return null;
  }
  oldView(): { readonly state: "starting" | "syncing" | "unreachable"; readonly height: number | null } | null {
    const { state, tip } = this.account.chain.status();
    return state === "ready" ? null : { state, height: tip?.height ?? null };
  }
  /** Of the nodes of its chain: how many must agree. */
  serverNeeds(): ServerNeeds {
    return nodeNeeds(this.account.chain);
  }
  servers(): readonly ServerHealth[] {
    return nodesAsServers(this.account.chain);
  }
  scanProgress(): null {
    return null;
  }
  tipHeight(): number {
    return this.account.chain.status().tip?.height ?? 0;
  }

  signMessage(message: string): Result<string, { readonly kind: "PrefixNotFound" }> {
    const prefix = this.spec.signMessagePrefix;
    return prefix === null ? err({ kind: "PrefixNotFound" }) : ok(signEthMessage(prefix, message, this.account.key));
  }
  /** With the key of another address of an HD wallet. The reasons are sentences. */
  signMessageAs(
    address: AddressSelector,
    message: string,
  ): Result<string, { readonly kind: "PrefixNotFound" } | { readonly kind: "BadSelector"; readonly reason: string }> {
    const { hd, signMessagePrefix: prefix } = this.spec;
    if (hd === null) return err({ kind: "BadSelector", reason: "the wallet has one address only" });
    if (prefix === null) return err({ kind: "PrefixNotFound" });
    const id = addressId(hd.derivationPath, address);
    const key = id && hd.keyAt(id);
    return key ? ok(signEthMessage(prefix, message, key)) : err({ kind: "BadSelector", reason: badPath(hd.derivationPath) });
  }
  verifyMessage(
    message: string,
    signature: string,
    address: string,
  ): Result<
    boolean,
    | { readonly kind: "PrefixNotFound" }
    | { readonly kind: "AddressDecoding" | "SignatureDecoding"; readonly message: string }
    | { readonly kind: "InvalidSignature" }
  > {
    const parsed = parseAddress(address);
    if (!parsed.ok) return err({ kind: "AddressDecoding", message: addressFaultText(parsed.error) });
    const prefix = this.spec.signMessagePrefix;
    if (prefix === null) return err({ kind: "PrefixNotFound" });
    const checked = verifyEthMessage(prefix, message, signature, parsed.value);
    // KDF answers every one of them with the same kind (rpc.md 4.8 row 5).
    return checked.ok ? checked : err({ kind: "InvalidSignature" });
  }

  async withdraw(request: WithdrawRequest, signal: AbortSignal): Promise<Result<Withdrawal, WithdrawError>> {
    return withdrawEvm(this, request, signal);
  }

  /** Own transactions go by the nonce ledger; those of other accounts are passed on. */
  async sendRaw(raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>> {
    const { chain, address, nonces, funds } = this.account;
    const parsed = parseEvmTx(raw);
    const reject = (message: string): Result<never, SendError> => err({ kind: "Rejected", message });
    if (!parsed.ok)
      return reject(
        parsed.error.kind === "Unsupported"
          ? `transactions of type ${parsed.error.type} are not sent by this node`
          : `not a transaction of ${this.ticker}: ${parsed.error.detail}`,
      );
    const { tx, from, txid } = parsed.value;
    if (tx.chainId !== chain.chainId)
      return reject(
        `the transaction is for ${tx.chainId === null ? "any chain" : `the chain with id ${tx.chainId}`}, not for ${chain.chainId}`,
      );
    if (chain.status().state !== "ready") await lookAgain(this.account.clock, chain, signal);
    if (from !== address) return broadcastToResult(await chain.broadcast(raw, signal), txid);
    return nonces.send(parsed.value, signal, () => funds.refusal(parsed.value));
  }
}

const badPath = (path: string): string => `the address must be ${path}/<account>'/<0 or 1>/<index>, each number below 2147483648`;
