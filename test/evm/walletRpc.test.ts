import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEvmRpcChain } from "../../src/adapters/evmRpc/evmRpcChain.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { checksumAddress, type EvmAddress } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { ok } from "../../src/core/util/result.ts";
import { openEvmChain } from "../../src/main/openEvmChain.ts";
import type { AccountChain } from "../../src/ports/accountChain.ts";
import type { DaemonRpc } from "../../src/ports/daemonRpc.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { type CoinNode, coinNode } from "../fakes/coinNode.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { AnvilWorld, httpBackend, type Party } from "./support/anvilWorld.ts";

/** Seed A of reference rpc.md 8.4 and its address on account chains. */
const SEED = "spice describe gravity federal blast come thank unfair canal monkey style afraid";
const OURS = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";
const ETHER = 10n ** 18n;
const DEAD = "http://127.0.0.1:1";

type Reply = { readonly [key: string]: unknown; readonly fee_details?: { readonly total_fee: string } };

/** The wallet methods, as a client sees them, over a real chain. */
describe.skipIf(noAnvil)(`the wallet on an account chain over anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let world: AnvilWorld;
  let rich: Party;
  let contract: EvmAddress;
  let token: EvmAddress;
  const db = openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]);
  const clock = createSystemClock();

  beforeAll(async () => {
    anvil = await startAnvil();
    world = new AnvilWorld(anvil);
    rich = world.party(0);
    contract = await world.deploySwapContract(rich);
    token = await world.deployToken(rich, 1_000_000n * 10n ** 6n);
    await world.send(rich, { to: token, data: transferCall(OURS.slice(2).toLowerCase() as EvmAddress, 500n * 10n ** 6n) });
    await anvil.call("anvil_setBalance", [OURS, `0x${(10n * ETHER).toString(16)}`]);
  });
  afterAll(async () => {
    await anvil?.stop();
    await db.close();
  });

  const openNode = (more: readonly object[] = [], onRequest: () => void = () => undefined): Promise<CoinNode> => {
    const erc20 = (coin: string, more: object = {}) => ({
      coin,
      mm2: 1,
      decimals: 6,
      protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: checksumAddress(token) } },
      ...more,
    });
    const entries = [
      { coin: "ETH", mm2: 1, sign_message_prefix: "Ethereum Signed Message:\n", required_confirmations: 3, ...eth(31_337) },
      { coin: "ETH-OTHER", mm2: 1, ...eth(1) },
      erc20("TEST-ERC20"),
      erc20("BARE-ERC20", { decimals: undefined }),
      erc20("WRONG-ERC20", { decimals: 8 }),
      { coin: "RICK", mm2: 1, pubtype: 60, p2shtype: 85, wiftype: 188, txfee: 1_000, protocol: { type: "UTXO" } },
      ...more,
    ];
    const parts = {
      store: createAccountTxStore(db),
      openChain: async (chain: Opening) =>
        more.length > 0
          ? ok(countedChain(chain, onRequest))
          : openEvmChain({ ...chain, options: { leastMs: 1 } }, { clock, rng: createSystemRng(), log: new SilentLog() }),
    };
    return coinNode(JSON.parse(JSON.stringify(entries)), SEED, false, null, "spec", { parts, clock });
  };
  const nodes = (urls: readonly string[] = [anvil.url]): { readonly [key: string]: Json } => ({
    urls: [...urls],
    swap_contract_address: checksumAddress(contract),
  });
  const ask = async (node: CoinNode, method: string, params: { readonly [key: string]: Json }): Promise<Reply> =>
    (await node.flat(method, params)).reply as Reply;
  const enabled = async (...coins: readonly string[]): Promise<CoinNode> => {
    const node = await openNode();
    for (const coin of coins) expect(await ask(node, "enable", { coin, ...nodes() })).toMatchObject({ result: "success", coin });
    return node;
  };
  const disableAll = async (node: CoinNode): Promise<void> => {
    await ask(node, "disable_coin", { coin: "ETH", force_disable: true });
  };

  test("enable, my_balance and the addresses are as in KDF", async () => {
    const node = await openNode();
    expect(await ask(node, "enable", { coin: "ETH", ...nodes() })).toEqual({
      result: "success",
      address: OURS,
      balance: "10",
      unspendable_balance: "0",
      coin: "ETH",
      required_confirmations: 3,
      requires_notarization: false,
    });
    // The platform coin's nodes serve the token as well.
    expect(await ask(node, "enable", { coin: "TEST-ERC20", swap_contract_address: checksumAddress(contract) })).toMatchObject({
      balance: "500",
    });
    expect(await ask(node, "my_balance", { coin: "TEST-ERC20" })).toEqual({
      coin: "TEST-ERC20",
      balance: "500",
      unspendable_balance: "0",
      address: OURS,
    });
    expect(await ask(node, "get_enabled_coins", {})).toEqual({
      result: [
        { ticker: "ETH", address: OURS },
        { ticker: "TEST-ERC20", address: OURS },
      ],
    });
    expect(await ask(node, "show_priv_key", { coin: "TEST-ERC20" })).toEqual({
      result: { coin: "TEST-ERC20", priv_key: "0x809465b17d0a4ddb3e4c69e8f23c2cabad868f51f8bed5c765ad1d6516c3306f" },
    });
    await disableAll(node);
  });

  test("what is wrong with the nodes, the contract or the token is said before anything is enabled", async () => {
    const node = await openNode();
    const error = async (coin: string, params: { readonly [key: string]: Json }): Promise<unknown> =>
      (await ask(node, "enable", { coin, ...params })).error;
    const swap = { swap_contract_address: checksumAddress(contract) };
    expect(await error("ETH", swap)).toBe("invalid type: null, expected a sequence");
    expect(await error("ETH", { ...swap, urls: [] })).toBe("Enable request for ETH coin must have at least 1 node URL");
    expect(await error("ETH", nodes(["ftp://x"]))).toBe("Invalid node address 'ftp://x'. Only http(s) and ws(s) nodes are supported");
    expect(await error("ETH", { urls: [anvil.url] })).toBe("swap_contract_address is required for trading-capable coins");
    expect(await error("ETH", { ...nodes(), swap_contract_address: `0x${"0".repeat(40)}` })).toBe(
      "swap_contract_address can't be zero address",
    );
    const wrong = OURS.replace("bAB", "Bab");
    expect(await error("ETH", { ...nodes(), swap_contract_address: wrong })).toBe(
      `swap_contract_address has a wrong checksum: ${wrong}, by EIP-55 it would be ${OURS}`,
    );
    expect(await error("ETH", { ...nodes(), swap_contract_address: OURS })).toMatch(/^ETH cannot be enabled: .*no contract/i);
    expect(await error("ETH", { ...nodes(), swap_contract_address: checksumAddress(token) })).toMatch(
      /^ETH cannot be enabled: .*swap contract/,
    );
    expect(await error("ETH-OTHER", nodes())).toMatch(
      /^ETH-OTHER cannot be enabled: a node of urls serves another chain: .*it serves the chain with id 31337, not 1$/,
    );
    expect(await error("ETH", nodes([DEAD]))).toMatch(/^Deactivated coin due to error in balance querying: /);
    expect(await error("WRONG-ERC20", nodes())).toBe(
      "WRONG-ERC20 cannot be enabled: its contract has 6 decimal places, and the coins file says 8",
    );
    expect(await ask(node, "get_enabled_coins", {})).toEqual({ result: [] });
  });

  test("a token without decimals in the coins file takes those of its contract, and needs no platform coin", async () => {
    const node = await enabled("BARE-ERC20");
    expect(await ask(node, "my_balance", { coin: "BARE-ERC20" })).toMatchObject({ balance: "500" });
    expect(await ask(node, "my_balance", { coin: "ETH" })).toEqual({ error: "No such coin: ETH" });
    expect(await ask(node, "disable_coin", { coin: "BARE-ERC20" })).toMatchObject({ result: { passivized: false } });
  });

  test("withdraw signs, send_raw_transaction sends: native coins and tokens, both forms of fee, all of it", async () => {
    const node = await enabled("ETH", "TEST-ERC20");
    const other = checksumAddress(world.party(3).address);
    const before = BigInt(String(await anvil.call("eth_getBalance", [other, "latest"])));
    const signed = await ask(node, "withdraw", {
      coin: "ETH",
      to: other,
      amount: "0.25",
      fee: { type: "EthGas", gas_price: "10", gas: 21_000 },
    });
    expect(signed).toMatchObject({
      from: [OURS],
      to: [other],
      total_amount: "0.25",
      spent_by_me: "0.25021",
      received_by_me: "0",
      my_balance_change: "-0.25021",
      fee_details: {
        type: "Eth",
        coin: "ETH",
        gas: 21_000,
        gas_price: "0.00000001",
        max_fee_per_gas: null,
        max_priority_fee_per_gas: null,
        total_fee: "0.00021",
      },
      coin: "ETH",
      internal_id: "",
      transaction_type: "StandardTransfer",
    });
    expect(await ask(node, "send_raw_transaction", { coin: "ETH", tx_hex: `0x${signed.tx_hex}` })).toEqual({ tx_hash: signed.tx_hash });
    await world.mined(String(signed.tx_hash));
    expect(BigInt(String(await anvil.call("eth_getBalance", [other, "latest"]))) - before).toBe(ETHER / 4n);

    const fee = { type: "EthGasEip1559", max_fee_per_gas: "20", max_priority_fee_per_gas: "1", gas_option: null };
    const tokens = await ask(node, "withdraw", { coin: "TEST-ERC20", to: other, max: true, fee, broadcast: true });
    expect(tokens).toMatchObject({
      total_amount: "500",
      my_balance_change: "-500",
      fee_details: { coin: "ETH", max_fee_per_gas: "0.00000002", max_priority_fee_per_gas: "0.000000001" },
    });
    await ask(node, "withdraw", { coin: "ETH", to: other, amount: "100" });
    expect(await ask(node, "my_balance", { coin: "TEST-ERC20" })).toMatchObject({ balance: "0" });
    expect(await ask(node, "withdraw", { coin: "TEST-ERC20", to: other, max: true })).toEqual({ error: "Balance is zero" });

    const all = await ask(node, "withdraw", { coin: "ETH", to: other, max: true, broadcast: true });
    expect(all.error).toBeUndefined();
    await world.mined(String(all.tx_hash));
    const left = BigInt(String(await anvil.call("eth_getBalance", [OURS, "latest"])));
    // What the price of gas was below the most it may have been.
    expect(left).toBeLessThan(ETHER / 10_000n);
    await anvil.call("anvil_setBalance", [OURS, `0x${(10n * ETHER).toString(16)}`]);
    await disableAll(node);
  });

  test("two withdrawals signed one after the other have one nonce, and only one of them is sent; the next has the next", async () => {
    const node = await enabled("ETH");
    await anvil.call("evm_setAutomine", [false]);
    const to = checksumAddress(world.party(4).address);
    const sign = (amount: string): Promise<Reply> => ask(node, "withdraw", { coin: "ETH", to, amount });
    const [first, second] = [await sign("1"), await sign("2")];
    const send = (tx: Reply): Promise<Reply> => ask(node, "send_raw_transaction", { coin: "ETH", tx_hex: String(tx.tx_hex) });
    expect(await send(first)).toEqual({ tx_hash: first.tx_hash });
    expect((await send(second)).error).toMatch(new RegExp(`is taken by ${first.tx_hash}, which was sent`));
    // A new node over the same store, as after a crash: it knows what was sent.
    const later = await enabled("ETH");
    expect((await ask(later, "send_raw_transaction", { coin: "ETH", tx_hex: String(second.tx_hex) })).error).toMatch(/is taken by/);
    const third = await ask(later, "withdraw", { coin: "ETH", to, amount: "3" });
    expect(await ask(later, "send_raw_transaction", { coin: "ETH", tx_hex: String(third.tx_hex) })).toEqual({ tx_hash: third.tx_hash });
    await world.mine();
    await anvil.call("evm_setAutomine", [true]);
    for (const { tx_hash } of [first, third]) {
      expect(await anvil.call("eth_getTransactionReceipt", [`0x${tx_hash}`])).toMatchObject({ status: "0x1" });
    }
    await disableAll(node);
    await disableAll(later);
  });

  test("get_trade_fee answers in the platform coin", async () => {
    const node = await enabled("ETH", "TEST-ERC20");
    expect(await ask(node, "get_trade_fee", { coin: "TEST-ERC20" })).toMatchObject({ result: { coin: "ETH" } });
    await disableAll(node);
  });

  test("500 tokens are enabled in a handful of requests", async () => {
    const code = await anvil.call("eth_getCode", [checksumAddress(token), "latest"]);
    const contracts = Array.from({ length: 500 }, (_, i) => `0x${(0xaa_0000 + i).toString(16).padStart(40, "0")}`);
    await anvil.callAll(contracts.map((address) => ({ method: "anvil_setCode", params: [address, code] })));
    const tokens = contracts.map((contract_address, i) => ({
      ...{ coin: `T${i}-ERC20`, mm2: 1, decimals: 6 },
      protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address } },
    }));
    let requests = 0;
    const node = await openNode(tokens, () => requests++);
    const started = performance.now();
    const { status, reply } = await node.v2("enable_eth_with_tokens", {
      ...{ ticker: "ETH", nodes: [{ url: anvil.url }], swap_contract_address: checksumAddress(contract) },
      erc20_tokens_requests: tokens.map(({ coin }) => ({ ticker: coin })),
    });
    console.log(`500 tokens: ${Math.round(performance.now() - started)} ms, ${requests} requests`);
    expect([status, reply.error]).toEqual([200, undefined]);
    expect(await ask(node, "my_balance", { coin: "T499-ERC20" })).toMatchObject({ balance: "0" });
    expect(await ask(node, "my_balance", { coin: "ETH" })).toMatchObject({ coin: "ETH", address: OURS });
    expect(requests).toBeLessThan(50);
    await disableAll(node);
  });

  test("a platform coin whose tokens are enabled is put aside, and taken out with them when forced", async () => {
    const node = await enabled("ETH", "TEST-ERC20");
    expect(await ask(node, "disable_coin", { coin: "ETH" })).toEqual({ result: { coin: "ETH", cancelled_orders: [], passivized: true } });
    expect(await ask(node, "my_balance", { coin: "ETH" })).toEqual({ error: "No such coin: ETH" });
    expect(await ask(node, "my_balance", { coin: "TEST-ERC20" })).toMatchObject({ coin: "TEST-ERC20" });
    expect(await ask(node, "enable", { coin: "ETH", ...nodes() })).toMatchObject({ result: "success" });
    expect(await ask(node, "disable_coin", { coin: "ETH", force_disable: true })).toMatchObject({ result: { passivized: false } });
    expect(await ask(node, "get_enabled_coins", {})).toEqual({ result: [] });
  });

  test("enable_eth_with_tokens that is refused leaves the tokens alone that were there before", async () => {
    const node = await enabled("ETH", "TEST-ERC20");
    const params = { ticker: "ETH", nodes: [{ url: anvil.url }], swap_contract_address: checksumAddress(contract) };
    for (const [ticker, error] of [
      ["TEST-ERC20", "TokenIsAlreadyActivated"],
      ["NONE-ERC20", "TokenConfigIsNotFound"],
    ] as const) {
      expect(await ask(node, "disable_coin", { coin: "ETH" })).toMatchObject({ result: { passivized: true } });
      const { reply } = await node.v2("enable_eth_with_tokens", { ...params, erc20_tokens_requests: [{ ticker }] });
      expect(reply).toMatchObject({ error_type: error });
      expect(await ask(node, "my_balance", { coin: "ETH" })).toEqual({ error: "No such coin: ETH" });
      expect(await ask(node, "my_balance", { coin: "TEST-ERC20" })).toMatchObject({ coin: "TEST-ERC20" });
      // An address without the swap contract is refused.
      const other = { ...nodes(), swap_contract_address: checksumAddress(token) };
      expect(await ask(node, "enable", { coin: "ETH", ...other })).toMatchObject({ error: expect.stringContaining("not a swap contract") });
      // It is there, and is not opened anew: the confirmations would be others.
      const again = await ask(node, "enable", { coin: "ETH", ...nodes(), required_confirmations: 7 });
      expect(again).toMatchObject({ result: "success", required_confirmations: 3 });
    }
    const { reply } = await node.v2("enable_eth_with_tokens", { ...params, erc20_tokens_requests: [] });
    expect(reply).toMatchObject({ error_type: "PlatformIsAlreadyActivated" });
    await disableAll(node);
  });
});

type Opening = { readonly ticker: string; readonly chainId: bigint; readonly urls: readonly string[] };

/** The same chain with its requests, batches as one, counted. */
function countedChain({ ticker, chainId, urls }: Opening, onRequest: () => void): AccountChain {
  const clock = createSystemClock();
  const backends = urls.map((url) => {
    const backend = httpBackend(url, clock);
    const rpc: DaemonRpc = {
      call(method, params, options) {
        onRequest();
        return backend.rpc.call(method, params, options);
      },
      callBatch(calls, options) {
        onRequest();
        if (!backend.rpc.callBatch) throw new Error("no batches");
        return backend.rpc.callBatch(calls, options);
      },
    };
    return { ...backend, rpc };
  });
  return openEvmRpcChain({ ticker, chainId, backends, clock, log: new SilentLog(), options: { leastMs: 1 } });
}

const eth = (chainId: number): object => ({ protocol: { type: "ETH", protocol_data: { chain_id: chainId } } });
