import { A_COUNT, A_PEER, A_TEXT, ANYTHING, type Entry, type Expected, having, listOf, mapOf } from "./row.ts";
import { calls, refusals } from "./rowMakers.ts";

/** The node and its peers (reference rpc.md 1.4, 5.3 to 5.5), and what a node without keys or without a network answers. */

const [flat, v2, fails] = [calls("trade", "flat"), calls("trade", "v2"), refusals("trade", "flat")];

const MINE = "b1".repeat(32);
const OTHER = "c2".repeat(32);
const MANUAL = { type: "Manual", reason: "never pays" };
const NO_NETWORK = "The peer-to-peer network is switched off on this node (disable_p2p)";
const NO_KEYS = (method: string): string =>
  `${method} needs the keys of a wallet, and this node was started without any: set passphrase, or wallet_name and wallet_password, in MM2.json and start it again`;
const gauge = (key: string, value: Expected = A_COUNT): Expected => ({ type: "gauge", key, labels: {}, value });
const counter = (key: string): Expected => ({ type: "counter", key, labels: {}, value: A_COUNT });
const PEER_METHODS = [
  ...["get_my_peer_id", "get_directly_connected_peers", "get_gossip_mesh", "get_relay_mesh", "get_gossip_peer_topics"],
  "get_gossip_topic_peers",
];

export const NETWORK_ROWS: readonly Entry[] = [
  flat("version", {}, { result: A_TEXT, datetime: A_TEXT }),
  flat("help", {}, { result: A_TEXT, version: A_TEXT }),
  flat(
    "metrics",
    {},
    {
      metrics: [
        gauge("p2p.received_messages.period_in_secs", 60),
        ...[
          "p2p.received_messages.count",
          "p2p.relay_mesh.len",
          "orderbook.len",
          "p2p.connected_peers.count",
          "p2p.connected_relays.len",
        ].map((key) => gauge(key)),
        ...["orders.maker.len", "orders.taker.len", "swaps.active.len"].map((key) => gauge(key)),
        ...["swaps.finished.count", "rpc.requests.count", "rpc.failures.count"].map((key) => counter(key)),
      ],
    },
  ),
  v2("get_public_key", {}, { public_key: "$alice" }),
  v2("get_public_key_hash", {}, { public_key_hash: A_TEXT }),
  flat("get_my_peer_id", {}, A_PEER),
  flat("get_directly_connected_peers", {}, mapOf([A_TEXT])),
  flat("get_gossip_mesh", {}, ANYTHING),
  flat("get_relay_mesh", {}, listOf(A_PEER, 1)),
  flat("get_gossip_peer_topics", {}, mapOf(listOf(A_TEXT))),
  flat("get_gossip_topic_peers", {}, ANYTHING),

  flat("list_banned_pubkeys", {}, {}),
  flat("ban_pubkey", { pubkey: MINE, reason: "never pays" }, "success"),
  flat("ban_pubkey", { pubkey: OTHER, reason: "never pays", duration_min: 60 }, "success"),
  fails("ban_pubkey", { pubkey: MINE, reason: "again" }, "BannedAlready", "Pubkey is banned already"),
  fails("ban_pubkey", { pubkey: "zz", reason: "" }, "bad_params", 'invalid value: string "zz", expected a hash string'),
  flat("list_banned_pubkeys", {}, { [MINE]: MANUAL, [OTHER]: MANUAL }),
  flat(
    "unban_pubkeys",
    { unban_by: { type: "Few", data: [MINE, "d3".repeat(32)] } },
    {
      still_banned: { [OTHER]: MANUAL },
      unbanned: { [MINE]: MANUAL },
      were_not_banned: ["d3".repeat(32)],
    },
  ),
  flat("unban_pubkeys", { unban_by: { type: "All" } }, { still_banned: {}, unbanned: { [OTHER]: MANUAL }, were_not_banned: [] }),
  fails("unban_pubkeys", { unban_by: { type: "Few" } }, "bad_params", "missing field `data`"),
  refusals("full", "flat")(
    "ban_pubkey",
    { pubkey: "e4".repeat(32), reason: "one more" },
    "TooManyBans",
    "Too many keys are banned; lift some bans first",
  ),

  ...PEER_METHODS.map((method) => refusals("offline", "flat")(method, {}, "NoNetwork", NO_NETWORK)),
  calls("offline", "flat")("version", {}, having({ result: A_TEXT })),

  ...["get_public_key", "get_public_key_hash"].map((method) =>
    refusals("keyless", "v2")(method, {}, "NoLogin", "public_key not available", {
      status: 500,
      type: "Internal",
      data: "public_key not available",
    }),
  ),
  refusals("keyless", "flat")("my_orders", {}, "NoKeys", NO_KEYS("my_orders")),
  refusals("keyless", "v2")("sign_message", { coin: "DOC", message: "test" }, "NoKeys", NO_KEYS("sign_message"), { status: 500 }),
  calls("keyless", "flat")("get_enabled_coins", {}, []),
  calls("keyless", "flat")("active_swaps", {}, { uuids: [], statuses: null }),
  calls("keyless", "flat")("coins_needed_for_kick_start", {}, []),

  flat("stop", {}, "success", { note: "the last row: the node is gone after it" }),
];
