import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import type { EvmBackend } from "../../src/adapters/evmRpc/evmNode.ts";
import { parseNodeUrl } from "../../src/adapters/evmRpc/nodeUrl.ts";
import { parseWsText } from "../../src/adapters/evmRpc/wsCalls.ts";
import { WsRpc } from "../../src/adapters/evmRpc/wsRpc.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { err, ok } from "../../src/core/util/result.ts";
import { openEvmChain } from "../../src/main/openEvmChain.ts";
import { sleep } from "../../src/ports/clock.ts";
import { encodeFrame, type WsEvent, WsFrameReader } from "../../src/wire/wsFrames.ts";
import { type OpenTextSocket, type TextSocketHandlers, webSocketOpener } from "../../src/wire/wsSocket.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { CHAIN_ID } from "./support/anvilWorld.ts";

/** A frame as a server sends it: not masked. */
function serverFrame(opcode: number, payload: string | Buffer, isFinal = true): Buffer {
  const body = Buffer.from(payload);
  const first = (isFinal ? 0x80 : 0) | opcode;
  if (body.length <= 125) return Buffer.concat([Buffer.from([first, body.length]), body]);
  const head = Buffer.alloc(body.length <= 0xffff ? 4 : 10);
  head[0] = first;
  head[1] = head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(body.length, 2);
  else head.writeBigUInt64BE(BigInt(body.length), 2);
  return Buffer.concat([head, body]);
}

const MASK = Uint8Array.of(1, 2, 3, 4);
const textsOf = (events: readonly WsEvent[]): string[] => events.map((e) => (e.kind === "text" ? e.text : e.kind));

test("messages come out whole, however the network cuts them", () => {
  const long = "x".repeat(70_000);
  const bytes = Buffer.concat([
    serverFrame(1, "a"),
    serverFrame(9, "hi"),
    serverFrame(1, "be", false),
    serverFrame(10, ""),
    serverFrame(0, "tween"),
    serverFrame(1, "y".repeat(300)),
    serverFrame(1, long),
    serverFrame(8, ""),
  ]);
  for (const size of [1, 2, 3, 7, 1_000, 100_000]) {
    const reader = new WsFrameReader(100_000);
    const events: WsEvent[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const read = reader.push(bytes.subarray(at, at + size));
      events.push(...(read.ok ? read.value : expect.fail(read.error.detail)));
    }
    expect(textsOf(events)).toEqual(["a", "ping", "pong", "between", "y".repeat(300), long, "close"]);
  }
});

test("what no honest server sends is refused before it takes memory", () => {
  const said = (bytes: Buffer): string => {
    const read = new WsFrameReader(1_000).push(bytes);
    return read.ok ? "taken" : read.error.detail;
  };
  const huge = Buffer.alloc(10);
  huge[0] = 0x81;
  huge[1] = 127;
  huge.writeBigUInt64BE(2n ** 63n, 2);
  expect(said(huge)).toBe("a message larger than 1000 bytes");
  expect(said(Buffer.concat([serverFrame(1, "a".repeat(600), false), serverFrame(0, "a".repeat(600))]))).toBe(
    "a message larger than 1000 bytes",
  );
  expect(said(Buffer.from([0xc1, 0]))).toBe("a frame of an extension nobody asked for");
  expect(said(encodeFrame("text", Buffer.from("a"), MASK))).toBe("a masked frame from a server");
  expect(said(serverFrame(2, "a"))).toBe("a message that is no text");
  expect(said(serverFrame(0, "a"))).toBe("a part of no message");
  expect(said(Buffer.concat([serverFrame(1, "a", false), serverFrame(1, "b")]))).toBe("a part of no message");
  expect(said(serverFrame(9, "a", false))).toBe("a control frame in parts or too long");
  expect(said(Buffer.from([0x89, 126, 0, 0]))).toBe("a control frame in parts or too long");
  expect(said(serverFrame(11, ""))).toBe("a frame of an unknown kind");
  expect(parseWsText("{")).toBeNull();
  expect(parseWsText("[".repeat(600_001))).toBeNull();
  expect(parseWsText("[".repeat(500_000))).toBeNull();
});

