import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HttpServer } from "../../src/ports/http.ts";
import type { Compatibility } from "../../src/rpc/ctx.ts";
import { type FakeNodeOptions, fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { RECORDED_ORDER } from "../fakes/rpc/fakeBook.ts";
import { type Answer, send, serveRpc } from "../fakes/rpcServer.ts";

type Vector = {
  readonly name: string;
  readonly verb?: string;
  readonly path?: string;
  readonly request: string;
  readonly status: number;
  readonly reply?: unknown;
  readonly text?: string;
};
type Group =
  | "before activation"
  | "activation"
  | "activation, second node"
  | "after activation"
  | "rate limit"
  | "second node"
  | "second node, order cancelled";

const file = new URL("../vectors/rpc/kdf-replies.json", import.meta.url);
const groups: Readonly<Record<Group, readonly Vector[]>> = JSON.parse(readFileSync(file, "utf8"));

/** Where this node answers another way than the recorded one, and why. `reply` is what it answers. */
type Deviation = {
  readonly reason: string;
  readonly status: number;
  readonly reply: unknown;
  /** With `compatibility: kdf` the recorded reply is given. */
  readonly specOnly?: true;
};

const signFailure = (coin: string): Deviation => ({
  reason: "interface document, sign_message errors: CoinIsNotFound (the recorded node says InternalError)",
  specOnly: true,
  status: 400,
  reply: {
    mmrpc: "2.0",
    error: `Coin is not found: No such coin: ${coin}`,
    error_path: "x",
    error_trace: "x",
    error_type: "CoinIsNotFound",
    error_data: `No such coin: ${coin}`,
    id: 0,
  },
});
const crash = (found: string): Deviation => ({
  reason: "the recorded node crashes and answers in plain text (reference rpc.md 12, rough edges not worth copying)",
  status: 500,
  reply: { error: `a request is a JSON object (or an array of them), found ${found}` },
});

const gauge = (key: string, value: number) => ({ type: "gauge", key, labels: {}, value });
const NO_EVM: Deviation = {
  reason: "the coins file of the imitated node has no ETH; conformance/wallet.ts asks both of a node that has",
  status: 500,
  reply: { error: "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported" },
};

const enabledWithFirstKey = (coin: string): Deviation => ({
  reason: "the imitated node has the key of the first recorded one",
  status: 200,
  reply: {
    ...{ result: "success", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", balance: "200", unspendable_balance: "0", coin },
    ...{ required_confirmations: 1, requires_notarization: false, mature_confirmations: 100 },
  },
});

const DEVIATIONS: Readonly<Record<string, Deviation>> = {
  "20_electrum_DOC_27785": enabledWithFirstKey("DOC"),
  "20_electrum_MARTY_27785": enabledWithFirstKey("MARTY"),
  "15b_electrum_no_servers": {
    reason: "a trace item stands inside the text, and those carry no meaning",
    status: 500,
    reply: { error: "Internal error: min_connected (1) must be <= max_connected (0)" },
  },
  "03c_json_string": crash('string "abc"'),
  "03d_json_number": crash("integer `5`"),
  "06d_batch_bad_item": {
    ...crash("integer `5`"),
    status: 200,
    reply: [crash("integer `5`").reply, { result: "masked", datetime: "masked" }],
  },
  "07_sign_message_inactive": signFailure("DOC"),
  "07b_sign_message_unknown_coin": signFailure("NOSUCH"),
  "13d_get_enabled_coins_v2": {
    reason: "newer versions accept an object here (reference rpc.md 5.1)",
    status: 200,
    reply: { mmrpc: "2.0", result: { coins: [] }, id: 0 },
  },
  "13b_help": {
    reason: "newer versions answer JSON with the address of the documents (reference rpc.md 5.4)",
    status: 200,
    reply: {
      result: "All methods are described in docs/reference/rpc.md and docs/reference/openapi.json of the swapnode repository",
      version: "0.1.0",
    },
  },
  "13k_metrics": {
    reason: "what is measured in another order, also swaps and calls; the size of KDF's book in memory has no match here",
    status: 200,
    reply: {
      metrics: [
        gauge("p2p.received_messages.period_in_secs", 60),
        gauge("p2p.received_messages.count", 0),
        gauge("p2p.relay_mesh.len", 1),
        gauge("orderbook.len", 0),
        gauge("p2p.connected_peers.count", 1),
        gauge("p2p.connected_relays.len", 1),
        gauge("swaps.active.len", 0),
        { ...gauge("rpc.requests.count", 7), type: "counter" },
      ],
    },
  },
  "15e_enable_eth_no_urls": NO_EVM,
  "15f_enable_eth_bad_url": NO_EVM,
};

/** Values that no two nodes share. Keys stay, so key sets are compared. */
const MASKED = new Set(["uuid", "datetime", "created_at", "updated_at", "timestamp", "error_path", "error_trace", "age"]);

/** Trace items in front of a text carry no meaning (reference rpc.md 1.7). */
const finalText = (text: string): string => text.replace(/^([\w.]+:\d+\] |RPC call failed: |Selected method is not allowed: )+/, "");

function comparable(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) {
    const items = value.map((v) => comparable(v));
    // The order of these two lists means nothing (reference rpc.md 4.5, 4.3).
    return key === "total_fees" || key === "cancelled" ? items.map((i) => JSON.stringify(i)).sort() : items;
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([k, v]) => [MASKED.has(k) ? `${k}` : isUuid(k) ? "masked" : k, mask(k, v)] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  return typeof value === "string" ? (isUuid(value) ? "masked" : finalText(value)) : value;
}
function mask(key: string, value: unknown): unknown {
  if (key === "error_path" || key === "error_trace") expect(value, key).toMatch(/./);
  if (key === "result" && typeof value === "string" && /^\d+\.\d+\.\d+/.test(value)) return "masked";
  return MASKED.has(key) ? "masked" : comparable(value, key);
}
const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) && !text.startsWith("00000000-0000-0000");

