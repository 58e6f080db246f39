import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { queryObjects } from "node:v8";
import { afterEach, expect, test } from "vitest";
import { Secret } from "../../core/util/secret.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { createDaemonClient, type DaemonClient, type DaemonClientOptions, type DaemonEndpoint } from "./daemonClient.ts";
import { parseDaemonUrl } from "./daemonUrl.ts";

type Handler = (body: string, response: ServerResponse, request: IncomingMessage) => void;

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const undo of cleanup.splice(0)) undo();
});

async function serve(
  handler: Handler,
  options: DaemonClientOptions = {},
  clock: Clock = new VirtualClock(),
): Promise<DaemonClient & { readonly sockets: Set<Socket>; readonly port: string; stopListening(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => handler(Buffer.concat(parts).toString(), response, request));
  });
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = String((server.address() as AddressInfo).port);
  const endpoint = parseDaemonUrl(`http://us%3Aer:pa%20ss@127.0.0.1:${port}/`);
  if (!endpoint.ok) throw new Error(endpoint.error.detail);
  const client = createDaemonClient(endpoint.value, clock, options);
  cleanup.push(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  return { ...client, sockets, port, stopListening: () => server.close() };
}

const idOf = (body: string): unknown => (JSON.parse(body) as { id: unknown }).id;
const reply = (response: ServerResponse, content: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(typeof content === "string" ? content : JSON.stringify(content));
};

test("a call carries method, parameters and credentials, and gives the result; the connection is kept", async () => {
  const seen: unknown[] = [];
  const client = await serve((body, response, request) => {
    const { method, params, id } = JSON.parse(body) as { method: string; params: unknown; id: number };
    seen.push([method, params, Buffer.from(String(request.headers.authorization).slice(6), "base64").toString()]);
    reply(response, { result: { fine: true }, error: null, id });
  });
  expect(await client.call("getblockhash", [7])).toEqual({ ok: true, value: { fine: true } });
  expect(await client.call("getblockhash", [8])).toEqual({ ok: true, value: { fine: true } });
  expect(seen).toEqual([
    ["getblockhash", [7], "us:er:pa ss"],
    ["getblockhash", [8], "us:er:pa ss"],
  ]);
  expect(client.sockets.size).toBe(1);
});

/** A daemon that takes the login `ok` alone, and how often it refused another. */
async function serveWithLogin(renewed: NonNullable<DaemonClientOptions["renewed"]>) {
  const refused: string[] = [];
  const client = await serve(
    (body, response, request) => {
      const login = Buffer.from(String(request.headers.authorization).slice(6), "base64").toString();
      if (login === "__cookie__:new") return reply(response, { result: 1, error: null, id: idOf(body) });
      refused.push(login);
      reply(response, "", 401);
    },
    { renewed },
  );
  return { client, refused };
}
const cookie = (url: URL, password: string): DaemonEndpoint => ({ url, user: "__cookie__", password: new Secret(password) });

test("a login that is refused is read anew, once for all requests that wait: the daemon was started again and made another cookie", async () => {
  let reads = 0;
  const url = new URL("http://127.0.0.1/");
  const { client, refused } = await serveWithLogin(async () => {
    reads++;
    return cookie(url, "new");
  });
  url.port = client.port;
  const answers = await Promise.all([client.call("a", []), client.call("b", []), client.call("c", [])]);
  expect(answers).toEqual(Array(3).fill({ ok: true, value: 1 }));
  expect([reads, refused.length]).toEqual([1, 3]);
  expect(await client.call("d", [])).toEqual({ ok: true, value: 1 });
  expect([reads, refused.length]).toEqual([1, 3]);
});

test("a login that is refused and stays the same, or cannot be read any more, is tried once", async () => {
  for (const found of ["same", "none"]) {
    const url = new URL("http://127.0.0.1/");
    const { client, refused } = await serveWithLogin(async () =>
      found === "none" ? null : { url, user: "us:er", password: new Secret("pa ss") },
    );
    url.port = client.port;
    expect(await client.call("a", [])).toMatchObject({ ok: false, error: { message: "wrong rpc user or password", isUnsent: true } });
    expect(refused).toEqual(["us:er:pa ss"]);
  }
});

