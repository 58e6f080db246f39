import { encodeWords } from "../core/evm/abi.ts";
import { checksumAddress, type EvmAddress, parseAnyCaseAddress } from "../core/evm/address.ts";
import { SWAPNODE_SWAP_CREATION_CODE } from "../core/evm/contract/swapnodeSwap.ts";
import { TEST_TOKEN_CREATION_CODE } from "../core/evm/contract/testToken.ts";
import { balanceOfCall, transferCall } from "../core/evm/erc20.ts";
import { decimal, fromUnits, toDecimalString, toUnits } from "../core/money/rational.ts";
import { concatBytes, toHex } from "../core/util/bytes.ts";
import { wantedCoin } from "./accountCoins.ts";
import { startAnvilProcess } from "./anvilProcess.ts";
import type { DevChain } from "./devChain.ts";
import type { Topology } from "./topology.ts";

type Entry = Topology["coins"][number];

/** An account chain with a swap contract and the tokens of a topology. */
export type AccountChainOfNet = {
  readonly chains: ReadonlyMap<string, DevChain>;
  /** The same coins, each token at the address it was deployed to. */
  readonly entries: readonly Entry[];
};

export type AccountChainOptions = {
  readonly platform: Entry;
  readonly tokens: readonly Entry[];
  readonly blockTimeMs: number;
  /** Anything else of anvil's command line. */
  readonly args?: readonly string[];
};

const CALL_MS = 20_000;
const PLATFORM_DECIMALS = 18;
/** Whole coins of the account that pays everybody: more than any amount of a topology. */
const FAUCET = "100000000000000";
/** Whole tokens made at first: likewise. */
const SUPPLY = 10n ** 14n;
/** Blocks of anvil have whole seconds, and none has the time of the one before. */
const LEAST_BLOCK_SEC = 1;
const GAS = "0x989680";

export type Call = (method: string, params?: readonly unknown[]) => Promise<unknown>;

/** Asks anvil; what its own accounts send goes out one after another, since anvil gives two at once the same nonce. */
function caller(url: string): Call {
  let id = 0;
  const ask: Call = async (method, params = []) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const reply = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (reply.error) throw new Error(`${method}: ${reply.error.message}`);
    return reply.result;
  };
  let last: Promise<unknown> = Promise.resolve();
  return (method, params) => {
    if (method !== "eth_sendTransaction") return ask(method, params);
    const sent = last.then(() => ask(method, params));
    last = sent.catch(() => null);
    return sent;
  };
}

const hex = (value: bigint): string => `0x${value.toString(16)}`;

/** Code and arguments that make a token of which the maker has {@link SUPPLY}. */
function tokenCode(ticker: string, decimals: number): string {
  const name = Buffer.from(ticker.slice(0, 32));
  const text = concatBytes(encodeWords(["uint256"], [BigInt(name.length)]), name, new Uint8Array(32 - name.length));
  // Two texts stand behind the four words of the head, each in two words.
  const head = encodeWords(["uint256", "uint256", "uint256", "uint256"], [128n, 192n, BigInt(decimals), SUPPLY * 10n ** BigInt(decimals)]);
  return TEST_TOKEN_CREATION_CODE + toHex(concatBytes(head, text, text));
}

/** Starts anvil, deploys the swap contract and one token for each entry, and pays with an account of anvil's own. Throws where there is no anvil. */
export async function startAccountChain({
  platform,
  tokens,
  blockTimeMs,
  args: more = [],
}: AccountChainOptions): Promise<AccountChainOfNet> {
  const wanted = wantedCoin(platform);
  if (wanted.kind !== "platform") throw new Error(`coin ${platform.coin} has no account chain of its own`);
  const blockSec = Math.max(LEAST_BLOCK_SEC, Math.round(blockTimeMs / 1_000));
  const args = ["--port", "0", "--chain-id", String(wanted.chainId), "--block-time", String(blockSec), "--balance", FAUCET, ...more];
  const anvil = await startAnvilProcess(args);
  try {
    return await deploy(anvil.url, anvil.stop, platform, tokens, (call) => call("evm_mine"));
  } catch (cause) {
    await anvil.stop();
    throw cause;
  }
}

