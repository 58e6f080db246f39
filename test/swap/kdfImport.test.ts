import { afterEach, expect, test } from "vitest";
import { decimal } from "../../src/core/money/rational.ts";
import { conductOf } from "../../src/core/peers/swapConduct.ts";
import { ownPayment, type Role, type SwapEvent, type TimedKdfEvent } from "../../src/core/swap/events.ts";
import { withoutSecrets } from "../../src/core/swap/kdfStatus.ts";
import { asKdfFile, cutAfter, replaceByImport } from "../fakes/kdfSwaps.ts";
import { SwapWorld, TICKERS, type Ticker } from "../fakes/swapWorld.ts";

/** Swaps that KDF began and this node ends: for each event KDF may have written last (reference swap-protocol.md 6.3). */

let world: SwapWorld;
afterEach(() => world.close());

const FUNDS = 1_000_000_000n;
const MAKER_UNITS = 200_000_000n;
const TAKER_UNITS = 100_000_000n;
/** Miner fees and the dex fee of one swap stay far below it, a payment far above. */
const FEES = 1_000_000n;
const LATE_SEC = 3 * 86_400;

const names = (saved: { events: readonly { event: { type: string } }[] }): string[] => saved.events.map((e) => e.event.type);

/** Runs a swap until one side's status shows an event, stops that side, and has it take over KDF's file cut after the event. */
async function takeOver(role: Role, last: string, shownBy = last): Promise<string> {
  const uuid = await world.start();
  const side = world.side(role);
  await world.until(`the ${role} shows ${shownBy}`, async () => {
    const status = (await side.status(uuid)) as { events: { event: { type: string } }[] };
    return names(status).includes(shownBy);
  });
  await side.stop();
  const file = cutAfter(await asKdfFile(side, uuid), last);
  // KDF writes one event after the other; this node several at once.
  const saved = { ...file, events: file.events.map((e, i) => ({ ...e, timestamp: e.timestamp + i })) };
  const plan = await replaceByImport(world, side, uuid, saved);
  expect(plan.plan).toBe("open");
  await side.restart();
  taken = withoutSecrets(saved.events);
  return uuid;
}
/** The events of KDF's file that was taken over last, as they are shown. */
let taken: readonly TimedKdfEvent[] = [];

/** What a side has lost of its own coin, and got of the other. */
function balance(role: Role): { readonly spent: bigint; readonly got: bigint } {
  const [own, other]: [Ticker, Ticker] = role === "maker" ? ["AAA", "BBB"] : ["BBB", "AAA"];
  return { spent: FUNDS - world.side(role).units(own), got: world.side(role).units(other) };
}

const PAID: readonly (readonly [Role, string])[] = [
  ["maker", "MakerPaymentSent"],
  ["maker", "TakerPaymentReceived"],
  ["maker", "TakerPaymentWaitConfirmStarted"],
  ["maker", "TakerPaymentValidatedAndConfirmed"],
  ["maker", "TakerPaymentSpent"],
  ["maker", "TakerPaymentSpendConfirmStarted"],
  ["maker", "TakerPaymentSpendConfirmed"],
  ["taker", "TakerPaymentSent"],
  ["taker", "TakerPaymentSpent"],
  ["taker", "MakerPaymentSpent"],
  ["taker", "MakerPaymentSpendConfirmed"],
];
test.each(PAID)("a %s of KDF whose last event is %s trades to the end here, pays once, and shows KDF's events", async (role, last) => {
  world = await SwapWorld.open({ funds: FUNDS });
  const uuid = await takeOver(role, last);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  const [paid, due] = role === "maker" ? [MAKER_UNITS, TAKER_UNITS] : [TAKER_UNITS, MAKER_UNITS];
  const { spent, got } = balance(role);
  expect(spent).toBeGreaterThanOrEqual(paid);
  expect(spent).toBeLessThan(paid + FEES);
  expect(due - got).toBeLessThan(FEES);
  const status = (await world.side(role).status(uuid)) as { events: { event: { type: string } }[] };
  expect(status.events.slice(0, taken.length)).toEqual(taken);
  expect(new Set(names(status)).size).toBe(status.events.length);
  expect(names(status).at(-1)).toBe("Finished");
  expect(status).toMatchObject({ is_finished: true, is_success: true, recoverable: false });
});