test("amounts arrive as the daemon's own digits, safe integers as numbers", async () => {
  const client = await serve((body, response) =>
    reply(
      response,
      `{"result":{"a":90071992.54740993,"b":21000000,"c":1e-8,"d":9007199254740993},"error":null,"id":${String(idOf(body))}}`,
    ),
  );
  expect(await client.call("x", [])).toEqual({
    ok: true,
    value: { a: "90071992.54740993", b: 21000000, c: "1e-8", d: "9007199254740993" },
  });
});

test.each<[string, number, unknown, object]>([
  [
    "a daemon's refusal keeps its code",
    500,
    { result: null, error: { code: -8, message: "out of range" } },
    { kind: "rpc", code: -8, message: "out of range" },
  ],
  [
    "an error without id still counts",
    200,
    { error: { code: -32700, message: "parse" }, id: null },
    { kind: "rpc", code: -32700, message: "parse" },
  ],
  [
    "warming up is busy",
    500,
    { result: null, error: { code: -28, message: "Loading block index" } },
    { kind: "busy", message: "Loading block index" },
  ],
  ["401 names the credentials", 401, "", { kind: "unreachable", message: "wrong rpc user or password", isUnsent: true }],
  ["403 names the address", 403, "", { kind: "unreachable", message: "it does not accept this address (rpcallowip)" }],
  [
    "403 with a reason of the interface refuses the method alone",
    403,
    { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "eth_getLogs is not available on your plan" } },
    { kind: "rpc", code: -32601, message: "eth_getLogs is not available on your plan" },
  ],
  [
    "403 with other words names the address",
    403,
    { message: "Forbidden" },
    { kind: "unreachable", message: expect.stringContaining("rpcallowip") },
  ],
  ["404 without JSON names the path", 404, "<html>", { kind: "unreachable", message: "there is no JSON-RPC at that path" }],
  ["a web page is not JSON-RPC", 200, "<html>", { kind: "unreachable", message: expect.stringContaining("not JSON-RPC") }],
  [
    "an answer to another question is not taken",
    200,
    { result: 1, error: null, id: 4711 },
    { kind: "unreachable", message: expect.stringContaining("not JSON-RPC") },
  ],
  ["nested beyond the stack", 200, "[".repeat(200_000), { kind: "unreachable", message: expect.stringContaining("not JSON-RPC") }],
])("%s", async (_name, status, content, error) => {
  const client = await serve((_body, response) => reply(response, content, status));
  expect(await client.call("x", [])).toEqual({ ok: false, error });
});

test("a batch of which a provider forbids one method is asked call by call, and the others are answered", async () => {
  const client = await serve((body, response) => {
    const forbidden = { jsonrpc: "2.0", id: null, error: { code: -32000, message: "method not allowed" } };
    if (body.includes("eth_getLogs")) reply(response, forbidden, 403);
    else reply(response, { jsonrpc: "2.0", id: idOf(body), result: "0x1" });
  });
  const answers = await client.callBatch(["eth_chainId", "eth_getLogs", "eth_blockNumber"].map((method) => ({ method, params: [] })));
  expect(answers.map((answer) => (answer.ok ? answer.value : answer.error.kind))).toEqual(["0x1", "rpc", "0x1"]);
});

test("nobody listening is said in one sentence, and that nothing was sent, and the password is in no error", async () => {
  const endpoint = parseDaemonUrl("http://127.0.0.1:1/", "user", "hunter22");
  if (!endpoint.ok) throw new Error(endpoint.error.detail);
  const client = createDaemonClient(endpoint.value, new VirtualClock());
  cleanup.push(() => client.close());
  const answer = await client.call("x", []);
  expect(answer).toEqual({
    ok: false,
    error: { kind: "unreachable", message: expect.stringContaining("nothing listens there"), isUnsent: true },
  });
  expect(JSON.stringify([answer, endpoint])).not.toContain("hunter22");
});

test("an answer larger than the limit is cut off", async () => {
  const client = await serve((_body, response) => reply(response, "x".repeat(5_000)), { maxAnswerBytes: 1_000 });
  expect(await client.call("x", [])).toMatchObject({
    ok: false,
    error: { kind: "unreachable", message: expect.stringContaining("larger than 1000 bytes") },
  });
});

