import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../core/coin/evmProtocol.ts";
import { FieldReader } from "../../core/coin/fieldReader.ts";
import { type UtxoKind, utxoKind } from "../../core/coin/utxoKind.ts";
import type { HdAddressId } from "../../core/keys/hd.ts";
import type { KeyPair } from "../../core/keys/keyPair.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { ScanProgress, UtxoChain } from "../../ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { CoinWallet } from "./coinSpec.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EvmCoins } from "./evm/evmCoins.ts";
import type { AccountNodes, EnableTokensError, EvmEnableError, EvmParts, TokenRequest } from "./evmParts.ts";
import { FAILING_MS, FIRST_BALANCE_MS } from "./firstLook.ts";
import { ownWallet } from "./ownWallet.ts";
import { UtxoCoin } from "./utxoCoin.ts";
import { whenFailing } from "./whenFailing.ts";

/** An activated coin of either family. What only one of them can do is asked for by `family`. */
export type ActiveCoin = UtxoCoin | EvmCoin;

/** Where a coin's daemon is; null: the coins file's `rpcport` and the daemon's own conf file (KDF's native mode). */
export type DaemonAddress = { readonly url: string; readonly user: string; readonly password: { reveal(): string } };

export type EnableRequest = {
  readonly coin: string;
  /** Stands in for a missing `mm2` of the coins file. */
  readonly mm2: boolean;
  readonly requiredConfirmations: number | undefined;
  readonly requiresNotarization: boolean | undefined;
  readonly daemon: DaemonAddress | undefined;
  readonly birthdayHeight: number | undefined;
  /** Forget the index of this coin first: it was built from another chain, or is doubted. */
  readonly rescan?: boolean;
  /** Of an account chain. */
  readonly nodes?: AccountNodes;
};

/** The daemon cannot be reached with what is known of it. */
export type OpenChainError =
  | { readonly kind: "DaemonConfig"; readonly path: string; readonly reason: string }
  | { readonly kind: "BadDaemonUrl"; readonly reason: string };

/** `rescan`: the stored index is forgotten first. */
export type OpenChain = (
  entry: CoinEntry,
  kind: UtxoKind,
  daemon: DaemonAddress | undefined,
  rescan: boolean,
) => Promise<Result<UtxoChain, OpenChainError>>;

export type EnableError =
  | OpenChainError
  | EvmEnableError
  /** `progress`: the node still reads the coin's chain; null when it has. */
  | { readonly kind: "AlreadyActive"; readonly coin: string; readonly progress: ScanProgress | null }
  /** By an earlier request that has no answer yet; `progress` null: its daemon has not answered. */
  | { readonly kind: "BeingEnabled"; readonly coin: string; readonly progress: ScanProgress | null }
  | { readonly kind: "BeingDisabled"; readonly coin: string }
  | { readonly kind: "Mm2NotSet"; readonly coin: string }
  | { readonly kind: "ProtocolMissing"; readonly coin: string };

export type DisableError =
  | { readonly kind: "NoSuchCoin"; readonly coin: string }
  | {
      readonly kind: "CoinInUse";
      readonly matchingOrders: readonly string[];
      readonly cancelledOrders: readonly string[];
      readonly activeSwaps: readonly string[];
    };

export type CoinRegistryDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly entries: ReadonlyMap<string, CoinEntry>;
  /** The key of a coin: the node's in single-key mode, the first address of its path in HD mode. */
  readonly keyOf: (entry: CoinEntry) => Result<KeyPair, { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }>;
  /** HD mode: the key of any address of a coin. */
  readonly hdKeyOf?: (entry: CoinEntry, id: HdAddressId) => KeyPair | null;
  readonly openChain: OpenChain;
  /** Absent: coins of account chains cannot be enabled. */
  readonly evm?: EvmParts;
  /** See `SafetyRules`. */
  readonly feeCeilingFactor: number;
  /** Called before an opened coin that trades can be used by anybody: what stored swaps have of it is taken out of circulation. */
  readonly prepare: (coin: UtxoCoin) => void;
  /** Called before a coin closes. */
  readonly beforeClose: (ticker: string) => Promise<void>;
  /** Asked before a coin goes: what still needs it. */
  readonly usersOf: (ticker: string) => { readonly matchingOrders: readonly string[]; readonly activeSwaps: readonly string[] };
  /** Cancels the open orders of a coin that goes; their uuids. */
  readonly cancelOrdersOf: (ticker: string) => Promise<readonly string[]>;
};

