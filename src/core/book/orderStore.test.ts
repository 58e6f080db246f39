import { expect, test } from "vitest";
import { rational } from "../money/rational.ts";
import type { BookOrder } from "./bookOrder.ts";
import { OrderStore } from "./orderStore.ts";

const keyOf = (n: number): string => `02${n.toString(16).padStart(64, "0")}`;
const FRESH = keyOf(0xffff);

/** Counts how often anybody looks at an order that is kept. */
class Looked {
  count = 0;

  order(n: number, pubkey: string, base: string): BookOrder {
    const looked = this;
    const item = {
      pubkey,
      base,
      rel: "BBB",
      price: rational(1n),
      maxVolume: rational(5n),
      minVolume: rational(1n, 100n),
      uuid: `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`,
      createdAt: 1_700_000_000,
    };
    return {
      get item() {
        looked.count++;
        return item;
      },
      get confirmed() {
        looked.count++;
        return true;
      },
      conf: null,
      baseProtocolInfo: new Uint8Array(),
      relProtocolInfo: new Uint8Array(),
      source: null,
      signedAt: 0,
    };
  }
}

test.each([
  ["pair", { orders: 9_999, ordersPerPair: 3_000 }, "AAA"],
  ["book", { orders: 3_000, ordersPerPair: 9_999 }, "CCC"],
])("what one order for a full %s costs does not grow with what is held", (_, limits, base) => {
  const looked = new Looked();
  const store = new OrderStore({ ...limits, ordersPerKey: 2_000, shelves: 9_999 }, () => false);
  for (let n = 0; n < 3_000; n++) store.put(looked.order(n, keyOf(n % 3), "AAA"), 0);
  looked.count = 0;
  expect(store.put(looked.order(5_000, FRESH, base), 0)).toBe(true);
  expect(looked.count).toBeLessThan(20);
  expect([store.size, store.get(keyOf(0), "00000000-0000-4000-8000-000000000bb5")]).toEqual([3_000, undefined]);
});

test("whoever is pushed out had the most, and loses its newest, after any sequence of changes", () => {
  let state = 7;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % below;
  };
  const looked = new Looked();
  const store = new OrderStore({ orders: 12, ordersPerPair: 99, ordersPerKey: 9, shelves: 99 }, () => false);
  /** Kept orders, oldest first. */
  let kept: { readonly uuid: string; readonly key: string }[] = [];
  const countOf = (key: string): number => kept.filter((k) => k.key === key).length;
  let [stored, refused] = [0, 0];
  for (let n = 0; n < 3_000; n++) {
    if (next(3) === 0) {
      const gone = kept[next(kept.length)];
      if (gone) store.remove(gone.key, gone.uuid);
      kept = kept.filter((k) => k !== gone);
      continue;
    }
    const key = keyOf(next(4));
    const order = looked.order(n, key, `A${next(3)}`);
    const most = Math.max(0, ...kept.map((k) => countOf(k.key)));
    const isFull = kept.length === 12;
    const hasRoom = countOf(key) < 9 && (!isFull || most > countOf(key) + 1);
    expect(store.put(order, 0)).toBe(hasRoom);
    if (hasRoom) stored++;
    else refused++;
    const gone = kept.filter((k) => !store.get(k.key, k.uuid));
    expect(gone.length).toBe(hasRoom && isFull ? 1 : 0);
    for (const { uuid, key: loser } of gone) {
      expect([countOf(loser), kept.findLast((k) => k.key === loser)?.uuid]).toEqual([most, uuid]);
    }
    kept = kept.filter((k) => !gone.includes(k));
    if (hasRoom) kept.push({ uuid: order.item.uuid, key });
  }
  expect(Math.min(stored, refused)).toBeGreaterThan(100);
});
