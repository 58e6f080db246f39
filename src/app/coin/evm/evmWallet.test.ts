import { expect, test, vi } from "vitest";
import { type CoinNode, coinNode } from "../../../../test/fakes/coinNode.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { addressFromBytes, checksumAddress } from "../../../core/evm/address.ts";
import { err, ok } from "../../../core/util/result.ts";
import { Aborted } from "../../../ports/clock.ts";

const SEED = "spice describe gravity federal blast come thank unfair canal monkey style afraid";
const MNEMONIC = "tank abandon bind salon remove wisdom net size aspect direct source fossil";
const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const CONTRACT = addressFromBytes(new Uint8Array(20).fill(0x24));
const OTHER = checksumAddress(addressFromBytes(new Uint8Array(20).fill(0x55)));

const platform = (coin: string, more: object = {}) => ({
  coin,
  mm2: 1,
  protocol: { type: "ETH", protocol_data: { chain_id: 1 } },
  ...more,
});
const token = (coin: string, more: object = {}) => ({
  ...{ coin, mm2: 1, decimals: 6, ...more },
  protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: `0x${TOKEN}` } },
});
const NODES = { urls: ["http://127.0.0.1:8545"], swap_contract_address: checksumAddress(CONTRACT) };

type World = { readonly node: CoinNode; readonly chains: FakeAccountChain[]; chain(): FakeAccountChain };

async function world(
  entries: readonly object[],
  options: {
    readonly hd?: boolean;
    readonly prepare?: (c: FakeAccountChain) => void;
    readonly swapsOf?: (ticker: string) => readonly string[];
  } = {},
) {
  const chains: FakeAccountChain[] = [];
  const parts = {
    openChain: async ({ urls }: { readonly urls: readonly string[] }) => {
      const bad = urls.findIndex((url) => !url.startsWith("http"));
      if (bad >= 0) return err({ kind: "BadNodeUrl" as const, index: bad });
      const chain = new FakeAccountChain();
      chain.balance = 100n * ETHER;
      chain.tokenBalances.set(TOKEN, 500_000_000n);
      options.prepare?.(chain);
      chains.push(chain);
      return ok(chain);
    },
    store: createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA])),
  };
  const seed = options.hd ? MNEMONIC : SEED;
  const node = await coinNode(JSON.parse(JSON.stringify(entries)), seed, options.hd ?? false, null, "spec", {
    parts,
    ...(options.swapsOf ? { swapsOf: options.swapsOf } : {}),
  });
  const made: World = { node, chains, chain: () => chains.at(-1) ?? expect.fail("no chain was opened") };
  return made;
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const reply = async (node: CoinNode, method: string, params: Parameters<CoinNode["flat"]>[1]): Promise<Record<string, unknown>> =>
  (await node.flat(method, params)).reply as Record<string, unknown>;

test("withdrawals of the whole balance asked for at once: one is sent, the others are refused before they cost a fee", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const all = await Promise.all([1, 2, 3].map(() => reply(node, "withdraw", { coin: "USDT", to: OTHER, max: true, broadcast: true })));
  expect(all.filter((r) => r.tx_hash !== undefined).length).toBe(1);
  expect(all.filter((r) => String(r.error).includes("Not enough USDT")).length).toBe(2);
  expect(chain().sent.length).toBe(1);
});

test("the greatest volume of a token that moves only so much at once is what was found to move", async () => {
  const prepare = (chain: FakeAccountChain): void => {
    chain.trip = (amount) => (amount > 40_000_000n ? err({ kind: "Reverted", data: null, message: "too much" }) : null);
  };
  const { node } = await world([platform("ETH"), token("USDT")], { prepare });
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const [taker, maker, preimage] = [
    await reply(node, "max_taker_vol", { coin: "USDT" }),
    await node.v2("max_maker_vol", { coin: "USDT" }),
    await reply(node, "trade_preimage", { base: "USDT", rel: "ETH", swap_method: "setprice", price: "1", max: true }),
  ];
  expect([taker, maker, preimage]).toMatchObject([
    { result: { numer: "125", denom: "16" } },
    { reply: { result: { volume: { decimal: "7.8125" } } } },
    { result: { volume: "7.8125" } },
  ]);
});

