import { afterEach, expect, test, vi } from "vitest";
import { decimal } from "../../src/core/money/rational.ts";
import type { HttpServer } from "../../src/ports/http.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { coinNode } from "../fakes/coinNode.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher, send, serveRpc } from "../fakes/rpcServer.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { keyFacts } from "../vectors/keys/keyVectors.ts";

/** The wallet methods beside balance and withdrawal (reference rpc.md 5.4), over real coins where keys and addresses matter. */

const { seedA, hd } = keyFacts;
const RICK = {
  coin: "RICK",
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  mm2: 1,
  segwit: true,
  bech32_hrp: "rck",
  txfee: 1_000,
  derivation_path: "m/44'/141'",
  protocol: { type: "UTXO" },
};
const DEFAULTS = { coin: "PLAIN", mm2: 1, txfee: 1_000, protocol: { type: "UTXO" } };
const BCH = {
  ...{ coin: "BCH", pubtype: 0, p2shtype: 5, wiftype: 128, fork_id: "0x40", mm2: 1, protocol: { type: "UTXO" } },
  address_format: { format: "cashaddress", network: "bitcoincash" },
};

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

test("show_priv_key gives the key of the coin's own address with the coin's own prefix, and nothing is logged of it", async () => {
  const node = await coinNode([RICK, DEFAULTS, BCH], seedA.passphrase);
  const shown = async (coin: string): Promise<unknown> => {
    expect(await node.enable(coin)).toMatchObject({ ok: true });
    return (await node.flat("show_priv_key", { coin })).reply;
  };
  expect(await shown("RICK")).toEqual({ result: { coin: "RICK", priv_key: seedA.wif188 } });
  // The prefix KDF takes where the coins file names none.
  expect(await shown("PLAIN")).toEqual({ result: { coin: "PLAIN", priv_key: seedA.wif188 } });
  const bch = (await shown("BCH")) as { result: { priv_key: string } };
  expect(bch.result.priv_key).toMatch(/^[KL]/);

  const log = new SilentLog();
  server = await serveRpc(await fakeNode(), {}, { log });
  const { text } = await send(server, JSON.stringify({ userpass: PASSWORD, method: "show_priv_key", coin: "DOC" }));
  const key = JSON.parse(text).result.priv_key;
  expect(key).toMatch(/^U/);
  expect(JSON.stringify(log.lines)).not.toContain(key);
});

test("in an HD wallet the key is that of the address shown, not the wallet's", async () => {
  const wallet = await coinNode([RICK], hd.mnemonic, true);
  await wallet.enable("RICK");
  const { priv_key: key } = (await wallet.flat("show_priv_key", { coin: "RICK" })).reply.result as { priv_key: string };
  // That key alone, in a node of its own, has the same address.
  const alone = await coinNode([RICK], key);
  await alone.enable("RICK");
  expect(alone.coin("RICK").address).toBe(wallet.coin("RICK").address);
});

test("show_priv_key needs the password, wherever the call comes from", async () => {
  server = await serveRpc(await fakeNode());
  const { status, text } = await send(server, JSON.stringify({ method: "show_priv_key", coin: "DOC" }));
  expect({ status, text }).toEqual({ status: 500, text: JSON.stringify({ error: "Userpass is not set!" }) });
});

test("convertaddress writes the own address in every form the coin has", async () => {
  const node = await coinNode([RICK, BCH], seedA.passphrase);
  await node.enable("RICK");
  await node.enable("BCH");
  const convert = async (coin: string, from: string, to_address_format: Json): Promise<unknown> =>
    (await node.flat("convertaddress", { coin, from, to_address_format })).reply;
  expect(await convert("RICK", seedA.address60, { format: "segwit" })).toEqual({ result: { address: seedA.segwit.rck } });
  expect(await convert("RICK", seedA.segwit.rck ?? "", { format: "standard" })).toEqual({ result: { address: seedA.address60 } });
  const cash = seedA.cash.bitcoincash ?? "";
  const standard = ((await convert("BCH", cash, { format: "standard" })) as { result: { address: string } }).result.address;
  expect(standard).toMatch(/^1/);
  expect(await convert("BCH", standard, { format: "cashaddress", network: "bitcoincash" })).toEqual({ result: { address: cash } });

  expect(await convert("BCH", cash, { format: "cashaddress", network: "bchtest" })).toEqual({
    error: "cash addresses of BCH begin with bitcoincash:",
  });
  expect(await convert("RICK", seedA.address60, { format: "cashaddress", network: "bitcoincash" })).toEqual({
    error: "RICK has no cash addresses",
  });
  expect(await convert("BCH", cash, { format: "segwit" })).toEqual({ error: "BCH has no segwit addresses" });
});

