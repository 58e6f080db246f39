import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { openPrometheus, type PrometheusOptions, type PrometheusServer } from "../../src/adapters/httpServer/openPrometheus.ts";
import { prometheusText } from "../../src/adapters/httpServer/prometheusText.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { openMetrics } from "../../src/main/openMetrics.ts";
import { StartRefused } from "../../src/main/runningNode.ts";
import type { Metric } from "../../src/ports/metrics.ts";
import { SilentLog } from "../fakes/silentLog.ts";

const METRICS: readonly Metric[] = [
  { type: "gauge", key: "orderbook.len", labels: {}, value: 3 },
  { type: "counter", key: "rpc.requests.count", labels: {}, value: 12 },
];
const TEXT = "# TYPE orderbook_len gauge\norderbook_len 3\n# TYPE rpc_requests_count counter\nrpc_requests_count 12\n";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(over: Partial<PrometheusOptions> = {}): Promise<PrometheusServer> {
  const server = await openPrometheus(() => METRICS, { ip: "127.0.0.1", port: 0, credentials: null, altNames: [], ...over });
  closers.push(() => server.close());
  return server;
}

type Answer = { readonly status: number; readonly text: string; readonly asked: string | undefined; readonly type: string | undefined };
const ask = (url: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (part: string) => {
        text += part;
      });
      reply.on("end", () =>
        resolve({ status: reply.statusCode ?? 0, text, asked: reply.headers["www-authenticate"], type: reply.headers["content-type"] }),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });

test("values are served in Prometheus' text format", async () => {
  const { url } = await open();
  expect(await ask(url)).toEqual({ status: 200, text: TEXT, asked: undefined, type: "text/plain; version=0.0.4; charset=utf-8" });
});

test("labels are escaped, and values of one name have one type line", () => {
  const labelled = (coin: string): Metric => ({ type: "gauge", key: "coin.tip-height", labels: { "the coin": coin }, value: 1 });
  expect(prometheusText([labelled('a"b\\c\nd'), labelled("DOC")])).toBe(
    '# TYPE coin_tip_height gauge\ncoin_tip_height{the_coin="a\\"b\\\\c\\nd"} 1\ncoin_tip_height{the_coin="DOC"} 1\n',
  );
});

test("with credentials nobody else is told anything, not even which paths there are", async () => {
  const { url } = await open({ credentials: new Secret("watcher:se:cret") });
  for (const headers of [{}, basic("watcher:se:cres"), basic("watcher"), basic(""), { authorization: "Bearer watcher:se:cret" }]) {
    const answer = await ask(url, headers);
    expect(answer).toMatchObject({ status: 401, asked: 'Basic realm="metrics"' });
    expect(answer.text).not.toMatch(/orderbook|cret/);
  }
  expect((await ask(url.replace("metrics", "elsewhere"))).status).toBe(401);
  expect(await ask(url, basic("watcher:se:cret"))).toMatchObject({ status: 200, text: TEXT });
});

test("other paths, verbs, names of the machine and pages of browsers are refused", async () => {
  const { url } = await open({ altNames: ["node.lan"] });
  expect((await ask(url.replace("metrics", ""))).status).toBe(404);
  expect((await ask(url, {}, "POST")).status).toBe(405);
  expect((await ask(url, { host: "evil.example" })).status).toBe(403);
  expect((await ask(url, { origin: "http://evil.example" })).status).toBe(403);
  expect((await ask(url, { host: "node.lan:9000" })).status).toBe(200);
});

const RPC = { ip: "127.0.0.1", port: 0, localOnly: true, cors: null, altNames: [], tls: null };

test("a port that is taken refuses the start with a sentence", async () => {
  const { url } = await open();
  const metrics = { port: Number(new URL(url).port), credentials: null, logSec: null };
  const opened = openMetrics(() => METRICS, { metrics, rpc: RPC }, { log: new SilentLog(), clock: new VirtualClock(0) });
  await expect(opened).rejects.toThrow(StartRefused);
  await expect(opened).rejects.toThrow(/^prometheusport \d+ cannot be opened on 127\.0\.0\.1: .*EADDRINUSE/);
});

test("the log has all values once in each interval, until the end", async () => {
  const [clock, log] = [new VirtualClock(0), new SilentLog()];
  const metrics = { port: null, credentials: null, logSec: 300 };
  const close = await openMetrics(() => METRICS, { metrics, rpc: RPC }, { log, clock });
  await clock.advance(299_000);
  expect(log.lines).toEqual([]);
  await clock.advance(301_000);
  expect(log.lines.map(({ event, fields }) => [event, fields])).toEqual([
    ["metrics", { "orderbook.len": 3, "rpc.requests.count": 12 }],
    ["metrics", { "orderbook.len": 3, "rpc.requests.count": 12 }],
  ]);
  await close();
  await clock.advance(600_000);
  expect(log.lines).toHaveLength(2);
});
