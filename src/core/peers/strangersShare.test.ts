import { expect, test } from "vitest";
import { seededRng } from "../../adapters/virtualClock/seededRng.ts";
import { randomBelow } from "../../ports/rng.ts";
import { type FeeHold, feeShareOf, heldByStrangers, matchShareOf, type OpenHold, shareOf } from "./strangersShare.ts";

const hold = (peer: string, units: bigint, orderUuid = "o1"): OpenHold => ({ peer, units, orderUuid });
const trust: { readonly [peer: string]: bigint } = { friend: 1_000n, acquaintance: 20n };
const trusted = (peer: string): bigint => trust[peer] ?? 0n;

/** A balance of 100 and an order with 60 left beside what is held. */
function ask(
  peer: string,
  units: bigint,
  held: readonly OpenHold[] = [],
  over: { orderAvailable?: bigint; throttled?: boolean; orderUuid?: string } = {},
) {
  const verdict = shareOf({ peer, units, orderUuid: "o1", orderAvailable: 60n, spendable: 100n, held, trusted, throttled: false, ...over });
  return verdict.kind === "within" ? "within" : verdict.kind === "alone" ? `alone of ${verdict.of}` : verdict.reason;
}

test("keys without history hold half of an order together, however many they are", () => {
  expect([ask("a", 30n), ask("a", 31n)]).toEqual(["within", "alone of order"]);
  const held = [hold("a", 10n), hold("b", 10n), hold("c", 10n)];
  expect([ask("d", 15n, held), ask("d", 16n, held)]).toEqual(["within", "strangers_share"]);
});

test("keys without history hold half of a balance together, over all orders", () => {
  const held = [hold("a", 20n, "o2"), hold("b", 20n, "o3")];
  expect([ask("c", 10n, held), ask("c", 11n, held)]).toEqual(["within", "strangers_share"]);
});

test("a key with history is not bound by what strangers hold, and its own trust does not serve them", () => {
  const held = [hold("a", 25n), hold("b", 25n)];
  expect([ask("friend", 50n, held), ask("c", 6n, held)]).toEqual(["within", "strangers_share"]);
  // beyond its history it counts as a stranger
  expect([ask("acquaintance", 20n, held), ask("acquaintance", 28n, held)]).toEqual(["within", "strangers_share"]);
  expect(heldByStrangers([...held, hold("acquaintance", 28n)], trusted)).toBe(58n);
});

test("no key holds more than half of a balance while others hold anything", () => {
  expect(ask("friend", 51n, [hold("a", 1n)])).toBe("key_share");
  expect(ask("friend", 21n, [hold("friend", 30n), hold("a", 1n)])).toBe("key_share");
});

test("a request that finds nothing open may have all", () => {
  expect([ask("a", 60n), ask("friend", 60n)]).toEqual(["alone of balance", "alone of balance"]);
  expect(ask("a", 40n, [hold("b", 5n, "o2")])).toBe("alone of order");
  expect(ask("a", 60n, [hold("b", 5n, "o2")])).toBe("key_share");
});

test("a throttled key holds an eighth of a balance, alone or not", () => {
  expect([ask("friend", 12n, [], { throttled: true }), ask("friend", 13n, [], { throttled: true })]).toEqual(["within", "throttled"]);
});

