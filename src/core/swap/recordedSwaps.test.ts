import { describe, expect, test } from "vitest";
import { type RecordedSide, recordedStatuses } from "../../../test/vectors/swaps/swapVectors.ts";
import { recordedSwaps } from "../../../test/vectors/utxo/utxoVectors.ts";
import { swapCaptures } from "../../../test/vectors/wire/wireVectors.ts";
import { isValidPubkey, type KeyPair, keyPairFromScalar } from "../keys/keyPair.ts";
import { encodeSwapMessage, parseSwapMessage } from "../message/swapMessage.ts";
import type { SwapMessage } from "../message/types.ts";
import { decimal, toUnits } from "../money/rational.ts";
import { dexFee } from "../network/dexFee.ts";
import { findProfile } from "../network/networkProfile.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import { Secret } from "../util/secret.ts";
import { buildTx } from "../utxo/buildTx.ts";
import { hash160 } from "../utxo/hash.ts";
import { type HtlcTerms, parseRedeemScript, redeemScript } from "../utxo/htlc.ts";
import { buildHtlcClaim } from "../utxo/htlcSpend.ts";
import { p2pkhScript } from "../utxo/outputScript.ts";
import { pushesOf } from "../utxo/script.ts";
import { sortUnspents } from "../utxo/sortedUnspents.ts";
import { feeOutputs, paymentOutputs } from "../utxo/swapTx.ts";
import type { Tx, TxOutput } from "../utxo/tx.ts";
import { parseTx, serializeTx } from "../utxo/txCodec.ts";
import { htlcLockTime } from "../utxo/txTemplate.ts";
import { rationalToText } from "./amountText.ts";
import { duties, dutyKey } from "./duties.ts";
import {
  type Negotiated,
  ownClaim,
  ownPayment,
  type Role,
  type Slot,
  type SwapEvent,
  type SwapTerms,
  theirClaim,
  theirPayment,
} from "./events.ts";
import { checkNegotiation, ownNegotiation } from "./negotiation.ts";
import { begin, fold, outcomeOf, step } from "./swapState.ts";
import { swapStatus } from "./swapStatus.ts";
import { makerLock, takerLock } from "./timelocks.ts";

type Recorded = (typeof recordedSwaps)[number];
type Data = Readonly<Record<string, unknown>>;
type TxSlot = "fee" | "makerPayment" | "takerPayment" | "takerPaymentSpend" | "makerPaymentSpend";

const FORMAT = { kind: "bitcoin" } as const;
const TEMPLATE = { version: 1, format: FORMAT };
const ROLES = ["maker", "taker"] as const;
/** What the recorded coins charged for every transaction: `txfee` 1000 for each started kilobyte. */
const RATE = { perKb: 1_000n, wholeKb: true };
const DUST = 1_000n;

const must = <T>(value: T | undefined | null): T => {
  if (value === undefined || value === null) throw new Error("the recording lacks something");
  return value;
};
const txOf = (hex: string): Tx => {
  const tx = parseTx(fromHex(hex), FORMAT);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
};
const bare = (tx: Tx): string => toHex(serializeTx({ ...tx, inputs: tx.inputs.map((i) => ({ ...i, scriptSig: new Uint8Array(0) })) }));
const sum = (outputs: readonly TxOutput[]): bigint => outputs.reduce((n, o) => n + o.value, 0n);

/** The messages of a swap, by type. */
function messageOf<T extends SwapMessage["type"]>(
  uuid: string,
  type: T,
): { readonly payload: string; readonly message: Extract<SwapMessage, { type: T }> } {
  const found = must(swapCaptures.find((s) => s.uuid === uuid)?.messages.find((m) => m.type === type));
  const parsed = parseSwapMessage(fromHex(found.payload));
  if (!parsed.ok || parsed.value.type !== type) throw new Error(`no ${type}`);
  return { payload: found.payload, message: parsed.value as Extract<SwapMessage, { type: T }> };
}

