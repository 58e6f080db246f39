import { encodeProtocolInfo, suitsUtxoCoin } from "../../core/message/protocolInfo.ts";
import { cmp, fromUnits, type Rational, sub, toUnits, ZERO } from "../../core/money/rational.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import { addressToScript, parseAddress } from "../../core/utxo/address.ts";
import { type BuildError, type BuiltTx, buildTx, type Unspent, worthSpending } from "../../core/utxo/buildTx.ts";
import { type ExactFee, type FeeRate, feeForSize, htlcSpendFee } from "../../core/utxo/feeRate.ts";
import { buildHtlcClaim, buildHtlcRefund, type HtlcSpend, type HtlcSpendError } from "../../core/utxo/htlcSpend.ts";
import { opReturnScript, p2shScript } from "../../core/utxo/outputScript.ts";
import { signInputs } from "../../core/utxo/signInput.ts";
import { feeOutputs, HTLC_VOUT, paymentOutputs } from "../../core/utxo/swapTx.ts";
import type { Tx, TxOutput } from "../../core/utxo/tx.ts";
import { parseTx, serializeTx, txid } from "../../core/utxo/txCodec.ts";
import { currentLockTime, draftTx, htlcLockTime, SEQUENCE_FINAL } from "../../core/utxo/txTemplate.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Contract, SignedTx, SwapCoin, TxRefusal } from "../swap/swapCoin.ts";
import type { FundsError, Reservation } from "../tradingCoin.ts";
import { addressErrorText } from "./addressErrorText.ts";
import { buildErrorToFunds, type Stage, stageRate } from "./coinFees.ts";
import { type CoinSpec, type CoinWallet, ownAddressFormat } from "./coinSpec.ts";
import { type AddressSelector, MessageSigner } from "./messageSigner.ts";
import { type ExpectedDexFee, type SpendBranch, SwapTxReader } from "./swapTxReader.ts";
import { UtxoLedger } from "./utxoLedger.ts";
import {
  broadcastToResult,
  type SendError,
  type Withdrawal,
  type WithdrawError,
  type WithdrawFrom,
  type WithdrawRequest,
  withdraw,
} from "./withdraw.ts";

/** A dynamic rate is asked for again this often. */
const RATE_REFRESH_MS = 60_000;
/** KDF counts a possible change output when it computes a maximum (reference rpc.md 9.4). */
const CHANGE_OUTPUT_BYTES = 34;
/** A cancelling transaction offers this many times the fee of what it replaces, and never less than one more satoshi per byte. */
const CANCEL_FEE_FACTOR = 3n;

/** An activated coin of the UTXO family. */
export class UtxoCoin implements SwapCoin, WithdrawFrom {
  readonly chain: UtxoChain;
  readonly spec: CoinSpec;
  readonly wallet: CoinWallet;
  readonly ledger: UtxoLedger;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #settings: { confirmations: number; notarization: boolean };
  #estimate: bigint | null = null;
  #stopRates: () => void = () => undefined;
  readonly #offChain: () => void;
  readonly #closed = new AbortController();
  readonly #messages: MessageSigner;
  readonly #reader: SwapTxReader;

  constructor(spec: CoinSpec, wallet: CoinWallet, chain: UtxoChain, clock: Clock) {
    this.spec = spec;
    this.wallet = wallet;
    this.chain = chain;
    this.#clock = clock;
    this.#messages = new MessageSigner(spec, wallet);
    this.#reader = new SwapTxReader(spec.kind);
    this.#settings = { confirmations: spec.confirmations, notarization: spec.notarization };
    this.ledger = new UtxoLedger({
      chain,
      clock,
      format: spec.kind.template.format,
      publicKey: wallet.key.publicKey,
      scripts: wallet.scripts,
      matureConfs: spec.kind.matureConfirmations,
      build: (unspents, outputs, feeFromOutput) => this.#build(unspents, outputs, this.rate("start"), feeFromOutput),
      sample: (value) => samplePayment(value),
      onChange: () => this.#changed(),
    });
    this.#offChain = chain.onChange(() => this.#changed());
  }

