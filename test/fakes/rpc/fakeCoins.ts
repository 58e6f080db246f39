import type { AccountInfo } from "../../../src/app/coin/evmParts.ts";
import { FeeCoins } from "../../../src/app/coin/feeCoins.ts";
import { err, ok } from "../../../src/core/util/result.ts";
import type { CoinEntry, CoinsApi } from "../../../src/rpc/ctx/coins.ts";
import { enableWithTokens } from "../../../src/rpc/enableWithTokens.ts";
import { FakeRpcCoin } from "./fakeRpcCoin.ts";

const entryOf = (walletOnly = false): CoinEntry => ({
  walletOnly,
  orderbookTicker: null,
  protocol: '{"type":"UTXO"}',
  qrc20Platform: null,
});

/** A coin of the account chain that the imitated node knows. */
class FakeAccountCoin extends FakeRpcCoin {
  override readonly address = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";
  readonly #contract: string | null;
  constructor(ticker: string, contract: string | null) {
    super(ticker, { balance: "200" });
    this.#contract = contract;
  }
  override accountInfo(): AccountInfo {
    return { platform: "POL", contract: this.#contract, publicKey: Uint8Array.of(4, ...new Uint8Array(64).fill(1)) };
  }
  readonly gasPolicy = { now: "legacy", choose: () => undefined } as const;
}
/** Enabled from the start, and in no list. */
const AVAX = new FakeAccountCoin("AVAX", null);

/** The coins file and the enabled coins of it. `matching`: an order of ours that is being matched. */
export function fakeCoins(coins: Map<string, FakeRpcCoin>, matching: string | null): CoinsApi {
  const entries = new Map([
    ["DOC", entryOf()],
    ["MARTY", entryOf()],
    ["KMD", entryOf()],
    ["BTC", entryOf()],
    ["WALLET", entryOf(true)],
    ["TOK", { ...entryOf(), protocol: '{"type":"ERC20","protocol_data":{"platform":"ETH"}}' }],
    ["QRC", { ...entryOf(), protocol: '{"type":"QRC20","protocol_data":{"platform":"DOC"}}', qrc20Platform: "DOC" }],
    ["POL", { ...entryOf(), protocol: '{"type":"ETH","protocol_data":{"chain_id":137}}' }],
  ]);
  const api: CoinsApi = {
    active: (ticker) => coins.get(ticker) ?? (ticker === "AVAX" ? AVAX : undefined),
    trading: (ticker) => coins.get(ticker),
    all: () => [...coins.values()],
    entry: (ticker) => entries.get(ticker),
    forFees: new FeeCoins(() => undefined),
    whyAway: () => null,
    opening: () => undefined,
    async enable({ coin, daemon, electrum }) {
      if (coins.has(coin)) return err({ kind: "AlreadyActive", coin, progress: null });
      if (!entries.has(coin)) return err({ kind: "Mm2NotSet", coin });
      if (coin === "POL") return ok(new FakeAccountCoin(coin, null));
      if (electrum?.servers.length === 0) {
        return err({ kind: "BadServers", reason: "min_connected (1) must be <= max_connected (0)" });
      }
      if (!daemon && !electrum) {
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
    async enableTokens(_platform, tokens) {
      const foreign = tokens.find(({ ticker }) => !ticker.endsWith("-PLG20"));
      if (foreign) return err({ kind: "PlatformCoinIsNotActivated", platform: "ETH" });
      return ok(tokens.map(({ ticker }) => new FakeAccountCoin(ticker, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F")));
    },
    async disable(coin, force) {
      if (!coins.has(coin)) return err({ kind: "NoSuchCoin", coin });
      if (matching !== null && coin === "DOC" && !force) {
        return err({ kind: "CoinInUse", matchingOrders: [matching], cancelledOrders: [], activeSwaps: [] });
      }
      coins.delete(coin);
      return ok({ cancelledOrders: [], passivized: false });
    },
    enableWithTokens: (request, tokens, signal) => enableWithTokens({ ...api, ...noneAside }, request, tokens, signal),
  };
  const noneAside = { bringForward: () => undefined, closeAside: async () => false };
  return api;
}