/** Our terms of a recorded side, from its own `Started` event. */
function termsOf(role: Role, side: RecordedSide): SwapTerms {
  const d = must(side.events[0]?.[1]) as Data;
  const text = (key: string): string => String(d[key]);
  const figure = (key: string) => {
    const f = d[key] as { coin: string; amount: string; paid_from_trading_vol: boolean };
    return { coin: f.coin, amount: rationalToText(decimal(f.amount)), paidFromTradingVol: f.paid_from_trading_vol };
  };
  const figures =
    role === "maker"
      ? ["maker_payment_trade_fee", "taker_payment_spend_trade_fee"]
      : ["fee_to_send_taker_fee", "taker_payment_trade_fee", "maker_payment_spend_trade_fee"];
  const profile = must(findProfile("kdf-2"));
  const owed = dexFee(profile, text("taker_coin"), text("maker_coin"), decimal(text("taker_amount")), decimal("0.00001"));
  return {
    role,
    uuid: text("uuid"),
    myOrderUuid: String(side.rest.my_order_uuid),
    makerCoin: text("maker_coin"),
    takerCoin: text("taker_coin"),
    makerAmount: rationalToText(decimal(text("maker_amount"))),
    takerAmount: rationalToText(decimal(text("taker_amount"))),
    makerUnits: toUnits(decimal(text("maker_amount")), 8).toString(),
    takerUnits: toUnits(decimal(text("taker_amount")), 8).toString(),
    makerConfs: Number(d.maker_payment_confirmations),
    makerNota: d.maker_payment_requires_nota === true,
    takerConfs: Number(d.taker_payment_confirmations),
    takerNota: d.taker_payment_requires_nota === true,
    lockDurationSec: Number(d.lock_duration),
    startedAt: Number(d.started_at),
    counterparty: `02${text(role === "maker" ? "taker" : "maker")}`,
    myPersistentPub: text("my_persistent_pub"),
    myMakerCoinPub: text("maker_coin_htlc_pubkey"),
    myTakerCoinPub: text("taker_coin_htlc_pubkey"),
    secretSalt: role === "maker" ? 0 : null,
    secretHash: role === "maker" ? text("secret_hash") : null,
    makerStartHeight: Number(d.maker_coin_start_block),
    takerStartHeight: Number(d.taker_coin_start_block),
    dexFeeUnits: toUnits(owed.fee, 8).toString(),
    dexBurnUnits: toUnits(owed.burn, 8).toString(),
    dexFeePubkey: must(profile.dexFeePubkey),
    fees: figures.map(figure),
    gui: String(side.rest.gui),
    version: String(side.rest.mm_version),
  };
}

function negotiatedOf(terms: SwapTerms): Negotiated {
  const data = messageOf(terms.uuid, terms.role === "maker" ? "NegotiationReply" : "Negotiation").message.data;
  const checked = checkNegotiation(terms, data, isValidPubkey);
  if (!checked.ok) throw new Error(checked.error.kind);
  return checked.value;
}

const BLOCK = { height: 1_000, hash: "00".repeat(32) };

/** The recorded course of a side in our own words. */
function eventsOf(terms: SwapTerms, s: Recorded): readonly SwapEvent[] {
  const { role } = terms;
  const tx = (slot: TxSlot): { readonly slot: TxSlot; readonly txid: string; readonly raw: string } => ({
    slot,
    txid: s[slot].txid,
    raw: s[slot].hex,
  });
  const sent = (slot: TxSlot): SwapEvent[] => [
    { type: "tx_signed", ...tx(slot), notAfter: null },
    { type: "tx_attempted", slot },
    { type: "tx_seen", ...tx(slot), block: null },
  ];
  const received = (slot: TxSlot): SwapEvent => ({ type: "tx_received", ...tx(slot) });
  const seen = (slot: TxSlot): SwapEvent => ({ type: "tx_seen", ...tx(slot), block: BLOCK });
  const deep = (slot: TxSlot): SwapEvent => ({ type: "tx_confirmed", slot, txid: s[slot].txid, block: BLOCK });
  const [own, theirs, claim] = [ownPayment(role), theirPayment(role), ownClaim(role)];
  const fee = role === "maker" ? [received("fee")] : sent("fee");
  const paidAndTheirs = [received(theirs), seen(theirs), deep(theirs)];
  const secret: SwapEvent[] = role === "taker" ? [seen(theirClaim(role)), { type: "secret_learned", secret: s.secret }] : [];
  return [
    { type: "started", terms },
    { type: "negotiated", with: negotiatedOf(terms) },
    ...fee,
    ...(role === "maker" ? [...sent(own), seen(own), deep(own), ...paidAndTheirs] : [...paidAndTheirs, ...sent(own), seen(own)]),
    ...secret,
    ...sent(claim),
    seen(claim),
    deep(claim),
    { type: "finished", outcome: "success" },
  ];
}

