import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { coinbaseHeight } from "../../core/proof/coinbaseHeight.ts";
import type { Clock } from "../../ports/clock.ts";
import { answersUntil } from "./answersUntil.ts";
import { firstToTell } from "./firstToTell.ts";
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
  readonly #clock: Clock;
  /** Hash and height of blocks that stand there. */
  readonly #shown = new Set<string>();
  /** Of which block a server was asked last. */
  readonly #asked = new WeakMap<RemoteServer, { readonly hash: string; readonly atMs: number }>();

  constructor(prover: TxProver, clock: Clock) {
    this.#prover = prover;
    this.#clock = clock;
  }

  /** Those of `servers` that show at which height their last block stands, as soon as they are most: one that answers late would keep a coin from being there in time. */
  async tellers(servers: readonly RemoteServer[]): Promise<readonly RemoteServer[]> {
    const areMost = (shown: readonly (boolean | null)[]): boolean => shown.filter(Boolean).length >= majorityOf(servers.length);
    const shown = await answersUntil(servers, areMost, async (server) => server.tip !== null && this.isShown(server.tip, [server]));
    return servers.filter((_, i) => shown[i]);
  }

  /** Whether one of `servers`, which all name a block at a height, shows that it stands there. Who shows that it does not is dropped. */
  async isShown({ height, header }: PlacedBlock, servers: readonly RemoteServer[]): Promise<boolean> {
    const block = `${header.hash} ${height}`;
    if (this.#shown.has(block)) return true;
    const isShown = await firstToTell(this.#clock, servers, async (server) => {
      if (!this.#mayAsk(server, header.hash)) return null;
      this.#asked.set(server, { hash: header.hash, atMs: this.#clock.nowMs() });
      const first = await this.#prover.firstTx(server, height, header);
      const said = first && coinbaseHeight(first.tx.tx);
      if (said === height) return true;
      if (said !== null) server.contradicted(`its block ${header.hash} stands at height ${said}, not ${height}`);
      else if (server.state === "connected") server.suspect(`it does not show at which height its block ${height} stands`);
      return null;
    });
    if (isShown === null) return false;
    if (this.#shown.size >= MAX_SHOWN) this.#shown.clear();
    this.#shown.add(block);
    return true;
  }

  #mayAsk(server: RemoteServer, hash: string): boolean {
    const asked = this.#asked.get(server);
    return asked?.hash !== hash || Math.abs(this.#clock.nowMs() - asked.atMs) >= AGAIN_MS;
  }
}
