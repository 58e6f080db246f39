import { decimal, div, type Rational } from "../core/money/rational.ts";
import type { NetworkProfile } from "../core/network/networkProfile.ts";
import type { SafetyRules } from "../core/swap/safety.ts";
import type { ProfileOverrides } from "./schema.ts";

/** `1/777` or `0.02`, already matched by the schema. */
function toRational(text: string): Rational {
  const [numerator = "0", denominator = "1"] = text.split("/");
  return div(decimal(numerator), decimal(denominator));
}

/** Configuration keys of the safety rules. */
const SAFETY_KEYS = {
  confirmation_value_factor: "confirmationValueFactor",
  slow_block_factor: "slowBlockFactor",
  notarization_sec: "notarizationSec",
  reveal_blocks: "revealBlocks",
  network_grace_sec: "networkGraceSec",
  fee_ceiling_factor: "feeCeilingFactor",
} as const satisfies { readonly [K in keyof ProfileOverrides]: keyof SafetyRules };

const safetyKeys = Object.keys(SAFETY_KEYS) as (keyof typeof SAFETY_KEYS)[];

/** A safety rule the configuration would lower (design D7: only towards safer), as a sentence; null where there is none. */
export function lessSafe(profile: NetworkProfile, o: ProfileOverrides): string | null {
  for (const key of safetyKeys) {
    const [wanted, least] = [o[key], profile.safety[SAFETY_KEYS[key]]];
    if (wanted !== undefined && wanted < least)
      return `swapnode.profile_overrides.${key}: ${wanted} is less safe than the ${least} of network profile ${profile.name}; it can only be raised`;
  }
  return null;
}

function safetyOf(profile: NetworkProfile, o: ProfileOverrides): SafetyRules {
  const raised = safetyKeys.flatMap((key) => (o[key] === undefined ? [] : [[SAFETY_KEYS[key], o[key]]]));
  return { ...profile.safety, ...Object.fromEntries(raised) };
}

/** The profile with single values replaced; its name then ends in `+overrides`, so that logs show it. */
export function applyOverrides(profile: NetworkProfile, o: ProfileOverrides): NetworkProfile {
  if (Object.keys(o).length === 0) return profile;
  const rate = (text: string | undefined, otherwise: Rational): Rational => (text === undefined ? otherwise : toRational(text));
  const pick = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);
  return {
    ...profile,
    name: `${profile.name}+overrides`,
    dexFeeRate: rate(o.dex_fee_rate, profile.dexFeeRate),
    dexFeeDiscountTicker: pick(o.dex_fee_discount_ticker, profile.dexFeeDiscountTicker),
    dexFeeDiscountRate: rate(o.dex_fee_discount_rate, profile.dexFeeDiscountRate),
    dexFeeFloor: rate(o.dex_fee_floor, profile.dexFeeFloor),
    dexFeePubkey: pick(o.dex_fee_pubkey, profile.dexFeePubkey),
    dexFeeExemptPubkey: pick(o.dex_fee_exempt_pubkey, profile.dexFeeExemptPubkey),
    burnTicker: pick(o.burn_ticker, profile.burnTicker),
    burnShare: rate(o.burn_share, profile.burnShare),
    paymentLocktimeSec: pick(o.payment_locktime_sec, profile.paymentLocktimeSec),
    slowTickers: pick(o.slow_tickers, profile.slowTickers),
    slowFactor: pick(o.slow_factor, profile.slowFactor),
    messageGraceSec: pick(o.message_grace_sec, profile.messageGraceSec),
    negotiationWaitSec: pick(o.negotiation_wait_sec, profile.negotiationWaitSec),
    paymentMessageWaitSec: pick(o.payment_message_wait_sec, profile.paymentMessageWaitSec),
    negotiationResendSec: pick(o.negotiation_resend_sec, profile.negotiationResendSec),
    negotiatedResendSec: pick(o.negotiated_resend_sec, profile.negotiatedResendSec),
    takerFeeResendSec: pick(o.taker_fee_resend_sec, profile.takerFeeResendSec),
    makerPaymentResendSec: pick(o.maker_payment_resend_sec, profile.makerPaymentResendSec),
    takerPaymentResendSec: pick(o.taker_payment_resend_sec, profile.takerPaymentResendSec),
    safety: safetyOf(profile, o),
  };
}
