import { toUnits } from "../../core/money/rational.ts";
import { rationalToText } from "../../core/swap/amountText.ts";
import type { FeeFigure, SwapTerms } from "../../core/swap/events.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { Rng } from "../../ports/rng.ts";
import type { SwapStore, SwapSummary, UniqueMark } from "../../ports/swapStore.ts";
import type { SwapMatch } from "../tradingCoin.ts";
import type { SwapCoin } from "./swapCoin.ts";

/** Dex fee of one swap under this node's network profile, base units of the taker coin. */
export type DexFeeUnits = { readonly feeUnits: bigint; readonly burnUnits: bigint; readonly feePubkey: Uint8Array | null };

/** The maker's secret for one start (design D5): derived, so that the seed alone can finish the swap. */
export type DeriveSecret = (startedAt: number, salt: number) => { readonly secret: Uint8Array; readonly hash: Uint8Array };

export type StartDeps = {
  readonly rng: Rng;
  readonly store: SwapStore;
  readonly keys: { readonly publicKey: Uint8Array; readonly deriveSecret: DeriveSecret };
  readonly dexFee: (match: SwapMatch, takerCoin: SwapCoin) => DexFeeUnits;
  readonly gui: string | null;
  readonly version: string;
};

/** Tries to draw a secret that was never used; the salt has 256 values, the second is part of the derivation. */
const SECRET_TRIES = 256;

/**
 * What a swap that starts now is made of, and the marks that must never serve another one. Throws when a chain is not
 * known yet: a fee or payment from before the swap could not be told from one for it.
 * @param startedAt unix seconds
 */
export async function startTerms(
  deps: StartDeps,
  match: SwapMatch,
  makerCoin: SwapCoin,
  takerCoin: SwapCoin,
  startedAt: number,
): Promise<{ readonly terms: SwapTerms; readonly marks: readonly UniqueMark[] }> {
  const secret = match.role === "maker" ? await drawSecret(deps, startedAt) : null;
  const fee = deps.dexFee(match, takerCoin);
  const [makerUnits, takerUnits] = [toUnits(match.makerAmount, makerCoin.decimals), toUnits(match.takerAmount, takerCoin.decimals)];
  const terms: SwapTerms = {
    role: match.role,
    uuid: match.uuid,
    myOrderUuid: match.myOrderUuid,
    makerCoin: match.makerCoin,
    takerCoin: match.takerCoin,
    makerAmount: rationalToText(match.makerAmount),
    takerAmount: rationalToText(match.takerAmount),
    makerUnits: makerUnits.toString(),
    takerUnits: takerUnits.toString(),
    makerConfs: match.makerConfs,
    makerNota: match.makerNota,
    takerConfs: match.takerConfs,
    takerNota: match.takerNota,
    lockDurationSec: match.lockDurationSec,
    startedAt,
    counterparty: toHex(match.counterparty),
    myPersistentPub: toHex(deps.keys.publicKey),
    myMakerCoinPub: toHex(makerCoin.htlcPubkey),
    myTakerCoinPub: toHex(takerCoin.htlcPubkey),
    secretSalt: secret?.salt ?? null,
    secretHash: secret ? toHex(secret.hash) : null,
    makerStartHeight: tipHeight(makerCoin),
    takerStartHeight: tipHeight(takerCoin),
    dexFeeUnits: fee.feeUnits.toString(),
    dexBurnUnits: fee.burnUnits.toString(),
    dexFeePubkey: fee.feePubkey === null ? null : toHex(fee.feePubkey),
    fees: feeFigures(match, makerCoin, takerCoin),
    gui: deps.gui,
    version: deps.version,
    ...(match.safety ? { safety: match.safety } : {}),
    ...(makerCoin.swapContracts ? { makerContracts: makerCoin.swapContracts } : {}),
    ...(takerCoin.swapContracts ? { takerContracts: takerCoin.swapContracts } : {}),
    ...feeValue("makerFeeValue", makerCoin.feeValue(makerUnits)),
    ...feeValue("takerFeeValue", takerCoin.feeValue(takerUnits)),
    ...(match.heldFees.length > 0
      ? { heldFees: match.heldFees.map(({ payer: coin, amount }) => ({ coin, amount: rationalToText(amount) })) }
      : {}),
  };
  return { terms, marks: secret ? [{ kind: "secret_hash", value: toHex(secret.hash) }] : [] };
}

function tipHeight(coin: SwapCoin): number {
  const { tip } = coin.chain.status();
  if (!tip) throw new Error(`${coin.ticker}: its chain is not known yet`);
  return tip.height;
}

async function drawSecret({ rng, keys, store }: StartDeps, startedAt: number): Promise<{ salt: number; hash: Uint8Array }> {
  for (let i = 0; i < SECRET_TRIES; i++) {
    const salt = rng.bytes(1)[0] ?? 0;
    const { hash } = keys.deriveSecret(startedAt, salt);
    if (!(await store.isMarked({ kind: "secret_hash", value: toHex(hash) }))) return { salt, hash };
  }
  throw new Error("no unused secret in this second; try again");
}

export function summaryOf(t: SwapTerms): SwapSummary {
  const maker = t.role === "maker";
  return {
    uuid: t.uuid,
    role: t.role,
    myCoin: maker ? t.makerCoin : t.takerCoin,
    otherCoin: maker ? t.takerCoin : t.makerCoin,
    startedAt: t.startedAt,
    finished: false,
  };
}

const feeValue = <K extends "makerFeeValue" | "takerFeeValue">(key: K, value: bigint | null): { readonly [P in K]?: string } =>
  value === null ? {} : ({ [key]: value.toString() } as { readonly [P in K]: string });

/** The figures of the `Started` event: own payment (and fee) transactions, and the spend of the other side's. */
function feeFigures(match: SwapMatch, makerCoin: SwapCoin, takerCoin: SwapCoin): readonly FeeFigure[] {
  const paid = (coin: SwapCoin, amount: ReturnType<SwapCoin["paymentFee"]>): FeeFigure => ({
    coin: coin.feeTicker,
    amount: rationalToText(amount.ok ? amount.value : coin.spendFee("start")),
    paidFromTradingVol: false,
  });
  const spend = (coin: SwapCoin): FeeFigure => ({
    coin: coin.feeTicker,
    amount: rationalToText(coin.spendFee("start")),
    paidFromTradingVol: coin.spendsFrom === "contract",
  });
  if (match.role === "maker") return [paid(makerCoin, makerCoin.paymentFee(match.makerAmount, "start")), spend(takerCoin)];
  return [
    paid(takerCoin, takerCoin.dexFeeTxFee(takerCoin.dust, "start")),
    paid(takerCoin, takerCoin.paymentFee(match.takerAmount, "start")),
    spend(makerCoin),
  ];
}
