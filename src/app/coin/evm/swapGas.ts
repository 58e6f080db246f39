import { type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import type { SpendUse } from "../../swap/swapCoin.ts";
import { fitAccount, fitBlock } from "./blockGas.ts";
import { dataBound, dataGasToSign, sureDataGas } from "./dataCost.ts";
import type { EvmCoin } from "./evmCoin.ts";
import { FoundGas, FoundGasOf } from "./foundGas.ts";
import { MOST_PER_TX, priceOf } from "./gasBid.ts";
import { ampleLimit, type CallGas, callGas, type DataGas, leastLimit, MOST_LIMIT, NO_DATA, NO_GAS, type TxGas } from "./gasFigures.ts";

/** Transactions of a swap that cost gas. */
export type GasUse = "payment" | "fee" | SpendUse;

/** Gas for data that a swap found out counts so long: each step of a swap asks again, and without one nobody would. */
const FOUND_MS = 600_000;

/** How much gas the transactions of an account coin's swaps are reckoned and signed with: what is usual, and what was found out since. */
export class SwapGas {
  readonly #coin: EvmCoin;
  /**
   * Of a claim or refund as the token was found to need; also of coins of this account that are not there, whose claims and refunds this one looks after: none
   * of its own costs more for those.
   */
  readonly #found: FoundGasOf;
  /** What of that is no word of one node of two: with the usual it fails. */
  readonly #surelyFound: FoundGasOf;
  /** What a dex fee was found to need. */
  readonly #foundFee: FoundGas;
  #dataGas = { gas: NO_DATA, untilMs: Number.NEGATIVE_INFINITY };

  constructor(coin: EvmCoin) {
    this.#coin = coin;
    this.#found = new FoundGasOf(coin.account.clock);
    this.#surelyFound = new FoundGasOf(coin.account.clock);
    this.#foundFee = new FoundGas(coin.account.clock);
  }

  /**
   * A claim or refund of this token was just found to need so much, which the limits may not foresee.
   * @param isSure whether as many nodes as must agree say that it fails with the usual
   * @param other of which other coin of the account, by what that is in the swap contract; null: of this one
   */
  needsSpendGas(gas: CallGas, isSure: boolean, other: EvmAddress | null): void {
    this.#found.add(this.#inContract(other), gas);
    if (isSure) this.#surelyFound.add(this.#inContract(other), gas);
  }
  #inContract(other: EvmAddress | null): EvmAddress {
    return other ?? this.#coin.contract ?? ZERO_ADDRESS;
  }
  #spendGasOf(other: EvmAddress | null): CallGas {
    return this.#found.gas(this.#inContract(other));
  }

  needsFeeGas(gas: CallGas): void {
    this.#foundFee.add(gas);
  }

  /** Every transaction was just found to need so much beside its own gas; see `dataGasNow`. */
  needsDataGas(gas: DataGas): void {
    this.#dataGas = { gas, untilMs: this.#coin.account.clock.nowMs() + FOUND_MS };
  }

  #foundGas(use: GasUse, other: EvmAddress | null): CallGas {
    if (use === "fee") return this.#foundFee.gas;
    return use === "claim" || use === "refund" ? this.#spendGasOf(other) : NO_GAS;
  }

  /** Gas limits of KDF, or the entry's (swap-protocol.md 5.4), or what the token was found to need; and what data costs beside. */
  gasOf(use: GasUse, other: EvmAddress | null = null): TxGas {
    return ampleLimit(this.#usualGas(use, other), this.#foundGas(use, other), this.besideGas);
  }
  get besideGas(): DataGas {
    const { gas } = dataBound(this.#coin.account.chain);
    const found = this.#foundDataGas ?? NO_DATA;
    return gas > found ? gas : found;
  }
  /** Null: nothing was found of late. */
  get #foundDataGas(): DataGas | null {
    return this.#coin.account.clock.nowMs() < this.#dataGas.untilMs ? this.#dataGas.gas : null;
  }
  /**
   * The same of a claim, refund or cancellation that is signed now, as far as a block and the account have it: what it may need is what nodes say, and one
   * signed with more is in no block, whatever they say later.
   * @param known what a former version has
   * @param beaten wei per gas that it must outbid
   * @param nonce of the former version
   */
  spendGas(use: SpendUse, known: bigint, other: EvmAddress | null = null, beaten = 0n, nonce: bigint | null = null): bigint {
    const { chain, address, nonces } = this.#coin.account;
    const [usual, found] = [this.#usualGas(use, other), this.#foundGas(use, other)];
    // What one node of two says alone would else have it bid less than any block takes.
    const surelyFound = use === "cancel" ? NO_GAS : this.#surelyFound.gas(this.#inContract(other));
    const least = ampleLimit(usual, surelyFound, NO_DATA);
    const asked = ampleLimit(usual, found, this.#foundDataGas === null ? dataGasToSign(chain) : this.besideGas);
    const wanted = known > asked ? known : asked;
    const left = (chain.account(address)?.balance ?? 0n) - dataBound(chain).wei;
    const price = priceOf(this.#coin.market());
    const payableWith = (wei: bigint, gas: Parameters<typeof fitAccount>[2]): bigint =>
      fitAccount(wei < MOST_PER_TX ? wei : MOST_PER_TX, beaten > price ? beaten : price, gas);
    const payable = payableWith(left, { wanted: wanted < MOST_LIMIT ? wanted : MOST_LIMIT, least });
    // What is perhaps not needed takes nothing of what else waits: nodes refuse what the account could not pay for beside that, and the first of the line
    // could not be made dearer.
    const sure = ampleLimit(usual, surelyFound, sureDataGas(chain));
    const fitted = payable > sure ? payableWith(left - nonces.outgoing(nonce).wei, { wanted: payable, least: sure }) : payable;
    return fitBlock(chain, fitted);
  }
  /** With less a claim of now would be refused, or fail with its secret shown. */
  leastClaimGas(other: EvmAddress | null = null): TxGas {
    return leastLimit(this.usualClaimGas(other), this.#spendGasOf(other), this.besideGas);
  }
  /** What of that it takes in any case: what it was found to need beside may be the word of one node of two, and is not paid where it is not needed. */
  sureGas(use: SpendUse, other: EvmAddress | null = null): TxGas {
    return ampleLimit(this.#usualGas(use, other), NO_GAS, sureDataGas(this.#coin.account.chain));
  }
  usualClaimGas(other: EvmAddress | null): CallGas {
    return this.#usualGas("claim", other);
  }
  #usualGas(use: GasUse, other: EvmAddress | null = null): CallGas {
    return callGas(this.#usualLimit(use, other));
  }
  #usualLimit(use: GasUse, other: EvmAddress | null): bigint {
    const { limits } = this.#coin.spec.kind.gas;
    const isToken = other === null ? this.#coin.contract !== null : other !== ZERO_ADDRESS;
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
}