/** The duty that must be running for an event to come about. */
function dutyFor(e: SwapEvent): string | null {
  const SIGNED: { readonly [S in Slot]?: string } = {
    fee: "pay_fee",
    makerPayment: "pay",
    takerPayment: "pay",
    takerPaymentSpend: "claim",
    makerPaymentSpend: "claim",
  };
  switch (e.type) {
    case "negotiated":
      return "negotiate";
    case "tx_signed":
      return SIGNED[e.slot] ?? null;
    case "tx_attempted":
      return `publish:${e.slot}`;
    case "tx_received":
      return e.slot === "fee" ? "await_fee" : "await_payment";
    case "tx_confirmed":
      return "observe";
    default:
      return null;
  }
}

/** The recorded events as a status shows them now: no watcher message of ours, the other side's key blanked, ids spelled out. */
function expectedEvents(side: RecordedSide, s: Recorded): readonly unknown[] {
  const hexOf = new Map(
    ([s.fee, s.makerPayment, s.takerPayment, s.takerPaymentSpend, s.makerPaymentSpend] as const).map((t) => [t.txid, t.hex]),
  );
  const spell = (v: unknown): unknown => {
    if (typeof v !== "object" || v === null) return v;
    const { tx } = v as { tx?: string };
    if (tx !== undefined) return { tx_hex: must(hexOf.get(tx)), tx_hash: tx };
    return Object.fromEntries(Object.entries(v).map(([k, inner]) => [k, k === "maker" || k === "taker" ? "0".repeat(64) : spell(inner)]));
  };
  return side.events
    .filter(([type]) => type !== "WatcherMessageSent")
    .map((e) => (e.length > 1 ? { type: e[0], data: spell(e[1]) } : { type: e[0] }));
}

const WATCHER_EVENTS: readonly string[] = ["WatcherMessageSent", "MakerPaymentSpentByWatcher"];