  /** Fetches the first fee estimate and keeps it fresh. */
  async open(signal?: AbortSignal): Promise<void> {
    if (this.spec.kind.feePolicy.kind !== "dynamic") return;
    await this.#refreshRate(signal);
    const again = (): void => {
      this.#stopRates = this.#clock.after(RATE_REFRESH_MS, () => {
        void this.#refreshRate(this.#closed.signal).finally(() => {
          if (!this.#closed.signal.aborted) again();
        });
      });
    };
    again();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#stopRates();
    this.#offChain();
    await this.chain.close();
  }

  async #refreshRate(signal?: AbortSignal): Promise<void> {
    if (this.spec.kind.feePolicy.kind !== "dynamic") return;
    try {
      this.#estimate = (await this.chain.estimateFeePerKb(this.spec.feeTargetBlocks, signal)) ?? this.#estimate;
    } catch {
      // The last estimate, or the fallback, stands until the backend answers again.
      return;
    }
  }

  get ticker(): string {
    return this.spec.kind.ticker;
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
  get matureConfirmations(): number {
    return this.spec.kind.matureConfirmations;
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
    return stageRate(this.spec.kind, this.#estimate, this.chain.relayFeePerKb(), stage);
  }

  spendable(): Rational {
    return this.#whole(sumOf(this.ledger.spendable()));
  }
  unspendable(): Rational {
    return this.#whole(this.ledger.unspendable());
  }
  locked(): Rational {
    return this.#whole(this.ledger.held());
  }

  paymentFee(volume: Rational, stage: Stage): Result<Rational, FundsError> {
    return this.#feeOf(samplePayment(toUnits(volume, this.decimals)), stage);
  }
  dexFeeTxFee(amount: Rational, stage: Stage): Result<Rational, FundsError> {
    return this.#feeOf(feeOutputs({ feeKey: this.htlcPubkey, fee: toUnits(amount, this.decimals), burn: 0n }), stage);
  }
  spendFee(): Rational {
    return this.#whole(htlcSpendFee(this.rate(null)));
  }

  maxPayment(stage: Stage): Result<{ readonly volume: Rational; readonly fee: Rational }, FundsError> {
    const rate = this.rate(stage);
    const free = worthSpending(this.ledger.spendable(), rate);
    const total = sumOf(free);
    const available = total - this.ledger.held();
    const built = available > 0n ? this.#build(free, samplePayment(total), rate, 0) : null;
    const fee = (built?.ok ? built.value.fee : 0n) + feeForSize(rate, CHANGE_OUTPUT_BYTES);
    const volume = available - fee;
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

  reserve(amounts: readonly Rational[], ttlMs: number): Result<Reservation, FundsError> {
    return this.#hold(
      amounts.map((a) => toUnits(a, this.decimals)),
      ttlMs,
    );
  }
  reserveAgain(unitAmounts: readonly bigint[], ttlMs: number): Result<Reservation, FundsError> {
    return this.#hold(unitAmounts, ttlMs);
  }
  adopt(reservation: Reservation): void {
    this.ledger.keep(reservation.id);
  }
  release(reservation: Reservation): void {
    this.ledger.release(reservation.id);
  }
  onBalanceChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  contractScript(contract: Contract): Uint8Array {
    return this.#reader.contractScript(contract);
  }
  buildDexFee(args: {
    readonly feeUnits: bigint;
    readonly burnUnits: bigint;
    readonly feeKey: Uint8Array;
    readonly reservation: Reservation | null;
  }): Result<SignedTx, FundsError> {
    return this.#takeAndSign(feeOutputs({ feeKey: args.feeKey, fee: args.feeUnits, burn: args.burnUnits }), args.reservation);
  }
  buildPayment(args: {
    readonly contract: Contract;
    readonly units: bigint;
    readonly reservation: Reservation | null;
  }): Result<SignedTx, FundsError> {
    return this.#takeAndSign(paymentOutputs(args.contract, args.units), args.reservation);
  }

  buildClaim(args: {
    readonly contract: Contract;
    readonly payment: Uint8Array;
    readonly secret: Uint8Array;
  }): Result<SignedTx, FundsError> {
    return this.#spendContract(args.contract, args.payment, (spend) => buildHtlcClaim(spend, new Secret(args.secret), this.wallet.key));
  }
  buildRefund(args: { readonly contract: Contract; readonly payment: Uint8Array }): Result<SignedTx, FundsError> {
    return this.#spendContract(args.contract, args.payment, (spend) => buildHtlcRefund(spend, this.wallet.key));
  }

  coversSpend(units: bigint): boolean {
    return units - htlcSpendFee(this.rate(null)) >= this.spec.kind.dust;
  }

  buildCancel(payment: Uint8Array): Result<SignedTx, FundsError> {
    const paid = this.#parseOwn(payment);
    const spent = paid.inputs.map((i) => this.ledger.source(i));
    if (!spent.every((u) => u !== undefined)) return this.#internal("an input of the payment is not ours or no longer known");
    const total = sumOf(spent);
    const oldFee = total - paid.outputs.reduce((n, o) => n + o.value, 0n);
    const least = oldFee + BigInt(payment.length);
    const most = total - this.spec.kind.dust;
    if (most < least) return this.#internal(`the inputs hold ${total} units, too few for a fee of ${least}`);
    const wanted = oldFee * CANCEL_FEE_FACTOR + BigInt(payment.length);
    const fee = wanted < most ? wanted : most;
    const inputs = paid.inputs.map((i) => ({ ...i, scriptSig: new Uint8Array(0), witness: [], sequence: SEQUENCE_FINAL }));
    const draft = draftTx(this.spec.kind.template, {
      inputs,
      outputs: [{ value: total - fee, script: this.#changeScript() }],
      lockTime: this.#lockTime(),
    });
    return ok(this.#signed(signInputs(draft, spent, this.wallet.key, this.spec.kind.scheme)));
  }

  isBuiltOn(raw: Uint8Array): boolean {
    return this.ledger.isBuiltOn(this.#parseOwn(raw));
  }
  conflictOf(raw: Uint8Array): string | null {
    return this.ledger.conflictOf(this.#parseOwn(raw));
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

  checkPayment(raw: Uint8Array, contract: Contract, units: bigint): Result<SignedTx, TxRefusal> {
    return this.#reader.checkPayment(raw, contract, units);
  }
  checkDexFee(raw: Uint8Array, expected: ExpectedDexFee): Result<SignedTx, TxRefusal> {
    return this.#reader.checkDexFee(raw, expected);
  }
  classifySpend(raw: Uint8Array, paymentTxid: string): SpendBranch {
    return this.#reader.classifySpend(raw, paymentTxid);
  }
  findSecret(raw: Uint8Array, secretHash: Uint8Array): Uint8Array | null {
    return this.#reader.findSecret(raw, secretHash);
  }
  sameTx(a: Uint8Array, b: Uint8Array): boolean {
    return this.#reader.sameTx(a, b);
  }

  /** Miner fee per 1000 bytes, whole coins: the answer of `get_trade_fee`. */
  async feeRate(signal: AbortSignal): Promise<Result<Rational, FundsError>> {
    await this.#refreshRate(signal);
    return ok(this.#whole(this.rate(null).perKb));
  }

  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }> {
    const parsed = parseAddress(address, this.spec.kind.address);
    return parsed.ok ? ok(undefined) : err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, parsed.error) });
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
    const script = addressToScript(request.to, this.spec.kind.address);
    if (!script.ok) return err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, script.error) });
    return withdraw(this, request, script.value, signal);
  }

  async sendRaw(raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>> {
    const tx = parseTx(raw, this.spec.kind.template.format);
    if (!tx.ok) return err({ kind: "Rejected", message: `not a transaction of ${this.ticker}: ${tx.error.detail}` });
    const taken = this.ledger.takenBy(tx.value);
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
    const built = this.ledger.select((unspents) => this.#build(unspents, outputs, rate, feeFromOutput));
    if (!built.ok) return built;
    return ok({ tx: signInputs(built.value.tx, built.value.spent, this.wallet.key, this.spec.kind.scheme), built: built.value });
  }

  #takeAndSign(outputs: readonly TxOutput[], reservation: Reservation | null): Result<SignedTx, FundsError> {
    const built = this.ledger.take(outputs, reservation?.id ?? null);
    if (!built.ok)
      return err(
        buildErrorToFunds(
          this.ticker,
          this.decimals,
          outputs.reduce((n, o) => n + o.value, 0n),
          built.error,
        ),
      );
    const tx = signInputs(built.value.tx, built.value.spent, this.wallet.key, this.spec.kind.scheme);
    const amount = outputs.reduce((n, o) => n + o.value, 0n);
    this.ledger.lock(tx, reservation ? { holdId: reservation.id, amount } : undefined);
    return ok(this.#signed(tx));
  }

  #spendContract(
    contract: Contract,
    payment: Uint8Array,
    build: (spend: HtlcSpend) => Result<Tx, HtlcSpendError>,
  ): Result<SignedTx, FundsError> {
    const paid = this.#parseOwn(payment);
    const output = paid.outputs[HTLC_VOUT];
    if (!output) return this.#internal("the payment has no output");
    const medianTimePastSec = this.chain.status().tip?.medianTimePastSec ?? 0;
    const built = build({
      template: this.spec.kind.template,
      scheme: this.spec.kind.scheme,
      payment: { txid: txid(paid), vout: HTLC_VOUT, value: output.value },
      terms: contract,
      outputScript: this.#changeScript(),
      fee: htlcSpendFee(this.rate(null)),
      lockTime: htlcLockTime(contract.lock, { medianTimePastSec, nowSec: this.#nowSec() }, this.spec.kind.paysInterest),
      dust: this.spec.kind.dust,
    });
    return built.ok ? ok(this.#signed(built.value)) : this.#internal(`the contract holds ${output.value} units, too few for the miner fee`);
  }

  #build(
    unspents: readonly Unspent[],
    outputs: readonly TxOutput[],
    feeRate: FeeRate | ExactFee,
    feeFromOutput?: number,
  ): Result<BuiltTx, BuildError> {
    return buildTx({
      template: this.spec.kind.template,
      unspents: worthSpending(unspents, feeRate),
      outputs,
      changeScript: this.#changeScript(),
      feeRate,
      dust: this.spec.kind.dust,
      lockTime: this.#lockTime(),
      ...(feeFromOutput === undefined ? {} : { feeFromOutput }),
    });
  }

  #feeOf(outputs: readonly TxOutput[], stage: Stage): Result<Rational, FundsError> {
    const built = this.ledger.select((unspents) => this.#build(unspents, outputs, this.rate(stage)));
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
    const held = this.ledger.hold(amounts, ttlMs);
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

  /** Parses bytes this node signed, or that passed a check, before they were stored. */
  #parseOwn(raw: Uint8Array): Tx {
    const tx = parseTx(raw, this.spec.kind.template.format);
    if (!tx.ok) throw new Error(`${this.ticker}: a stored transaction does not parse: ${tx.error.detail}`);
    return tx.value;
  }
  #signed(tx: Tx): SignedTx {
    return { txid: txid(tx), raw: serializeTx(tx) };
  }
  #changeScript(): Uint8Array {
    const script = this.wallet.scripts[0];
    if (!script) throw new Error(`${this.ticker}: a wallet has at least one script`);
    return script;
  }
  #nowSec(): number {
    return Math.floor(this.#clock.nowMs() / 1_000);
  }
  #lockTime(): number {
    return currentLockTime(this.#nowSec(), this.spec.kind.paysInterest);
  }
  #whole(units: bigint): Rational {
    return fromUnits(units, this.decimals);
  }
  #internal(message: string): Result<never, FundsError> {
    return err({ kind: "Internal", coin: this.ticker, message });
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
