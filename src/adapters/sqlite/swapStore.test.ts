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