test("addresses of nodes: schemes, logins and what is shown of them", () => {
  const parsed = parseNodeUrl("https://user:p%20w@node.example:8545/v3/secret-key?x=1");
  expect(parsed).toMatchObject({ ok: true, value: { transport: "http", name: "node.example:8545", user: "user" } });
  expect(JSON.stringify(parsed)).not.toContain("p%20w");
  expect(parsed.ok && parsed.value.password.reveal()).toBe("p w");
  expect(parseNodeUrl("wss://node.example")).toMatchObject({ ok: true, value: { transport: "ws", name: "node.example", user: "" } });
  expect(parseNodeUrl("ftp://node.example")).toEqual(err({ kind: "BadNodeUrl", reason: "scheme" }));
  expect(parseNodeUrl("node.example")).toEqual(err({ kind: "BadNodeUrl", reason: "not_a_url" }));
  expect(parseNodeUrl(`http://${"a".repeat(2_048)}`)).toEqual(err({ kind: "BadNodeUrl", reason: "not_a_url" }));
  expect(parseNodeUrl("http://%zz@node.example")).toEqual(err({ kind: "BadNodeUrl", reason: "login" }));
  const deps = { clock: new VirtualClock(), rng: seededRng(1), log: new SilentLog() };
  expect(openEvmChain({ ticker: "ETH", chainId: 1n, urls: ["http://a", "gopher://b"] }, deps)).toMatchObject({
    ok: false,
    error: { index: 1 },
  });
});

/** The far end of one connection, played by the test. */
class FarEnd {
  readonly clock = new VirtualClock();
  opened = 0;
  refuses = false;
  handlers: TextSocketHandlers | null = null;
  readonly sent: { readonly id: number; readonly method: string }[] = [];
  answers = true;
  readonly open: OpenTextSocket = async (handlers) => {
    if (this.refuses) return err({ why: "nobody there" });
    this.opened++;
    this.handlers = handlers;
    return ok({
      send: (text) => {
        const parsed: unknown = JSON.parse(text);
        const calls = (Array.isArray(parsed) ? parsed : [parsed]) as { id: number; method: string }[];
        this.sent.push(...calls);
        if (this.answers)
          for (const { id, method } of [...calls].reverse()) handlers.onText(JSON.stringify({ jsonrpc: "2.0", id, result: method }));
        return true;
      },
      close: () => handlers.onClose("closed"),
    });
  };
  readonly backend: EvmBackend = new WsRpc("far", this.open, this.clock);
}

test("answers find their calls, in whatever order they come", async () => {
  const far = new FarEnd();
  const calls = ["a", "b", "c"].map((method) => ({ method, params: [] }));
  expect(await far.backend.rpc.callBatch?.(calls)).toEqual(["a", "b", "c"].map((method) => ok(method)));
  expect(far.opened).toBe(1);
});