const UNRECORDED: readonly (readonly [Role, string])[] = [
  ["maker", "Negotiated"],
  ["maker", "MakerPaymentInstructionsReceived"],
  ["maker", "TakerFeeValidated"],
  ["taker", "Negotiated"],
  ["taker", "TakerFeeSent"],
  ["taker", "TakerPaymentInstructionsReceived"],
  ["taker", "MakerPaymentReceived"],
  ["taker", "MakerPaymentWaitConfirmStarted"],
  ["taker", "MakerPaymentValidatedAndConfirmed"],
];
test.each(UNRECORDED)(
  "a %s of KDF that had paid when its last written event was %s does not pay again: the payment is found and the trade goes on",
  async (role, last) => {
    world = await SwapWorld.open({ funds: FUNDS });
    const uuid = await takeOver(role, last, role === "maker" ? "MakerPaymentSent" : "TakerPaymentSent");
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    const [paid, due] = role === "maker" ? [MAKER_UNITS, TAKER_UNITS] : [TAKER_UNITS, MAKER_UNITS];
    const { spent, got } = balance(role);
    expect(spent).toBeLessThan(paid + FEES);
    expect(due - got).toBeLessThan(FEES);
  },
);

// A day on servers that come and go takes longer to work out: one of each side there.
const LAST_UNPAID = [
  "Negotiated",
  ...(SwapWorld.isElectrum ? [] : ["TakerFeeValidated", "TakerFeeSent", "MakerPaymentValidatedAndConfirmed"]),
];
const UNPAID = UNRECORDED.filter(([, last]) => LAST_UNPAID.includes(last));
test.each(UNPAID)("a %s of KDF that had not paid when its last event was %s pays nothing here, and its swap ends", async (role, last) => {
  world = await SwapWorld.open({ funds: FUNDS });
  const side = world.side(role);
  // The payment is never signed.
  side.refuse = (e: SwapEvent) => (e.type === "tx_signed" && e.slot === ownPayment(role) ? "full" : null);
  const uuid = await takeOver(role, last, role === "maker" ? "TakerFeeValidated" : "MakerPaymentValidatedAndConfirmed");
  side.refuse = () => null;
  const other = world.side(role === "maker" ? "taker" : "maker");
  await world.until("the other side has its own back", async () => (await world.outcome(other, uuid)) !== null);
  expect(balance(other.role).spent).toBeLessThan(FEES);
  // Nothing is promised to it any more: the balance is free.
  expect(side.coin(role === "maker" ? "AAA" : "BBB").reserve([decimal("9.9")], 1_000).ok).toBe(true);
  // Looked for until a day past its lock: chains without news until then, which is quick.
  expect(await world.outcome(side, uuid)).toBeNull();
  await pass(90_000);
  await world.until("it is over", async () => (await world.outcome(side, uuid)) !== null);
  expect(await world.outcome(side, uuid)).toBe("failed");
  expect((await side.state(uuid)).own[ownPayment(role)]).toBeUndefined();
  expect(balance(role).spent).toBeLessThan(FEES);
  // Who fell silent in it nobody here has seen.
  expect(conductOf(await side.events(uuid))).toBeNull();
});

test("a maker of KDF that comes here after its payment had to be confirmed finds it confirmed, and trades", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const { maker, taker } = world;
  const uuid = await world.start();
  await world.until("paid", async () => names((await maker.status(uuid)) as never).includes("MakerPaymentSent"));
  await maker.stop();
  const saved = cutAfter(await asKdfFile(maker, uuid), "MakerPaymentSent");
  await world.until("the taker has paid", async () => (await taker.state(uuid)).facts.takerPayment?.confirmed === true);
  // Two fifths of the lock time have passed, four fifths have not.
  await world.advance(250);
  await replaceByImport(world, maker, uuid, saved);
  await maker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

/** Time without blocks, and then as many as the median time past needs. */
async function pass(sec: number): Promise<void> {
  for (const ticker of TICKERS) world.chain(ticker).stop();
  await world.advance(sec);
  for (let i = 0; i < 12; i++) {
    for (const ticker of TICKERS) world.mine(ticker);
    await world.advance(30);
  }
}

test("a swap KDF had only started is over: nothing was agreed on, so nothing can have been paid", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const uuid = await world.start();
  await world.until("negotiated", async () => (await world.maker.state(uuid)).negotiated !== null);
  await world.maker.stop();
  const saved = cutAfter(await asKdfFile(world.maker, uuid), "Started");
  const plan = await replaceByImport(world, world.maker, uuid, saved);
  expect(plan).toMatchObject({ plan: "history", summary: { finished: true } });
  await world.maker.restart();
  expect(world.maker.runner.activeUuids()).toEqual([]);
  expect([world.maker.runner.has(uuid), world.maker.runner.isSettled(uuid)]).toEqual([true, true]);
});

