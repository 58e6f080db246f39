import { expect, test } from "vitest";
import { rational } from "../../core/money/rational.ts";
import type { OwnOrderView } from "../orders/ownOrders.ts";
import { OwnBook } from "./ownBook.ts";

test("own orders are hashed when a root is asked for, those of its pair alone, and once until they change", () => {
  const hashed: number[] = [];
  const viewOf = (n: number, base: string): OwnOrderView => ({
    uuid: `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`,
    base,
    rel: "BBB",
    price: {
      get n() {
        hashed.push(n);
        return 1n;
      },
      d: 1n,
    },
    maxVolume: rational(5n),
    minVolume: rational(1n, 100n),
    createdAt: 1_700_000_000,
    conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
    baseProtocolInfo: new Uint8Array(),
    relProtocolInfo: new Uint8Array(),
  });
  const views = [viewOf(1, "AAA"), viewOf(2, "CCC"), viewOf(3, "AAA")];
  let change = (): void => undefined;
  const onChange = (listener: () => void): (() => void) => {
    change = listener;
    return () => undefined;
  };
  const book = new OwnBook({ orders: () => views, onChange }, `02${"11".repeat(32)}`);
  const allRoots = () => [...book.pairs()].map((pair) => book.root(pair));
  const looked = (look: () => unknown): readonly number[] => {
    hashed.length = 0;
    look();
    return [...new Set(hashed)];
  };
  expect(looked(() => [book.inPair("AAA:BBB"), book.all(), [...book.pairs()]])).toEqual([]);
  expect(looked(() => book.root("AAA:BBB"))).toEqual([1, 3]);
  expect(looked(() => allRoots())).toEqual([2]);
  expect(looked(() => [allRoots(), book.root("AAA:BBB")])).toEqual([]);
  const before = book.root("AAA:BBB");
  views[2] = viewOf(4, "AAA");
  change();
  // What is as it was is not hashed again.
  expect(looked(() => allRoots())).toEqual([4]);
  expect(book.inPair("AAA:BBB")).toHaveLength(2);
  const anew = new OwnBook({ orders: () => views, onChange }, book.pubkey);
  expect([book.root("AAA:BBB"), book.root("CCC:BBB")]).toEqual([anew.root("AAA:BBB"), anew.root("CCC:BBB")]);
  expect(book.root("AAA:BBB")).not.toEqual(before);
});
