import type { Json } from "../../../src/rpc/parseJson.ts";
import { MUTE } from "../../fakes/rpc/fakeRpcCoin.ts";
import {
  A_COUNT,
  A_DECIMAL,
  A_HASH,
  A_TEXT,
  A_TIME_SEC,
  A_UUID,
  anyDetail,
  detail,
  type Entry,
  type Expected,
  having,
  SOME_HEX,
  triple,
} from "./row.ts";
import { calls, type Failing, refusals } from "./rowMakers.ts";

/** The wallet (interface document: sign_message, verify_message; reference rpc.md 4.7, 4.8, 5.1, 5.4). */

type Fields = { readonly [key: string]: Json };
const [flat, v2, fails, failsV2] = [calls("trade", "flat"), calls("trade", "v2"), refusals("trade", "flat"), refusals("trade", "v2")];
const step = (name: string): Entry => ({ on: "trade", step: name });
const unparsed = (method: string, params: Fields, reason: string): Entry =>
  failsV2(method, params, "bad_params", `Error parsing request: ${reason}`, {
    status: 400,
    type: "InvalidRequest",
    path: "dispatcher",
    data: reason,
  });

const noParams = (method: string, struct: string): Entry => ({
  ...{ on: "trade", method, style: "v2", params: null, error: "bad_params", status: 400, type: "InvalidRequest", path: "dispatcher" },
  ...{
    text: `Error parsing request: invalid type: null, expected struct ${struct}`,
    data: `invalid type: null, expected struct ${struct}`,
  },
});

const TO = "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR";
const NO_ADDRESS = `Cannot determine format: ["invalid address", "bech32: missing human-readable separator, \\"1\\"", "Checksum verification failed"]`;
const ONE_COIN = [
  "my_balance",
  "get_trade_fee",
  "max_taker_vol",
  "min_trading_vol",
  "send_raw_transaction",
  "validateaddress",
  "show_priv_key",
  "enable",
];

const withdrawal = (more: { readonly [key: string]: Expected } = {}): Expected => ({
  ...{ tx_hex: SOME_HEX, tx_hash: A_HASH, from: ["$aliceAddress"], to: [TO], total_amount: A_DECIMAL, spent_by_me: A_DECIMAL },
  ...{ received_by_me: A_DECIMAL, my_balance_change: A_DECIMAL, block_height: 0, timestamp: A_TIME_SEC },
  ...{ fee_details: { type: "Utxo", coin: "DOC", amount: A_DECIMAL }, coin: "DOC", internal_id: "", transaction_type: "StandardTransfer" },
  memo: null,
  ...more,
});
type Refused = readonly [params: Fields, error: string, text: string, more: Failing];
const withdrawals: readonly Refused[] = [
  [{ coin: "LTC", to: TO, amount: "1" }, "NoSuchCoin", "No such coin LTC", { status: 404, data: { coin: "LTC" } }],
  [
    { coin: "DOC", to: TO, amount: "100" },
    "NotSufficientBalance",
    "Not enough DOC to withdraw: available 100, required at least 100.00000211",
    { data: { coin: "DOC", available: "100", required: "100.00000211" } },
  ],
  [{ coin: "DOC-2", to: TO, max: true }, "ZeroBalanceToWithdrawMax", "Balance is zero", {}],
  [
    { coin: "DOC", to: TO, amount: "0.000009" },
    "AmountTooLow",
    "The amount 0.000009 is too small, required at least 0.00001",
    { data: { amount: "0.000009", threshold: "0.00001" } },
  ],
  [
    { coin: "DOC", to: TO },
    "AmountTooLow",
    "The amount 0 is too small, required at least 0.00001",
    { data: { amount: "0", threshold: "0.00001" } },
  ],
  [{ coin: "DOC", to: "RXX", amount: "1" }, "InvalidAddress", `Invalid address: ${NO_ADDRESS}`, { data: NO_ADDRESS }],
  [
    { coin: "DOC", to: TO, amount: "1", fee: { type: "EthGas", gas_price: "1", gas: 1 } },
    "InvalidFeePolicy",
    "Invalid fee policy: Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found EthGas",
    { data: "Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found EthGas" },
  ],
  [
    { coin: "DOC", to: TO, amount: "1", from: { derivation_path: "m/44'/141'/0'/0/0" } },
    "UnexpectedFromAddress",
    "Unexpected 'from': the coin has one address, and everything is sent from it",
    { data: "from" },
  ],
];
const both = (params: Fields, error: string, text: string, more: Failing): readonly Entry[] => [
  fails("withdraw", params, error, text),
  failsV2("withdraw", params, error, text, { status: 400, ...more }),
];

const NOT_HD = "You need to enable kdf with enable_hd to sign messages with a specific account/address";
const HD_SHAPE = "data did not match any variant of untagged enum HDAddressSelector";
const noCoin = (coin: string) => ({ status: 400, data: `No such coin: ${coin}` });
const message = (more: Fields): Fields => ({ coin: "DOC", message: "test", ...more });
const checked = (more: Fields): Fields => message({ signature: "$signature", address: "$aliceAddress", ...more });
const MUTE_SIGN = "Message signing is not supported by the given coin type";
const MUTE_VERIFY = "Message verification is not supported by the given coin type";
const NO_KEY = `${"A".repeat(87)}=`;