test("a call without an answer ends at its deadline, and the next one goes through", async () => {
  const clock = new VirtualClock();
  let stalled = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    stalled = resolve;
  });
  const client = await serve(
    (body, response) => (body.includes("slow") ? stalled() : reply(response, { result: 1, error: null, id: idOf(body) })),
    { parallel: 1 },
    clock,
  );
  const slow = client.call("slow", [], { timeoutMs: 5_000 });
  const behind = client.call("quick", [], { timeoutMs: 60_000 });
  await arrived;
  await clock.advance(5_000);
  expect(await slow).toEqual({ ok: false, error: { kind: "unreachable", message: "no answer within 5 s" } });
  expect(await behind).toEqual({ ok: true, value: 1 });
});

test("the caller's signal ends a call with Aborted", async () => {
  const client = await serve(() => undefined);
  const stop = new AbortController();
  const call = client.call("x", [], { signal: stop.signal });
  stop.abort();
  await expect(call).rejects.toBeInstanceOf(Aborted);
});

test("a thousand answered calls, each with a signal, leave no signal behind", async () => {
  const client = await serve((body, response) => reply(response, { result: 1, error: null, id: idOf(body) }));
  const before = queryObjects(AbortSignal, { format: "count" });
  for (let i = 0; i < 1_000; i++) await client.call("x", [], { signal: new AbortController().signal });
  expect(queryObjects(AbortSignal, { format: "count" }) - before).toBeLessThan(20);
});

test("more waiting calls than allowed are turned away at once", async () => {
  const client = await serve(() => undefined, { parallel: 1, maxWaiting: 1 });
  const pending = [client.call("a", []), client.call("b", [])];
  expect(await client.call("c", [])).toMatchObject({ ok: false, error: { kind: "busy" } });
  client.close();
  for (const answer of await Promise.all(pending)) expect(answer).toMatchObject({ ok: false, error: { kind: "unreachable" } });
});

test.each([500, 503])("a full work queue is waited for (%i)", async (status) => {
  const clock = new VirtualClock();
  let refusals = 2;
  const client = await serve(
    (body, response) =>
      refusals-- > 0 ? reply(response, "Work queue depth exceeded", status) : reply(response, { result: 1, error: null, id: idOf(body) }),
    // Virtual hours may pass while the sockets take their real milliseconds.
    { timeoutMs: 1_000_000_000 },
    clock,
  );
  const call = client.call("x", []);
  let answered = false;
  void call.then(() => {
    answered = true;
  });
  while (!answered) await clock.advance(50);
  expect(await call).toEqual({ ok: true, value: 1 });
});

test("a kept connection the daemon closed meanwhile is replaced, and the request sent again", async () => {
  const client = await serve((body, response) => reply(response, { result: 1, error: null, id: idOf(body) }));
  await client.call("x", []);
  for (const socket of client.sockets) socket.resetAndDestroy();
  expect(await client.call("x", [])).toEqual({ ok: true, value: 1 });
});

test("a daemon that ends while a request is on a kept connection may have taken it, though nobody listens afterwards", async () => {
  let last = false;
  const client = await serve((body, response) => {
    if (!last) return reply(response, { result: 1, error: null, id: idOf(body) });
    client.stopListening();
    response.socket?.resetAndDestroy();
  });
  await client.call("x", []);
  last = true;
  const answer = await client.call("sendrawtransaction", ["00"]);
  expect(answer).toEqual({ ok: false, error: { kind: "unreachable", message: expect.stringContaining("nothing listens there") } });
});

test("a request on a fresh connection that is cut before the answer is not sent again: the daemon may have taken it", async () => {
  let seen = 0;
  const client = await serve((_body, response) => {
    seen++;
    response.destroy();
  });
  expect(await client.call("sendrawtransaction", ["00"])).toMatchObject({ ok: false, error: { kind: "unreachable" } });
  expect(seen).toBe(1);
});

test("a batch gives its answers in the order of its calls, whatever order they come back in", async () => {
  const client = await serve((body, response) => {
    const calls = JSON.parse(body) as { id: number; params: number[] }[];
    const members = calls.map(({ id, params }) =>
      params[0] === 2 ? { id, error: { code: -8, message: "no" } } : { id, result: params[0], jsonrpc: "2.0" },
    );
    reply(response, members.reverse());
  });
  const answers = await client.callBatch([1, 2, 3].map((n) => ({ method: "x", params: [n] })));
  expect(answers).toEqual([
    { ok: true, value: 1 },
    { ok: false, error: { kind: "rpc", code: -8, message: "no" } },
    { ok: true, value: 3 },
  ]);
});

