import type { z } from "zod";
import { isValidPubkey } from "../../core/keys/keyPair.ts";
import { isPositive, parseDecimal, type Rational, toUnits } from "../../core/money/rational.ts";
import { rationalToText } from "../../core/swap/amountText.ts";
import {
  type FeeFigure,
  type Negotiated,
  ownClaim,
  ownPayment,
  ownRefund,
  type PaymentSlot,
  type Role,
  type Slot,
  type StoredEvent,
  type SwapEvent,
  type SwapTerms,
  type TimedKdfEvent,
  theirPayment,
} from "../../core/swap/events.ts";
import { withoutSecrets } from "../../core/swap/kdfStatus.ts";
import type { SwapSafety } from "../../core/swap/safety.ts";
import { fold, type SwapState } from "../../core/swap/swapState.ts";
import { makerLock, takerLock } from "../../core/swap/timelocks.ts";
import { equalBytes, fromHex, toHex } from "../../core/util/bytes.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { scriptHashOf } from "../../core/utxo/htlc.ts";
import { HTLC_VOUT, validatePayment } from "../../core/utxo/swapTx.ts";
import { parseTx, txid } from "../../core/utxo/txCodec.ts";
import { chainOf, contractOf, unitsOf } from "../swap/contracts.ts";
import type { ImportCoin, ImportCoins } from "./importCoin.ts";
import { failedData, isPublicKey, makerAgreed, makerStart, spentData, takerAgreed, takerStart, txData } from "./kdfSwapData.ts";
import type { SavedSwap } from "./savedSwap.ts";

/** Ends the reading of a swap: a sentence why it cannot go on here. */
class Unfit extends Error {
  override readonly name = "Unfit";
}
const unfit = (reason: string): never => {
  throw new Unfit(reason);
};

/** KDF's steps after which only the own payment is of interest any more; none of them may have shown the secret. */
const MAKER_GAVE_UP: readonly string[] = [
  "MakerPaymentDataSendFailed",
  "MakerPaymentWaitConfirmFailed",
  "TakerPaymentValidateFailed",
  "TakerPaymentWaitConfirmFailed",
];
const TAKER_GAVE_UP: readonly string[] = ["TakerPaymentWaitForSpendFailed", "TakerPaymentWaitConfirmFailed", "TakerPaymentDataSendFailed"];

/**
 * The log of a swap that KDF has begun, as far as its events tell. What KDF itself found of the chains is not believed: payments
 * are looked for, their depth is counted and spends are found by this node. Transactions of ours are taken over to the byte, for
 * they may be out; each must be what it is said to be. Nothing in the log makes this node start a payment.
 *
 * @param ownKey key of the node, 66 hex
 * @param nowMs no event is of later: the clock of a swap never runs back behind its last event
 * @returns or a sentence why this node cannot take it over
 */
export function kdfSwapLog(
  swap: SavedSwap,
  coins: ImportCoins,
  ownKey: string,
  nowMs: number,
): { readonly ok: true; readonly log: readonly StoredEvent[] } | { readonly ok: false; readonly reason: string } {
  try {
    return { ok: true, log: readLog(swap, coins, ownKey, nowMs) };
  } catch (cause) {
    if (cause instanceof Unfit) return { ok: false, reason: cause.message };
    throw cause;
  }
}