const CORS = "http://localhost:3000";

function check(vector: Vector, answer: Answer, compatibility: Compatibility): void {
  const listed = DEVIATIONS[vector.name];
  const deviation = compatibility === "kdf" && listed?.specOnly ? undefined : listed;
  expect(answer.headers.get("access-control-allow-origin")).toBe(CORS);
  expect(answer.status, answer.text).toBe(deviation?.status ?? vector.status);
  if (!deviation && vector.reply === undefined) {
    expect(answer.text).toBe(vector.text);
    return;
  }
  const reply: unknown = JSON.parse(answer.text);
  expect(comparable(reply)).toEqual(comparable(deviation?.reply ?? vector.reply));
}

const SITUATIONS: readonly { readonly group: Group; readonly active: readonly string[]; readonly others?: FakeNodeOptions["others"] }[] = [
  { group: "before activation", active: [] },
  { group: "activation", active: [] },
  { group: "activation, second node", active: [] },
  { group: "after activation", active: ["DOC", "MARTY"] },
  { group: "rate limit", active: ["DOC"] },
  { group: "second node", active: [], others: [RECORDED_ORDER] },
  { group: "second node, order cancelled", active: [] },
];
const MODES: readonly Compatibility[] = ["spec", "kdf"];

describe.each(SITUATIONS.flatMap((situation) => MODES.map((compatibility) => ({ ...situation, compatibility }))))(
  "recorded replies, $group, compatibility $compatibility",
  ({ group, active, others = [], compatibility }) => {
    let server: HttpServer;
    beforeAll(async () => {
      const node = await fakeNode({ active, others, compatibility });
      for (const { pubkey } of node.ctx.peers.banned()) node.ctx.peers.unban(pubkey);
      server = await serveRpc(node);
    });
    afterAll(() => server.close());

    test.each(groups[group].map((vector) => ({ name: vector.name, vector })))("$name", async ({ vector }) => {
      const body = vector.request.replaceAll("<RPC_PASSWORD>", PASSWORD);
      check(
        vector,
        await send(server, body, { method: vector.verb ?? "POST", ...(vector.path ? { path: vector.path } : {}) }),
        compatibility,
      );
    });
  },
);

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const recording = join(shared, "reference/kdf-replies.json");
const hasShared = existsSync(recording);

test.skipIf(!hasShared)(`every recorded call is carried over as it is${hasShared ? "" : " skipped: no shared data"}`, () => {
  type Capture = Vector & { readonly reply_text?: string };
  const { captures }: { readonly captures: readonly Capture[] } = JSON.parse(readFileSync(recording, "utf8"));
  const whole = ({ name, verb = "POST", path = "/", request, status, reply, text, reply_text = text }: Capture) => ({
    ...{ name, verb, path, request, status, reply, text: reply_text },
  });
  type Named = { readonly name: string };
  const byName = (a: Named, b: Named): number => (a.name < b.name ? -1 : 1);
  const carried = Object.values(groups).flat().map(whole);
  expect(carried).toHaveLength(146);
  expect(carried.sort(byName)).toEqual(captures.map(whole).sort(byName));
});

test("every deviation names a recorded reply", () => {
  const names = Object.values(groups).flatMap((vectors) => vectors.map((v) => v.name));
  for (const name of Object.keys(DEVIATIONS)) expect(names).toContain(name);
});
