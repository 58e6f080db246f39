import { encodeCall } from "../../../src/core/evm/abi.ts";
import { checksumAddress, parseAnyCaseAddress } from "../../../src/core/evm/address.ts";
import { decimal, toUnits } from "../../../src/core/money/rational.ts";
import { toHex } from "../../../src/core/util/bytes.ts";
import { type AccountChainOfNet, startAccountChain } from "../../../src/devnet/accountChain.ts";
import type { DevChain } from "../../../src/devnet/devChain.ts";
import type { Topology } from "../../../src/devnet/topology.ts";
import { type TestNetwork, topologyOf, withNetwork } from "../../e2e/support/network.ts";
import { chargeForData, OP_STACK_ARGS } from "../../support/opStack.ts";

const common = { mm2: 1, is_testnet: true, required_confirmations: 1, avg_blocktime: 1 };
const account = { ...common, max_eth_tx_type: 2, swap_gas_fee_policy: "Medium" };

export const UTXO = "DOC";
export const ETH = "ETH";
export const TOKEN = "TEST-ERC20";
const DOC = { ...common, coin: UTXO, asset: UTXO, pubtype: 60, p2shtype: 85, wiftype: 188, txversion: 4, overwintered: 1, txfee: 1_000 };
const coinsOf = (chain_id: number) => [
  { ...DOC, protocol: { type: "UTXO" } },
  { ...account, coin: ETH, protocol: { type: "ETH", protocol_data: { chain_id } } },
  { ...account, coin: TOKEN, decimals: 6, protocol: { type: "ERC20", protocol_data: { platform: ETH } } },
];
const ANVIL_CHAIN_ID = 31_337;
/** Whole coins each side begins with. */
export const FUNDS = "100";

/** A token of contracts/test in the place of the plain one. */
export type OddToken = { readonly creationCode: string; readonly decimals: number };

export type AccountOptions = {
  /** Any MM2.json fields for the maker and the taker. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Where the nodes find the chain that listens at this address; default: its WebSocket. */
  readonly urls?: (url: string) => readonly string[];
  readonly token?: OddToken;
  /** The account chain takes a fee for data, by this price of another chain, wei. */
  readonly l1BaseFee?: bigint;
};

/** What tests do with the account chain beside the nodes. */
export type AnvilChain = {
  readonly url: string;
  readonly swapContract: string;
  readonly token: string;
  call(method: string, ...params: readonly unknown[]): Promise<unknown>;
  mine(blocks?: number): Promise<void>;
  /**
   * Sends from an account of anvil's own, or of anybody: anvil signs for all. `cheaply`: for hardly more than the base fee, because
   * anvil drops what bids more than an earlier nonce of its account in the same block.
   */
  send(to: string, data: string, from?: string, cheaply?: "cheaply"): Promise<void>;
  /** Takes the block of this height and all after it out of the chain, and their transactions with them. */
  reorg(height: number): Promise<void>;
  /** True: blocks come only when they are asked for. False: one each second again. */
  pause(isPaused: boolean): Promise<void>;
  /**
   * A block that a stranger fills, while the chain is paused: its base fee and its tip are `gwei` each. Only who bids more than 2.4
   * times that comes before the stranger; what bids less waits in the pool.
   */
  crowd(gwei: number): Promise<void>;
};

/** Code that goes round in circles until its gas is used up. */
const IDLER = { address: "0x00000000000000000000000000000000c1dc1e00", code: "0x5b600056" } as const;
/** An estimate is of the state before what waits in the pool. */
const CALL_GAS = "0x30d40";
const gweiHex = (gwei: number): string => `0x${BigInt(Math.round(gwei * 1e9)).toString(16)}`;

async function withOddToken(net: AccountChainOfNet, odd: OddToken): Promise<AccountChainOfNet> {
  const plain = net.chains.get(TOKEN);
  if (!plain?.contracts) throw new Error("no token");
  const [from] = (await plain.daemon.call("eth_accounts")) as string[];
  const txid = await plain.daemon.call("eth_sendTransaction", [{ from, gas: "0x989680", data: `0x${odd.creationCode}` }]);
  await plain.daemon.call("evm_mine");
  const receipt = (await plain.daemon.call("eth_getTransactionReceipt", [txid])) as { contractAddress: string };
  const parsed = parseAnyCaseAddress(receipt.contractAddress);
  if (!parsed.ok) throw new Error("the odd token was not deployed");
  const token = checksumAddress(parsed.value);
  const fund = async (address: string, amount: string): Promise<void> => {
    const to = parseAnyCaseAddress(address);
    if (!to.ok) throw new Error(`${address} is no address`);
    // mint(address,uint256)
    const data = `0x${toHex(encodeCall("40c10f19", ["address", "uint256"], [to.value, toUnits(decimal(amount), odd.decimals)]))}`;
    await plain.daemon.call("eth_sendTransaction", [{ from, to: token, data }]);
  };
  const { balance: _, ...rest } = plain;
  const chain: DevChain = { ...rest, contracts: { swap: plain.contracts.swap, token }, fund };
  const protocol = { type: "ERC20", protocol_data: { platform: ETH, contract_address: token } };
  return {
    chains: new Map([...net.chains, [TOKEN, chain]]),
    entries: net.entries.map((entry) => (entry.coin === TOKEN ? { ...entry, decimals: odd.decimals, protocol } : entry)),
  };
}

