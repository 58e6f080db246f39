import { ServerCredit } from "../adapters/electrum/serverCredit.ts";
import { openChainStore } from "../adapters/sqlite/chainStore.ts";
import { openRescanStore } from "../adapters/sqlite/rescanStore.ts";
import type { OpenChain, OpenedChain } from "../app/coin/utxoOpener.ts";
import { ok } from "../core/util/result.ts";
import { openDaemonChain, tryDaemon } from "./openDaemonChain.ts";
import type { ElectrumChainDeps } from "./openElectrum.ts";

/** Opens the index of a UTXO coin over what its activation names. */
export function createChainOpener(deps: ElectrumChainDeps): OpenChain {
  const credit = new ServerCredit();
  // Loaded for the first coin that needs it.
  const electrum = () => import("./openElectrum.ts");
  return async (entry, kind, source, rescan) => {
    const store = (rescan ? openRescanStore : openChainStore)(deps.db, entry.ticker);
    const opened =
      source.kind === "daemon"
        ? await openDaemonChain(entry, kind, source, { ...deps, store })
        : await (await electrum()).openElectrum(entry, kind, source, { ...deps, store, credit });
    if (!opened.ok) return opened;
    const tryOther: OpenedChain["tryOther"] = async (other, isAnew, signal) =>
      other.kind === "daemon" ? tryDaemon(entry, other, isAnew, deps, signal) : (await electrum()).tryServers(entry, kind, other, deps);
    return ok({ ...opened.value, tryOther });
  };
}
