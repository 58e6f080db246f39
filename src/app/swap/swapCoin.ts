import type { RelayPolicy } from "../../core/coin/relayPolicy.ts";
import type { Result } from "../../core/util/result.ts";
import type { FeeRate } from "../../core/utxo/feeRate.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import type { FundsError, Reservation, TradingCoin } from "../tradingCoin.ts";

/** The HTLC of one payment (reference swap-protocol.md 4.1). Keys 33 bytes, `secretHash` 20 or 32 bytes as negotiated. */
export type Contract = {
  /** unix seconds */
  readonly lock: number;
  readonly secretHash: Uint8Array;
  readonly refundKey: Uint8Array;
  readonly claimKey: Uint8Array;
};

export type SignedTx = { readonly txid: string; readonly raw: Uint8Array };
/** `fee`: base units it pays for itself. */
export type OwnSignedTx = SignedTx & { readonly fee: bigint };

/** What the fees of claims, refunds and children are reckoned with. */
export type SpendRates = {
  readonly rate: FeeRate;
  /** Least that is relayed or mined now, base units per 1000 bytes; null when nobody says. */
  readonly floorPerKb: bigint | null;
  /** What the backend itself relays, per 1000 bytes; null when it does not say. */
  readonly relayPerKb: bigint | null;
  /** The coins file names the rate: there is no market to follow. */
  readonly isFixed: boolean;
  /** Virtual bytes of a child. */
  readonly childSize: number;
};

/**
 * Why received transaction bytes are not the payment or fee that was agreed. One sentence, with the numbers. `OtherValue`: they
 * pay to the script of this very contract, but not what was agreed, so they cannot have been meant for another swap.
 */
export type TxRefusal = { readonly kind: "Refused" | "OtherValue"; readonly reason: string };

/** What a swap needs from an activated coin beyond what orders need. Builders lock the outputs they use at once. */
export interface SwapCoin extends TradingCoin {
  readonly chain: UtxoChain;
  /** Keeps a reservation until `release`, however long the swap takes. */
  adopt(reservation: Reservation): void;
  /** Same as `reserve`, for swaps taken up after a restart whose outputs were never signed for: one answer for each, in order. */
  reserveAgain(
    asked: readonly { readonly amounts: readonly bigint[]; readonly ttlMs: number }[],
  ): readonly Result<Reservation, FundsError>[];
  contractScript(contract: Contract): Uint8Array;
  /** Pays `feeUnits` to the hash of `feeKey` (and burns `burnUnits`) from inputs of the HTLC key. */
  buildDexFee(args: {
    readonly feeUnits: bigint;
    readonly burnUnits: bigint;
    readonly feeKey: Uint8Array;
    readonly reservation: Reservation | null;
  }): Result<OwnSignedTx, FundsError>;
  buildPayment(args: {
    readonly contract: Contract;
    readonly units: bigint;
    readonly reservation: Reservation | null;
  }): Result<OwnSignedTx, FundsError>;
  /** Why the present rate asks for more than was reserved for a payment or dex fee, with the numbers; null when it does not. */
  dearerThanReserved(reservation: Reservation): string | null;
  readonly relayPolicy: RelayPolicy;
  spendRates(): SpendRates;
  /** Spends output 0 of `payment` with the secret. Pays to the own address, less the fee (default: the quoted one). */
  buildClaim(args: {
    readonly contract: Contract;
    readonly payment: Uint8Array;
    readonly secret: Uint8Array;
    readonly fee?: bigint;
  }): Result<OwnSignedTx, FundsError>;
  /** Spends output 0 of `payment` back to the own address; valid once the median time past exceeds the lock. */
  buildRefund(args: { readonly contract: Contract; readonly payment: Uint8Array; readonly fee?: bigint }): Result<OwnSignedTx, FundsError>;
  /** Spends the largest own output of an own transaction back to the own address, so that its fee counts for both. */
  buildChild(parent: Uint8Array, fee: bigint): Result<OwnSignedTx, FundsError>;
  /** Whether a contract of so many base units leaves more than dust once a claim or refund has paid its miner fee. */
  coversSpend(units: bigint): boolean;
  /**
   * A spend of the same inputs back to the own address at a higher fee, so that `payment` can no longer confirm. It beats the
   * payment with what its children pay, and offers at least `least`.
   */
  buildCancel(payment: Uint8Array, childFees?: bigint, least?: bigint): Result<OwnSignedTx, FundsError>;
  /** Base units an own transaction pays; null when an input is not known any more. */
  feeOf(raw: Uint8Array): bigint | null;
  /** Sum of the outputs, base units. */
  outputValue(raw: Uint8Array): bigint;
  /** Whether a transaction the backend has is signed with the own key alone. */
  isOurs(txid: string): boolean;
  /** The ids of own transactions that spend an output of this one. */
  builtOn(raw: Uint8Array): ReadonlySet<string>;
  /** The id of another transaction, in a block, that spends an input of this own one: it can never confirm. Null: none. */
  conflictOf(raw: Uint8Array): string | null;
  /** Takes the inputs of a stored own transaction out of circulation after a restart. */
  lockInputs(raw: Uint8Array): void;
  /** A stored own transaction that may never confirm: nothing is built on its change any more. Its inputs stay taken. */
  dropChange(raw: Uint8Array): void;
  /** The transaction was never sent and never will be: its inputs are free again. */
  releaseInputs(raw: Uint8Array): void;
  /** Exact value at output 0 to the contract's script, well-formed bytes. */
  checkPayment(raw: Uint8Array, contract: Contract, units: bigint): Result<SignedTx, TxRefusal>;
  /** Every input signed by `takerKey`, output 0 pays at least the fee to the fee key, burn output if due. */
  checkDexFee(
    raw: Uint8Array,
    expected: { readonly takerKey: Uint8Array; readonly feeKey: Uint8Array; readonly feeUnits: bigint; readonly burnUnits: bigint },
  ): Result<SignedTx, TxRefusal>;
  /** Which branch of the contract a transaction takes when it spends output 0 of `paymentTxid`. */
  classifySpend(raw: Uint8Array, paymentTxid: string): "claim" | "refund" | "other";
  /** The 32-byte preimage of the contract's hash, if the transaction carries it. */
  findSecret(raw: Uint8Array, secretHash: Uint8Array): Uint8Array | null;
  /** Same transaction, whatever the witness form of its bytes. */
  sameTx(a: Uint8Array, b: Uint8Array): boolean;
  /** Both spend exactly the same outputs, in the same order. */
  sameInputs(a: Uint8Array, b: Uint8Array): boolean;
  /** The ids of the transactions whose outputs this one spends, each once. */
  parentsOf(raw: Uint8Array): readonly string[];
  /** Whether a transaction spends an output of `txid`. */
  spends(raw: Uint8Array, txid: string): boolean;
}
