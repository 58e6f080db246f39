import { secretToWif } from "../../core/keys/wif.ts";
import { encodeProtocolInfo, suitsUtxoCoin } from "../../core/message/protocolInfo.ts";
import { cmp, fromUnits, type Rational, sub, toUnits, ZERO } from "../../core/money/rational.ts";
import { equalBytes, hexOf } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { Secret } from "../../core/util/secret.ts";
import { addressToScript, parseAddress } from "../../core/utxo/address.ts";
import { type BuildError, type BuiltTx, type Unspent, worthSpending } from "../../core/utxo/buildTx.ts";
import { convertAddress } from "../../core/utxo/convertAddress.ts";
import { type ExactFee, type FeeRate, feeForSize, HTLC_SPEND_BYTES, htlcSpendFee } from "../../core/utxo/feeRate.ts";
import { opReturnScript, p2shScript } from "../../core/utxo/outputScript.ts";
import { feeOutputs, paymentOutputs } from "../../core/utxo/swapTx.ts";
import type { Tx, TxOutput } from "../../core/utxo/tx.ts";
import { parseTx, txid } from "../../core/utxo/txCodec.ts";
import type { ScanProgress, UtxoChainWithHistory } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ServerHealth, ServerNeeds } from "../../ports/electrum.ts";
import type { Contract, ExpectedDexFee, OwnSignedTx, SignedTx, SpendRates, SwapCoin, TxRefusal } from "../swap/swapCoin.ts";
import type { FeeFunds, FundsError, NotSufficientBalance, Outage, Reservation, Unfunded } from "../tradingCoin.ts";
import { addressErrorText } from "./addressErrorText.ts";
import { type AnyAddressForm, isUtxoForm } from "./addressForm.ts";
import { buildErrorToFunds, raisedRate, type Stage } from "./coinFees.ts";
import { CoinRates } from "./coinRates.ts";
import { type CoinSpec, type CoinWallet, ownAddressFormat } from "./coinSpec.ts";
import { convertErrorText } from "./convertErrorText.ts";
import { lookAgain } from "./lookAgain.ts";
import { type AddressSelector, MessageSigner } from "./messageSigner.ts";
import { OwnTxBuilder } from "./ownTxBuilder.ts";
import { type SpendBranch, SwapTxReader } from "./swapTxReader.ts";
import type { TradeFee } from "./tradeFee.ts";
import { type ReadHistory, readHistory } from "./txHistory.ts";
import { type AskedHold, UtxoLedger } from "./utxoLedger.ts";
import {
  broadcastToResult,
  type SendError,
  type Withdrawal,
  type WithdrawError,
  type WithdrawFrom,
  type WithdrawRequest,
  withdraw,
} from "./withdraw.ts";

/** KDF counts a possible change output when it computes a maximum (reference rpc.md 9.4). */
const CHANGE_OUTPUT_BYTES = 34;

/** Transactions by which a side pays for a swap, at most. */
const TRADE_TXS = 2;

/** An activated coin of the UTXO family. */
export class UtxoCoin implements SwapCoin, WithdrawFrom {
  readonly family = "utxo";
  /** A claim or refund is paid out of what it spends. */
  readonly spendsFrom = "contract";
  readonly chain: UtxoChainWithHistory;
  readonly spec: CoinSpec;
  readonly wallet: CoinWallet;
  readonly ledger: UtxoLedger;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #settings: { confirmations: number; notarization: boolean };
  readonly #offChain: () => void;
  readonly #closed = new AbortController();
  readonly #messages: MessageSigner;
  readonly #reader: SwapTxReader;
  readonly #rates: CoinRates;
  readonly #builder: OwnTxBuilder;

