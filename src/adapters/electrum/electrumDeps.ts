import type { ServedFees } from "../../core/coin/servedFees.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import type { TxFormat } from "../../core/utxo/txCodec.ts";
import type { UtxoChainWithHistory } from "../../ports/chain.ts";
import type { ChainStore } from "../../ports/chainStore.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ElectrumEndpoint, ServerHealth, ServerNeeds } from "../../ports/electrum.ts";
import type { Log } from "../../ports/log.ts";
import type { ServerCredit } from "./serverCredit.ts";

/** How one chain is looked at. */
export type ElectrumOptions = {
  /** Time between looks that nothing else asked for, ms; servers tell of changes in between. Default 15 000. */
  readonly pollMs?: number;
  /** Deadline of one call at servers that name none, and of connecting, ms. Default 10 000. */
  readonly timeoutMs?: number;
  /** With fewer connected servers the chain counts as unreachable. Default: 2 of three or more voters, else 1. */
  readonly minConnected?: number;
  /** Servers used at a time. Default: all, at most 5, or `minConnected` where that is more. */
  readonly maxConnected?: number;
  /**
   * Hashes one block takes from which on nobody invents blocks: the branch with most work is then followed, whoever shows it, and
   * below it only what most servers have. Default 2^32.
   */
  readonly costlyWork?: bigint;
  /** Headers of a branch read at one look at most. Default: by what checking one costs. */
  readonly headersPerLook?: number;
  /** Decimals of the coin in the servers' JSON. Default 8. */
  readonly decimals?: number;
  /** What the servers are believed of fees. Default: as for a coin whose entry fixes no rate. */
  readonly fees?: ServedFees;
  /** Ask for a block's coinbase at once to learn what it pays. Default false. */
  readonly readsReward?: boolean;
};

/**
 * What `openElectrumChain` needs.
 *
 * - `servers`: one `ElectrumEndpoint` each, made by `electrumEndpoint` (sockets) or by a test or the simulator (in process); at
 *   least one. The order is of no weight.
 * - `headerRules`: `headerRulesOf(entry, kind)`.
 * - `store`: the same as the daemon backend's, `openChainStore(db, ticker)`; the two may follow each other on one store.
 */
export type ElectrumDeps = {
  readonly ticker: string;
  readonly format: TxFormat;
  readonly headerRules: HeaderRules;
  readonly servers: readonly ElectrumEndpoint[];
  readonly store: ChainStore;
  readonly clock: Clock;
  readonly log: Log;
  /** What servers may make the node hold, shared by its coins. Absent: this chain has one of its own. */
  readonly credit?: ServerCredit;
  readonly options?: ElectrumOptions;
};

/** Servers to use, and how many of them: see `ElectrumOptions`. */
export type ServerChoice = Pick<ElectrumDeps, "servers"> & Pick<ElectrumOptions, "minConnected" | "maxConnected">;

export interface ElectrumChain extends UtxoChainWithHistory {
  /** Goes on with other servers, at least one: nothing that was found, is watched or is guarded is forgotten. */
  exchangeServers(choice: ServerChoice): void;
  /** The servers and how they are doing, in the order given. */
  servers(): readonly ServerHealth[];
  serverNeeds(): ServerNeeds;
}