/** Account chains (reference rpc.md 5.1, 8.2). The address and the signature are those of seed A. */
const UNCOMPRESSED = { what: "an uncompressed key", holds: (v: unknown): boolean => typeof v === "string" && /^04[0-9a-f]{128}$/.test(v) };
const SWAP_CONTRACT = `0x${"24".repeat(20)}`;
const ETH_NODES = { urls: ["http://127.0.0.1:8545"], swap_contract_address: SWAP_CONTRACT };
const ETH_ADDRESS = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";
const ETH_SIGNATURE =
  "0xcdf11a9c4591fb7334daa4b21494a2590d3f7de41c7d2b333a5b61ca59da9b311b492374cc0ba4fbae53933260fa4b1c18f15d95b694629a7b0620eec77a938600";
const [eth, ethV2, ethFails, ethFailsV2] = [
  calls("accounts", "flat"),
  calls("accounts", "v2"),
  refusals("accounts", "flat"),
  refusals("accounts", "v2"),
];
const enabledAs = (ticker: string, balance: string, confirmations = 1): Expected => ({
  ...{ result: "success", address: ETH_ADDRESS, balance, unspendable_balance: "0", coin: ticker },
  ...{ required_confirmations: confirmations, requires_notarization: false },
});
const noFee = { coin: "TOK-ERC20", to: ETH_ADDRESS, amount: "1", fee: { type: "EthGas", gas_price: "10", gas: 60_000 } };
const POOR = "Not enough ETH to afford fee. Available 0, required at least 0.0006";
const sendEth = { coin: "ETH", to: ETH_ADDRESS, amount: "1", fee: { type: "EthGas", gas_price: "10", gas: 21_000 } };
const BELOW_BASE_FEE = { type: "EthGasEip1559", max_fee_per_gas: "0.5", max_priority_fee_per_gas: "0.1", gas_option: null };
const TOO_CHEAP = "the price of gas, 0.5 gwei, is below the chain's base fee of 1 gwei";

const BAD_CONTRACT = "contract_address must have 40 hex digits after 0x, not 2";
const ODD_DECIMALS = "its contract has 8 decimal places, and the coins file says 6";
const ODD = { coin: "ODD-ERC20", reason: ODD_DECIMALS };
const AWAY = "None of the ETH nodes can be used";
const ethWith = (ticker: string, tokens: readonly string[]): Fields => ({
  ticker,
  nodes: [{ url: "http://127.0.0.1:8545" }],
  swap_contract_address: SWAP_CONTRACT,
  erc20_tokens_requests: tokens.map((token) => ({ ticker: token })),
});
const withTokens = (
  ticker: string,
  tokens: readonly string[],
  error: string,
  text: string,
  data: Expected,
  type?: string,
): readonly Entry[] => [
  ethFailsV2("enable_eth_with_tokens", ethWith(ticker, tokens), error, text, { status: 400, data, ...(type ? { type } : {}) }),
];
const activated = (balances: { readonly spendable: string; readonly unspendable: string } | undefined): Expected => {
  const common = { derivation_method: { type: "Iguana" }, pubkey: UNCOMPRESSED };
  const tokens = balances ? { balances: { "TOK-ERC20": { spendable: "500", unspendable: "0" } } } : { tickers: [] };
  return {
    ...{ current_block: 100, nfts_infos: {} },
    eth_addresses_infos: { [ETH_ADDRESS]: { ...common, ...(balances ? { balances } : {}) } },
    erc20_addresses_infos: { [ETH_ADDRESS]: { ...common, ...tokens } },
  };
};

