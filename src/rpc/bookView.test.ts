import fc from "fast-check";
import { expect, test } from "vitest";
import { add, div, fromUnits, mul, ONE, toDecimalString, ZERO } from "../core/money/rational.ts";
import { bookSide, flatEntryToJson } from "./bookView.ts";
import type { BookEntry } from "./ctx/orders.ts";

const seed = Number(process.env.FC_SEED ?? 20_261_123);
console.info(`book view: seed ${seed}`);

const amount = fc.bigInt(1n, 10n ** 12n).map((units) => fromUnits(units, 8));
const order = fc.record({ price: amount, maxVolume: amount, minVolume: fc.constantFrom(ZERO, ONE) }).map(
  (numbers): BookEntry => ({
    uuid: "",
    pubkey: "02".padEnd(66, "1"),
    base: "A",
    rel: "B",
    createdAt: 0,
    conf: null,
    isMine: false,
    address: null,
    ...numbers,
  }),
);
const ordersOf = fc.array(order, { maxLength: 6 }).map((orders) => orders.map((o, n) => ({ ...o, uuid: `${n}` })));

test("a book shown again and again, with orders that come, go and change, shows the numbers of its orders as they are", () => {
  fc.assert(
    fc.property(ordersOf, fc.array(fc.tuple(fc.nat(5), fc.option(fc.tuple(amount, fc.boolean()))), { maxLength: 8 }), (orders, changes) => {
      let book = orders;
      for (const [at, change] of [[0, null] as const, ...changes]) {
        book = change
          ? book.map((o, n) => (n === at ? { ...o, ...(change[1] ? { price: change[0] } : { maxVolume: change[0] }) } : o))
          : book.filter((_, n) => n !== at || at === 0);
        for (const side of ["asks", "bids"] as const) {
          let [base, rel] = [ZERO, ZERO];
          const { lines, totalBase, totalRel } = bookSide(side, book);
          for (const line of side === "asks" ? lines.toReversed() : lines) {
            const { price, maxVolume, minVolume } = line.entry;
            const [own, other] = [maxVolume, mul(maxVolume, price)];
            [base, rel] = side === "asks" ? [add(base, own), add(rel, other)] : [add(base, other), add(rel, own)];
            const shown = flatEntryToJson(line, 0);
            expect([shown.price, shown.base_max_volume_aggr, shown.rel_max_volume_aggr, shown.rel_min_volume]).toEqual([
              toDecimalString(side === "asks" ? price : div(ONE, price)),
              toDecimalString(base),
              toDecimalString(rel),
              toDecimalString(side === "asks" ? mul(minVolume, price) : minVolume),
            ]);
          }
          expect([totalBase, totalRel].map(toDecimalString)).toEqual([base, rel].map(toDecimalString));
        }
      }
    }),
    { seed, numRuns: 200 },
  );
});
