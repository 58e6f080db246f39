import { type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { STAGE_MARGINS, withMargin } from "../../../core/evm/gas.ts";
import { fromUnits, max, type Rational, sub, toUnits, ZERO } from "../../../core/money/rational.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { SpendUse, TokenSteps } from "../../swap/swapCoin.ts";
import type { FeeFunds, FeeStage, FundsError, MissingFunds, NotSufficientBalance, Outage, Reservation } from "../../tradingCoin.ts";
import { lookAgain } from "../lookAgain.ts";
import type { Short } from "./accountFunds.ts";
import { APPROVAL_GAS } from "./allowanceKeeper.ts";
import { fitAccount, fitBlock } from "./blockGas.ts";
import { dataBound, dataGasToSign, dataObstacle, sureDataGas } from "./dataCost.ts";
import { gasPricesOf, priceObstacle } from "./evmAccount.ts";
import type { EvmCoin } from "./evmCoin.ts";
import { FoundGas, FoundGasOf } from "./foundGas.ts";
import { MOST_PER_TX, MOST_PRICE, marketBid, priceOf } from "./gasBid.ts";
import { ampleLimit, type CallGas, callGas, type DataGas, leastLimit, MOST_LIMIT, NO_DATA, NO_GAS, type TxGas } from "./gasFigures.ts";

/** Transactions of a swap that cost gas. */
export type GasUse = "payment" | "fee" | SpendUse;

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

/** Gas for data that a swap found out counts so long: each step of a swap asks again, and without one nobody would. */
const FOUND_MS = 600_000;

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
  /** Of a claim or refund as the token was found to need. */
  readonly #found: FoundGas;
  /** The same of coins of this account that are not there, whose claims and refunds this one looks after: none of its own costs more for those. */
  readonly #foundOfOthers: FoundGasOf;
  /** Of both, by coin, what is no word of one node of two: with the usual it fails. */
  readonly #surelyFound: FoundGasOf;
  /** What a dex fee was found to need. */
  readonly #foundFee: FoundGas;
  #dataGas = { gas: NO_DATA, untilMs: Number.NEGATIVE_INFINITY };

  /**
   * @param ceilingFactor see `SafetyRules.feeCeilingFactor`
   * @param isOwnToken whether the coins file has a token that this coin pays for, by its ticker
   */
  constructor(coin: EvmCoin, ceilingFactor: number, isOwnToken: (ticker: string) => boolean) {
    this.coin = coin;
    this.#found = new FoundGas(coin.account.clock);
    this.#foundOfOthers = new FoundGasOf(coin.account.clock);
    this.#surelyFound = new FoundGasOf(coin.account.clock);
    this.#foundFee = new FoundGas(coin.account.clock);
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

  /**
   * A claim or refund of this token was just found to need so much, which the limits may not foresee.
   * @param isSure whether as many nodes as must agree say that it fails with the usual
   * @param other of which other coin of the account, by what that is in the swap contract; null: of this one
   */
  protected needsSpendGas(gas: CallGas, isSure: boolean, other: EvmAddress | null): void {
    if (other === null) this.#found.add(gas);
    else this.#foundOfOthers.add(other, gas);
    if (isSure) this.#surelyFound.add(this.#inContract(other), gas);
  }
  #inContract(other: EvmAddress | null): EvmAddress {
    return other ?? this.coin.contract ?? ZERO_ADDRESS;
  }
  #spendGasOf(other: EvmAddress | null): CallGas {
    return other === null ? this.#found.gas : this.#foundOfOthers.gas(other);
  }

  protected needsFeeGas(gas: CallGas): void {
    this.#foundFee.add(gas);
  }

  /** Every transaction was just found to need so much beside its own gas; see `dataGasNow`. */
  protected needsDataGas(gas: DataGas): void {
    this.#dataGas = { gas, untilMs: this.coin.account.clock.nowMs() + FOUND_MS };
  }

  #foundGas(use: GasUse, other: EvmAddress | null): CallGas {
    if (use === "fee") return this.#foundFee.gas;
    return use === "claim" || use === "refund" ? this.#spendGasOf(other) : NO_GAS;
  }

  /** Gas limits of KDF, or the entry's (swap-protocol.md 5.4), or what the token was found to need; and what data costs beside. */
  gasOf(use: GasUse, other: EvmAddress | null = null): TxGas {
    return ampleLimit(this.#usualGas(use, other), this.#foundGas(use, other), this.besideGas);
  }
  protected get besideGas(): DataGas {
    const { gas } = dataBound(this.coin.account.chain);
    const found = this.#foundDataGas ?? NO_DATA;
    return gas > found ? gas : found;
  }
  /** Null: nothing was found of late. */
  get #foundDataGas(): DataGas | null {
    return this.coin.account.clock.nowMs() < this.#dataGas.untilMs ? this.#dataGas.gas : null;
  }
  /**
   * The same of a claim, refund or cancellation that is signed now, as far as a block and the account have it: what it may need is what nodes say, and one
   * signed with more is in no block, whatever they say later.
   * @param known what a former version has
   * @param beaten wei per gas that it must outbid
   * @param nonce of the former version
   */
  protected spendGas(use: SpendUse, known: bigint, other: EvmAddress | null = null, beaten = 0n, nonce: bigint | null = null): bigint {
    const { chain, address, nonces } = this.coin.account;
    const [usual, found] = [this.#usualGas(use, other), this.#foundGas(use, other)];
    // What one node of two says alone would else have it bid less than any block takes.
    const surelyFound = use === "cancel" ? NO_GAS : this.#surelyFound.gas(this.#inContract(other));
    const least = ampleLimit(usual, surelyFound, NO_DATA);
    const asked = ampleLimit(usual, found, this.#foundDataGas === null ? dataGasToSign(chain) : this.besideGas);
    const wanted = known > asked ? known : asked;
    const left = (chain.account(address)?.balance ?? 0n) - dataBound(chain).wei;
    const price = this.#price();
    const fit = (wei: bigint, gas: Parameters<typeof fitAccount>[2]): bigint =>
      fitAccount(wei < MOST_PER_TX ? wei : MOST_PER_TX, beaten > price ? beaten : price, gas);
    const payable = fit(left, { wanted: wanted < MOST_LIMIT ? wanted : MOST_LIMIT, least });
    // What is perhaps not needed takes nothing of what else waits: nodes refuse what the account could not pay for beside that, and the first of the line
    // could not be made dearer.
    const sure = ampleLimit(usual, surelyFound, sureDataGas(chain));
    const fitted = payable > sure ? fit(left - nonces.outgoing(nonce).wei, { wanted: payable, least: sure }) : payable;
    return fitBlock(chain, fitted);
  }
  /** With less a claim of now would be refused, or fail with its secret shown. */
  protected leastClaimGas(other: EvmAddress | null = null): TxGas {
    return leastLimit(this.usualClaimGas(other), this.#spendGasOf(other), this.besideGas);
  }
  /** What of that it takes in any case: what it was found to need beside may be the word of one node of two, and is not paid where it is not needed. */
  protected sureGas(use: SpendUse, other: EvmAddress | null = null): TxGas {
    return ampleLimit(this.#usualGas(use, other), NO_GAS, sureDataGas(this.coin.account.chain));
  }
  protected usualClaimGas(other: EvmAddress | null): CallGas {
    return this.#usualGas("claim", other);
  }
  #usualGas(use: GasUse, other: EvmAddress | null = null): CallGas {
    return callGas(this.#usualLimit(use, other));
  }
  #usualLimit(use: GasUse, other: EvmAddress | null): bigint {
    const { limits } = this.coin.spec.kind.gas;
    const isToken = other === null ? this.coin.contract !== null : other !== ZERO_ADDRESS;
    switch (use) {
      case "payment":
        return isToken ? limits.tokenPayment : limits.nativePayment;
      case "fee":
        return isToken ? limits.tokenTransfer : limits.nativeSend;
      case "claim":
        return isToken ? limits.tokenSpend : limits.nativeSpend;
      case "refund":
        return isToken ? limits.tokenRefund : limits.nativeRefund;
      case "cancel":
        return limits.nativeSend;
    }
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
    const step = (gas: bigint): Steps => ({ gas: gas + this.besideGas, txs: ONE_TX });
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
    const price = this.#price();
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
    const ceiling = this.#price() * this.#ceilingFactor;
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
    return { gas: this.gasOf(use), txs: ONE_TX };
  }
  #approvals(): Steps {
    return { gas: MOST_APPROVALS * (APPROVAL_GAS + this.besideGas), txs: MOST_APPROVALS };
  }
  #paymentSteps(): Steps {
    const payment = this.#step("payment");
    return this.coin.contract === null ? payment : sumOf([payment, this.#approvals()]);
  }
  #price(): bigint {
    return priceOf(marketBid(gasPricesOf(this.coin.account), this.coin.bidRule()));
  }
  #fee({ gas, txs }: Steps, stage: FeeStage): Rational {
    const { chain, platformDecimals } = this.coin.account;
    const at = (wei: bigint): bigint =>
      stage === "order" ? wei * this.#ceilingFactor : stage === "preimage" ? withMargin(wei, STAGE_MARGINS.preimage) : wei;
    return fromUnits(gas * at(this.#price()) + txs * at(dataBound(chain).wei), platformDecimals);
  }
}
