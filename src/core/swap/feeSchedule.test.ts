import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCoinEntry } from "../coin/coinEntry.ts";
import { utxoKind } from "../coin/utxoKind.ts";
import { feeForSize } from "../utxo/feeRate.ts";
import {
  bumpReserve,
  type FeeQuestion,
  feeCap,
  goingFee,
  MAX_VERSIONS,
  nextFee,
  payableCap,
  relayFee,
  type Stake,
  scheduledFee,
  upFrontFee,
} from "./feeSchedule.ts";

const START = 1_700_000_000;
const question = (over: Partial<FeeQuestion> = {}): FeeQuestion => ({
  value: 100_000_000n,
  size: 496,
  rate: { perKb: 10_000n, wholeKb: false },
  floorPerKb: 1_000n,
  relayPerKb: 1_000n,
  mostPerTx: null,
  since: START,
  deadline: START + 10_000,
  now: START,
  blocksMissed: 0,
  stake: "race",
  ...over,
});
const at = (share: number, over: Partial<FeeQuestion> = {}): FeeQuestion => question({ now: START + share * 10_000, ...over });

const anyQuestion: fc.Arbitrary<FeeQuestion> = fc.record({
  value: fc.bigInt({ min: 1_000n, max: 2_100_000_000_000_000n }),
  size: fc.integer({ min: 190, max: 5_000 }),
  rate: fc.record({ perKb: fc.bigInt({ min: 1n, max: 10_000_000n }), wholeKb: fc.boolean() }),
  floorPerKb: fc.option(fc.bigInt({ min: 1n, max: 1_000_000n })),
  relayPerKb: fc.option(fc.bigInt({ min: 1n, max: 1_000_000n })),
  mostPerTx: fc.option(fc.bigInt({ min: 1n, max: 1_000_000_000_000_000_000n })),
  since: fc.integer({ min: START, max: START + 100_000 }),
  deadline: fc.integer({ min: START, max: START + 100_000 }),
  now: fc.integer({ min: START - 1_000, max: START + 200_000 }),
  blocksMissed: fc.integer({ min: 0, max: 1_000 }),
  stake: fc.constantFrom<Stake>("race", "time", "trade"),
});

test("the course of a claim of one coin at 10 units per byte: cheap at first, all a daemon takes at the end", () => {
  const course = [0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1].map((share) => Number(scheduledFee(at(share, { blocksMissed: 20 }))));
  // 10,000 units per byte of two fifths of the size is the most; half the value would be 50,000,000.
  expect(course).toEqual([4_960, 4_960, 4_960, 7_750, 15_500, 62_000, 248_000, 496_000, 1_984_000]);
  expect(scheduledFee(at(1, { blocksMissed: 20, value: 1_000_000n }))).toBe(500_000n);
});

test("a claim of Dogecoin outbids a spike of fifty times its usual rate, as any other", () => {
  const entry = parseCoinEntry({ coin: "DOGE", txfee: 1_000_000, protocol: { type: "UTXO" } });
  const doge = entry.ok ? utxoKind(entry.value) : null;
  if (!doge?.ok || doge.value.feePolicy.kind !== "fixed") return expect.fail("not Dogecoin");
  const { feePolicy, mostPerTx } = doge.value;
  const usual = feePolicy.rate.perKb;
  const [value, spike] = [10_000n * 10n ** 8n, { perKb: 50n * usual, wholeKb: false }];
  const claim = at(0.5, { value, rate: spike, floorPerKb: usual, relayPerKb: 100_000n, mostPerTx });
  expect(scheduledFee(claim)).toBe(feeForSize(spike, claim.size));
  // What Dogecoin Core takes for one transaction: 100 coins, whatever is at stake.
  expect(payableCap(claim)).toBe(100n * 10n ** 8n);
});

test("what the backend relays decides what it finds absurd, not a higher rate that the coins file asks for", () => {
  // Komodo's kind: 100 units per 1000 bytes relay, the coins file says 1,000; a claim of 286 bytes may pay 286,000.
  const most = payableCap(question({ relayPerKb: 100n, stake: "time" }));
  expect([most, most < 286_000n]).toEqual([198_400n, true]);
});

test("time alone raises the fee to 64 times the going rate, each block that left it out doubles that", () => {
  const fees = [0, 1, 2].map((blocksMissed) => scheduledFee(at(1, { blocksMissed })));
  expect(fees).toEqual([4_960n * 64n, 4_960n * 128n, 4_960n * 256n]);
});

test("what nobody contests costs a tenth at most, and goes on at the going rate when that stays above it", () => {
  const small = { value: 40_000n, stake: "time" as const, blocksMissed: 20 };
  expect(scheduledFee(at(0.99, small))).toBe(4_000n);
  expect(scheduledFee(at(1, small))).toBe(4_960n);
  expect(scheduledFee(at(1, { ...small, value: 8_000n }))).toBe(4_000n);
  expect(scheduledFee(at(1, { ...small, stake: "trade" }))).toBe(800n);
});