const DEFAULT_FEE_TARGET_BLOCKS = 1;

/** The activated coins. */
export class CoinRegistry {
  readonly #deps: CoinRegistryDeps;
  readonly #coins = new Map<string, ActiveCoin>();
  /** Loaded with the first coin of an account chain. */
  #evm: Promise<EvmCoins> | null = null;
  /** Disabled by force while swaps still use them: no new trades. */
  readonly #passive = new Set<string>();
  /** Being opened; null until the chain is there. An index has one writer at a time. */
  readonly #opening = new Map<string, UtxoChain | null>();
  readonly #closing = new Set<string>();
  readonly #listeners = new Set<() => void>();

  constructor(deps: CoinRegistryDeps) {
    this.#deps = deps;
  }

  entry(ticker: string): CoinEntry | undefined {
    return this.#deps.entries.get(ticker);
  }
  /** For new trades: coins of account chains do not trade yet, so nothing that matches orders ever sees one. */
  active(ticker: string): UtxoCoin | undefined {
    return this.#passive.has(ticker) ? undefined : this.running(ticker);
  }
  /** For swaps that run already. */
  running(ticker: string): UtxoCoin | undefined {
    const coin = this.#coins.get(ticker);
    return coin?.family === "utxo" ? coin : undefined;
  }
  /** For the wallet: a coin of either family. */
  wallet(ticker: string): ActiveCoin | undefined {
    return this.#passive.has(ticker) ? undefined : this.#coins.get(ticker);
  }
  all(): readonly ActiveCoin[] {
    return [...this.#coins.values()].filter((c) => !this.#passive.has(c.ticker));
  }
  onActivated(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async enable(request: EnableRequest, signal: AbortSignal): Promise<Result<ActiveCoin, EnableError>> {
    const { coin: ticker } = request;
    const entry = this.#deps.entries.get(ticker);
    const taken = this.#taken(ticker);
    if (taken) return err(taken);
    if (!entry || !(entry.mm2 || request.mm2)) return err({ kind: "Mm2NotSet", coin: ticker });
    const back = this.#coins.get(ticker);
    if (back) {
      this.#passive.delete(ticker);
      return ok(back);
    }
    this.#opening.set(ticker, null);
    try {
      return await this.#open(entry, request, signal);
    } finally {
      this.#opening.delete(ticker);
    }
  }

  /** Why a coin cannot be enabled now, with how far its first scan is: the way to ask for it while it runs. */
  #taken(ticker: string): EnableError | null {
    const coin = this.wallet(ticker);
    if (coin) return { kind: "AlreadyActive", coin: ticker, progress: coin.family === "utxo" ? coin.chain.status().progress : null };
    const chain = this.#opening.get(ticker);
    if (chain !== undefined) return { kind: "BeingEnabled", coin: ticker, progress: chain?.status().progress ?? null };
    return this.#closing.has(ticker) ? { kind: "BeingDisabled", coin: ticker } : null;
  }

  async #open(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<ActiveCoin, EnableError>> {
    const { ticker, protocol } = entry;
    if (entry.protocol.type === "") return err({ kind: "ProtocolMissing", coin: ticker });
    const opened = isEvmProtocol(protocol.type)
      ? await this.#openEvm(entry, request, signal)
      : await this.#openUtxo(entry, request, signal);
    if (!opened.ok) return opened;
    this.#coins.set(ticker, opened.value);
    this.#deps.log.info("coin_activated", { coin: ticker, address: opened.value.address });
    for (const l of this.#listeners) l();
    return opened;
  }

  async #openEvm(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<EvmCoin, EnableError>> {
    const { evm, clock, log, entries, keyOf, hdKeyOf } = this.#deps;
    if (!evm) return err({ kind: "NotSupported", coin: entry.ticker, reason: "this node was started without account chains" });
    this.#evm ??= import("./evm/evmCoins.ts").then(
      ({ EvmCoins: Coins }) => new Coins({ clock, log, entries, keyOf, hdKeyOf: hdKeyOf ?? null, parts: evm }),
    );
    const { requiredConfirmations, requiresNotarization } = request;
    const nodes = request.nodes ?? { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined };
    return (await this.#evm).open(entry, { nodes, requiredConfirmations, requiresNotarization, inheritsPrefix: false }, signal);
  }