const UNPRICED = "Transport error: the ETH nodes have told no price of gas";
test.each([
  ["get_trade_fee", { coin: "ETH" }],
  ["get_trade_fee", { coin: "USDT" }],
  ["withdraw", { coin: "ETH", to: OTHER, amount: "1" }],
  ["withdraw", { coin: "USDT", to: OTHER, amount: "1" }],
  ["max_taker_vol", { coin: "ETH" }],
  ["trade_preimage", { base: "ETH", rel: "USDT", swap_method: "setprice", price: "1", volume: "1" }],
  ["trade_preimage", { base: "ETH", rel: "USDT", swap_method: "sell", price: "1", volume: "1" }],
] as const)("%s says that no node told a price of gas: %o", async (method, params) => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  chain().prices = null;
  expect(await reply(node, method, { ...params })).toMatchObject({ error: UNPRICED });
});

test.each([
  ["my_balance", { coin: "USDT" }],
  ["withdraw", { coin: "USDT", to: OTHER, amount: "1" }],
  ["max_taker_vol", { coin: "USDT" }],
  ["trade_preimage", { base: "USDT", rel: "ETH", swap_method: "setprice", price: "1", volume: "1" }],
] as const)("%s says that the nodes told no balance of a token: %o", async (method, params) => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  chain().unwatch({ tokens: [{ token: TOKEN, owner: TOKEN }] });
  expect(await reply(node, method, { ...params })).toMatchObject({ error: "Transport error: the ETH nodes have told no balance of USDT" });
});

test.each(["alone", "beside"])(
  "a token whose enabling (%s) is called off while it is tried keeps no account open and is followed no more",
  async (how) => {
    const { node, chain } = await world([platform("ETH"), token("USDT")]);
    await reply(node, "enable", { coin: "ETH", ...NODES });
    const stop = new AbortController();
    vi.spyOn(chain(), "tokenTrip").mockImplementation(() => {
      stop.abort();
      return Promise.reject(new Aborted());
    });
    const request = { coin: "USDT", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined };
    const nodes = { urls: undefined, swapContract: NODES.swap_contract_address, fallbackSwapContract: undefined };
    const { coins } = node;
    const enabling =
      how === "alone"
        ? coins.enable({ ...request, birthdayHeight: undefined, nodes }, stop.signal)
        : coins.enableTokens("ETH", [{ ticker: "USDT", requiredConfirmations: undefined }], stop.signal);
    await expect(enabling).rejects.toThrow(Aborted);
    expect(chain().token(TOKEN)).toBeUndefined();
    await reply(node, "disable_coin", { coin: "ETH" });
    expect(chain().closed).toBe(true);
  },
);

