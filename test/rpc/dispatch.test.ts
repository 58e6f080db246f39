import { expect, test } from "vitest";
import { z } from "zod";
import { Secret } from "../../src/core/util/secret.ts";
import { Aborted } from "../../src/ports/clock.ts";
import { StorageError } from "../../src/ports/sql.ts";
import { Auth } from "../../src/rpc/auth.ts";
import { defineMethod } from "../../src/rpc/define.ts";
import { Dispatcher, MAX_BATCH } from "../../src/rpc/dispatch.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { methodTable } from "../../src/rpc/table.ts";
import { fakeNode, openHandshake, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";
import { SilentLog } from "../fakes/silentLog.ts";

const LOCAL = "127.0.0.1";
const FOREIGN = "10.0.0.7";
const v2 = (method: string, params: Json = {}, more: Record<string, Json> = {}): Json => ({
  userpass: PASSWORD,
  mmrpc: "2.0",
  method,
  params,
  id: 1,
  ...more,
});

async function ask(dispatcher: Dispatcher, body: Json, address = LOCAL): Promise<{ status: number; reply: Record<string, unknown> }> {
  const { status, body: text } = await dispatcher.answer(body, address);
  return { status, reply: JSON.parse(text) };
}

test("a versioned method sent without mmrpc is answered in the versioned form", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const { status, reply } = await ask(dispatcher, { userpass: PASSWORD, method: "max_maker_vol", params: { coin: "DOC" } });
  expect(status).toBe(200);
  expect(Object.keys(reply)).toEqual(["mmrpc", "result", "id"]);
  expect(reply.id).toBeNull();
});

test("without mmrpc, a wrong password counts once although both forms look at it", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const body = { userpass: "wrong", method: "max_maker_vol", params: { coin: "DOC" } };
  expect((await ask(dispatcher, body)).reply.error).toBe("Userpass is invalid! - Rate Limit attempts left: 9");
  expect((await ask(dispatcher, body)).reply.error).toBe("Userpass is invalid! - Rate Limit attempts left: 8");
});

test("of a name in both styles the flat one answers without mmrpc, the versioned one with it", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  expect((await ask(dispatcher, { userpass: PASSWORD, method: "get_enabled_coins", mmrpc: null })).reply.result).toBeInstanceOf(Array);
  expect((await ask(dispatcher, v2("get_enabled_coins", null))).reply.result).toHaveProperty("coins");
});

test.each([
  [v2("buy", { base: "DOC" }), "NoSuchMethod", "No such method"],
  [
    v2("buy", {}, { base: "DOC" }),
    "InvalidRequest",
    "Error parsing request: unknown field `base`, expected one of `mmrpc`, `userpass`, `method`, `params`, `id`",
  ],
  [{ userpass: PASSWORD, method: "nope", coin: "DOC" }, "InvalidRequest", /unknown field `coin`/],
  [v2("max_maker_vol", null), "InvalidRequest", "Error parsing request: invalid type: null, expected struct MaxMakerVolRequest"],
  [v2("max_maker_vol", [1]), "InvalidRequest", "Error parsing request: invalid type: sequence, expected struct MaxMakerVolRequest"],
  [v2("max_maker_vol", {}), "InvalidRequest", "Error parsing request: missing field `coin`"],
  [v2("max_maker_vol", { coin: 1 }), "InvalidRequest", "Error parsing request: invalid type: integer `1`, expected a string"],
  [v2("max_maker_vol", { coin: 1.5 }), "InvalidRequest", "Error parsing request: invalid type: floating point `1.5`, expected a string"],
  [v2("my_recent_swaps", null), "InvalidRequest", "Error parsing request: invalid type: null, expected struct MyRecentSwapsRequest"],
  [v2("sign_message", { coin: "DOC" }), "InvalidRequest", "Error parsing request: missing field `message`"],
  [v2("get_public_key", {}, { id: -1 }), "InvalidRequest", "Error parsing request: invalid value: integer `-1`, expected usize"],
  [v2("get_public_key", {}, { id: 1.5 }), "InvalidRequest", "Error parsing request: invalid type: floating point `1.5`, expected usize"],
  [v2("get_public_key", {}, { userpass: 5 }), "InvalidRequest", "Error parsing request: invalid type: integer `5`, expected a string"],
  [v2("get_public_key", {}, { mmrpc: 2 }), "InvalidMmRpcVersion", /^Error parsing mmrpc version: invalid type: integer `2`/],
])("%j is refused as %s", async (body, type, text) => {
  const { status, reply } = await ask(fakeDispatcher(await fakeNode()), body);
  expect(status).toBe(400);
  expect(reply.error_type).toBe(type);
  expect(reply.error).toEqual(typeof text === "string" ? text : expect.stringMatching(text));
  expect(reply.error_path).toMatch(/./);
  expect(reply.error_trace).toMatch(/./);
});

