import type { ChainChange } from "../../ports/chain.ts";
import type { SwapChain } from "./swapCoin.ts";

/** A swap as far as news of its chains go. `keys`: scripts and transactions it looks at, another set when they have changed. */
type Follower = { readonly keys: ReadonlySet<string> };

type Feed<T> = {
  /** With their places in the order in which they came. */
  readonly swaps: Map<T, number>;
  readonly stop: () => void;
};

/**
 * Tells swaps what changed on their chains: each that looks at one of the keys that changed, in the order in which they came; after a block
 * all of that chain. One listener for each chain and an index by key: a chain changes every few seconds, and to ask every open swap each
 * time whether that concerns it would cost more than the few that it does.
 */
export class ChainNews<T extends Follower> {
  readonly #tell: (swap: T) => void;
  readonly #feeds = new Map<SwapChain, Feed<T>>();
  readonly #byKey = new Map<string, Set<T>>();
  /** The keys by which each swap is in `#byKey`. */
  readonly #indexed = new Map<T, ReadonlySet<string>>();
  /** Swaps whose keys may be others by now. */
  readonly #stale = new Set<T>();
  #came = 0;

  constructor(tell: (swap: T) => void) {
    this.#tell = tell;
  }

  follow(swap: T, chains: readonly SwapChain[]): void {
    const place = this.#came++;
    for (const chain of chains) this.#feed(chain).swaps.set(swap, place);
    this.#stale.add(swap);
  }

  /** Nothing happens when it follows none. */
  unfollow(swap: T): void {
    this.#stale.delete(swap);
    this.#drop(swap);
    for (const [chain, { swaps, stop }] of this.#feeds) {
      if (!swaps.delete(swap) || swaps.size > 0) continue;
      this.#feeds.delete(chain);
      stop();
    }
  }

  /** To be called when the state of a swap that follows has changed. */
  changed(swap: T): void {
    this.#stale.add(swap);
  }

  #feed(chain: SwapChain): Feed<T> {
    let feed = this.#feeds.get(chain);
    if (!feed) {
      const swaps = new Map<T, number>();
      feed = { swaps, stop: chain.onChange((change) => this.#onChange(swaps, change)) };
      this.#feeds.set(chain, feed);
    }
    return feed;
  }

  #onChange(swaps: ReadonlyMap<T, number>, change: ChainChange): void {
    for (const swap of change.all ? [...swaps.keys()] : this.#concerned(swaps, change.keys)) this.#tell(swap);
  }

  #concerned(swaps: ReadonlyMap<T, number>, keys: Iterable<string>): readonly T[] {
    this.#refresh();
    const found = new Map<T, number>();
    for (const key of keys)
      for (const swap of this.#byKey.get(key) ?? []) {
        const place = swaps.get(swap);
        if (place !== undefined) found.set(swap, place);
      }
    return [...found].sort(([, a], [, b]) => a - b).map(([swap]) => swap);
  }

  #refresh(): void {
    for (const swap of this.#stale) {
      const { keys } = swap;
      if (this.#indexed.get(swap) === keys) continue;
      this.#drop(swap);
      this.#indexed.set(swap, keys);
      for (const key of keys) {
        const others = this.#byKey.get(key);
        if (others) others.add(swap);
        else this.#byKey.set(key, new Set([swap]));
      }
    }
    this.#stale.clear();
  }

  /** Takes a swap out of the index. */
  #drop(swap: T): void {
    for (const key of this.#indexed.get(swap) ?? []) {
      const others = this.#byKey.get(key);
      others?.delete(swap);
      if (others?.size === 0) this.#byKey.delete(key);
    }
    this.#indexed.delete(swap);
  }
}