  constructor(spec: CoinSpec, wallet: CoinWallet, chain: UtxoChainWithHistory, clock: Clock) {
    this.spec = spec;
    this.wallet = wallet;
    this.chain = chain;
    this.#clock = clock;
    this.#messages = new MessageSigner(spec, wallet);
    this.#reader = new SwapTxReader(spec.kind);
    this.#rates = new CoinRates(spec, chain, clock);
    this.#builder = new OwnTxBuilder({ spec, wallet, chain, clock, rates: this.#rates, ledger: () => this.ledger });
    this.#settings = { confirmations: spec.confirmations, notarization: spec.notarization };
    this.ledger = new UtxoLedger({
      chain,
      clock,
      format: spec.kind.template.format,
      publicKey: wallet.key.publicKey,
      scripts: wallet.scripts,
      matureConfs: spec.kind.matureConfirmations,
      rate: () => this.rate("start"),
      ceilingFactor: spec.feeCeilingFactor,
      dust: spec.kind.dust,
      build: (unspents, outputs, rate, insured) =>
        insured ? this.#builder.buildForSwap(unspents, outputs, rate) : this.#builder.build(unspents, outputs, rate),
      sample: (value) => samplePayment(value),
      onChange: () => this.#changed(),
    });
    const own = wallet.scripts.map(hexOf);
    this.#offChain = chain.onChange(({ all, keys }) => {
      if (all || own.some((script) => keys.has(script))) this.#changed();
    });
  }

  /** Fetches the first fee estimate and keeps it fresh. */
  open(signal?: AbortSignal): Promise<void> {
    return this.#rates.open(signal);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#rates.close();
    this.#offChain();
    await this.chain.close();
  }

  get ticker(): string {
    return this.spec.kind.ticker;
  }
  get feeTicker(): string {
    return this.ticker;
  }
  get orderbookTicker(): string | null {
    return this.spec.orderbookTicker;
  }
  get decimals(): number {
    return this.spec.kind.decimals;
  }
  get walletOnly(): boolean {
    return this.spec.walletOnly;
  }
  get address(): string {
    return this.wallet.address;
  }
  get htlcPubkey(): Uint8Array {
    return this.wallet.key.publicKey;
  }
  get protocolInfo(): Uint8Array {
    return encodeProtocolInfo(ownAddressFormat(this.spec.kind));
  }
  get settings(): { readonly confirmations: number; readonly notarization: boolean } {
    return this.#settings;
  }
  get dust(): Rational {
    return this.#whole(this.spec.kind.dust);
  }
  get dustUnits(): bigint {
    return this.spec.kind.dust;
  }
  get minTradingVol(): Rational {
    return this.#whole(this.spec.kind.minTradingVol);
  }
  leastContract(): Rational {
    return this.#whole(this.spec.kind.dust + htlcSpendFee(raisedRate(this.rate(null), this.spec.feeCeilingFactor)));
  }
  get matureConfirmations(): number {
    return this.spec.kind.matureConfirmations;
  }
  outage(): Outage | null {
    const { state, error } = this.chain.status();
    return state === "unreachable" ? { kind: "Transport", coin: this.ticker, message: error ?? "the backend does not answer" } : null;
  }
  async reach(signal?: AbortSignal): Promise<Outage | null> {
    if (this.outage()) await lookAgain(this.#clock, this.chain, signal);
    return this.outage();
  }
  acceptsProtocolInfo(info: Uint8Array | undefined): boolean {
    return suitsUtxoCoin(info, ownAddressFormat(this.spec.kind));
  }
  setRequiredConfirmations(confirmations: number): void {
    this.#settings = { ...this.#settings, confirmations };
  }
  setRequiresNotarization(notarization: boolean): void {
    this.#settings = { ...this.#settings, notarization };
  }

  /** The miner fee rate; `stage` null: without margin, as claims and refunds use it. */
  rate(stage: Stage | null): FeeRate {
    return this.#rates.rate(stage);
  }

  spendable(): Rational {
    return this.#whole(sumOf(this.ledger.spendable()));
  }
  unspendable(): Rational {
    return this.#whole(this.ledger.own.unspendable());
  }
  locked(): Rational {
    return this.#whole(this.ledger.promises.held());
  }

  feeFunds(): FeeFunds {
    const locked = this.locked();
    return { available: sub(this.spendable(), locked), locked };
  }
  paymentFee(volume: Rational, stage: Stage): Result<Rational, Unfunded> {
    return this.#feeOf(samplePayment(toUnits(volume, this.decimals)), stage);
  }
  dexFeeTxFee(amount: Rational, stage: Stage): Result<Rational, Unfunded> {
    return this.#feeOf(feeOutputs({ feeKey: this.htlcPubkey, fee: toUnits(amount, this.decimals), burn: 0n }), stage);
  }
  spendFee(): Rational {
    return this.#whole(htlcSpendFee(this.rate(null)));
  }
  refundFee(): Rational {
    return ZERO;
  }

  maxPayment(stage: Stage): Result<{ readonly volume: Rational; readonly fee: Rational }, NotSufficientBalance> {
    const spendable = this.ledger.spendable();
    const rate = this.#rates.paymentRate(sumOf(spendable), stage);
    const free = worthSpending(spendable, rate);
    const total = sumOf(free);
    const available = total - this.ledger.promises.held();
    const built = available > 0n ? this.#largestPayment(free, rate) : null;
    // An order is served in as many payments as it takes; anything else is one.
    const payments = built?.ok && stage === "order" ? BigInt(Math.ceil(free.length / built.value.spent.length)) : 1n;
    const payable = built?.ok && payments === 1n ? sumOf(built.value.spent) : available;
    const fee = ((built?.ok ? built.value.fee : 0n) + feeForSize(rate, CHANGE_OUTPUT_BYTES)) * payments;
    const most = (payable < available ? payable : available) - fee;
    // A taker pays twice, the dex fee and the payment; beside other promises both must fit in any order.
    const room = this.ledger.roomFor(TRADE_TXS);
    const volume = room !== null && room < most ? room : most;
    if (!built?.ok || volume < this.spec.kind.dust) {
      const required = this.#whole(this.spec.kind.dust + fee);
      return err({
        kind: "NotSufficientBalance",
        coin: this.ticker,
        available: this.#whole(available > 0n ? available : 0n),
        required,
        lockedBySwaps: this.locked(),
      });
    }
    return ok({ volume: this.#whole(volume), fee: this.#whole(fee) });
  }

  /** A payment of all these outputs, or of the largest ones where they are more than fit into a transaction. */
  #largestPayment(free: readonly Unspent[], rate: FeeRate): Result<BuiltTx, BuildError> {
    const pay = (units: bigint) => this.#builder.build(free, samplePayment(units), rate, { feeFromOutput: 0 });
    const built = pay(sumOf(free));
    return !built.ok && built.error.kind === "TooManyInputs" ? pay(built.error.available) : built;
  }

  reserve(amounts: readonly Rational[], ttlMs: number): Result<Reservation, FundsError> {
    return this.#hold(
      amounts.map((a) => toUnits(a, this.decimals)),
      ttlMs,
    );
  }
  reserveClaim(): Result<null, never> {
    return ok(null);
  }
  reserveAgain(asked: readonly AskedHold[]): readonly Result<Reservation, FundsError>[] {
    return this.ledger.holdEach(asked).map((held, i) => this.#reservation(held, asked[i]?.amounts ?? []));
  }
  adopt(reservation: Reservation): void {
    this.ledger.promises.keep(reservation.id);
  }
  release(reservation: Reservation): void {
    this.ledger.promises.release(reservation.id);
  }
  onBalanceChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  contractScript(contract: Contract): Uint8Array {
    return this.#reader.contractScript(contract);
  }
  ownDexFees(wanted: Parameters<SwapCoin["ownDexFees"]>[0], sinceHeight: number): readonly OwnSignedTx[] {
    const expected = { ...wanted, takerKey: this.wallet.key.publicKey };
    return this.ledger.own
      .touchedSince(sinceHeight)
      .filter(({ raw }) => this.#reader.isExactDexFee(raw, expected))
      .map(({ txid, raw }) => ({ txid, raw, fee: this.feeOf(raw) ?? 0n }));
  }
  buildDexFee(args: Parameters<SwapCoin["buildDexFee"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.#builder.takeAndSign(feeOutputs({ feeKey: args.feeKey, fee: args.feeUnits, burn: args.burnUnits }), args.reservation);
  }
  buildPayment({ contract, reservation }: Parameters<SwapCoin["buildPayment"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.#builder.takeAndSign(paymentOutputs(contract, contract.units), reservation);
  }

  buildClaim(args: Parameters<SwapCoin["buildClaim"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.#builder.claim(args);
  }
  buildRefund(args: Parameters<SwapCoin["buildRefund"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.#builder.refund(args);
  }
  buildChild(parent: Uint8Array, fee: bigint): Result<OwnSignedTx, FundsError> {
    return this.#builder.child(parent, fee);
  }
  get relayPolicy(): SwapCoin["relayPolicy"] {
    return this.spec.kind.relayPolicy;
  }
  readonly swapContracts = null;
  spendSize(): number {
    return HTLC_SPEND_BYTES;
  }
  feeValue(): null {
    return null;
  }
  prepareToPay(): null {
    return null;
  }
  spendRates(): SpendRates {
    return {
      rate: this.#rates.spendRate(),
      floorPerKb: this.#rates.floorPerKb(),
      relayPerKb: this.chain.relayFeePerKb(),
      mostPerTx: null,
      isFixed: this.spec.kind.feePolicy.kind === "fixed",
      childSize: this.#rates.childSize,
    };
  }

  dearerThanReserved(reservation: Reservation): string | null {
    const ceiling = this.ledger.promises.ceilingOf(reservation.id);
    const { perKb } = this.rate("start");
    if (ceiling === null || perKb <= ceiling.perKb) return null;
    return `the ${this.ticker} fee rate is ${perKb} units per 1000 bytes, above the ${ceiling.perKb} reserved for this swap`;
  }
  coversSpend(units: bigint): boolean {
    return units - htlcSpendFee(this.rate(null)) >= this.spec.kind.dust;
  }

  buildCancel(payment: Uint8Array, childFees = 0n, least = 0n): Result<OwnSignedTx, FundsError> {
    return this.#builder.cancel(payment, childFees, least);
  }
  feeOf(raw: Uint8Array): bigint | null {
    return this.#builder.feeOf(raw);
  }

  isOurs(txid: string): boolean {
    return this.ledger.own.isOurs(txid);
  }
  /** What is in the mempool shows like what is in a block. */
  unexplained(): null {
    return null;
  }
  builtOn(raw: Uint8Array): ReadonlySet<string> {
    return this.ledger.own.builtOn(this.#parseOwn(raw));
  }
  conflictOf(raw: Uint8Array): string | null {
    return this.ledger.own.conflictOf(this.#parseOwn(raw));
  }
  lockInputs(raw: Uint8Array): void {
    this.ledger.lock(this.#parseOwn(raw));
  }
  dropChange(raw: Uint8Array): void {
    this.ledger.dropChange(this.#parseOwn(raw));
  }
  releaseInputs(raw: Uint8Array): void {
    this.ledger.unlock(this.#parseOwn(raw));
  }

  checkPayment(raw: Uint8Array, contract: Contract): Result<SignedTx, TxRefusal> {
    return this.#reader.checkPayment(raw, contract);
  }
  checkDexFee(raw: Uint8Array, expected: ExpectedDexFee): Result<SignedTx, TxRefusal> {
    return this.#reader.checkDexFee(raw, expected);
  }
  /** A script pays whoever meets it, out of the contract. */
  prepareToSpend(): null {
    return null;
  }
  claimObstacle(): null {
    return null;
  }
  classifySpend({ raw }: SignedTx, paymentTxid: string): SpendBranch {
    return this.#reader.classifySpend(raw, paymentTxid);
  }
  findSecret({ raw }: SignedTx, secretHash: Uint8Array): Uint8Array | null {
    return this.#reader.findSecret(raw, secretHash);
  }
  sameTx(a: Uint8Array, b: Uint8Array): boolean {
    return this.#reader.sameTx(a, b);
  }
  parentsOf(raw: Uint8Array): readonly string[] {
    return this.#reader.parentsOf(raw);
  }
  sameInputs(a: Uint8Array, b: Uint8Array): boolean {
    return this.#reader.sameInputs(a, b);
  }
  spends(raw: Uint8Array, id: string): boolean {
    return this.#reader.spends(raw, id);
  }
  outputValue(raw: Uint8Array): bigint {
    return this.#builder.parse(raw).outputs.reduce((n, o) => n + o.value, 0n);
  }

  /** Miner fee per 1000 bytes: the answer of `get_trade_fee`. */
  async tradeFee(signal: AbortSignal): Promise<TradeFee> {
    await this.#rates.refresh(signal);
    return { coin: this.ticker, amount: this.#whole(this.rate(null).perKb) };
  }

  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }> {
    const parsed = parseAddress(address, this.spec.kind.address);
    return parsed.ok ? ok(undefined) : err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, parsed.error) });
  }

  /** The key of the coin's own address, in wallet import format. */
  privKey(): Secret<string> {
    return secretToWif(this.wallet.key.secret, this.spec.kind.wifPrefix);
  }
  convertAddress(address: string, to: AnyAddressForm): Result<string, { readonly kind: "NotConvertible"; readonly reason: string }> {
    if (!isUtxoForm(to)) return err({ kind: "NotConvertible", reason: `${this.ticker} has no ${to.format} addresses` });
    const converted = convertAddress(address, to, this.spec.kind.address);
    return converted.ok ? converted : err({ kind: "NotConvertible", reason: convertErrorText(this.ticker, converted.error) });
  }
  accountInfo(): null {
    return null;
  }
  rawTx(id: string): Uint8Array | null {
    return this.chain.tx(id)?.raw ?? null;
  }
  scanProgress(): ScanProgress | null {
    return this.chain.status().progress;
  }
  servers(): readonly ServerHealth[] {
    return this.chain.servers();
  }
  oldView(): { readonly state: "starting" | "syncing" | "unreachable"; readonly height: number | null } | null {
    const { state, tip } = this.chain.status();
    return state === "ready" ? null : { state, height: tip?.height ?? null };
  }
  serverNeeds(): ServerNeeds | null {
    return this.chain.serverNeeds();
  }
  /** Null: it was not asked for at activation. */
  history(): ReadHistory | null {
    const { spec, wallet, chain } = this;
    if (!spec.txHistory) return null;
    const of = { chain, scripts: wallet.scripts, format: spec.kind.template.format, rules: spec.kind.address, decimals: this.decimals };
    return (start, limit, signal) => readHistory(of, start, limit, signal);
  }
  tipHeight(): number {
    return this.chain.status().tip?.height ?? 0;
  }

  signMessage(message: string): ReturnType<MessageSigner["sign"]> {
    return this.#messages.sign(message);
  }
  signMessageAs(address: AddressSelector, message: string): ReturnType<MessageSigner["signAs"]> {
    return this.#messages.signAs(address, message);
  }
  verifyMessage(message: string, signature: string, address: string): ReturnType<MessageSigner["verify"]> {
    return this.#messages.verify(message, signature, address);
  }

  async withdraw(request: WithdrawRequest, signal: AbortSignal): Promise<Result<Withdrawal, WithdrawError>> {
    const { fee } = request;
    if (fee && fee.kind !== "fixed" && fee.kind !== "perKbyte")
      return err({ kind: "InvalidFeePolicy", reason: `Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found ${fee.type}` });
    const script = addressToScript(request.to, this.spec.kind.address);
    if (!script.ok) return err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, script.error) });
    return withdraw(this, { ...request, fee }, script.value, signal);
  }

  async sendRaw(raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>> {
    const tx = parseTx(raw, this.spec.kind.template.format);
    if (!tx.ok) return err({ kind: "Rejected", message: `not a transaction of ${this.ticker}: ${tx.error.detail}` });
    const taken = this.ledger.own.takenBy(tx.value);
    if (taken !== null) return err({ kind: "Rejected", message: `an input of it is used by ${taken}, a transaction of a swap` });
    return broadcastToResult(await this.chain.broadcast(raw, signal), txid(tx.value));
  }

  /** Runs `task` once after `delayMs`, unless the coin closes before. */
  after(delayMs: number, task: () => void): void {
    this.#closed.signal.addEventListener("abort", this.#clock.after(delayMs, task), { once: true });
  }

  isOwnScript(script: Uint8Array): boolean {
    return this.wallet.scripts.some((s) => equalBytes(s, script));
  }

  /** Builds from free outputs and signs; the inputs stay free until `ledger.lock`. For withdrawals. */
  buildAndSign(
    outputs: readonly TxOutput[],
    rate: FeeRate | ExactFee,
    feeFromOutput?: number,
  ): Result<{ readonly tx: Tx; readonly built: BuiltTx }, BuildError> {
    const built = this.ledger.select((unspents) => this.#builder.build(unspents, outputs, rate, { feeFromOutput }));
    return built.ok ? ok({ tx: this.#builder.sign(built.value.tx, built.value.spent), built: built.value }) : built;
  }

  /** All of these outputs into one own output, less the fee, signed. */
  buildMerge(unspents: readonly Unspent[], rate: FeeRate): Result<{ readonly tx: Tx; readonly built: BuiltTx }, BuildError> {
    const [script = new Uint8Array()] = this.wallet.scripts;
    const built = this.#builder.build(unspents, [{ value: sumOf(unspents), script }], rate, { feeFromOutput: 0 });
    return built.ok ? ok({ tx: this.#builder.sign(built.value.tx, built.value.spent), built: built.value }) : built;
  }

  /** Fires when the coin is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  #feeOf(outputs: readonly TxOutput[], stage: Stage): Result<Rational, Unfunded> {
    const built = this.ledger.estimate((unspents) => this.#builder.buildForSwap(unspents, outputs, stage));
    if (built.ok) return ok(this.#whole(built.value.fee));
    return err(
      buildErrorToFunds(
        this.ticker,
        this.decimals,
        outputs.reduce((n, o) => n + o.value, 0n),
        built.error,
      ),
    );
  }

  #hold(amounts: readonly bigint[], ttlMs: number | null): Result<Reservation, FundsError> {
    return this.#reservation(this.ledger.hold(amounts, ttlMs), amounts);
  }

  #reservation(held: Result<string, BuildError>, amounts: readonly bigint[]): Result<Reservation, FundsError> {
    if (held.ok) return ok({ id: held.value });
    const available = sub(this.spendable(), this.locked());
    const required = this.#whole(amounts.reduce((n, a) => n + a, 0n));
    return err({
      kind: "NotSufficientBalance",
      coin: this.ticker,
      available: cmp(available, ZERO) > 0 ? available : ZERO,
      required,
      lockedBySwaps: this.locked(),
    });
  }

  #parseOwn(raw: Uint8Array): Tx {
    return this.#builder.parse(raw);
  }
  #whole(units: bigint): Rational {
    return fromUnits(units, this.decimals);
  }
  #changed(): void {
    for (const l of this.#listeners) l();
  }
}

const sumOf = (items: readonly { readonly value: bigint }[]): bigint => items.reduce((n, u) => n + u.value, 0n);

/** Outputs of a payment's size and form, for estimates: a P2SH and the hash. */
function samplePayment(value: bigint): readonly TxOutput[] {
  return [
    { value, script: p2shScript(new Uint8Array(20)) },
    { value: 0n, script: opReturnScript(new Uint8Array(20)) },
  ];
}
