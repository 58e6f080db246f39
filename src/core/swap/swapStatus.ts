import { textToDecimal } from "./amountText.ts";
import {
  type FeeFigure,
  isChildSlot,
  isReplaceableSlot,
  type KdfEvent,
  ownClaim,
  ownPayment,
  parentOf,
  type Role,
  type Slot,
  type StoredEvent,
  type SwapEvent,
  type SwapTerms,
  type TimedKdfEvent,
  theirPayment,
} from "./events.ts";
import { feeCap } from "./feeSchedule.ts";
import { feeWindow } from "./feeWindow.ts";
import { MAKER_ERROR_EVENTS, MAKER_SUCCESS_EVENTS, TAKER_ERROR_EVENTS, TAKER_SUCCESS_EVENTS } from "./kdfEventNames.ts";
import { ZERO_KEY_32, ZERO_KEY_33 } from "./kdfStatus.ts";
import { isRecoverable } from "./recovery.ts";
import { dangerOf, lostText } from "./swapDanger.ts";
import { begin, type OwnTx, outcomeOf, type SwapState, step, versionsOf } from "./swapState.ts";
import { makerLock, takerLock } from "./timelocks.ts";

/** Raise it when an old log comes to another status than before: statuses that were kept of settled swaps are made anew then. */
const STATUS_FORM = 3;
/** Names what makes statuses of this form: the program and the form. */
export const statusMaker = (version: string): string => `${version}, form ${STATUS_FORM}`;
/** `wait_until` of the refund events: payment lock plus this. Source: reference swap-protocol.md 2.2. */
const REFUND_WAIT_EXTRA_SEC = 3_700;

/** A shown event and, where its data is a transaction, the slot that is in. */
type ShownEvent = TimedKdfEvent & { readonly slot: Slot | null };
const tx = (t: { readonly raw: string; readonly txid: string }): unknown => ({ tx_hex: t.raw, tx_hash: t.txid });

function feeFigure(f: FeeFigure | undefined): unknown {
  return f && { coin: f.coin, amount: textToDecimal(f.amount), paid_from_trading_vol: f.paidFromTradingVol };
}

/** The `Started` event with everything a status must not show blanked: the secret, and the other side's key. */
function started(t: SwapTerms): KdfEvent {
  const confs = {
    maker_payment_confirmations: t.makerConfs,
    maker_payment_requires_nota: t.makerNota,
    taker_payment_confirmations: t.takerConfs,
    taker_payment_requires_nota: t.takerNota,
  };
  const amounts = {
    lock_duration: t.lockDurationSec,
    maker_amount: textToDecimal(t.makerAmount),
    taker_amount: textToDecimal(t.takerAmount),
  };
  const blocks = { maker_coin_start_block: t.makerStartHeight, taker_coin_start_block: t.takerStartHeight };
  const keys = {
    ...(t.makerContracts ? { maker_coin_swap_contract_address: t.makerContracts.own } : {}),
    ...(t.takerContracts ? { taker_coin_swap_contract_address: t.takerContracts.own } : {}),
    maker_coin_htlc_pubkey: t.myMakerCoinPub,
    taker_coin_htlc_pubkey: t.myTakerCoinPub,
    p2p_privkey: null,
  };
  const coins = { taker_coin: t.takerCoin, maker_coin: t.makerCoin };
  if (t.role === "maker") {
    return {
      type: "Started",
      data: {
        ...coins,
        taker: ZERO_KEY_32,
        secret: ZERO_KEY_32,
        secret_hash: t.secretHash,
        my_persistent_pub: t.myPersistentPub,
        ...amounts,
        ...confs,
        maker_payment_lock: makerLock(t.startedAt, t.lockDurationSec),
        uuid: t.uuid,
        started_at: t.startedAt,
        ...blocks,
        maker_payment_trade_fee: feeFigure(t.fees[0]),
        taker_payment_spend_trade_fee: feeFigure(t.fees[1]),
        ...keys,
      },
    };
  }
  return {
    type: "Started",
    data: {
      ...coins,
      maker: ZERO_KEY_32,
      my_persistent_pub: t.myPersistentPub,
      ...amounts,
      ...confs,
      taker_payment_lock: takerLock(t.startedAt, t.lockDurationSec),
      uuid: t.uuid,
      started_at: t.startedAt,
      maker_payment_wait: t.startedAt + Math.floor((2 * t.lockDurationSec) / 5),
      ...blocks,
      fee_to_send_taker_fee: feeFigure(t.fees[0]),
      taker_payment_trade_fee: feeFigure(t.fees[1]),
      maker_payment_spend_trade_fee: feeFigure(t.fees[2]),
      ...keys,
    },
  };
}

