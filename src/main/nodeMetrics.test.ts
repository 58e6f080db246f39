import { expect, test } from "vitest";
import type { ServerHealth } from "../ports/electrum.ts";
import { nodeCounts, serverCounts } from "./nodeMetrics.ts";

const nodeIn = (state: ServerHealth["state"]): ServerHealth => ({
  ...{ name: state, state, height: 1, latencyMs: null },
  ...{ contradictions: 0, calls: 0, trouble: null },
});

test("the nodes of an account chain are counted once, however many of its coins are enabled; coins on no account chain have none", () => {
  const servers = (["connected", "connected", "lagging", "away", "dropped"] as const).map(nodeIn);
  const account = { accountInfo: () => ({ platform: "ETH", contract: null, publicKey: new Uint8Array(65) }), servers: () => servers };
  const other = { accountInfo: () => null, servers: () => [nodeIn("connected")] };
  expect(nodeCounts([other, account, account])).toEqual([
    { type: "gauge", key: "account.nodes.connected", labels: { coin: "ETH" }, value: 2 },
    { type: "gauge", key: "account.nodes.dropped", labels: { coin: "ETH" }, value: 1 },
  ]);
});

test("of a coin on Electrum servers those that are connected are counted, and those left for a lie; of one on a daemon or an account chain none", () => {
  const servers = (["connected", "away", "dropped", "connected", "idle"] as const).map(nodeIn);
  const of = (family: "utxo" | "account", held: readonly ServerHealth[]) => serverCounts({ ticker: "LTC", family, servers: () => held });
  expect(of("utxo", servers)).toEqual([
    { type: "gauge", key: "electrum.servers.connected", labels: { coin: "LTC" }, value: 2 },
    { type: "gauge", key: "electrum.servers.dropped", labels: { coin: "LTC" }, value: 1 },
  ]);
  expect([of("utxo", []), of("account", servers)]).toEqual([[], []]);
});
