import { z } from "zod";
import type { Role, TimedKdfEvent } from "../../core/swap/events.ts";
import { type KeptSwap, withoutSecrets } from "../../core/swap/kdfStatus.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { SwapSummary } from "../../ports/swapStore.ts";

/** Events of one swap; KDF writes thirty at most. */
const MAX_EVENTS = 100;
/** Nesting of an event's data; KDF's has four. */
const MAX_DEPTH = 12;

export const kdfUuid = z.string().regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "not a uuid");
export const kdfTicker = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\x21-\x7e]+$/);
const name = z
  .string()
  .max(60)
  .regex(/^[A-Za-z]+$/);
const word = z.string().max(200).nullish();
const amount = z
  .string()
  .max(1_000)
  .regex(/^\d+(\.\d+)?([eE][-+]?\d{1,3})?$/)
  .nullish();
const ms = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** The fields of reference rpc.md 7.6 in KDF's order; what else a file has is left out. */
const saved = z.object({
  type: z.enum(["Maker", "Taker"]),
  uuid: kdfUuid,
  my_order_uuid: kdfUuid.nullish(),
  events: z.array(z.object({ timestamp: ms, event: z.object({ type: name, data: z.unknown().optional() }) })).max(MAX_EVENTS),
  maker_amount: amount,
  maker_coin: kdfTicker.nullish(),
  maker_coin_usd_price: amount,
  taker_amount: amount,
  taker_coin: kdfTicker.nullish(),
  taker_coin_usd_price: amount,
  gui: word,
  mm_version: word,
  success_events: z.array(name).max(MAX_EVENTS),
  error_events: z.array(name).max(MAX_EVENTS),
});

const listedStart = z.object({ started_at: z.number().int().min(0).max(4_294_967_295) });

/** One swap of KDF, read. */
export type SavedSwap = {
  readonly role: Role;
  readonly uuid: string;
  /** As its file has them, secrets included: never to be shown. */
  readonly events: readonly TimedKdfEvent[];
  /** What is kept of it for lists and statuses; without secrets. */
  readonly kept: KeptSwap;
  readonly summary: SwapSummary;
};

/** What KDF's index of swaps knows, for a swap whose file does not say it. */
export type IndexedSwap = { readonly myCoin: string; readonly otherCoin: string; readonly startedAt: number };

const bad = (reason: string) => err({ kind: "BadSwap" as const, reason });

/** Reads a saved swap of KDF (reference rpc.md 7.6), already parsed from at most a million bytes of JSON; KDF's have some ten thousand. */
export function parseSavedSwap(json: unknown, indexed: IndexedSwap | null): Result<SavedSwap, { kind: "BadSwap"; reason: string }> {
  if (isDeeperThan(json, MAX_DEPTH)) return bad(`it is nested deeper than ${MAX_DEPTH}`);
  const read = saved.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    return bad(`${issue?.path.join(".") || "the swap"}: ${issue?.message ?? "not as KDF has it"}`.slice(0, 200));
  }
  const value = read.data;
  const role = value.type === "Maker" ? "maker" : "taker";
  const types = value.events.map((e) => e.event.type);
  const events: readonly TimedKdfEvent[] = value.events;
  const kept: KeptSwap = { ...value, events: withoutSecrets(events) };
  const first = events[0]?.event;
  const start = listedStart.safeParse(first?.type === "Started" ? first.data : null);
  const [my, other] = role === "maker" ? [value.maker_coin, value.taker_coin] : [value.taker_coin, value.maker_coin];
  const summary = {
    uuid: value.uuid,
    role,
    myCoin: my ?? indexed?.myCoin ?? "",
    otherCoin: other ?? indexed?.otherCoin ?? "",
    startedAt: start.success ? start.data.started_at : (indexed?.startedAt ?? Math.floor((events[0]?.timestamp ?? 0) / 1_000)),
    finished: types.at(-1) === "Finished",
  } as const;
  return ok({ role, uuid: value.uuid, events, kept, summary });
}

/** Without recursion: what is nested a hundred thousand times must not end the program. */
function isDeeperThan(json: unknown, depth: number): boolean {
  let level: unknown[] = [json];
  for (let at = 0; level.length > 0; at++) {
    if (at > depth) return true;
    level = level.flatMap((v) => (typeof v === "object" && v !== null ? Object.values(v) : []));
  }
  return false;
}