function readLog(swap: SavedSwap, coins: ImportCoins, ownKey: string, nowMs: number): readonly StoredEvent[] {
  const found = new Map(swap.events.map((e) => [e.event.type, e]));
  const log: StoredEvent[] = [];
  const add = (from: TimedKdfEvent, ...events: readonly SwapEvent[]): void => {
    for (const event of events) log.push({ v: 1, atMs: Math.min(from.timestamp, nowMs), event });
  };
  const state = (): SwapState => fold(log.map((e) => e.event));
  const start = found.get("Started") ?? unfit("it has no start");
  const terms = termsOf(swap, start, coins, ownKey);
  add(start, { type: "started", terms });
  const negotiated = found.get("Negotiated") ?? unfit("its keys were never agreed on");
  add(negotiated, { type: "negotiated", with: negotiatedOf(negotiated, terms) });
  const { role } = terms;

  const coinOf = (slot: Slot): ImportCoin => {
    const coin = coins(chainOf(role, slot) === "maker" ? terms.makerCoin : terms.takerCoin);
    return typeof coin === "string" ? unfit(coin) : coin;
  };
  const bytesOf = (slot: Slot, data: z.infer<typeof txData>) => {
    const parsed = parseTx(fromHex(data.tx_hex), coinOf(slot).kind.template.format);
    if (!parsed.ok || txid(parsed.value) !== data.tx_hash) return unfit(`the bytes of its ${slot} are not the transaction ${data.tx_hash}`);
    return parsed.value;
  };
  const txOf = (type: string, slot: Slot) => {
    const event = found.get(type);
    if (!event) return null;
    const data = read(txData, event, type);
    return { event, data, tx: bytesOf(slot, data) };
  };
  /** A transaction of ours that KDF has sent. */
  const sent = (type: string, slot: Slot): boolean => {
    const own = found.get(type)?.event.data === null ? null : txOf(type, slot);
    if (!own) return false;
    const [id, raw] = [own.data.tx_hash, own.data.tx_hex];
    const spends = slot === ownClaim(role) ? theirPayment(role) : slot === ownRefund(role) ? ownPayment(role) : null;
    const s = state();
    const payment = spends && (s.own[spends]?.txid ?? s.received[spends]?.txid);
    if (spends && !own.tx.inputs.some((i) => i.txid === payment && i.vout === HTLC_VOUT))
      unfit(`its ${slot} ${id} does not spend the ${spends}`);
    add(
      own.event,
      { type: "tx_signed", slot, txid: id, raw, notAfter: null },
      { type: "tx_attempted", slot },
      { type: "tx_seen", slot, txid: id, raw, block: null },
    );
    return true;
  };
  const paymentFault = (slot: PaymentSlot, raw: string): string | null => {
    const s = state();
    const checked = validatePayment(fromHex(raw), coinOf(slot).kind.template.format, contractOf(s, slot), unitsOf(s, slot));
    return checked.ok ? null : checked.error.kind;
  };
  /** What the other side has sent; KDF writes it before it has looked at it. */
  const received = (type: string): void => {
    const slot = theirPayment(role);
    const got = txOf(type, slot);
    if (got && paymentFault(slot, got.data.tx_hex) === null)
      add(got.event, { type: "tx_received", slot, txid: got.data.tx_hash, raw: got.data.tx_hex });
  };

  if (role === "maker") {
    const fee = found.get("TakerFeeValidated");
    const paid = fee && txData.safeParse(fee.event.data);
    if (fee) add(fee, { type: "tx_received", slot: "fee", txid: paid?.data?.tx_hash ?? "", raw: paid?.data?.tx_hex ?? "" });
  } else if (txData.safeParse(found.get("TakerFeeSent")?.event.data).success) sent("TakerFeeSent", "fee");
  if (role === "taker") received("MakerPaymentReceived");

  const payment = ownPayment(role);
  const paymentSent = sent(role === "maker" ? "MakerPaymentSent" : "TakerPaymentSent", payment);
  if (paymentSent) {
    const fault = paymentFault(payment, state().own[payment]?.raw ?? "");
    if (fault !== null) unfit(`its ${payment} does not pay what was agreed (${fault})`);
  }
  if (role === "maker") received("TakerPaymentReceived");

  if (role === "maker") sent("TakerPaymentSpent", "takerPaymentSpend");
  const shown = role === "taker" ? found.get("TakerPaymentSpent") : undefined;
  if (shown) {
    const { transaction, secret } = read(spentData, shown, "TakerPaymentSpent");
    bytesOf("takerPaymentSpend", transaction);
    if (!opens(secret, state().negotiated?.secretHash ?? "")) unfit("the secret it has is not that of its hash");
    add(
      shown,
      { type: "tx_seen", slot: "takerPaymentSpend", txid: transaction.tx_hash, raw: transaction.tx_hex, block: null },
      { type: "secret_learned", secret },
    );
  }
  // Also without the former: after a restart KDF does not always write how it learned the secret.
  if (role === "taker") sent("MakerPaymentSpent", "makerPaymentSpend");
  decideRefund(terms, swap.events, add);
  sent(role === "maker" ? "MakerPaymentRefunded" : "TakerPaymentRefunded", ownRefund(role));

  const s = state();
  if (!s.own[payment] && (s.own[ownClaim(role)] || s.own[ownRefund(role)] || s.secret !== null || s.refund))
    unfit(`its events tell of what follows its ${payment}, but not of that`);
  return log;
}