const ACCOUNT_ROWS: readonly Entry[] = [
  ethFails("enable", { coin: "ETH", swap_contract_address: SWAP_CONTRACT }, "BadAccountNodes", "invalid type: null, expected a sequence"),
  ethFails(
    "enable",
    { coin: "ETH", ...ETH_NODES, urls: [] },
    "BadAccountNodes",
    "Enable request for ETH coin must have at least 1 node URL",
  ),
  ethFails(
    "enable",
    { coin: "ETH", ...ETH_NODES, urls: ["ftp://x"] },
    "BadAccountNodes",
    "Invalid node address 'ftp://x'. Only http(s) and ws(s) nodes are supported",
  ),
  ethFails(
    "enable",
    { coin: "ETH", ...ETH_NODES, swap_contract_address: `0x${"0".repeat(40)}` },
    "BadAccountNodes",
    "swap_contract_address can't be zero address",
  ),
  ethFails(
    "enable",
    { coin: "ETH", urls: ETH_NODES.urls },
    "BadAccountNodes",
    "swap_contract_address is required for trading-capable coins",
  ),
  eth("enable", { coin: "ETH", ...ETH_NODES, required_confirmations: 3 }, enabledAs("ETH", "0", 3)),
  eth("enable", { coin: "TOK-ERC20", swap_contract_address: SWAP_CONTRACT }, enabledAs("TOK-ERC20", "500"), {
    note: "the platform coin's nodes serve it",
  }),
  ethFails(
    "enable",
    { coin: "ODD-ERC20", ...ETH_NODES },
    "ChainMismatch",
    "ODD-ERC20 cannot be enabled: its contract has 8 decimal places, and the coins file says 6",
  ),
  eth("my_balance", { coin: "TOK-ERC20" }, { coin: "TOK-ERC20", balance: "500", unspendable_balance: "0", address: ETH_ADDRESS }),
  eth("validateaddress", { coin: "ETH", address: ETH_ADDRESS }, { is_valid: true }),
  eth("validateaddress", { coin: "ETH", address: ETH_ADDRESS.toLowerCase() }, { is_valid: false, reason: "Invalid address checksum" }),
  eth("validateaddress", { coin: "ETH", address: ETH_ADDRESS.slice(2) }, { is_valid: false, reason: "Address must be prefixed with 0x" }),
  eth(
    "convertaddress",
    { coin: "ETH", from: ETH_ADDRESS.toLowerCase(), to_address_format: { format: "mixedcase" } },
    { address: ETH_ADDRESS },
  ),
  ethFails(
    "convertaddress",
    { coin: "ETH", from: ETH_ADDRESS, to_address_format: { format: "singlecase" } },
    "NotConvertible",
    "conversion is available only to mixed-case",
  ),
  ethFails(
    "convertaddress",
    { coin: "ETH", from: ETH_ADDRESS, to_address_format: { format: "segwit" } },
    "NotConvertible",
    "ETH has no segwit addresses",
  ),
  eth("show_priv_key", { coin: "ETH" }, { coin: "ETH", priv_key: "0x809465b17d0a4ddb3e4c69e8f23c2cabad868f51f8bed5c765ad1d6516c3306f" }),
  ethV2("sign_message", { coin: "ETH", message: "test" }, { signature: ETH_SIGNATURE }),
  ethFailsV2("sign_message", { coin: "TOK-ERC20", message: "test" }, "PrefixNotFound", "sign_message_prefix is not set in coin config", {
    status: 500,
    note: "flat enable takes the token's own prefix",
  }),
  ethV2("verify_message", { coin: "ETH", message: "test", signature: ETH_SIGNATURE, address: ETH_ADDRESS }, { is_valid: true }),
  ethFailsV2(
    "verify_message",
    { coin: "ETH", message: "test", signature: ETH_SIGNATURE.slice(0, -2), address: ETH_ADDRESS },
    "InvalidSignature",
    "Signature decoding error: Invalid Signature",
    { status: 400, type: "SignatureDecodingError", data: "Invalid Signature" },
  ),
  eth("get_trade_fee", { coin: "TOK-ERC20" }, { coin: "ETH", ...triple("amount", "0.000309", 309n, 1_000_000n) }),
  { on: "accounts", step: "the nodes tell no balance of the token" },
  ethFails("my_balance", { coin: "TOK-ERC20" }, "Transport", "Transport error: the ETH nodes have told no balance of TOK-ERC20"),
  { on: "accounts", step: "the nodes tell the token's balance" },
  { on: "accounts", step: "the nodes tell no price" },
  ethFails("get_trade_fee", { coin: "TOK-ERC20" }, "Transport", "Transport error: the ETH nodes have told no price of gas"),
  { on: "accounts", step: "the nodes tell a price" },
  ethFails("withdraw", noFee, "NotSufficientPlatformBalanceForFee", POOR),
  ethFailsV2("withdraw", noFee, "NotSufficientPlatformBalanceForFee", POOR, {
    status: 400,
    data: { coin: "ETH", available: "0", required: "0.0006" },
  }),
  ethFails("withdraw", { coin: "ETH", to: ETH_ADDRESS, max: true }, "ZeroBalanceToWithdrawMax", "Balance is zero"),
  { on: "accounts", step: "the account is paid 10 ETH" },
  eth(
    "withdraw",
    sendEth,
    {
      ...{ tx_hex: SOME_HEX, tx_hash: A_HASH, from: [ETH_ADDRESS], to: [ETH_ADDRESS] },
      ...{ total_amount: "1", spent_by_me: "1.00021", received_by_me: "1", my_balance_change: "-0.00021" },
      ...{ block_height: 0, timestamp: A_TIME_SEC, coin: "ETH", internal_id: "", transaction_type: "StandardTransfer", memo: null },
      fee_details: {
        ...{ type: "Eth", coin: "ETH", gas: 21_000, gas_price: "0.00000001" },
        ...{ max_fee_per_gas: null, max_priority_fee_per_gas: null, total_fee: "0.00021" },
      },
    },
    { keep: { first: "tx_hex", firstHash: "tx_hash" } },
  ),
  eth("withdraw", { ...sendEth, amount: "2" }, having({ total_amount: "2" }), { keep: { second: "tx_hex" } }),
  eth("send_raw_transaction", { coin: "ETH", tx_hex: "0x$first" }, { tx_hash: "$firstHash" }),
  ethFails(
    "send_raw_transaction",
    { coin: "ETH", tx_hex: "$second" },
    "Rejected",
    "nonce 0 is taken by $firstHash, which was sent; make a new one with withdraw",
  ),
  ethFails(
    "withdraw",
    { ...sendEth, amount: "9" },
    "NotSufficientBalance",
    "Not enough ETH to withdraw: available 8.99979, required at least 9",
    { note: "what was sent and is in no block yet counts as gone" },
  ),
  ethFails(
    "withdraw",
    { ...sendEth, fee: { type: "UtxoFixed", amount: "1" } },
    "InvalidFeePolicy",
    "Invalid fee policy: Expected 'EthGas' or 'EthGasEip1559' fee types, found UtxoFixed",
  ),
  ethFails("withdraw", { ...sendEth, fee: BELOW_BASE_FEE }, "InvalidFee", `Invalid fee parameters: ${TOO_CHEAP}`),
  ethFailsV2("withdraw", { ...sendEth, fee: BELOW_BASE_FEE }, "InvalidFee", `Invalid fee parameters: ${TOO_CHEAP}`, {
    status: 400,
    data: { reason: TOO_CHEAP, details: { provided_fee_cap_gwei: "0.5", required_base_fee_gwei: "1" } },
  }),
  eth("min_trading_vol", { coin: "ETH" }, { coin: "ETH", ...triple("min_trading_vol", "0.000000000000000001", 1n, 10n ** 18n) }),
  eth("min_trading_vol", { coin: "TOK-ERC20" }, { coin: "TOK-ERC20", ...triple("min_trading_vol", "0.000001", 1n, 1_000_000n) }),
  ethV2(
    "max_maker_vol",
    { coin: "ETH" },
    {
      coin: "ETH",
      volume: detail("8.9970708", 22_492_677n, 2_500_000n),
      balance: detail("10", 10n, 1n),
      locked_by_swaps: detail("1.00021", 100_021n, 100_000n),
    },
    { note: "room for payment and refund at eight times the price: 165000 x 16.48 gwei" },
  ),
  ethV2("max_maker_vol", { coin: "TOK-ERC20" }, having({ volume: detail("500", 500n, 1n) })),
  eth("max_taker_vol", { coin: "ETH" }, { coin: "ETH", result: { numer: "87380688843", denom: "9725000000" } }),
  eth(
    "trade_preimage",
    { base: "TOK-ERC20", rel: "DOC", price: "1", volume: "1", swap_method: "setprice" },
    having({
      base_coin_fee: { coin: "ETH", ...triple("amount", "0.0011021", 11_021n, 10_000_000n), paid_from_trading_vol: false },
      rel_coin_fee: having({ coin: "DOC", paid_from_trading_vol: true }),
    }),
    { note: "500000 gas for two approvals, the payment and the refund, at today's price and 7 %" },
  ),
  eth("disable_coin", { coin: "ETH" }, { coin: "ETH", cancelled_orders: [], passivized: true }, { note: "a token needs it" }),
  ethFails("my_balance", { coin: "ETH" }, "NoSuchCoin", "No such coin: ETH"),
  eth("disable_coin", { coin: "TOK-ERC20" }, { coin: "TOK-ERC20", cancelled_orders: [], passivized: false }),
  eth("enable", { coin: "ETH", ...ETH_NODES }, enabledAs("ETH", "10"), { note: "nothing needs it as it was" }),
  eth("disable_coin", { coin: "ETH" }, { coin: "ETH", cancelled_orders: [], passivized: false }),

  ethFailsV2("enable_erc20", { ticker: "TOK-ERC20" }, "PlatformCoinIsNotActivated", "Platform coin ETH is not activated", {
    status: 400,
    data: "ETH",
  }),
  ...withTokens("NOSUCH", [], "PlatformConfigIsNotFound", "Platform NOSUCH config is not found", "NOSUCH"),
  ...withTokens("DOC", [], "UnexpectedPlatformProtocol", "Unexpected platform protocol for DOC: ETH is needed", "DOC"),
  ethFailsV2(
    "enable_eth_with_tokens",
    { ticker: "ETH", nodes: [], swap_contract_address: SWAP_CONTRACT },
    "BadAccountNodes",
    "Enable request for ETH coin must have at least 1 node URL",
    { status: 400, type: "InvalidPayload", data: "Enable request for ETH coin must have at least 1 node URL" },
  ),
  ...withTokens("ETH", ["NOSUCH"], "TokenConfigIsNotFound", "Token NOSUCH config is not found", "NOSUCH"),
  ...withTokens("ETH", ["DOC"], "UnexpectedTokenProtocol", "Unexpected token protocol UTXO for DOC", { ticker: "DOC", protocol: "UTXO" }),
  ...withTokens("ETH", ["TOK-ERC20", "TOK-ERC20"], "TokenIsAlreadyActivated", "Token TOK-ERC20 is already activated", "TOK-ERC20"),
  ...withTokens("ETH", ["FAR-ERC20"], "PlatformCoinMismatch", "Token FAR-ERC20 is not a token of the platform coin ETH", {
    token_ticker: "FAR-ERC20",
    platform_coin_ticker: "ETH",
  }),
  ...withTokens(
    "ETH",
    ["BAD-ERC20"],
    "NotSupported",
    `BAD-ERC20 is not supported by this node: ${BAD_CONTRACT}`,
    { coin: "BAD-ERC20", reason: BAD_CONTRACT },
    "InvalidConfig",
  ),
  ...withTokens("ETH", ["ODD-ERC20"], "ChainMismatch", `ODD-ERC20 cannot be enabled: ${ODD_DECIMALS}`, ODD, "InvalidConfig"),
  { on: "accounts", step: "the nodes are away" },
  ethFailsV2("enable_eth_with_tokens", ethWith("ETH", ["TOK-ERC20"]), "DaemonFailed", `Transport error: ${AWAY}`, {
    ...{ status: 502, type: "Transport", data: AWAY },
  }),
  { on: "accounts", step: "the nodes are back" },
  eth("get_enabled_coins", {}, [{ ticker: "DOC", address: "R9o9xTocqr6CeEDGDH6mEYpwLoMz6jNjMW" }], { note: "all or none" }),
  ethV2("enable_eth_with_tokens", { ...ethWith("ETH", []), get_balances: false, required_confirmations: 3 }, activated(undefined)),
  ...withTokens("ETH", [], "PlatformIsAlreadyActivated", "Platform coin ETH is already activated", "ETH"),
  ethFailsV2("enable_erc20", { ticker: "NOSUCH" }, "TokenConfigIsNotFound", "Token NOSUCH config is not found", {
    ...{ status: 400, data: "NOSUCH" },
  }),
  ethFailsV2("enable_erc20", { ticker: "DOC" }, "UnexpectedTokenProtocol", "Unexpected token protocol UTXO for DOC", {
    status: 400,
    data: { ticker: "DOC", protocol: "UTXO" },
  }),
  ethFailsV2("enable_erc20", { ticker: "BAD-ERC20" }, "NotSupported", `BAD-ERC20 is not supported by this node: ${BAD_CONTRACT}`, {
    ...{ status: 400, type: "InvalidConfig", data: { coin: "BAD-ERC20", reason: BAD_CONTRACT } },
  }),
  ethFailsV2("enable_erc20", { ticker: "ODD-ERC20" }, "ChainMismatch", `ODD-ERC20 cannot be enabled: ${ODD_DECIMALS}`, {
    ...{ status: 400, type: "InvalidConfig", data: ODD },
  }),
  { on: "accounts", step: "the nodes are away" },
  ethFailsV2("enable_erc20", { ticker: "TOK-ERC20" }, "DaemonFailed", `Transport error: ${AWAY}`, {
    ...{ status: 502, type: "Transport", data: AWAY },
  }),
  { on: "accounts", step: "the nodes are back" },
  ethV2(
    "enable_erc20",
    { ticker: "TOK-ERC20", activation_params: { required_confirmations: 7 } },
    {
      ...{ platform_coin: "ETH", token_contract_address: "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB", required_confirmations: 7 },
      balances: { [ETH_ADDRESS]: { spendable: "500", unspendable: "0" } },
    },
  ),
  ethFailsV2("enable_erc20", { ticker: "TOK-ERC20" }, "TokenIsAlreadyActivated", "Token TOK-ERC20 is already activated", {
    ...{ status: 400, data: "TOK-ERC20" },
  }),
  ethV2("get_swap_gas_fee_policy", { coin: "ETH" }, "Legacy"),
  ethV2("set_swap_gas_fee_policy", { coin: "TOK-ERC20", swap_gas_fee_policy: "High" }, "High"),
  ethV2("get_swap_gas_fee_policy", { coin: "ETH" }, "High", { note: "set on a token it is its platform coin's" }),
  ethV2("set_swap_gas_fee_policy", { coin: "ETH" }, "Legacy"),
  ethFailsV2("get_swap_gas_fee_policy", { coin: "DOC" }, "NotSupported", "DOC is on no account chain and pays no gas", {
    ...{ status: 400, data: "DOC" },
  }),
  ethFailsV2("set_swap_gas_fee_policy", { coin: "DOC" }, "NotSupported", "DOC is on no account chain and pays no gas", {
    ...{ status: 400, data: "DOC" },
  }),
  ethFailsV2("get_swap_gas_fee_policy", { coin: "LTC" }, "NoSuchCoin", "No such coin LTC", { status: 404, data: { coin: "LTC" } }),
  ethFailsV2("set_swap_gas_fee_policy", { coin: "LTC" }, "NoSuchCoin", "No such coin LTC", { status: 404, data: { coin: "LTC" } }),
  ethV2(
    "sign_message",
    { coin: "TOK-ERC20", message: "test" },
    { signature: ETH_SIGNATURE },
    { note: "such a token inherits the platform coin's prefix" },
  ),
  eth("disable_coin", { coin: "ETH", force_disable: true }, { coin: "ETH", cancelled_orders: [], passivized: false }),
  ethFails("my_balance", { coin: "TOK-ERC20" }, "NoSuchCoin", "No such coin: TOK-ERC20"),
  ethV2("enable_eth_with_tokens", ethWith("ETH", ["TOK-ERC20"]), activated({ spendable: "10", unspendable: "0" })),
];

