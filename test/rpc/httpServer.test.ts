import { EventEmitter, once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { openHttpServer } from "../../src/adapters/httpServer/openHttpServer.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import type { HttpHandler, HttpServer } from "../../src/ports/http.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";
import { SilentLog } from "../fakes/silentLog.ts";

const open: HttpServer[] = [];
afterEach(async () => {
  for (const socket of standings.splice(0)) socket.destroy();
  for (const server of open.splice(0)) await server.close();
});
async function rpc(...[http, options]: [Parameters<typeof serveRpc>[1]?, Parameters<typeof serveRpc>[2]?]): Promise<HttpServer> {
  const server = await serveRpc(await fakeNode(), http, options);
  open.push(server);
  return server;
}
async function plain(handler: HttpHandler, limits: object = {}): Promise<HttpServer> {
  const server = await openHttpServer(handler, { port: 0, limits }, { log: new SilentLog(), clock: createSystemClock() });
  open.push(server);
  return server;
}

/** Bytes over a raw socket until the server closes it. */
function raw(server: HttpServer, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = "";
    const socket = connect(server.port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => {
      got += chunk.toString("utf8");
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(got));
    socket.on("error", reject);
  });
}
type Standing = { readonly socket: Socket; readonly got: () => string; readonly isClosed: () => boolean; readonly closed: Promise<void> };

