import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { ok } from "../../src/core/util/result.ts";
import type { Compatibility } from "../../src/rpc/ctx.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { type CoinNode, coinNode } from "../fakes/coinNode.ts";
import { FakeAccountChain } from "../fakes/fakeAccountChain.ts";
import { fakeNode, MATCHING_ORDER, PASSWORD } from "../fakes/fakeNode.ts";
import { ADDRESS, MUTE } from "../fakes/rpc/fakeRpcCoin.ts";
import { FINISHED_SWAP } from "../fakes/rpc/fakeSwaps.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";

/**
 * Every row in which the interface document and KDF disagree (reference rpc.md 11): what is answered under each value of
 * `swapnode.compatibility`, and that docs/compatibility.md says so.
 */

type Ask = (body: { readonly [key: string]: Json }) => Promise<readonly [status: number, reply: Record<string, unknown>]>;

async function node(compatibility: Compatibility): Promise<Ask> {
  const dispatcher = fakeDispatcher(await fakeNode({ active: ["DOC", "MARTY", MUTE], busy: true, compatibility }));
  const eth = await accountNode(compatibility);
  return async (body) => {
    const { method, params } = body;
    if (typeof params === "object" && params !== null && "coin" in params && params.coin === "ETH") {
      const { status, reply } = await eth.v2(String(method), params);
      return [status, reply];
    }
    const { status, body: text } = await dispatcher.answer({ userpass: PASSWORD, ...body }, "127.0.0.1");
    return [status, JSON.parse(text)];
  };
}
const ETH_ADDRESS = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";

/** The same with an enabled coin of an account chain, which the imitated node has not. */
async function accountNode(compatibility: Compatibility): Promise<CoinNode> {
  const entry = { coin: "ETH", mm2: 1, sign_message_prefix: "Ethereum Signed Message:\n" };
  const parts = {
    openChain: async () => ok(new FakeAccountChain()),
    store: createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA])),
  };
  const protocol = { type: "ETH", protocol_data: { chain_id: 1 } };
  const eth = await coinNode([{ ...entry, protocol }], "nobody's words", false, null, compatibility, { parts });
  await eth.flat("enable", { coin: "ETH", urls: ["http://127.0.0.1:8545"], swap_contract_address: ETH_ADDRESS });
  return eth;
}
const v2 = (method: string, params: Json): { readonly [key: string]: Json } => ({ mmrpc: "2.0", method, params, id: 1 });
const pair = { base: "DOC", rel: "MARTY", price: "1", volume: "1" };
const NO_KEY = `${"A".repeat(87)}=`;

type Call = {
  readonly ask: { readonly [key: string]: Json };
  readonly spec: readonly [number, object];
  readonly kdf?: readonly [number, object];
};
/** No call: `none` says why there is nothing to ask. */
type Row = { readonly topic: string } & ({ readonly calls: readonly Call[] } | { readonly none: string });

const error = (error_type: string, error_data: string): object => ({ error_type, error_data });

