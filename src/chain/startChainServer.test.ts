import { expect, test } from "vitest";
import { TEST_COINS } from "../../test/fakes/chainWorld.ts";
import { pipedClient } from "../../test/fakes/electrumClient.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { type ChainServer, startChainServer } from "./startChainServer.ts";

async function started(electrumPorts: readonly number[] = []): Promise<ChainServer> {
  const server = await startChainServer({
    coin: TEST_COINS.segwit,
    clock: new VirtualClock(),
    rng: seededRng(1),
    port: 0,
    user: "u",
    password: "p:ä",
    blockTimeMs: null,
    initialBlocks: 3,
    electrumPorts,
  });
  if (!server.ok) throw new Error(server.error.detail);
  return server.value;
}

const auth = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

async function post(server: ChainServer, body: string, authorization: string | null = auth("u:p:ä")) {
  const headers = authorization === null ? {} : { authorization };
  const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: "POST", body, headers });
  return { status: response.status, text: await response.text() };
}

test("a call, an error and a batch have the status and the form a daemon gives them", async () => {
  const server = await started();
  try {
    const good = await post(server, '{"jsonrpc":"1.0","id":"a","method":"getblockcount","params":[]}');
    expect([good.status, JSON.parse(good.text)]).toEqual([200, { result: 3, error: null, id: "a" }]);
    const unknown = await post(server, '{"id":1,"method":"nosuch"}');
    expect([unknown.status, JSON.parse(unknown.text)]).toEqual([
      404,
      { result: null, error: { code: -32601, message: "Method not found" }, id: 1 },
    ]);
    const refused = await post(server, '{"id":1,"method":"getblockhash","params":[99]}');
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([500, -8]);
    expect((await post(server, "{")).status).toBe(500);
    expect((await post(server, "5")).status).toBe(400);
    expect((await post(server, '{"method":7}')).status).toBe(400);
    const batch = await post(server, '[{"id":1,"method":"getblockcount"},{"id":2,"method":"nosuch"}]');
    expect([batch.status, JSON.parse(batch.text).map((r: { error: unknown }) => r.error !== null)]).toEqual([200, [false, true]]);
  } finally {
    await server.close();
  }
});

test("without the right user and password nothing is answered", async () => {
  const server = await started();
  try {
    for (const wrong of [null, auth("u:p"), auth("u"), "Bearer x", ""]) {
      expect(await post(server, '{"method":"getblockcount"}', wrong)).toEqual({ status: 401, text: "" });
    }
    const get = await fetch(`http://127.0.0.1:${server.port}/`, { headers: { authorization: auth("u:p:ä") } });
    expect(get.status).toBe(405);
  } finally {
    await server.close();
  }
});

test("a body above the limit is refused and the server goes on", async () => {
  const server = await started();
  try {
    const huge = await post(server, " ".repeat(10_000_001)).catch(() => ({ status: 413 }));
    expect(huge.status).toBe(413);
    expect((await post(server, '{"method":"getblockcount"}')).status).toBe(200);
  } finally {
    await server.close();
  }
});

test("a broken connection and an HTTP 500 are seen as such", async () => {
  const server = await started();
  try {
    await server.daemon.call("chain_fault", [{ kind: "http_500", count: 1 }]);
    expect(await post(server, '{"method":"getblockcount"}')).toMatchObject({ status: 500, text: expect.stringContaining("<html>") });
    await server.daemon.call("chain_fault", [{ kind: "lost_reply", methods: ["getblockcount"] }]);
    await expect(post(server, '{"method":"getblockcount"}')).rejects.toThrow("fetch failed");
    expect((await post(server, '{"method":"getblockcount"}')).status).toBe(200);
  } finally {
    await server.close();
  }
});

test("the address it gives carries the credentials, and a coin it cannot imitate is refused by name", async () => {
  const server = await started();
  expect(server.rpcUrl).toBe(`http://u:p%3A%C3%A4@127.0.0.1:${server.port}`);
  await server.close();
  const refused = await startChainServer({
    coin: { coin: "BCH", fork_id: "0x40" },
    clock: new VirtualClock(),
    rng: seededRng(1),
    port: 0,
    user: "u",
    password: "p",
    blockTimeMs: null,
  });
  expect(refused).toEqual({ ok: false, error: { kind: "BadCoin", detail: "BCH: fork-id signatures are not imitated" } });
});

test("two Electrum servers stand over the chain, and each misbehaves by itself", async () => {
  const server = await started([0, 0]);
  try {
    const fault = (plan: object): Promise<unknown> => server.daemon.call("chain_electrumFault", [plan]);
    const tips = async (): Promise<number[]> => {
      const all = server.electrum.map(async (e) => (await (await pipedClient(e.server)).call("blockchain.headers.subscribe")).height);
      return Promise.all(all);
    };
    expect(new Set([server.port, ...server.electrum.map((e) => e.port)]).size).toBe(3);
    expect(await fault({ kind: "lag", blocks: 2, server: 1 })).toMatchObject({ id: 1, active: [{ kind: "lag", blocks: 2 }] });
    expect(await tips()).toEqual([3, 1]);
    await fault({ kind: "clear", server: 1 });
    expect(await tips()).toEqual([3, 3]);
    await expect(fault({ kind: "lag", blocks: 1, server: 2 })).rejects.toThrow("there is no such Electrum server");
    await expect(fault({ kind: "toString" })).rejects.toThrow(/^kind must be one of stall, slow/);
    await expect(fault({ kind: "garbage" })).rejects.toThrow("text must be a text");
    const ports = server.electrum.map((e) => e.port);
    await expect(started([0, ports[0] ?? 0])).rejects.toThrow("EADDRINUSE");
  } finally {
    await server.close();
  }
});
