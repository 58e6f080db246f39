import { expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../test/fakes/swapTerms.ts";
import { duties } from "./duties.ts";
import { type Role, type Slot, type SwapEvent, theirPayment } from "./events.ts";
import { feeWindow } from "./feeWindow.ts";
import { dangerOf } from "./swapDanger.ts";
import { fold, type SwapState } from "./swapState.ts";
import { deadlinesOf } from "./timelocks.ts";

const negotiated: SwapEvent = {
  type: "negotiated",
  with: {
    theirStartedAt: 1_700_000_000,
    theirLocktime: 1_700_007_800,
    makerCoinPub: TERMS_KEY,
    takerCoinPub: TERMS_KEY,
    secretHash: "22".repeat(20),
  },
};
const left = (slot: Slot): SwapEvent[] => [
  { type: "tx_signed", slot, txid: slot, raw: "00", notAfter: null },
  { type: "tx_attempted", slot },
];
const seen = (slot: Slot): SwapEvent => ({ type: "tx_seen", slot, txid: slot, raw: "00", block: { height: 5, hash: "h5" } });
const deep = (slot: Slot): SwapEvent[] => [seen(slot), { type: "tx_confirmed", slot, txid: slot, block: { height: 5, hash: "h5" } }];
const run = (role: Role, ...events: readonly SwapEvent[]): SwapState =>
  fold([{ type: "started", terms: swapTerms(role) }, negotiated, ...events]);

const GOOD = { maker: [...left("makerPayment"), ...deep("makerPayment")], taker: [...left("takerPayment"), ...deep("takerPayment")] };
const KNOWS = {
  maker: left("takerPaymentSpend"),
  taker: [{ type: "secret_learned", secret: "33".repeat(32) } as const],
};
const SEIZED = "the other side took our payment and is taking its own back";
const RACING = "the other side is taking its payment back and may know the secret: ours is refunded as soon as its lock has passed";
const GONE = "the other side took our payment, and its own is on the chain no more: it is claimed should it come back";

test.each<[string, Role, readonly SwapEvent[], string | null]>([
  ["nothing of the other side's has moved", "maker", GOOD.maker, null],
  ["the taker takes back what the maker has not revealed anything for", "maker", [...GOOD.maker, seen("takerPaymentRefund")], null],
  [
    "the maker's claim has left and the taker takes its payment back",
    "maker",
    [...GOOD.maker, ...KNOWS.maker, seen("takerPaymentRefund")],
    RACING,
  ],
  ["the maker takes its payment back from a taker whose own is untouched", "taker", [...GOOD.taker, seen("makerPaymentRefund")], null],
  ["the taker has both of them", "maker", [...GOOD.maker, ...KNOWS.maker, seen("takerPaymentRefund"), seen("makerPaymentSpend")], SEIZED],
  ["the maker has both of them", "taker", [...GOOD.taker, seen("takerPaymentSpend"), ...KNOWS.taker, seen("makerPaymentRefund")], SEIZED],
  ["the payment paid for has left the chain", "taker", [...GOOD.taker, seen("takerPaymentSpend"), ...KNOWS.taker], GONE],
  [
    "our payment was taken and theirs stands to be claimed",
    "taker",
    [...GOOD.taker, ...deep("makerPayment"), seen("takerPaymentSpend")],
    null,
  ],
  [
    "the own refund is deep, whatever else goes on",
    "maker",
    [...GOOD.maker, ...KNOWS.maker, seen("takerPaymentRefund"), ...deep("makerPaymentRefund")],
    null,
  ],
  [
    "the own claim is deep, whatever else goes on",
    "taker",
    [...GOOD.taker, ...deep("makerPaymentSpend"), seen("makerPaymentRefund")],
    null,
  ],
  ["both were lost for good", "maker", [...GOOD.maker, { type: "finished", outcome: "lost" }], "the other side took both payments"],
])("%s: the %s's status says so, and nothing else", (_what, role, events, danger) => {
  expect(dangerOf(run(role, ...events))).toBe(danger);
});

test("whatever is in danger is still worked for", () => {
  for (const role of ["maker", "taker"] as const) {
    const s = run(
      role,
      ...GOOD[role],
      ...KNOWS[role],
      seen(theirPayment(role)),
      seen(role === "maker" ? "takerPaymentRefund" : "makerPaymentRefund"),
    );
    expect(duties(s).map((d) => d.do)).toEqual(expect.arrayContaining(["observe", "refund"]));
  }
});

test("the maker's refund is in no hurry while the secret is at home, and races from its lock on once it is out", () => {
  const [home, out] = [run("maker", ...GOOD.maker), run("maker", ...GOOD.maker, ...KNOWS.maker)];
  const { makerLock } = deadlinesOf(home);
  const window = { value: 200_000_000n, since: makerLock };
  const at = makerLock + 60;
  expect(feeWindow(home, "makerPaymentRefund", at)).toEqual({ ...window, deadline: makerLock + 7_800, stake: "time" });
  expect(feeWindow(out, "makerPaymentRefund", at)).toEqual({ ...window, deadline: makerLock, stake: "race" });
  // Signed is not out.
  const signed = run("maker", ...GOOD.maker, ...left("takerPaymentSpend").slice(0, 1));
  expect(feeWindow(signed, "makerPaymentRefund", at).stake).toBe("time");
  expect(feeWindow(out, "refundChild", at)).toEqual(feeWindow(out, "makerPaymentRefund", at));
});
