import fc from "fast-check";
import { expect, test } from "vitest";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { parseEventText } from "../../src/adapters/sqlite/storedEvent.ts";
import { createSwapStore, SWAP_SCHEMA } from "../../src/adapters/sqlite/swapStore.ts";
import { createSwapViews, SWAP_VIEW_SCHEMA } from "../../src/adapters/sqlite/swapViews.ts";
import type { StoredEvent, TimedKdfEvent } from "../../src/core/swap/events.ts";
import { type KeptSwap, kdfStatus } from "../../src/core/swap/kdfStatus.ts";
import { ShownSwap } from "../../src/core/swap/shownSwap.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { swapPages } from "../../src/main/swapPages.ts";
import { swapStatuses } from "../../src/main/swapStatuses.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { PromptClock } from "../fakes/promptClock.ts";
import { fakeDispatcher, send, serveRpc } from "../fakes/rpcServer.ts";
import { recordedLogs } from "../vectors/eventLogs/eventLogs.ts";

/**
 * `my_recent_swaps` puts texts that were kept into its replies. They must be byte for byte what reading the logs, blanking and
 * writing them anew comes to, which is done here once more, by itself.
 */

type Status = { readonly [key: string]: unknown };
type Timed = { readonly timestamp: number; readonly event: { readonly type: string; readonly data?: { readonly [key: string]: unknown } } };
/** How a swap is there: with a status that was kept, without one, or as KDF stored it. */
type Way = "kept" | "log" | "kdf";
type Swap = { readonly uuid: string; readonly way: Way; readonly role: "maker" | "taker"; readonly log: readonly StoredEvent[] };

const uuidOf = (i: number): string => `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`;

function swapOf(i: number, at: number, gui: string | null, way: Way): Swap {
  const recorded = recordedLogs[at % recordedLogs.length];
  if (!recorded) throw new Error("no recorded logs");
  const uuid = uuidOf(i);
  const log = recorded.events.map((text): StoredEvent => {
    const parsed = parseEventText(text.replaceAll(recorded.summary.uuid, uuid));
    if (!parsed.ok) throw new Error(parsed.error.detail);
    const { event } = parsed.value;
    return "terms" in event ? { ...parsed.value, event: { ...event, terms: { ...event.terms, gui } } } : parsed.value;
  });
  return { uuid, way, role: recorded.role, log };
}

const SECRET = "5ec2e7".repeat(11).slice(0, 64);
/** What KDF would have stored of this swap, with a secret in it. */
function kdfRecord({ uuid, role, log }: Swap): KeptSwap {
  const { my_info: _, recoverable: __, is_finished: ___, is_success: ____, swapnode: _____, ...saved } = swapStatus(log);
  const events = (saved.events as readonly TimedKdfEvent[]).map(({ timestamp, event }) =>
    event.type === "Started"
      ? { timestamp, event: { ...event, data: { ...(event.data as object), secret: SECRET, p2p_privkey: SECRET } } }
      : { timestamp, event },
  );
  return { ...saved, type: role === "maker" ? "Maker" : "Taker", uuid, events };
}

/** The status as the edge of the RPC wrote it: what `Started` must not show is blanked. */
function blanked(status: Status): Status {
  const events = (status.events as readonly Timed[]).map((timed) => {
    const { type, data } = timed.event;
    if (type !== "Started" || !data) return timed;
    return {
      ...timed,
      event: { ...timed.event, data: { ...data, ...("secret" in data ? { secret: "0".repeat(64) } : {}), p2p_privkey: null } },
    };
  });
  return { ...status, events };
}
const statusOf = (swap: Swap): Status =>
  blanked(JSON.parse(JSON.stringify(swap.way === "kdf" ? kdfStatus(kdfRecord(swap)) : swapStatus(swap.log))));
function typed(status: Status): Status {
  const hidden = ["type", "my_info", "recoverable", "is_finished", "is_success"];
  const data = Object.fromEntries(Object.entries(status).filter(([key]) => !hidden.includes(key)));
  return { swap_type: status.type === "Maker" ? "MakerV1" : "TakerV1", swap_data: data };
}

async function nodeWith(swaps: readonly Swap[], compatibility: "spec" | "kdf") {
  const db = openInlineDatabase(":memory:", [SWAP_SCHEMA, SWAP_VIEW_SCHEMA]);
  const store = createSwapStore(db);
  const views = createSwapViews(db, "this program");
  let logsRead = 0;
  for (const [i, { uuid, way, role, log }] of swaps.entries()) {
    const summary = { uuid, role, myCoin: "DOC", otherCoin: "MARTY", startedAt: 1_000 + i, finished: true } as const;
    const [first, ...others] = log;
    if (!first) throw new Error("an empty log");
    if (way === "kdf") await store.addEnded([{ summary, kept: kdfRecord({ uuid, way, role, log }), marks: [] }]);
    else {
      await store.create(summary, first, []);
      for (const [seq, event] of others.entries()) await store.append(uuid, seq + 1, event, []);
      if (way === "kept") await views.keep([{ uuid, events: log.length, status: ShownSwap.of(swapStatus(log)) }]);
    }
  }
  const node = await fakeNode();
  const statuses = swapStatuses({
    clock: new PromptClock(),
    async log(uuid) {
      const log = await store.log(uuid);
      logsRead += Number(log.length > 0);
      return log.length > 0 ? log : null;
    },
    isSettled: () => true,
    unseenOf: () => null,
    endedElsewhere: (uuid) => store.endedElsewhere(uuid),
    views,
    keep: () => undefined,
  });
  const swapsApi = { ...node.ctx.swaps, ...statuses, page: swapPages(store) };
  return { node: { ...node, ctx: { ...node.ctx, compatibility, swaps: swapsApi } }, logsRead: () => logsRead };
}

