import { expect, test } from "vitest";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { createSwapStore } from "../../src/adapters/sqlite/swapStore.ts";
import { duties } from "../../src/core/swap/duties.ts";
import type { StoredEvent } from "../../src/core/swap/events.ts";
import { fold, outcomeOf } from "../../src/core/swap/swapState.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { recordedLogs } from "../vectors/eventLogs/eventLogs.ts";

/** Read as the node reads them: rows in a database, through the store. */
async function logOf(texts: readonly string[], uuid: string): Promise<readonly StoredEvent[]> {
  const db = openInlineDatabase(":memory:", SCHEMA);
  await db.write(
    texts.map((text, seq) => ({ sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: [uuid, seq, text] })),
  );
  const log = await createSwapStore(db).log(uuid);
  await db.close();
  return log;
}

for (const recorded of recordedLogs) {
  const { uuid } = recorded.summary;
  test(`a ${recorded.role}'s log of the first version is folded to what that version made of it: ${recorded.name}`, async () => {
    const events = await logOf(recorded.events, uuid);
    const state = fold(events.map((e) => e.event));
    expect(state).toMatchObject(recorded.state);
    expect(outcomeOf(state)).toBe(recorded.outcome);
    expect(swapStatus(events)).toMatchObject(recorded.status);
    for (const { event } of events) {
      if (event.type !== "tx_signed") continue;
      const own = state.own[event.slot];
      expect(own?.txid === event.txid ? own.raw : event.raw).toBe(event.raw);
    }
  });

  test(`stopped after any event, it leaves nothing undone: a ${recorded.role}, ${recorded.name}`, async () => {
    const events = (await logOf(recorded.events, uuid)).map((e) => e.event);
    for (let n = 1; n <= events.length; n++) {
      const state = fold(events.slice(0, n));
      if (outcomeOf(state) === null) expect(duties(state), `after ${n} events`).not.toEqual([]);
    }
  });
}

test("the recorded logs are of both sides and hold every kind of end, and open swaps", () => {
  const kinds = new Set(recordedLogs.map((l) => `${l.role} ${l.outcome}`));
  for (const kind of ["success", "refunded", "failed", "null"])
    for (const role of ["maker", "taker"]) expect(kinds).toContain(`${role} ${kind}`);
  expect(kinds).toContain("maker cancelled");
});
