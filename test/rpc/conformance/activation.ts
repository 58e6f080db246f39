import type { Json } from "../../../src/rpc/parseJson.ts";
import { A_COUNT, A_HASH, A_TEXT, A_TIME_SEC, type Entry, type Expected, having, listOf } from "./row.ts";
import { calls, refusals } from "./rowMakers.ts";

/** Electrum servers, tasks and the history of transactions (reference rpc.md 5.1, 5.4). On `trade` every backend is the daemon of the chain. */

type Fields = { readonly [key: string]: Json };
const [flat, v2, fails, failsV2] = [calls("trade", "flat"), calls("trade", "v2"), refusals("trade", "flat"), refusals("trade", "v2")];
const step = (name: string): Entry => ({ on: "trade", step: name });

const SERVERS = [{ url: "127.0.0.1:10001" }];
const electrum = (coin: string, more: Fields = {}): Fields => ({ coin, servers: SERVERS, ...more });
const SERVER = "struct ElectrumConnectionSettings";
const unparsed: readonly (readonly [servers: Json, text: string])[] = [
  [null, "invalid type: null, expected a sequence"],
  ["127.0.0.1:1", 'invalid type: string "127.0.0.1:1", expected a sequence'],
  [["127.0.0.1:1"], `invalid type: string "127.0.0.1:1", expected ${SERVER}`],
  [[{}], "missing field `url`"],
  [[{ url: 5 }], "invalid type: integer `5`, expected a string"],
  [[{ url: "a:1", protocol: "UDP" }], "unknown variant `UDP`, expected one of `TCP`, `SSL`, `WS`, `WSS`"],
  [[{ url: "a:1", disable_cert_verification: "yes" }], 'invalid type: string "yes", expected a boolean'],
  [
    [{ url: "a:1", protocol: "SSL", accept_certificate: "AB:CD" }],
    "accept_certificate must be the SHA-256 fingerprint of a certificate, 64 hex digits",
  ],
  [[{ url: "a:1", accept_certificate: 5 }], "invalid type: integer `5`, expected a string"],
  [[{ url: "a:1", timeout_sec: -1 }], "invalid value: integer `-1`, expected u32"],
];
const unusable: readonly (readonly [fields: Fields, text: string])[] = [
  [{ servers: [] }, "min_connected (1) must be <= max_connected (0)"],
  [{ min_connected: 0 }, "min_connected should be greater than 0"],
  [{ min_connected: 2 }, "min_connected (2) must be <= max_connected (1)"],
  [{ min_connected: 2, max_connected: 3 }, "min_connected (2) is more than the 1 servers"],
  [{ max_connected: 0, servers: [] }, "min_connected (1) must be <= max_connected (0)"],
  [
    { servers: [{ url: "a:1", accept_certificate: "AB".repeat(32) }] },
    "accept_certificate of a:1 needs protocol SSL or WSS: over TCP there is no certificate",
  ],
  [{ servers: [{ url: "a:1", timeout_sec: 601 }] }, "timeout_sec of a:1 must be from 1 to 600"],
];

const enabledLtc: Expected = {
  ...{ result: "success", address: "$aliceAddress", balance: "0", unspendable_balance: "0", coin: "LTC", required_confirmations: 4 },
  ...{ requires_notarization: false, mature_confirmations: 100 },
};
const disableLtc = flat("disable_coin", { coin: "LTC" }, { coin: "LTC", cancelled_orders: [], passivized: false });