test("never above the cap, never below the going fee where the cap allows it, at the deadline all of it once blocks have missed it", () => {
  fc.assert(
    fc.property(anyQuestion, (q) => {
      const fee = scheduledFee(q);
      const cap = payableCap(q);
      expect(fee <= cap).toBe(true);
      expect(fee >= (goingFee(q) < cap ? goingFee(q) : cap)).toBe(true);
      expect(cap <= (feeCap(q) > q.value / 2n ? feeCap(q) : q.value / 2n)).toBe(true);
      if (q.now > q.deadline && q.now > q.since && q.blocksMissed >= 64) expect(fee).toBe(cap);
    }),
  );
});

test("the fee never falls as time passes, blocks are missed, or rates rise", () => {
  const more = fc.record({ sec: fc.nat(50_000), blocks: fc.nat(50), perKb: fc.bigInt({ min: 0n, max: 1_000_000n }) });
  fc.assert(
    fc.property(anyQuestion, more, (q, { sec, blocks, perKb }) => {
      const fee = scheduledFee(q);
      expect(scheduledFee({ ...q, now: q.now + sec }) >= fee).toBe(true);
      expect(scheduledFee({ ...q, blocksMissed: q.blocksMissed + blocks }) >= fee).toBe(true);
      expect(scheduledFee({ ...q, rate: { ...q.rate, perKb: q.rate.perKb + perKb } }) >= fee).toBe(true);
    }),
  );
});

test("versions climb by BIP-125's rules from the first to the cap, and there are never more than the bound", () => {
  fc.assert(
    fc.property(anyQuestion, fc.array(fc.nat(3_000), { minLength: 1, maxLength: 300 }), (first, waits) => {
      let q = first;
      let paid = scheduledFee(q);
      let versions = 1;
      for (const wait of waits) {
        q = { ...q, now: q.now + wait, blocksMissed: q.blocksMissed + (wait % 3) };
        const next = nextFee(q, paid);
        if (next === null) {
          const wanted = scheduledFee(q);
          // Only a step too small to be relayed is left out.
          expect(wanted <= paid || payableCap(q) < paid + relayFee(q)).toBe(true);
          continue;
        }
        expect(next >= paid + relayFee(q)).toBe(true);
        expect(next >= paid + paid / 2n || next === payableCap(q)).toBe(true);
        expect(next <= payableCap(q)).toBe(true);
        paid = next;
        versions++;
      }
      expect(versions <= MAX_VERSIONS).toBe(true);
    }),
  );
});

test("a node that wakes near the deadline starts high: the window it slept through counts", () => {
  expect(scheduledFee(at(0.9, { blocksMissed: 0 }))).toBe(248_000n);
});

test("up front: fifty times the going fee, but never more than the dex fee of the trade, and never less than going", () => {
  expect(upFrontFee(100_000_000n, 1_000n)).toBe(50_000n);
  expect(upFrontFee(7_770_000n, 1_000n)).toBe(10_000n);
  expect(upFrontFee(77_700n, 1_000n)).toBe(1_000n);
});

test("the change kept for a child covers a spike of fifty, and never more than a fiftieth of the value", () => {
  expect([bumpReserve(100_000_000n, 1_000n), bumpReserve(200_000n, 1_000n)]).toEqual([49_000n, 4_000n]);
});

test("a step too small to be relayed is not made, the last one that can be is", () => {
  const end = at(1, { blocksMissed: 20, value: 1_000_000n });
  expect(nextFee(end, 400_000n)).toBe(500_000n);
  expect([nextFee(end, 499_504n), nextFee(end, 499_505n)]).toEqual([500_000n, null]);
});

test("no version costs what the one before did, or less; the next one half as much again, or what relays ask", () => {
  const q = at(0);
  const going = scheduledFee(q);
  expect(going).toBe(4_960n);
  expect([nextFee(q, going), nextFee(q, going + 1n)]).toEqual([null, null]);
  expect(nextFee(q, going - 1n)).toBe(going - 1n + (going - 1n) / 2n);
  // Of little ones half as much again is no step that relays take: 496 units are.
  expect(nextFee(at(0, { rate: { perKb: 1_000n, wholeKb: false } }), 495n)).toBe(495n + 496n);
});

test("the going fee is what the rate asks for, never below what relays where that is known", () => {
  const rate = { perKb: 500n, wholeKb: false };
  expect(goingFee({ rate, floorPerKb: 1_000n, size: 1_000 })).toBe(1_000n);
  expect(goingFee({ rate, floorPerKb: null, size: 1_000 })).toBe(500n);
});