test("any run of requests leaves half of balance and order to keys with history, but for one granted alone", () => {
  const seed = 20_261_122;
  console.log(`strangers' share: seed ${seed}`);
  const rng = seededRng(seed);
  for (let run = 0; run < 300; run++) {
    const held: OpenHold[] = [];
    let alone = false;
    for (let i = 0; i < 40; i++) {
      const peer = `k${randomBelow(rng, 30)}`;
      const orderUuid = `o${randomBelow(rng, 3)}`;
      const units = BigInt(1 + randomBelow(rng, 60));
      const ofOrder = held.filter((h) => h.orderUuid === orderUuid).reduce((sum, h) => sum + h.units, 0n);
      const orderAvailable = 60n - ofOrder;
      if (units > orderAvailable) continue;
      const before = held.length;
      const verdict = shareOf({ peer, units, orderUuid, orderAvailable, spendable: 100n, held, trusted, throttled: false });
      if (verdict.kind === "refused") continue;
      if (verdict.kind === "alone") {
        alone = true;
        if (verdict.of === "balance") expect(before).toBe(0);
        else expect(ofOrder).toBe(0n);
      }
      held.push({ peer, units, orderUuid });
      if (alone) break;
      expect(heldByStrangers(held, trusted)).toBeLessThanOrEqual(50n);
      for (const o of ["o0", "o1", "o2"])
        expect(
          heldByStrangers(
            held.filter((h) => h.orderUuid === o),
            trusted,
          ),
        ).toBeLessThanOrEqual(30n);
    }
  }
});

/** Matches that hold 10 of a fee balance of 100 each; history vouches for three of `friend`'s. */
function fees(peer: string, of: readonly string[], over: { units?: bigint; balance?: bigint; throttled?: boolean } = {}) {
  const held = of.map((name): FeeHold => ({ peer: name, units: 10n }));
  const vouched = (name: string): number => (name === "friend" ? 3 : 0);
  const verdict = feeShareOf({ peer, units: 10n, balance: 100n, held, vouched, throttled: false, ...over });
  return verdict.kind === "refused" ? verdict.reason : verdict.kind;
}

test("fees: keys without history hold half together; only one that finds none of them open may have more", () => {
  expect([fees("e", ["a", "b", "c", "d"]), fees("f", ["a", "b", "c", "d", "e"])]).toEqual(["within", "strangers_share"]);
  expect([fees("a", [], { units: 60n }), fees("a", ["friend"], { units: 60n }), fees("a", ["b"], { units: 60n })]).toEqual([
    "alone",
    "alone",
    "key_share",
  ]);
});

test("fees: a key with history goes past strangers, but only for the matches its swaps vouch for, and never past half", () => {
  const crowd = ["a", "b", "c", "d", "e"];
  expect([fees("friend", crowd), fees("friend", [...crowd, "friend", "friend"])]).toEqual(["within", "within"]);
  expect(fees("friend", [...crowd, "friend", "friend", "friend"])).toBe("strangers_share");
  // Beyond them it takes part in the share of strangers, and takes of theirs.
  expect([
    fees("friend", ["friend", "friend", "friend", "a"]),
    fees("f", ["friend", "friend", "friend", "friend", "a", "b", "c", "d"]),
  ]).toEqual(["within", "strangers_share"]);
  expect([fees("friend", [], { units: 60n }), fees("friend", ["friend"], { units: 45n })]).toEqual(["within", "key_share"]);
});

test("fees: a throttled key holds an eighth", () => {
  expect([fees("a", [], { units: 12n, throttled: true }), fees("a", [], { units: 13n, throttled: true })]).toEqual(["within", "throttled"]);
});

/** One more match of a coin that has room for ten; history vouches for three of `friend`'s. */
function match(peer: string, of: readonly string[]) {
  const vouched = (name: string): number => (name === "friend" ? 3 : 0);
  const held = of.map((name) => ({ peer: name }));
  const verdict = matchShareOf({ peer, held, vouched, hasRoom: (more) => held.length + 1 + more <= 10 });
  return verdict.kind === "refused" ? verdict.reason : verdict.kind;
}

test("matches: after one of a key without history there is room for as many more as such keys hold; history goes past them", () => {
  const crowd = ["a", "b", "c", "d", "e"];
  expect([match("e", crowd.slice(1)), match("f", crowd), match("friend", crowd)]).toEqual(["within", "strangers_share", "within"]);
  expect(match("friend", [...crowd, "friend", "friend", "friend"])).toBe("strangers_share");
  expect(matchShareOf({ peer: "a", held: [], vouched: () => 0, hasRoom: () => false })).toEqual({ kind: "alone", of: "balance" });
});
