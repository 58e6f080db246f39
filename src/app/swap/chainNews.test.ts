import fc from "fast-check";
import { expect, test } from "vitest";
import type { ChainChange } from "../../ports/chain.ts";
import { ChainNews } from "./chainNews.ts";
import type { SwapChain } from "./swapCoin.ts";

class Chain {
  readonly listeners = new Set<(change: ChainChange) => void>();
  onChange(listener: (change: ChainChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  tell(change: ChainChange): void {
    for (const listener of [...this.listeners]) listener(change);
  }
}

type Swap = { readonly name: string; keys: ReadonlySet<string>; readonly chains: readonly number[] };

const key = fc.integer({ min: 0, max: 6 }).map((n) => `key${n}`);
const keys = fc.uniqueArray(key, { maxLength: 4 });
const step = fc.oneof(
  // Twice: there must be swaps for the rest to mean anything.
  fc.record({ do: fc.constant("follow" as const), keys, chains: fc.subarray([0, 1, 2], { minLength: 1, maxLength: 2 }) }),
  fc.record({ do: fc.constant("follow" as const), keys, chains: fc.subarray([0, 1, 2], { minLength: 1, maxLength: 2 }) }),
  fc.record({ do: fc.constant("unfollow" as const), which: fc.nat(20) }),
  fc.record({ do: fc.constant("changed" as const), which: fc.nat(20), keys }),
  fc.record({ do: fc.constant("news" as const), chain: fc.nat(2), keys, all: fc.boolean() }),
);

test("a change wakes the swaps of that chain that look at one of its keys, each once and in the order they came; a block wakes all", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: "max" }), (steps) => {
      const chains = [new Chain(), new Chain(), new Chain()];
      const told: string[] = [];
      const news = new ChainNews<Swap>((swap) => told.push(swap.name));
      const swaps: Swap[] = [];
      let count = 0;
      for (const s of steps) {
        if (s.do === "follow") {
          const swap = { name: `swap${count++}`, keys: new Set(s.keys), chains: s.chains };
          swaps.push(swap);
          news.follow(
            swap,
            s.chains.map((i) => chains[i] as unknown as SwapChain),
          );
        } else if (s.do === "unfollow") {
          for (const swap of swaps.splice(s.which % Math.max(1, swaps.length), 1)) news.unfollow(swap);
        } else if (s.do === "changed") {
          const swap = swaps[s.which % Math.max(1, swaps.length)];
          if (!swap) continue;
          swap.keys = new Set(s.keys);
          news.changed(swap);
        } else {
          const concerned = swaps.filter((swap) => swap.chains.includes(s.chain) && (s.all || s.keys.some((k) => swap.keys.has(k))));
          chains[s.chain]?.tell({ all: s.all, keys: new Set(s.keys) });
          expect(told.splice(0)).toEqual(concerned.map(({ name }) => name));
        }
        for (const [i, chain] of chains.entries()) expect(chain.listeners.size).toBe(swaps.some((swap) => swap.chains.includes(i)) ? 1 : 0);
      }
    }),
  );
});

test("a swap that is done with while it is told does not keep the others from being told", () => {
  const chain = new Chain();
  const told: string[] = [];
  const news = new ChainNews<Swap>((swap) => {
    told.push(swap.name);
    news.unfollow(swap);
  });
  const follow = (name: string): void => news.follow({ name, keys: new Set(["a"]), chains: [0] }, [chain as unknown as SwapChain]);
  for (const name of ["one", "two"]) follow(name);
  chain.tell({ all: false, keys: new Set(["a"]) });
  for (const name of ["three", "four"]) follow(name);
  chain.tell({ all: true, keys: new Set() });
  expect(told).toEqual(["one", "two", "three", "four"]);
  expect(chain.listeners.size).toBe(0);
});
