import fc from "fast-check";
import { expect, test } from "vitest";
import { type SortedUnspents, sortUnspents, type Unspent, unspentsAbove, withoutUnspents, withUnspents } from "./sortedUnspents.ts";

const anyUnspent = fc
  .record({ value: fc.bigInt({ min: 1n, max: 4n }), id: fc.constantFrom("a", "b", "c"), vout: fc.nat({ max: 3 }) })
  .map(({ value, id, vout }): Unspent => ({ txid: id.repeat(64), vout, value, script: new Uint8Array(0) }));
const wallet = fc.uniqueArray(anyUnspent, { selector: (u) => `${u.txid}:${u.vout}`, maxLength: 12 });

const rank = ({ value, txid, vout }: Unspent): string => `${value}:${txid}:${vout}`;
const ranks = (unspents: SortedUnspents): readonly string[] => unspents.map(rank);

test("whatever is added and taken, outputs stay in order, each once, and what they were made from stays as it was", () => {
  fc.assert(
    fc.property(wallet, fc.infiniteStream(fc.boolean()), (all, coins) => {
      const [first, later] = [all.filter(() => coins.next().value), all.filter(() => coins.next().value)];
      const begun = sortUnspents(first);
      const [was, before] = [ranks(begun), new Set(first)];
      const more = later.filter((u) => !before.has(u));
      const gone = all.filter(() => coins.next().value);
      expect(ranks(withUnspents(begun, more))).toEqual([...first, ...more].map(rank).sort());
      expect(ranks(withoutUnspents(begun, gone))).toEqual(
        first
          .filter((u) => !gone.includes(u))
          .map(rank)
          .sort(),
      );
      for (const value of [0n, 2n, 4n]) expect(ranks(unspentsAbove(begun, value))).toEqual(was.filter((r) => BigInt(r.charAt(0)) > value));
      expect(ranks(begun)).toEqual(was);
    }),
  );
});
