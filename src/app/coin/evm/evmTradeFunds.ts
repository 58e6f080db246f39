import type { EvmAddress } from "../../../core/evm/address.ts";
import { STAGE_MARGINS, withMargin } from "../../../core/evm/gas.ts";
import { fromUnits, max, type Rational, sub, toUnits, ZERO } from "../../../core/money/rational.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { TokenSteps } from "../../swap/swapCoin.ts";
import type { FeeFunds, FeeStage, FundsError, MissingFunds, NotSufficientBalance, Outage, Reservation } from "../../tradingCoin.ts";
import { lookAgain } from "../lookAgain.ts";
import type { Short } from "./accountFunds.ts";
import { APPROVAL_GAS } from "./allowanceKeeper.ts";
import { dataBound, dataObstacle } from "./dataCost.ts";
import { priceObstacle } from "./evmAccount.ts";
import type { EvmCoin } from "./evmCoin.ts";
import { MOST_PRICE, priceOf } from "./gasBid.ts";
import { type GasUse, SwapGas } from "./swapGas.ts";

/** `orLessGas`: as much gas as there is where the price has risen since it was promised. */
type HowLong = { readonly ttlMs: number; readonly orLessGas?: boolean };

/** What swap transactions need together: their gas, and how many they are. */
export type Steps = { readonly gas: bigint; readonly txs: bigint };

/**
 * Wei per gas that a reservation was reckoned with, and the wei it holds; `steps`: the gas of all it is for. `data`: the part of it that is
 * for data beside gas, `perTx` of each transaction.
 */
type Ceiling = { readonly wanted: bigint; readonly wei: bigint; readonly steps: bigint; readonly data: bigint; readonly perTx: bigint };

/** A token that must be reset first needs two. */
const MOST_APPROVALS = 2n;

const ONE_TX = 1n;
const sumOf = (list: readonly Steps[]): Steps => ({
  gas: list.reduce((n, { gas }) => n + gas, 0n),
  txs: list.reduce((n, { txs }) => n + txs, 0n),
});

/**
 * What orders need of an account coin: its funds, and what its transactions cost. Fees are wei of the platform coin; `order` and the
 * reservations count them at the ceiling, as far as the price may rise until they are due.
 */
export class EvmTradeFunds {
  readonly coin: EvmCoin;
  readonly spendsFrom = "account";
  readonly dust = ZERO;
  readonly #ceilingFactor: bigint;
  readonly #isOwnToken: (ticker: string) => boolean;
  readonly #ceilings = new WeakMap<Reservation, Ceiling>();
  protected readonly gas: SwapGas;

  /**
   * @param ceilingFactor see `SafetyRules.feeCeilingFactor`
   * @param isOwnToken whether the coins file has a token that this coin pays for, by its ticker
   */
  constructor(coin: EvmCoin, ceilingFactor: number, isOwnToken: (ticker: string) => boolean) {
    this.coin = coin;
    this.gas = new SwapGas(coin);
    this.#ceilingFactor = BigInt(ceilingFactor);
    this.#isOwnToken = isOwnToken;
  }

  get ticker(): string {
    return this.coin.ticker;
  }
  get feeTicker(): string {
    return this.coin.account.platform;
  }
  get orderbookTicker(): string | null {
    return this.coin.spec.orderbookTicker;
  }
  get decimals(): number {
    return this.coin.decimals;
  }
  get walletOnly(): boolean {
    return this.coin.spec.walletOnly;
  }
  get address(): string {
    return this.coin.address;
  }
  get htlcPubkey(): Uint8Array {
    return this.coin.account.key.publicKey;
  }
  get settings(): { readonly confirmations: number; readonly notarization: boolean } {
    return this.coin.settings;
  }
  /** Empty, and what others send says nothing (p2p-wire.md 9). */
  get protocolInfo(): Uint8Array {
    return new Uint8Array();
  }
  acceptsProtocolInfo(): boolean {
    return true;
  }
  /** One base unit, or what the entry asks for (rpc.md 2.6). */
  get minTradingVol(): Rational {
    const least = fromUnits(1n, this.decimals);
    const { minTradingVol } = this.coin.spec;
    return minTradingVol === null ? least : max(least, minTradingVol);
  }
  leastContract(): Rational {
    return fromUnits(1n, this.decimals);
  }