describe.each(recordedSwaps.map((s) => [s.uuid, s] as const))("the swap %s recorded between KDF nodes", (uuid, s) => {
  const recorded = must(recordedStatuses.swaps.find((x) => x.uuid === uuid));

  for (const role of ROLES) {
    const side = recorded[role];
    const events = eventsOf(termsOf(role, side), s);

    test(`the ${role}'s course runs through the machine: each step is a duty of the state before it, and the end is success`, () => {
      let state = begin(must(events[0]));
      for (const e of events.slice(1)) {
        const duty = dutyFor(e);
        if (duty) expect(duties(state).map(dutyKey), `before ${JSON.stringify(e).slice(0, 60)}`).toContain(duty);
        if (e.type === "finished") expect(outcomeOf(state)).toBe("success");
        const next = step(state, e);
        if (e.type !== "tx_seen") expect(next).not.toBe(state);
        state = next;
      }
      expect(fold(events)).toEqual(state);
      expect(state.finished).toBe("success");
    });

    test(`the ${role}'s status is the recorded one: events in order with their data, keys in order, values`, () => {
      const status = swapStatus(events.map((event, i) => ({ v: 1, atMs: 1_795_231_420_000 + i, event })));
      const shown = status.events as readonly { readonly timestamp: number; readonly event: unknown }[];
      expect(shown.map((e) => e.event)).toEqual(expectedEvents(side, s));
      expect(shown.map((e) => Object.keys((e.event as { data?: object | null }).data ?? {}))).toEqual(
        expectedEvents(side, s).map((e) => Object.keys((e as { data?: object | null }).data ?? {})),
      );
      const lists = recordedStatuses.lists[role];
      expect(Object.keys(status)).toEqual([...lists.keys, "swapnode"]);
      const { events: _events, success_events, error_events, swapnode: _ours, ...rest } = status;
      expect(rest).toEqual(side.rest);
      expect(error_events).toEqual(lists.error_events);
      expect(success_events).toEqual(lists.success_events.filter((e) => !WATCHER_EVENTS.includes(e)));
    });

    test(`the ${role}'s negotiation message comes out byte for byte`, () => {
      const type = role === "maker" ? "Negotiation" : "NegotiationReply";
      const data = ownNegotiation(termsOf(role, side), { secretHash: s.secretHash });
      expect(data.version).toBe(2);
      expect(toHex(encodeSwapMessage({ type, data }))).toBe(messageOf(uuid, type).payload);
    });
  }

  const terms: { readonly [S in "makerPayment" | "takerPayment"]: HtlcTerms } = {
    makerPayment: { lock: s.makerLock, secretHash: fromHex(s.secretHash), refundKey: fromHex(s.makerKey), claimKey: fromHex(s.takerKey) },
    takerPayment: { lock: s.takerLock, secretHash: fromHex(s.secretHash), refundKey: fromHex(s.takerKey), claimKey: fromHex(s.makerKey) },
  };

  test("lock times follow from the starts both sides told each other", () => {
    const [makerStart, takerStart] = [messageOf(uuid, "Negotiation").message.data, messageOf(uuid, "NegotiationReply").message.data].map(
      (d) => d.startedAt,
    );
    expect([makerLock(must(makerStart), 7_800), takerLock(must(takerStart), 7_800)]).toEqual([s.makerLock, s.takerLock]);
  });

  /** Rebuilds a recorded transaction of ordinary inputs from what it spends. */
  function rebuilt(hex: string, outputs: readonly TxOutput[], key: string): Tx {
    const { inputs, outputs: recordedOutputs, lockTime } = txOf(hex);
    const script = p2pkhScript(hash160(fromHex(key)));
    // Only the sum of the inputs is known: the outputs and the fee of one started kilobyte.
    const total = sum(recordedOutputs) + RATE.perKb;
    const coins = inputs.map((i, n) => ({
      txid: i.txid,
      vout: i.vout,
      script,
      value: n === 0 ? total - BigInt(inputs.length - 1) : 1n,
    }));
    const built = buildTx({
      template: TEMPLATE,
      unspents: sortUnspents(coins),
      outputs,
      changeScript: script,
      feeRate: RATE,
      dust: DUST,
      lockTime,
    });
    if (!built.ok) throw new Error(built.error.kind);
    return built.value.tx;
  }

  test("the dex fee transaction comes out byte for byte but for its signatures", () => {
    const t = termsOf("taker", recorded.taker);
    const outputs = feeOutputs({ feeKey: fromHex(must(t.dexFeePubkey)), fee: BigInt(t.dexFeeUnits), burn: BigInt(t.dexBurnUnits) });
    expect(bare(rebuilt(s.fee.hex, outputs, s.takerKey))).toBe(bare(txOf(s.fee.hex)));
  });

  for (const [slot, key, amount] of [
    ["makerPayment", s.makerKey, s.makerAmount],
    ["takerPayment", s.takerKey, s.takerAmount],
  ] as const) {
    test(`the ${slot} comes out byte for byte but for its signatures`, () => {
      const outputs = paymentOutputs(terms[slot], toUnits(decimal(amount), 8));
      expect(bare(rebuilt(s[slot].hex, outputs, key))).toBe(bare(txOf(s[slot].hex)));
    });
  }

  for (const [slot, payment, key] of [
    ["takerPaymentSpend", "takerPayment", s.makerKey],
    ["makerPaymentSpend", "makerPayment", s.takerKey],
  ] as const) {
    test(`the ${slot} comes out byte for byte but for its signature: lock time, final input, redeem script, secret`, () => {
      const recordedTx = txOf(s[slot].hex);
      const contract = terms[payment];
      // The key's secret was not recorded: another one signs, of the recorded public key's name.
      const stranger = must(keyPairFromScalar(new Uint8Array(32).fill(1)));
      const named: KeyPair = { publicKey: fromHex(key), secret: stranger.secret };
      const claim = buildHtlcClaim(
        {
          template: TEMPLATE,
          scheme: { kind: "legacy" },
          payment: { txid: s[payment].txid, vout: 0, value: must(txOf(s[payment].hex).outputs[0]).value },
          terms: contract,
          outputScript: p2pkhScript(hash160(fromHex(key))),
          fee: RATE.perKb,
          lockTime: htlcLockTime(contract.lock, { medianTimePastSec: contract.lock - 5_000, nowSec: contract.lock - 5_000 }, false),
          dust: DUST,
        },
        new Secret(fromHex(s.secret)),
        named,
      );
      if (!claim.ok) throw new Error(claim.error.kind);
      expect(bare(claim.value)).toBe(bare(recordedTx));
      const [ours, theirs] = [claim.value, recordedTx].map((tx) => must(pushesOf(must(tx.inputs[0]).scriptSig)).map(toHex));
      expect(must(ours).slice(1)).toEqual(must(theirs).slice(1));
      expect(must(ours)).toHaveLength(4);
      const redeem = fromHex(must(must(theirs)[3]));
      expect(toHex(redeemScript(must(parseRedeemScript(redeem))))).toBe(toHex(redeemScript(contract)));
      // 300 bytes when the signature has 71 bytes with its type byte, as recorded; ours may be a byte shorter or longer.
      expect(Math.abs(serializeTx(claim.value).length - fromHex(s[slot].hex).length)).toBeLessThanOrEqual(2);
    });
  }
});
