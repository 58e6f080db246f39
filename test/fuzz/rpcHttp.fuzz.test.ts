import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openHttpServer } from "../../src/adapters/httpServer/openHttpServer.ts";
import type { HttpHandler } from "../../src/ports/http.ts";
import { DISPATCH_ERRORS } from "../../src/rpc/dispatchErrors.ts";
import { createRpcHandler } from "../../src/rpc/rpcHandler.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { RUNS, SEED, source, usedBytes } from "./support/fuzz.ts";
import { type HttpAnswer, httpClient, sendRaw } from "./support/rawHttp.ts";
import { type HttpRequest, rpcRequests } from "./support/rpcRequests.ts";

/** Requests a fake node gets before a fresh one takes its place, so that orders and wrong passwords do not pile up. */
const PER_NODE = 250;
/** Requests under way at a time. */
const CONNECTIONS = 8;
/** Beside the handler: one fake node, the connections, and what the client keeps of them. */
const SLACK_BYTES = 24_000_000;

/** What the documents state: 200, a refused body or batch, a refused caller, a fault of the method. */
const STATUSES: ReadonlySet<number> = new Set([
  ...[200, 403, 408, 413, 431, 500, 503],
  ...Object.values(DISPATCH_ERRORS).map((e) => e.http),
  ...METHODS.flatMap((m) => Object.values(m.errors).flatMap((e) => [e.http, e.flatHttp ?? 500])),
]);
/** The fake node's own key as `show_priv_key` shows it to those who ask. */
const KEY = "Up1YVLk7uuErCHVQyFCtfinZngmdwfyfc47WCQ8oJxgowjVzNeqs";
const FOLDER = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const FORBIDDEN = [PASSWORD, FOLDER, "node_modules", "node:internal", "file://", "a private key", '"secret":"11'];
/** Home folders as short as `/root` would be found in what was sent; longer ones are looked for. */
const SECRETS = homedir().length > 8 ? [...FORBIDDEN, homedir()] : FORBIDDEN;
const STACK = /\n\s*at |\\n\s*at |\.[cm]?[jt]s:\d+:\d+/;

const BROKEN_HTTP = [
  "GET\r\n\r\n",
  "POST / HTTP/9.9\r\n\r\n",
  "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n{}",
  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
  "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
  `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"y".repeat(40_000)}\r\n\r\n`,
];

function leakIn(text: string, allowed = ""): string | undefined {
  const found = SECRETS.find((secret) => text.includes(secret)) ?? (STACK.test(text) ? "a stack trace" : undefined);
  return found ?? (text.includes(KEY) && !allowed.includes("show_priv_key") ? "the private key" : undefined);
}

const sentText = ({ body }: HttpRequest): string => new TextDecoder().decode(typeof body === "string" ? Buffer.from(body) : body);

function fault({ status, headers, text }: HttpAnswer, request: HttpRequest): string | undefined {
  if (!STATUSES.has(status)) return `status ${status} is not documented`;
  const leak = leakIn(text, sentText(request)) ?? leakIn(headers);
  if (leak !== undefined) return `the reply shows ${leak}`;
  if (request.verb === "HEAD" || (request.verb === "OPTIONS" && text === "")) return undefined;
  if (text === "Event streaming is disabled") return undefined;
  try {
    const reply: unknown = JSON.parse(text);
    const isError = typeof reply === "object" && reply !== null && "error" in reply;
    return status === 200 || isError ? undefined : `status ${status} without an error`;
  } catch {
    return "the reply is no JSON";
  }
}

test(`${RUNS} requests from the schemas over HTTP get documented answers that show no secret (FUZZ_SEED=${SEED})`, {
  timeout: 120_000 + RUNS * 5,
}, async () => {
  const log = new SilentLog();
  let handler: HttpHandler = async () => ({ status: 500, body: '{"error":"no node yet"}' });
  const newNode = async (): Promise<void> => {
    const node = await fakeNode({ busy: true });
    handler = createRpcHandler(fakeDispatcher(node, { log }));
  };
  const checkLog = (context: string): void => {
    const lines = log.lines.splice(0);
    expect(
      lines.filter(({ level }) => level === "error"),
      context,
    ).toEqual([]);
    for (const line of lines) expect(leakIn(JSON.stringify(line)), context).toBeUndefined();
  };
  const { clock } = (await fakeNode()).ctx;
  const server = await openHttpServer((request) => handler(request), { port: 0 }, { log, clock });
  const client = httpClient(server.port, CONNECTIONS);
  const pick = source(SEED);
  const next = rpcRequests(pick, PASSWORD);
  const warmUp = Math.min(Math.floor(RUNS / 4), 20_000);
  let before = 0;
  const seen = new Map<number, number>();
  try {
    for (let run = 0; run < RUNS; run += CONNECTIONS) {
      const context = `from run ${run}, seed ${SEED}`;
      if (run % PER_NODE < CONNECTIONS) {
        checkLog(context);
        await newNode();
      }
      if (run % 1_000 < CONNECTIONS) {
        const text = await sendRaw(server.port, BROKEN_HTTP[pick(BROKEN_HTTP.length)] ?? "");
        expect(text, context).toMatch(/^HTTP\/1\.1 (400|403|413|431) /);
        expect(leakIn(text), context).toBeUndefined();
      }
      if (before === 0 && run >= warmUp) before = usedBytes();
      const requests = Array.from({ length: Math.min(CONNECTIONS, RUNS - run) }, next);
      await Promise.all(
        requests.map(async (request) => {
          const wrong = await client.send(request).then(
            (answer) => {
              seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
              return fault(answer, request);
            },
            (cause: unknown) => `no answer: ${String(cause)}`,
          );
          if (wrong !== undefined)
            expect.fail(`${wrong}; ${context}: ${JSON.stringify({ ...request, body: sentText(request).slice(0, 1_000) }).slice(0, 2_000)}`);
        }),
      );
    }
    checkLog("at the end");
    // Of no use if all were turned away at the door.
    expect(seen.get(200) ?? 0, "answers with 200").toBeGreaterThan(RUNS / 4);
    for (const status of [400, 403, 404, 500]) expect(seen.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(0);
    const grown = usedBytes() - before;
    expect(grown, `${RUNS - warmUp} requests left ${grown} bytes in memory`).toBeLessThan(SLACK_BYTES);
  } finally {
    client.close();
    await server.close();
  }
});