test.each([
  ["refuse the request", "The ETH nodes refused the request: limit exceeded", false],
  ["do not agree on its balance", "Only 1 of the 2 ETH nodes that must agree on token balances answered", true],
])("nodes that %s for now are no reason to refuse a token for good", async (_what, message, isOfBalance) => {
  const { node, chain } = await world([platform("ETH"), token("USDT"), token("USDC")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  const { coins } = node;
  const request = { coin: "USDT", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined };
  const nodes = { urls: undefined, swapContract: NODES.swap_contract_address, fallbackSwapContract: undefined };
  const enable = () => coins.enable({ ...request, birthdayHeight: undefined, nodes }, new AbortController().signal);
  const enableTokens = () =>
    coins.enableTokens("ETH", [{ ticker: "USDC", requiredConfirmations: undefined }], new AbortController().signal);
  const told = isOfBalance ? ok(6) : err({ kind: "Refused" as const, message });
  vi.spyOn(chain(), "tokenDecimals").mockResolvedValue(told);
  vi.spyOn(chain(), "tokensDecimals").mockResolvedValue(ok([told]));
  if (isOfBalance) {
    vi.spyOn(chain(), "token").mockReturnValue(undefined);
    chain().trouble = message;
  }
  for (const [coin, ask] of [
    ["USDT", enable],
    ["USDC", enableTokens],
  ] as const)
    expect(await ask()).toEqual({ ok: false, error: { kind: "DaemonFailed", coin, message } });
  vi.restoreAllMocks();
  chain().trouble = null;
  for (const ask of [enable, enableTokens]) expect(await ask()).toMatchObject({ ok: true });
});

test("a chain that takes a fee for data beside gas: `max` leaves it, the fee told has it, and what leaves nothing for it is refused", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const fee = { type: "EthGas", gas_price: "10", gas: 21_000 };
  const send = { coin: "ETH", to: OTHER, fee };
  chain().data = { gas: 21_000n, wei: 5n * 10n ** 14n };
  expect(await reply(node, "withdraw", { ...send, max: true })).toMatchObject({
    total_amount: "99.99879",
    spent_by_me: "100",
    fee_details: { type: "Eth", coin: "ETH", gas: 21_000, gas_price: "0.00000001", total_fee: "0.00121" },
  });
  expect(await reply(node, "withdraw", { ...send, amount: "99.99879" })).toMatchObject({ spent_by_me: "100" });
  expect((await reply(node, "withdraw", { ...send, amount: "99.9988" })).error).toContain("Not enough ETH to withdraw");
  chain().balance = 12n * 10n ** 14n;
  const sent = await reply(node, "withdraw", { coin: "USDT", to: OTHER, amount: "1", fee });
  expect(sent.error).toContain("Not enough ETH to afford fee. Available 0.0012, required at least 0.00121");
});

test.each([
  [{ gas: 21_000n, wei: 10n ** 40n }, "more than the 100000000000000000 that are paid"],
  [null, "what ETH takes for a transaction's data is not known yet"],
])("nothing is withdrawn while the nodes say of data %o", async (data, why) => {
  const { node, chain } = await world([platform("ETH")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  chain().data = data;
  expect((await reply(node, "withdraw", { coin: "ETH", to: OTHER, max: true, broadcast: true })).error).toContain(why);
  expect(chain().sent).toEqual([]);
  chain().data = { gas: 21_000n, wei: 0n };
  expect((await reply(node, "withdraw", { coin: "ETH", to: OTHER, max: true })).error).toBeUndefined();
});

test("the policy an activation names counts before the entries', for the platform coin and its tokens, and can be chosen anew", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT", { swap_gas_fee_policy: "Low" })]);
  await reply(node, "enable", { coin: "ETH", ...NODES, swap_gas_fee_policy: "High" });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const priority = async (coin: string): Promise<unknown> => {
    const { fee_details } = await reply(node, "withdraw", { coin, to: OTHER, amount: "1" });
    return (fee_details as { readonly max_priority_fee_per_gas: unknown }).max_priority_fee_per_gas;
  };
  chain().prices = { legacy: GWEI, nextBaseFee: GWEI, priority: { low: GWEI, medium: 2n * GWEI, high: 3n * GWEI } };
  expect([await priority("ETH"), await priority("USDT")]).toEqual(["0.000000003", "0.000000003"]);
  const set = { mmrpc: "2.0", params: { coin: "USDT", swap_gas_fee_policy: "Medium" } };
  expect(await reply(node, "set_swap_gas_fee_policy", set)).toMatchObject({ result: "Medium" });
  expect([await priority("ETH"), await priority("USDT")]).toEqual(["0.000000002", "0.000000002"]);
  const wrong = await reply(node, "enable", { coin: "ETH", ...NODES, swap_gas_fee_policy: "Cheap" });
  expect(wrong.error).toContain("expected one of `Legacy`, `Low`, `Medium`, `High`");
});

test("an absurd price of gas is not paid unless the request names it", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  chain().prices = { legacy: 1_000_000n * GWEI, nextBaseFee: null, priority: null };
  const send = { coin: "ETH", to: OTHER, amount: "1" };
  expect((await reply(node, "withdraw", { ...send, broadcast: true })).error).toContain("1030000 gwei for a unit of gas, more than 10000");
  expect(chain().sent).toEqual([]);
  const named = { type: "EthGas", gas_price: "1000000", gas: 21_000 };
  expect(await reply(node, "withdraw", { ...send, fee: named })).toMatchObject({ fee_details: { total_fee: "21" } });
});

test.each([
  { type: "EthGas", gas_price: "1e300", gas: 0 },
  { type: "EthGasEip1559", max_fee_per_gas: "1e300", max_priority_fee_per_gas: "1", gas_option: 0 },
])("a price of gas that no transaction can name is refused, for it could be read by nobody: $type", async (fee) => {
  const { node } = await world([platform("ETH")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  const said = await reply(node, "withdraw", { coin: "ETH", to: OTHER, amount: "1", fee });
  expect(said.error).toContain("the price of gas is more than a transaction can name");
  await reply(node, "disable_coin", { coin: "ETH" });
  expect(await reply(node, "enable", { coin: "ETH", ...NODES })).toMatchObject({ result: "success" });
});

test("nothing is withdrawn with gas that no block has, or with too little for any: one node that takes it would have all that comes later wait", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const send = async (coin: string, gas?: number) => {
    const fee = gas === undefined ? {} : { fee: { type: "EthGas", gas_price: "2", gas } };
    return (await reply(node, "withdraw", { coin, to: OTHER, amount: "1", broadcast: true, ...fee })).error;
  };
  expect(await send("ETH", 30_000_001)).toContain("Invalid fee policy: 30000001 gas are more than a block has");
  expect(await send("ETH", 20_999)).toContain("needs 21000 gas at least, and this one would have 20999");
  expect(await send("USDT", 21_000)).toMatch(/needs 21\d{3} gas at least, and this one would have 21000$/);
  chain().gas = 40_000_000n;
  expect(await send("ETH")).toContain("40000000 gas are more than a block has");
  expect(chain().sent).toEqual([]);
  // Headers of some chains do not tell it.
  chain().gasLimit = 0n;
  expect(await send("ETH")).toBeUndefined();
  expect(chain().sent.length).toBe(1);
});

test("nothing is withdrawn to nobody, to the token's own contract or to the swap contract", async () => {
  const { node } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  for (const [coin, to, words] of [
    ["USDT", checksumAddress(TOKEN), "the contract of USDT itself"],
    ["USDT", checksumAddress(CONTRACT), "the swap contract"],
    ["ETH", checksumAddress(CONTRACT), "the swap contract"],
    ["ETH", `0x${"0".repeat(40)}`, "the zero address is nobody's"],
  ] as const)
    expect((await reply(node, "withdraw", { coin, to, amount: "1" })).error).toContain(words);
});

test("of a node address that cannot be used, nothing is repeated that may be a key", async () => {
  const { node } = await world([platform("ETH")]);
  for (const [url, shown] of [
    ["ftp://x", "ftp://x"],
    ["htps://user:hunter2@rpc.example.org:8545/v3/hunter2?key=hunter2", "htps://rpc.example.org:8545/..."],
    ["rpc.example.org/v3/hunter2", "rpc.example.org/..."],
    ["ftp:/user:hunter2@rpc.example.org", "ftp:/..."],
  ] as const) {
    const { error } = await reply(node, "enable", { coin: "ETH", ...NODES, urls: [url] });
    expect(error).toContain(`Invalid node address '${shown}'.`);
    expect(error).not.toContain("hunter2");
  }
});

test("two platform coins with one chain id are not enabled at once: they would take the same nonces", async () => {
  const { node, chain } = await world([platform("ETH"), platform("ETH-CLONE")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  expect((await reply(node, "enable", { coin: "ETH-CLONE", ...NODES })).error).toContain("has the chain id of ETH, which is enabled (1)");
  await reply(node, "disable_coin", { coin: "ETH" });
  expect(chain().closed).toBe(true);
  expect(await reply(node, "enable", { coin: "ETH-CLONE", ...NODES })).toMatchObject({ result: "success" });
});

test("a platform coin disabled while its tokens are being enabled: they are not, and its account is closed when the last coin goes", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT"), token("USDC")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDC", swap_contract_address: NODES.swap_contract_address });
  const [begun, held] = [gate(), gate()];
  const usual = chain().watchTokens.bind(chain());
  chain().watchTokens = async (...args) => {
    begun.open();
    await held.opened;
    await usual(...args);
  };
  const enabling = node.v2("enable_erc20", { ticker: "USDT", activation_params: {} });
  await begun.opened;
  // USDC keeps the account: the platform coin is put aside only.
  expect(await reply(node, "disable_coin", { coin: "ETH" })).toMatchObject({ result: { passivized: true } });
  held.open();
  expect((await enabling).reply).toMatchObject({ error_type: "PlatformCoinIsNotActivated" });
  expect(await reply(node, "my_balance", { coin: "USDC" })).toMatchObject({ balance: "500" });
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "disable_coin", { coin: "ETH", force_disable: true });
  expect(chain().closed).toBe(true);
});

