import { simAddress } from "../../sim/world/evm/simEvmChain.ts";
import type { SimNode, SimNodeOptions } from "../../sim/world/simNode.ts";
import { type SimCoin, type SimOptions, SimWorld } from "../../sim/world/simWorld.ts";
import { checksumAddress, type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { decimal } from "../../src/core/money/rational.ts";
import { DEMO_COINS } from "../../src/devnet/demoCoins.ts";

/** A UTXO coin, the platform coin of an account chain, and tokens on it. */
export const UTXO = "DOC";
export const ETH = "ETHX";
export const TOKEN = "TOK-ETHX";
export const USDT = "USDT-ETHX";
export const ALL = [UTXO, ETH, TOKEN, USDT] as const;
export type Ticker = (typeof ALL)[number];

export const TOKEN_AT: EvmAddress = simAddress("a plain token");
export const USDT_AT: EvmAddress = simAddress("a token that must be reset and returns nothing");
const CHAIN_ID = 7n;
const ETHER = 10n ** 18n;
const COIN = 100_000_000n;
const TOKEN_UNIT = 10n ** 6n;
const BLOCK_SEC = 12;

const account = (coin: string, protocol: object, decimals: number): SimCoin => ({
  coin,
  fname: coin,
  mm2: 1,
  rpcport: 0,
  is_testnet: true,
  required_confirmations: 3,
  avg_blocktime: BLOCK_SEC,
  decimals,
  max_eth_tx_type: 2,
  swap_gas_fee_policy: "Medium",
  derivation_path: "m/44'/60'",
  protocol,
});
const token = (coin: string, at: EvmAddress): SimCoin =>
  account(coin, { type: "ERC20", protocol_data: { platform: ETH, contract_address: checksumAddress(at) } }, 6);

export const ACCOUNT_COINS: readonly SimCoin[] = [
  ...DEMO_COINS.filter(({ coin }) => coin === UTXO).map((demo): SimCoin => ({ ...demo, avg_blocktime: 60, required_confirmations: 1 })),
  account(ETH, { type: "ETH", protocol_data: { chain_id: Number(CHAIN_ID) } }, 18),
  token(TOKEN, TOKEN_AT),
  token(USDT, USDT_AT),
];

export type AccountWorld = { readonly world: SimWorld; readonly maker: SimNode; readonly taker: SimNode };

/** A maker and a taker with 1000 of each coin, running and connected. */
export async function accountWorld(options: SimOptions, ofMaker: SimNodeOptions = {}): Promise<AccountWorld> {
  const world = await SimWorld.create({
    coins: ACCOUNT_COINS,
    accountChains: [
      {
        ticker: ETH,
        chainId: CHAIN_ID,
        tokens: [
          { address: TOKEN_AT, decimals: 6 },
          { address: USDT_AT, decimals: 6, resetFirst: true, answers: "nothing" },
        ],
      },
    ],
    mining: "by_hand",
    ...options,
  });
  const chain = world.accountChain(ETH);
  const maker = world.addNode("maker", ofMaker);
  const taker = world.addNode("taker");
  for (const node of [maker, taker]) {
    world.fund(node, UTXO, 1_000n * COIN);
    chain.payFromFaucet(node.account, 1_000n * ETHER);
    for (const at of [TOKEN_AT, USDT_AT]) chain.payFromFaucet(at, 0n, transferCall(node.account, 1_000n * TOKEN_UNIT));
  }
  for (const { chain: utxo } of world.chains.values()) {
    utxo.mine(6);
    utxo.autoMine(60_000);
  }
  chain.mine();
  chain.autoMine(BLOCK_SEC * 1_000);
  for (const node of [maker, taker]) await node.start(ALL);
  await world.runUntil("both have a relay", () => [maker, taker].every((n) => n.p2p.relays().length > 0));
  return { world, maker, taker };
}

/** Offer and request for `volume` base coins at `price`; resolves when both sides have stored the swap. @returns its uuid */
export async function match(
  { world, maker, taker }: AccountWorld,
  base: Ticker,
  rel: Ticker,
  volume: string,
  price: string,
): Promise<string> {
  const common = { base, rel, price: decimal(price), volume: decimal(volume) };
  const offered = await world.settle(maker.node.orders.placeMakerOrder({ ...common, cancelPrevious: false }));
  if (!offered.ok)
    throw new Error(`setprice refused: ${JSON.stringify(offered.error, (_k, v) => (typeof v === "bigint" ? String(v) : v))}`);
  const placed = await world.settle(taker.node.orders.placeTakerOrder({ ...common, action: "Buy" }));
  if (!placed.ok) throw new Error(`buy refused: ${JSON.stringify(placed.error, (_k, v) => (typeof v === "bigint" ? String(v) : v))}`);
  const { uuid } = placed.value;
  await world.runUntil("the orders match", () => maker.swaps.has(uuid) && taker.swaps.has(uuid), 60_000);
  return uuid;
}

/** What a node has of each coin, base units; account coins by what the tip says. */
export function purse({ world }: AccountWorld, node: SimNode): Record<Ticker, bigint> {
  const chain = world.accountChain(ETH);
  return {
    [UTXO]: node.balance(UTXO),
    [ETH]: chain.balance(node.account),
    [TOKEN]: chain.tokenBalance(TOKEN_AT, node.account),
    [USDT]: chain.tokenBalance(USDT_AT, node.account),
  };
}
export { ZERO_ADDRESS };