test("an error envelope has its keys in KDF's order and echoes the id", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const { body } = await dispatcher.answer(v2("max_maker_vol", { coin: "KMD" }, { id: 18446744073709551615n }), LOCAL);
  expect(Object.keys(JSON.parse(body))).toEqual(["mmrpc", "error", "error_path", "error_trace", "error_type", "error_data", "id"]);
  expect(body).toMatch(/"id":18446744073709551615\}$/);
});

test("in the versioned form a wrong shape is told before the password is looked at, a wrong method after", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  expect((await ask(dispatcher, v2("x", {}, { userpass: "wrong", extra: 1 }))).reply.error_type).toBe("InvalidRequest");
  expect((await ask(dispatcher, v2("x", {}, { userpass: "wrong", mmrpc: "1.0" }))).reply.error_type).toBe("InvalidMmRpcVersion");
  expect((await ask(dispatcher, v2("x", {}, { userpass: "wrong" }))).reply.error_type).toBe("UserpassIsInvalid");
});

test("a wrong password is refused by the limiter, by name", async () => {
  const { status, reply } = await ask(fakeDispatcher(await fakeNode()), v2("get_public_key", {}, { userpass: "wrong" }));
  expect([status, reply.error_path, reply.error_trace]).toEqual([403, "rate_limiter", "rate_limiter:1]"]);
  expect(reply.error_data).toEqual({ error_type: "NbAttemptsLeft", error_data: 9 });
});

test("another machine reaches the public methods only", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const flat = await ask(dispatcher, { userpass: PASSWORD, method: "my_orders" }, FOREIGN);
  expect(flat).toEqual({ status: 500, reply: { error: "Selected method can only be called from localhost." } });
  const versioned = await ask(dispatcher, v2("get_public_key"), FOREIGN);
  expect([versioned.status, versioned.reply.error_type]).toEqual([403, "LocalHostOnly"]);
  expect((await ask(dispatcher, { method: "version" }, FOREIGN)).status).toBe(200);
  expect((await ask(dispatcher, { method: "orderbook", base: "DOC", rel: "MARTY" }, FOREIGN)).status).toBe(200);
  const open = fakeDispatcher(await fakeNode(), { localOnly: false });
  expect((await ask(open, { userpass: PASSWORD, method: "my_orders" }, FOREIGN)).status).toBe(200);
});

test("a ban leaves alone what the node does: its order is matched while nobody is let in", async () => {
  const node = await fakeNode();
  const dispatcher = fakeDispatcher(node);
  const order = { userpass: PASSWORD, method: "setprice", base: "DOC", rel: "MARTY", price: "1", volume: "1" };
  expect((await ask(dispatcher, order)).status).toBe(200);
  await dispatcher.answer(new Array(10).fill({ userpass: "wrong", method: "my_orders" }), LOCAL);
  expect((await ask(dispatcher, { userpass: PASSWORD, method: "my_orders" })).reply.error).toBe("Your IP is banned.");
  await openHandshake(node.orders);
  expect(node.orders.myOrders().makers.map((o) => o.matches.size)).toEqual([1]);
});