test("a token that cannot be enabled takes nothing from another entry of the same contract", async () => {
  const { node } = await world([platform("ETH"), token("USDT"), token("USDT-8", { decimals: 8 })]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await node.v2("enable_erc20", { ticker: "USDT", activation_params: {} });
  expect((await node.v2("enable_erc20", { ticker: "USDT-8", activation_params: {} })).reply).toHaveProperty("error");
  expect(await reply(node, "my_balance", { coin: "USDT" })).toMatchObject({ balance: "500" });
});

test("in an HD wallet a token has its platform coin's address however it is enabled, and one with another path is refused", async () => {
  const path = { derivation_path: "m/44'/60'" };
  const { node } = await world(
    [platform("ETH", path), token("SAME", path), token("NONE"), token("ELSEWHERE", { derivation_path: "m/44'/61'" })],
    { hd: true },
  );
  const { address } = await reply(node, "enable", { coin: "ETH", ...NODES });
  for (const coin of ["SAME", "NONE"]) expect(await reply(node, "enable", { coin, ...NODES })).toMatchObject({ address });
  const refusal = "its derivation_path is m/44'/61', and that of its platform coin ETH, which pays its fees, is another";
  expect((await reply(node, "enable", { coin: "ELSEWHERE", ...NODES })).error).toContain(refusal);
  const besides = await node.v2("enable_erc20", { ticker: "ELSEWHERE", activation_params: {} });
  expect(JSON.stringify(besides.reply)).toContain(refusal);
});

test("disabling waits for a withdrawal that is under way, and a later one is told", async () => {
  const { node, chain, chains } = await world([platform("ETH")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  const old = chain();
  const [arrived, answered] = [gate(), gate()];
  let wasClosed = false;
  old.broadcast = async (raw) => {
    old.sent.push(raw);
    arrived.open();
    await answered.opened;
    wasClosed = old.closed;
    return { kind: "accepted" };
  };
  const withdrawing = reply(node, "withdraw", { coin: "ETH", to: OTHER, amount: "1", broadcast: true });
  await arrived.opened;
  const disabling = reply(node, "disable_coin", { coin: "ETH" });
  // The coin is gone from the list when its closing begins.
  while ((await reply(node, "my_balance", { coin: "ETH" })).error === undefined);
  expect((await reply(node, "enable", { coin: "ETH", ...NODES })).error).toContain("is being disabled");
  answered.open();
  expect(await withdrawing).toHaveProperty("tx_hash");
  await disabling;
  expect(wasClosed).toBe(false);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  expect(await reply(node, "withdraw", { coin: "ETH", to: OTHER, amount: "1", broadcast: true })).toHaveProperty("tx_hash");
  expect(chains.length).toBe(2);
  // The new ledger knows what the old one sent: it repeats it, and takes the nonce after it.
  expect(chain().sent[0]).toEqual(old.sent[0]);
  expect(chain().sent.length).toBe(2);
});

test("a platform coin whose tokens could not be enabled for a reason nobody foresaw is not left behind enabled", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")], {
    prepare: (c) => {
      c.tokensDecimals = async () => {
        throw new Error("a bug");
      };
    },
  });
  const params = {
    ...{ ticker: "ETH", nodes: [{ url: "http://127.0.0.1:8545" }], swap_contract_address: NODES.swap_contract_address },
    erc20_tokens_requests: [{ ticker: "USDT" }],
  };
  expect((await node.v2("enable_eth_with_tokens", params)).reply).toHaveProperty("error");
  expect(chain().closed).toBe(true);
  expect((await reply(node, "my_balance", { coin: "ETH" })).error).toContain("No such coin");
});