  /** Tokens beside their enabled platform coin, all or none. `platform` null: the one the entry of the first token names. */
  async enableTokens(
    platform: string | null,
    requests: readonly TokenRequest[],
    signal: AbortSignal,
  ): Promise<Result<readonly EvmCoin[], EnableTokensError>> {
    const evm = await this.#evm;
    const tokens: { readonly entry: CoinEntry; readonly requiredConfirmations: number | undefined }[] = [];
    for (const { ticker, requiredConfirmations } of requests) {
      const entry = this.#deps.entries.get(ticker);
      if (!entry) return err({ kind: "TokenConfigIsNotFound", ticker });
      if (entry.protocol.type !== "ERC20") return err({ kind: "UnexpectedTokenProtocol", ticker, protocol: entry.protocol.type });
      const isTwice = tokens.some((other) => other.entry === entry);
      if (isTwice || this.#coins.has(ticker) || this.#opening.has(ticker) || this.#closing.has(ticker))
        return err({ kind: "TokenIsAlreadyActivated", ticker });
      tokens.push({ entry, requiredConfirmations });
    }
    const name = platform ?? platformOf(tokens[0]?.entry);
    const coin = this.wallet(name);
    if (!evm || coin?.family !== "account" || coin.contract !== null) return err({ kind: "PlatformCoinIsNotActivated", platform: name });
    for (const { entry } of tokens) this.#opening.set(entry.ticker, null);
    try {
      const opened = await evm.openTokens(coin, tokens, signal);
      if (this.wallet(name) !== coin) {
        // It was disabled meanwhile; its account may live on under other tokens.
        for (const token of opened.ok ? opened.value : []) await evm.close(token);
        return err({ kind: "PlatformCoinIsNotActivated", platform: name });
      }
      for (const token of opened.ok ? opened.value : []) this.#coins.set(token.ticker, token);
      if (opened.ok) this.#deps.log.info("tokens_activated", { coin: name, count: opened.value.length });
      return opened;
    } catch (cause) {
      // Its account was closed under the work.
      if (cause instanceof Aborted && !signal.aborted && this.wallet(name) !== coin)
        return err({ kind: "PlatformCoinIsNotActivated", platform: name });
      throw cause;
    } finally {
      for (const { entry } of tokens) this.#opening.delete(entry.ticker);
    }
  }

  async #openUtxo(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<UtxoCoin, EnableError>> {
    const { ticker } = entry;
    const kind = utxoKind(entry);
    if (!kind.ok) return err({ kind: "NotSupported", coin: ticker, reason: kind.error.reason });
    const key = this.#deps.keyOf(entry);
    if (!key.ok) return key;
    const chain = await this.#deps.openChain(entry, kind.value, request.daemon, request.rescan ?? false);
    if (!chain.ok) return chain;
    this.#opening.set(ticker, chain.value);
    const coin = new UtxoCoin(
      {
        kind: kind.value,
        orderbookTicker: entry.orderbookTicker,
        walletOnly: entry.walletOnly,
        signMessagePrefix: entry.signMessagePrefix,
        feeTargetBlocks: feeTargetBlocks(entry),
        feeCeilingFactor: this.#deps.feeCeilingFactor,
        confirmations: request.requiredConfirmations ?? kind.value.confirmations,
        notarization: request.requiresNotarization ?? kind.value.notarization,
      },
      { ...ownWallet(kind.value, key.value), ...this.#hdWallet(entry) },
      chain.value,
      this.#deps.clock,
    );
    const failed = await this.#firstBalance(coin, request.birthdayHeight ?? 0, signal);
    if (failed !== null) {
      await coin.close();
      return err({ kind: "DaemonFailed", coin: ticker, message: failed });
    }
    this.#deps.prepare(coin);
    return ok(coin);
  }

  #hdWallet(entry: CoinEntry): Pick<CoinWallet, "hd"> {
    const { hdKeyOf } = this.#deps;
    const { derivationPath } = entry;
    return hdKeyOf && derivationPath !== null ? { hd: { derivationPath, keyAt: (id) => hdKeyOf(entry, id) } } : {};
  }