const ROWS: readonly Row[] = [
  { topic: "Dex fee", none: "a matter of the network profile: src/core/network/dexFee.test.ts" },
  {
    topic: "`setprice` `max` reserve",
    calls: [
      {
        ask: { method: "setprice", ...pair, max: true },
        spec: [200, { result: { max_base_vol: "198.9989" } }],
        kdf: [200, { result: { max_base_vol: "198.9998" } }],
      },
    ],
  },
  {
    topic: "`min_trading_vol`",
    calls: [{ ask: { method: "min_trading_vol", coin: "DOC" }, spec: [200, { result: { min_trading_vol: "0.0001" } }] }],
  },
  {
    topic: "Minimum price",
    calls: [
      { ask: { method: "sell", ...pair, price: "0.000000009" }, spec: [500, { error: "Price is too low, minimum is 0.00000001" }] },
      {
        ask: { method: "setprice", ...pair, price: "0.000000009", volume: "100" },
        spec: [500, { error: expect.not.stringMatching(/^Price/) }],
      },
      { ask: { method: "setprice", ...pair, price: "0" }, spec: [500, { error: "Price 0 is too low, required: 0" }] },
    ],
  },
  {
    topic: "Which check first",
    calls: [
      { ask: { method: "sell", ...pair, price: "0", volume: "1000" }, spec: [500, { error: expect.stringMatching(/^Not enough DOC/) }] },
    ],
  },
  {
    topic: "Insufficient balance text",
    calls: [
      {
        ask: { method: "sell", ...pair, volume: "1000" },
        spec: [500, { error: "Not enough DOC for swap: available 200, required at least 1000.0001, locked by swaps None" }],
      },
    ],
  },
  {
    topic: "`my_recent_swaps.page_number`",
    calls: [
      {
        ask: { method: "my_recent_swaps", from_uuid: FINISHED_SWAP },
        spec: [200, { result: { page_number: null, skipped: 1 } }],
        kdf: [200, { result: { page_number: 1, skipped: 1 } }],
      },
      {
        ask: v2("my_recent_swaps", { from_uuid: FINISHED_SWAP, page_number: 7 }),
        spec: [200, { result: { page_number: null, skipped: 1 } }],
        kdf: [200, { result: { page_number: 7, skipped: 1 } }],
      },
      { ask: { method: "my_recent_swaps" }, spec: [200, { result: { page_number: 1 } }] },
    ],
  },
  {
    topic: "Unknown `from_uuid`",
    calls: [
      {
        ask: { method: "my_recent_swaps", from_uuid: MATCHING_ORDER },
        spec: [500, { error: "Unknown SQL error: Query returned no rows" }],
      },
      { ask: { method: "my_recent_swaps", from_uuid: MATCHING_ORDER, my_coin: "KMD" }, spec: [200, { result: { total: 0, skipped: 0 } }] },
    ],
  },
  {
    topic: "`sign_message`, coin not active",
    calls: [
      {
        ask: v2("sign_message", { coin: "KMD", message: "hello" }),
        spec: [400, { error: "Coin is not found: No such coin: KMD", ...error("CoinIsNotFound", "No such coin: KMD") }],
        kdf: [500, { error: "Internal error: No such coin: KMD", ...error("InternalError", "No such coin: KMD") }],
      },
      {
        ask: v2("verify_message", { coin: "KMD", message: "hello", signature: "abc", address: ADDRESS }),
        spec: [400, { error: "Coin is not found: No such coin: KMD", ...error("CoinIsNotFound", "No such coin: KMD") }],
      },
    ],
  },
  {
    topic: "`verify_message`, bad address",
    calls: [
      {
        ask: v2("verify_message", { coin: "DOC", message: "hello", signature: "abc", address: "RXX" }),
        spec: [
          400,
          { error: expect.stringMatching(/^Address decoding error: Cannot determine format: \[/), error_type: "AddressDecodingError" },
        ],
        kdf: [400, { error: expect.stringMatching(/^Invalid request: Cannot determine format: \[/), error_type: "InvalidRequest" }],
      },
    ],
  },
  {
    topic: "`verify_message`, undecodable UTXO signature",
    calls: [
      {
        ask: v2("verify_message", { coin: "DOC", message: "hello", signature: NO_KEY, address: ADDRESS }),
        spec: [400, { error: "Signature decoding error: Invalid Signature", ...error("SignatureDecodingError", "Invalid Signature") }],
        kdf: [500, { error: "Internal error: Invalid Signature", ...error("InternalError", "Invalid Signature") }],
      },
      {
        ask: v2("verify_message", { coin: "DOC", message: "hello", signature: "abc", address: ADDRESS }),
        spec: [400, { error_type: "SignatureDecodingError" }],
      },
    ],
  },
  {
    topic: "`verify_message`, undecodable ETH signature",
    calls: [
      {
        ask: v2("verify_message", { coin: "ETH", message: "hello", signature: "0x00", address: ETH_ADDRESS }),
        spec: [400, { error: "Signature decoding error: Invalid Signature", ...error("SignatureDecodingError", "Invalid Signature") }],
        kdf: [500, { error: "Internal error: Invalid Signature", ...error("InternalError", "Invalid Signature") }],
      },
    ],
  },
  {
    topic: "Unsupported coin type",
    calls: [
      {
        ask: v2("sign_message", { coin: MUTE, message: "hello" }),
        spec: [400, error("InvalidRequest", "Message signing is not supported by the given coin type")],
      },
      {
        ask: v2("verify_message", { coin: MUTE, message: "hello", signature: "abc", address: ADDRESS }),
        spec: [400, error("InvalidRequest", "Message verification is not supported by the given coin type")],
      },
    ],
  },
  {
    topic: "`sign_message` params",
    calls: [
      {
        ask: v2("sign_message", { coin: "DOC", message: "hello", address: { derivation_path: "m/44'/141'/0'/0/0" } }),
        spec: [400, { error_type: "InvalidRequest", error: expect.stringMatching(/enable_hd/) }],
      },
    ],
  },
  {
    topic: "`setprice` parameters",
    calls: [
      { ask: { method: "setprice", ...pair, timeout_in_minutes: 5 }, spec: [200, {}] },
      {
        ask: { method: "setprice", ...pair, timeout_in_minutes: "5" },
        spec: [500, { error: 'invalid type: string "5", expected u16' }],
      },
    ],
  },
  {
    topic: "Buy/sell parameters",
    calls: [
      { ask: { method: "sell", ...pair, timeout: 60, destpubkey: "0".repeat(64), duration: 60, gui: "me" }, spec: [200, {}] },
      { ask: { method: "buy", ...pair, timeout: "60" }, spec: [500, { error: 'invalid type: string "60", expected u64' }] },
      { ask: { method: "buy", ...pair, destpubkey: "zz" }, spec: [500, { error: 'invalid value: string "zz", expected a hash string' }] },
      { ask: { method: "buy", ...pair, destpubkey: 1 }, spec: [500, { error: "invalid type: integer `1`, expected a hash string" }] },
      { ask: { method: "buy", ...pair, duration: -1 }, spec: [500, { error: "invalid value: integer `-1`, expected u32" }] },
      {
        ask: { method: "buy", ...pair, duration: 4_294_967_296 },
        spec: [500, { error: "invalid value: integer `4294967296`, expected u32" }],
      },
      { ask: { method: "buy", ...pair, gui: 5 }, spec: [500, { error: "invalid type: integer `5`, expected a string" }] },
      { ask: { method: "buy", ...pair, gui: null, duration: null }, spec: [200, {}] },
    ],
  },
  {
    topic: "Buy/sell result",
    calls: [
      {
        ask: { method: "buy", ...pair, destpubkey: "1".repeat(64) },
        spec: [
          200,
          {
            result: {
              order_type: { type: "GoodTillCancelled" },
              min_volume: "0.0001",
              min_volume_fraction: { numer: "1", denom: "10000" },
              min_volume_rat: [
                [1, [1]],
                [1, [10_000]],
              ],
              dest_pub_key: "0".repeat(64),
            },
          },
        ],
      },
    ],
  },
  {
    topic: "Result enclosure of buy, cancel_all_orders, my_recent_swaps, get_trade_fee",
    calls: [
      { ask: { method: "buy", ...pair }, spec: [200, { result: { action: "Buy" } }] },
      { ask: { method: "my_recent_swaps" }, spec: [200, { result: { total: 1 } }] },
      { ask: { method: "get_trade_fee", coin: "DOC" }, spec: [200, { result: { coin: "DOC" } }] },
      {
        ask: { method: "cancel_all_orders", cancel_by: { type: "All" } },
        spec: [200, { result: { currently_matching: [MATCHING_ORDER] } }],
      },
    ],
  },
  {
    topic: "ExtendedFeeInfo / TotalFeeInfo",
    calls: [
      {
        ask: { method: "trade_preimage", ...pair, swap_method: "sell" },
        spec: [
          200,
          {
            result: {
              taker_fee: { coin: "DOC", amount: expect.any(String), amount_rat: expect.any(Array), paid_from_trading_vol: false },
              total_fees: expect.arrayContaining([expect.objectContaining({ coin: "DOC", required_balance: expect.any(String) })]),
            },
          },
        ],
      },
    ],
  },
  {
    topic: "`trade_preimage` `max` for buy/sell",
    calls: [
      {
        ask: v2("trade_preimage", { ...pair, swap_method: "buy", max: true }),
        spec: [400, { error_type: "InvalidParam", error_data: { param: "max" } }],
      },
    ],
  },
  {
    topic: "`setprice` preimage `volume`",
    calls: [
      { ask: v2("trade_preimage", { ...pair, swap_method: "setprice", max: true }), spec: [200, { result: { volume: "198.9998" } }] },
      {
        ask: v2("trade_preimage", { ...pair, swap_method: "setprice" }),
        spec: [200, { result: expect.not.objectContaining({ volume: expect.anything() }) }],
      },
    ],
  },
  {
    topic: "`get_trade_fee` for QRC20",
    calls: [
      {
        ask: { method: "get_trade_fee", coin: "QRC" },
        spec: [200, { result: { coin: "DOC", amount: "0.1201" } }],
        kdf: [200, { result: { coin: "DOC", amount: "0.1601" } }],
      },
    ],
  },
  {
    topic: "`get_trade_fee` meaning",
    calls: [{ ask: { method: "get_trade_fee", coin: "DOC" }, spec: [200, { result: { amount: "0.0001" } }] }],
  },
  { topic: "Rate limits", none: "src/rpc/auth.test.ts: the same in both modes" },
  {
    topic: "HTTP codes",
    calls: [
      { ask: { method: "my_balance", coin: "KMD" }, spec: [500, {}] },
      { ask: v2("trade_preimage", { ...pair, rel: "DOC", swap_method: "setprice" }), spec: [400, { error_type: "BaseEqualRel" }] },
      { ask: v2("no_such_method", {}), spec: [400, { error_type: "NoSuchMethod" }] },
    ],
  },
  {
    topic: '`cancel_all_orders` "being matched"',
    calls: [
      {
        ask: { method: "cancel_all_orders", cancel_by: { type: "Pair", data: { base: "DOC", rel: "MARTY" } } },
        spec: [200, { result: { currently_matching: [MATCHING_ORDER] } }],
      },
      { ask: { method: "order_status", uuid: MATCHING_ORDER }, spec: [200, { order: { cancellable: false } }] },
      { ask: { method: "setprice", ...pair, cancel_previous: true }, spec: [200, {}] },
      {
        ask: { method: "my_orders" },
        spec: [200, { result: { maker_orders: expect.not.objectContaining({ [MATCHING_ORDER]: expect.anything() }) } }],
      },
    ],
  },
  {
    topic: "`updated_at` of a new order",
    calls: [
      {
        ask: { method: "setprice", ...pair },
        spec: [200, { result: { created_at: expect.any(Number), updated_at: expect.any(Number) } }],
      },
    ],
  },
  {
    topic: "`mmrpc` missing on versioned methods",
    calls: [{ ask: { method: "sign_message", params: { coin: "DOC", message: "hello" } }, spec: [200, { mmrpc: "2.0", id: null }] }],
  },
  {
    topic: "`version`, deprecated `trade_preimage`",
    calls: [
      { ask: { method: "trade_preimage", ...pair, swap_method: "sell" }, spec: [200, { result: { taker_fee: { coin: "DOC" } } }] },
      {
        ask: v2("trade_preimage", { ...pair, swap_method: "sell" }),
        spec: [200, { mmrpc: "2.0", result: { taker_fee: { coin: "DOC" } } }],
      },
    ],
  },
];

for (const mode of ["spec", "kdf"] as const) {
  test.each(ROWS.flatMap((row) => ("calls" in row ? [row] : [])))(`compatibility ${mode}: $topic`, async ({ calls }) => {
    const ask = await node(mode);
    for (const call of calls) {
      const [status, reply] = mode === "kdf" ? (call.kdf ?? call.spec) : call.spec;
      expect(await ask(call.ask)).toMatchObject([status, reply]);
    }
  });
}

const SAME = "the same";
/** Cells of the rows of the one table under the heading. */
function tableUnder(markdown: string, heading: string): string[][] {
  const from = markdown.indexOf(`\n${heading}\n`);
  const end = markdown.indexOf("\n#", from + heading.length + 1);
  const lines = markdown.slice(from, end < 0 ? undefined : end).split("\n");
  const rows = lines.filter((line) => line.startsWith("|")).slice(2);
  return rows.map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

test("docs/compatibility.md has each of the 29 rows, and says which ones the setting changes", () => {
  const document = readFileSync(fileURLToPath(new URL("../../docs/compatibility.md", import.meta.url)), "utf8");
  const rows = tableUnder(document, "### Where the interface document and KDF disagree");
  expect(rows.map(([topic]) => topic)).toEqual(ROWS.map((row) => row.topic));
  expect(rows).toHaveLength(29);
  for (const [i, [topic, byDefault, kdf]] of rows.entries()) {
    expect([topic, byDefault]).not.toEqual([topic, ""]);
    const row = ROWS[i];
    const changes = row !== undefined && "calls" in row && row.calls.some((call) => call.kdf !== undefined);
    expect([topic, kdf === SAME]).toEqual([topic, !changes]);
  }
});

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const reference = join(shared, "reference/rpc.md");
const hasShared = existsSync(reference);

test.skipIf(!hasShared)(`the rows are those of the reference${hasShared ? "" : " skipped: no shared data"}`, () => {
  const rows = tableUnder(readFileSync(reference, "utf8"), "## 11. Where the interface document and KDF differ");
  expect(rows.map(([topic]) => topic)).toEqual(ROWS.map((row) => row.topic));
});
