import { ownPayment, type StoredEvent } from "../../core/swap/events.ts";
import { fold, type SwapState } from "../../core/swap/swapState.ts";
import type { SqlStatement } from "../../ports/sql.ts";
import type { SqliteEngine } from "./sqliteEngine.ts";
import { eventToText, parseEventText } from "./storedEvent.ts";

/** What stands in place of events that may be lost. */
export const HELD = JSON.stringify({ held: "events may be missing before this" });

/** The stored record of one swap as it is found: whole, or why it is not. */
export type FoundLog =
  | { readonly whole: true; readonly events: readonly StoredEvent[]; readonly state: SwapState }
  | { readonly whole: false; readonly detail: string };

/** Reads one swap's events as the node does, without throwing for what is wrong with them. */
export function findLog(db: SqliteEngine, uuid: string): FoundLog {
  const events: StoredEvent[] = [];
  for (const row of db.read("SELECT seq, event FROM swap_events WHERE uuid = ? ORDER BY seq", [uuid])) {
    if (row.event === HELD) return { whole: false, detail: `it is held: its events from ${events.length} on may be lost` };
    if (row.seq !== events.length) return { whole: false, detail: `event ${events.length} is missing` };
    const parsed = parseEventText(String(row.event));
    if (!parsed.ok) return { whole: false, detail: `event ${events.length} cannot be read: ${parsed.error.detail}` };
    events.push(parsed.value);
  }
  const [first] = events;
  if (first === undefined) return { whole: false, detail: "no event is there" };
  if (!("terms" in first.event)) return { whole: false, detail: "event 0 is not its beginning" };
  if (first.event.terms.uuid !== uuid) return { whole: false, detail: `event 0 is of swap ${first.event.terms.uuid}` };
  return { whole: true, events, state: fold(events.map((e) => e.event)) };
}

/** Every swap there is anything of, in order; those that ended elsewhere have no record to be folded and are left out. */
export function* foundSwaps(db: SqliteEngine): Generator<string> {
  const [hasEnded] = db.read("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ended_elsewhere'");
  const except = hasEnded ? "WHERE uuid NOT IN (SELECT uuid FROM ended_elsewhere)" : "";
  let after = "";
  for (;;) {
    const rows = db.read(
      `SELECT uuid FROM (SELECT DISTINCT uuid FROM swap_events WHERE uuid > ?1 UNION SELECT uuid FROM swaps WHERE uuid > ?1) ${except} ORDER BY uuid LIMIT 1000`,
      [after],
    );
    for (const row of rows) yield String(row.uuid);
    if (rows.length === 0) return;
    after = String(rows.at(-1)?.uuid);
  }
}

/**
 * Whether this swap could pay a second time if the end of its record were lost: it is open, and nothing in the record says that
 * its own payment may have left.
 */
export function couldPayAgain(state: SwapState): boolean {
  return state.finished === null && state.startFailed === null && state.own[ownPayment(state.terms.role)]?.attempted !== true;
}

/** The event behind a record whose end may be lost. */
export const cutText = (events: readonly StoredEvent[]): string =>
  eventToText({ v: 1, atMs: events.at(-1)?.atMs ?? 0, event: { type: "record_cut" } });

export function isCutText(text: string): boolean {
  const parsed = parseEventText(text);
  return parsed.ok && parsed.value.event.type === "record_cut";
}

/**
 * Sees to it that a swap whose record may lack its end pays nothing. One that has negotiated goes on without: its payment is found on
 * the chain, should there be one, and taken back or exchanged. Without the other side's key nobody could find it: such a swap is held by a
 * last event after a gap. To the node its record is damaged, so it neither folds it nor acts on it, and says so at each start.
 */
export function cutRecord(uuid: string, { events, state }: Extract<FoundLog, { whole: true }>): SqlStatement {
  const [seq, event] = state.negotiated ? [events.length, cutText(events)] : [events.length + 1, HELD];
  return { sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: [uuid, seq, event] };
}

/** The sentence about such a swap. */
export const cutSentence = (uuid: string, { terms, negotiated }: SwapState): string =>
  `swap ${uuid} (${terms.role}): its record ends before its payment, and later events may be lost. ` +
  (negotiated
    ? "It pays nothing any more; a payment of before is looked for, and taken back or exchanged"
    : "It is kept; the node will not act on it, because it could pay a second time");

/** The row of the list of swaps, and the values that must not serve another swap, as the record itself says. */
export function listFromLog(uuid: string, events: readonly StoredEvent[], finished: boolean): SqlStatement[] {
  const batch: SqlStatement[] = [];
  const mark = (kind: string, value: string): void =>
    void batch.push({ sql: "INSERT OR IGNORE INTO swap_marks (kind, value, uuid) VALUES (?, ?, ?)", params: [kind, value, uuid] });
  const isFeeSent = events.some(({ event }) => event.type === "tx_attempted" && event.slot === "fee");
  for (const { event } of events) {
    if ("terms" in event) {
      const { role, makerCoin, takerCoin, startedAt, secretHash } = event.terms;
      const coins = role === "maker" ? [makerCoin, takerCoin] : [takerCoin, makerCoin];
      batch.push({
        sql: "INSERT OR IGNORE INTO swaps (uuid, role, my_coin, other_coin, started_at) VALUES (?, ?, ?, ?, ?)",
        params: [uuid, role, ...coins, startedAt],
      });
      if (secretHash !== null) mark("secret_hash", secretHash);
    }
    if (event.type === "negotiated") mark("secret_hash", event.with.secretHash);
    // A fee that was received, and one of our own that left (see `takeUpFee`).
    const isFeeOfUse = event.type === "tx_received" || (event.type === "tx_signed" && isFeeSent);
    if (isFeeOfUse && event.slot === "fee" && event.txid !== "") mark("fee_tx", event.txid);
  }
  batch.push({
    sql: "UPDATE swaps SET finished = ?, settled = settled AND ? WHERE uuid = ?",
    params: [Number(finished), Number(finished), uuid],
  });
  return batch;
}