  /** The index covers the own scripts up to the tip; what went wrong otherwise. */
  async #firstBalance(coin: UtxoCoin, birthday: number, signal: AbortSignal): Promise<string | null> {
    const failing = whenFailing(coin.chain, this.#deps.clock, FAILING_MS);
    try {
      await withDeadline(this.#deps.clock, FIRST_BALANCE_MS, AbortSignal.any([signal, failing.signal]), async (s) => {
        await Promise.all(coin.wallet.scripts.map((script) => coin.chain.watchScript(script, birthday, s)));
        await coin.open(s);
      });
      return null;
    } catch (cause) {
      const status = coin.chain.status();
      if (cause instanceof Aborted && status.progress && status.error === null) {
        // A long first scan is no failure: the coin is usable, its balance grows as the scan goes on.
        this.#deps.log.info("first_scan_goes_on", { coin: coin.ticker, ...status.progress });
        return null;
      }
      return status.error ?? (cause instanceof Error ? cause.message : String(cause));
    } finally {
      failing.stop();
    }
  }

  async disable(
    ticker: string,
    force: boolean,
  ): Promise<Result<{ readonly cancelledOrders: readonly string[]; readonly passivized: boolean }, DisableError>> {
    const coin = this.wallet(ticker);
    if (!coin) return err({ kind: "NoSuchCoin", coin: ticker });
    const tokens = this.#tokensOf(coin);
    if (tokens.length > 0 && !force) {
      this.#passive.add(ticker);
      return ok({ cancelledOrders: [], passivized: true });
    }
    for (const token of tokens) await this.#take(token);
    const usedNow = this.#inUse(ticker, []);
    if (usedNow && !force) return err(usedNow);
    // No new order from here on; a swap may still begin before the last order is cancelled.
    this.#passive.add(ticker);
    const cancelledOrders = await this.#deps.cancelOrdersOf(ticker).catch((cause: unknown) => {
      this.#passive.delete(ticker);
      throw cause;
    });
    const used = this.#inUse(ticker, cancelledOrders);
    if (used && force) return ok({ cancelledOrders, passivized: true });
    this.#passive.delete(ticker);
    if (used) return err(used);
    await this.#take(coin);
    return ok({ cancelledOrders, passivized: false });
  }

  /** Tokens that need this platform coin's account. */
  #tokensOf(coin: ActiveCoin): readonly EvmCoin[] {
    if (coin.family !== "account" || coin.contract !== null) return [];
    return [...this.#coins.values()].filter((c): c is EvmCoin => c.family === "account" && c !== coin && c.account === coin.account);
  }

  /** Takes a coin out and closes it. */
  async #take(coin: ActiveCoin): Promise<void> {
    const { ticker } = coin;
    this.#coins.delete(ticker);
    this.#passive.delete(ticker);
    this.#closing.add(ticker);
    try {
      await this.#deps.beforeClose(ticker);
      await this.#close(coin);
    } finally {
      this.#closing.delete(ticker);
    }
  }

  async #close(coin: ActiveCoin): Promise<void> {
    if (coin.family === "utxo") await coin.close();
    else await (await this.#evm)?.close(coin);
  }

  #inUse(ticker: string, cancelledOrders: readonly string[]): (DisableError & { kind: "CoinInUse" }) | null {
    const { matchingOrders, activeSwaps } = this.#deps.usersOf(ticker);
    const inUse = matchingOrders.length > 0 || activeSwaps.length > 0;
    return inUse ? { kind: "CoinInUse", matchingOrders, cancelledOrders, activeSwaps } : null;
  }

  async close(): Promise<void> {
    const coins = [...this.#coins.values()];
    this.#coins.clear();
    await Promise.all(coins.map((c) => this.#close(c)));
  }
}

/** The platform coin an entry of a token names; empty: none. */
function platformOf(entry: CoinEntry | undefined): string {
  const protocol = entry ? new FieldReader(entry.raw).object("protocol") : null;
  const data = protocol ? new FieldReader(protocol).object("protocol_data") : null;
  return (data && new FieldReader(data).text("platform")) ?? "";
}

function feeTargetBlocks(entry: CoinEntry): number {
  const blocks = entry.raw.estimate_fee_blocks;
  return typeof blocks === "number" && Number.isInteger(blocks) && blocks > 0 && blocks <= 1_008 ? blocks : DEFAULT_FEE_TARGET_BLOCKS;
}
