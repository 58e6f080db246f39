import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { openEvmChain } from "../../src/main/openEvmChain.ts";
import { SilentLog } from "../fakes/silentLog.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(behave: (response: ServerResponse, request: IncomingMessage) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    behave(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The sentence of the first failed look over one URL. */
async function sentence(url: string, timeoutMs = 10_000): Promise<{ readonly text: string; readonly log: string }> {
  const log = new SilentLog();
  const deps = { clock: createSystemClock(), rng: seededRng(1), log };
  const opened = openEvmChain({ ticker: "ETH", chainId: 1n, urls: [url], options: { timeoutMs } }, deps);
  const chain = opened.ok ? opened.value : expect.fail(opened.error.reason);
  closing.push(() => chain.close());
  await new Promise<void>((resolve) => chain.onChange(() => resolve()));
  return { text: chain.status().error ?? "none", log: JSON.stringify(log.lines) };
}

test("a node over HTTP that is no node is named in one sentence, and its secret path in none", async () => {
  const trouble = async (behave: Parameters<typeof serve>[0], timeoutMs?: number): Promise<string> => {
    const url = await serve(behave);
    const { text, log } = await sentence(`${url.replace("://", "://user:pass-word@")}/v3/secret-key`, timeoutMs);
    for (const seen of [text, log]) expect(seen).not.toMatch(/secret-key|pass-word/);
    return text.replace(/127\.0\.0\.1:\d+/g, "host");
  };
  const all = (what: string): string => `None of the ETH nodes can be used: host: ${what}.`;
  expect(await trouble((r) => r.writeHead(429).end("slow down"))).toBe(all("it limits how often it may be asked"));
  expect(await trouble((r) => r.writeHead(401).end())).toBe(all("wrong rpc user or password"));
  expect(await trouble((r) => void r.socket?.destroy())).toBe(all("it closed the connection"));
  expect(await trouble(() => undefined, 300)).toBe(all("no answer within 0.3 s"));
  expect(await trouble((r) => r.end(`"${"x".repeat(40_000_001)}"`))).toBe(all("its answer is larger than 40000000 bytes"));
  expect(await trouble((r) => r.end("[".repeat(100_000)))).toContain("not JSON-RPC");
  expect(await trouble((r) => r.end(`[${"{},".repeat(1_300_000)}{}]`))).toContain("more than 1200000 values");
  expect((await sentence("http://127.0.0.1:1/secret-key")).text).toBe(
    "None of the ETH nodes can be used: 127.0.0.1:1: nothing listens there.",
  );
});

test("a provider that repeats the key of its address in an error does not bring it into a status or a log", async () => {
  const url = await serve((response, request) => {
    const message = `no access to ${request.url ?? ""} with 0123456789abcdef and pass-word`;
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32_000, message } }));
  });
  const { text, log } = await sentence(`${url.replace("://", "://user:pass-word@")}/v3/fedcba9876543210?apikey=0123456789abcdef`);
  expect(text).toContain("no access to /v3/***?*** with *** and ***");
  for (const seen of [text, log]) expect(seen).not.toMatch(/0123456789abcdef|fedcba9876543210|pass-word/);
});

test("a node that is named twice has one vote; another path at the same host is another node", () => {
  const urls = ["http://127.0.0.1:1/a", "HTTP://127.0.0.1:1/x/../a", "http://user:pw@127.0.0.1:1/a", "http://127.0.0.1:1/b"];
  const opened = openEvmChain(
    { ticker: "ETH", chainId: 1n, urls },
    { clock: createSystemClock(), rng: seededRng(1), log: new SilentLog() },
  );
  const chain = opened.ok ? opened.value : expect.fail(opened.error.reason);
  closing.push(() => chain.close());
  expect(chain.status().nodes.map(({ name }) => name)).toEqual(["127.0.0.1:1", "127.0.0.1:1 (2)"]);
});

test.each([
  [
    ["https://a.example/key", "wss://a.example/key", "https://b.example/key"],
    ["a.example", "b.example"],
  ],
  [
    ["ws://127.0.0.1:1/?k=1", "ws://127.0.0.1:1/?k=2", "http://127.0.0.1:1/?k=2"],
    ["127.0.0.1:1", "127.0.0.1:1 (2)"],
  ],
  [
    ["http://127.0.0.1:1", "ws://127.0.0.1:2"],
    ["127.0.0.1:1", "127.0.0.1:2"],
  ],
])("a node that is named over HTTP and over WebSocket has one vote: %j", (urls, names) => {
  const deps = { clock: createSystemClock(), rng: seededRng(1), log: new SilentLog() };
  const opened = openEvmChain({ ticker: "ETH", chainId: 1n, urls }, deps);
  const chain = opened.ok ? opened.value : expect.fail(opened.error.reason);
  closing.push(() => chain.close());
  expect(chain.status().nodes.map(({ name }) => name)).toEqual(names);
});

test("a login in the URL is sent as one, and none is sent without", async () => {
  const seen: (string | undefined)[] = [];
  const url = await serve((response, request) => {
    seen.push(request.headers.authorization);
    response.end("{}");
  });
  await sentence(url.replace("://", "://user:pw@"));
  await sentence(url);
  expect([seen[0], seen.at(-1)]).toEqual([`Basic ${Buffer.from("user:pw").toString("base64")}`, undefined]);
});