test("a banned address is refused even public methods and the right password, in both styles", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const wrong: Json = new Array(10).fill({ userpass: "wrong", method: "my_orders" });
  await dispatcher.answer(wrong, LOCAL);
  expect((await ask(dispatcher, { method: "version" })).reply.error).toBe("Your IP is banned.");
  const versioned = await ask(dispatcher, v2("get_public_key"));
  expect([versioned.status, versioned.reply.error_type, versioned.reply.error]).toEqual([403, "Banned", "Your ip is banned."]);
  expect((await ask(dispatcher, v2("get_public_key", {}, { extra: 1 }))).reply.error_type).toBe("InvalidRequest");
  expect((await ask(dispatcher, { method: "version" }, "127.0.0.2")).status).toBe(200);
});

test("a batch keeps its order, mixes both styles, and is always 200; too long a one is refused whole", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const batch = await dispatcher.answer([{ method: "version" }, v2("get_public_key"), { method: "my_orders" }, null, [[]]], LOCAL);
  expect(batch.status).toBe(200);
  const replies: Record<string, unknown>[] = JSON.parse(batch.body);
  expect(replies.map((r) => r.error_type ?? r.error ?? "fine")).toEqual([
    "fine",
    "fine",
    "Userpass is not set!",
    "InvalidRequest",
    "a request is a JSON object (or an array of them), found sequence",
  ]);
  const long = await ask(dispatcher, new Array(MAX_BATCH + 1).fill({ method: "version" }));
  expect(long.status).toBe(413);
});

test("a batch of calls that need no password is answered little by little, and only so far as its answer stays of a size", async () => {
  const node = await fakeNode();
  let [running, most, ran] = [0, 0, 0];
  const large = (name: string, text: string) =>
    defineMethod()({
      ...{ name, style: "both", summary: "", source: "", params: z.any(), result: z.string(), errors: {}, examples: [] },
      async handle() {
        ran++;
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
        return { ok: true, value: text };
      },
    });
  const dispatcher = new Dispatcher({
    ...{ ctx: node.ctx, table: methodTable([large("orderbook", "x".repeat(8_000_000)), large("own", "y")]) },
    ...{ auth: new Auth(new Secret(PASSWORD), node.clock), clock: node.clock, log: new SilentLog(), localOnly: true, deadlineMs: 5_000 },
  });
  // Beside those four.
  const own = { userpass: PASSWORD, method: "own" };
  const asked = [...Array.from({ length: 398 }, () => ({ method: "orderbook" })), v2("orderbook"), own];
  const { status, body } = await dispatcher.answer(asked, LOCAL);
  const replies: { result?: string; error?: string; error_type?: string; id?: number }[] = JSON.parse(body);
  expect([status, replies.length, most <= 5, ran < 16, body.length < 100_000_000]).toEqual([200, 400, true, true, true]);
  expect(replies.filter(({ result }) => result?.startsWith("x")).length).toBeGreaterThanOrEqual(8);
  const TEXT = /^the answers of this batch are longer than \d+ characters already: ask for the rest in another one$/;
  expect(replies[397]?.error).toMatch(TEXT);
  expect(replies[398]).toMatchObject({ error: expect.stringMatching(TEXT), error_type: "InternalError", id: 1 });
  expect(replies[399]).toEqual({ result: "y" });
});

const broken = defineMethod()({
  name: "broken",
  style: "both",
  summary: "",
  source: "",
  params: z.object({ hang: z.boolean().optional(), full: z.boolean().optional(), closed: z.boolean().optional() }),
  result: z.null(),
  async handle({ hang, full, closed }) {
    if (closed) throw new Aborted("closed");
    if (full) throw new StorageError("DiskFull", "a private path");
    if (hang) await new Promise(() => undefined);
    throw new Error("a private detail");
  },
  errors: {},
  examples: [],
});

