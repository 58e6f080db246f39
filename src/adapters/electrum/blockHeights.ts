import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { coinbaseHeight } from "../../core/proof/coinbaseHeight.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";
import type { TxProver } from "./txProver.ts";

/** A block, and where a server says that it stands. */
type PlacedBlock = { readonly height: number; readonly header: BlockHeader };

/** Blocks that are remembered as shown. */
const MAX_SHOWN = 100;
/** A server that did not show a block is asked for the same one again after so long, ms: ElectrumX counts a hundred for what it refuses. */
const AGAIN_MS = 60_000;

/**
 * At which heights blocks stand, where each begins with a transaction that says so (BIP-34). A header does not say it: of the first ones that are read it was
 * the servers' word, and whoever named true blocks at other heights had all that honest servers prove later measured at these.
 */
export class BlockHeights {
  readonly #prover: TxProver;
  readonly #nowMs: () => number;
  /** Hash and height of blocks that stand there. */
  readonly #shown = new Set<string>();
  /** Of which block a server was asked last. */
  readonly #asked = new WeakMap<RemoteServer, { readonly hash: string; readonly atMs: number }>();

  constructor(prover: TxProver, nowMs: () => number) {
    this.#prover = prover;
    this.#nowMs = nowMs;
  }

  /** Those of `servers` that show at which height their last block stands, as soon as they are most: one that answers late would keep a coin from being there in time. */
  tellers(servers: readonly RemoteServer[]): Promise<readonly RemoteServer[]> {
    return new Promise((resolve, reject) => {
      const shown = new Map<RemoteServer, boolean>();
      const tellers = (): readonly RemoteServer[] => servers.filter((s) => shown.get(s));
      for (const server of servers) {
        const { tip } = server;
        Promise.resolve(tip !== null && this.isShown(tip, [server])).then((isShown) => {
          shown.set(server, isShown);
          if (shown.size === servers.length || tellers().length >= majorityOf(servers.length)) resolve(tellers());
        }, reject);
      }
    });
  }

  /** Whether one of `servers`, which all name a block at a height, shows that it stands there. Who shows that it does not is dropped. */
  async isShown({ height, header }: PlacedBlock, servers: readonly RemoteServer[]): Promise<boolean> {
    const block = `${header.hash} ${height}`;
    for (const server of servers) {
      if (this.#shown.has(block)) return true;
      if (!this.#mayAsk(server, header.hash)) continue;
      this.#asked.set(server, { hash: header.hash, atMs: this.#nowMs() });
      const first = await this.#prover.firstTx(server, height, header);
      const said = first && coinbaseHeight(first.tx.tx);
      if (said === height) {
        if (this.#shown.size >= MAX_SHOWN) this.#shown.clear();
        this.#shown.add(block);
        return true;
      }
      if (said !== null) server.contradicted(`its block ${header.hash} stands at height ${said}, not ${height}`);
      else if (server.state === "connected") server.suspect(`it does not show at which height its block ${height} stands`);
    }
    return false;
  }

  #mayAsk(server: RemoteServer, hash: string): boolean {
    const asked = this.#asked.get(server);
    return asked?.hash !== hash || Math.abs(this.#nowMs() - asked.atMs) >= AGAIN_MS;
  }
}