test("`electrum_servers` shows how the nodes of an account chain are doing, for its tokens too, and how many must agree", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const of = { height: 7, latencyMs: 12.4, contradictions: 0, calls: 3, trouble: null };
  const states = ["new", "good", "lagging", "away", "refused"] as const;
  chain().nodes = states.map((state) => ({ ...of, name: state, state }));
  const servers = [
    { url: "new", state: "connecting", height: 7, latency_ms: 12, contradictions: 0, calls: 3, trouble: null },
    { url: "good", state: "connected" },
    { url: "lagging", state: "lagging" },
    { url: "away", state: "away" },
    { url: "refused", state: "dropped" },
  ];
  for (const coin of ["ETH", "USDT"])
    expect((await node.v2("electrum_servers", { coin })).reply.result).toMatchObject({ coin, servers, min_connected: 3, warning: null });
  chain().nodes = [{ ...of, name: "only", state: "good" }];
  const warning = "ETH has one node only, which is believed.";
  expect((await node.v2("electrum_servers", { coin: "ETH" })).reply.result).toMatchObject({ min_connected: 1, warning });
});

test("a platform coin that stayed goes on with the nodes it is enabled with anew, once they were tried; a token's request changes none", async () => {
  let trouble: string | null = null;
  const prepare = (c: FakeAccountChain): void => {
    const of = { name: "n", height: null, latencyMs: null, contradictions: 0, calls: 1 };
    if (trouble !== null) c.nodes = [{ ...of, state: "refused", trouble }];
  };
  const { node, chains } = await world([platform("ETH"), token("USDT")], { prepare });
  const swap_contract_address = NODES.swap_contract_address;
  await reply(node, "enable", { coin: "ETH", ...NODES });
  const [chain] = chains;
  await reply(node, "enable", { coin: "USDT", swap_contract_address, urls: ["http://token.example"] });
  await reply(node, "disable_coin", { coin: "ETH" });
  expect(await reply(node, "enable", { coin: "ETH", ...NODES })).toMatchObject({ result: "success" });
  expect([chains.length, chain?.used]).toEqual([1, []]);
  await reply(node, "disable_coin", { coin: "ETH" });
  trouble = "it serves the chain with id 5, not 1";
  const others = { urls: ["http://two.example", "http://one.example"], swap_contract_address };
  expect((await reply(node, "enable", { coin: "ETH", ...others })).error).toContain(trouble);
  expect((await reply(node, "enable", { coin: "ETH", ...NODES, urls: ["ftp://x"] })).error).toContain("Invalid node address 'ftp://x'");
  expect([chain?.used, chain?.closed, chains[1]?.closed, (await reply(node, "my_balance", { coin: "ETH" })).error]).toEqual([
    [],
    false,
    true,
    "No such coin: ETH",
  ]);
  trouble = null;
  expect(await reply(node, "enable", { coin: "ETH", ...others })).toMatchObject({ result: "success", balance: "100" });
  expect([chain?.used, chain?.closed, chains[2]?.closed]).toEqual([[others.urls], false, true]);
  await reply(node, "disable_coin", { coin: "ETH" });
  // The same in another order.
  await reply(node, "enable", { coin: "ETH", ...others, urls: [...others.urls].reverse() });
  expect([chains.length, chain?.used]).toEqual([3, [others.urls]]);
});

