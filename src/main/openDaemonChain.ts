import { homedir } from "node:os";
import { createDaemonClient, type DaemonClient, type DaemonEndpoint } from "../adapters/jsonRpc/daemonClient.ts";
import { daemonConfSentence, readDaemonConf } from "../adapters/jsonRpc/daemonConf.ts";
import { parseDaemonUrl } from "../adapters/jsonRpc/daemonUrl.ts";
import { createLateClient } from "../adapters/jsonRpc/lateClient.ts";
import { firstBlockOf } from "../adapters/sqlite/chainStore.ts";
import { daemonTrouble } from "../adapters/utxoRpc/daemonTrouble.ts";
import { openUtxoRpcChain } from "../adapters/utxoRpc/utxoRpcChain.ts";
import type { ChainSource, DaemonAddress, OpenChainError, UtxoEnableError } from "../app/coin/utxoOpener.ts";
import type { CoinEntry } from "../core/coin/coinEntry.ts";
import type { UtxoKind } from "../core/coin/utxoKind.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { UtxoChainWithHistory } from "../ports/chain.ts";
import type { ChainStore } from "../ports/chainStore.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { SqlDatabase } from "../ports/sql.ts";

export type DaemonChainDeps = { readonly clock: Clock; readonly log: Log };

type DaemonSource = Extract<ChainSource, { readonly kind: "daemon" }>;

/** Looks at a daemon that is on this machine this often, ms. */
const LOCAL_POLL_MS = 500;

function endpointOf(
  entry: CoinEntry,
  daemon: DaemonAddress | undefined,
): Promise<Result<DaemonEndpoint, OpenChainError>> | Result<DaemonEndpoint, OpenChainError> {
  if (daemon) {
    // Credentials that are not given beside the address may stand in it.
    const parsed = parseDaemonUrl(daemon.url, daemon.user || undefined, daemon.password.reveal() || undefined);
    return parsed.ok ? parsed : err({ kind: "BadDaemonUrl", reason: parsed.error.detail });
  }
  return fromConfFile(entry);
}

async function fromConfFile(entry: CoinEntry): Promise<Result<DaemonEndpoint, OpenChainError>> {
  const { raw } = entry;
  const text = (key: string): string | undefined => {
    const value = raw[key];
    return typeof value === "string" ? value : undefined;
  };
  const [name, asset, confpath] = [text("name"), text("asset"), text("confpath")];
  const found = await readDaemonConf(
    {
      coin: entry.ticker,
      ...(name === undefined ? {} : { name }),
      ...(asset === undefined ? {} : { asset }),
      ...(confpath === undefined ? {} : { confpath }),
      ...(typeof raw.rpcport === "number" ? { rpcport: raw.rpcport } : {}),
    },
    homedir(),
    process.platform,
  );
  return found.ok
    ? found
    : err({ kind: "DaemonConfig", path: "path" in found.error ? found.error.path : "", reason: daemonConfSentence(found.error) });
}

/** Or why there is none, a sentence. */
async function loginOf(entry: CoinEntry): Promise<Result<DaemonEndpoint, string>> {
  const found = await fromConfFile(entry);
  return found.ok ? found : err(found.error.reason);
}

/**
 * Whether a coin that is open could be opened over a daemon instead.
 * @param rescan its index is to be forgotten: also over one of another chain than that was built from
 */
export async function tryDaemon(
  entry: CoinEntry,
  { address }: DaemonSource,
  rescan: boolean,
  { clock, db }: DaemonChainDeps & { readonly db: SqlDatabase },
  signal: AbortSignal,
): Promise<Result<undefined, UtxoEnableError>> {
  const { ticker } = entry;
  const endpoint = await endpointOf(entry, address);
  if (!endpoint.ok) return endpoint;
  const client = createDaemonClient(endpoint.value, clock);
  try {
    const message = await daemonTrouble(ticker, client, clock, rescan ? null : await firstBlockOf(db, ticker), signal);
    return message === null ? ok(undefined) : err({ kind: "DaemonFailed", coin: ticker, message });
  } finally {
    client.close();
  }
}

/** Opens the index of a coin over its daemon: explicit address, or the daemon's own conf file as KDF's native mode does. */
export async function openDaemonChain(
  entry: CoinEntry,
  kind: UtxoKind,
  { address, mayComeLater }: DaemonSource,
  deps: DaemonChainDeps & { readonly store: ChainStore },
): Promise<Result<UtxoChainWithHistory, OpenChainError>> {
  const endpoint = await endpointOf(entry, address);
  if (!endpoint.ok && !(mayComeLater && endpoint.error.kind === "DaemonConfig")) return endpoint;
  const renewed = async (): Promise<DaemonEndpoint | null> => {
    const found = await fromConfFile(entry);
    return found.ok ? found.value : null;
  };
  const open = (at: DaemonEndpoint): DaemonClient => createDaemonClient(at, deps.clock, address ? {} : { renewed });
  const client = endpoint.ok ? open(endpoint.value) : createLateClient(() => loginOf(entry), open);
  const mode = entry.raw.estimate_fee_mode;
  const chain = await openUtxoRpcChain({
    ticker: entry.ticker,
    format: kind.template.format,
    rpc: client,
    store: deps.store,
    clock: deps.clock,
    log: deps.log,
    options: {
      pollMs: LOCAL_POLL_MS,
      decimals: kind.decimals,
      readsReward: !entry.isTestnet,
      ...(typeof mode === "string" ? { estimateFeeMode: mode } : {}),
    },
  });
  return ok({
    ...chain,
    async close() {
      await chain.close();
      client.close();
    },
  });
}
