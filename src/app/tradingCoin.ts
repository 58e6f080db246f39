import type { Rational } from "../core/money/rational.ts";
import type { SwapSafety } from "../core/swap/safety.ts";
import type { Result } from "../core/util/result.ts";

/** Why a coin cannot fund a trade. Amounts in whole coins; the texts of KDF are made from this at the edge. */
export type FundsError =
  | {
      readonly kind: "NotSufficientBalance";
      readonly coin: string;
      readonly available: Rational;
      readonly required: Rational;
      readonly lockedBySwaps: Rational | null;
    }
  /** `coin` pays the fees of another one, a token's platform coin, and has too little for them. */
  | {
      readonly kind: "NotSufficientBaseCoinBalance";
      readonly coin: string;
      readonly available: Rational;
      readonly required: Rational;
      readonly lockedBySwaps: Rational | null;
    }
  | { readonly kind: "VolumeTooLow"; readonly coin: string; readonly volume: Rational; readonly threshold: Rational }
  | { readonly kind: "Transport"; readonly coin: string; readonly message: string }
  | { readonly kind: "Internal"; readonly coin: string; readonly message: string };

type FundsErrorOf<K extends FundsError["kind"]> = Extract<FundsError, { readonly kind: K }>;
export type NotSufficientBalance = FundsErrorOf<"NotSufficientBalance">;
/** Too little of a coin, or of the one that pays its fees. */
export type MissingFunds = FundsErrorOf<"NotSufficientBalance" | "NotSufficientBaseCoinBalance">;
/** Why the present funds do not make up a transaction. */
export type Unfunded = MissingFunds | FundsErrorOf<"VolumeTooLow">;
/** The backend cannot be reached. */
export type Outage = FundsErrorOf<"Transport">;

/** A hold on funds and fees for one match. Held until released or taken over by its swap. */
export type Reservation = { readonly id: string };

/** What is left for fees, whole coins of the coin that pays them. `locked`: held by swaps and open handshakes, and not in `available`. */
export type FeeFunds = { readonly available: Rational; readonly locked: Rational | null };

/**
 * - `start`: now. `order`: with the margin of an order that may wait; an account coin counts what `reserve` would hold, so that what
 *   passed the check at placing is not refused at the match for its fees. `preimage`: as `trade_preimage` tells it.
 */
export type FeeStage = "start" | "order" | "preimage";

/**
 * What orders need from an activated coin. Fees of its transactions are paid in `feeTicker`: in itself, or a token's in its
 * platform coin. A claim or refund takes its fee out of the contract (UTXO chains: `spendsFrom` "contract"; nobody needs a balance
 * for it) or from the account that sends it (account chains: "account"; the balance must be there, and is held from the match on).
 */
export interface TradingCoin {
  readonly ticker: string;
  /** The coin that the fees of its transactions are paid in. Its own ticker, or of a token that of its platform coin. */
  readonly feeTicker: string;
  /** Where the fee of a claim or refund on this coin comes from. */
  readonly spendsFrom: "contract" | "account";
  /** `orderbook_ticker` of the coins file, or null. */
  readonly orderbookTicker: string | null;
  readonly decimals: number;
  readonly walletOnly: boolean;
  /** Address shown for this coin. */
  readonly address: string;
  /** Compressed key that HTLCs on this coin use, 33 bytes. */
  readonly htlcPubkey: Uint8Array;
  /** MessagePack of the address format, sent in order messages; of ETH-like coins and tokens no bytes at all. */
  readonly protocolInfo: Uint8Array;
  /** Whether a counterparty's protocol info suits this coin; ETH-like coins take any (reference p2p-wire.md section 9). */
  acceptsProtocolInfo(info: Uint8Array | undefined): boolean;
  /** Settings used where an order names none; changed by `set_required_confirmations`. */
  readonly settings: { readonly confirmations: number; readonly notarization: boolean };
  /** Least amount of a transaction, whole coins (`min_tx_amount`): dust; 0 on account chains. */
  readonly dust: Rational;
  /**
   * Least contract whose claim or refund leaves more than dust should the fee rate rise to the ceiling; whole coins. Where the
   * account pays for those: one base unit.
   */
  leastContract(): Rational;
  /** Least volume of a trade, whole coins: the greater of KDF's rule and the entry's `min_trading_vol`. */
  readonly minTradingVol: Rational;
  /**
   * Why no new trade may begin now: the backend cannot be reached, so what is known may be old; or the own account could not take
   * this coin from a contract. Null: nothing.
   */
  outage(): Outage | null;
  /**
   * What of the own account waits for a block and nothing here knows of, one sentence: nothing is paid behind it. Null or no such
   * method: nothing does.
   */
  unexplained?(): string | null;
  /** Why so much of it cannot be given in one swap though it is there: a token that moves less at a time. Null or no such method: nothing. */
  unmovable?(volume: Rational): Outage | null;
  /** Why it cannot be received in a swap, though it may be given: nobody would say whether its claim is paid. Null or no such method: nothing. */
  unclaimable?(): Outage | null;
  /** The most that one swap gives, by the same measure; null or no such method: whatever there is. */
  mostAtOnce?(): Rational | null;
  /**
   * Whether what there is is still being counted: by a first scan, or by reading the blocks of a time this node was down. False or no such
   * method: it is known.
   */
  isCounting?(): boolean;
  /**
   * Own change that cannot be spent before a block has it: as many own transactions hang together as nodes relay. Whole coins; no such method:
   * there is none.
   */
  waitingChange?(): Rational;
  /** `outage`, after one more look of at most five seconds at a backend that is away. @throws Aborted when `signal` fires */
  reach(signal?: AbortSignal): Promise<Outage | null>;
  /** Spendable minus nothing: the confirmed and own-change outputs, whole coins. */
  spendable(): Rational;
  /** Sum locked by running swaps and open reservations, whole coins. */
  locked(): Rational;
  /**
   * What `feeTicker` has left for fees. For a coin that pays its own fees `spendable` less `locked`. Reservations of all coins that
   * one account pays for count: two coins with the same `feeTicker` draw on the same funds.
   */
  feeFunds(): FeeFunds;
  /**
   * Miner fee of a payment of `volume` built from the present funds, whole coins of `feeTicker`. Of a token with the approvals it needs
   * in the worst case. On account chains the funds are not looked at.
   */
  paymentFee(volume: Rational, stage: FeeStage): Result<Rational, Unfunded>;
  /**
   * Greatest payment the present, unlocked funds allow, in this coin, and its fee in `feeTicker`. A coin that pays its own fees
   * leaves room for that one fee (not for `refundFee`); of a token it is all that is free, whoever pays for it.
   * @param without reckoned as if these were not held, nor the fees of theirs; those that are gone count for nothing
   */
  maxPayment(
    stage: FeeStage,
    without?: readonly Reservation[],
  ): Result<{ readonly volume: Rational; readonly fee: Rational }, NotSufficientBalance>;
  /** Miner fee of the transaction that pays the dex fee of `amount`, whole coins of `feeTicker`. */
  dexFeeTxFee(amount: Rational, stage: FeeStage): Result<Rational, Unfunded>;
  /** Fee of spending the other side's payment, whole coins of `feeTicker`: out of the received amount, or the account's (`spendsFrom`). */
  spendFee(stage: FeeStage): Rational;
  /** What the account must keep for taking the own payment back, whole coins of `feeTicker`; 0 where the contract pays. */
  refundFee(stage: FeeStage): Rational;
  /**
   * Takes funds worth `amounts` (one transaction each, the last is the payment) plus the worst-case fees of all of the own chain,
   * the refund's included, out of circulation, atomically. `ttlMs`: released by itself unless a swap takes it over.
   */
  reserve(amounts: readonly Rational[], ttlMs: number): Result<Reservation, FundsError>;
  /**
   * Whether one payment of this amount, and so many more of the least that can be paid, could be promised beside all that is. No such
   * method: amounts and fees alone decide.
   */
  hasRoom?(amount: Rational, more: number): boolean;
  /** As `reserve`, for the fee of claiming the other side's payment on this coin; null where the contract pays it. */
  reserveClaim(ttlMs: number): Result<Reservation | null, FundsError>;
  /** Of either kind. Nothing happens for one that is gone. */
  release(reservation: Reservation): void;
  /** Fires when the balance or the locks change, of this coin or of the one that pays its fees. */
  onBalanceChange(listener: () => void): () => void;
}

