import { afterEach, expect, test } from "vitest";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createSwapStore, SWAP_SCHEMA } from "../../src/adapters/sqlite/swapStore.ts";
import type { StoredEvent } from "../../src/core/swap/events.ts";
import { ShownSwap } from "../../src/core/swap/shownSwap.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { swapPages } from "../../src/main/swapPages.ts";
import type { HttpServer } from "../../src/ports/http.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { FINISHED_SWAP } from "../fakes/rpc/fakeSwaps.ts";
import { fakeDispatcher, send, serveRpc } from "../fakes/rpcServer.ts";
import { recordedLogs } from "../vectors/eventLogs/eventLogs.ts";

/** `stats_swap_status` and `all_swaps_uuids_by_filter` (reference rpc.md 5.4) over the logs of real swaps. */

const logs = new Map(recordedLogs.map((l) => [l.summary.uuid, l.events.map((text) => JSON.parse(text) as StoredEvent)]));

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function overLogs() {
  const node = await fakeNode();
  const statuses = async (uuids: readonly string[]) =>
    new Map([...logs].flatMap(([uuid, log]) => (uuids.includes(uuid) ? [[uuid, ShownSwap.of(swapStatus(log))]] : [])));
  return { ...node, ctx: { ...node.ctx, swaps: { ...node.ctx.swaps, statuses } } };
}

test.each(recordedLogs)("a $role, $name: anybody may see it once it is over, on its side, without what is ours", async (recorded) => {
  const { uuid } = recorded.summary;
  const dispatcher = fakeDispatcher(await overLogs());
  // Without a password, from another machine.
  const { status, body } = await dispatcher.answer({ method: "stats_swap_status", params: { uuid } }, "192.0.2.1");
  const reply = JSON.parse(body);
  if (recorded.status.is_finished !== true) {
    expect({ status, reply }).toEqual({ status: 500, reply: { error: "swap data is not found" } });
    return;
  }
  const { maker, taker } = reply.result;
  const [shown, other] = recorded.role === "maker" ? [maker, taker] : [taker, maker];
  expect(other).toBeNull();
  expect(shown).toMatchObject({ uuid, maker_coin: recorded.status.maker_coin });
  for (const key of ["type", "my_info", "recoverable", "is_finished", "is_success", "swapnode"]) expect(shown).not.toHaveProperty(key);
  const started = shown.events[0].event;
  if (recorded.role === "maker" && started.type === "Started") expect(started.data.secret).toBe("0".repeat(64));
});

test("a secret or a key that a stored status holds is not shown, and a swap nobody has is not found", async () => {
  server = await serveRpc(await fakeNode({ busy: true }));
  const ask = async (uuid: string) => send(server as HttpServer, JSON.stringify({ method: "stats_swap_status", params: { uuid } }));
  const { text } = await ask(FINISHED_SWAP);
  expect(JSON.parse(text).result).toMatchObject({ maker: null, taker: { uuid: FINISHED_SWAP } });
  expect(text).not.toMatch(/11{60}|a private key/);
  expect(JSON.parse((await ask("00000000-0000-4000-8000-000000000001")).text)).toEqual({ error: "swap data is not found" });
  const wrong = await send(server, JSON.stringify({ method: "stats_swap_status", uuid: FINISHED_SWAP }));
  expect(JSON.parse(wrong.text)).toEqual({ error: "invalid type: null, expected a UUID string" });
});

test("all_swaps_uuids_by_filter lists every uuid under the filters, newest first, and repeats them", async () => {
  const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
  const uuidOf = (i: number): string => `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`;
  for (let i = 0; i < 30; i++) {
    const [myCoin, otherCoin] = i % 2 ? ["DOC", "MARTY"] : ["MARTY", "DOC"];
    const summary = { uuid: uuidOf(i), role: "taker", myCoin, otherCoin, startedAt: 1_000 + i, finished: false } as const;
    await store.create(summary, { v: 1, atMs: 1, event: { type: "secret_learned", secret: "00".repeat(32) } }, []);
  }
  const node = await fakeNode();
  const dispatcher = fakeDispatcher({ ...node, ctx: { ...node.ctx, swaps: { ...node.ctx.swaps, page: swapPages(store) } } });
  const ask = async (filter: { readonly [key: string]: Json }) =>
    JSON.parse((await dispatcher.answer({ userpass: PASSWORD, method: "all_swaps_uuids_by_filter", ...filter }, "127.0.0.1")).body).result;
  const none = { my_coin: null, other_coin: null, from_timestamp: null, to_timestamp: null };
  const all = Array.from({ length: 30 }, (_, i) => uuidOf(29 - i));
  expect(await ask({})).toEqual({ found_records: 30, uuids: all, ...none });
  const filter = { my_coin: "DOC", from_timestamp: 1_010, to_timestamp: 1_014 };
  expect(await ask(filter)).toEqual({ found_records: 2, uuids: [uuidOf(13), uuidOf(11)], ...none, ...filter });
  expect(await ask({ other_coin: "KMD" })).toEqual({ found_records: 0, uuids: [], ...none, other_coin: "KMD" });
  expect((await dispatcher.answer({ method: "all_swaps_uuids_by_filter" }, "127.0.0.1")).body).toContain("Userpass is not set!");
});
