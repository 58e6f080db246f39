import type { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { CoinRegistry } from "../../src/app/coin/coinRegistry.ts";
import { EvmCoins } from "../../src/app/coin/evm/evmCoins.ts";
import type { EvmParts } from "../../src/app/coin/evmParts.ts";
import type { UtxoCoin } from "../../src/app/coin/utxoCoin.ts";
import { type CoinEntry, parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { err, ok } from "../../src/core/util/result.ts";
import { Secret } from "../../src/core/util/secret.ts";
import type { AddressFormat } from "../../src/core/utxo/address.ts";
import { coinsApi } from "../../src/main/coinsApi.ts";
import { nodeKeys } from "../../src/main/nodeKeys.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Compatibility, RpcContext } from "../../src/rpc/ctx.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { fakeNode, PASSWORD } from "./fakeNode.ts";
import { fakeDispatcher } from "./rpcServer.ts";
import { SilentLog } from "./silentLog.ts";
import { StillChain } from "./stillChain.ts";

export type CoinNode = {
  readonly ctx: RpcContext;
  readonly clock: VirtualClock;
  readonly coins: CoinRegistry;
  readonly chains: ReadonlyMap<string, StillChain>;
  coin(ticker: string): UtxoCoin;
  /** Enables a coin over a still chain; what `enable` would refuse comes back. */
  enable(ticker: string, addressFormat?: AddressFormat): ReturnType<CoinRegistry["enable"]>;
  /** Pays each amount, in base units, to the coin's address. */
  fund(ticker: string, ...amounts: readonly bigint[]): void;
  flat(
    method: string,
    params?: { readonly [key: string]: Json },
  ): Promise<{ readonly status: number; readonly reply: Record<string, unknown> }>;
  v2(method: string, params: Json): Promise<{ readonly status: number; readonly reply: Record<string, unknown> }>;
};

/**
 * The RPC over real coins: real keys and transactions on chains that stand still.
 * @param trouble what the daemons have, while `StillChain.trouble` is not set to null
 * @param world what stands around the coins. `parts`: account chains; `clock`: the one they live by, where it is not the node's
 */
export async function coinNode(
  entries: readonly unknown[],
  passphrase: string,
  hd = false,
  trouble: string | null = null,
  compatibility: Compatibility = "spec",
  world: {
    readonly parts?: Omit<EvmParts, "load" | "unlimitedAllowances">;
    readonly clock?: Clock;
    /** Running swaps of a coin; absent: none. */
    readonly swapsOf?: (ticker: string) => readonly string[];
    /** Whether swaps of a coin have ended and may change yet; absent: none have. */
    readonly isWatched?: (ticker: string) => boolean;
    readonly cancelOrdersOf?: (ticker: string) => Promise<readonly string[]>;
  } = {},
): Promise<CoinNode> {
  const fake = await fakeNode({ compatibility });
  const keys = nodeKeys(new Secret(passphrase), hd);
  const chains = new Map<string, StillChain>();
  const parsed = entries.map((value): CoinEntry => {
    const entry = parseCoinEntry(value);
    if (!entry.ok) throw new Error(`${entry.error.coin}: ${entry.error.detail}`);
    return entry.value;
  });
  const coins = new CoinRegistry({
    clock: world.clock ?? fake.clock,
    log: new SilentLog(),
    entries: new Map(parsed.map((e) => [e.ticker, e])),
    keyOf: (entry) => {
      const key = keys.hdKeyOf ? keys.hdKeyOf(entry) : keys.node;
      return key ? ok(key) : err({ kind: "NotSupported", coin: entry.ticker, reason: "no derivation_path" });
    },
    ...(keys.hdKeyOf ? { hdKeyOf: keys.hdKeyOf } : {}),
    feeCeilingFactor: 8,
    ...(world.parts ? { evm: { ...world.parts, unlimitedAllowances: false, load: async () => ({ EvmCoins }) } } : {}),
    openChain: async (entry) => {
      const chain = new StillChain(entry.ticker);
      chain.trouble = trouble;
      chains.set(entry.ticker, chain);
      return ok(chain);
    },
    usersOf: (ticker) => ({ matchingOrders: [], activeSwaps: world.swapsOf?.(ticker) ?? [] }),
    isWatched: (ticker) => world.isWatched?.(ticker) ?? false,
    cancelOrdersOf: world.cancelOrdersOf ?? (async () => []),
    prepare: () => undefined,
    beforeClose: async () => undefined,
  });
  const ctx: RpcContext = {
    ...fake.ctx,
    node: { ...fake.ctx.node, hd },
    coins: coinsApi(coins, null),
  };
  const dispatcher = fakeDispatcher({ ...fake, ctx });
  const ask = async (body: { readonly [key: string]: Json }) => {
    const { status, body: text } = await dispatcher.answer({ userpass: PASSWORD, ...body }, "127.0.0.1");
    const reply: Record<string, unknown> = JSON.parse(text);
    return { status, reply };
  };
  const coin = (ticker: string): UtxoCoin => {
    const found = coins.utxo(ticker);
    if (!found) throw new Error(`${ticker} is not enabled`);
    return found;
  };
  return {
    ctx,
    clock: fake.clock,
    coins,
    chains,
    coin,
    enable: (ticker, addressFormat) =>
      coins.enable(
        {
          coin: ticker,
          mm2: true,
          requiredConfirmations: undefined,
          requiresNotarization: undefined,
          daemon: undefined,
          birthdayHeight: undefined,
          addressFormat,
        },
        new AbortController().signal,
      ),
    fund(ticker, ...amounts) {
      const script = coin(ticker).wallet.scripts[0];
      for (const amount of amounts) if (script) chains.get(ticker)?.pay(script, amount);
    },
    flat: (method, params = {}) => ask({ method, ...params }),
    v2: (method, params) => ask({ mmrpc: "2.0", id: 0, method, params }),
  };
}