test("get_locked_amount is what promises hold", async () => {
  const node = await coinNode([RICK], seedA.passphrase);
  await node.enable("RICK");
  node.fund("RICK", 300_000_000n);
  const none = {
    decimal: "0",
    rational: [
      [0, []],
      [1, [1]],
    ],
    fraction: { numer: "0", denom: "1" },
  };
  expect((await node.v2("get_locked_amount", { coin: "RICK" })).reply.result).toEqual({ coin: "RICK", locked_amount: none });
  expect(node.coin("RICK").reserve([decimal("1.5")], 60_000)).toMatchObject({ ok: true });
  const { reply } = await node.v2("get_locked_amount", { coin: "RICK" });
  // The amount and the worst fee of its transaction.
  expect(reply.result).toMatchObject({ locked_amount: { decimal: expect.stringMatching(/^1\.5000\d+$/) } });
});

test("get_raw_transaction shows what the index follows or has stored, by an id in any case", async () => {
  const node = await coinNode([RICK], seedA.passphrase);
  await node.enable("RICK");
  const txid = "ab".repeat(32);
  node.chains.get("RICK")?.followed.set(txid, { txid, raw: Uint8Array.of(4, 0, 0, 0x80), block: null, seenAtMs: 0 });
  const ask = async (tx_hash: string): Promise<unknown> => (await node.v2("get_raw_transaction", { coin: "RICK", tx_hash })).reply;
  expect(await ask(txid)).toMatchObject({ result: { tx_hex: "04000080" } });
  expect(await ask(txid.toUpperCase())).toMatchObject({ result: { tx_hex: "04000080" } });
  const old = { txid: "ef".repeat(32), raw: Uint8Array.of(4, 0, 0, 0x81), block: null, seenAtMs: 0 };
  node.chains.get("RICK")?.stored.set(old.txid, old);
  expect(await ask(old.txid)).toMatchObject({ result: { tx_hex: "04000081" } });
  expect(await ask("cd".repeat(32))).toMatchObject({ error_type: "HashNotExist", error: `Hash does not exist: ${"cd".repeat(32)}` });
  expect(await ask("ab")).toMatchObject({ error_type: "InvalidHashError", error: "Invalid  hash: Invalid input length" });
  expect(await ask(`zz${"ab".repeat(31)}`)).toMatchObject({ error: "Invalid  hash: Invalid character 'z' at position 0" });
});

