import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { coinNode } from "../../../test/fakes/coinNode.ts";
import type { Compatibility } from "../../rpc/ctx.ts";
import { METHODS } from "../../rpc/table.ts";

const shared = process.env.SWAPNODE_SHARED ?? new URL("../../../../shared", import.meta.url).pathname;
const coinsFile = `${shared}/data/coins.json`;

const token = (coin: string, more: object = {}) => ({
  coin,
  mm2: 1,
  txfee: 400_000,
  dust: 72_800,
  protocol: { type: "QRC20", chain_variant: "QTUM", protocol_data: { platform: "QT", contract_address: `0x${"11".repeat(20)}` } },
  ...more,
});
/** Made up: a coin like Qtum, one without dust, tokens with and without decimals. */
const ENTRIES = [
  { coin: "QT", mm2: 1, pubtype: 58, txfee: 400_000, dust: 728_000, protocol: { type: "QTUM", chain_variant: "QTUM" } },
  { coin: "TQT", mm2: 1, pubtype: 120, txfee: 400_000, protocol: { type: "QTUM" } },
  token("NINE", { decimals: 9 }),
  token("PLAIN"),
  token("RAISED", { decimals: 2, min_trading_vol: "0.5" }),
  token("DYNAMIC", { txfee: 0 }),
  token("UNSET", { mm2: undefined }),
  token("ALONE", { protocol: { type: "QRC20" } }),
  { coin: "DOC", mm2: 1, pubtype: 60, p2shtype: 85, txfee: 1_000, protocol: { type: "UTXO" } },
];

const feesNode = (compatibility: Compatibility = "spec", entries: readonly unknown[] = ENTRIES) =>
  coinNode(entries, "fee coins", false, null, compatibility);
type FeesNode = Awaited<ReturnType<typeof feesNode>>;

const enabled = (coin: string) => ({ status: 200, reply: { result: "success", coin, swapnode: { state: "fees_only" } } });

async function figures(node: FeesNode, coin: string): Promise<unknown> {
  const [fee, least] = [await node.flat("get_trade_fee", { coin }), await node.flat("min_trading_vol", { coin })];
  expect([fee.status, least.status], JSON.stringify([fee.reply, least.reply])).toEqual([200, 200]);
  const answer = fee.reply.result as { coin: string; amount: string };
  return [answer.coin, answer.amount, (least.reply.result as { min_trading_vol: string }).min_trading_vol];
}

// Rate 0.004 for 1000 bytes, and 3 or 4 times 100000 x 40 of 10^-8 (interface document, Limits; reference rpc.md 9.3).
test.each([
  ["spec", "0.124"],
  ["kdf", "0.164"],
] as const)("Qtum and its tokens tell their fees from the coins file alone: %s", async (compatibility, ofToken) => {
  const node = await feesNode(compatibility);
  const servers = [{ url: "127.0.0.1:1" }];
  for (const coin of ["QT", "NINE", "RAISED"]) expect(await node.flat("enable", { coin })).toEqual(enabled(coin));
  for (const coin of ["TQT", "PLAIN"]) expect(await node.flat("electrum", { coin, servers })).toEqual(enabled(coin));
  expect(await figures(node, "QT")).toEqual(["QT", "0.004", "0.0728"]);
  // Ten claims at the fixed fee, 496 bytes each, are more than ten times the usual dust.
  expect(await figures(node, "TQT")).toEqual(["TQT", "0.004", "0.01984"]);
  // The fee is in the units of the platform coin, whatever decimals the token has.
  expect(await figures(node, "NINE")).toEqual(["QT", ofToken, "0.000000001"]);
  expect(await figures(node, "RAISED")).toEqual(["QT", ofToken, "0.5"]);
  expect(await figures(node, "PLAIN")).toEqual(["QT", ofToken, "0.00000001"]);
  expect(node.chains.size).toBe(0);
});

