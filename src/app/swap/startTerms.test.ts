import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { decimal } from "../../core/money/rational.ts";
import { err, ok } from "../../core/util/result.ts";
import type { UniqueMark } from "../../ports/swapStore.ts";
import type { SwapMatch } from "../tradingCoin.ts";
import { type StartDeps, startTerms } from "./startTerms.ts";
import type { SwapCoin } from "./swapCoin.ts";

const KEY = testKey("own").publicKey;
const NONE = { kind: "NotSufficientBalance", coin: "AAA", available: decimal("0"), required: decimal("1"), lockedBySwaps: null } as const;

/** Only what a start asks of a coin. */
const coin = (ticker: string, height: number | null, knowsFee = true): SwapCoin =>
  ({
    ticker,
    decimals: 8,
    dust: decimal("0.00001"),
    htlcPubkey: KEY,
    paymentFee: () => (knowsFee ? ok(decimal("0.0002")) : err(NONE)),
    dexFeeTxFee: () => (knowsFee ? ok(decimal("0.0003")) : err(NONE)),
    spendFee: () => decimal("0.0001"),
    spendsFrom: "contract",
    feeTicker: ticker,
    swapContracts: null,
    feeValue: () => null,
    chain: { status: () => ({ state: "ready", tip: height === null ? null : { height }, progress: null, error: null }) },
  }) as unknown as SwapCoin;

const match = (role: "maker" | "taker"): SwapMatch =>
  ({
    role,
    uuid: "11111111-2222-4333-8444-555555555555",
    myOrderUuid: "11111111-2222-4333-8444-666666666666",
    makerCoin: "AAA",
    takerCoin: "BBB",
    makerAmount: decimal("2"),
    takerAmount: decimal("1"),
    counterparty: KEY,
    makerConfs: 1,
    makerNota: false,
    takerConfs: 1,
    takerNota: false,
    lockDurationSec: 7_800,
    heldFees: [],
  }) as unknown as SwapMatch;

/** `used`: hashes of other swaps; the hash is the salt, twenty times. */
const deps = (salts: readonly number[], used: ReadonlySet<string>, asked: string[] = []): StartDeps => {
  let at = 0;
  return {
    rng: { bytes: () => Uint8Array.of(salts[at++ % salts.length] ?? 0) },
    store: {
      isMarked: async (mark: UniqueMark) => {
        asked.push(mark.value);
        return used.has(mark.value);
      },
    },
    keys: {
      publicKey: KEY,
      deriveSecret: (_at: number, salt: number) => ({ secret: new Uint8Array(32), hash: new Uint8Array(20).fill(salt) }),
    },
    dexFee: () => ({ feeUnits: 5n, burnUnits: 1n, feePubkey: null }),
    gui: null,
    version: "test",
  } as unknown as StartDeps;
};
const hash = (salt: number): string => salt.toString(16).padStart(2, "0").repeat(20);

test.each([
  ["AAA", null, 5],
  ["BBB", 5, null],
] as const)(
  "no swap starts while the chain of %s is not known: an old fee or payment could be taken for one of it",
  async (ticker, maker, taker) => {
    const started = startTerms(deps([1], new Set()), match("maker"), coin("AAA", maker), coin("BBB", taker), 1_700_000_000);
    await expect(started).rejects.toThrow(`${ticker}: its chain is not known yet`);
  },
);

test("a maker's secret is one that no swap ever had: what is used is drawn again", async () => {
  const asked: string[] = [];
  const used = new Set([hash(7), hash(8)]);
  const { terms, marks } = await startTerms(deps([7, 8, 7, 9], used, asked), match("maker"), coin("AAA", 5), coin("BBB", 6), 1_700_000_000);
  expect([terms.secretSalt, terms.secretHash, marks]).toEqual([9, hash(9), [{ kind: "secret_hash", value: hash(9) }]]);
  expect(asked).toEqual([hash(7), hash(8), hash(7), hash(9)]);
});

test("and when all of one second are used, no swap starts", async () => {
  const started = startTerms(deps([7], new Set([hash(7)])), match("maker"), coin("AAA", 5), coin("BBB", 6), 1_700_000_000);
  await expect(started).rejects.toThrow("no unused secret in this second");
});

test("a taker has no secret and no mark; where a fee cannot be told at the moment the spend fee stands in its place", async () => {
  const known = await startTerms(deps([1], new Set()), match("taker"), coin("AAA", 5), coin("BBB", 6), 1_700_000_000);
  expect([known.terms.secretSalt, known.terms.secretHash, known.marks]).toEqual([null, null, []]);
  expect([known.terms.makerStartHeight, known.terms.takerStartHeight, known.terms.dexFeePubkey]).toEqual([5, 6, null]);
  expect(known.terms.fees.map((f) => [f.coin, f.amount, f.paidFromTradingVol])).toEqual([
    ["BBB", "3/10000", false],
    ["BBB", "1/5000", false],
    ["AAA", "1/10000", true],
  ]);
  const unknown = await startTerms(deps([1], new Set()), match("taker"), coin("AAA", 5), coin("BBB", 6, false), 1_700_000_000);
  expect(unknown.terms.fees.map((f) => f.amount)).toEqual(["1/10000", "1/10000", "1/10000"]);
});

test("what a maker's match holds of balances that pay fees is written down with it, exactly; of other coins nothing is", async () => {
  const heldFees = [
    { payer: "ETH", amount: decimal("0.0011") },
    { payer: "BNB", amount: { n: 1n, d: 3n } },
  ];
  const of = (m: SwapMatch) => startTerms(deps([1], new Set()), m, coin("AAA", 5), coin("BBB", 6), 1_700_000_000);
  expect((await of({ ...match("maker"), heldFees })).terms.heldFees).toEqual([
    { coin: "ETH", amount: "11/10000" },
    { coin: "BNB", amount: "1/3" },
  ]);
  expect((await of(match("maker"))).terms).not.toHaveProperty("heldFees");
});
