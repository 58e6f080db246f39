import { expect, test } from "vitest";
import { coinNode } from "../../../test/fakes/coinNode.ts";
import { decimal } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { p2pkhScript, p2pkScript, p2wpkhScript } from "../../core/utxo/outputScript.ts";

const SEG = { coin: "SEG", pubtype: 60, p2shtype: 85, mm2: 1, segwit: true, bech32_hrp: "seg", protocol: { type: "UTXO" } };
const HD = { ...SEG, derivation_path: "m/44'/1'" };
const WITNESS = { coin: "SEG-segwit", orderbook_ticker: "SEG", address_format: { format: "segwit" } };

type Node = Awaited<ReturnType<typeof coinNode>>;

/** The forms of own outputs that a coin can spend, where its chain has one of each. */
function spends(node: Node, ticker: string): readonly string[] {
  const { wallet, ledger } = node.coin(ticker);
  const { publicKey } = wallet.key;
  const forms = { p2pkh: p2pkhScript(hash160(publicKey)), p2pk: p2pkScript(publicKey), p2wpkh: p2wpkhScript(hash160(publicKey)) };
  for (const script of Object.values(forms)) node.chains.get(ticker)?.pay(script, 100_000_000n);
  const spendable = new Set(ledger.spendable().map(({ script }) => toHex(script)));
  return Object.entries(forms).flatMap(([form, script]) => (spendable.has(toHex(script)) ? [form] : []));
}

test("an output of the one key that two tickers of a chain share is spent by one of them", async () => {
  const node = await coinNode([SEG, { ...SEG, ...WITNESS }], "wallet test");
  for (const ticker of ["SEG", "SEG-segwit"]) expect((await node.enable(ticker)).ok).toBe(true);
  expect([spends(node, "SEG"), spends(node, "SEG-segwit")]).toEqual([["p2pkh", "p2pk"], ["p2wpkh"]]);
});

test.each([
  ["no other ticker of its chain is known", [SEG], false],
  ["the other ticker has another key", [HD, { ...HD, ...WITNESS, derivation_path: "m/84'/1'" }], true],
  ["the other ticker is of another chain", [SEG, { ...SEG, ...WITNESS, orderbook_ticker: "OTHER" }], false],
  ["the other ticker cannot be enabled", [SEG, { ...SEG, ...WITNESS, bech32_hrp: "SEG" }], false],
])("every plain form that pays to its key is a coin's where %s", async (_why, entries, isHd) => {
  const seed = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
  const node = await coinNode(entries, isHd ? seed : "wallet test", isHd);
  expect((await node.enable("SEG")).ok).toBe(true);
  expect(spends(node, "SEG")).toEqual(["p2pkh", "p2pk", "p2wpkh"]);
});

test("an output of the bare key is spent by somebody, also where two tickers of a chain have the same form as their own", async () => {
  const node = await coinNode([SEG, { ...SEG, coin: "SEG-2", orderbook_ticker: "SEG" }], "wallet test");
  for (const ticker of ["SEG", "SEG-2"]) expect((await node.enable(ticker)).ok).toBe(true);
  for (const ticker of ["SEG", "SEG-2"]) expect(spends(node, ticker)).toContain("p2pk");
});

const COIN = 100_000_000n;
const FAR = 600_000;

/** Two tickers of a chain with one address and two outputs of one coin each. */
async function sharing(): Promise<Node> {
  const node = await coinNode([SEG, { ...SEG, coin: "SEG-2", orderbook_ticker: "SEG" }], "wallet test");
  for (const ticker of ["SEG", "SEG-2"]) {
    expect((await node.enable(ticker)).ok).toBe(true);
    node.fund(ticker, COIN, COIN);
  }
  return node;
}

test("what a swap holds of one ticker is held of another one with the same address, too, until it is let go", async () => {
  const node = await sharing();
  const [one, other] = [node.coin("SEG"), node.coin("SEG-2")];
  const told: string[] = [];
  other.onBalanceChange(() => told.push(other.ticker));
  const held = one.reserve([decimal("1.5")], FAR);
  expect(held.ok).toBe(true);
  expect(told).toEqual(["SEG-2"]);
  expect(other.locked()).toEqual(one.locked());
  expect(other.reserve([decimal("0.6")], FAR)).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance" } });
  expect(other.reserve([decimal("0.3")], FAR).ok).toBe(true);
  expect(one.reserve([decimal("0.3")], FAR).ok).toBe(false);
  const withdrawn = await node.flat("withdraw", { coin: "SEG-2", to: other.address, amount: "0.3" });
  expect(withdrawn.reply.error).toContain("Not enough");
  if (held.ok) one.release(held.value);
  expect(other.reserve([decimal("0.6")], FAR).ok).toBe(true);
});

test("what a transaction of one ticker spends is free for no other one with the same address, nor for one that comes later", async () => {
  const node = await sharing();
  const other = node.coin("SEG-2");
  const sent = await node.flat("withdraw", { coin: "SEG", to: other.address, amount: "1.5", broadcast: true });
  expect(sent.status).toBe(200);
  expect(other.ledger.spendable()).toEqual([]);
  expect(other.ledger.own.unspendable()).toBe(0n);
  expect((await node.coins.disable("SEG-2", false)).ok).toBe(true);
  expect((await node.enable("SEG-2")).ok).toBe(true);
  node.fund("SEG-2", COIN, COIN, COIN);
  expect(node.coin("SEG-2").ledger.spendable().length).toBe(1);
});

test("two tickers of which a request gave one the form of the other hold the outputs of both", async () => {
  const node = await coinNode([SEG, { ...SEG, ...WITNESS }], "wallet test");
  await node.enable("SEG", "segwit");
  await node.enable("SEG-segwit");
  for (const ticker of ["SEG", "SEG-segwit"]) node.fund(ticker, COIN);
  expect(node.coin("SEG-segwit").reserve([decimal("0.6")], FAR).ok).toBe(true);
  expect(node.coin("SEG").reserve([decimal("0.6")], FAR).ok).toBe(false);
});