test("what was found of a token by nodes that are exchanged is found anew", async () => {
  const { node, chains } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  const found = (): number => chains[0]?.trips ?? 0;
  const before = found();
  await reply(node, "disable_coin", { coin: "ETH" });
  await reply(node, "enable", { coin: "ETH", ...NODES, urls: ["http://other.example"] });
  expect(node.coins.wallet("ETH")).toMatchObject({ account: { nonces: { exchanges: 1 } } });
  chains[0]?.mine();
  await node.clock.advance(1_000);
  expect(found()).toBeGreaterThan(before);
});

test("whether nodes carry out calls of the swap contract is asked when a token is enabled, and anew of others", async () => {
  const { node, chains } = await world([platform("ETH"), token("USDT")]);
  await reply(node, "enable", { coin: "ETH", ...NODES });
  const chain = chains[0] ?? expect.fail("no chain");
  let found = 0;
  chain.estimate = ({ from, to }) => {
    found += from === to ? 1 : 0;
    return null;
  };
  await reply(node, "enable", { coin: "USDT", swap_contract_address: NODES.swap_contract_address });
  expect(found).toBe(1);
  await reply(node, "disable_coin", { coin: "ETH" });
  await reply(node, "enable", { coin: "ETH", ...NODES, urls: ["http://other.example"] });
  chain.mine();
  await node.clock.advance(1_000);
  expect(found).toBe(2);
});