test.each<readonly [string, (first: number) => object]>([
  ["in a list", (id) => [{ jsonrpc: "2.0", id, error: { code: -32600, message: "batch too large" } }]],
  ["without an id", () => ({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "batch limit is 20" } })],
])("a node that turns a batch away with one error %s is asked call by call from then on", async (_, refusal) => {
  const clock = new VirtualClock();
  let batches = 0;
  const open: OpenTextSocket = async (handlers) =>
    ok({
      send: (text) => {
        const parsed = JSON.parse(text) as { id: number; method: string } | { id: number }[];
        if (Array.isArray(parsed)) {
          batches++;
          handlers.onText(JSON.stringify(refusal(parsed[0]?.id ?? 0)));
        } else {
          const { id, method } = parsed;
          const answer = method === "b" ? { error: { code: -32601, message: "no b" } } : { result: method };
          handlers.onText(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
        }
        return true;
      },
      close: () => handlers.onClose("closed"),
    });
  const { rpc } = new WsRpc("far", open, clock);
  const calls = ["a", "b", "c"].map((method) => ({ method, params: [] }));
  const answers = [ok("a"), err({ kind: "rpc", code: -32601, message: "no b" }), ok("c")];
  expect(await rpc.callBatch?.(calls)).toEqual(answers);
  expect(await rpc.callBatch?.(calls)).toEqual(answers);
  expect(batches).toBe(1);
  // It may have been starting, or too busy.
  await clock.advance(600_000);
  expect(await rpc.callBatch?.(calls)).toEqual(answers);
  expect(batches).toBe(2);
  expect(await rpc.callBatch?.(calls)).toEqual(answers);
  expect(batches).toBe(2);
});

test("calls whose time was over before there was a connection are not sent over it, and keep no place from others", async () => {
  const far = new FarEnd();
  const late: OpenTextSocket = async (handlers, signal) => {
    await sleep(far.clock, 8_000, signal);
    return far.open(handlers, signal);
  };
  const { rpc } = new WsRpc("far", late, far.clock);
  far.answers = false;
  const calls = Array.from({ length: 100 }, () => ({ method: "a", params: [] }));
  const lost: unknown[] = [];
  for (let i = 0; i < 30; i++) rpc.callBatch?.(calls, { timeoutMs: 5_000 }).then((answers) => lost.push(answers[0]));
  await far.clock.advance(9_000);
  expect(lost).toEqual(Array.from({ length: 30 }, () => err({ kind: "unreachable", message: "no answer within 5 s" })));
  expect([far.opened, far.sent.length]).toEqual([1, 0]);
  far.answers = true;
  expect(await rpc.callBatch?.(calls)).toEqual(calls.map(() => ok("a")));
});

test.each([
  ["in a list", (id: number) => [{ jsonrpc: "2.0", id, error: { code: -32005, message: "rate limit exceeded" } }]],
  ["without an id", () => ({ jsonrpc: "2.0", id: null, error: { code: -32005, message: "rate limit exceeded" } })],
])("a node that has one error %s for a batch because it is asked too often gets batches as before", async (_, refusal) => {
  const seen: boolean[] = [];
  const open: OpenTextSocket = async (handlers) =>
    ok({
      send: (text) => {
        const parsed = JSON.parse(text) as { id: number }[];
        seen.push(Array.isArray(parsed));
        const answers = seen.length > 1 ? parsed.map(({ id }) => ({ jsonrpc: "2.0", id, result: id })) : refusal(parsed[0]?.id ?? 0);
        handlers.onText(JSON.stringify(answers));
        return true;
      },
      close: () => handlers.onClose("closed"),
    });
  const { rpc } = new WsRpc("far", open, new VirtualClock());
  const calls = ["a", "b", "c"].map((method) => ({ method, params: [] }));
  const limited = err({ kind: "rpc", code: -32005, message: "rate limit exceeded" });
  expect(await rpc.callBatch?.(calls)).toEqual([limited, limited, limited]);
  expect((await rpc.callBatch?.(calls))?.every((a) => a.ok)).toBe(true);
  expect(seen).toEqual([true, true]);
});

test("one call of a batch that fails turns no batch away", async () => {
  const clock = new VirtualClock();
  let messages = 0;
  const open: OpenTextSocket = async (handlers) =>
    ok({
      send: (text) => {
        messages++;
        const calls = JSON.parse(text) as { id: number; method: string }[];
        for (const { id, method } of calls) {
          const answer = method === "a" ? { error: { code: -32601, message: "no a" } } : { result: method };
          handlers.onText(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
        }
        return true;
      },
      close: () => handlers.onClose("closed"),
    });
  const { rpc } = new WsRpc("far", open, clock);
  const calls = ["a", "b"].map((method) => ({ method, params: [] }));
  expect(await rpc.callBatch?.(calls)).toEqual([err({ kind: "rpc", code: -32601, message: "no a" }), ok("b")]);
  expect(messages).toBe(1);
});

test("heads are told of once each, also over a connection made anew; nothing is asked when nobody listens", async () => {
  const far = new FarEnd();
  let heads = 0;
  const stop = far.backend.onHead?.(() => heads++);
  await far.clock.advance(0);
  expect(far.sent.map(({ method }) => method)).toEqual(["eth_subscribe"]);
  const head = JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: {} });
  far.handlers?.onText(head);
  expect(heads).toBe(1);
  far.handlers?.onClose("gone");
  await far.clock.advance(1_500);
  expect([far.opened, far.sent.length]).toEqual([2, 2]);
  far.handlers?.onText(head);
  expect(heads).toBe(2);
  stop?.();
  far.handlers?.onClose("gone");
  await far.clock.advance(100_000);
  expect(far.opened).toBe(2);
});

test("a connection that cannot be made is tried again, ever less often", async () => {
  const far = new FarEnd();
  far.refuses = true;
  far.backend.onHead?.(() => undefined);
  await far.clock.advance(10_000);
  expect(await far.backend.rpc.call("a", [])).toMatchObject({ ok: false, error: { kind: "unreachable", message: "nobody there" } });
  far.refuses = false;
  await far.clock.advance(60_000);
  expect(far.opened).toBe(1);
  far.backend.close();
  expect(await far.clock.run()).toBe("idle");
});

test("a call without answer ends at its deadline, and the connection is replaced; what waits on a lost one ends at once", async () => {
  const far = new FarEnd();
  far.answers = false;
  const late = far.backend.rpc.call("a", [], { timeoutMs: 2_000 });
  await far.clock.advance(2_001);
  expect(await late).toMatchObject({ ok: false, error: { message: "no answer within 2 s" } });
  const cut = far.backend.rpc.call("b", []);
  await far.clock.advance(1);
  far.handlers?.onClose("gone");
  expect(await cut).toMatchObject({ ok: false, error: { kind: "unreachable", message: "gone" } });
  expect(far.opened).toBe(2);
  const stop = new AbortController();
  const mine = far.backend.rpc.call("c", [], { signal: stop.signal });
  stop.abort();
  await expect(mine).rejects.toThrow("aborted");
});