test("a token that is not enabled costs what its platform coin says, once that is", async () => {
  const node = await feesNode();
  expect(await node.flat("get_trade_fee", { coin: "PLAIN" })).toMatchObject({ status: 500, reply: { error: "No such coin: PLAIN" } });
  await node.flat("enable", { coin: "QT" });
  expect(await node.flat("get_trade_fee", { coin: "PLAIN" })).toMatchObject({ reply: { result: { coin: "QT", amount: "0.124" } } });
  expect((await node.flat("min_trading_vol", { coin: "PLAIN" })).status).toBe(500);
});

// Transactions of 255, 226 and 496 bytes like Bitcoin's, and of 642, 299 and 396 with calls, at 400000 for 1000 bytes; a call has 0.04 of gas
// (reference swap-protocol.md 5.8, rpc.md 9.4).
test.each([
  ["spec", "0.164152"],
  ["kdf", "0.204152"],
] as const)(
  "trade_preimage adds up what usual transactions of such coins cost, and looks at no balance of them: %s",
  async (rules, giving) => {
    const node = await feesNode(rules);
    await node.enable("DOC");
    for (const coin of ["QT", "NINE"]) await node.flat("enable", { coin });
    const ask = async (base: string, rel: string, swap_method: string, more: object = { volume: "1" }) =>
      node.flat("trade_preimage", { base, rel, swap_method, price: "2", ...more });
    const fee = (coin: string, amount: string, paid_from_trading_vol: boolean) => ({ coin, amount, paid_from_trading_vol });
    const total = (coin: string, amount: string, required_balance: string) => ({ coin, amount, required_balance });
    expect(await ask("NINE", "DOC", "setprice")).toMatchObject({
      status: 200,
      reply: {
        result: {
          base_coin_fee: fee("QT", giving, false),
          rel_coin_fee: fee("DOC", "0.00000496", true),
          total_fees: [total("QT", giving, giving), total("DOC", "0.00000496", "0")],
        },
      },
    });
    expect(await ask("DOC", "QT", "buy")).toMatchObject({
      status: 200,
      reply: {
        result: {
          base_coin_fee: fee("DOC", "0.00000496", true),
          rel_coin_fee: fee("QT", "0.00102", false),
          fee_to_send_taker_fee: fee("QT", "0.000904", false),
        },
      },
    });
    expect(await ask("QT", "NINE", "sell")).toMatchObject({
      status: 200,
      reply: { result: { base_coin_fee: fee("QT", "0.00102", false), rel_coin_fee: fee("QT", "0.041584", false) } },
    });
    expect(await ask("NINE", "QT", "sell")).toMatchObject({
      status: 200,
      reply: { result: { rel_coin_fee: fee("QT", "0.001984", true), fee_to_send_taker_fee: fee("QT", "0.041196", false) } },
    });
  },
);

test("trade_preimage looks at the balance of the coin beside them as ever, and knows no greatest volume of theirs", async () => {
  const node = await feesNode();
  await node.enable("DOC");
  for (const coin of ["QT", "NINE"]) await node.flat("enable", { coin });
  const ask = async (params: object) => node.flat("trade_preimage", { price: "2", swap_method: "setprice", ...params });
  expect((await ask({ base: "DOC", rel: "NINE", volume: "1" })).reply.error).toContain("Not enough DOC for swap");
  expect((await ask({ base: "QT", rel: "DOC", max: true })).reply.error).toContain("no balance of it is known");
  expect((await ask({ base: "QT", rel: "DOC", volume: "0.07" })).reply.error).toContain("less than");
});

test("such a coin is in no list, and whatever else is asked of it is refused with what it is there for", async () => {
  const node = await feesNode();
  await node.enable("DOC");
  for (const coin of ["QT", "NINE"]) await node.flat("enable", { coin });
  expect((await node.flat("get_enabled_coins")).reply.result).toMatchObject([{ ticker: "DOC" }]);
  for (const coin of ["QT", "NINE"]) {
    const why = `${coin} is enabled for questions about fees only (get_trade_fee, min_trading_vol, trade_preimage)`;
    const to = "qXxsj5RtciAby9T7m98AgAATL4zTi4UwDG";
    const asks = [
      ["my_balance", { coin }],
      ["withdraw", { coin, to, amount: "1" }],
      ["send_raw_transaction", { coin, tx_hex: "00" }],
      ["show_priv_key", { coin }],
      ["max_taker_vol", { coin }],
    ] as const;
    for (const [method, params] of asks) {
      const { status, reply } = await node.flat(method, params);
      expect(status, method).not.toBe(200);
      expect(reply.error, method).toContain(why);
    }
    const most = await node.v2("max_maker_vol", { coin });
    expect(most).toMatchObject({ status: 404, reply: { error_type: "NoSuchCoin", error_data: { coin } } });
    expect(most.reply.error).toContain("is enabled for questions about fees only");
  }
});

