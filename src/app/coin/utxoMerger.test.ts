import { expect, test } from "vitest";
import { type CoinNode, coinNode } from "../../../test/fakes/coinNode.ts";
import { decimal } from "../../core/money/rational.ts";
import { parseTx } from "../../core/utxo/txCodec.ts";

const DOC = { coin: "DOC", pubtype: 60, p2shtype: 85, mm2: 1, txfee: 1_000, derivation_path: "m/44'/141'", protocol: { type: "UTXO" } };
const RULE = { merge_at: 5, check_every: 30, max_merge_at_once: 4 };
const SMALL = 100_000n;

async function merging(params: object = { utxo_merge_params: RULE }, world?: Parameters<typeof coinNode>[5]): Promise<CoinNode> {
  const node = await coinNode([DOC], "merger test", false, null, "spec", world);
  expect((await node.flat("enable", { coin: "DOC", ...params })).status).toBe(200);
  return node;
}

/** Values in and out of what was sent. */
function sent(node: CoinNode): readonly { readonly inputs: number; readonly outputs: readonly bigint[]; readonly isOwn: boolean }[] {
  const coin = node.coin("DOC");
  return (node.chains.get("DOC")?.sent ?? []).map((raw) => {
    const tx = parseTx(raw, coin.spec.kind.template.format);
    if (!tx.ok) throw new Error(tx.error.detail);
    const { inputs, outputs } = tx.value;
    return { inputs: inputs.length, outputs: outputs.map((o) => o.value), isOwn: outputs.every((o) => coin.isOwnScript(o.script)) };
  });
}

test("many outputs are merged into one own one, the smallest first, so many at once, when it is time and not before", async () => {
  const node = await merging();
  node.fund("DOC", 90_000_000n, SMALL, SMALL, SMALL);
  await node.clock.advance(61_000);
  expect(sent(node)).toEqual([]);
  node.fund("DOC", SMALL);
  await node.clock.advance(28_000);
  expect(sent(node)).toEqual([]);
  await node.clock.advance(2_000);
  expect(sent(node)).toMatchObject([{ inputs: 4, isOwn: true }]);
  const [merged = 0n, ...more] = sent(node)[0]?.outputs ?? [];
  expect(more).toEqual([]);
  expect(merged).toBeLessThan(4n * SMALL);
  expect(merged).toBeGreaterThan((4n * SMALL * 49n) / 50n);
  await node.clock.advance(300_000);
  expect(sent(node)).toHaveLength(1);
});

test("without the parameter nothing is merged, nor after the coin was disabled", async () => {
  const plain = await merging({});
  plain.fund("DOC", ...Array.from({ length: 20 }, () => SMALL));
  await plain.clock.advance(300_000);
  expect(sent(plain)).toEqual([]);
  const node = await merging();
  node.fund("DOC", ...Array.from({ length: 20 }, () => SMALL));
  const chain = node.chains.get("DOC");
  await node.flat("disable_coin", { coin: "DOC" });
  await node.clock.advance(300_000);
  expect(chain?.sent).toEqual([]);
});

test("a coin that was disabled and stays for a swap that ended is left as it is, and merged again once it is enabled", async () => {
  const node = await merging(undefined, { isWatched: () => true });
  node.fund("DOC", ...Array.from({ length: 20 }, () => SMALL));
  expect((await node.flat("disable_coin", { coin: "DOC" })).reply).toMatchObject({ result: { passivized: true } });
  await node.clock.advance(300_000);
  expect(sent(node)).toEqual([]);
  expect((await node.flat("enable", { coin: "DOC", utxo_merge_params: RULE })).status).toBe(200);
  node.fund("DOC", ...Array.from({ length: 20 }, () => SMALL));
  await node.clock.advance(31_000);
  expect(sent(node)).toHaveLength(1);
});

test("while funds are promised to a swap nothing is merged, nor while the chain cannot be seen", async () => {
  const node = await merging();
  node.fund("DOC", ...Array.from({ length: 20 }, () => 10n * SMALL));
  const held = node.coin("DOC").reserve([decimal("0.01")], 100_000);
  expect(held.ok).toBe(true);
  await node.clock.advance(95_000);
  expect(sent(node)).toEqual([]);
  const chain = node.chains.get("DOC");
  if (!chain) expect.fail("no chain");
  chain.trouble = "The DOC daemon is away.";
  await node.clock.advance(95_000);
  expect(sent(node)).toEqual([]);
  chain.comeUp();
  await node.clock.advance(31_000);
  expect(sent(node)).toHaveLength(1);
});

test("a wallet of many outputs is not gone through anew for each of them", async () => {
  const node = await merging();
  const chain = node.chains.get("DOC");
  if (!chain) expect.fail("no chain");
  node.fund("DOC", ...Array.from({ length: 400 }, () => SMALL));
  await node.clock.advance(29_000);
  const outputs = chain.outputs.bind(chain);
  let times = 0;
  chain.outputs = (script) => {
    times++;
    return outputs(script);
  };
  await node.clock.advance(2_000);
  expect(sent(node)).toMatchObject([{ inputs: 4, isOwn: true }]);
  expect(times).toBeLessThan(100);
});

test("what would cost more than a fiftieth of it is left alone", async () => {
  const node = await merging();
  node.fund("DOC", ...Array.from({ length: 20 }, () => 7_000n));
  await node.clock.advance(300_000);
  expect(sent(node)).toEqual([]);
});

test("a merge that is refused leaves its outputs free, one of which nothing is known does not", async () => {
  const node = await merging();
  const chain = node.chains.get("DOC");
  if (!chain) expect.fail("no chain");
  const values = Array.from({ length: 5 }, () => SMALL);
  node.fund("DOC", ...values);
  chain.outcome = { kind: "rejected", code: -26, message: "no" };
  await node.clock.advance(30_500);
  expect(node.coin("DOC").ledger.spendable()).toHaveLength(5);
  chain.outcome = { kind: "unknown", message: "no answer" };
  await node.clock.advance(30_000);
  expect(node.coin("DOC").ledger.spendable()).toHaveLength(1);
});

test.each([
  [{ check_every: 10 }, "missing field `merge_at`"],
  [{ merge_at: 1 }, "merge_at must be 2 or more"],
  [{ merge_at: 5, check_every: 0 }, "check_every must be from 1 to 86400"],
  [{ merge_at: 5, max_merge_at_once: 501 }, "max_merge_at_once must be from 2 to 500"],
  [{ merge_at: 5, max_merge_at_once: 1 }, "max_merge_at_once must be from 2 to 500"],
])("utxo_merge_params %j are refused: %s", async (rule, text) => {
  const node = await coinNode([DOC], "merger test");
  const { status, reply } = await node.flat("enable", { coin: "DOC", utxo_merge_params: rule });
  expect(status).not.toBe(200);
  expect(JSON.stringify(reply)).toContain(text);
});

test("with an HD wallet another path_to_address than the first is refused; without one it changes nothing", async () => {
  const servers = [{ url: "127.0.0.1:10001" }];
  const other = { account_id: 0, chain: "External", address_id: 3 };
  const hd = await coinNode([DOC], "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about", true);
  const refused = await hd.flat("electrum", { coin: "DOC", servers, path_to_address: other });
  expect(refused.status).not.toBe(200);
  expect(JSON.stringify(refused.reply)).toContain("path_to_address names another address");
  expect((await hd.flat("electrum", { coin: "DOC", servers, path_to_address: { account_id: 0 } })).status).toBe(200);
  const plain = await coinNode([DOC], "merger test");
  expect((await plain.flat("electrum", { coin: "DOC", servers, path_to_address: other })).status).toBe(200);
});
