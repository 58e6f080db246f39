import type { ChainDaemon } from "../../src/chain/daemon.ts";
import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { type HeaderRules, NOTHING_KNOWN } from "../../src/core/proof/headerRules.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { SimChain } from "./simChain.ts";

/** Electrum servers of each chain. Two that misbehave are no majority. */
export const SERVERS = 5;

/** Headers of simulated chains: Bitcoin's, with the work of their own easy targets. */
export const SIM_HEADERS: HeaderRules = {
  ...NOTHING_KNOWN,
  layouts: ["plain"],
  work: { kind: "sha256d" },
};

/** How long one that denies what is new denies a transaction. Longer, and it would be caught at once. */
const DENIED_MS = 60_000;
/** Transactions it denies at a time; a server takes 100 faults. */
const MAX_DENIED = 60;

/** The Electrum servers of one chain, which all nodes share that have the coin on Electrum. */
export class SimServers {
  readonly servers: readonly ElectrumServer[];
  /** What they sit on. */
  readonly daemon: ChainDaemon;
  readonly #chain: SimChain;
  readonly #clock: Clock;

  constructor(chain: SimChain, clock: Clock) {
    this.#chain = chain;
    this.#clock = clock;
    const daemon = chain.daemon();
    this.daemon = daemon;
    this.servers = Array.from({ length: SERVERS }, () => new ElectrumServer(daemon, clock));
  }

  fault(at: number, effect: ElectrumEffect, forMs: number): void {
    this.servers[at]?.faults.add({ ...effect, forMs });
  }

  /** A server denies each transaction that comes while this lasts, for a while each. */
  deny(at: number, forMs: number): void {
    const { chain } = this.#chain;
    const denied = new Set<string>(chain.mempool.graph.entries().map((e) => e.chainTx.txid));
    const stop = chain.onChange(() => {
      const faults = this.servers[at]?.faults;
      for (const { chainTx } of chain.mempool.graph.entries()) {
        if (!faults || denied.has(chainTx.txid) || faults.ofKind("hide").length >= MAX_DENIED) continue;
        denied.add(chainTx.txid);
        faults.add({ kind: "hide", txid: chainTx.txid, forMs: DENIED_MS });
      }
    });
    this.#clock.after(forMs, stop);
  }

  close(): void {
    for (const server of this.servers) server.close();
  }
}
