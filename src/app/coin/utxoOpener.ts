import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { type UtxoKind, utxoKind } from "../../core/coin/utxoKind.ts";
import type { HdAddressId } from "../../core/keys/hd.ts";
import type { KeyPair } from "../../core/keys/keyPair.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { AddressFormat } from "../../core/utxo/address.ts";
import { BlockGone, type UtxoChainWithHistory } from "../../ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { serversProblem } from "./checkServers.ts";
import type { CoinShelf } from "./coinShelf.ts";
import type { CoinWallet } from "./coinSpec.ts";
import { FAILING_MS, FIRST_BALANCE_MS } from "./firstLook.ts";
import { ledgersBeside, ownWallet } from "./ownWallet.ts";
import { UtxoCoin } from "./utxoCoin.ts";
import { keepMerging, type MergeRule } from "./utxoMerger.ts";
import { whenFailing } from "./whenFailing.ts";

/** Where a coin's daemon is; null: the coins file's `rpcport` and the daemon's own conf file (KDF's native mode). */
export type DaemonAddress = { readonly url: string; readonly user: string; readonly password: { reveal(): string } };

/** One Electrum server. `url`: host and port. */
export type ElectrumServerAddress = {
  readonly url: string;
  readonly protocol: "TCP" | "SSL" | "WS" | "WSS";
  /** TLS: any certificate is taken, another one every time. */
  readonly anyCertificate: boolean;
  /** TLS: the certificate with this SHA-256 (lower-case hex) is taken whatever the server showed before. */
  readonly acceptCertificate?: string;
  /** Deadline of a call, seconds; undefined: the usual one. */
  readonly timeoutSec: number | undefined;
};

/** Several servers of one chain, none of which is believed alone. */
export type ElectrumServers = {
  readonly servers: readonly ElectrumServerAddress[];
  /** With fewer connected the coin counts as unreachable. Default: 2 where three or more hosts are named, else 1. */
  readonly minConnected: number | undefined;
  /** Used at a time; default: all, at most 5, or `minConnected` where that is more. */
  readonly maxConnected: number | undefined;
};

/**
 * What a coin's chain is followed through. `address` undefined: the daemon of this machine. `mayComeLater`: where that has left no login yet
 * it is a backend that is away; else the chain is refused.
 */
export type ChainSource =
  | { readonly kind: "daemon"; readonly address: DaemonAddress | undefined; readonly mayComeLater: boolean }
  | ({ readonly kind: "electrum" } & ElectrumServers);

/** The daemon or the servers cannot be reached with what is known of them. */
export type OpenChainError =
  | { readonly kind: "DaemonConfig"; readonly path: string; readonly reason: string }
  | { readonly kind: "BadDaemonUrl"; readonly reason: string }
  | { readonly kind: "BadServers"; readonly reason: string };

/**
 * `useServers`: goes on with other Electrum servers; refused, nothing changes. Absent with a daemon.
 * `tryOther`: why the coin could not be opened with what the next start is to open it with. A daemon is asked, within seconds; of servers
 * only their addresses are looked at. Where its index is to be forgotten (`rescan`) it may be of another chain than that. Absent: it is not known.
 */
export type OpenedChain = UtxoChainWithHistory & {
  readonly useServers?: (servers: ElectrumServers) => Result<undefined, OpenChainError>;
  readonly tryOther?: (source: ChainSource, rescan: boolean, signal: AbortSignal) => Promise<Result<undefined, UtxoEnableError>>;
};

/** `rescan`: the stored index counts for nothing, and is forgotten with the first that the backend shows. */
export type OpenChain = (
  entry: CoinEntry,
  kind: UtxoKind,
  source: ChainSource,
  rescan: boolean,
) => Promise<Result<OpenedChain, OpenChainError>>;

