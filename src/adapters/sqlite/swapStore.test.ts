import { expect, test } from "vitest";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import type { SwapTerms } from "../../core/swap/events.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import { createSwapStore, SWAP_SCHEMA } from "./swapStore.ts";

test("a swap whose record could not be read again does not begin", async () => {
  const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
  const summary = {
    uuid: swapTerms("taker").uuid,
    role: "taker",
    myCoin: "MARTY",
    otherCoin: "DOC",
    startedAt: 1,
    finished: false,
  } as const;
  const begin = (terms: SwapTerms) => store.create(summary, { v: 1, atMs: 1, event: { type: "started", terms } }, []);
  const terms = swapTerms("taker", { makerUnits: "1".repeat(41) });
  await expect(begin(terms)).rejects.toMatchObject({ kind: "Limit", message: expect.stringContaining("event.terms.makerUnits") });
  expect([await store.has(terms.uuid), await store.unsettled()]).toEqual([false, []]);
  await begin(swapTerms("taker", { makerUnits: "1".repeat(40) }));
  expect((await store.log(terms.uuid)).length).toBe(1);
});

test("a mark that its own swap has already is no obstacle, that of another swap is", async () => {
  const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
  const mark = { kind: "fee_tx", value: "aa" } as const;
  const attempt = async (uuid: string, seq: number) =>
    store.append(uuid, seq, { v: 1, atMs: 1, event: { type: "tx_attempted", slot: "fee" } }, [mark]);
  const [one, other] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
  await attempt(one, 0);
  await attempt(one, 1);
  await expect(attempt(other, 0)).rejects.toMatchObject({ kind: "Constraint" });
  expect(await store.isMarked(mark)).toBe(true);
});

test("a node that has had more swaps than one answer of the database holds finds all of them, and those that are open", async () => {
  const db = openInlineDatabase(":memory:", [SWAP_SCHEMA]);
  const count = 200_001;
  await db.write([
    {
      sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO swaps (uuid, role, my_coin, other_coin, started_at) SELECT printf('%036d', i), 'maker', 'DOC', 'MARTY', i FROM n`,
      params: [count],
    },
  ]);
  const store = createSwapStore(db);
  const [uuids, open] = [await store.allUuids(), await store.unsettled()];
  expect([new Set(uuids).size, open.length, open[0]?.startedAt, open.at(-1)?.startedAt]).toEqual([count, count, 1, count]);
});
