import { hash } from "node:crypto";
import { z } from "zod";
import type { Slot, StoredEvent, SwapEvent } from "../../core/swap/events.ts";
import { err, ok, type Result } from "../../core/util/result.ts";

/** Hex characters of the check sum at the end of a row: a damaged row passes once in 2^64. */
const SUM_CHARS = 16;
const SUM_FIELD = ',"sum":"';
const SUM_END = '"}';
/** Characters of `,"sum":"…"}`. */
const TAIL_CHARS = SUM_FIELD.length + SUM_CHARS + SUM_END.length;
const VERSION = 1;

/** No capturing group: with one, each pair takes some of the stack, and there is none left for a transaction of five megabytes. */
const hex = z.string().regex(/^(?:[0-9a-f]{2})*$/);
const hash32 = z.string().regex(/^[0-9a-f]{64}$/);
const secretHash = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
const pubkey = z.string().regex(/^[0-9a-f]{66}$/);
/** Empty where nothing is due: the fee of a swap without one. */
const txid = z.string().regex(/^([0-9a-f]{64})?$/);
const units = z.string().regex(/^\d{1,40}$/);
const amount = z.string().regex(/^\d+\/[1-9]\d*$/);
const whole = z.number().int().nonnegative();
const SLOTS: { readonly [S in Slot]: true } = {
  fee: true,
  makerPayment: true,
  takerPayment: true,
  takerPaymentSpend: true,
  makerPaymentSpend: true,
  makerPaymentRefund: true,
  takerPaymentRefund: true,
  cancel: true,
  feeChild: true,
  paymentChild: true,
  claimChild: true,
  refundChild: true,
};
const slot = z.enum(Object.keys(SLOTS) as Slot[]);
const block = z.object({ height: whole, hash: hash32 });
const failure = z.object({
  event: z.string(),
  reason: z.string(),
  theirFault: z.exactOptional(z.literal(true)),
  newCoins: z.exactOptional(z.literal(true)),
});

const contract = z.string().regex(/^[0-9a-f]{40}$/);
const contracts = z.object({ own: contract, fallback: contract.nullable() });

const terms = z.object({
  role: z.enum(["maker", "taker"]),
  uuid: z.string(),
  myOrderUuid: z.string(),
  makerCoin: z.string(),
  takerCoin: z.string(),
  makerAmount: amount,
  takerAmount: amount,
  makerUnits: units,
  takerUnits: units,
  makerConfs: whole,
  makerNota: z.boolean(),
  takerConfs: whole,
  takerNota: z.boolean(),
  lockDurationSec: whole,
  startedAt: whole,
  counterparty: pubkey,
  myPersistentPub: pubkey,
  myMakerCoinPub: pubkey,
  myTakerCoinPub: pubkey,
  secretSalt: z.number().int().min(0).max(255).nullable(),
  secretHash: secretHash.nullable(),
  makerStartHeight: whole,
  takerStartHeight: whole,
  dexFeeUnits: units,
  dexBurnUnits: units,
  dexFeePubkey: pubkey.nullable(),
  fees: z.array(z.object({ coin: z.string(), amount, paidFromTradingVol: z.boolean() })),
  gui: z.string().nullable(),
  version: z.string(),
  safety: z.exactOptional(z.object({ valueConfs: whole, revealMarginSec: whole, feeConfs: whole })),
  takenOver: z.exactOptional(
    z.object({
      secret: hash32.nullable(),
      events: z.array(z.object({ timestamp: whole, event: z.object({ type: z.string(), data: z.unknown().optional() }) })),
    }),
  ),
  makerContracts: z.exactOptional(contracts),
  takerContracts: z.exactOptional(contracts),
  makerFeeValue: z.exactOptional(units),
  takerFeeValue: z.exactOptional(units),
  heldFees: z.exactOptional(z.array(z.object({ coin: z.string(), amount }))),
});

const negotiated = z.object({
  theirStartedAt: whole,
  theirLocktime: whole,
  makerCoinPub: pubkey,
  takerCoinPub: pubkey,
  secretHash,
  makerContract: z.exactOptional(contract),
  takerContract: z.exactOptional(contract),
});

