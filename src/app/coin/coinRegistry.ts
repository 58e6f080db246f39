import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { type UtxoKind, utxoKind } from "../../core/coin/utxoKind.ts";
import type { HdAddressId } from "../../core/keys/hd.ts";
import type { KeyPair } from "../../core/keys/keyPair.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { addressScript, addressText, pubkeyToAddress } from "../../core/utxo/address.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { p2pkhScript, p2pkScript, p2wpkhScript } from "../../core/utxo/outputScript.ts";
import type { ScanProgress, UtxoChain } from "../../ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { CoinWallet } from "./coinSpec.ts";
import { UtxoCoin } from "./utxoCoin.ts";

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
  /** `progress`: the node still reads the coin's chain; null when it has. */
  | { readonly kind: "AlreadyActive"; readonly coin: string; readonly progress: ScanProgress | null }
  /** By an earlier request that has no answer yet; `progress` null: its daemon has not answered. */
  | { readonly kind: "BeingEnabled"; readonly coin: string; readonly progress: ScanProgress | null }
  | { readonly kind: "BeingDisabled"; readonly coin: string }
  | { readonly kind: "Mm2NotSet"; readonly coin: string }
  | { readonly kind: "ProtocolMissing"; readonly coin: string }
  | { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }
  | { readonly kind: "DaemonFailed"; readonly coin: string; readonly message: string };

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
  /** See `SafetyRules`. */
  readonly feeCeilingFactor: number;
  /** Called before an opened coin can be used by anybody: what stored swaps have of it is taken out of circulation. */
  readonly prepare: (coin: UtxoCoin) => void;
  /** Called before a coin closes. */
  readonly beforeClose: (ticker: string) => Promise<void>;
  /** Asked before a coin goes: what still needs it. */
  readonly usersOf: (ticker: string) => { readonly matchingOrders: readonly string[]; readonly activeSwaps: readonly string[] };
  /** Cancels the open orders of a coin that goes; their uuids. */
  readonly cancelOrdersOf: (ticker: string) => Promise<readonly string[]>;
};

/** KDF takes a coin out again when its balance does not come within this. */
const FIRST_BALANCE_MS = 20_000;
/** A daemon that refuses or does not answer may be starting; after this it is told. */
const FAILING_MS = 3_000;
const DEFAULT_FEE_TARGET_BLOCKS = 1;

/** The activated coins. */
export class CoinRegistry {
  readonly #deps: CoinRegistryDeps;
  readonly #coins = new Map<string, UtxoCoin>();
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
  /** For new trades. */
  active(ticker: string): UtxoCoin | undefined {
    return this.#passive.has(ticker) ? undefined : this.#coins.get(ticker);
  }
  /** For swaps that run already. */
  running(ticker: string): UtxoCoin | undefined {
    return this.#coins.get(ticker);
  }
  all(): readonly UtxoCoin[] {
    return [...this.#coins.values()].filter((c) => !this.#passive.has(c.ticker));
  }
  onActivated(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async enable(request: EnableRequest, signal: AbortSignal): Promise<Result<UtxoCoin, EnableError>> {
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
    const coin = this.active(ticker);
    if (coin) return { kind: "AlreadyActive", coin: ticker, progress: coin.chain.status().progress };
    const chain = this.#opening.get(ticker);
    if (chain !== undefined) return { kind: "BeingEnabled", coin: ticker, progress: chain?.status().progress ?? null };
    return this.#closing.has(ticker) ? { kind: "BeingDisabled", coin: ticker } : null;
  }

  async #open(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<UtxoCoin, EnableError>> {
    const { ticker } = entry;
    if (entry.protocol.type === "") return err({ kind: "ProtocolMissing", coin: ticker });
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
      { ...walletOf(kind.value, key.value), ...this.#hdWallet(entry) },
      chain.value,
      this.#deps.clock,
    );
    const failed = await this.#firstBalance(coin, request.birthdayHeight ?? 0, signal);
    if (failed !== null) {
      await coin.close();
      return err({ kind: "DaemonFailed", coin: ticker, message: failed });
    }
    this.#deps.prepare(coin);
    this.#coins.set(ticker, coin);
    this.#deps.log.info("coin_activated", { coin: ticker, address: coin.address });
    for (const l of this.#listeners) l();
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
    const coin = this.active(ticker);
    if (!coin) return err({ kind: "NoSuchCoin", coin: ticker });
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
    this.#coins.delete(ticker);
    this.#closing.add(ticker);
    try {
      await this.#deps.beforeClose(ticker);
      await coin.close();
    } finally {
      this.#closing.delete(ticker);
    }
    return ok({ cancelledOrders, passivized: false });
  }

  #inUse(ticker: string, cancelledOrders: readonly string[]): (DisableError & { kind: "CoinInUse" }) | null {
    const { matchingOrders, activeSwaps } = this.#deps.usersOf(ticker);
    const inUse = matchingOrders.length > 0 || activeSwaps.length > 0;
    return inUse ? { kind: "CoinInUse", matchingOrders, cancelledOrders, activeSwaps } : null;
  }

  async close(): Promise<void> {
    const coins = [...this.#coins.values()];
    this.#coins.clear();
    await Promise.all(coins.map((c) => c.close()));
  }
}

/** Every plain form that pays to the key is ours; the coin's own form comes first and receives change. */
function walletOf(
  kind: UtxoKind,
  key: KeyPair,
): { readonly key: KeyPair; readonly address: string; readonly scripts: readonly Uint8Array[] } {
  const own = pubkeyToAddress(key.publicKey, kind.address);
  const hash = hash160(key.publicKey);
  const others = [p2pkhScript(hash), p2pkScript(key.publicKey), ...(kind.address.segwit ? [p2wpkhScript(hash)] : [])];
  const first = addressScript(own);
  return {
    key,
    address: addressText(own, kind.address),
    scripts: [first, ...others.filter((s) => s.length !== first.length || s.some((b, i) => b !== first[i]))],
  };
}

/** Fires when the chain has been unreachable for `ms`. */
function whenFailing(chain: UtxoChain, clock: Clock, ms: number): { readonly signal: AbortSignal; stop(): void } {
  const given = new AbortController();
  let cancel: (() => void) | null = null;
  const look = (): void => {
    const bad = chain.status().state === "unreachable";
    if (bad) cancel ??= clock.after(ms, () => given.abort());
    else {
      cancel?.();
      cancel = null;
    }
  };
  const off = chain.onChange(look);
  look();
  return {
    signal: given.signal,
    stop() {
      off();
      cancel?.();
    },
  };
}

function feeTargetBlocks(entry: CoinEntry): number {
  const blocks = entry.raw.estimate_fee_blocks;
  return typeof blocks === "number" && Number.isInteger(blocks) && blocks > 0 && blocks <= 1_008 ? blocks : DEFAULT_FEE_TARGET_BLOCKS;
}
