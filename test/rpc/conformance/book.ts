import type { Json } from "../../../src/rpc/parseJson.ts";
import { A_COUNT, A_TEXT, A_TIME_SEC, A_UUID, anyDetail, detail, type Entry, type Expected, having, triple } from "./row.ts";
import { calls, refusals } from "./rowMakers.ts";

/** The book (reference rpc.md 3.4, 5.2, 5.4): both styles of each method. */

type Fields = { readonly [key: string]: Json };
const [flat, v2, fails, failsV2] = [calls("trade", "flat"), calls("trade", "v2"), refusals("trade", "flat"), refusals("trade", "v2")];
const step = (name: string): Entry => ({ on: "trade", step: name });

const conf = { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false };
/** Alice's order of 3 DOC at 2.5 MARTY, as an ask of DOC for MARTY. */
const mine = {
  ...{ coin: "DOC", address: "$aliceAddress", ...triple("price", "2.5", 5n, 2n) },
  ...{
    maxvolume: "3",
    max_volume_rat: [
      [1, [3]],
      [1, [1]],
    ],
    max_volume_fraction: { numer: "3", denom: "1" },
  },
  ...triple("min_volume", "0.5", 1n, 2n),
  ...{ pubkey: "$alice", age: A_COUNT, uuid: "$mine", is_mine: true },
  ...triple("base_max_volume", "3", 3n, 1n),
  ...triple("base_min_volume", "0.5", 1n, 2n),
  ...triple("rel_max_volume", "7.5", 15n, 2n),
  ...triple("rel_min_volume", "1.25", 5n, 4n),
  ...conf,
} as const;
/** Bob's order of 4 DOC at 0.5 MARTY, cheaper than alice's. */
const his = {
  ...{ coin: "DOC", address: A_TEXT, ...triple("price", "0.5", 1n, 2n) },
  ...{
    maxvolume: "4",
    max_volume_rat: [
      [1, [4]],
      [1, [1]],
    ],
    max_volume_fraction: { numer: "4", denom: "1" },
  },
  ...triple("min_volume", "0.0002", 1n, 5_000n),
  ...{ pubkey: "$bob", age: A_COUNT, uuid: A_UUID, is_mine: false },
  ...triple("base_max_volume", "4", 4n, 1n),
  ...triple("base_min_volume", "0.0002", 1n, 5_000n),
  ...triple("rel_max_volume", "2", 2n, 1n),
  ...triple("rel_min_volume", "0.0001", 1n, 10_000n),
  ...conf,
} as const;
const sums = (base: readonly [string, bigint, bigint], rel: readonly [string, bigint, bigint]) => ({
  ...triple("base_max_volume_aggr", ...base),
  ...triple("rel_max_volume_aggr", ...rel),
});
const mineV2 = {
  ...{ coin: "DOC", address: { address_type: "Transparent", address_data: "$aliceAddress" }, price: detail("2.5", 5n, 2n) },
  ...{ pubkey: "$alice", uuid: "$mine", is_mine: true, base_max_volume: detail("3", 3n, 1n), base_min_volume: detail("0.5", 1n, 2n) },
  ...{ rel_max_volume: detail("7.5", 15n, 2n), rel_min_volume: detail("1.25", 5n, 4n), conf_settings: conf },
} as const;

const NO_NETWORK = "The peer-to-peer network is switched off on this node (disable_p2p)";
const offline = (method: string, params: Fields): Entry => refusals("offline", "flat")(method, params, "NoNetwork", NO_NETWORK);
const offlineV2 = (method: string, params: Fields, more: { status: number; type?: string; data?: Expected }): Entry =>
  refusals("offline", "v2")(method, params, "NoNetwork", NO_NETWORK, more);