const v2 = (method: string, params: Json): { readonly [key: string]: Json } => ({ mmrpc: "2.0", method, params, id: 0 });
const convert = (to: Json): { readonly [key: string]: Json } => ({
  ...{ method: "convertaddress", coin: "DOC", from: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", to_address_format: to },
});
const history = (more: { readonly [key: string]: Json }): { readonly [key: string]: Json } => ({
  ...{ method: "my_tx_history", coin: "DOC", ...more },
});

test.each<[{ readonly [key: string]: Json }, string]>([
  [{ method: "show_priv_key" }, "No 'coin' field"],
  [{ method: "show_priv_key", coin: "KMD" }, "No such coin: KMD"],
  [{ method: "convertaddress", from: "x", to_address_format: { format: "standard" } }, "missing field `coin`"],
  [{ method: "convertaddress", coin: "DOC", to_address_format: { format: "standard" } }, "missing field `from`"],
  [{ method: "convertaddress", coin: "DOC", from: "x" }, "missing field `to_address_format`"],
  [{ ...convert({ format: "standard" }), coin: "KMD" }, "No such coin: KMD"],
  [convert("standard"), 'invalid type: string "standard", expected internally tagged enum UtxoAddressFormat'],
  [convert({}), "missing field `format`"],
  [convert({ format: 1 }), "invalid type: integer `1`, expected variant identifier"],
  [convert({ format: "p2sh" }), "unknown variant `p2sh`, expected one of `standard`, `segwit`, `cashaddress`"],
  [convert({ format: "cashaddress" }), "missing field `network`"],
  [convert({ format: "cashaddress", network: 1 }), "invalid type: integer `1`, expected a string"],
  [convert({ format: "segwit" }), "DOC has no segwit addresses"],
  [v2("get_locked_amount", { coin: "KMD" }), "No such coin: KMD"],
  [v2("get_raw_transaction", { coin: "KMD", tx_hash: "" }), "No such coin KMD"],
  [history({ coin: "KMD" }), "No such coin: KMD"],
  [history({ page_number: 0 }), "invalid value: integer `0`, expected a nonzero usize"],
  [history({ limit: null }), "invalid type: null, expected usize"],
  [v2("my_tx_history", { coin: "KMD" }), "KMD"],
  [v2("my_tx_history", { coin: "DOC", paging_options: { Page: 1 } }), "unknown variant `Page`, expected `FromId` or `PageNumber`"],
  [v2("my_tx_history", { coin: "DOC", paging_options: {} }), "invalid type: map, expected map with a single key"],
  [v2("my_tx_history", { coin: "DOC", target: { type: "account_id" } }), "unknown variant `account_id`, expected `iguana`"],
])("%j: %s", async (body, text) => {
  const { body: answer } = await fakeDispatcher(await fakeNode()).answer({ userpass: PASSWORD, ...body }, "127.0.0.1");
  expect(JSON.parse(answer).error).toContain(text);
});

test("my_tx_history tells the last block the node knows, and 0 while its daemon is away", async () => {
  const node = await coinNode([RICK], seedA.passphrase);
  await node.enable("RICK");
  expect((await node.flat("my_tx_history", { coin: "RICK" })).reply.result).toMatchObject({ current_block: 100 });
  const chain = node.chains.get("RICK");
  if (chain) chain.trouble = "away";
  expect((await node.v2("my_tx_history", { coin: "RICK" })).reply.result).toMatchObject({ current_block: 0 });
});

test("my_tx_history says where it cuts what was asked for", async () => {
  const node = await coinNode([RICK], seedA.passphrase);
  await node.enable("RICK");
  const limits: number[] = [];
  vi.spyOn(node.coin("RICK"), "history").mockReturnValue(async (_start, limit) => {
    limits.push(limit);
    return { txs: [], skipped: 0, total: 25_000 };
  });
  const cut = { limit: 10_000, total: 25_000, total_pages: 3 };
  expect((await node.flat("my_tx_history", { coin: "RICK", max: true })).reply.result).toMatchObject(cut);
  expect((await node.flat("my_tx_history", { coin: "RICK", limit: 20_000 })).reply.result).toMatchObject(cut);
  expect((await node.v2("my_tx_history", { coin: "RICK", limit: 20_000 })).reply.result).toMatchObject(cut);
  expect(limits).toEqual([10_000, 10_000, 10_000]);
});

test("my_tx_history is an empty list that says no history is kept, in both styles and for any page", async () => {
  const dispatcher = fakeDispatcher(await fakeNode());
  const ask = async (body: { readonly [key: string]: Json }) =>
    JSON.parse((await dispatcher.answer({ userpass: PASSWORD, ...body }, "127.0.0.1")).body).result;
  const empty = { transactions: [], skipped: 0, total: 0, total_pages: 0, current_block: 100, sync_status: { state: "NotEnabled" } };
  expect(await ask(history({ from_id: "ab", limit: 3 }))).toEqual({ ...empty, limit: 3, from_id: "ab", page_number: null });
  expect(await ask(history({ page_number: 2, max: true }))).toEqual({ ...empty, limit: 0, from_id: null, page_number: 2 });
  const paging_options = { FromId: "ab" };
  expect(await ask(v2("my_tx_history", { coin: "DOC", limit: 3, paging_options }))).toEqual({
    ...{ ...empty, coin: "DOC", target: { type: "iguana" }, limit: 3, paging_options },
  });
});
