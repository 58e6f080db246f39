import { type Rational, rational } from "../money/rational.ts";
import type { SafetyRules } from "../swap/safety.ts";

/**
 * Everything two nodes must agree on and that changed between generations of the reference node (design D2).
 * Data, not code: each value can be overridden in the configuration (`swapnode.profile_overrides`).
 * Times in seconds, amounts in whole coins, keys as compressed secp256k1 keys in hex.
 */
export type NetworkProfile = {
  readonly name: string;
  /** Public seed nodes of the network; used only when the configuration asks for them. */
  readonly seedNodes: readonly string[];

  /** Share of the taker's volume that is the dex fee. */
  readonly dexFeeRate: Rational;
  /** The ticker that gets the discount when it is on either side, or null. Compared exactly, not by order-book ticker. */
  readonly dexFeeDiscountTicker: string | null;
  readonly dexFeeDiscountRate: Rational;
  /** Least fee beside dust, whole taker coins; 0 = none. */
  readonly dexFeeFloor: Rational;
  /** Who receives the fee; null = none on coins with a value, see `feePubkey`. */
  readonly dexFeePubkey: string | null;
  /** A taker with this key owes no fee; null = nobody is exempt. */
  readonly dexFeeExemptPubkey: string | null;
  /** Taker coin whose fee is partly burned in an OP_RETURN output, or null. */
  readonly burnTicker: string | null;
  /** Burned share of the fee of that coin. */
  readonly burnShare: Rational;

  /** Base of the lock duration L. */
  readonly paymentLocktimeSec: number;
  /** Order-book tickers, and any swap with notarization, that multiply L by `slowFactor`. */
  readonly slowTickers: readonly string[];
  readonly slowFactor: number;

  /** Added to every wait for a message. */
  readonly messageGraceSec: number;
  /** Waits for `Negotiation`, `NegotiationReply` and `Negotiated`. */
  readonly negotiationWaitSec: number;
  /** Waits for `TakerFee` and `MakerPayment`. */
  readonly paymentMessageWaitSec: number;
  /**
   * After how long own messages are repeated first; but for the negotiation, later pauses are longer (`resendPauseSec`). Nothing two
   * nodes must agree on: a repeat counts as the same message. KDF waits 100 s for `Negotiated` and `TakerFee`, and 2.x 600 s for
   * the payments; a lost message then costs that long.
   */
  readonly negotiationResendSec: number;
  readonly negotiatedResendSec: number;
  readonly takerFeeResendSec: number;
  readonly makerPaymentResendSec: number;
  readonly takerPaymentResendSec: number;

  /** What this node wants proven before a step it cannot take back; the configuration can only raise these. */
  readonly safety: SafetyRules;
};

/**
 * The same on every network: they follow from what chains do, not from what two nodes agree on. docs/safety-policy.md has the
 * derivation of each.
 */
const SAFETY: SafetyRules = {
  confirmationValueFactor: 1,
  slowBlockFactor: 3,
  notarizationSec: 3_600,
  revealBlocks: 1,
  // 60 s of clock error and 60 s until miners have a transaction.
  networkGraceSec: 120,
  feeCeilingFactor: 8,
};

/** The values no generation changed. Sources: reference swap-protocol.md 1.8 and 2.1. */
const COMMON = {
  seedNodes: [],
  dexFeeDiscountTicker: null,
  dexFeeDiscountRate: rational(0n),
  dexFeeFloor: rational(0n),
  dexFeeExemptPubkey: null,
  burnTicker: null,
  burnShare: rational(0n),
  // 2 h of work and 10 min of clock slack on both sides: 3600 * 2 + 300 * 2.
  paymentLocktimeSec: 7_800,
  slowTickers: ["BTC", "BCH", "BTG", "SBTC"],
  slowFactor: 4,
  messageGraceSec: 90,
  negotiationWaitSec: 90,
  paymentMessageWaitSec: 600,
  negotiationResendSec: 15,
  negotiatedResendSec: 15,
  takerFeeResendSec: 15,
  makerPaymentResendSec: 15,
  takerPaymentResendSec: 15,
  safety: SAFETY,
} as const;

/** The interface document, "Rules common to trading requests", rule 2. No fee key exists for it on coins with a value. */
const SPEC: NetworkProfile = {
  ...COMMON,
  name: "spec",
  dexFeeRate: rational(1n, 777n),
  dexFeeFloor: rational(1n, 10_000n),
  dexFeePubkey: null,
};

/** KDF 2.x, netid 8762. Source: reference swap-protocol.md 4.4, rpc.md 9.1 (values of 2.5.1). */
const KDF_2: NetworkProfile = {
  ...COMMON,
  name: "kdf-2",
  seedNodes: ["seed02.kmdefi.net", "seed04.kmdefi.net"],
  dexFeeRate: rational(1n, 777n),
  dexFeeDiscountTicker: "KMD",
  dexFeeDiscountRate: rational(9n, 7_770n),
  dexFeePubkey: "03bc2c7ba671bae4a6fc835244c9762b41647b9827d4780a89a949b984a8ddcc06",
  dexFeeExemptPubkey: "0369aa10c061cd9e085f4adb7399375ba001b54136145cb748eb4c48657be13153",
  burnTicker: "KMD",
  burnShare: rational(1n, 4n),
};

const KDF_3_KEY = "03a778d9bd346fa704cf3e2508cd074d93a1bbc1e504fbecbb0a8d48e7cccbbf5c";

/** KDF 3.0, netid 6133. Same sources; burn forms exist there but are switched off. */
const KDF_3: NetworkProfile = {
  ...COMMON,
  name: "kdf-3",
  seedNodes: ["seed01.kmdefi.net", "seed03.kmdefi.net", "kdfseed1.decker.im", "staking1.gleec.com", "staking2.gleec.com"],
  dexFeeRate: rational(2n, 100n),
  dexFeeDiscountTicker: "GLEEC",
  dexFeeDiscountRate: rational(1n, 100n),
  dexFeePubkey: KDF_3_KEY,
  dexFeeExemptPubkey: KDF_3_KEY,
};

export const PROFILES: readonly NetworkProfile[] = [SPEC, KDF_2, KDF_3];

export function findProfile(name: string): NetworkProfile | undefined {
  return PROFILES.find((p) => p.name === name);
}

/** The profile a netid stands for when the configuration names none. */
export function profileOfNetid(netid: number): NetworkProfile {
  if (netid === 8_762) return KDF_2;
  return netid === 6_133 ? KDF_3 : SPEC;
}
