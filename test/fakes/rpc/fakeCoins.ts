import { err, ok } from "../../../src/core/util/result.ts";
import type { CoinEntry, CoinsApi } from "../../../src/rpc/ctx/coins.ts";
import { FakeRpcCoin } from "./fakeRpcCoin.ts";

const entryOf = (walletOnly = false): CoinEntry => ({ walletOnly, orderbookTicker: null, protocol: '{"type":"UTXO"}' });

/** The coins file and the enabled coins of it. `matching`: an order of ours that is being matched. */
export function fakeCoins(coins: Map<string, FakeRpcCoin>, matching: string | null): CoinsApi {
  const entries = new Map([
    ["DOC", entryOf()],
    ["MARTY", entryOf()],
    ["KMD", entryOf()],
    ["BTC", entryOf()],
    ["WALLET", entryOf(true)],
  ]);
  return {
    active: (ticker) => coins.get(ticker),
    all: () => [...coins.values()],
    entry: (ticker) => entries.get(ticker),
    async enable({ coin, daemon }) {
      if (coins.has(coin)) return err({ kind: "AlreadyActive", coin, progress: null });
      if (!entries.has(coin)) return err({ kind: "Mm2NotSet", coin });
      if (!daemon) {
        return err({
          kind: "DaemonConfig",
          path: `<HOME>/.komodo/${coin}/${coin}.conf`,
          reason: "No such file or directory (os error 2)",
        });
      }
      const enabled = new FakeRpcCoin(coin, { balance: "200" });
      coins.set(coin, enabled);
      return ok(enabled);
    },
    async disable(coin, force) {
      if (!coins.has(coin)) return err({ kind: "NoSuchCoin", coin });
      if (matching !== null && coin === "DOC" && !force) {
        return err({ kind: "CoinInUse", matchingOrders: [matching], cancelledOrders: [], activeSwaps: [] });
      }
      coins.delete(coin);
      return ok({ cancelledOrders: [], passivized: false });
    },
  };
}