function negotiated(role: Role, n: Extract<SwapEvent, { type: "negotiated" }>["with"]): KdfEvent {
  const tail = {
    maker_coin_swap_contract_addr: n.makerContract ?? null,
    taker_coin_swap_contract_addr: n.takerContract ?? null,
    maker_coin_htlc_pubkey: n.makerCoinPub,
    taker_coin_htlc_pubkey: n.takerCoinPub,
  };
  return role === "maker"
    ? { type: "Negotiated", data: { taker_payment_locktime: n.theirLocktime, taker_pubkey: ZERO_KEY_33, ...tail } }
    : {
        type: "Negotiated",
        data: { maker_payment_locktime: n.theirLocktime, maker_pubkey: ZERO_KEY_33, secret_hash: n.secretHash, ...tail },
      };
}

/** KDF events of the other side's payment, once: it arrived by message or was found on chain. */
function paymentReceived(role: Role, t: { readonly raw: string; readonly txid: string }): readonly KdfEvent[] {
  return role === "maker"
    ? [{ type: "TakerPaymentReceived", data: tx(t) }, { type: "TakerPaymentWaitConfirmStarted" }]
    : [
        { type: "TakerPaymentInstructionsReceived", data: null },
        { type: "MakerPaymentReceived", data: tx(t) },
        { type: "MakerPaymentWaitConfirmStarted" },
      ];
}

const side = (role: Role): "MakerPayment" | "TakerPayment" => (role === "maker" ? "MakerPayment" : "TakerPayment");

function onSeen(role: Role, slot: Slot, e: { readonly raw: string; readonly txid: string }): readonly KdfEvent[] {
  if (slot === "fee") return role === "taker" ? [{ type: "TakerFeeSent", data: tx(e) }] : [];
  if (slot === ownPayment(role)) return [{ type: `${side(role)}Sent`, data: tx(e) }];
  if (slot === "makerPayment" || slot === "takerPayment") return paymentReceived(role, e);
  if (slot === "takerPaymentSpend")
    return role === "maker" ? [{ type: "TakerPaymentSpent", data: tx(e) }, { type: "TakerPaymentSpendConfirmStarted" }] : [];
  if (slot === "makerPaymentSpend") return role === "taker" ? [{ type: "MakerPaymentSpent", data: tx(e) }] : [];
  return [];
}

function onConfirmed(role: Role, slot: Slot, e: { readonly raw: string; readonly txid: string }): readonly KdfEvent[] {
  if (role === "maker") {
    if (slot === "takerPayment") return [{ type: "TakerPaymentValidatedAndConfirmed" }];
    if (slot === "takerPaymentSpend") return [{ type: "TakerPaymentSpendConfirmed" }];
  } else {
    if (slot === "makerPayment") return [{ type: "MakerPaymentValidatedAndConfirmed" }];
    if (slot === "makerPaymentSpend") return [{ type: "MakerPaymentSpendConfirmed" }];
  }
  const back = slot === "cancel" || slot === (role === "maker" ? "makerPaymentRefund" : "takerPaymentRefund");
  return back ? [{ type: `${side(role)}Refunded`, data: tx(e) }, { type: `${side(role)}RefundFinished` }] : [];
}

/**
 * KDF events one stored event stands for, given the state before and after it. Once a side goes for its refund nothing of the other payment
 * is a step forward, and KDF shows none: whoever reads the last event would take it for one.
 */
