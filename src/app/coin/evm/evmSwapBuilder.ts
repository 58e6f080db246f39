import { addressOfPubkey } from "../../../core/evm/address.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import { type GasBid, greatestFee, replacementBid } from "../../../core/evm/gas.ts";
import { parseEvmTx } from "../../../core/evm/parseTx.ts";
import { encodeSwapCall, parseSwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { fromUnits } from "../../../core/money/rational.ts";
import { toHex } from "../../../core/util/bytes.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { OwnSignedTx, SpendArgs, SpendUse } from "../../swap/swapCoin.ts";
import type { FundsError, Reservation } from "../../tradingCoin.ts";
import { isAboveBlock } from "./blockGas.ts";
import { dataBound } from "./dataCost.ts";
import type { EvmCoin } from "./evmCoin.ts";
import type { EvmSwapChain } from "./evmSwapChain.ts";
import { paymentCall } from "./evmSwapReader.ts";
import type { Steps } from "./evmTradeFunds.ts";
import { MOST_PRICE, priceOf } from "./gasBid.ts";
import { txGas, withGasMargin } from "./gasFigures.ts";
import { bidOf } from "./outgoing.ts";
import { type PaymentTerms, paymentTerms } from "./paymentScript.ts";
import { type Call as PlainCall, signCall } from "./signCall.ts";
import { bidAt, lastingBid } from "./swapBids.ts";
import type { GasUse } from "./swapGas.ts";

type Call = PlainCall & { readonly gas: bigint };

const NO_DATA = new Uint8Array(0);
/** Of the usual limit: beyond it the token does something nobody agreed on. */
const MOST_GAS_FACTOR = 10n;
/** Payments that were tried and not made yet; those that never are, are forgotten. No more are promised at once (`AccountFunds`). */
const MOST_TRIED = 1_000;

const ownTx = ({ txid, raw }: SignedEvmTx, fee: bigint): OwnSignedTx => ({ txid, raw, fee });
const idText = ({ id }: PaymentTerms): string => toHex(id);

/** What `EvmSwapBuilder` needs beside the coin. */
export type EvmSwapBuilderDeps = {
  readonly coin: EvmCoin;
  readonly chain: EvmSwapChain;
  /** Gas of a transaction by the usual limits. */
  readonly gasOf: (use: GasUse) => bigint;
  /** Gas of what is signed now. `former`: what it replaces, or does again. */
  readonly spendGas: (use: SpendUse, former?: Uint8Array) => bigint;
  /** Wei per gas a reservation was reckoned with; null when there is none. */
  readonly ceilingOf: (reservation: Reservation) => bigint | null;
  /** Why nothing is signed for a reservation at the present prices, one sentence; null: it may be. */
  readonly dearerThanReserved: (reservation: Reservation) => string | null;
  /** What a swap must still be able to do after this, whatever becomes of the other side. */
  readonly stepsAfter: (use: "fee" | "payment") => Steps;
};

/**
 * Builds and signs the transactions of swaps on an account chain. Each takes its nonce at once; its swap stores it before it is sent,
 * and gives the nonce back where it is not stored.
 */
export class EvmSwapBuilder {
  readonly #deps: EvmSwapBuilderDeps;
  /** Gas of payments that were tried on the chain, by payment id. */
  readonly #paymentGas = new Map<string, bigint>();

  constructor(deps: EvmSwapBuilderDeps) {
    this.#deps = deps;
  }

  dexFee(feeKey: Uint8Array, units: bigint, reservation: Reservation | null): Result<OwnSignedTx, FundsError> {
    const { contract } = this.#deps.coin;
    const to = addressOfPubkey(feeKey);
    const gas = this.#deps.gasOf("fee");
    const call =
      contract === null ? { to, value: units, data: NO_DATA, gas } : { to: contract, value: 0n, data: transferCall(to, units), gas };
    return this.#pay("fee", call, units, reservation);
  }

  payment(terms: PaymentTerms, reservation: Reservation | null): Result<OwnSignedTx, FundsError> {
    const { coin, chain } = this.#deps;
    const id = idText(terms);
    const data = encodeSwapCall(paymentCall(terms));
    const value = coin.contract === null ? terms.units : 0n;
    const built = this.#pay(
      "payment",
      { to: terms.contract, value, data, gas: this.#paymentGas.get(id) ?? this.#deps.gasOf("payment") },
      terms.units,
      reservation,
    );
    if (!built.ok) {
      coin.account.allowances.notNow(id);
      return built;
    }
    coin.account.allowances.done(id);
    this.#paymentGas.delete(id);
    chain.addSender(id, built.value.txid);
    return built;
  }

  /**
   * Sees to the allowance of a token, and tries the payment on the chain without sending it: a token may need more gas than the
   * usual limit, or refuse.
   * @returns why it cannot be made yet, one sentence; null: it goes through
   */
  async prepare(terms: PaymentTerms, reservation: Reservation | null, signal: AbortSignal): Promise<string | null> {
    const { account, contract } = this.#deps.coin;
    if (contract === null) return this.#tryPayment(terms, signal);
    const lost = await account.tokens.check({ token: contract, contract: terms.contract }, terms.units, signal);
    if (lost !== null) return lost;
    const [id, hold] = [idText(terms), reservation?.id ?? null];
    const unapproved = await account.allowances.ensure(contract, terms.contract, id, terms.units, signal, hold);
    if (unapproved !== null) return unapproved;
    let refused: string | null = "";
    try {
      refused = await this.#tryPayment(terms, signal);
    } finally {
      if (refused !== null) account.allowances.notNow(id);
    }
    return refused;
  }

  async #tryPayment(terms: PaymentTerms, signal: AbortSignal): Promise<string | null> {
    const { account, contract, ticker } = this.#deps.coin;
    const value = contract === null ? terms.units : 0n;
    const tried = await account.chain.estimateGas(
      { from: account.address, to: terms.contract, value, data: encodeSwapCall(paymentCall(terms)) },
      signal,
    );
    if (!tried.ok) {
      const { kind, message } = tried.error;
      const what =
        kind === "Unreachable" ? `whether a payment of ${ticker} goes through is not known` : `the payment of ${ticker} would fail`;
      return `${what}: ${message.replace(/\.$/, "")}`;
    }
    const needed = withGasMargin(txGas(tried.value));
    const usual = this.#deps.gasOf("payment");
    if (needed > usual * MOST_GAS_FACTOR) return `a payment of ${ticker} needs ${tried.value} gas, far more than the usual ${usual}`;
    if (isAboveBlock(account.chain, needed)) return `a payment of ${ticker} needs ${tried.value} gas, too much for a block`;
    if (needed > usual) this.#keepGas(idText(terms), needed);
    return null;
  }

  #keepGas(id: string, gas: bigint): void {
    this.#paymentGas.delete(id);
    this.#paymentGas.set(id, gas);
    const [oldest] = this.#paymentGas.keys();
    if (oldest !== undefined && this.#paymentGas.size > MOST_TRIED) this.#paymentGas.delete(oldest);
  }

  /** A payment or dex fee: it is never replaced, so it must do. */
  #pay(use: "fee" | "payment", call: Call, units: bigint, reservation: Reservation | null): Result<OwnSignedTx, FundsError> {
    const { coin } = this.#deps;
    const { nonces, funds } = coin.account;
    const market = this.#deps.coin.market();
    const most = reservation && this.#mostFor(use, call.gas, reservation);
    const bid = lastingBid(market, most ?? priceOf(market));
    const fee = greatestFee(bid, call.gas);
    const taken = fee + dataBound(coin.account.chain).wei;
    if (isAboveBlock(coin.account.chain, call.gas)) return this.#internal(`${call.gas} gas are more than a block has`);
    const unpaid = reservation === null ? this.#unheld(units, taken, market) : this.#dearer(reservation, priceOf(market), most);
    if (unpaid) return err(unpaid);
    const signed = nonces.take((nonce) => this.#sign(call, bid, nonce));
    if (!signed) return this.#noNonce();
    if (reservation) funds.use(reservation.id, units, taken, signed.txid);
    return ok(ownTx(signed, fee));
  }

  /**
   * Most wei per gas for a payment or dex fee: what was reserved, and no more than leaves as much for each unit of gas of what the swap must
   * be able to do after it. It may need more gas than was reckoned with, or approvals may have been dear.
   */
  #mostFor(use: "fee" | "payment", gas: bigint, reservation: Reservation): bigint {
    const { coin, ceilingOf, stepsAfter } = this.#deps;
    const { chain, funds } = coin.account;
    const after = stepsAfter(use);
    const has = funds.gasOf(reservation.id) + funds.free(null) - (after.txs + 1n) * dataBound(chain).wei;
    const perGas = has > 0n ? has / (gas + after.gas) : 0n;
    const ceiling = ceilingOf(reservation) ?? perGas;
    return ceiling < perGas ? ceiling : perGas;
  }

  /** The swap asked before, and the nodes since, who may name another price now. */
  #dearer(reservation: Reservation, price: bigint, most: bigint | null): FundsError | null {
    const { account, ticker } = this.#deps.coin;
    const dearer = this.#deps.dearerThanReserved(reservation);
    const short = `gas on ${account.platform} costs ${price} wei, and ${most} would leave what the swap's later steps need`;
    const message = dearer ?? (most !== null && price > most ? short : null);
    return message === null ? null : { kind: "Transport", coin: ticker, message };
  }

  /** Nothing could be held for this swap when it was taken up again: it takes nothing of what others were promised, and no absurd price. */
  #unheld(units: bigint, fee: bigint, market: GasBid): FundsError | null {
    const { account, contract, ticker, decimals } = this.#deps.coin;
    const { funds, platform, platformDecimals } = account;
    if (priceOf(market) > MOST_PRICE)
      return { kind: "Transport", coin: ticker, message: `the nodes ask ${priceOf(market)} wei for a unit of gas, which is not paid` };
    const short = (coin: string, places: number, required: bigint, free: bigint): FundsError | null => {
      const [available, needed] = [fromUnits(free, places), fromUnits(required, places)];
      return required <= free ? null : { kind: "NotSufficientBalance", coin, available, required: needed, lockedBySwaps: null };
    };
    if (contract === null) return short(ticker, decimals, units + fee, funds.free(null));
    return short(ticker, decimals, units, funds.free(contract)) ?? short(platform, platformDecimals, fee, funds.free(null));
  }

  claim(args: SpendArgs & { readonly secret: Uint8Array }): Result<OwnSignedTx, FundsError> {
    const terms = paymentTerms(args.contract, this.#deps.coin.contract);
    const { id, units, token, sender } = terms;
    const data = encodeSwapCall({ kind: "receiverSpend", id, amount: units, secret: args.secret, token, sender });
    return this.#spend(terms, data, "claim", args);
  }

  refund(args: SpendArgs): Result<OwnSignedTx, FundsError> {
    const terms = paymentTerms(args.contract, this.#deps.coin.contract);
    const { id, units, token, receiver, secretHash } = terms;
    const data = encodeSwapCall({ kind: "senderRefund", id, amount: units, secretHash, token, receiver });
    return this.#spend(terms, data, "refund", args);
  }

  #spend(terms: PaymentTerms, data: Uint8Array, use: "claim" | "refund", { fee, replaces }: SpendArgs): Result<OwnSignedTx, FundsError> {
    const state = this.#deps.chain.payment({ contract: terms.contract, id: idText(terms) })?.state;
    // It would be reverted, and cost its gas.
    if (state !== "sent") return this.#internal(`the swap contract calls the payment ${state ?? "unknown"}`);
    // The token may have been found to need more than is known now; the fee was reckoned for that (`spendSize`).
    const gas = this.#deps.spendGas(use, replaces);
    return this.#send({ to: terms.contract, value: 0n, data, gas }, fee ?? null, replaces ?? null);
  }

  /** An empty transfer to oneself with the nonce of a payment, so that the payment can no longer be mined. */
  cancel(payment: Uint8Array): Result<OwnSignedTx, FundsError> {
    const { account } = this.#deps.coin;
    const gas = this.#deps.spendGas("cancel", payment);
    return this.#send({ to: account.address, value: 0n, data: NO_DATA, gas }, null, payment);
  }

  /** What `former` does, a claim, refund or cancellation, with its nonce and at a higher price; `isAnew`: with the next free nonce. */
  dearer(former: SignedEvmTx, fee: bigint, isAnew: boolean): Result<OwnSignedTx, FundsError> {
    const { to, value, data } = former.tx;
    if (to === null) throw new Error("no claim, refund or cancellation");
    const call = parseSwapCall(data);
    const use = call.ok ? (call.value.kind === "senderRefund" ? "refund" : "claim") : "cancel";
    const gas = this.#deps.spendGas(use, former.raw);
    return this.#send({ to, value, data, gas }, fee, isAnew ? null : former.raw);
  }

  /**
   * Nodes refuse a bid that the account cannot pay, and no later version of the transaction may bid less.
   * @param outgoing wei that all else may take which waits
   */
  #affordable(bid: GasBid, { gas, value }: Call, market: GasBid, outgoing: bigint): GasBid {
    const { chain, address } = this.#deps.coin.account;
    const left = (chain.account(address)?.balance ?? 0n) - outgoing - dataBound(chain).wei - value;
    const most = left / gas;
    return left > 0n && most > 0n && priceOf(bid) > most ? bidAt(most, market) : bid;
  }

  /** Whether nodes refuse it for what it may cost alone, whatever becomes of all else that waits. While too few tell, there may be more by now. */
  #isUnpayable(fee: bigint, { value }: Call): boolean {
    const { chain, address } = this.#deps.coin.account;
    const balance = chain.account(address)?.balance;
    return balance !== undefined && chain.status().state === "ready" && fee + value > balance;
  }

  /**
   * @param fee offered at least, wei; null: what the market asks. No version offers more than the account has
   * @param replaces with the nonce of these own bytes, and a higher bid than all that have it
   */
  #send(call: Call, fee: bigint | null, replaces: Uint8Array | null): Result<OwnSignedTx, FundsError> {
    const { nonces } = this.#deps.coin.account;
    const market = this.#deps.coin.market();
    // What nobody has reckoned with the swap's worth costs no more than anything else that nodes alone set the price of.
    const going = priceOf(market) > MOST_PRICE ? bidAt(MOST_PRICE, market) : market;
    const asked = fee === null ? going : bidAt((fee + call.gas - 1n) / call.gas, market);
    if (replaces === null) {
      const wanted = this.#affordable(asked, call, market, nonces.outgoing().wei);
      const signed = nonces.take((nonce) => this.#sign(call, wanted, nonce));
      return signed ? ok(ownTx(signed, greatestFee(wanted, call.gas))) : this.#noNonce();
    }
    const former = parseEvmTx(replaces);
    if (!former.ok) throw new Error("own bytes cannot be read");
    const { nonce } = former.value.tx;
    // A payment and its cancellations share a nonce: nodes ask for more than the dearest of them.
    const bids = [former.value, ...nonces.othersAt(nonce)].map(({ tx }) => bidOf(tx));
    const wanted = this.#affordable(asked, call, market, nonces.outgoing(nonce).wei);
    const bid = bids.reduce((least, old) => replacementBid(old, least), wanted);
    if (this.#isUnpayable(greatestFee(bid, call.gas), call)) return this.#internal("the account has too little to make it dearer");
    const signed = this.#sign(call, bid, nonce);
    nonces.adopt(signed.raw);
    return ok(ownTx(signed, greatestFee(bid, call.gas)));
  }

  #sign(call: Call, bid: GasBid, nonce: bigint): SignedEvmTx {
    return signCall(this.#deps.coin.account, call, { bid, gasLimit: call.gas, nonce });
  }

  #noNonce(): Result<never, FundsError> {
    const { ticker, account } = this.#deps.coin;
    return err({ kind: "Transport", coin: ticker, message: `the ${account.platform} nodes have not told the account's nonce yet` });
  }
  #internal(message: string): Result<never, FundsError> {
    return err({ kind: "Internal", coin: this.#deps.coin.ticker, message });
  }
}