type Asked = { readonly limit: number; readonly page: number | null; readonly isV2: boolean; readonly id: number | null };
const request = ({ limit, page, isV2, id }: Asked): { readonly [key: string]: Json } => {
  const params = { limit, ...(page === null ? { from_uuid: uuidOf(0) } : { page_number: page }) };
  return isV2
    ? { userpass: PASSWORD, mmrpc: "2.0", method: "my_recent_swaps", params, ...(id === null ? {} : { id }) }
    : { userpass: PASSWORD, method: "my_recent_swaps", ...params };
};

function expected(swaps: readonly Swap[], compatibility: "spec" | "kdf", { limit, page, isV2, id }: Asked): string {
  const newestFirst = swaps.toReversed();
  // Behind the oldest there is nothing.
  const skipped = page === null ? swaps.length : (page - 1) * limit;
  const shown = newestFirst.slice(skipped, skipped + limit);
  const result = {
    swaps: shown.map(statusOf).map((status) => (isV2 ? typed(status) : status)),
    from_uuid: page === null ? uuidOf(0) : null,
    skipped,
    limit,
    total: swaps.length,
    page_number: page ?? (compatibility === "kdf" ? 1 : null),
    total_pages: Math.ceil(swaps.length / limit),
    found_records: shown.length,
  };
  return JSON.stringify(isV2 ? { mmrpc: "2.0", result, id } : { result });
}

const swap = fc.record({
  at: fc.nat(recordedLogs.length - 1),
  gui: fc.option(
    fc.oneof(fc.string({ unit: "binary", maxLength: 30 }), fc.constantFrom("é\u2028", ',"my_info":', '"secret":"x"', "\ud83d")),
  ),
  way: fc.constantFrom<Way>("kept", "kept", "log", "kdf"),
});
const asked = fc.record({
  limit: fc.integer({ min: 1, max: 12 }),
  page: fc.option(fc.integer({ min: 1, max: 3 })),
  isV2: fc.boolean(),
  id: fc.option(fc.nat()),
});

test("a list made of kept texts is byte for byte what the logs come to, in both styles and both modes, alone and in a batch", async () => {
  const seed = 20_261_122;
  console.info(`swap list texts: seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(
      fc.array(swap, { minLength: 1, maxLength: 12 }),
      fc.constantFrom("spec" as const, "kdf" as const),
      fc.array(asked, { minLength: 1, maxLength: 5 }),
      async (specs, compatibility, all) => {
        const swaps = specs.map(({ at, gui, way }, i) => swapOf(i, at, gui, way));
        const dispatcher = fakeDispatcher((await nodeWith(swaps, compatibility)).node);
        const replies: string[] = [];
        for (const one of all) {
          const { status, body } = await dispatcher.answer(request(one), "127.0.0.1");
          expect([status, body]).toEqual([200, expected(swaps, compatibility, one)]);
          expect(body).not.toContain(SECRET);
          replies.push(body);
        }
        const wrong = { ...request({ limit: 1, page: 1, isV2: false, id: null }), from_uuid: "00000000-0000-4000-8000-ffffffffffff" };
        const batch = await dispatcher.answer([...all.map(request), wrong], "127.0.0.1");
        const refused = '{"error":"Unknown SQL error: Query returned no rows"}';
        expect(batch).toEqual({ status: 200, body: `[${[...replies, refused].join(",")}]` });
      },
    ),
    { numRuns: 60, seed },
  );
});

test("over HTTP a list with texts that are not ASCII has the length in bytes it says", async () => {
  const swaps = Array.from({ length: 12 }, (_, i) => swapOf(i, i, `Größe € 😀 ${"x".repeat(i)}`, "kept"));
  const { node, logsRead } = await nodeWith(swaps, "spec");
  const server = await serveRpc(node);
  try {
    for (const isV2 of [false, true]) {
      const one = { limit: 12, page: 1, isV2, id: isV2 ? 7 : null };
      const { text, headers } = await send(server, JSON.stringify(request(one)));
      expect(text).toBe(expected(swaps, "spec", one));
      expect(Number(headers.get("content-length"))).toBe(new TextEncoder().encode(text).length);
    }
    expect(logsRead(), "logs read for statuses that were kept").toBe(0);
  } finally {
    await server.close();
  }
});