test("a token that was disabled by force while a swap needs it is there again with its platform coin, and nothing else is opened for it", async () => {
  const { node, chains } = await world([platform("ETH"), token("USDT")], { swapsOf: (ticker) => (ticker === "USDT" ? ["a swap"] : []) });
  const request = { ticker: "ETH", swap_contract_address: NODES.swap_contract_address, nodes: [{ url: NODES.urls[0] ?? "" }] };
  const all = { ...request, erc20_tokens_requests: [{ ticker: "USDT" }] };
  expect((await node.v2("enable_eth_with_tokens", all)).status).toBe(200);
  expect(await reply(node, "disable_coin", { coin: "ETH", force_disable: true })).toMatchObject({ result: { passivized: true } });
  expect((await reply(node, "my_balance", { coin: "USDT" })).error).toBe("No such coin: USDT");
  expect((await node.v2("enable_eth_with_tokens", all)).status).toBe(200);
  for (const coin of ["ETH", "USDT"]) expect(await reply(node, "my_balance", { coin })).toMatchObject({ coin });
  expect([chains.length, chains[0]?.closed]).toEqual([1, false]);
  expect((await node.v2("enable_eth_with_tokens", all)).reply.error_type).toBe("PlatformIsAlreadyActivated");
});

test("a coin that swaps wait for is there for them though nodes say another thing of its contract, and refused all the same", async () => {
  const { node, chain } = await world([platform("ETH"), token("USDT")], {
    prepare: (c) => {
      c.swapContracts = new Set();
    },
    swapsOf: () => ["a swap"],
  });
  const refused = await reply(node, "enable", { coin: "ETH", ...NODES });
  expect(refused.error).toContain("ETH cannot be enabled: ");
  expect((await reply(node, "my_balance", { coin: "ETH" })).error).toBe("No such coin: ETH");
  expect(node.coins.running("ETH")).toBeDefined();
  chain().swapContracts = null;
  chain().decimals.set(TOKEN, 8);
  expect(await reply(node, "enable", { coin: "ETH", ...NODES })).toMatchObject({ result: "success" });
  expect((await node.v2("enable_erc20", { ticker: "USDT" })).reply.error_type).toBe("InvalidConfig");
  expect([node.coins.wallet("USDT"), node.coins.running("USDT")]).toEqual([undefined, expect.anything()]);
});

test("tokens that swaps wait for are there for them, too, where their platform coin is refused and kept", async () => {
  const { node } = await world([platform("ETH"), token("USDT")], {
    prepare: (c) => {
      c.swapContracts = new Set();
    },
    swapsOf: () => ["a swap"],
  });
  const request = { ticker: "ETH", swap_contract_address: NODES.swap_contract_address, nodes: [{ url: NODES.urls[0] ?? "" }] };
  const all = { ...request, erc20_tokens_requests: [{ ticker: "USDT" }] };
  expect((await node.v2("enable_eth_with_tokens", all)).reply.error_type).toBe("InvalidConfig");
  for (const coin of ["ETH", "USDT"]) expect([node.coins.wallet(coin), node.coins.running(coin)]).toEqual([undefined, expect.anything()]);
});