/** What figures of fees need of a coin. */
type FeeFigures =
  | "ticker"
  | "feeTicker"
  | "spendsFrom"
  | "decimals"
  | "minTradingVol"
  | "outage"
  | "paymentFee"
  | "dexFeeTxFee"
  | "spendFee"
  | "refundFee";
/** One whose fees can be told. Without funds: nobody knows its balance, and whether there is enough is not looked at. */
export type PricedCoin = Pick<TradingCoin, FeeFigures> &
  Partial<Pick<TradingCoin, "spendable" | "locked" | "feeFunds" | "isCounting" | "unmovable" | "unclaimable">>;

/** What a maker's match holds of a balance that pays fees, whole coins. */
export type HeldFees = { readonly payer: string; readonly amount: Rational };

/** A finished matching handshake: everything a swap needs to start. Amounts in whole coins, exact, as in MakerReserved. */
export type SwapMatch = {
  readonly role: "maker" | "taker";
  /** The taker request's uuid. */
  readonly uuid: string;
  /** Own order: the maker order's uuid, or the taker request's. */
  readonly myOrderUuid: string;
  /** Tickers of own activated coins. */
  readonly makerCoin: string;
  readonly takerCoin: string;
  readonly makerAmount: Rational;
  readonly takerAmount: Rational;
  /** Counterparty's envelope key, 33 bytes. */
  readonly counterparty: Uint8Array;
  /** Effective settings of this side (reference swap-protocol.md 2.1). */
  readonly makerConfs: number;
  readonly makerNota: boolean;
  readonly takerConfs: number;
  readonly takerNota: boolean;
  /** L, seconds; both sides compute the same. */
  readonly lockDurationSec: number;
  /** Funds of the own coin held for this side since the handshake, the fees of payment, dex fee and refund with them. */
  readonly reservation: Reservation;
  /** What the other coin's claim costs the account, held since the same moment; null where the contract pays it. */
  readonly claimReservation: Reservation | null;
  /** Of a maker: what both hold of balances that pay fees. */
  readonly heldFees: readonly HeldFees[];
  /** What this side wants proven beyond that; the other side knows nothing of it. */
  readonly safety?: SwapSafety;
};

/** Implemented by the swap runner. */
export interface SwapStarter {
  /** Stores the swap and joins its topic before resolving. Rejects only when nothing was stored. */
  start(match: SwapMatch): Promise<void>;
  /** Why no swap can begin now; null: it may. */
  obstacle(): string | null;
  /** Uuids of running swaps that use this coin. */
  activeWith(ticker: string): readonly string[];
  /** Whether this node ever stored a swap under this uuid. */
  has(uuid: string): boolean;
  /** Joins the swap's topic ahead of a start that may follow within a minute. */
  expect(uuid: string): void;
}