/** Does not compile while the schema lacks an event: what is written must be readable. */
const ofEveryType = <S extends z.ZodType<SwapEvent>>(
  schema: S & (SwapEvent["type"] extends z.infer<S>["type"] ? unknown : never),
): z.ZodType<SwapEvent> => schema;

const events = z.discriminatedUnion("type", [
  z.object({ type: z.literal("started"), terms }),
  z.object({ type: z.literal("start_failed"), terms, reason: z.string() }),
  z.object({ type: z.literal("negotiated"), with: negotiated }),
  z.object({ type: z.literal("tx_received"), slot, txid, raw: hex }),
  z.object({
    type: z.literal("tx_signed"),
    slot,
    txid,
    raw: hex,
    notAfter: whole.nullable(),
    fee: z.exactOptional(units),
    height: z.exactOptional(whole),
  }),
  z.object({ type: z.literal("tx_replaced"), slot, txid, raw: hex, fee: units }),
  z.object({ type: z.literal("tx_attempted"), slot }),
  z.object({ type: z.literal("tx_dropped"), slot, failure: failure.nullable() }),
  z.object({ type: z.literal("tx_seen"), slot, txid, raw: hex, block: block.nullable() }),
  z.object({ type: z.literal("tx_confirmed"), slot, txid, block: block.nullable() }),
  z.object({ type: z.literal("tx_withdrawn"), slot, txid }),
  z.object({ type: z.literal("secret_learned"), secret: hash32 }),
  z.object({ type: z.literal("refund_decided"), failure }),
  z.object({ type: z.literal("abandoned"), failure }),
  z.object({ type: z.literal("payment_gone") }),
  z.object({ type: z.literal("own_payment_gone") }),
  z.object({ type: z.literal("record_cut") }),
  z.object({ type: z.literal("finished"), outcome: z.enum(["success", "refunded", "cancelled", "failed", "lost"]) }),
]);
/** Strict, so that a damaged name of the sum is no row without one; inside, unknown fields are left alone. */
const storedEvent: z.ZodType<StoredEvent> = z.strictObject({ v: z.literal(VERSION), atMs: whole, event: ofEveryType(events) });

/** Beginning of the SHA-256 of the row's text without its sum. */
const sumOf = (text: string): string => hash("sha256", text, "hex").slice(0, SUM_CHARS);

/** The JSON of an event with a check sum as its last field: one changed digit of a key, a time or a transaction costs money. */
export function eventToText(stored: StoredEvent): string {
  const text = JSON.stringify(stored);
  return `${text.slice(0, -1)}${SUM_FIELD}${sumOf(text)}${SUM_END}`;
}

/**
 * Reads what `eventToText` wrote, and the rows without a sum that earlier versions wrote. Anything else is refused with
 * what is wrong with it: an event that is folded wrongly is worse than one that is missing.
 */
export function parseEventText(text: string): Result<StoredEvent, { readonly kind: "BadEvent"; readonly detail: string }> {
  const bad = (detail: string) => err({ kind: "BadEvent" as const, detail });
  const tail = text.slice(-TAIL_CHARS);
  const isSummed = tail.startsWith(SUM_FIELD) && tail.endsWith(SUM_END);
  const content = isSummed ? `${text.slice(0, -TAIL_CHARS)}}` : text;
  if (isSummed && tail.slice(SUM_FIELD.length, -SUM_END.length) !== sumOf(content))
    return bad("its check sum does not match: the record was changed");
  const json = parseJson(content);
  if (json === undefined) return bad("it is not JSON");
  const version: unknown = typeof json === "object" && json !== null && "v" in json ? json.v : undefined;
  if (typeof version === "number" && version > VERSION) return bad(`it has version ${version}; a newer swapnode wrote it`);
  const checked = storedEvent.safeParse(json);
  if (checked.success) return ok(json as StoredEvent);
  const [issue] = checked.error.issues;
  return bad(`${issue?.path.join(".") || "the record"}: ${issue?.message ?? "not as it must be"}`.slice(0, 300));
}

/** Undefined for anything that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // SyntaxError: not JSON. RangeError: nested beyond the stack.
    if (cause instanceof SyntaxError || cause instanceof RangeError) return undefined;
    throw cause;
  }
}