/** A client that has sent what it will, and stays: from an address of its own. Comes back when the server has accepted it. */
async function standing(server: HttpServer, begun: string, localAddress = "127.0.0.1"): Promise<Standing> {
  const socket = connect({ port: server.port, host: "127.0.0.1", localAddress });
  let got = "";
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => {
    got += chunk.toString("utf8");
  });
  const closed = new Promise<void>((resolve) =>
    socket
      .on("error", () => undefined)
      .once("close", () => {
        isClosed = true;
        resolve();
      }),
  );
  await new Promise((resolve) => socket.once("connect", resolve));
  await new Promise<void>((resolve) => socket.write(begun, () => resolve()));
  standings.push(socket);
  return { socket, got: () => got, isClosed: () => isClosed, closed };
}
const standings: Socket[] = [];
const request = (host: string | null, extra = "", body = '{"method":"version"}'): string =>
  `POST / HTTP/1.1\r\n${host === null ? "" : `Host: ${host}\r\n`}Connection: close\r\n${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const statusOf = (reply: string): number => Number(reply.split(" ")[1]);
const bodyOf = (reply: string): { error?: string; result?: string } => JSON.parse(reply.slice(reply.indexOf("\r\n\r\n") + 4));

const wrongPassword = JSON.stringify({ userpass: "wrong", method: "my_balance", coin: "DOC" });

describe("who may call", () => {
  test.each(["localhost", "LOCALHOST:7783", "127.0.0.1", "127.0.0.1:1", "[::1]:7783"])("a request for %s is answered", async (host) => {
    const reply = await raw(await rpc(), request(host));
    expect(statusOf(reply)).toBe(200);
  });

  test.each(["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7783", "10.0.0.1", "user@localhost", "", null])(
    "a request for %s is refused before anything of it is read",
    async (host) => {
      const server = await rpc();
      const reply = await raw(server, request(host, "", wrongPassword));
      expect(statusOf(reply)).toBe(403);
      expect(bodyOf(reply).error).toMatch(/Host header/);
      expect(reply).not.toContain("evil");
      // Had it reached authentication, this one would be the second wrong password.
      expect((await send(server, wrongPassword)).text).toMatch(/attempts left: 9/);
    },
  );

  test("a configured name is a name of this node; on all addresses every number is", async () => {
    const named = await rpc({ altNames: ["node.lan"] });
    expect(statusOf(await raw(named, request("NODE.lan:7783")))).toBe(200);
    const everywhere = await rpc({ ip: "0.0.0.0" });
    expect(statusOf(await raw(everywhere, request("192.168.1.5:7783")))).toBe(200);
    expect(statusOf(await raw(everywhere, request("evil.example")))).toBe(403);
  });

  test.each(["http://evil.example", "null", "https://localhost:3000", "http://localhost:3000.evil.example", "http://127.0.0.1:7783"])(
    "a web page of %s is refused before authentication",
    async (origin) => {
      const server = await rpc();
      const { status, text } = await send(server, wrongPassword, { headers: { origin } });
      expect(status).toBe(403);
      expect(JSON.parse(text).error).toMatch(/rpccors/);
      expect((await send(server, wrongPassword)).text).toMatch(/attempts left: 9/);
    },
  );

  test("the configured origin is let in, and named in every reply", async () => {
    const origin = "https://wallet.example";
    const server = await rpc({ corsOrigin: origin });
    const answered = await send(server, '{"method":"version"}', { headers: { origin } });
    expect(answered.status).toBe(200);
    const refused = await send(server, "{}", { headers: { origin: "http://localhost:3000" } });
    expect(refused.status).toBe(403);
    for (const { headers } of [answered, refused]) {
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("content-type")).toBe("application/json");
    }
  });

  test("a preflight is answered as by KDF, but not to a foreign name", async () => {
    const server = await rpc();
    const { status, text, headers } = await send(server, "", { method: "OPTIONS", path: "/any" });
    expect({ status, text }).toEqual({ status: 200, text: "" });
    expect(headers.get("access-control-allow-methods")).toBe("POST, OPTIONS");
    expect(headers.get("access-control-allow-headers")).toBe("Content-Type");
    expect(headers.get("access-control-max-age")).toBe("3600");
    expect(statusOf(await raw(server, "OPTIONS / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"))).toBe(403);
  });

  test("it listens on loopback unless told otherwise", async () => {
    expect((await rpc()).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });
});

describe("how much", () => {
  test("a body announced too large is refused unread, one that grows too large is cut off", async () => {
    const server = await plain(async () => ({ status: 200, body: "{}" }), { bodyBytes: 100 });
    const announced = await raw(server, `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 101\r\n\r\n`);
    expect(statusOf(announced)).toBe(413);
    expect(bodyOf(announced).error).toMatch(/larger than 100 bytes/);
    const chunk = `32\r\n${"x".repeat(50)}\r\n`;
    const growing = await raw(server, `POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`);
    expect(statusOf(growing)).toBe(413);
    expect((await send(server, "x".repeat(100))).status).toBe(200);
  });

  test("all bodies together have a bound", async () => {
    const server = await plain(async () => ({ status: 200, body: "{}" }), { bodyBytes: 1_000, totalBodyBytes: 500 });
    expect((await send(server, "x".repeat(501))).status).toBe(503);
    expect((await send(server, "x".repeat(500))).status).toBe(200);
  });

  test("headers have a bound, and what is no HTTP is told so", async () => {
    const server = await plain(async () => ({ status: 200, body: "{}" }), { headerBytes: 1_024 });
    expect(statusOf(await raw(server, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"y".repeat(2_000)}\r\n\r\n`))).toBe(431);
    expect(statusOf(await raw(server, "this is not HTTP\r\n\r\n"))).toBe(400);
  });

  test("connections that only stand there, or whose request never becomes whole, keep nobody out", async () => {
    const server = await plain(async () => ({ status: 200, body: "{}" }), { connections: 4 });
    const idle = [];
    for (const begun of ["", "", "POST / HTTP/1.1\r\nHost: loc", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab"])
      idle.push(await standing(server, begun));
    for (const { closed } of idle) {
      expect(statusOf(await raw(server, request("localhost")))).toBe(200);
      // Its client has gone: what else stands takes its place.
      await standing(server, "");
      await closed;
    }
  });

  test("of a full house the address that holds most gives up the connection that waited longest", async () => {
    const server = await plain(async () => ({ status: 200, body: "{}" }), { connections: 4 });
    const mine = await standing(server, "", "127.0.0.1");
    const theirs = [];
    for (let n = 0; n < 5; n++) theirs.push(await standing(server, "", "127.0.0.2"));
    await Promise.all([theirs[0]?.closed, theirs[1]?.closed]);
    expect([mine, ...theirs].map(({ isClosed }) => isClosed())).toEqual([false, true, true, false, false, false]);
    mine.socket.write(request("localhost"));
    await mine.closed;
    expect(statusOf(mine.got())).toBe(200);
  });

  test("a connection on which an answer is owed is never given up: one more than that is dropped", async () => {
    const events = new EventEmitter();
    let calls = 0;
    const handler: HttpHandler = async () => {
      events.emit(`call ${++calls}`);
      await once(events, "answer");
      return { status: 200, body: "{}" };
    };
    const server = await plain(handler, { connections: 2 });
    const asked = once(events, "call 2");
    const owed = [await standing(server, request("localhost")), await standing(server, request("localhost"))];
    await asked;
    expect(await raw(server, request("localhost")).catch(() => "")).toBe("");
    expect(calls).toBe(2);
    events.emit("answer");
    await Promise.all(owed.map(({ closed }) => closed));
    expect(owed.map(({ got }) => statusOf(got()))).toEqual([200, 200]);
  });

  test("one who sends slowly is cut off, in the headers and in the body", async () => {
    const limits = { headersTimeoutMs: 80, requestTimeoutMs: 80, checkIntervalMs: 20 };
    const server = await plain(async () => ({ status: 200, body: "{}" }), limits);
    expect(statusOf(await raw(server, "POST / HTTP/1.1\r\nHost: loc"))).toBe(408);
    expect([408, Number.NaN]).toContain(statusOf(await raw(server, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab")));
    expect((await send(server, "{}")).status).toBe(200);
  });

  test("one who was told to be too slow does not keep the connection by not closing it", async () => {
    const limits = { headersTimeoutMs: 80, requestTimeoutMs: 80, checkIntervalMs: 20, lingerMs: 20 };
    const server = await plain(async () => ({ status: 200, body: "{}" }), limits);
    const kept = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true }, () =>
      kept.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nab"),
    );
    const got: Buffer[] = [];
    kept.on("data", (chunk: Buffer) => got.push(chunk)).on("error", () => undefined);
    await new Promise((resolve) => kept.once("end", resolve));
    expect(statusOf(Buffer.concat(got).toString())).toBe(408);
    // A server that let go answers the next bytes by breaking the connection.
    const closed = new Promise((resolve) => kept.once("close", resolve));
    const more = setInterval(() => kept.write("c"), 5);
    await closed;
    clearInterval(more);
  });

  test("deep nesting is refused with a sentence", async () => {
    const { status, text } = await send(await rpc(), "[".repeat(100_000));
    expect(status).toBe(500);
    expect(JSON.parse(text).error).toBe("recursion limit exceeded at line 1 column 128");
  });
});

describe("requests behind one another", () => {
  test("are answered in their order", async () => {
    const server = await plain(async ({ body }) => ({ status: 200, body: `"${new TextDecoder().decode(body)}"` }));
    const [one, two] = ["one", "two"].map((body) => request("localhost", "", body).replace("Connection: close\r\n", ""));
    const reply = await raw(server, `${one}${two}${request("localhost", "", "three")}`);
    expect(reply.match(/"(one|two|three)"/g)).toEqual(['"one"', '"two"', '"three"']);
  });

  test("what is no HTTP behind a request does not take the place of its answer", async () => {
    let finish: () => void = () => undefined;
    const server = await plain(async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return { status: 200, body: '"done"' };
    });
    const reply = raw(server, `${request("localhost").replace("Connection: close\r\n", "")}this is not HTTP\r\n\r\n`);
    const probe = connect(server.port, "127.0.0.1", () => probe.write("nor is this\r\n\r\n"));
    await new Promise((resolve) => probe.resume().once("close", resolve));
    finish();
    const text = await reply;
    expect(statusOf(text)).toBe(200);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("behind a refused one nothing is done", async () => {
    let calls = 0;
    const server = await plain(async () => ({ status: 200, body: String(++calls) }), { bodyBytes: 30 });
    const refused = [
      request("evil.example").replace("Connection: close\r\n", ""),
      request("localhost", "", "x".repeat(31)).replace("Connection: close\r\n", ""),
      `POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n${"x".repeat(32)}\r\n0\r\n\r\n`,
      "POST /event-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    ];
    for (const first of refused) {
      const reply = await raw(server, `${first}${request("localhost")}`);
      expect(statusOf(reply)).toBeGreaterThanOrEqual(403);
      expect(reply.match(/HTTP\/1\.1/g), first).toHaveLength(1);
    }
    expect(calls).toBe(0);
  });

  test("an expectation this server does not know is no reason to answer otherwise", async () => {
    expect(statusOf(await raw(await rpc(), request("localhost", "Expect: banana\r\n")))).toBe(200);
  });
});

describe("coming and going", () => {
  test("a client that hangs up does not stop its request", async () => {
    let finish: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let done = false;
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await plain(async () => {
      finish();
      await gate;
      done = true;
      return { status: 200, body: "{}" };
    });
    const socket = connect(server.port, "127.0.0.1", () => socket.write(request("localhost").replace("Connection: close\r\n", "")));
    await begun;
    socket.destroy();
    await new Promise((resolve) => socket.once("close", resolve));
    release();
    await server.close();
    expect(done).toBe(true);
  });

  test("a stop lets the running request finish and takes no new one", async () => {
    let release: () => void = () => undefined;
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const server = await plain(async () => {
      begun();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { status: 200, body: '"late"' };
    });
    const running = send(server, "{}");
    await started;
    const closing = server.close();
    await expect(send(server, "{}")).rejects.toThrow();
    release();
    expect((await running).text).toBe('"late"');
    await closing;
  });

  test("a stop ends a connection with what is owed on it, whether the client would have kept it or not", async () => {
    const release: (() => void)[] = [];
    const server = await plain(
      async ({ body }) => {
        await new Promise<void>((resolve) => release.push(resolve));
        return { status: 200, body: `"${new TextDecoder().decode(body)}"` };
      },
      { closeGraceMs: 60_000 },
    );
    const kept = (body: string): string => request("localhost", "", body).replace("Connection: close\r\n", "");
    const reply = raw(server, kept("one") + kept("two"));
    await expect.poll(() => release.length).toBe(2);
    const closing = server.close();
    for (const go of release) go();
    expect((await reply).match(/"(one|two)"/g)).toEqual(['"one"', '"two"']);
    await closing;
  });

  test("a stop does not wait for ever", async () => {
    const server = await plain(() => new Promise(() => undefined), { closeGraceMs: 20 });
    const running = send(server, "{}").catch(() => "cut");
    await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    expect(await running).toBe("cut");
  });

  test("a port that is taken is an error, not a silent start", async () => {
    const { port } = await rpc();
    await expect(serveRpc(await fakeNode(), { port })).rejects.toThrow(/EADDRINUSE/);
  });

  test("a certificate file that is missing is an error", async () => {
    const tls = { certFile: "/nonexistent/cert.pem", keyFile: "/nonexistent/key.pem" };
    await expect(serveRpc(await fakeNode(), { tls })).rejects.toThrow(/cert\.pem/);
  });
});

test("a body is read up to 1 MiB, and refused above", async () => {
  const server = await rpc();
  const bodyOf = (bytes: number): string => `{"method":"version"}${" ".repeat(bytes - 20)}`;
  expect((await send(server, bodyOf(1_048_576))).status).toBe(200);
  expect((await send(server, bodyOf(1_048_577))).status).toBe(413);
});

test("the stream of events is none: a plain sentence, for any verb, and nothing of the request is read", async () => {
  const server = await rpc();
  for (const path of ["/event-stream", "/event-stream?id=7&filter=x"]) {
    for (const method of ["GET", "POST"]) {
      const { status, text, headers } = await send(server, wrongPassword, { path, method });
      expect([status, text, headers.get("content-type")]).toEqual([500, "Event streaming is disabled", "text/plain"]);
    }
  }
  // No password was looked at, and every other path is the RPC.
  expect((await send(server, wrongPassword, { path: "/event-streams" })).text).toMatch(/attempts left: 9/);
  expect(statusOf(await raw(server, "GET /event-stream HTTP/1.1\r\nHost: evil.example\r\n\r\n"))).toBe(403);
});

test("no reply repeats a password", async () => {
  const server = await rpc();
  const secret = "Hunter2*hunter2";
  const bodies = [
    { userpass: secret, method: "my_balance", coin: "DOC" },
    { userpass: secret, mmrpc: "2.0", method: "get_public_key", params: {}, id: 1 },
    { userpass: PASSWORD, method: "enable", coin: "KMD", rpc_url: "http://127.0.0.1:1", rpc_password: [secret] },
    { userpass: PASSWORD, method: "enable", coin: "KMD", rpc_password: secret },
    { userpass: PASSWORD, method: "buy", base: "DOC" },
    { userpass: PASSWORD, mmrpc: "2.0", method: "nope", params: {}, id: 1 },
  ];
  for (const body of bodies) {
    const { text } = await send(server, JSON.stringify(body));
    expect(JSON.parse(text).error, text).toBeTypeOf("string");
    expect(text).not.toContain(secret);
    expect(text).not.toContain(PASSWORD);
  }
});

test("clients that do not read their answers hold a bounded part of the memory, for a bounded time; small answers go out all the same", async () => {
  const answer = { status: 200, body: JSON.stringify("x".repeat(20_000_000)) };
  const handler: HttpHandler = async ({ body }) => (body.length > 2 ? answer : { status: 200, body: "{}" });
  const server = await plain(handler, { totalReplyBytes: 50_000_000, unreadTimeoutMs: 500 });
  const deaf = [0, 1].map(() => {
    const socket = connect(server.port, "127.0.0.1", () => socket.write(request("localhost")));
    return socket.pause().on("error", () => undefined);
  });
  let reply = "";
  const ask = async (): Promise<number> => {
    reply = await raw(server, request("localhost"));
    return statusOf(reply);
  };
  while ((await ask()) !== 503);
  // The call was carried out before its answer was too large: one that is repeated gives a second order.
  expect(bodyOf(reply).error).toMatch(/answers that wait to be read.*may be done all the same, so look at the state before you repeat it/);
  expect(statusOf(await raw(server, request("localhost", "", "{}")))).toBe(200);
  while ((await ask()) !== 200);
  expect(reply.length).toBeGreaterThan(20_000_000);
  for (const socket of deaf) socket.destroy();
}, 20_000);
