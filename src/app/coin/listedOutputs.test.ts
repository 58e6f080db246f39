import fc from "fast-check";
import { expect, test } from "vitest";
import { sortUnspents } from "../../core/utxo/sortedUnspents.ts";
import type { SeenOutput } from "../../ports/chain.ts";
import { ListedOutputs } from "./listedOutputs.ts";

const BLOCK = { height: 7, hash: "bb".repeat(32) };
const block = fc.constantFrom(null, BLOCK);

/** An output of one of few outpoints, as a chain may show it. */
const output: fc.Arbitrary<SeenOutput> = fc.record({
  txid: fc.constantFrom("aa", "bb", "cc").map((byte) => byte.repeat(32)),
  vout: fc.nat(3),
  value: fc.bigInt({ min: 1n, max: 3n }),
  script: fc.constant(new Uint8Array(1)),
  coinbase: fc.constant(false),
  block,
  spentBy: fc.option(fc.record({ txid: fc.constant("dd".repeat(32)), block })),
});
const list = fc.uniqueArray(output, { selector: (o) => `${o.txid}:${o.vout}`, maxLength: 12 });

test("whatever lists a chain gives one after the other, each is sorted out as if it were the first", () => {
  fc.assert(
    // Some outputs stay the same objects from one list to the next, as the index has them.
    fc.property(
      fc.array(fc.record({ list, kept: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }) }), { maxLength: 8 }),
      (steps) => {
        const listed = new ListedOutputs();
        let last: readonly SeenOutput[] = [];
        for (const step of steps) {
          const kept = last.filter((_, i) => step.kept[i]);
          const isKept = (o: SeenOutput): boolean => kept.some((k) => k.txid === o.txid && k.vout === o.vout);
          const all = [...kept, ...step.list.filter((o) => !isKept(o))];
          listed.update(all);
          last = all;
          expect(listed.all).toBe(all);
          expect(listed.unspent).toEqual(sortUnspents(all.filter((o) => o.spentBy === null)));
          expect(new Set(listed.unconfirmed)).toEqual(new Set(all.filter((o) => o.block === null || o.spentBy?.block === null)));
          for (const txid of ["aa", "bb", "cc"].map((byte) => byte.repeat(32))) {
            expect(new Set(listed.of(txid))).toEqual(new Set(all.filter((o) => o.txid === txid)));
            for (let vout = 0; vout < 4; vout++)
              expect(listed.at({ txid, vout })).toBe(all.find((o) => o.txid === txid && o.vout === vout));
          }
        }
      },
    ),
  );
});
