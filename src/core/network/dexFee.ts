import { lte, max, mul, ONE, type Rational, sub, ZERO } from "../money/rational.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { NetworkProfile } from "./networkProfile.ts";

/** Whole taker coins, unrounded. `fee` goes to the fee key (vout 0), `burn` to a bare OP_RETURN (vout 1) when not zero. */
export type DexFee = { readonly fee: Rational; readonly burn: Rational };

/**
 * What the taker of one swap owes under the rules of a network. Each part is cut toward zero to the coin's base
 * units by whoever builds or checks the transaction, separately (reference swap-protocol.md 10.3 e).
 *
 * @param takerTicker, makerTicker tickers of the activated coins, not their order-book tickers
 * @param takerAmount whole taker coins
 * @param dust least output of the taker chain, whole taker coins
 */
export function dexFee(profile: NetworkProfile, takerTicker: string, makerTicker: string, takerAmount: Rational, dust: Rational): DexFee {
  const discounted = profile.dexFeeDiscountTicker !== null && [takerTicker, makerTicker].includes(profile.dexFeeDiscountTicker);
  const raw = mul(takerAmount, discounted ? profile.dexFeeDiscountRate : profile.dexFeeRate);
  const least = max(dust, profile.dexFeeFloor);
  if (lte(raw, least)) return { fee: least, burn: ZERO };
  if (profile.burnTicker !== takerTicker) return { fee: raw, burn: ZERO };
  const fee = max(mul(raw, sub(ONE, profile.burnShare)), dust);
  return { fee, burn: sub(raw, fee) };
}

/** A taker whose HTLC key is the network's own pays nothing and sends no fee transaction. */
export function isFeeExempt(profile: NetworkProfile, takerHtlcPubkey: Uint8Array): boolean {
  return profile.dexFeeExemptPubkey !== null && toHex(takerHtlcPubkey) === profile.dexFeeExemptPubkey;
}

/**
 * Fee key of private networks under the `spec` profile. Its secret is public, so anyone can take what is paid
 * there: SHA-256 of the text `swapnode test networks only: dex fee`. Only ever used for coins without a value.
 */
export const TEST_FEE_PUBKEY = "021d0e5a26b5c03afcd809d6aaf9ead7f2f2c8ffb3c167919d596a8338d4da49a8";

export type NoFeeKey = { readonly kind: "NoFeeKey"; readonly coin: string; readonly profile: string };

/**
 * Who receives the fee of a swap whose taker coin is `coin`; compressed key, 33 bytes.
 *
 * @param isTestCoin the coin has no value: `is_testnet` in the coins file
 */
export function feePubkey(profile: NetworkProfile, coin: string, isTestCoin: boolean): Result<Uint8Array, NoFeeKey> {
  if (profile.dexFeePubkey !== null) return ok(fromHex(profile.dexFeePubkey));
  return isTestCoin ? ok(fromHex(TEST_FEE_PUBKEY)) : err({ kind: "NoFeeKey", coin, profile: profile.name });
}

export function noFeeKeyText(error: NoFeeKey): string {
  return (
    `the network profile ${error.profile} has no dex fee key for ${error.coin}, a coin with a value: ` +
    "set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey"
  );
}