/**
 * What KDF gave up stays given up. Not so where its claim may have left (`TakerPaymentSpendFailed`): then the secret may be known,
 * and whether there is time to claim, or only to refund, is judged anew.
 */
function decideRefund(terms: SwapTerms, events: readonly TimedKdfEvent[], add: (from: TimedKdfEvent, event: SwapEvent) => void): void {
  const gaveUp = terms.role === "maker" ? MAKER_GAVE_UP : TAKER_GAVE_UP;
  const cause = events.find((e) => gaveUp.includes(e.event.type));
  if (!cause) return;
  const said = failedData.safeParse(cause.event.data);
  add(cause, { type: "refund_decided", failure: { event: cause.event.type, reason: said.success ? said.data.error : "given up by KDF" } });
}

function read<S extends z.ZodType>(schema: S, { event }: TimedKdfEvent, what: string): z.infer<S> {
  const checked = schema.safeParse(event.data);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  return unfit(`${what}: ${issue?.path.join(".") || "data"}: ${issue?.message ?? "not as KDF has it"}`.slice(0, 200));
}

/** Whether a secret opens the contracts of a negotiated hash, of 20 or 32 bytes. */
const opens = (secret: string, secretHash: string): boolean =>
  secretHash !== "" && equalBytes(hash160(fromHex(secret)), scriptHashOf(fromHex(secretHash)));

/** No output of a transaction holds more base units: eight bytes, of which one bit is a sign. */
const MOST_UNITS = (1n << 63n) - 1n;

/** @returns the amount, whole coins, and its base units, rounded down as KDF does */
function amountOf(text: string, decimals: number, what: string): { readonly amount: Rational; readonly units: bigint } {
  const parsed = parseDecimal(text);
  const units = parsed.ok ? toUnits(parsed.value, decimals) : 0n;
  return parsed.ok && isPositive(parsed.value) && units <= MOST_UNITS ? { amount: parsed.value, units } : unfit(`its ${what} is no amount`);
}

type Figure = { readonly coin: string; readonly amount: string; readonly paid_from_trading_vol: boolean } | null | undefined;
function figuresOf(figures: readonly Figure[]): readonly FeeFigure[] {
  return figures.flatMap((f) => {
    const amount = f ? parseDecimal(f.amount) : null;
    return f && amount?.ok ? [{ coin: f.coin, amount: rationalToText(amount.value), paidFromTradingVol: f.paid_from_trading_vol }] : [];
  });
}