function anvilChain(net: AccountChainOfNet): AnvilChain {
  const contracts = net.chains.get(TOKEN)?.contracts;
  const daemon = net.chains.get(ETH)?.daemon;
  if (!daemon || !contracts?.token) throw new Error("no account chain");
  const call = (method: string, ...params: readonly unknown[]): Promise<unknown> => daemon.call(method, params);
  const pause = async (isPaused: boolean): Promise<void> => void (await call("evm_setIntervalMining", isPaused ? 0 : 1));
  return {
    url: net.chains.get(ETH)?.rpcUrl ?? "",
    swapContract: contracts.swap,
    token: contracts.token,
    call,
    async mine(blocks = 1) {
      for (let i = 0; i < blocks; i++) await call("evm_mine");
    },
    async send(to, data, from, cheaply) {
      const sender = from ?? ((await call("eth_accounts")) as string[])[0];
      const { baseFeePerGas } = (await call("eth_getBlockByNumber", "latest", false)) as { baseFeePerGas: string };
      const bid = cheaply ? { maxFeePerGas: gweiHex((1.2 * Number(baseFeePerGas)) / 1e9), maxPriorityFeePerGas: "0x1" } : {};
      const txid = await call("eth_sendTransaction", { from: sender, to, data, gas: CALL_GAS, ...bid });
      await call("evm_mine");
      const receipt = (await call("eth_getTransactionReceipt", txid)) as { status: string } | null;
      if (receipt?.status !== "0x1") throw new Error(`${String(txid)} did nothing`);
    },
    async reorg(height) {
      await pause(true);
      const gone = (await call("eth_getBlockByNumber", `0x${height.toString(16)}`, false)) as { transactions: readonly string[] };
      await call("anvil_reorg", Number(await call("eth_blockNumber")) - height + 1, []);
      for (const txid of gone.transactions)
        if ((await call("eth_getTransactionReceipt", txid)) !== null) throw new Error(`${txid} is still in the chain`);
      await pause(false);
    },
    pause,
    async crowd(gwei) {
      const from = ((await call("eth_accounts")) as string[])[1];
      const { gasLimit: gas } = (await call("eth_getBlockByNumber", "latest", false)) as { gasLimit: string };
      await call("anvil_setCode", IDLER.address, IDLER.code);
      const bid = { maxFeePerGas: gweiHex(2.4 * gwei), maxPriorityFeePerGas: gweiHex(gwei) };
      await call("eth_sendTransaction", { from, to: IDLER.address, gas, ...bid });
      await call("anvil_setNextBlockBaseFeePerGas", gweiHex(gwei));
      await call("evm_mine");
    },
  };
}

/** A seed, a maker and a taker with {@link FUNDS} of each coin. @param config any MM2.json fields of the maker and the taker */
export function accountTopology(chainId: number, config: Readonly<Record<string, unknown>> = {}): Topology {
  const coins = coinsOf(chainId);
  const tickers = coins.map(({ coin }) => coin);
  const side = (name: string) => ({ name, enable: tickers, fund: Object.fromEntries(tickers.map((t) => [t, FUNDS])), config });
  return topologyOf({ coins, block_time_s: 1, nodes: [{ name: "seed", seed: true }, side("maker"), side("taker")] });
}

/** A seed, a maker and a taker as processes of their own, over an embedded UTXO chain and anvil. */
export async function withAccountNetwork(
  options: AccountOptions,
  work: (network: TestNetwork, anvil: AnvilChain) => Promise<void>,
): Promise<void> {
  const { urls = (url) => [url.replace("http", "ws")], token, config = {}, l1BaseFee } = options;
  const topology = accountTopology(ANVIL_CHAIN_ID, config);
  let anvil: AnvilChain | null = null;
  const startAccounts: typeof startAccountChain = async (wanted) => {
    const plain = await startAccountChain({ ...wanted, args: l1BaseFee === undefined ? [] : OP_STACK_ARGS });
    const started = token ? await withOddToken(plain, token) : plain;
    anvil = anvilChain(started);
    const { call, mine } = anvil;
    if (l1BaseFee !== undefined) await chargeForData(call, l1BaseFee, mine);
    const reached = new Map([...started.chains].map(([ticker, chain]) => [ticker, { ...chain, urls: urls(chain.rpcUrl) }] as const));
    return { chains: reached, entries: started.entries };
  };
  await withNetwork(
    topology,
    (network) => {
      if (anvil === null) throw new Error("no account chain was started");
      return work(network, anvil);
    },
    { startAccountChain: startAccounts },
  );
}

/** Blocks that make up a median time. */
const MEDIAN_BLOCKS = 11;

/** Both chains leap over every lock of swaps that began just now. @param lockSec of a taker's payment; a maker's is locked for twice as long */
export async function leapOverLocks({ net }: TestNetwork, anvil: AnvilChain, lockSec: number): Promise<void> {
  const sec = 2 * lockSec + 1;
  const utxo = net.chains.get(UTXO)?.daemon;
  await utxo?.call("chain_addTime", [sec]);
  await utxo?.call("chain_mine", [MEDIAN_BLOCKS]);
  await anvil.call("evm_increaseTime", sec);
  await anvil.mine();
}