function project(before: SwapState, after: SwapState, e: SwapEvent): readonly KdfEvent[] {
  const { role } = after.terms;
  const isOfTheirs = (e.type === "tx_received" || e.type === "tx_seen" || e.type === "tx_confirmed") && e.slot === theirPayment(role);
  if (isOfTheirs && before.refund !== null) return [];
  switch (e.type) {
    case "started":
      return [started(e.terms)];
    case "start_failed":
      return [{ type: "StartFailed", data: { error: e.reason } }];
    case "negotiated": {
      const noFee = role === "taker" && after.terms.dexFeePubkey === null && !after.terms.takenOver;
      return [negotiated(role, e.with), ...(noFee ? [{ type: "TakerFeeSent", data: { tx_hex: "", tx_hash: "" } }] : [])];
    }
    case "tx_received":
      if (e.slot === "fee")
        return [
          { type: "MakerPaymentInstructionsReceived", data: null },
          { type: "TakerFeeValidated", data: tx(e) },
        ];
      return before.received[e.slot] || before.facts[e.slot] ? [] : paymentReceived(role, e);
    case "tx_seen":
      return before.received[e.slot] ? [] : onSeen(role, e.slot, after.facts[e.slot] ?? e);
    case "tx_confirmed":
      return onConfirmed(role, e.slot, { txid: e.txid, raw: after.facts[e.slot]?.raw ?? "" });
    case "secret_learned": {
      const spend = after.facts.takerPaymentSpend;
      return role === "taker" && spend ? [{ type: "TakerPaymentSpent", data: { transaction: tx(spend), secret: e.secret } }] : [];
    }
    case "tx_signed":
      return e.slot === "cancel" || e.slot === "makerPaymentRefund" || e.slot === "takerPaymentRefund"
        ? [{ type: `${side(role)}RefundStarted` }]
        : [];
    case "refund_decided": {
      const lock = (role === "maker" ? makerLock : takerLock)(after.terms.startedAt, after.terms.lockDurationSec);
      return [
        { type: e.failure.event, data: { error: e.failure.reason } },
        { type: `${side(role)}WaitRefundStarted`, data: { wait_until: lock + REFUND_WAIT_EXTRA_SEC } },
      ];
    }
    case "tx_dropped":
    case "abandoned":
      return e.failure === null ? [] : [{ type: e.failure.event, data: { error: e.failure.reason } }];
    case "finished":
      return [
        ...(e.outcome === "lost"
          ? [{ type: `${side(role)}RefundFailed`, data: { error: `${lostText(after)}; see swapnode.outcome` } }]
          : []),
        { type: "Finished" },
      ];
    case "tx_attempted":
    case "tx_replaced":
    case "tx_withdrawn":
    case "payment_gone":
    case "own_payment_gone":
    case "record_cut":
      return [];
  }
}

/**
 * The swap as KDF shows it (reference rpc.md 7.1), from its log. A projection: each KDF event appears once and is
 * never taken back; `swapnode` is our own field with what KDF's linear list cannot say (docs/compatibility.md, "Of our own").
 */