const ELECTRUM_ROWS: readonly Entry[] = [
  ...unparsed.map(([servers, text]) => fails("electrum", { coin: "LTC", servers }, "bad_params", text)),
  fails("electrum", { servers: SERVERS }, "bad_params", "No 'coin' field"),
  fails("electrum", { coin: "LTC" }, "bad_params", "missing field `servers`"),
  fails(
    "electrum",
    electrum("LTC", { address_format: { format: "p2tr" } }),
    "bad_params",
    "unknown variant `p2tr`, expected one of `standard`, `segwit`, `cashaddress`",
  ),
  ...unusable.map(([fields, text]) => fails("electrum", electrum("LTC", fields), "BadServers", `Internal error: ${text}`)),
  fails("electrum", electrum("DOC"), "AlreadyActive", "Coin DOC already initialized"),
  fails(
    "electrum",
    electrum("NOSUCH"),
    "Mm2NotSet",
    "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported",
  ),
  fails(
    "electrum",
    electrum("NOSUCH", { mm2: 1 }),
    "ProtocolMissing",
    '"protocol" field is missing in coins file. NOSUCH needs an entry with one, for example {"type":"UTXO"}',
  ),
  fails(
    "electrum",
    electrum("LTC", { address_format: { format: "segwit" } }),
    "NotSupported",
    "LTC is not supported by this node: segwit addresses need segwit: true and bech32_hrp",
  ),
  step("the daemon of LTC fails"),
  fails(
    "electrum",
    electrum("LTC"),
    "DaemonFailed",
    "Deactivated coin due to error in balance querying: The LTC daemon cannot be used: HTTP 500.",
  ),
  step("LTC is being enabled"),
  fails("electrum", electrum("LTC"), "BeingEnabled", "Coin LTC is being enabled; nothing has answered yet"),
  failsV2("task::enable_utxo::init", task("LTC"), "CoinIsAlreadyActivated", "Coin LTC is activated already", {
    status: 400,
    data: { ticker: "LTC" },
  }),
  step("LTC is enabled"),
  disableLtc,
  flat("electrum", electrum("LTC", { mm2: 1, required_confirmations: 4, tx_history: true, check_utxo_maturity: true }), enabledLtc),
  disableLtc,
  flat("electrum", electrum("LTC", { required_confirmations: 4, tx_history: null }), enabledLtc),
  disableLtc,
  step("KMD is being disabled"),
  fails("electrum", electrum("KMD"), "BeingDisabled", "Coin KMD is being disabled; try again"),
  step("KMD is disabled"),
  refusals("offline", "flat")(
    "electrum",
    electrum("NOPROTO"),
    "ProtocolMissing",
    '"protocol" field is missing in coins file. NOPROTO needs an entry with one, for example {"type":"UTXO"}',
  ),
  refusals("offline", "flat")(
    "electrum",
    electrum("LTC", { servers: [{ url: "no port" }] }),
    "BadServers",
    "Internal error: no port is no Electrum server: it must be host:port",
  ),
  v2(
    "electrum_servers",
    { coin: "DOC" },
    { coin: "DOC", servers: [], min_connected: null, warning: null },
    { note: "it is followed through a daemon" },
  ),
  calls("busy", "v2")(
    "electrum_servers",
    { coin: "DOC" },
    having({ servers: listOf(having({ url: A_TEXT, calls: A_COUNT }), 2), min_connected: 1, warning: A_TEXT }),
  ),
  failsV2("electrum_servers", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC", { status: 404, data: { coin: "LTC" } }),
  refusals("accounts", "flat")("electrum", electrum("ETH"), "BadAccountNodes", "invalid type: null, expected a sequence"),
];

function task(ticker: string, more: Fields = {}): Fields {
  return { ticker, activation_params: { mode: { rpc: "Electrum", rpc_data: { servers: SERVERS } }, ...more } };
}
const unparsedMode: readonly (readonly [mode: Json, text: string])[] = [
  ["Electrum", 'invalid type: string "Electrum", expected adjacently tagged enum UtxoRpcMode'],
  [{}, "missing field `rpc`"],
  [{ rpc: "Light" }, "unknown variant `Light`, expected `Native` or `Electrum`"],
  [{ rpc: "Electrum" }, "missing field `rpc_data`"],
  [{ rpc: "Electrum", rpc_data: {} }, "missing field `servers`"],
  [{ rpc: "Native", rpc_data: { rpc_url: "http://a", rpc_password: 5 } }, "rpc_password must be a string"],
];
const wrong = (method: string, params: Fields, reason: string): Entry =>
  failsV2(method, params, "bad_params", `Error parsing request: ${reason}`, {
    ...{ status: 400, type: "InvalidRequest", path: "dispatcher", data: reason },
  });
const taskOf = (task_id: number, more: Fields = {}): Fields => ({ task_id, ...more });
const balance = { LTC: { spendable: "0", unspendable: "0" } };
const enabledByTask: Expected = {
  status: "Ok",
  details: { ticker: "LTC", current_block: A_COUNT, wallet_balance: { wallet_type: "Iguana", address: "$aliceAddress", balance } },
};
const ENABLE = "task::enable_utxo";
const PIN: Fields = { user_action: { action_type: "TrezorPin", pin: "1" } };
const notAwaiting = (id: number, actual: string): string =>
  `RPC '${id}' task is in unexpected status. Actual: '${actual}', expected: 'AwaitingUserAction'`;

/** What every kind of task has in common, on a node where 0 is finished and 1 never ends. */
const commonRows = (name: string): readonly Entry[] => {
  const [answered, refused] = [calls("busy", "v2"), refusals("busy", "v2")];
  const noTask = (method: string, status: number, more: Fields = {}): Entry =>
    refused(`${name}::${method}`, taskOf(9, more), "NoSuchTask", "No such task '9'", { status, data: 9 });
  const internal = (id: number, actual: string): Entry =>
    refused(`${name}::user_action`, taskOf(id, PIN), "NotAwaiting", `Internal error: ${notAwaiting(id, actual)}`, {
      ...{ status: 500, type: "Internal", data: notAwaiting(id, actual) },
    });
  return [
    noTask("status", 400),
    noTask("cancel", 404),
    noTask("user_action", 400, PIN),
    answered(`${name}::status`, taskOf(0, { forget_if_finished: false }), having({ status: "Ok" })),
    answered(`${name}::status`, taskOf(1), having({ status: "InProgress" })),
    internal(0, "Finished"),
    internal(1, "InProgress"),
    refused(`${name}::cancel`, taskOf(0), "TaskFinished", "Task is finished already", { status: 409, data: 0 }),
    answered(`${name}::cancel`, taskOf(1), "success"),
    refused(`${name}::cancel`, taskOf(1), "NoSuchTask", "No such task '1'", { status: 404, data: 1 }),
    answered(`${name}::status`, taskOf(0), having({ status: "Ok" })),
    refused(`${name}::status`, taskOf(0), "NoSuchTask", "No such task '0'", { status: 400, data: 0, note: "its end has been read" }),
  ];
};
const TOO_MANY = "Too many tasks of this kind are running; wait for one or cancel it";

const TASK_ROWS: readonly Entry[] = [
  ...commonRows(ENABLE),
  ...commonRows("task::withdraw"),
  refusals("full", "v2")(`${ENABLE}::init`, task("KMD"), "TooManyTasks", TOO_MANY, { status: 429 }),
  refusals("full", "v2")("task::withdraw::init", { coin: "DOC", to: "R9", amount: "1" }, "TooManyTasks", TOO_MANY, { status: 429 }),
  ...unparsedMode.map(([mode, text]) => wrong(`${ENABLE}::init`, { ticker: "LTC", activation_params: { mode } }, text)),
  wrong(`${ENABLE}::init`, { ticker: "LTC" }, "missing field `activation_params`"),
  wrong(`${ENABLE}::init`, { ticker: "LTC", activation_params: 5 }, "invalid type: integer `5`, expected struct UtxoActivationParams"),
  wrong(`${ENABLE}::status`, {}, "missing field `task_id`"),
  wrong(
    `${ENABLE}::user_action`,
    { task_id: 0, user_action: { action_type: "Wave" } },
    "unknown variant `Wave`, expected `TrezorPin` or `TrezorPassphrase`",
  ),
  failsV2(`${ENABLE}::init`, task("DOC"), "CoinIsAlreadyActivated", "Coin DOC is activated already", {
    ...{ status: 400, data: { ticker: "DOC" } },
  }),
  failsV2(`${ENABLE}::init`, task("NOSUCH"), "CoinConfigIsNotFound", "Coin NOSUCH config is not found", { status: 400, data: "NOSUCH" }),
  refusals("offline", "v2")(
    `${ENABLE}::init`,
    task("NOPROTO"),
    "CoinProtocolParseError",
    "Coin NOPROTO protocol parsing failed: missing field `protocol`",
    {
      ...{ status: 400, data: { ticker: "NOPROTO", error: "missing field `protocol`" } },
    },
  ),
  refusals("offline", "v2")(
    `${ENABLE}::init`,
    task("IRIS"),
    "UnexpectedCoinProtocol",
    "Unexpected coin protocol of IRIS: TENDERMINT, and UTXO is needed",
    { status: 400, data: { ticker: "IRIS", protocol: { type: "TENDERMINT" } } },
  ),
  v2(`${ENABLE}::init`, task("LTC", { required_confirmations: 2 }), { task_id: 0 }),
  step("a second passes"),
  v2(`${ENABLE}::status`, taskOf(0, { forget_if_finished: false }), enabledByTask),
  v2(`${ENABLE}::status`, taskOf(0), enabledByTask),
  failsV2(`${ENABLE}::status`, taskOf(0), "NoSuchTask", "No such task '0'", { status: 400, data: 0 }),
  disableLtc,
  step("the daemon of LTC does not answer"),
  v2(`${ENABLE}::init`, { ticker: "LTC", activation_params: { mode: { rpc: "Native" } } }, { task_id: 1 }),
  v2(`${ENABLE}::status`, taskOf(1), { status: "InProgress", details: A_TEXT }),
  step("a second passes"),
  v2(`${ENABLE}::status`, taskOf(1), { status: "InProgress", details: "RequestingWalletBalance" }),
  v2(`${ENABLE}::cancel`, taskOf(1), "success"),
  failsV2(`${ENABLE}::status`, taskOf(1), "NoSuchTask", "No such task '1'", { status: 400, data: 1 }),
  step("the daemon of LTC is back"),
  step("the daemon of LTC fails"),
  v2(`${ENABLE}::init`, task("LTC"), { task_id: 2 }),
  step("a minute passes"),
  v2(`${ENABLE}::status`, taskOf(2), {
    status: "Error",
    details: {
      error:
        "Error on platform coin LTC creation: Deactivated coin due to error in balance querying: The LTC daemon cannot be used: HTTP 500.",
      error_path: `${ENABLE}::init`,
      error_trace: `${ENABLE}::init:1]`,
      error_type: "CoinCreationError",
      error_data: {
        ticker: "LTC",
        error: "Deactivated coin due to error in balance querying: The LTC daemon cannot be used: HTTP 500.",
      },
    },
  }),
  v2("task::withdraw::init", { coin: "DOC", to: "$aliceAddress", amount: "1" }, { task_id: 0 }),
  v2("task::withdraw::status", taskOf(0), {
    status: "Ok",
    details: having({ coin: "DOC", to: ["$aliceAddress"], my_balance_change: A_TEXT }),
  }),
  v2("task::withdraw::init", { coin: "DOC", to: "$aliceAddress", amount: "1000" }, { task_id: 1 }),
  v2("task::withdraw::status", taskOf(1), { status: "Error", details: having({ error_type: "NotSufficientBalance", error: A_TEXT }) }),
  failsV2("task::withdraw::init", { coin: "LTC", to: "R9", amount: "1" }, "NoSuchCoin", "No such coin LTC", {
    ...{ status: 404, data: { coin: "LTC" } },
  }),
];

const historyLine = (more: { readonly [key: string]: Expected }): Expected =>
  having({ coin: "LTC", tx_hash: A_HASH, internal_id: A_HASH, timestamp: A_TIME_SEC, transaction_type: "StandardTransfer", ...more });
const finished = { state: "Finished" };
const HISTORY_ROWS: readonly Entry[] = [
  step("the daemon of LTC is back"),
  flat("electrum", electrum("LTC", { required_confirmations: 4, tx_history: true }), enabledLtc),
  flat("my_tx_history", { coin: "LTC" }, having({ transactions: [], total: 0, sync_status: finished })),
  step("alice is paid 1 LTC three times"),
  flat(
    "my_tx_history",
    { coin: "LTC", limit: 2 },
    having({
      transactions: listOf(
        historyLine({
          my_balance_change: "1",
          received_by_me: "1",
          spent_by_me: "0",
          fee_details: { type: "Utxo", coin: "LTC", amount: "0" },
        }),
        2,
      ),
      ...{ limit: 2, skipped: 0, total: 3, total_pages: 2, from_id: null, page_number: null, sync_status: finished },
    }),
    { keep: { newest: "transactions.0.internal_id", second: "transactions.1.internal_id" } },
  ),
  flat(
    "my_tx_history",
    { coin: "LTC", limit: 2, page_number: 2 },
    having({ transactions: listOf(historyLine({ my_balance_change: "1" }), 1), skipped: 2, page_number: 2 }),
    { keep: { oldest: "transactions.0.internal_id" } },
  ),
  flat("my_tx_history", { coin: "LTC", from_id: "$second" }, having({ transactions: [historyLine({ tx_hash: "$oldest" })], skipped: 2 })),
  flat("my_tx_history", { coin: "LTC", max: true }, having({ transactions: listOf(historyLine({}), 3), limit: 3, total_pages: 1 })),
  fails("my_tx_history", { coin: "LTC", from_id: "00" }, "UnknownFromId", "from_id 00 is not found"),
  v2(
    "my_tx_history",
    { coin: "LTC", limit: 1, paging_options: { FromId: "$newest" } },
    having({
      transactions: [historyLine({ tx_hash: "$second" })],
      skipped: 1,
      total: 3,
      total_pages: 3,
      paging_options: { FromId: "$newest" },
    }),
  ),
  v2(
    "my_tx_history",
    { coin: "LTC", limit: 1, paging_options: { PageNumber: 3 } },
    having({ transactions: [historyLine({ tx_hash: "$oldest" })], sync_status: finished, target: { type: "iguana" } }),
  ),
  v2("my_tx_history", { coin: "LTC", paging_options: { FromId: "00" } }, having({ transactions: [], skipped: 0, total: 0 })),
  flat("withdraw", { coin: "LTC", to: "$aliceAddress", amount: "0.5", broadcast: true }, having({ coin: "LTC" }), {
    keep: { sent: "tx_hash", sentFee: "fee_details.amount", sentTotal: "total_amount" },
  }),
  step("a second passes"),
  flat(
    "my_tx_history",
    { coin: "LTC", limit: 1 },
    having({
      transactions: [
        historyLine({
          ...{
            tx_hash: "$sent",
            my_balance_change: "-$sentFee",
            total_amount: "$sentTotal",
            spent_by_me: "$sentTotal",
            block_height: 0,
            confirmations: 0,
          },
          ...{ from: ["$aliceAddress"], to: ["$aliceAddress"], fee_details: { type: "Utxo", coin: "LTC", amount: "$sentFee" } },
        }),
      ],
      total: 4,
    }),
  ),
];

export const ACTIVATION_ROWS: readonly Entry[] = [...ELECTRUM_ROWS, ...TASK_ROWS, ...HISTORY_ROWS];