function termsOf(swap: SavedSwap, event: TimedKdfEvent, coins: ImportCoins, ownKey: string): SwapTerms {
  const { role, uuid, kept } = swap;
  const isMaker = role === "maker";
  const [maker, taker] = [isMaker ? read(makerStart, event, "Started") : null, isMaker ? null : read(takerStart, event, "Started")];
  const start = maker ?? taker ?? unfit("it has no start");
  if (start.uuid !== uuid) unfit(`its start is of swap ${start.uuid}`);
  if (start.p2p_privkey) unfit("it uses a key of its own for one order, which this node does not");
  const [makerCoin, takerCoin] = [coins(start.maker_coin), coins(start.taker_coin)];
  if (typeof makerCoin === "string") return unfit(makerCoin);
  if (typeof takerCoin === "string") return unfit(takerCoin);
  const keys = [start.maker_coin_htlc_pubkey ?? start.my_persistent_pub, start.taker_coin_htlc_pubkey ?? start.my_persistent_pub];
  if (start.my_persistent_pub !== ownKey || keys[0] !== makerCoin.pubkey || keys[1] !== takerCoin.pubkey)
    unfit("its keys are not those of this wallet: start with the passphrase and enable_hd that KDF had");
  const { started_at: startedAt, lock_duration: lock } = start;
  const stated = maker ? maker.maker_payment_lock : taker?.taker_payment_lock;
  if (stated !== (isMaker ? makerLock(startedAt, lock) : takerLock(startedAt, lock))) unfit("its lock time does not follow from its start");
  const makers = amountOf(start.maker_amount, makerCoin.kind.decimals, "maker amount");
  const takers = amountOf(start.taker_amount, takerCoin.kind.decimals, "taker amount");
  const secret = maker?.secret ?? null;
  const secretHash = maker ? (maker.secret_hash ?? toHex(hash160(fromHex(maker.secret)))) : null;
  return {
    role,
    uuid,
    myOrderUuid: kept.my_order_uuid ? String(kept.my_order_uuid) : uuid,
    makerCoin: start.maker_coin,
    takerCoin: start.taker_coin,
    makerAmount: rationalToText(makers.amount),
    takerAmount: rationalToText(takers.amount),
    makerUnits: makers.units.toString(),
    takerUnits: takers.units.toString(),
    makerConfs: start.maker_payment_confirmations,
    makerNota: start.maker_payment_requires_nota === true,
    takerConfs: start.taker_payment_confirmations,
    takerNota: start.taker_payment_requires_nota === true,
    lockDurationSec: lock,
    startedAt,
    // KDF keeps the X coordinate alone, and that is what messages are compared with.
    counterparty: `02${maker?.taker ?? taker?.maker ?? ""}`,
    myPersistentPub: start.my_persistent_pub,
    myMakerCoinPub: makerCoin.pubkey,
    myTakerCoinPub: takerCoin.pubkey,
    secretSalt: null,
    secretHash,
    makerStartHeight: start.maker_coin_start_block,
    takerStartHeight: start.taker_coin_start_block,
    // No fee is paid or checked for it any more.
    dexFeeUnits: "0",
    dexBurnUnits: "0",
    dexFeePubkey: null,
    fees: maker
      ? figuresOf([maker.maker_payment_trade_fee, maker.taker_payment_spend_trade_fee])
      : figuresOf([taker?.fee_to_send_taker_fee, taker?.taker_payment_trade_fee, taker?.maker_payment_spend_trade_fee]),
    safety: safetyOf(role, makerCoin, takerCoin, start),
    gui: typeof kept.gui === "string" ? kept.gui : null,
    version: typeof kept.mm_version === "string" ? kept.mm_version : "",
    takenOver: {
      secret: secret !== null && secretHash !== null && opens(secret, secretHash) ? secret : null,
      events: withoutSecrets(swap.events).filter((e) => e.event.type !== "Finished"),
    },
  };
}

/**
 * What the secret is shown by, as in a swap of this node, but for the depth the value asks for: no block reward is known before
 * the chain is. Never without a block between coins that have a value, whatever KDF was told.
 */
function safetyOf(
  role: Role,
  makerCoin: ImportCoin,
  takerCoin: ImportCoin,
  start: { readonly taker_payment_confirmations: number; readonly taker_payment_requires_nota?: boolean | null | undefined },
): SwapSafety {
  const isTest = makerCoin.isTest && takerCoin.isTest;
  const hasDepth = start.taker_payment_confirmations > 0 || start.taker_payment_requires_nota === true;
  return {
    valueConfs: role === "maker" && !isTest && !hasDepth ? 1 : 0,
    revealMarginSec: isTest ? takerCoin.revealMarginSec.betweenTests : takerCoin.revealMarginSec.always,
    feeConfs: 0,
  };
}

function negotiatedOf(event: TimedKdfEvent, terms: SwapTerms): Negotiated {
  const isMaker = terms.role === "maker";
  const [maker, taker] = [isMaker ? read(makerAgreed, event, "Negotiated") : null, isMaker ? null : read(takerAgreed, event, "Negotiated")];
  const said = maker ?? taker ?? unfit("its keys were never agreed on");
  const theirLocktime = maker ? maker.taker_payment_locktime : (taker?.maker_payment_locktime ?? 0);
  const oldKey = maker ? maker.taker_pubkey : taker?.maker_pubkey;
  const keyOf = (key: string | null | undefined): string => {
    const found = key ?? (isPublicKey(oldKey) ? oldKey : unfit("it does not have the keys of the other side"));
    return isValidPubkey(fromHex(found)) ? found : unfit("a key of the other side is no key");
  };
  const lock = isMaker ? takerLock(0, terms.lockDurationSec) : makerLock(0, terms.lockDurationSec);
  return {
    theirStartedAt: Math.max(0, theirLocktime - lock),
    theirLocktime,
    makerCoinPub: keyOf(said.maker_coin_htlc_pubkey),
    takerCoinPub: keyOf(said.taker_coin_htlc_pubkey),
    secretHash: taker?.secret_hash ?? terms.secretHash ?? "",
  };
}