test("no method but the two answers with success for it", async () => {
  const node = await feesNode();
  await node.flat("enable", { coin: "QT" });
  const answering: string[] = [];
  for (const method of METHODS) {
    const example = method.examples.find((e) => e.error === undefined && e.style === "flat" && "coin" in (e.params ?? {}));
    if (!example || ["enable", "electrum", "disable_coin"].includes(method.name)) continue;
    const { status } = await node.flat(method.name, { ...example.params, coin: "QT" });
    if (status === 200) answering.push(method.name);
  }
  expect(answering.sort()).toEqual(["get_trade_fee", "min_trading_vol"]);
});

test("it is enabled once, disabled, and enabled again", async () => {
  const node = await feesNode();
  await node.flat("enable", { coin: "QT" });
  const again = await node.flat("electrum", { coin: "QT", servers: [] });
  expect(again).toMatchObject({ status: 500, reply: { error: "Coin QT already initialized" } });
  const gone = await node.flat("disable_coin", { coin: "QT" });
  expect(gone.reply).toEqual({ result: { coin: "QT", cancelled_orders: [], passivized: false } });
  expect((await node.flat("disable_coin", { coin: "QT" })).status).toBe(500);
  expect((await node.flat("get_trade_fee", { coin: "QT" })).reply.error).toBe("No such coin: QT");
  expect(await node.flat("enable", { coin: "QT" })).toEqual(enabled("QT"));
});

test("a coin whose entry does not tell its fees is refused, and a UTXO coin is enabled as ever", async () => {
  const node = await feesNode();
  const refusal = async (coin: string) => (await node.flat("enable", { coin })).reply.error;
  expect(await refusal("DYNAMIC")).toContain("its fee rate is not in the coins file (txfee), and no server of it is asked");
  expect(await refusal("ALONE")).toContain("its protocol names no platform coin");
  expect(await refusal("UNSET")).toContain("mm2 param is not set");
  expect(await node.flat("enable", { coin: "UNSET", mm2: 1 })).toEqual(enabled("UNSET"));
  expect(await node.flat("enable", { coin: "DOC" })).toMatchObject({ status: 200, reply: { coin: "DOC", balance: "0" } });
});

const hasShared = existsSync(coinsFile);
test.skipIf(!hasShared)(
  `every Qtum coin and token of the coins file tells its fees${hasShared ? "" : " skipped: no shared data"}`,
  async () => {
    const all: { coin: string; protocol?: { type: string; protocol_data?: { platform: string } } }[] = JSON.parse(
      readFileSync(coinsFile, "utf8"),
    );
    const ours = all.filter(({ protocol }) => protocol?.type === "QTUM" || protocol?.type === "QRC20");
    expect(ours.map(({ protocol }) => protocol?.type).sort()).toEqual([...Array(9).fill("QRC20"), "QTUM", "QTUM"]);
    const node = await feesNode("spec", ours);
    for (const { coin, protocol } of ours) {
      expect(await node.flat("electrum", { coin, servers: [{ url: "127.0.0.1:1" }] })).toEqual(enabled(coin));
      const payer = protocol?.protocol_data?.platform ?? coin;
      const least = payer === coin ? "0.01984" : coin === "INK-QRC20" ? "0.000000001" : "0.00000001";
      expect(await figures(node, coin), coin).toEqual([payer, payer === coin ? "0.004" : "0.124", least]);
    }
    expect(node.chains.size).toBe(0);
  },
);