/** A maker whose claim left KDF without a word of it: the transaction is known to the test alone. */
async function unrecordedClaim(): Promise<{ readonly uuid: string; readonly claim: string }> {
  world = await SwapWorld.open({ funds: FUNDS });
  const { maker } = world;
  const uuid = await world.start();
  await world.withheld(maker, uuid, "takerPaymentSpend");
  await maker.stop();
  const saved = cutAfter(await asKdfFile(maker, uuid), "TakerPaymentValidatedAndConfirmed");
  saved.events.push({ timestamp: world.clock.nowMs(), event: { type: "TakerPaymentSpendFailed", data: { error: "no answer" } } });
  const claim = (await maker.state(uuid)).own.takerPaymentSpend?.txid ?? "";
  expect((await replaceByImport(world, maker, uuid, saved)).plan).toBe("open");
  return { uuid, claim };
}

test("a claim KDF calls failed is made again while there is time: the secret may be known", async () => {
  const { uuid, claim } = await unrecordedClaim();
  // Nobody has it any more, and nobody has used what it showed.
  await world.taker.stop();
  world.chain("BBB").mempool.graph.removeWithDescendants(claim);
  world.chain("BBB").held.clear();
  await world.maker.restart();
  await world.until("the maker is paid", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("success");
  expect((await world.maker.state(uuid)).own.takerPaymentSpend?.attempted).toBe(true);
});

test("past the time to reveal, a maker whose payment was taken claims all the same: whoever took it has the secret", async () => {
  const { uuid, claim } = await unrecordedClaim();
  const { maker, taker } = world;
  // The taker has seen the claim, takes the maker's payment and goes; the claim itself is forgotten by everybody.
  await world.until("the taker has taken it", async () => (await taker.state(uuid)).facts.makerPaymentSpend?.confirmed === true);
  await taker.stop();
  world.chain("BBB").mempool.graph.removeWithDescendants(claim);
  world.chain("BBB").held.clear();
  await pass(1_000);
  await maker.restart();
  await world.until("the maker is paid", async () => {
    world.mine("BBB");
    return (await world.outcome(maker, uuid)) !== null;
  });
  expect(await world.outcome(maker, uuid)).toBe("success");
  expect(TAKER_UNITS - balance("maker").got).toBeLessThan(FEES);
});

test.each([
  ["maker", "MakerPaymentSent", []],
  ["maker", "MakerPaymentSent", ["MakerPaymentWaitConfirmFailed", "MakerPaymentWaitRefundStarted"]],
  ["maker", "MakerPaymentSent", ["TakerPaymentValidateFailed", "MakerPaymentWaitRefundStarted", "MakerPaymentRefundStarted"]],
  [
    "maker",
    "MakerPaymentSent",
    ["TakerPaymentValidateFailed", "MakerPaymentWaitRefundStarted", "MakerPaymentRefundStarted", "MakerPaymentRefundFailed", "Finished"],
  ],
  ["taker", "TakerPaymentSent", []],
  ["taker", "TakerPaymentSent", ["TakerPaymentWaitForSpendFailed", "TakerPaymentWaitRefundStarted"]],
  [
    "taker",
    "TakerPaymentSent",
    [
      "TakerPaymentWaitForSpendFailed",
      "TakerPaymentWaitRefundStarted",
      "TakerPaymentRefundStarted",
      "TakerPaymentRefundFailed",
      "Finished",
    ],
  ],
] as const)("a %s of KDF whose other side is gone has its payment back: %s, then %j", async (role, last, more) => {
  world = await SwapWorld.open({ funds: FUNDS });
  const side = world.side(role);
  const other = world.side(role === "maker" ? "taker" : "maker");
  // The other side never makes its own next step.
  other.refuse = (e) => (e.type === "tx_signed" && e.slot === (role === "maker" ? "takerPayment" : "takerPaymentSpend") ? "full" : null);
  const uuid = await world.start();
  await world.until("paid", async () => names((await side.status(uuid)) as never).includes(last));
  await side.stop();
  const saved = cutAfter(await asKdfFile(side, uuid), last);
  const at = world.clock.nowMs();
  for (const type of more)
    saved.events.push({ timestamp: at, event: type.endsWith("Failed") ? { type, data: { error: "as KDF says" } } : { type } });
  expect((await replaceByImport(world, side, uuid, saved)).plan).toBe("open");
  await side.restart();
  await world.until("it is back", async () => (await world.outcome(side, uuid)) !== null, LATE_SEC);
  expect(await world.outcome(side, uuid)).toBe("refunded");
  expect(balance(role).spent).toBeLessThan(FEES);
});