/** Whether it is out nobody knows. */
const lost = (txid: string): string =>
  `The DOC daemon cannot be used: HTTP 500; transaction ${txid} may be out: look for it before you pay again`;

export const WALLET_ROWS: readonly Entry[] = [
  ...ACCOUNT_ROWS,
  flat("my_balance", { coin: "DOC" }, { coin: "DOC", balance: "100", unspendable_balance: "0", address: "$aliceAddress" }),
  fails("my_balance", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC"),
  ...ONE_COIN.map((method) => fails(method, {}, "bad_params", "No 'coin' field")),
  flat(
    "get_enabled_coins",
    {},
    ["DOC", "MARTY", "WALLET", "KMD", "DOC-2"].map((ticker) => ({ ticker, address: A_TEXT })),
  ),
  v2("get_enabled_coins", {}, { coins: ["DOC", "MARTY", "WALLET", "KMD", "DOC-2"].map((ticker) => ({ ticker })) }),
  { on: "trade", method: "get_enabled_coins", style: "v2", params: null, result: having({}), note: "params may be left out" },
  noParams("sign_message", "SignatureRequest"),
  noParams("verify_message", "VerificationRequest"),
  v2("get_locked_amount", { coin: "DOC" }, { coin: "DOC", locked_amount: detail("0", 0n, 1n) }),
  failsV2("get_locked_amount", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC", { status: 500, data: { coin: "LTC" } }),
  unparsed("get_locked_amount", {}, "missing field `coin`"),

  flat("validateaddress", { coin: "DOC", address: TO }, { is_valid: true }),
  flat("validateaddress", { coin: "DOC", address: "RXX" }, { is_valid: false, reason: NO_ADDRESS }),
  fails("validateaddress", { coin: "LTC", address: TO }, "NoSuchCoin", "No such coin: LTC"),
  flat("convertaddress", { coin: "DOC", from: TO, to_address_format: { format: "standard" } }, { address: TO }),
  fails("convertaddress", { coin: "LTC", from: TO, to_address_format: { format: "standard" } }, "NoSuchCoin", "No such coin: LTC"),
  fails(
    "convertaddress",
    { coin: "DOC", from: TO, to_address_format: { format: "segwit" } },
    "NotConvertible",
    "DOC has no segwit addresses",
  ),
  flat("show_priv_key", { coin: "DOC" }, { coin: "DOC", priv_key: A_TEXT }),
  fails("show_priv_key", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC"),
  flat("set_required_confirmations", { coin: "MARTY", confirmations: 3 }, { coin: "MARTY", confirmations: 3 }),
  flat("set_requires_notarization", { coin: "MARTY", requires_notarization: true }, { coin: "MARTY", requires_notarization: true }),
  flat(
    "setprice",
    { base: "MARTY", rel: "DOC", price: "1", volume: "1" },
    having({ conf_settings: { base_confs: 3, base_nota: true, rel_confs: 1, rel_nota: false } }),
    {
      note: "both settings count from here on",
    },
  ),
  flat("set_required_confirmations", { coin: "MARTY", confirmations: 1 }, { coin: "MARTY", confirmations: 1 }),
  flat("set_requires_notarization", { coin: "MARTY", requires_notarization: false }, { coin: "MARTY", requires_notarization: false }),
  fails("set_required_confirmations", { coin: "LTC", confirmations: 3 }, "NoSuchCoin", "No such coin LTC"),
  fails("set_requires_notarization", { coin: "LTC", requires_notarization: true }, "NoSuchCoin", "No such coin LTC"),
  flat(
    "my_tx_history",
    { coin: "DOC", limit: 5, from_id: "x", page_number: 2 },
    {
      ...{ transactions: [], limit: 5, skipped: 0, from_id: "x", total: 0, current_block: A_COUNT, sync_status: { state: "NotEnabled" } },
      ...{ page_number: 2, total_pages: 0 },
    },
  ),
  fails("my_tx_history", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC"),
  v2(
    "my_tx_history",
    { coin: "DOC" },
    {
      ...{
        coin: "DOC",
        target: { type: "iguana" },
        current_block: A_COUNT,
        transactions: [],
        sync_status: { state: "NotEnabled" },
        limit: 10,
      },
      ...{ skipped: 0, total: 0, total_pages: 0, paging_options: { PageNumber: 1 } },
    },
  ),
  failsV2("my_tx_history", { coin: "LTC" }, "CoinIsNotActive", "LTC", { status: 404, data: "LTC" }),

  v2("sign_message", message({}), { signature: A_TEXT }, { keep: { signature: "signature" } }),
  v2("verify_message", checked({}), { is_valid: true }),
  v2("verify_message", checked({ message: "another" }), { is_valid: false }),
  v2("verify_message", checked({ address: TO }), { is_valid: false }),
  failsV2("sign_message", message({ coin: "LTC" }), "CoinIsNotFound", "Coin is not found: No such coin: LTC", noCoin("LTC")),
  failsV2(
    "sign_message",
    message({ coin: "LTC", address: { derivation_path: "m/44'/141'/0'/0/0" } }),
    "BadSelector",
    `Invalid request: ${NOT_HD}`,
    {
      ...{ status: 400, type: "InvalidRequest", data: NOT_HD },
      note: "before the coin",
    },
  ),
  failsV2("sign_message", message({ coin: "DOC-2" }), "PrefixNotFound", "sign_message_prefix is not set in coin config", { status: 500 }),
  unparsed("sign_message", { coin: "DOC" }, "missing field `message`"),
  unparsed("sign_message", message({ message: 1 }), "invalid type: integer `1`, expected a string"),
  unparsed("sign_message", message({ address: {} }), HD_SHAPE),
  failsV2(
    "verify_message",
    checked({ coin: "LTC", address: "RXX" }),
    "CoinIsNotFound",
    "Coin is not found: No such coin: LTC",
    noCoin("LTC"),
  ),
  failsV2(
    "verify_message",
    checked({ coin: "DOC-2", address: "RXX", signature: "" }),
    "AddressDecoding",
    `Address decoding error: ${NO_ADDRESS}`,
    {
      ...{ status: 400, type: "AddressDecodingError", data: NO_ADDRESS },
      note: "before the prefix",
    },
  ),
  failsV2("verify_message", checked({ coin: "DOC-2", signature: "" }), "PrefixNotFound", "sign_message_prefix is not set in coin config", {
    status: 500,
  }),
  ...(
    [
      ["", "could not convert slice to array"],
      ["AAAA", "could not convert slice to array"],
      ["abc", "Invalid padding"],
      ["abz=", "Invalid last symbol 122, offset 2."],
      ["ab*=", "Invalid symbol 42, offset 2."],
      ["a===", "Invalid symbol 61, offset 1."],
    ] as const
  ).map(([signature, detail]) =>
    failsV2("verify_message", checked({ signature }), "SignatureDecoding", `Signature decoding error: ${detail}`, {
      status: 400,
      type: "SignatureDecodingError",
      data: detail,
    }),
  ),
  failsV2("verify_message", checked({ signature: NO_KEY }), "InvalidSignature", "Signature decoding error: Invalid Signature", {
    status: 400,
    type: "SignatureDecodingError",
    data: "Invalid Signature",
  }),
  refusals("kdf", "v2")("sign_message", message({ coin: "LTC" }), "InternalError", "Internal error: No such coin: LTC", {
    status: 500,
    data: "No such coin: LTC",
  }),
  refusals("kdf", "v2")("verify_message", checked({ address: "RXX", signature: "x" }), "InvalidAddress", `Invalid request: ${NO_ADDRESS}`, {
    status: 400,
    type: "InvalidRequest",
    data: NO_ADDRESS,
  }),
  refusals("kdf", "v2")("verify_message", checked({ signature: NO_KEY }), "InternalError", "Internal error: Invalid Signature", {
    status: 500,
    data: "Invalid Signature",
  }),
  refusals("mute", "v2")("sign_message", message({ coin: MUTE }), "NotSupported", `Invalid request: ${MUTE_SIGN}`, {
    ...{ status: 400, type: "InvalidRequest", data: MUTE_SIGN },
    note: "no coin that can be enabled yet is of such a kind",
  }),
  refusals("mute", "v2")("verify_message", checked({ coin: MUTE }), "NotSupported", `Invalid request: ${MUTE_VERIFY}`, {
    status: 400,
    type: "InvalidRequest",
    data: MUTE_VERIFY,
  }),

  ...withdrawals.flatMap((refused) => both(...refused)),
  flat(
    "withdraw",
    { coin: "DOC", to: TO, amount: "1" },
    withdrawal({
      total_amount: "100",
      spent_by_me: "100",
      received_by_me: "98.99999755",
      my_balance_change: "-1.00000245",
      fee_details: { type: "Utxo", coin: "DOC", amount: "0.00000245" },
    }),
  ),
  v2(
    "withdraw",
    { coin: "DOC", to: TO, amount: 1, fee: { type: "UtxoFixed", amount: "0.001" } },
    withdrawal({ my_balance_change: "-1.001", fee_details: { type: "Utxo", coin: "DOC", amount: "0.001" } }),
    {
      keep: { hex: "tx_hex", made: "tx_hash" },
    },
  ),
  flat(
    "withdraw",
    { coin: "MARTY", to: TO, max: true },
    withdrawal({
      coin: "MARTY",
      received_by_me: "0",
      my_balance_change: "-100",
      fee_details: { type: "Utxo", coin: "MARTY", amount: A_DECIMAL },
    }),
  ),
  v2(
    "withdraw",
    { coin: "MARTY", to: TO, amount: "1", broadcast: true },
    withdrawal({ coin: "MARTY", fee_details: { type: "Utxo", coin: "MARTY", amount: A_DECIMAL } }),
    {
      keep: { sent: "tx_hash", sentHex: "tx_hex" },
    },
  ),
  flat("send_raw_transaction", { coin: "DOC", tx_hex: "$hex" }, { tx_hash: "$made" }),
  step("a minute passes"),
  v2("get_raw_transaction", { coin: "MARTY", tx_hash: "$sent" }, { tx_hex: "$sentHex" }),
  failsV2("get_raw_transaction", { coin: "LTC", tx_hash: "00" }, "NoSuchCoin", "No such coin LTC", { status: 404, data: { coin: "LTC" } }),
  failsV2("get_raw_transaction", { coin: "DOC", tx_hash: "zz" }, "InvalidHashError", "Invalid  hash: Invalid character 'z' at position 0", {
    status: 400,
    data: "Invalid character 'z' at position 0",
  }),
  failsV2("get_raw_transaction", { coin: "DOC", tx_hash: "$sent" }, "HashNotExist", "Hash does not exist: $sent", {
    status: 400,
    data: "$sent",
  }),
  fails("send_raw_transaction", { coin: "LTC", tx_hex: "00" }, "NoSuchCoin", "No such coin: LTC"),
  fails("send_raw_transaction", { coin: "DOC" }, "bad_params", "No 'tx_hex' or 'tx_json' field"),
  fails("send_raw_transaction", { coin: "DOC", tx_hex: "zz" }, "BadHex", "Invalid character 'z' at position 0"),
  fails("send_raw_transaction", { coin: "DOC", tx_hex: "0x0z" }, "BadHex", "Invalid character 'z' at position 1"),
  fails("send_raw_transaction", { coin: "DOC", tx_hex: "000" }, "BadHex", "Odd number of digits"),
  fails("send_raw_transaction", { coin: "DOC", tx_hex: "00" }, "Rejected", "not a transaction of DOC: unexpected end of data"),
  flat("withdraw", { coin: "DOC", to: TO, amount: "2" }, withdrawal(), { keep: { next: "tx_hex" } }),
  step("the daemon of DOC refuses what it is sent"),
  fails("send_raw_transaction", { coin: "DOC", tx_hex: "$next" }, "Rejected", "dust"),
  fails("withdraw", { coin: "DOC", to: TO, amount: "1", broadcast: true }, "Rejected", "Transport error: dust"),
  failsV2("withdraw", { coin: "DOC", to: TO, amount: "1", broadcast: true }, "Rejected", "Transport error: dust", {
    status: 502,
    type: "Transport",
    data: "dust",
  }),
  step("the daemon of DOC is back"),
  step("the daemon of DOC gives no reply to what it is sent"),
  fails(
    "send_raw_transaction",
    { coin: "DOC", tx_hex: "$next" },
    "Transport",
    "The DOC daemon cannot be used: HTTP 500; whether the transaction was sent is not known",
  ),
  // What it spends stays taken: it may be out.
  step("the daemon of DOC is back"),
  step("alice is paid 100 DOC"),
  flat("withdraw", { coin: "DOC", to: TO, amount: "1" }, withdrawal(), { keep: { lost: "tx_hash" } }),
  step("the daemon of DOC gives no reply to what it is sent"),
  fails("withdraw", { coin: "DOC", to: TO, amount: "1", broadcast: true }, "Transport", `Transport error: ${lost("$lost")}`),
  step("the daemon of DOC is back"),
  step("alice is paid 100 DOC"),
  flat("withdraw", { coin: "DOC", to: TO, amount: "1" }, withdrawal(), { keep: { lostToo: "tx_hash" } }),
  step("the daemon of DOC gives no reply to what it is sent"),
  failsV2("withdraw", { coin: "DOC", to: TO, amount: "1", broadcast: true }, "Transport", `Transport error: ${lost("$lostToo")}`, {
    status: 502,
    data: lost("$lostToo"),
  }),
  step("the daemon of DOC is back"),
  step("alice is paid 100 DOC"),

  fails("enable", { coin: "DOC" }, "AlreadyActive", "Coin DOC already initialized"),
  fails(
    "enable",
    { coin: "NOSUCH" },
    "Mm2NotSet",
    "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported",
  ),
  fails(
    "enable",
    { coin: "NOSUCH", mm2: 1 },
    "ProtocolMissing",
    '"protocol" field is missing in coins file. NOSUCH needs an entry with one, for example {"type":"UTXO"}',
  ),
  fails("enable", { coin: "LTC", rpc_user: "u" }, "HalfCredentials", "rpc_user and rpc_password need rpc_url beside them"),
  step("the daemon of LTC fails"),
  fails(
    "enable",
    { coin: "LTC" },
    "DaemonFailed",
    "Deactivated coin due to error in balance querying: The LTC daemon cannot be used: HTTP 500.",
  ),
  step("LTC is being enabled"),
  fails("enable", { coin: "LTC" }, "BeingEnabled", "Coin LTC is being enabled; nothing has answered yet"),
  step("LTC is enabled"),
  flat("disable_coin", { coin: "LTC" }, { coin: "LTC", cancelled_orders: [], passivized: false }),
  flat(
    "enable",
    { coin: "LTC", mm2: 1, required_confirmations: 4, requires_notarization: true },
    {
      ...{ result: "success", address: "$aliceAddress", balance: "0", unspendable_balance: "0", coin: "LTC", required_confirmations: 4 },
      ...{ requires_notarization: true, mature_confirmations: 100 },
    },
  ),
  step("KMD is being disabled"),
  fails("enable", { coin: "KMD" }, "BeingDisabled", "Coin KMD is being disabled; try again"),
  step("KMD is disabled"),
  refusals("offline", "flat")(
    "enable",
    { coin: "NOMM2" },
    "Mm2NotSet",
    "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported",
  ),
  refusals("offline", "flat")(
    "enable",
    { coin: "NOPROTO" },
    "ProtocolMissing",
    '"protocol" field is missing in coins file. NOPROTO needs an entry with one, for example {"type":"UTXO"}',
  ),
  refusals("offline", "flat")(
    "enable",
    { coin: "IRIS" },
    "NotSupported",
    "IRIS is not supported by this node: protocol TENDERMINT is not supported",
  ),
  refusals("offline", "flat")(
    "enable",
    { coin: "LTC" },
    "DaemonConfig",
    "Error parsing the native wallet configuration '$home/.komodo/LTC/LTC.conf': Cannot read the daemon's conf file $home/.komodo/LTC/LTC.conf: there is no such file.",
  ),
  refusals("offline", "flat")(
    "enable",
    { coin: "LTC", rpc_url: "ftp://127.0.0.1" },
    "BadDaemonUrl",
    "rpc_url: must begin with http:// or https://",
  ),

  fails("disable_coin", { coin: "NOSUCH" }, "NoSuchCoin", "No such coin: NOSUCH", {
    extra: { orders: { matching: [], cancelled: [] }, active_swaps: [] },
  }),
  fails("disable_coin", {}, "bad_params", "No 'coin' field"),
  flat("setprice", { base: "DOC", rel: "MARTY", price: "2", volume: "3" }, having({ price: "2" }), { keep: { mine: "uuid" } }),
  step("a second passes"),
  step("bob asks for 1 DOC and falls silent"),
  fails("disable_coin", { coin: "DOC" }, "CoinInUse", "There are currently matching orders, active swaps", {
    extra: { orders: { matching: ["$mine"], cancelled: [] }, active_swaps: [] },
  }),
  v2("get_locked_amount", { coin: "DOC" }, { coin: "DOC", locked_amount: anyDetail }),
  step("bob is back"),
  step("bob buys 1 DOC"),
  fails("disable_coin", { coin: "DOC" }, "CoinInUse", "There are currently matching orders, active swaps", {
    extra: { orders: { matching: [], cancelled: [] }, active_swaps: [A_UUID] },
  }),
  flat("disable_coin", { coin: "DOC", force_disable: true }, { coin: "DOC", cancelled_orders: [A_UUID, "$mine"], passivized: true }),
  fails("my_balance", { coin: "DOC" }, "NoSuchCoin", "No such coin: DOC", { note: "it stays for its swap only" }),
  step("all swaps end"),
];