  outage(): Outage | null {
    const { chain, payouts, tokens } = this.coin.account;
    const { contract } = this.coin;
    const { state, error } = chain.status();
    const unpriced = priceObstacle(this.coin.account) ?? dataObstacle(this.coin.account);
    const obstacle = unpriced ?? (contract === null ? payouts.obstacle : tokens.obstacle(contract));
    const message = state === "unreachable" ? (error ?? "the nodes do not answer") : obstacle;
    return message === null ? this.coin.untold() : { kind: "Transport", coin: this.ticker, message };
  }
  unmovable(volume: Rational): Outage | null {
    const { account, contract } = this.coin;
    const message = contract === null ? null : account.tokens.limit(contract, toUnits(volume, this.decimals));
    return message === null ? null : { kind: "Transport", coin: this.ticker, message };
  }
  mostAtOnce(): Rational | null {
    const { account, contract } = this.coin;
    const most = contract === null ? null : account.tokens.mostAtOnce(contract);
    return most === null ? null : fromUnits(most, this.decimals);
  }
  unclaimable(): Outage | null {
    const message = this.coin.contract === null ? null : this.coin.account.claims.obstacle(this.#swapContracts);
    return message === null ? null : { kind: "Transport", coin: this.ticker, message };
  }
  async reach(signal?: AbortSignal): Promise<Outage | null> {
    const { clock, chain, payouts, tokens, claims } = this.coin.account;
    const { contract } = this.coin;
    if (chain.status().state === "unreachable" || dataObstacle(this.coin.account) !== null) await lookAgain(clock, chain, signal);
    if (this.outage()) await lookAgain(clock, { refresh: (s) => (contract === null ? payouts.look(s) : tokens.look(contract, s)) }, signal);
    if (this.unclaimable()) await lookAgain(clock, { refresh: (s) => claims.look(this.#swapContracts, s) }, signal);
    return this.outage();
  }

  get #swapContracts(): readonly EvmAddress[] {
    const { swapContract, fallbackSwapContract } = this.coin.spec;
    return [swapContract, fallbackSwapContract].filter((contract) => contract !== null);
  }

  spendable(): Rational {
    return this.coin.spendable();
  }
  /** What is promised to swaps or on its way. */
  locked(): Rational {
    return sub(this.spendable(), fromUnits(this.coin.freeUnits(), this.decimals));
  }
  feeFunds(): FeeFunds {
    const { funds, platformDecimals, chain, address } = this.coin.account;
    const free = funds.free(null);
    const balance = chain.account(address)?.balance ?? free;
    return { available: fromUnits(free, platformDecimals), locked: fromUnits(balance - free, platformDecimals) };
  }
  onBalanceChange(listener: () => void): () => void {
    const { chain, funds, address } = this.coin.account;
    const { contract } = this.coin;
    const own = contract === null ? [address] : [address, `${contract}/${address}`];
    const offChain = chain.onChange(({ all, keys }) => {
      if (all || own.some((key) => keys.has(key))) listener();
    });
    const offFunds = funds.onChange(listener);
    return () => {
      offChain();
      offFunds();
    };
  }

  /** Of what must still be possible once a dex fee or a payment is signed. */
  protected stepsAfter(use: "fee" | "payment"): Steps {
    return sumOf([this.#step("refund"), ...(use === "fee" ? [this.#paymentSteps()] : [])]);
  }

  paymentFee(_volume: Rational, stage: FeeStage): Result<Rational, never> {
    return ok(this.#fee(this.#paymentSteps(), stage));
  }
  dexFeeTxFee(_amount: Rational, stage: FeeStage): Result<Rational, never> {
    return ok(this.#fee(this.#step("fee"), stage));
  }
  spendFee(stage: FeeStage): Rational {
    return this.#fee(this.#step("claim"), stage);
  }
  refundFee(stage: FeeStage): Rational {
    return this.#fee(this.#step("refund"), stage);
  }
  maxPayment(
    stage: FeeStage,
    without: readonly Reservation[] = [],
  ): Result<{ readonly volume: Rational; readonly fee: Rational }, NotSufficientBalance> {
    const fee = this.#fee(this.#paymentSteps(), stage);
    const free = fromUnits(this.coin.freeUnits(new Set(without.map(({ id }) => id))), this.decimals);
    const volume = this.coin.contract === null ? sub(free, fee) : free;
    if (volume.n > 0n) return ok({ volume, fee });
    const required = this.coin.contract === null ? fee : this.leastContract();
    return err({ kind: "NotSufficientBalance", coin: this.ticker, available: free, required, lockedBySwaps: this.locked() });
  }

  reserve(amounts: readonly Rational[], ttlMs: number): Result<Reservation, FundsError> {
    const unmovable = this.unmovable(amounts.at(-1) ?? ZERO);
    if (unmovable) return err(unmovable);
    return this.#hold(
      amounts.map((a) => toUnits(a, this.decimals)),
      { ttlMs },
    );
  }
  reserveClaim(ttlMs: number): Result<Reservation, FundsError> {
    return this.#holdGas([], this.#step("claim"), { ttlMs });
  }
  reserveClaimAgain(ttlMs: number): Result<Reservation, FundsError> {
    return this.#holdGas([], this.#step("claim"), { ttlMs, orLessGas: true });
  }
  /** By the usual limits of tokens: the token's own entry is read when it is enabled. */
  reserveTokenGas(ticker: string, { payments, refund, claim }: TokenSteps, ttlMs: number): Result<Reservation, FundsError> | null {
    if (!this.#isOwnToken(ticker)) return null;
    const { limits } = this.coin.spec.kind.gas;
    const step = (gas: bigint): Steps => ({ gas: gas + this.gas.besideGas, txs: ONE_TX });
    const fees = Array.from({ length: Math.max(0, payments - 1) }, () => step(limits.tokenTransfer));
    const paying = payments === 0 ? [] : [step(limits.tokenPayment), this.#approvals(), ...fees];
    const later = [...(refund ? [step(limits.tokenRefund)] : []), ...(claim ? [step(limits.tokenSpend)] : [])];
    return this.#holdGas([], sumOf([...paying, ...later]), { ttlMs, orLessGas: true });
  }
  /** `amounts` empty: all is paid, and the refund may be left. */
  reserveAgain(
    asked: readonly { readonly amounts: readonly bigint[]; readonly ttlMs: number }[],
  ): readonly Result<Reservation, FundsError>[] {
    return asked.map(({ amounts, ttlMs }) => this.#hold(amounts, { ttlMs, orLessGas: true }));
  }
  adopt(reservation: Reservation): void {
    this.coin.account.funds.keep(reservation.id);
  }
  release(reservation: Reservation): void {
    this.coin.account.funds.release(reservation.id);
  }
  /** Wei per gas a reservation was reckoned with; null when it is gone. */
  ceilingOf(reservation: Reservation): bigint | null {
    const of = this.#ceilings.get(reservation);
    if (!of || of.wei >= of.wanted * of.steps + of.data) return of?.wanted ?? null;
    // There was too little when it was held; there may be more now.
    const { funds } = this.coin.account;
    const perGas = (wei: bigint): bigint => (wei > of.data ? (wei - of.data) / of.steps : 0n);
    const [then, now] = [perGas(of.wei), perGas(funds.gasOf(reservation.id) + funds.free(null))];
    const best = now > then ? now : then;
    return best < of.wanted ? best : of.wanted;
  }
  dearerThanReserved(reservation: Reservation): string | null {
    const ceiling = this.ceilingOf(reservation);
    const price = priceOf(this.coin.market());
    // A legacy price, and a tip, are paid as they are offered: nodes that lied since before the match must not burn the balance.
    if (price > MOST_PRICE) return `the nodes ask ${price} wei for a unit of gas, which is not paid`;
    const [data, held] = [dataBound(this.coin.account.chain).wei, this.#ceilings.get(reservation)?.perTx ?? null];
    if (held !== null && data > held)
      return `the data of a transaction on ${this.feeTicker} may cost ${data} wei, above the ${held} reserved for it`;
    if (ceiling === null || price <= ceiling) return null;
    return `gas on ${this.feeTicker} costs ${price} wei, above the ${ceiling} reserved for this swap`;
  }

  /** The payment is the last of `amounts`, the dex fee another. */
  #hold(amounts: readonly bigint[], how: HowLong): Result<Reservation, FundsError> {
    const fees = amounts.slice(1).map(() => this.#step("fee"));
    const paying = amounts.length === 0 ? [] : [this.#paymentSteps(), ...fees];
    return this.#holdGas(amounts, sumOf([...paying, this.#step("refund")]), how);
  }
  #holdGas(amounts: readonly bigint[], { gas, txs }: Steps, { ttlMs, orLessGas = false }: HowLong): Result<Reservation, FundsError> {
    const { funds, chain, platform } = this.coin.account;
    const untold = this.#untold(amounts);
    if (untold !== null) return err({ kind: "Transport", coin: this.ticker, message: `the ${platform} nodes have not told ${untold} yet` });
    const ceiling = priceOf(this.coin.market()) * this.#ceilingFactor;
    const perTx = dataBound(chain).wei * this.#ceilingFactor;
    const data = perTx * txs;
    const held = funds.hold({ asset: this.coin.contract, amounts, gas: gas * ceiling + data, orLessGas }, ttlMs);
    if (!held.ok) return err(this.#missing(held.error));
    const reservation = { id: held.value };
    this.#ceilings.set(reservation, { wanted: ceiling, wei: funds.gasOf(held.value), steps: gas, data, perTx });
    return ok(reservation);
  }
  /** What a hold needs and the nodes of a coin that was kept for swaps have not told yet; null: nothing. */
  #untold(amounts: readonly bigint[]): string | null {
    const { account, contract, ticker } = this.coin;
    if (!account.chain.gasPrices()) return "a price of gas";
    const isSeen = contract === null || amounts.length === 0 || account.chain.token(contract, account.address) !== undefined;
    return isSeen ? null : `the balance of ${ticker}`;
  }
  #missing({ asset, available, required }: Short): MissingFunds {
    const { account, contract } = this.coin;
    const isOther = asset === null && contract !== null;
    const decimals = isOther ? account.platformDecimals : this.decimals;
    return {
      kind: isOther ? "NotSufficientBaseCoinBalance" : "NotSufficientBalance",
      coin: isOther ? account.platform : this.ticker,
      available: fromUnits(available, decimals),
      required: fromUnits(required, decimals),
      lockedBySwaps: isOther ? this.feeFunds().locked : this.locked(),
    };
  }

  #step(use: GasUse): Steps {
    return { gas: this.gas.gasOf(use), txs: ONE_TX };
  }
  #approvals(): Steps {
    return { gas: MOST_APPROVALS * (APPROVAL_GAS + this.gas.besideGas), txs: MOST_APPROVALS };
  }
  #paymentSteps(): Steps {
    const payment = this.#step("payment");
    return this.coin.contract === null ? payment : sumOf([payment, this.#approvals()]);
  }
  #fee({ gas, txs }: Steps, stage: FeeStage): Rational {
    const { chain, platformDecimals } = this.coin.account;
    const at = (wei: bigint): bigint =>
      stage === "order" ? wei * this.#ceilingFactor : stage === "preimage" ? withMargin(wei, STAGE_MARGINS.preimage) : wei;
    return fromUnits(gas * at(priceOf(this.coin.market())) + txs * at(dataBound(chain).wei), platformDecimals);
  }
}
