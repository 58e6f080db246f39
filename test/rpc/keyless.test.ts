import { afterEach, expect, test } from "vitest";
import type { HttpServer } from "../../src/ports/http.ts";
import { keylessMethods } from "../../src/rpc/keylessMethods.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";

/** The RPC of a node that was started without keys, over HTTP. */

let server: HttpServer | undefined;
afterEach(() => server?.close());

async function serve(): Promise<HttpServer> {
  const node = await fakeNode({ active: [] });
  const ctx = { ...node.ctx, node: { ...node.ctx.node, publicKey: null } };
  server = await serveRpc({ ...node, ctx }, {}, { methods: keylessMethods(METHODS) });
  return server;
}
async function ask(to: HttpServer, body: object): Promise<{ readonly status: number; readonly reply: Record<string, unknown> }> {
  const { status, text } = await send(to, JSON.stringify(body));
  return { status, reply: JSON.parse(text) };
}
const textOf = (name: string): string =>
  `${name} needs the keys of a wallet, and this node was started without any: set passphrase, or wallet_name and wallet_password, in MM2.json and start it again`;

test("what can be asked without keys: the book, the network and the node, and what is running, which is nothing", () => {
  expect(new Set(METHODS.filter((m) => !m.needsKeys).map((m) => m.name))).toEqual(
    new Set([
      ...[
        "orderbook",
        "orderbook_depth",
        "best_orders",
        "version",
        "metrics",
        "help",
        "stop",
        "get_my_peer_id",
        "get_directly_connected_peers",
      ],
      ...["get_gossip_mesh", "get_relay_mesh", "get_gossip_peer_topics", "get_gossip_topic_peers"],
      ...["get_enabled_coins", "active_swaps", "coins_needed_for_kick_start", "get_public_key", "get_public_key_hash"],
    ]),
  );
});

test("every method that needs keys says so in its form, with any parameters, and how to give it some", async () => {
  const to = await serve();
  for (const { name, style, needsKeys, examples } of METHODS) {
    if (!needsKeys) continue;
    const params = [{}, ...examples.map((e) => e.params)];
    for (const given of params) {
      if (style !== "v2")
        expect(await ask(to, { userpass: PASSWORD, method: name, ...given })).toEqual({ status: 500, reply: { error: textOf(name) } });
      if (style !== "flat")
        expect(await ask(to, { userpass: PASSWORD, mmrpc: "2.0", method: name, params: given, id: 3 })).toEqual({
          status: 500,
          reply: { mmrpc: "2.0", error: textOf(name), error_path: name, error_trace: `${name}:1]`, error_type: "NoKeys", id: 3 },
        });
    }
  }
});

test("the password is asked for first", async () => {
  const to = await serve();
  expect((await ask(to, { method: "buy" })).reply).toEqual({ error: "Userpass is not set!" });
  expect((await ask(to, { mmrpc: "2.0", method: "sign_message", params: {} })).reply.error_type).toBe("UserpassIsNotSet");
});

test("the others answer as ever; get_public_key has KDF's own words", async () => {
  const to = await serve();
  const flat = async (method: string, params: object = {}) => (await ask(to, { userpass: PASSWORD, method, ...params })).reply;
  expect(await flat("version")).toHaveProperty("result");
  expect(await flat("orderbook", { base: "DOC", rel: "MARTY" })).toMatchObject({ asks: [], bids: [] });
  expect(await flat("get_enabled_coins")).toEqual({ result: [] });
  expect(await flat("active_swaps")).toEqual({ uuids: [], statuses: null });
  expect(await flat("coins_needed_for_kick_start")).toHaveProperty("result");
  expect(typeof (await flat("get_my_peer_id")).result).toBe("string");
  expect(await flat("get_public_key")).toMatchObject({ error: "public_key not available", error_type: "Internal" });
});
