import { openElectrumChain } from "../adapters/electrum/electrumChain.ts";
import type { ServerChoice } from "../adapters/electrum/electrumDeps.ts";
import { electrumEndpoint } from "../adapters/electrum/electrumEndpoint.ts";
import { parseServerUrl, serverName } from "../adapters/electrum/serverAddress.ts";
import type { ServerCredit } from "../adapters/electrum/serverCredit.ts";
import { createCertificatePins } from "../adapters/sqlite/certificatePins.ts";
import type { ElectrumServers, OpenChainError, OpenedChain } from "../app/coin/utxoOpener.ts";
import type { CoinEntry } from "../core/coin/coinEntry.ts";
import { servedFees } from "../core/coin/servedFees.ts";
import type { UtxoKind } from "../core/coin/utxoKind.ts";
import { headerRulesOf, type UnsupportedHeaders } from "../core/proof/headerRules.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { ChainStore } from "../ports/chainStore.ts";
import type { Clock } from "../ports/clock.ts";
import type { ElectrumEndpoint } from "../ports/electrum.ts";
import type { Log } from "../ports/log.ts";
import type { Rng } from "../ports/rng.ts";
import type { SqlDatabase } from "../ports/sql.ts";

export type ElectrumChainDeps = { readonly clock: Clock; readonly rng: Rng; readonly log: Log; readonly db: SqlDatabase };

/** `credit`: what the servers of all coins may make the node hold. */
export type ElectrumOpenerDeps = ElectrumChainDeps & { readonly credit: ServerCredit; readonly store: ChainStore };

/** Opens the index of a coin over Electrum servers. */
export async function openElectrum(
  entry: CoinEntry,
  kind: UtxoKind,
  servers: ElectrumServers,
  deps: ElectrumOpenerDeps,
): Promise<Result<OpenedChain, OpenChainError>> {
  const { clock, log, store, credit } = deps;
  const headerRules = headerRulesOf(entry, kind);
  if (!headerRules.ok) return err({ kind: "BadServers", reason: uselessFor(entry.ticker, headerRules.error) });
  const choice = choiceOf(servers, deps);
  if (!choice.ok) return choice;
  const { servers: endpoints, ...limits } = choice.value;
  const chain = await openElectrumChain({
    ticker: entry.ticker,
    format: kind.template.format,
    headerRules: headerRules.value,
    servers: endpoints,
    store,
    clock,
    log,
    credit,
    options: { decimals: kind.decimals, fees: servedFees(kind.feePolicy), readsReward: !entry.isTestnet, ...limits },
  });
  return ok({
    ...chain,
    useServers(others) {
      const next = choiceOf(others, deps);
      if (next.ok) chain.exchangeServers(next.value);
      return next.ok ? ok(undefined) : next;
    },
  });
}

/** Whether a coin that is open could be opened over servers instead, by their addresses and its entry. */
export function tryServers(
  entry: CoinEntry,
  kind: UtxoKind,
  servers: ElectrumServers,
  deps: ElectrumChainDeps,
): Result<undefined, OpenChainError> {
  const headerRules = headerRulesOf(entry, kind);
  if (!headerRules.ok) return err({ kind: "BadServers", reason: uselessFor(entry.ticker, headerRules.error) });
  const choice = choiceOf(servers, deps);
  return choice.ok ? ok(undefined) : choice;
}

/** Why a coin cannot be followed through Electrum servers, and what can be done. */
function uselessFor(ticker: string, { kind, reason }: UnsupportedHeaders): string {
  return kind === "BadCheckpoint"
    ? `the entry of ${ticker} in the coins file cannot be used with Electrum servers: ${reason}; correct or remove it`
    : `${ticker} cannot be used with Electrum servers: ${reason}; enable it with its own daemon (method enable)`;
}

function choiceOf(
  { servers, minConnected, maxConnected }: ElectrumServers,
  { rng, db }: ElectrumChainDeps,
): Result<ServerChoice, OpenChainError> {
  const pins = createCertificatePins(db);
  const endpoints = new Map<string, ElectrumEndpoint>();
  for (const { url, protocol, anyCertificate, acceptCertificate, timeoutSec } of servers) {
    const parsed = parseServerUrl(url);
    if (!parsed.ok) return err({ kind: "BadServers", reason: `${url.slice(0, MAX_ECHO)} is no Electrum server: ${parsed.error.detail}` });
    const accepted = acceptCertificate === undefined ? {} : { acceptCertificate };
    const address = { ...parsed.value, protocol, disableCertVerification: anyCertificate, ...accepted };
    const timeoutMs = timeoutSec === undefined ? undefined : timeoutSec * 1_000;
    // One that is named twice is one, with and without the dot that may end a host name.
    const name = serverName({ ...address, host: address.host.replace(/\.$/, "") }).toLowerCase();
    endpoints.set(name, electrumEndpoint(address, { rng, pins }, timeoutMs));
  }
  const hosts = new Set([...endpoints.values()].map(({ voter }) => voter)).size;
  if ((minConnected ?? 1) > hosts)
    return err({ kind: "BadServers", reason: `min_connected (${minConnected}) is more than the ${hosts} hosts the servers are on` });
  return ok({
    servers: [...endpoints.values()],
    ...(minConnected === undefined ? {} : { minConnected }),
    ...(maxConnected === undefined ? {} : { maxConnected }),
  });
}

/** Longest piece of an address repeated in a sentence. */
const MAX_ECHO = 200;
