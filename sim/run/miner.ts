import type { MempoolEntry } from "../../src/chain/mempoolGraph.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Rng } from "../../src/ports/rng.ts";
import { inOddForm } from "../world/oddForm.ts";
import type { SimChain } from "../world/simChain.ts";
import { waitFor } from "./dice.ts";
import { ENVELOPE } from "./envelope.ts";

/** Blocks come at random as on a real chain, but never further apart than this many times the mean. */
const LONGEST_FACTOR = 6;
/** Blocks on top of one that is notarized. */
const NOTARY_DEPTH = 2;

export type MinerDeps = {
  readonly sim: SimChain;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly blockSec: number;
  readonly notarizedEverySec: number | null;
  /** After each block, reorganisations included. */
  readonly onBlock: () => void;
  /** A claim or refund is in a block under another id. */
  readonly onOddForm: (txid: string, other: string) => void;
};

/** Makes the blocks of one chain: at random times, none in a drought, nothing below the going rate in a fee spike. */
export class Miner {
  /** Writes claims and refunds as nobody relays them. */
  takesOddForms = false;
  readonly #deps: MinerDeps;
  #lastBlockMs: number;
  #noneUntilMs = 0;
  #stop: () => void = () => undefined;
  #stopNotaries: () => void = () => undefined;
  /** Base units per 1000 bytes below which nothing is mined; 0: everything is. */
  #floorPerKb = 0n;

  constructor(deps: MinerDeps) {
    this.#deps = deps;
    this.#lastBlockMs = deps.clock.nowMs();
  }

  start(): void {
    this.#next();
    const { notarizedEverySec, clock, sim } = this.#deps;
    if (notarizedEverySec === null) return;
    const notarize = (): void => {
      const entry = sim.chain.state.at(sim.chain.state.tip.height - NOTARY_DEPTH);
      if (entry) sim.chain.notarize(entry);
      this.#stopNotaries = clock.after(notarizedEverySec * 1_000, notarize);
    };
    this.#stopNotaries = clock.after(notarizedEverySec * 1_000, notarize);
  }

  stop(): void {
    this.#stop();
    this.#stopNotaries();
  }

  /** No block until `forMs` after the last one. */
  drought(forMs: number): void {
    this.#noneUntilMs = Math.max(this.#noneUntilMs, this.#lastBlockMs + forMs);
  }

  burst(blocks: number): void {
    for (let i = 0; i < blocks; i++) this.#mine();
  }

  setFloor(perKb: bigint): void {
    this.#floorPerKb = perKb;
  }

  #next(): void {
    const { rng, clock, blockSec } = this.#deps;
    const most = Math.min(blockSec * 1_000 * LONGEST_FACTOR, ENVELOPE.blockGapMs);
    this.#stop = clock.after(waitFor(rng, blockSec * 1_000, most), () => this.#due());
  }

  #due(): void {
    const leftMs = this.#noneUntilMs - this.#deps.clock.nowMs();
    if (leftMs > 0) {
      this.#stop = this.#deps.clock.after(leftMs, () => this.#due());
      return;
    }
    this.#mine();
    this.#next();
  }

  #mine(): void {
    const { sim, clock, onBlock } = this.#deps;
    this.#hold();
    if (this.takesOddForms) this.#mineOddForms();
    const mined = sim.chain.mine(1);
    if (!mined.ok) throw new Error(`${sim.ticker}: ${mined.error.reason}`);
    this.#lastBlockMs = clock.nowMs();
    onBlock();
  }

  /** A block of its own, before the one of all else: what is built on the usual forms is lost. */
  #mineOddForms(): void {
    const { sim, onOddForm } = this.#deps;
    const { chain } = sim;
    const { graph } = chain.mempool;
    const free = graph.entries().filter((e) => e.parents.size === 0 && !chain.held.has(e.chainTx.txid));
    const both = free
      .map(({ chainTx }) => ({ txid: chainTx.txid, odd: inOddForm(chainTx.tx) }))
      .filter(({ txid, odd }) => txid !== odd.txid);
    const odd = both.map((b) => b.odd);
    if (odd.length === 0 || !chain.mineExactly(chain.faucetScript, odd).ok) return;
    for (const b of both) onOddForm(b.txid, b.odd.txid);
  }

  /** Leaves out what pays too little, with the children that may pay for it counted in. */
  #hold(): void {
    const { held, mempool } = this.#deps.sim.chain;
    held.clear();
    if (this.#floorPerKb === 0n) return;
    const { graph } = mempool;
    const pays = (ids: readonly string[]): boolean => graph.feesOf(ids) * 1_000n >= this.#floorPerKb * BigInt(graph.vsizeOf(ids));
    const taken = new Set<string>();
    const entries: readonly MempoolEntry[] = graph.entries();
    for (const { chainTx } of entries) {
      const package_ = graph.ancestors([chainTx.txid]);
      if (pays([chainTx.txid]) && package_.every((id) => id === chainTx.txid || taken.has(id))) taken.add(chainTx.txid);
      else if (pays(package_)) for (const id of package_) taken.add(id);
    }
    for (const { chainTx } of entries) if (!taken.has(chainTx.txid)) held.add(chainTx.txid);
  }
}
