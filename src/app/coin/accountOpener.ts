import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { FieldReader } from "../../core/coin/fieldReader.ts";
import { err, type Result } from "../../core/util/result.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EvmCoins, EvmCoinsDeps, OpenedEvmCoin } from "./evm/evmCoins.ts";
import type { AccountNodes, EnableTokensError, EvmEnableError, EvmParts } from "./evmParts.ts";

export type AccountOpenerDeps = Pick<EvmCoinsDeps, "clock" | "log" | "entries" | "keyOf" | "feeCeilingFactor"> & {
  readonly hdKeyOf?: EvmCoinsDeps["hdKeyOf"] & {};
  /** Absent: coins of account chains cannot be enabled. */
  readonly evm?: EvmParts;
};

export type AccountEnable = {
  readonly requiredConfirmations: number | undefined;
  readonly requiresNotarization: boolean | undefined;
  readonly nodes?: AccountNodes;
};

const NO_NODES: AccountNodes = { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined };

/** Opens and closes the coins of account chains, and loads what they need with the first of them. */
export class AccountOpener {
  readonly #deps: AccountOpenerDeps;
  #coins: Promise<EvmCoins> | null = null;

  constructor(deps: AccountOpenerDeps) {
    this.#deps = deps;
  }

  /** See `EvmCoins.open`. */
  async open(entry: CoinEntry, request: AccountEnable, signal: AbortSignal, keep: boolean): Promise<Result<OpenedEvmCoin, EvmEnableError>> {
    const { evm, clock, log, entries, keyOf, hdKeyOf, feeCeilingFactor } = this.#deps;
    if (!evm) return err({ kind: "NotSupported", coin: entry.ticker, reason: "this node was started without account chains" });
    this.#coins ??= evm
      .load()
      .then(({ EvmCoins: Coins }) => new Coins({ clock, log, entries, keyOf, hdKeyOf: hdKeyOf ?? null, feeCeilingFactor, parts: evm }));
    const coins = await this.#coins;
    const { requiredConfirmations, requiresNotarization, nodes = NO_NODES } = request;
    return coins.open(entry, { nodes, requiredConfirmations, requiresNotarization, inheritsPrefix: false }, signal, keep);
  }

  /** See `EvmCoins.openUnchecked`. */
  async openUnchecked(
    platform: EvmCoin,
    entry: CoinEntry,
    requiredConfirmations: number | undefined,
  ): Promise<Result<EvmCoin, EnableTokensError>> {
    return (await this.#opened(platform)).openUnchecked(platform, entry, requiredConfirmations);
  }

  /** See `EvmCoins.leave`. */
  async leave(coin: EvmCoin): Promise<void> {
    (await this.#opened(coin)).leave(coin);
  }

  /** @returns why a coin that is open is not enabled with what a request names; null: it goes on with that */
  async useNodes(coin: EvmCoin, nodes: AccountNodes | undefined, signal: AbortSignal): Promise<EvmEnableError | null> {
    return (await this.#opened(coin)).useNodes(coin, nodes ?? NO_NODES, signal);
  }

  /** All or none of them, beside a platform coin that was opened here. */
  async openTokens(
    platform: EvmCoin,
    tokens: Parameters<EvmCoins["openTokens"]>[1],
    signal: AbortSignal,
  ): Promise<Result<readonly EvmCoin[], EnableTokensError>> {
    return (await this.#opened(platform)).openTokens(platform, tokens, signal);
  }

  async close(coin: EvmCoin): Promise<void> {
    await (await this.#opened(coin)).close(coin);
  }

  #opened(coin: EvmCoin): Promise<EvmCoins> {
    if (!this.#coins) throw new Error(`${coin.ticker} was not opened here`);
    return this.#coins;
  }
}

/** The platform coin an entry of a token names; empty: none. */
export function platformOf(entry: CoinEntry): string {
  const protocol = new FieldReader(entry.raw).object("protocol");
  const data = protocol && new FieldReader(protocol).object("protocol_data");
  return (data && new FieldReader(data).text("platform")) ?? "";
}
