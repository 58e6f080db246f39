import { ServerCredit } from "../adapters/electrum/serverCredit.ts";
import { forgetChain } from "../adapters/sqlite/chainStore.ts";
import type { OpenChain } from "../app/coin/utxoOpener.ts";
import { openDaemonChain } from "./openDaemonChain.ts";
import type { ElectrumChainDeps } from "./openElectrum.ts";

/** Opens the index of a UTXO coin over what its activation names. */
export function createChainOpener(deps: ElectrumChainDeps): OpenChain {
  const credit = new ServerCredit();
  return async (entry, kind, source, rescan) => {
    if (rescan) await forgetChain(deps.db, entry.ticker);
    if (source.kind === "daemon") return openDaemonChain(entry, kind, source, deps);
    // Loaded for the first coin that needs it.
    const { openElectrum } = await import("./openElectrum.ts");
    return openElectrum(entry, kind, source, { ...deps, credit });
  };
}