export const BOOK_ROWS: readonly Entry[] = [
  flat("setprice", { base: "DOC", rel: "MARTY", price: "2.5", volume: "3", min_volume: "0.5" }, having({ price: "2.5" }), {
    keep: { mine: "uuid" },
  }),
  step("bob offers 4 DOC at 0.5 MARTY"),
  flat(
    "orderbook",
    { base: "DOC", rel: "MARTY" },
    {
      ...{ askdepth: 0, biddepth: 0, base: "DOC", rel: "MARTY", netid: 9_998, numasks: 2, numbids: 0, timestamp: A_TIME_SEC, bids: [] },
      // Highest price first; the sums run from the lowest.
      asks: [
        { ...mine, ...sums(["7", 7n, 1n], ["9.5", 19n, 2n]) },
        { ...his, ...sums(["4", 4n, 1n], ["2", 2n, 1n]) },
      ],
      ...triple("total_asks_base_vol", "7", 7n, 1n),
      ...triple("total_asks_rel_vol", "9.5", 19n, 2n),
      ...triple("total_bids_base_vol", "0", 0n, 1n),
      ...triple("total_bids_rel_vol", "0", 0n, 1n),
    },
  ),
  flat(
    "orderbook",
    { base: "MARTY", rel: "DOC" },
    {
      ...{ askdepth: 0, biddepth: 0, base: "MARTY", rel: "DOC", netid: 9_998, numasks: 0, numbids: 2, timestamp: A_TIME_SEC, asks: [] },
      bids: [
        {
          ...his,
          ...triple("price", "2", 2n, 1n),
          ...triple("base_max_volume", "2", 2n, 1n),
          ...triple("base_min_volume", "0.0001", 1n, 10_000n),
          ...triple("rel_max_volume", "4", 4n, 1n),
          ...triple("rel_min_volume", "0.0002", 1n, 5_000n),
          ...sums(["2", 2n, 1n], ["4", 4n, 1n]),
        },
        {
          ...mine,
          ...triple("price", "0.4", 2n, 5n),
          ...triple("base_max_volume", "7.5", 15n, 2n),
          ...triple("base_min_volume", "1.25", 5n, 4n),
          ...triple("rel_max_volume", "3", 3n, 1n),
          ...triple("rel_min_volume", "0.5", 1n, 2n),
          ...sums(["9.5", 19n, 2n], ["7", 7n, 1n]),
        },
      ],
      ...triple("total_asks_base_vol", "0", 0n, 1n),
      ...triple("total_asks_rel_vol", "0", 0n, 1n),
      ...triple("total_bids_base_vol", "9.5", 19n, 2n),
      ...triple("total_bids_rel_vol", "7", 7n, 1n),
    },
    { note: "the same orders as bids: best first, price inverted, `coin` and `maxvolume` the maker's" },
  ),
  v2(
    "orderbook",
    { base: "DOC", rel: "MARTY" },
    {
      asks: [
        { ...mineV2, base_max_volume_aggr: detail("7", 7n, 1n), rel_max_volume_aggr: detail("9.5", 19n, 2n) },
        having({ pubkey: "$bob", is_mine: false, address: having({ address_type: "Transparent" }), base_max_volume_aggr: anyDetail }),
      ],
      ...{ base: "DOC", bids: [], net_id: 9_998, num_asks: 2, num_bids: 0, rel: "MARTY", timestamp: A_TIME_SEC },
      ...{ total_asks_base_vol: detail("7", 7n, 1n), total_asks_rel_vol: detail("9.5", 19n, 2n) },
      ...{ total_bids_base_vol: detail("0", 0n, 1n), total_bids_rel_vol: detail("0", 0n, 1n) },
    },
  ),
  flat("orderbook", { base: "DOC-2", rel: "MARTY" }, having({ base: "DOC-2", numasks: 2 }), { note: "trades under DOC" }),
  flat("orderbook", { base: "LTC", rel: "KMD" }, having({ numasks: 0, numbids: 0 }), { note: "coins need not be enabled" }),
  fails("orderbook", { base: "DOC", rel: "DOC" }, "BaseRelSame", "Base and rel must be different coins"),
  fails("orderbook", { base: "NOSUCH", rel: "WALLET" }, "CoinConfigNotFound", "Coin NOSUCH is not found in config"),
  fails("orderbook", { base: "DOC", rel: "NOSUCH" }, "CoinConfigNotFound", "Coin NOSUCH is not found in config"),
  fails("orderbook", { base: "WALLET", rel: "DOC" }, "CoinIsWalletOnly", "Base Coin WALLET is wallet only"),
  fails("orderbook", { base: "DOC", rel: "WALLET" }, "CoinIsWalletOnly", "Base Coin WALLET is wallet only"),
  fails(
    "orderbook",
    { base: "DOC", rel: "DOC-2" },
    "BaseRelSameOrderbookTickersAndProtocols",
    "Base and rel coins have the same orderbook tickers and protocols.",
  ),
  failsV2("orderbook", { base: "DOC", rel: "DOC" }, "BaseRelSame", "BaseRelSame", { status: 400 }),
  failsV2("orderbook", { base: "DOC", rel: "NOSUCH" }, "CoinConfigNotFound", "NOSUCH", { status: 400, data: "NOSUCH" }),
  failsV2("orderbook", { base: "DOC", rel: "WALLET" }, "CoinIsWalletOnly", "WALLET", { status: 400, data: "WALLET" }),
  failsV2(
    "orderbook",
    { base: "DOC", rel: "DOC-2" },
    "BaseRelSameOrderbookTickersAndProtocols",
    "BaseRelSameOrderbookTickersAndProtocols",
    { status: 400 },
  ),
  offline("orderbook", { base: "DOC", rel: "MARTY" }),
  offlineV2("orderbook", { base: "DOC", rel: "MARTY" }, { status: 500, type: "P2PSubscribeError", data: NO_NETWORK }),

  flat(
    "orderbook_depth",
    {
      pairs: [
        ["DOC", "MARTY"],
        ["MARTY", "DOC"],
      ],
    },
    [
      { pair: ["DOC", "MARTY"], depth: { asks: 2, bids: 0 } },
      { pair: ["MARTY", "DOC"], depth: { asks: 0, bids: 2 } },
    ],
  ),
  v2("orderbook_depth", { pairs: [["DOC", "MARTY"]] }, [{ pair: ["DOC", "MARTY"], depth: { asks: 2, bids: 0 } }]),
  fails(
    "orderbook_depth",
    {
      pairs: [
        ["DOC", "WALLET"],
        ["NOSUCH", "DOC"],
      ],
    },
    "WalletOnlyPairs",
    'Pairs [("DOC", "WALLET"), ("NOSUCH", "DOC")] have wallet only coins',
  ),
  failsV2("orderbook_depth", { pairs: [["DOC", "WALLET"]] }, "WalletOnlyPairs", 'Pairs [("DOC", "WALLET")] have wallet only coins', {
    status: 400,
  }),
  offline("orderbook_depth", { pairs: [["DOC", "MARTY"]] }),
  offlineV2("orderbook_depth", { pairs: [["DOC", "MARTY"]] }, { status: 500 }),

  flat(
    "best_orders",
    { coin: "DOC", action: "buy", volume: "1" },
    { result: { MARTY: [{ ...his, coin: "MARTY" }] }, original_tickers: { DOC: ["DOC-2"] } },
    { note: "the cheapest covers it" },
  ),
  flat(
    "best_orders",
    { coin: "MARTY", action: "sell", volume: "1" },
    {
      result: {
        DOC: [
          {
            ...his,
            ...triple("price", "2", 2n, 1n),
            ...triple("base_max_volume", "2", 2n, 1n),
            ...triple("base_min_volume", "0.0001", 1n, 10_000n),
            ...triple("rel_max_volume", "4", 4n, 1n),
            ...triple("rel_min_volume", "0.0002", 1n, 5_000n),
          },
        ],
      },
      original_tickers: { DOC: ["DOC-2"] },
    },
  ),
  v2(
    "best_orders",
    { coin: "DOC", action: "buy", request_by: { type: "number", value: 5 } },
    {
      orders: { MARTY: [having({ pubkey: "$bob", price: detail("0.5", 1n, 2n) }), { ...mineV2, coin: "MARTY" }] },
      original_tickers: { DOC: ["DOC-2"] },
    },
  ),
  v2(
    "best_orders",
    { coin: "DOC", action: "buy", request_by: { type: "volume", value: "5" }, exclude_mine: true },
    {
      orders: { MARTY: [having({ pubkey: "$bob", is_mine: false })] },
      original_tickers: { DOC: ["DOC-2"] },
    },
  ),
  fails("best_orders", { coin: "WALLET", action: "buy", volume: "1" }, "CoinIsWalletOnly", "Coin WALLET is wallet only"),
  fails("best_orders", { coin: "NOSUCH", action: "buy", volume: "1" }, "CoinIsWalletOnly", "Coin NOSUCH is wallet only"),
  fails("best_orders", { coin: "LTC", action: "buy", volume: "1" }, "NoPeerAnswered", "No response from any peer"),
  fails("best_orders", { coin: "DOC", action: "x", volume: "1" }, "bad_params", "unknown variant `x`, expected `buy` or `sell`"),
  failsV2(
    "best_orders",
    { coin: "WALLET", action: "buy", request_by: { type: "number", value: 1 } },
    "CoinIsWalletOnly",
    "Coin WALLET is wallet only",
    {
      status: 400,
      data: "WALLET",
    },
  ),
  failsV2(
    "best_orders",
    { coin: "LTC", action: "buy", request_by: { type: "number", value: 1 } },
    "NoPeerAnswered",
    "No response from any peer",
    {
      status: 500,
      type: "P2PError",
      data: "No response from any peer",
    },
  ),
  offline("best_orders", { coin: "DOC", action: "buy", volume: "1" }),
  offlineV2(
    "best_orders",
    { coin: "DOC", action: "buy", request_by: { type: "number", value: 1 } },
    { status: 500, type: "P2PError", data: NO_NETWORK },
  ),
];
