import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { err, ok } from "../../core/util/result.ts";
import type { ChainStore } from "../../ports/chainStore.ts";
import type { Look } from "./fault.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf, witnessesOf } from "./serverPool.ts";

export type FirstBlockDeps = {
  readonly rules: Pick<HeaderRules, "firstBlock">;
  readonly store: ChainStore;
  /** Its hash as it was stored; null: never. */
  readonly genesis: string | null;
  /** Servers there may be, connected or not. */
  readonly servers: number;
  /** Of these, as many as are connected at most. */
  readonly maxConnected: number;
};

/** The first block of the chain: which one it is, is known or most servers say once, and then for good. */
export class FirstBlock {
  readonly #deps: FirstBlockDeps;
  #hash: string | null;
  #isStored: boolean;

  constructor(deps: FirstBlockDeps) {
    this.#deps = deps;
    this.#hash = deps.rules.firstBlock ?? deps.genesis;
    this.#isStored = this.#hash !== null && this.#hash === deps.genesis;
  }

  /** Null before the first servers agreed on it. */
  get hash(): string | null {
    return this.#hash;
  }

  /** Has servers of other chains dropped once enough agree. */
  async agree(servers: readonly RemoteServer[]): Promise<Look<undefined>> {
    if (this.#hash !== null) return this.#keep(this.#hash);
    const counts = new Map<string, number>();
    for (const { genesis } of servers) if (genesis !== null) counts.set(genesis, (counts.get(genesis) ?? 0) + 1);
    const found = [...counts].find(([, count]) => count >= majorityOf(servers.length));
    if (found === undefined) return err({ kind: "disagree", what: "the first block" });
    const [genesis, count] = found;
    // Those that are there now may be those who came first; for good it takes most of all that there will be, or they would shut out the others.
    const { servers: all, maxConnected } = this.#deps;
    if (count < Math.max(witnessesOf(all), majorityOf(maxConnected))) return ok(undefined);
    await this.#keep(genesis);
    const others = servers.filter((s) => s.genesis !== genesis);
    for (const s of others) s.outvoted(`it serves another chain: its first block is ${s.genesis}, not ${genesis}`);
    return others.length === 0 ? ok(undefined) : err({ kind: "moved" });
  }

  async #keep(hash: string): Promise<Look<undefined>> {
    if (!this.#isStored) await this.#deps.store.setGenesis(hash);
    this.#isStored = true;
    this.#hash = hash;
    return ok(undefined);
  }
}
