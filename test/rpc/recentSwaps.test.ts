import fc from "fast-check";
import { expect, test } from "vitest";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createSwapStore, SWAP_SCHEMA } from "../../src/adapters/sqlite/swapStore.ts";
import { ShownSwap } from "../../src/core/swap/shownSwap.ts";
import { swapPages } from "../../src/main/swapPages.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";

/** `my_recent_swaps` over the real store against the words of the interface document, whatever is asked. */

const COINS = ["DOC", "MARTY", "KMD"];
const START = 1_700_000_000;
type Stored = { readonly uuid: string; readonly my: string; readonly other: string; readonly at: number };

const uuidOf = (i: number): string => `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`;

/** 40 swaps, often several in one second, stored in another order than they began. */
const SWAPS: readonly Stored[] = Array.from({ length: 40 }, (_, i) => ({
  uuid: uuidOf(i),
  my: COINS[i % 3] ?? "",
  other: COINS[(i + 1 + (i % 2)) % 3] ?? "",
  at: START + ((i * 7) % 20),
}));

async function dispatcherOver(stored: readonly Stored[]) {
  const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
  const node = await fakeNode();
  for (const s of stored) {
    const summary = { uuid: s.uuid, role: "taker", myCoin: s.my, otherCoin: s.other, startedAt: s.at, finished: false } as const;
    await store.create(summary, { v: 1, atMs: s.at * 1_000, event: { type: "secret_learned", secret: "00".repeat(32) } }, []);
  }
  const statuses = async (uuids: readonly string[]) =>
    new Map(uuids.map((uuid) => [uuid, ShownSwap.of({ type: "Taker", uuid, events: [] })]));
  return fakeDispatcher({ ...node, ctx: { ...node.ctx, swaps: { ...node.ctx.swaps, statuses, page: swapPages(store) } } });
}

/** Newest first; of one second, the one stored last. */
const NEWEST_FIRST = SWAPS.map((s, i) => ({ ...s, i })).sort((a, b) => b.at - a.at || b.i - a.i);

type Asked = {
  readonly limit?: number;
  readonly page_number?: number;
  readonly from_uuid?: string;
  readonly my_coin?: string;
  readonly other_coin?: string;
  readonly from_timestamp?: number;
  readonly to_timestamp?: number;
};

function expected(q: Asked) {
  const fitting = NEWEST_FIRST.filter(
    (s) =>
      (q.my_coin ?? s.my) === s.my &&
      (q.other_coin ?? s.other) === s.other &&
      s.at >= (q.from_timestamp ?? 0) &&
      s.at < (q.to_timestamp ?? Number.MAX_SAFE_INTEGER),
  );
  const limit = q.limit ?? 10;
  const at = q.from_uuid === undefined ? null : fitting.findIndex((s) => s.uuid === q.from_uuid);
  if (at === -1 && fitting.length > 0) return { error: "Unknown SQL error: Query returned no rows" };
  const page = q.page_number ?? 1;
  const skipped = at === null ? (page - 1) * limit : at + 1;
  const rows = fitting.slice(skipped, skipped + limit);
  return {
    result: {
      swaps: rows.map((s) => s.uuid),
      from_uuid: q.from_uuid ?? null,
      skipped: fitting.length === 0 ? 0 : skipped,
      limit,
      total: fitting.length,
      page_number: at === null ? page : null,
      total_pages: limit === 0 ? 0 : Math.ceil(fitting.length / limit),
      found_records: rows.length,
    },
  };
}

const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const second = fc.integer({ min: START - 2, max: START + 22 });
const asked = fc.record({
  limit: maybe(fc.integer({ min: 0, max: 50 })),
  page_number: maybe(fc.integer({ min: 1, max: 9 })),
  from_uuid: maybe(fc.constantFrom(...SWAPS.map((s) => s.uuid), "00000000-0000-4000-8000-ffffffffffff")),
  my_coin: maybe(fc.constantFrom(...COINS, "doc")),
  other_coin: maybe(fc.constantFrom(...COINS)),
  from_timestamp: maybe(second),
  to_timestamp: maybe(second),
});

test("every combination of filters and pages gives the swaps and the counts the interface document names", async () => {
  const dispatcher = await dispatcherOver(SWAPS);
  const seed = 20_261_121;
  console.info(`recent swaps: seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(asked, async (all) => {
      // JSON leaves out what is undefined.
      const query: Asked = JSON.parse(JSON.stringify(all));
      const { body } = await dispatcher.answer({ userpass: PASSWORD, method: "my_recent_swaps", ...query }, "127.0.0.1");
      const reply = JSON.parse(body);
      const { swaps, ...counts } = reply.result ?? {};
      const shown = reply.error ? reply : { result: { swaps: swaps.map((s: { uuid: string }) => s.uuid), ...counts } };
      expect(shown).toEqual(expected(query));
    }),
    { numRuns: 500, seed },
  );
});

test("pages that no store has are empty, not an error", async () => {
  const dispatcher = await dispatcherOver(SWAPS);
  for (const query of [{ page_number: Number.MAX_SAFE_INTEGER }, { page_number: Number.MAX_SAFE_INTEGER, limit: 1_000 }]) {
    const { body } = await dispatcher.answer({ userpass: PASSWORD, method: "my_recent_swaps", ...query }, "127.0.0.1");
    expect(JSON.parse(body).result).toMatchObject({ swaps: [], total: 40, found_records: 0 });
  }
});

test("a limit above what one reply holds is no fault by itself, only when there are that many swaps", async () => {
  const ask = async (dispatcher: Awaited<ReturnType<typeof dispatcherOver>>, query: object) =>
    JSON.parse((await dispatcher.answer({ userpass: PASSWORD, method: "my_recent_swaps", ...query }, "127.0.0.1")).body);
  for (const stored of [[], SWAPS]) {
    const dispatcher = await dispatcherOver(stored);
    for (const limit of [1_001, 100_000, Number.MAX_SAFE_INTEGER]) {
      const { result } = await ask(dispatcher, { limit });
      const counts = { limit, total: stored.length, found_records: stored.length, total_pages: Math.ceil(stored.length / limit) };
      expect(result).toMatchObject({ ...counts, skipped: 0 });
      expect((await ask(dispatcher, { limit, page_number: Number.MAX_SAFE_INTEGER })).result).toMatchObject({ found_records: 0 });
    }
  }
  const many = await dispatcherOver(Array.from({ length: 1_001 }, (_, i) => ({ ...SWAPS[0], at: START, uuid: uuidOf(i) }) as Stored));
  expect((await ask(many, { limit: 1_000 })).result.found_records).toBe(1_000);
  expect((await ask(many, { limit: 2_000, page_number: 2 })).result.found_records).toBe(0);
  const text = "more than 1000 swaps to return, the most in one reply; ask with a limit of at most 1000 and page_number";
  expect(await ask(many, { limit: 2_000 })).toEqual({ error: text });
});
