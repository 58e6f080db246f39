import type { Result } from "../../core/util/result.ts";
import { HTLC_SPEND_BYTES, htlcSpendFee } from "../../core/utxo/feeRate.ts";
import { feeOutputs, paymentOutputs } from "../../core/utxo/swapTx.ts";
import type { UtxoChainWithHistory } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  CancelFees,
  Contract,
  ExpectedDexFee,
  OwnSignedTx,
  SignedTx,
  SpendRates,
  SpentValue,
  SwapCoin,
  TxRefusal,
} from "../swap/swapCoin.ts";
import type { FundsError, Reservation } from "../tradingCoin.ts";
import type { CoinSpec, CoinWallet } from "./coinSpec.ts";
import { type SpendBranch, SwapTxReader } from "./swapTxReader.ts";
import { UtxoTradeFunds } from "./utxoTradeFunds.ts";

/** A coin of the UTXO family, as swaps use it. */
export class UtxoSwapCoin extends UtxoTradeFunds implements SwapCoin {
  readonly swapContracts = null;
  readonly #reader: SwapTxReader;

  constructor(spec: CoinSpec, wallet: CoinWallet, chain: UtxoChainWithHistory, clock: Clock) {
    super(spec, wallet, chain, clock);
    this.#reader = new SwapTxReader(spec.kind);
  }

  adopt(reservation: Reservation): void {
    this.ledger.promises.keep(reservation.id);
  }
  contractScript(contract: Contract): Uint8Array {
    return this.#reader.contractScript(contract);
  }
  ownDexFees(...[wanted, sinceHeight, isKnown]: Parameters<SwapCoin["ownDexFees"]>): readonly OwnSignedTx[] {
    const spentValue: SpentValue = (output) => this.ledger.own.source(output)?.value ?? null;
    const expected = { ...wanted, takerKey: this.wallet.key.publicKey, spentValue };
    return this.ledger.own
      .touchedSince(sinceHeight)
      .filter(({ txid, raw }) => !isKnown(txid) && this.#reader.isExactDexFee(raw, expected))
      .map(({ txid, raw }) => ({ txid, raw, fee: this.feeOf(raw) ?? 0n }));
  }
  buildDexFee(args: Parameters<SwapCoin["buildDexFee"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.builder.payFee(feeOutputs({ feeKey: args.feeKey, fee: args.feeUnits, burn: args.burnUnits }), args.reservation);
  }
  buildPayment({ contract, reservation }: Parameters<SwapCoin["buildPayment"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.builder.takeAndSign(paymentOutputs(contract, contract.units), reservation);
  }

  buildClaim(args: Parameters<SwapCoin["buildClaim"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.builder.claim(args);
  }
  buildRefund(args: Parameters<SwapCoin["buildRefund"]>[0]): Result<OwnSignedTx, FundsError> {
    return this.builder.refund(args);
  }
  buildChild(parent: Uint8Array, fee: bigint): Result<OwnSignedTx, FundsError> {
    return this.builder.child(parent, fee);
  }
  get relayPolicy(): SwapCoin["relayPolicy"] {
    return this.spec.kind.relayPolicy;
  }
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
      rate: this.rates.spendRate(),
      floorPerKb: this.rates.floorPerKb(),
      relayPerKb: this.chain.relayFeePerKb(),
      mostPerTx: this.spec.kind.mostPerTx,
      isFixed: this.spec.kind.feePolicy.kind === "fixed",
      childSize: this.rates.childSize,
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

  buildCancel(payment: Uint8Array, fees: CancelFees = {}): Result<OwnSignedTx, FundsError> {
    return this.builder.cancel(payment, fees);
  }
  feeOf(raw: Uint8Array): bigint | null {
    return this.builder.feeOf(raw);
  }

  isOurs(txid: string): boolean {
    return this.ledger.own.isOurs(txid);
  }
  isSigned(raw: Uint8Array): boolean {
    return this.ledger.own.isSigned(this.builder.parse(raw));
  }
  /** What is in the mempool shows like what is in a block. */
  unexplained(): null {
    return null;
  }
  builtOn(raw: Uint8Array): ReadonlySet<string> {
    return this.ledger.own.builtOn(this.builder.parse(raw));
  }
  conflictOf(raw: Uint8Array): string | null {
    return this.ledger.own.conflictOf(this.builder.parse(raw));
  }
  lockInputs(raw: Uint8Array): void {
    this.ledger.lock(this.builder.parse(raw));
  }
  dropChange(raw: Uint8Array): void {
    this.ledger.dropChange(this.builder.parse(raw));
  }
  releaseInputs(raw: Uint8Array): void {
    this.ledger.unlock(this.builder.parse(raw));
  }

  checkPayment(raw: Uint8Array, contract: Contract): Result<SignedTx, TxRefusal> {
    return this.#reader.checkPayment(raw, contract);
  }
  async spentValues(raw: Uint8Array, signal: AbortSignal): Promise<SpentValue | null> {
    const values = new Map<string, readonly bigint[]>();
    const asked = new Set(this.#reader.bareInputs(raw).map((input) => input.txid));
    for (const id of asked) {
      const bytes = await this.chain.rawTx(id, signal);
      const known = bytes && this.#reader.valuesOf(bytes, id);
      // Without one of them the fee cannot count: whoever makes them up has no more asked for.
      if (!known) return null;
      values.set(id, known);
    }
    return ({ txid, vout }) => values.get(txid)?.[vout] ?? null;
  }
  feePayer(raw: Uint8Array, takerKey: Uint8Array): Uint8Array | null {
    return this.#reader.feePayer(raw, takerKey);
  }
  checkDexFee(raw: Uint8Array, expected: ExpectedDexFee): Result<SignedTx, TxRefusal> {
    return this.#reader.checkDexFee(raw, expected);
  }
  /** A script pays whoever meets it, out of the contract. */
  prepareToSpend(): null {
    return null;
  }
  spendTooDear(): null {
    return null;
  }
  claimObstacle(): null {
    return null;
  }
  classifySpend({ raw }: SignedTx, paymentTxid: string): SpendBranch {
    return this.#reader.classifySpend(raw, paymentTxid);
  }
  isSignedRefund({ raw }: SignedTx, paymentTxid: string, contract: Contract): boolean {
    return this.#reader.isSignedRefund(raw, paymentTxid, contract);
  }
  findSecret({ raw }: SignedTx, secretHash: Uint8Array): Uint8Array | null {
    return this.#reader.findSecret(raw, secretHash);
  }
  sameTx(a: Uint8Array, b: Uint8Array): boolean {
    return this.#reader.sameTx(a, b);
  }
  hasAged(raw: Uint8Array): boolean {
    return this.builder.hasAged(raw);
  }
  restsOnAged(raw: Uint8Array): boolean {
    return this.builder.restsOnAged(raw);
  }
  restsOnNothing(raw: Uint8Array): boolean {
    return this.builder.restsOnNothing(raw);
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
    return this.builder.parse(raw).outputs.reduce((n, o) => n + o.value, 0n);
  }
}
