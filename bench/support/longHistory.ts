import { DatabaseSync } from "node:sqlite";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { eventToText, parseEventText } from "../../src/adapters/sqlite/storedEvent.ts";
import { createSwapViews } from "../../src/adapters/sqlite/swapViews.ts";
import { ShownSwap } from "../../src/core/swap/shownSwap.ts";
import { statusMaker, swapStatus } from "../../src/core/swap/swapStatus.ts";
import { packageVersion } from "../../src/main/version.ts";
import type { MadeStatus } from "../../src/ports/swapViews.ts";
import { recordedLogs } from "../../test/vectors/eventLogs/eventLogs.ts";

export const SWAPS = 100_000;
export const ORDERS = 10_000;
/** Unix seconds; one swap and at most one order a minute. */
const START_S = 1_700_000_000;
const STEP_S = 60;

/** Swaps by their place in the lists, 0 = newest, whose logs are there: the pages that are asked for. */
type Places = { readonly from: number; readonly to: number };
export const NEWEST: Places = { from: 0, to: 1_000 };
export const DEEP: Places = { from: 49_000, to: 62_000 };
/** Of these, those of a program that kept no statuses beside the logs. */
export const OLD: Places = { from: 55_000, to: 58_000 };
const isIn = (place: number, { from, to }: Places): boolean => place >= from && place < to;

const uuidOf = (kind: 5 | 6, n: number): string => `0000000${kind}-0000-4000-8000-${String(n).padStart(12, "0")}`;
const startOf = (place: number): number => START_S + (SWAPS - place) * STEP_S;
/** Uuid and start of the swap at this place of the list of all. */
export const swapAt = (place: number): { readonly uuid: string; readonly startedAt: number } => ({
  uuid: uuidOf(5, place),
  startedAt: startOf(place),
});
/** Unix milliseconds of the creation of an order; 0 = newest. */
export const orderCreatedMs = (place: number): number => 1_000 * (START_S + (ORDERS - place) * STEP_S);

/** A database of somebody who traded a lot: 100,000 finished swaps in two pairs, 10,000 ended orders in the history. */
export async function fillLongHistory(path: string): Promise<void> {
  await openInlineDatabase(path, SCHEMA).close();
  const logs = recordedLogs.filter(({ name }) => name === "success");
  const db = new DatabaseSync(path);
  db.exec("BEGIN");
  const swap = db.prepare(
    "INSERT INTO swaps (uuid, role, my_coin, other_coin, started_at, finished, settled) VALUES (?, ?, ?, ?, ?, 1, 1)",
  );
  const event = db.prepare("INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)");
  const made: MadeStatus[] = [];
  for (let place = SWAPS - 1; place >= 0; place--) {
    const log = logs[place % logs.length];
    if (!log) throw new Error("no recorded log of a swap that succeeded");
    const { uuid, startedAt } = swapAt(place);
    const coins = place % 4 === 0 ? ["MARTY", "DOC"] : ["DOC", "MARTY"];
    swap.run(uuid, log.role, coins[0] ?? "", coins[1] ?? "", startedAt);
    if (!isIn(place, NEWEST) && !isIn(place, DEEP)) continue;
    const events = log.events.map((text) => {
      const parsed = parseEventText(text.replaceAll(log.summary.uuid, uuid));
      if (!parsed.ok) throw new Error(parsed.error.detail);
      return parsed.value;
    });
    for (const [seq, e] of events.entries()) event.run(uuid, seq, eventToText(e));
    if (!isIn(place, OLD)) made.push({ uuid, events: events.length, status: ShownSwap.of(swapStatus(events)) });
  }
  const order = db.prepare(
    `INSERT INTO my_orders (uuid, type, initial_action, base, rel, price, volume, created_at, last_updated, was_taker, status)
      VALUES (?, 'Maker', 'Sell', ?, ?, ?, ?, ?, ?, 0, ?)`,
  );
  for (let place = ORDERS - 1; place >= 0; place--) {
    const at = orderCreatedMs(place);
    const [base, rel] = place % 4 === 0 ? ["MARTY", "DOC"] : ["DOC", "MARTY"];
    order.run(uuidOf(6, place), base, rel, 1 + (place % 100) / 100, 1 + (place % 7), at, at, place % 3 === 0 ? "Cancelled" : "Fulfilled");
  }
  db.exec("COMMIT");
  db.close();
  // As a node does when a swap settles.
  const store = openInlineDatabase(path, SCHEMA);
  await createSwapViews(store, statusMaker(`swapnode-${packageVersion()}`)).keep(made);
  await store.close();
}