export type UtxoOpenerDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** The key of a coin: the node's in single-key mode, the first address of its path in HD mode. */
  readonly keyOf: (entry: CoinEntry) => Result<KeyPair, { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }>;
  /** The coins file. */
  readonly entries: ReadonlyMap<string, CoinEntry>;
  /** HD mode: the key of any address of a coin. */
  readonly hdKeyOf?: (entry: CoinEntry, id: HdAddressId) => KeyPair | null;
  readonly openChain: OpenChain;
  /** See `SafetyRules`. */
  readonly feeCeilingFactor: number;
};

export type UtxoEnable = {
  readonly requiredConfirmations: number | undefined;
  readonly requiresNotarization: boolean | undefined;
  readonly daemon: DaemonAddress | undefined;
  /** In place of a daemon. */
  readonly electrum?: ElectrumServers | undefined;
  /** Answer with the history of transactions. Default false. */
  readonly txHistory?: boolean;
  /** In place of the coins file's `address_format`. */
  readonly addressFormat?: AddressFormat | undefined;
  /** Merge own outputs when there are many; absent: never. */
  readonly merge?: MergeRule | undefined;
  /** The address below the coin's account that the coin is to use; absent: the first. */
  readonly hdAddress?: HdAddressId | undefined;
  readonly birthdayHeight: number | undefined;
  /** Forget the index of this coin: it was built from another chain, or is doubted. */
  readonly rescan?: boolean;
};

export type UtxoEnableError =
  | OpenChainError
  | { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }
  /** It gave no balance. `message`: a sentence. */
  | { readonly kind: "DaemonFailed"; readonly coin: string; readonly message: string };

const DEFAULT_FEE_TARGET_BLOCKS = 1;
const OTHER_ADDRESS =
  "path_to_address names another address than the first, external one of account 0, which is the only one this node trades with";

/** `away`: why its backend gave no balance, a sentence; null: it did, or its first scan runs. */
export type OpenedCoin = { readonly coin: UtxoCoin; readonly away: string | null };

/**
 * Opens a coin over its backend, and waits for its first balance a while.
 *
 * @param keep it is wanted for swaps that wait for it, also while its backend is away
 * @param onChain told the chain as soon as there is one, long before the coin can be used
 * @throws Aborted when `signal` fires
 */
export async function openUtxoCoin(
  deps: UtxoOpenerDeps & { readonly shelf: Pick<CoinShelf, "coins" | "passive"> },
  entry: CoinEntry,
  request: UtxoEnable,
  keep: boolean,
  onChain: (chain: OpenedChain) => void,
  signal: AbortSignal,
): Promise<Result<OpenedCoin, UtxoEnableError>> {
  const { ticker } = entry;
  const plan = planOf(deps, entry, request, keep);
  if (!plan.ok) return plan;
  const { kind, key, source } = plan.value;
  const chain = await deps.openChain(entry, kind, source, request.rescan ?? false);
  if (!chain.ok) return chain;
  onChain(chain.value);
  const wallet = ownWallet(entry, kind, key, deps);
  const coin = new UtxoCoin(
    {
      kind,
      orderbookTicker: entry.orderbookTicker,
      walletOnly: entry.walletOnly,
      signMessagePrefix: entry.signMessagePrefix,
      feeTargetBlocks: feeTargetBlocks(entry),
      feeCeilingFactor: deps.feeCeilingFactor,
      confirmations: request.requiredConfirmations ?? kind.confirmations,
      notarization: request.requiresNotarization ?? kind.notarization,
      txHistory: request.txHistory ?? false,
    },
    { ...wallet, ...hdWallet(deps, entry), beside: () => ledgersBeside(entry, wallet, deps.shelf.coins.values()) },
    chain.value,
    deps.clock,
  );
  try {
    return ok({ coin, away: await beginWith(deps, coin, request, signal) });
  } catch (cause) {
    await coin.close();
    if (cause instanceof BlockGone) return err({ kind: "DaemonFailed", coin: ticker, message: cause.message });
    throw cause;
  }
}