test("a node that takes no batch of so many calls, and has one error for all of them, is asked call by call", async () => {
  const client = await serve((body, response) => {
    if (!body.startsWith("[")) return reply(response, { result: idOf(body), id: idOf(body) });
    const [first] = JSON.parse(body) as { id: number }[];
    return reply(response, [{ id: first?.id, error: { code: -32600, message: "batch too large" } }]);
  });
  const calls = [1, 2, 3].map((n) => ({ method: "x", params: [n] }));
  expect((await client.callBatch(calls)).every((a) => a.ok)).toBe(true);
});

test.each([
  ["by itself", (id: unknown) => ({ error: { code: -32005, message: "daily request count exceeded, request rate limited" }, id })],
  ["in a list", (id: unknown) => [{ error: { code: -32007, message: "50/second request limit reached" }, id }]],
])(
  "a node that has one error %s for a batch because it is asked too often is not asked call by call: that would be more often",
  async (_, refusal) => {
    let requests = 0;
    let isLimited = true;
    const client = await serve((body, response) => {
      requests++;
      const batch = JSON.parse(body) as { id: unknown }[];
      reply(response, isLimited ? refusal(batch[0]?.id) : batch.map(({ id }) => ({ result: id, id })));
    });
    const calls = [1, 2, 3].map((n) => ({ method: "x", params: [n] }));
    expect((await client.callBatch(calls)).map((a) => (a.ok ? "answered" : a.error.kind))).toEqual(["rpc", "rpc", "rpc"]);
    isLimited = false;
    expect((await client.callBatch(calls)).every((a) => a.ok)).toBe(true);
    expect(requests).toBe(2);
  },
);

test("a daemon without batches is asked call by call, and for one again after ten minutes", async () => {
  let batches = 0;
  const clock = new VirtualClock();
  const answer: Handler = (body, response) => {
    if (!body.startsWith("[")) return reply(response, { result: idOf(body), error: null, id: idOf(body) });
    batches++;
    return reply(response, { result: null, error: { code: -32600, message: "no batches: rate limit" }, id: null }, 400);
  };
  const client = await serve(answer, {}, clock);
  const calls = [1, 2].map((n) => ({ method: "x", params: [n] }));
  expect((await client.callBatch(calls)).every((a) => a.ok)).toBe(true);
  expect((await client.callBatch(calls)).every((a) => a.ok)).toBe(true);
  expect(batches).toBe(1);
  await clock.advance(600_000);
  expect((await client.callBatch(calls)).every((a) => a.ok)).toBe(true);
  expect((await client.callBatch(calls)).every((a) => a.ok)).toBe(true);
  expect(batches).toBe(2);
});

test.each([
  ["ftp://x/", "must begin with http"],
  ["not a url", "not a URL"],
  ["http://127.0.0.1:1/", "rpc_user or rpc_password is missing"],
  ["http://%zz:x@127.0.0.1/", "percent-encoded"],
])("the address %s is refused with a reason and without repeating it", (url, detail) => {
  const parsed = parseDaemonUrl(url);
  expect(parsed).toEqual({ ok: false, error: { kind: "BadDaemonUrl", detail: expect.stringContaining(detail) } });
  // Whoever shows it puts the name in front.
  expect(JSON.stringify(parsed)).not.toContain("rpc_url");
});

test("when the daemon turns a request away, the idle connections are let go: it may be waiting for that to end", async () => {
  const clock = new VirtualClock();
  const waiting: (() => void)[] = [];
  let stopping = false;
  const client = await serve(
    (body, response) => {
      if (stopping) return reply(response, "shutting down", 503);
      // Answered together, so that each call has a connection of its own.
      waiting.push(() => reply(response, { result: 1, error: null, id: idOf(body) }));
      if (waiting.length === 3) for (const answer of waiting) answer();
    },
    {},
    clock,
  );
  await Promise.all([1, 2, 3].map((n) => client.call("x", [n])));
  expect(client.sockets.size).toBe(3);
  const closed = Promise.all([...client.sockets].map((socket) => once(socket, "close").then(() => 1)));
  stopping = true;
  const call = client.call("x", []);
  while ((await Promise.race([closed, clock.advance(50)])) === undefined);
  expect(await closed).toEqual([1, 1, 1]);
  await Promise.all([call, clock.advance(60_000)]);
});