test("a handler that fails or hangs gives an answer in the right form, and its details stay in the log", async () => {
  const node = await fakeNode();
  const log = new SilentLog();
  const auth = new Auth(new Secret(PASSWORD), node.clock);
  const dispatcher = new Dispatcher({
    ctx: node.ctx,
    table: methodTable([broken]),
    auth,
    clock: node.clock,
    log,
    localOnly: true,
    deadlineMs: 5_000,
  });
  const flat = await ask(dispatcher, { userpass: PASSWORD, method: "broken" });
  expect(flat).toEqual({ status: 500, reply: { error: "Internal error in broken; the log of the node has the details" } });
  const versioned = await ask(dispatcher, v2("broken"));
  expect([versioned.status, versioned.reply.error_type]).toEqual([500, "InternalError"]);
  expect(log.lines.filter((l) => l.event === "rpc_handler_failed")).toHaveLength(2);

  const full = await ask(dispatcher, { userpass: PASSWORD, method: "broken", full: true });
  expect(full).toEqual({
    status: 500,
    reply: { error: expect.stringMatching(/^broken: the disk of the node is full, so nothing was stored/) },
  });

  const hanging = [ask(dispatcher, { userpass: PASSWORD, method: "broken", hang: true }), ask(dispatcher, v2("broken", { hang: true }))];
  await node.clock.advance(5_000);
  const [late, lateV2] = await Promise.all(hanging);
  expect([late?.status, late?.reply.error]).toEqual([500, expect.stringMatching(/no answer within 5 s/)]);
  expect([lateV2?.status, lateV2?.reply.error_type]).toEqual([408, "Timeout"]);
});

test("a call that ends because its coin is disabled does not say that the time was up", async () => {
  const log = new SilentLog();
  const dispatcher = fakeDispatcher(await fakeNode(), { methods: [broken], log });
  const text =
    "broken was cut short, as when its coin is disabled or the node stops; it may be done all the same, so look at the state before you repeat it";
  const flat = await ask(dispatcher, { userpass: PASSWORD, method: "broken", closed: true });
  expect(flat).toEqual({ status: 500, reply: { error: text } });
  const versioned = await ask(dispatcher, v2("broken", { closed: true }));
  expect(versioned).toMatchObject({ status: 408, reply: { error: text, error_type: "Timeout" } });
  expect(log.lines.map(({ event }) => event)).toEqual(["rpc_cut_short", "rpc_cut_short"]);
});

test("two methods of one style cannot share a name", () => {
  expect(() => methodTable([broken, broken])).toThrow(/broken/);
});

test("a reply that cannot be written is an error of the node, and the answer says that the call may be done", async () => {
  const unwritable = defineMethod()({
    name: "unwritable",
    style: "both",
    flatReply: "wrapped",
    summary: "",
    source: "",
    params: z.object({}),
    result: z.any(),
    handle: async () => ({
      ok: true,
      value: {
        toJSON(): never {
          throw new RangeError("Invalid string length");
        },
      },
    }),
    errors: {},
    examples: [],
  });
  const { ctx, clock } = await fakeNode();
  const log = new SilentLog();
  const auth = new Auth(new Secret(PASSWORD), clock);
  const dispatcher = new Dispatcher({ ctx, clock, log, auth, table: methodTable([unwritable]), localOnly: true, deadlineMs: 1_000 });
  for (const body of [{ userpass: PASSWORD, method: "unwritable" }, v2("unwritable")]) {
    const { status, reply } = await ask(dispatcher, body);
    expect([status, reply.error]).toEqual([
      500,
      "Internal error: the reply could not be written, and the log of the node has the details; what was asked for may be done all the same, so look at the state before you repeat it",
    ]);
  }
  expect(log.lines.filter((line) => line.event === "rpc_reply_failed")).toHaveLength(2);
});