/**
 * Deploys the swap contract and one token for each entry on a running chain, and pays with the first account of its node, which has every coin.
 * @param mined resolves when what was sent before is in a block
 */
export async function deploy(
  url: string,
  stop: () => Promise<void>,
  platform: Entry,
  tokens: readonly Entry[],
  mined: (call: Call, sent: readonly string[]) => Promise<unknown>,
): Promise<AccountChainOfNet> {
  const call = caller(url);
  const [faucet] = (await call("eth_accounts")) as string[];
  const send = async (what: object): Promise<string> => String(await call("eth_sendTransaction", [{ from: faucet, gas: GAS, ...what }]));
  const created = async (txid: string): Promise<EvmAddress> => {
    const receipt = (await call("eth_getTransactionReceipt", [txid])) as { contractAddress: string | null; status: string } | null;
    const address = parseAnyCaseAddress(receipt?.status === "0x1" ? (receipt.contractAddress ?? "") : "");
    if (!address.ok) throw new Error(`${txid} deployed nothing`);
    return address.value;
  };
  const decimals = tokens.map((entry) => decimalsOf(entry));
  const deployed = [await send({ data: `0x${SWAPNODE_SWAP_CREATION_CODE}` })];
  for (const [i, entry] of tokens.entries()) deployed.push(await send({ data: `0x${tokenCode(entry.coin, decimals[i] ?? 0)}` }));
  await mined(call, deployed);
  const [swap, ...at] = await Promise.all(deployed.map(created));
  if (swap === undefined) throw new Error("no swap contract was deployed");
  const common = {
    rpcUrl: url,
    daemon: { call: (method: string, params?: unknown) => call(method, Array.isArray(params) ? params : []) },
    close: stop,
  };
  const accountOf = (text: string): EvmAddress => {
    const parsed = parseAnyCaseAddress(text);
    if (!parsed.ok) throw new Error(`${text} is no address`);
    return parsed.value;
  };
  const chains = new Map<string, DevChain>();
  const show = (units: unknown, places: number): string => toDecimalString(fromUnits(BigInt(String(units)), places));
  chains.set(platform.coin, {
    ...common,
    contracts: { swap: checksumAddress(swap), token: null },
    fund: async (address, amount) => void (await send({ to: address, value: hex(toUnits(decimal(amount), PLATFORM_DECIMALS)) })),
    balance: async (address) => show(await call("eth_getBalance", [address, "latest"]), PLATFORM_DECIMALS),
  });
  const entries = tokens.map((entry, i): Entry => {
    const token = at[i];
    const places = decimals[i] ?? 0;
    if (token === undefined) throw new Error(`token ${entry.coin} was not deployed`);
    const contract = checksumAddress(token);
    chains.set(entry.coin, {
      ...common,
      contracts: { swap: checksumAddress(swap), token: contract },
      fund: async (address, amount) => {
        const data = `0x${toHex(transferCall(accountOf(address), toUnits(decimal(amount), places)))}`;
        await send({ to: contract, data });
      },
      balance: async (address) => {
        const data = `0x${toHex(balanceOfCall(accountOf(address)))}`;
        return show(await call("eth_call", [{ to: contract, data }, "latest"]), places);
      },
    });
    return { ...entry, protocol: { type: "ERC20", protocol_data: { platform: platform.coin, contract_address: contract } } };
  });
  return { chains, entries: [platform, ...entries] };
}

function decimalsOf(entry: Entry): number {
  const wanted = wantedCoin(entry);
  if (wanted.kind !== "token") throw new Error(`coin ${entry.coin} is no token`);
  return wanted.decimals;
}