type OpenPlan = { readonly kind: UtxoKind; readonly key: KeyPair; readonly source: ChainSource };

/** How a coin is to be opened; or why it cannot be, which no backend need be asked for. */
export function planOf(
  { keyOf, hdKeyOf }: Pick<UtxoOpenerDeps, "keyOf" | "hdKeyOf">,
  entry: CoinEntry,
  { addressFormat, hdAddress, electrum, daemon }: UtxoEnable,
  mayComeLater: boolean,
): Result<OpenPlan, UtxoEnableError> {
  const { ticker } = entry;
  const kind = utxoKind(entry, addressFormat);
  if (!kind.ok) return err({ kind: "NotSupported", coin: ticker, reason: kind.error.reason });
  const key = keyOf(entry);
  if (!key.ok) return key;
  if (hdKeyOf && hdAddress && (hdAddress.account !== 0 || hdAddress.chain !== 0 || hdAddress.index !== 0))
    return err({ kind: "NotSupported", coin: ticker, reason: OTHER_ADDRESS });
  const problem = electrum && serversProblem(electrum);
  if (problem) return err({ kind: "BadServers", reason: problem });
  const source: ChainSource = electrum ? { kind: "electrum", ...electrum } : { kind: "daemon", address: daemon, mayComeLater };
  return ok({ kind: kind.value, key: key.value, source });
}

/**
 * Waits for a balance of an open coin a while, then does what its request asks for.
 *
 * @returns why its backend gave none, a sentence; null: it did
 * @throws Aborted when `signal` fires
 */
export async function beginWith(
  deps: Pick<UtxoOpenerDeps, "clock" | "log"> & { readonly shelf: Pick<CoinShelf, "passive"> },
  coin: UtxoCoin,
  { birthdayHeight, merge }: UtxoEnable,
  signal: AbortSignal,
): Promise<string | null> {
  const away = await firstBalance(deps, coin, birthdayHeight ?? 0, signal);
  if (away === null && merge) void keepMerging(coin, merge, { ...deps, isAside: (ticker) => deps.shelf.passive.has(ticker) });
  return away;
}

function hdWallet({ hdKeyOf }: UtxoOpenerDeps, entry: CoinEntry): Pick<CoinWallet, "hd"> {
  const { derivationPath } = entry;
  return hdKeyOf && derivationPath !== null ? { hd: { derivationPath, keyAt: (id) => hdKeyOf(entry, id) } } : {};
}

/** The index covers the own scripts up to the tip; what went wrong otherwise. */
async function firstBalance(
  { clock, log }: Pick<UtxoOpenerDeps, "clock" | "log">,
  coin: UtxoCoin,
  birthday: number,
  signal: AbortSignal,
): Promise<string | null> {
  const failing = whenFailing(coin.chain, clock, FAILING_MS);
  try {
    await withDeadline(clock, FIRST_BALANCE_MS, [signal, failing.signal], async (s) => {
      await Promise.all(coin.wallet.scripts.map((script) => coin.chain.watchScript(script, birthday, s)));
      await coin.open(s);
    });
    return null;
  } catch (cause) {
    if (!(cause instanceof Aborted) || signal.aborted) throw cause;
    const { progress, error } = coin.chain.status();
    if (progress && error === null) {
      // A long first scan is no failure: the coin is usable, its balance grows as the scan goes on.
      log.info("first_scan_goes_on", { coin: coin.ticker, ...progress });
      return null;
    }
    return error ?? `The ${coin.ticker} backend did not answer in time. Enable the coin again: what was read so far is kept.`;
  } finally {
    failing.stop();
  }
}

function feeTargetBlocks(entry: CoinEntry): number {
  const blocks = entry.raw.estimate_fee_blocks;
  return typeof blocks === "number" && Number.isInteger(blocks) && blocks > 0 && blocks <= 1_008 ? blocks : DEFAULT_FEE_TARGET_BLOCKS;
}
