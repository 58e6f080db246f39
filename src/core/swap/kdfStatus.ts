import type { Role, TimedKdfEvent } from "./events.ts";
import { MAKER_ERROR_EVENTS, MAKER_SUCCESS_EVENTS, TAKER_ERROR_EVENTS, TAKER_SUCCESS_EVENTS } from "./kdfEventNames.ts";
import { isRecoverable } from "./recovery.ts";

type Json = { readonly [key: string]: unknown };
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** What a status shows in place of a secret or a key of 32 bytes, and of a compressed key: hex zeros. */
export const ZERO_KEY_32 = "0".repeat(64);
export const ZERO_KEY_33 = "0".repeat(66);

/** Fields of `Started` on either side (reference rpc.md 7.3). */
const START_FIELDS: ReadonlySet<string> = new Set([
  ...["taker_coin", "maker_coin", "taker", "maker", "secret", "secret_hash", "my_persistent_pub", "lock_duration"],
  ...["maker_amount", "taker_amount", "maker_payment_confirmations", "maker_payment_requires_nota", "taker_payment_confirmations"],
  ...["taker_payment_requires_nota", "maker_payment_lock", "taker_payment_lock", "uuid", "started_at", "maker_payment_wait"],
  ...["maker_coin_start_block", "taker_coin_start_block", "maker_payment_trade_fee", "taker_payment_spend_trade_fee"],
  ...["fee_to_send_taker_fee", "taker_payment_trade_fee", "maker_payment_spend_trade_fee", "maker_coin_swap_contract_address"],
  ...["taker_coin_swap_contract_address", "maker_coin_htlc_pubkey", "taker_coin_htlc_pubkey", "p2p_privkey"],
]);
const EVENTS: ReadonlySet<string> = new Set([
  ...[...MAKER_SUCCESS_EVENTS, ...MAKER_ERROR_EVENTS, ...TAKER_SUCCESS_EVENTS, ...TAKER_ERROR_EVENTS],
  ...["WatcherMessageSent", "MakerPaymentSpentByWatcher"],
]);

/**
 * KDF's events with what no status shows blanked: the secret, the order's own key, and the other side's key (reference rpc.md 7.1).
 * Fields and events nobody knows are not shown either: a damaged name must not let out what it held.
 */
export function withoutSecrets(events: readonly TimedKdfEvent[]): readonly TimedKdfEvent[] {
  return events.map(({ timestamp, event }) => {
    if (!EVENTS.has(event.type)) return { timestamp, event: { type: event.type } };
    if (event.type !== "Started") return { timestamp, event };
    if (!isJson(event.data)) return { timestamp, event: { type: event.type, data: null } };
    const data = Object.fromEntries(Object.entries(event.data).filter(([key]) => START_FIELDS.has(key)));
    const blank = (key: string, by: string | null): Json => (key in data ? { [key]: by } : {});
    const hasOwnKey = Array.isArray(data.p2p_privkey);
    const hidden = {
      ...data,
      ...blank("secret", ZERO_KEY_32),
      ...blank("taker", ZERO_KEY_32),
      ...blank("maker", ZERO_KEY_32),
      ...(hasOwnKey ? blank("my_persistent_pub", ZERO_KEY_33) : {}),
      ...blank("p2p_privkey", null),
    };
    return { timestamp, event: { ...event, data: hidden } };
  });
}

/** A swap as KDF stores it (reference rpc.md 7.6), of which the events are checked. */
export type KeptSwap = Json & { readonly type: "Maker" | "Taker"; readonly uuid: string; readonly events: readonly TimedKdfEvent[] };

/** The status of a swap that ended in KDF, from what KDF stored of it: its fields as they are, and the four KDF works out when asked. */
export function kdfStatus(kept: KeptSwap): { readonly [key: string]: unknown } {
  const role: Role = kept.type === "Maker" ? "maker" : "taker";
  const events = withoutSecrets(kept.events);
  const names = events.map((e) => e.event.type);
  const isFinished = names.at(-1) === "Finished";
  const errors: readonly unknown[] = Array.isArray(kept.error_events) ? kept.error_events : [];
  return {
    ...kept,
    events,
    my_info: myInfo(role, events[0]),
    recoverable: isRecoverable(role, names),
    is_finished: isFinished,
    ...(isFinished ? { is_success: !names.some((name) => errors.includes(name)) } : {}),
  };
}

function myInfo(role: Role, first: TimedKdfEvent | undefined): Json | null {
  const data = first?.event.data;
  if (first?.event.type !== "Started" || !isJson(data)) return null;
  const { maker_coin, taker_coin, maker_amount, taker_amount, started_at } = data;
  return role === "maker"
    ? { my_coin: maker_coin, other_coin: taker_coin, my_amount: maker_amount, other_amount: taker_amount, started_at }
    : { my_coin: taker_coin, other_coin: maker_coin, my_amount: taker_amount, other_amount: maker_amount, started_at };
}