export function swapStatus(log: readonly StoredEvent[], unseen: string | null = null): Record<string, unknown> {
  const first = log[0];
  if (!first) throw new Error("empty swap log");
  let state = begin(first.event);
  // What KDF had shown already stays as it was; the events read from it add nothing.
  const shownEvents: ShownEvent[] = (state.terms.takenOver?.events ?? []).map((e) => ({ ...e, slot: null }));
  const shown = new Set(shownEvents.map((e) => e.event.type));
  const signedAt = new Map<Slot, number>();
  for (const [i, { atMs, event }] of log.entries()) {
    const next = i === 0 ? state : step(state, event);
    for (const e of project(state, next, event)) {
      if (shown.has(e.type)) continue;
      shown.add(e.type);
      shownEvents.push({
        timestamp: atMs,
        event: e,
        slot: "slot" in event ? event.slot : event.type === "secret_learned" ? "takerPaymentSpend" : null,
      });
    }
    if (event.type === "tx_signed" && next.own[event.slot] !== state.own[event.slot]) signedAt.set(event.slot, atMs);
    state = next;
  }
  const events = shownEvents.map((e) => withPresentTx(state, e));
  const t = state.terms;
  const maker = t.role === "maker";
  const startedShown = state.startFailed === null;
  return {
    type: maker ? "Maker" : "Taker",
    uuid: t.uuid,
    my_order_uuid: t.myOrderUuid,
    events,
    maker_amount: textToDecimal(t.makerAmount),
    maker_coin: t.makerCoin,
    maker_coin_usd_price: null,
    taker_amount: textToDecimal(t.takerAmount),
    taker_coin: t.takerCoin,
    taker_coin_usd_price: null,
    gui: t.gui,
    mm_version: t.version,
    success_events: maker ? MAKER_SUCCESS_EVENTS : TAKER_SUCCESS_EVENTS,
    error_events: maker ? MAKER_ERROR_EVENTS : TAKER_ERROR_EVENTS,
    my_info: startedShown
      ? {
          my_coin: maker ? t.makerCoin : t.takerCoin,
          other_coin: maker ? t.takerCoin : t.makerCoin,
          my_amount: textToDecimal(maker ? t.makerAmount : t.takerAmount),
          other_amount: textToDecimal(maker ? t.takerAmount : t.makerAmount),
          started_at: t.startedAt,
        }
      : null,
    recoverable: isRecoverable(
      t.role,
      events.map((e) => e.event.type),
    ),
    is_finished: state.finished !== null,
    ...(state.finished ? { is_success: state.finished === "success" } : {}),
    // `on_chain`: what the chain's facts come to now, should a reorg have taken some back.
    // `danger`: what may be lost and why; null while everything is as it should be. `fees`: see `feesOf`.
    swapnode: {
      outcome: state.finished,
      on_chain: outcomeOf(state),
      withdrawn_after_finish: state.withdrawnAfterFinish,
      danger: dangerOf(state) ?? (state.finished ? null : unseen),
      fees: feesOf(state, signedAt),
      value_confirmations: t.safety?.valueConfs ?? 0,
    },
  };
}

/**
 * An event with the transaction the chain has now. A claim may be replaced by one that pays more, and a payment come back
 * under another id: the id clients are shown is that of the one that is there.
 */
function withPresentTx(s: SwapState, { timestamp, event, slot }: ShownEvent): TimedKdfEvent {
  const fact = slot && s.facts[slot];
  const data = event.data;
  if (!fact || JSON.stringify(data)?.includes(fact.txid) || typeof data !== "object" || data === null) return { timestamp, event };
  if ("tx_hash" in data) return { timestamp, event: { ...event, data: tx(fact) } };
  return "transaction" in data ? { timestamp, event: { ...event, data: { ...data, transaction: tx(fact) } } } : { timestamp, event };
}

/**
 * The fees of transactions that can be raised: what the newest version pays, the most any will pay and by when it must be in
 * a block, in base units of `coin` and unix seconds, and how many versions there are.
 */
function feesOf(s: SwapState, signedAt: ReadonlyMap<Slot, number>): readonly unknown[] {
  return (Object.entries(s.own) as [Slot, OwnTx][])
    .filter(([slot]) => isReplaceableSlot(slot))
    .map(([slot, own]) => {
      const window = feeWindow(s, slot, Math.floor((signedAt.get(slot) ?? 0) / 1_000));
      return {
        transaction: slot,
        coin: feeCoin(s.terms, slot),
        fee: own.fee ?? null,
        fee_cap: feeCap(window).toString(),
        deadline: window.deadline,
        stake: window.stake,
        versions: versionsOf(own).length,
      };
    });
}

/** The coin an own transaction's fee is paid in: that of its chain, of a token the platform coin. */
function feeCoin({ role, makerCoin, takerCoin, fees }: SwapTerms, slot: Slot): string {
  const of = isChildSlot(slot) ? parentOf(role, slot) : slot;
  const isClaim = of === ownClaim(role);
  const [own, claim] = role === "maker" ? [fees[0], fees[1]] : [fees[1], fees[2]];
  const [ownTicker, otherTicker] = role === "maker" ? [makerCoin, takerCoin] : [takerCoin, makerCoin];
  return isClaim ? (claim?.coin ?? otherTicker) : (own?.coin ?? ownTicker);
}