test("text that is no JSON-RPC ends the connection; answers nobody asked for are dropped", async () => {
  const far = new FarEnd();
  far.answers = false;
  const waiting = far.backend.rpc.call("a", []);
  await far.clock.advance(1);
  for (const odd of ["[]", "[[]]", "1", "null", '{"id":99,"result":1}', '{"id":"1","result":1}', '{"method":"eth_subscription"}'])
    far.handlers?.onText(odd);
  far.handlers?.onText("not json");
  expect(await waiting).toMatchObject({ ok: false, error: { message: "it answered with something that is not JSON-RPC" } });
  const refused = far.backend.rpc.call("a", []);
  await far.clock.advance(1);
  far.handlers?.onText(`{"id":${far.sent.at(-1)?.id},"error":{"code":3,"message":"${"m".repeat(400)}","data":"0x01"}}`);
  expect(await refused).toEqual(err({ kind: "rpc", code: 3, message: "m".repeat(300), data: "0x01" }));
});

test("more calls than may wait are turned away", async () => {
  const far = new FarEnd();
  far.answers = false;
  const calls = Array.from({ length: 2_000 }, () => ({ method: "a", params: [] }));
  const first = far.backend.rpc.callBatch?.(calls);
  await far.clock.advance(1);
  expect(await far.backend.rpc.call("a", [])).toMatchObject({ ok: false, error: { kind: "busy" } });
  far.backend.close();
  expect((await first)?.every((a) => !a.ok)).toBe(true);
});

describe("over real sockets", () => {
  const closing: (() => Promise<unknown> | unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  /** A server that upgrades and then does what a test says with the connection. */
  async function serve(behave: (socket: Duplex, request: IncomingMessage) => void): Promise<string> {
    const server: Server = createServer((_request, response) => response.writeHead(404).end());
    const sockets = new Set<Duplex>();
    server.on("upgrade", (request, socket) => {
      sockets.add(socket);
      behave(socket, request);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const welcome = (socket: Duplex, request: IncomingMessage): void => {
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
  };
  function client(url: string): EvmBackend {
    const node = parseNodeUrl(url);
    if (!node.ok) expect.fail(url);
    const backend = new WsRpc(node.value.name, webSocketOpener(node.value, seededRng(1), 10_000), createSystemClock());
    closing.push(() => backend.close());
    return backend;
  }
  const message = async (url: string): Promise<string> => {
    const answer = await client(url).rpc.call("a", [], { timeoutMs: 3_000 });
    return answer.ok ? "answered" : answer.error.message;
  };

  test("a server that is none, accepts wrongly, sends a huge message or hangs up is an unreachable node", async () => {
    const wrong = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
    expect(await message(await serve((socket) => void socket.write(wrong)))).toBe("its answer to the WebSocket request is wrong");
    expect(await message(await serve((socket) => void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")))).toContain("403");
    const huge = await serve((socket, request) => {
      welcome(socket, request);
      socket.on("error", () => undefined);
      socket.write(serverFrame(1, "x".repeat(10_001)));
    });
    expect(await message(huge)).toMatch(/larger than 10000 bytes|lost/);
    const gone = await serve((socket, request) => {
      welcome(socket, request);
      socket.on("data", () => socket.destroy());
    });
    expect(await message(gone)).toMatch(/closed the connection|ECONNRESET/);
    expect(await message("ws://127.0.0.1:1")).toBe("ECONNREFUSED");
  });

  test("a ping is answered with its own words", async () => {
    const heard = new Promise<number>((resolve) => {
      void serve((socket, request) => {
        welcome(socket, request);
        socket.write(serverFrame(9, "hello"));
        socket.on("error", () => undefined);
        socket.on("data", (data: Buffer) => {
          if ((data[0] ?? 0) === 0x8a) resolve(data[1] ?? 0);
        });
      }).then((url) => client(url).rpc.call("a", [], { timeoutMs: 500 }));
    });
    expect(await heard).toBe(0x80 | 5);
  });

  test.skipIf(noAnvil).each([
    ["over ws alone", ["wsUrl"]],
    ["over HTTP and ws as one node", ["wsUrl", "url"]],
  ] as const)(`anvil is followed %s, and tells of its heads${noAnvilReason}`, async (_, named) => {
    const anvil = await startAnvil();
    closing.push(() => anvil.stop());
    const options = { pollMs: 3_600_000, leastMs: 1 };
    const deps = { clock: createSystemClock(), rng: seededRng(1), log: new SilentLog() };
    const opened = openEvmChain({ ticker: "ETH", chainId: CHAIN_ID, urls: named.map((name) => anvil[name]), options }, deps);
    const chain = opened.ok ? opened.value : expect.fail(opened.error.reason);
    closing.unshift(() => chain.close());
    await chain.refresh();
    expect(chain.status().nodes).toHaveLength(1);
    const before = chain.status().tip?.height ?? expect.fail("no tip");
    const heard = new Promise<void>((resolve) => chain.onChange(() => (chain.status().tip?.height === before + 1 ? resolve() : undefined)));
    await anvil.call("anvil_mine", ["0x1"]);
    await heard;
  });
});
