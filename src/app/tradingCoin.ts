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
  | { readonly kind: "VolumeTooLow"; readonly coin: string; readonly volume: Rational; readonly threshold: Rational }
  | { readonly kind: "Transport"; readonly coin: string; readonly message: string }
  | { readonly kind: "Internal"; readonly coin: string; readonly message: string };

type FundsErrorOf<K extends FundsError["kind"]> = Extract<FundsError, { readonly kind: K }>;
export type NotSufficientBalance = FundsErrorOf<"NotSufficientBalance">;
/** Why the present outputs do not make up a transaction. */
export type Unfunded = FundsErrorOf<"NotSufficientBalance" | "VolumeTooLow">;
/** The backend cannot be reached. */
export type Outage = FundsErrorOf<"Transport">;

/** A hold on outputs and fees for one match. Held until released or taken over by its swap. */
export type Reservation = { readonly id: string };

/** What orders need from an activated coin. Implemented by `app/utxoCoin.ts`. */
export interface TradingCoin {
  readonly ticker: string;
  /** `orderbook_ticker` of the coins file, or null. */
  readonly orderbookTicker: string | null;
  readonly decimals: number;
  readonly walletOnly: boolean;
  /** Address shown for this coin. */
  readonly address: string;
  /** Compressed key that HTLCs on this coin use, 33 bytes. */
  readonly htlcPubkey: Uint8Array;
  /** MessagePack of the address format, sent in order messages. */
  readonly protocolInfo: Uint8Array;
  /** Whether a counterparty's protocol info suits this coin (reference p2p-wire.md section 9). */
  acceptsProtocolInfo(info: Uint8Array | undefined): boolean;
  /** Settings used where an order names none; changed by `set_required_confirmations`. */
  readonly settings: { readonly confirmations: number; readonly notarization: boolean };
  /** Dust, whole coins (`min_tx_amount`). */
  readonly dust: Rational;
  /** Least contract whose claim or refund leaves more than dust should the fee rate rise to the ceiling; whole coins. */
  leastContract(): Rational;
  /** Least volume of a trade, whole coins: the greater of KDF's rule and the entry's `min_trading_vol`. */
  readonly minTradingVol: Rational;
  /** Why no new trade may begin now: the backend cannot be reached, so what is known may be old. Null: nothing. */
  outage(): Outage | null;
  /** `outage`, after one more look of at most five seconds at a backend that is away. @throws Aborted when `signal` fires */
  reach(signal?: AbortSignal): Promise<Outage | null>;
  /** Spendable minus nothing: the confirmed and own-change outputs, whole coins. */
  spendable(): Rational;
  /** Sum locked by running swaps and open reservations, whole coins. */
  locked(): Rational;
  /** Miner fee of a payment of `volume` built from the present outputs. */
  paymentFee(volume: Rational, stage: "start" | "order" | "preimage"): Result<Rational, Unfunded>;
  /** Greatest payment the present, unlocked outputs allow, with its fee. */
  maxPayment(stage: "start" | "order" | "preimage"): Result<{ readonly volume: Rational; readonly fee: Rational }, NotSufficientBalance>;
  /** Miner fee of the transaction that pays the dex fee of `amount`. */
  dexFeeTxFee(amount: Rational, stage: "start" | "order" | "preimage"): Result<Rational, Unfunded>;
  /** Fee of spending the other side's payment; taken from the received amount on UTXO chains. */
  spendFee(): Rational;
  /**
   * Takes outputs worth `amounts` (one transaction each) plus worst-case fees out of circulation, atomically.
   * `ttlMs`: released by itself unless a swap takes it over.
   */
  reserve(amounts: readonly Rational[], ttlMs: number): Result<Reservation, FundsError>;
  release(reservation: Reservation): void;
  /** Fires when the balance or the locks change. */
  onBalanceChange(listener: () => void): () => void;
}

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
  /** Funds held for this side since the handshake. */
  readonly reservation: Reservation;
  /** What this side wants proven beyond that; the other side knows nothing of it. */
  readonly safety?: SwapSafety;
};

/** Implemented by the swap runner. */
export interface SwapStarter {
  /** Stores the swap and joins its topic before resolving. Rejects only when nothing was stored. */
  start(match: SwapMatch): Promise<void>;
  /** Uuids of running swaps that use this coin. */
  activeWith(ticker: string): readonly string[];
  /** Whether this node ever stored a swap under this uuid. */
  has(uuid: string): boolean;
  /** Joins the swap's topic ahead of a start that may follow within a minute. */
  expect(uuid: string): void;
}
