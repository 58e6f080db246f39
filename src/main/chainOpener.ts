import { ServerCredit } from "../adapters/electrum/serverCredit.ts";
import { forgetChain } from "../adapters/sqlite/chainStore.ts";
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
    if (rescan) await forgetChain(deps.db, entry.ticker);
    const opened =
      source.kind === "daemon"
        ? await openDaemonChain(entry, kind, source, deps)
        : await (await electrum()).openElectrum(entry, kind, source, { ...deps, credit });
    if (!opened.ok) return opened;
    const tryOther: OpenedChain["tryOther"] = async (other, signal) =>
      other.kind === "daemon" ? tryDaemon(entry, other, deps, signal) : (await electrum()).tryServers(entry, kind, other, deps);
    return ok({ ...opened.value, tryOther });
  };
}
