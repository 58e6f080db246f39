import { afterEach, expect, test } from "vitest";
import { ownTxOf } from "../../sim/run/swapBook.ts";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { books, outcomes } from "./accountAudit.ts";
import { audit } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";
import { diesAtMark } from "./crashPoint.ts";

const TIMEOUT_MS = 120_000;
const NO_UTXO = ALL.filter((coin) => coin !== UTXO);

let t: AccountWorld;
afterEach(() => t.world.close());

function ofRaw(raw: string): Uint8Array {
  const parsed = parseEvmTx(fromHex(raw));
  return parsed.ok ? parsed.value.tx.data : expect.fail("no transaction");
}

/** What of the node's claim nodes of the account chain get to see from here on, in a call or as a transaction. */
function shownOf(node: SimNode, uuid: string): { readonly seen: () => number; readonly end: () => void } {
  const claims = node
    .events(uuid)
    .flatMap((e) => ownTxOf(e) ?? [])
    .filter(({ slot }) => slot === "takerPaymentSpend");
  // Signed anew, with another nonce, it is the same call.
  const calls = claims.map(({ raw }) => toHex(ofRaw(raw)));
  let seen = 0;
  const { call } = SimEvmView.prototype;
  SimEvmView.prototype.call = function (this: SimEvmView, request, ...how) {
    if (calls.includes(toHex(request.data))) seen++;
    return call.call(this, request, ...how);
  };
  const before = node.onBroadcast;
  node.onBroadcast = (ticker, when, raw, outcome) => {
    if (calls.some((data) => raw.includes(data))) seen++;
    before(ticker, when, raw, outcome);
  };
  const end = (): void => {
    SimEvmView.prototype.call = call;
  };
  return { seen: () => seen, end };
}

/** A swap whose maker died right after the mark of its claim. */
async function diedAtMark(base: Ticker = UTXO): Promise<{ readonly uuid: string; readonly before: ReturnType<typeof books> }> {
  t = await accountWorld({ seed: 20_261_123, pollMs: 15_000 });
  const before = books(t);
  const hasDied = diesAtMark(t.maker);
  const uuid = await match(t, base, ETH, "4", "0.5");
  await t.world.runUntil("the mark", hasDied, 10 * HOUR_MS);
  return { uuid, before };
}

/** The taker, that is away from here on, has a payment no more, as a deep reorganisation leaves it. @returns its id */
function loseTakersPayment(uuid: string): string {
  t.taker.crash();
  const chain = t.world.accountChain(ETH);
  const paid = t.taker.events(uuid).flatMap((e) => (ownTxOf(e)?.slot === "takerPayment" ? (ownTxOf(e) ?? []) : []));
  const txid = paid[0]?.txid ?? "";
  const height = chain.find(txid)?.block?.height ?? Number.NaN;
  expect(chain.reorg(chain.tip.height - height + 1, { forget: [txid] }).ok).toBe(true);
  return txid;
}

test(
  "a maker's claim that never left shows no secret while its swap waits for its other coin and the taker's payment is back",
  async () => {
    const { uuid, before } = await diedAtMark();
    const { maker, taker, world } = t;
    const isBack = (): boolean => taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPaymentRefund");
    await world.runUntil("the taker has its payment back", isBack, 10 * HOUR_MS);
    const shown = shownOf(maker, uuid);
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 4);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    shown.end();
    expect([outcomes(t, uuid), shown.seen()]).toEqual(["refunded refunded", 0]);
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([false, true])(
  "nor in its time while a reorganisation has taken that payment; once it stands again the claim goes (while the swap still waits: %s)",
  async (isWaiting) => {
    const { uuid, before } = await diedAtMark();
    const { maker, taker, world } = t;
    loseTakersPayment(uuid);
    const shown = shownOf(maker, uuid);
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 12);
    expect(shown.seen()).toBe(0);
    await taker.start(ALL);
    if (isWaiting) await world.runUntil("the claim has left", () => shown.seen() > 0, HOUR_MS / 2);
    shown.end();
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([false, true])(
  "nor where its swap runs again; the claim holds up nothing of its account meanwhile, of two coins on one not its payment's refund either (the taker's comes back: %s)",
  async (comesBack) => {
    const { uuid, before } = await diedAtMark(TOKEN);
    const { maker, taker, world } = t;
    const payment = loseTakersPayment(uuid);
    // Else the maker would bring it back.
    maker.onBroadcast = (_ticker, when) => void (when === "after" && world.accountChain(ETH).pool.remove(payment));
    const shown = shownOf(maker, uuid);
    await maker.start(ALL);
    if (comesBack) await world.advance(HOUR_MS / 6);
    else await world.runUntil("the maker has its own back", () => maker.outcome(uuid) !== null, 10 * HOUR_MS);
    shown.end();
    expect([maker.outcome(uuid), shown.seen()]).toEqual([comesBack ? null : "refunded", 0]);
    maker.onBroadcast = () => undefined;
    await taker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe(comesBack ? "success success" : "refunded cancelled");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([false, true])(
  "nor where its swap runs and no node has the receipts of the taker's payment and refund any more (logs are searched for hours: %s)",
  async (isSearching) => {
    t = await accountWorld({ seed: 20_261_123, pollMs: 15_000 });
    const before = books(t);
    const { maker, taker, world } = t;
    const hasDied = diesAtMark(maker);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the mark", hasDied, 10 * HOUR_MS);
    const isBack = (): boolean => taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPaymentRefund");
    await world.runUntil("the taker has its payment back", isBack, 10 * HOUR_MS);
    const shown = shownOf(maker, uuid);
    Object.assign(maker.link(ETH), { receiptsFrom: world.accountChain(ETH).tip.height, isSearching });
    await maker.start(ALL);
    await world.advance(HOUR_MS / 4);
    maker.link(ETH).isSearching = false;
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    shown.end();
    expect([outcomes(t, uuid), shown.seen()]).toEqual(["refunded refunded", 0]);
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "nor beside the refund of the maker's own payment, also when its nonce was filled meanwhile: that says nothing of who has seen it",
  async () => {
    const { uuid, before } = await diedAtMark();
    const { maker, taker, world } = t;
    taker.crash();
    await world.advance(5 * HOUR_MS);
    const utxo = [...world.chains.values()].map(({ chain }) => chain);
    for (const chain of utxo) chain.autoMine(null);
    const shown = shownOf(maker, uuid);
    await maker.start(ALL);
    await world.advance(HOUR_MS / 4);
    for (const chain of utxo) chain.autoMine(60_000);
    await world.runUntil("the maker has its own back", () => maker.outcome(uuid) !== null, HOUR_MS);
    shown.end();
    expect([maker.outcome(uuid), shown.seen()]).toEqual(["refunded", 0]);
    await taker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("refunded refunded");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "one that is late goes while its swap waits where the taker's payment still stands: it may have left before the process died",
  async () => {
    const { uuid, before } = await diedAtMark();
    const { maker, taker, world } = t;
    taker.crash();
    await world.advance(2 * HOUR_MS);
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 10);
    const claims = maker.events(uuid).flatMap((e) => (ownTxOf(e)?.slot === "takerPaymentSpend" ? (ownTxOf(e) ?? []) : []));
    expect(claims.some(({ txid }) => world.accountChain(ETH).find(txid)?.block != null)).toBe(true);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("the maker has claimed", () => maker.outcome(uuid) === "success", HOUR_MS);
    await taker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "one that nodes took while its swap waited is sent on late, also after another start and though no pool has it: its secret is out",
  async () => {
    t = await accountWorld({ seed: 20_261_123, pollMs: 15_000 });
    const before = books(t);
    const { maker, taker, world } = t;
    const hasDied = diesAtMark(maker);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the mark", hasDied, 10 * HOUR_MS);
    taker.crash();
    const chain = world.accountChain(ETH);
    const claims = (): readonly { readonly txid: string; readonly raw: string }[] =>
      maker.events(uuid).flatMap((e) => (ownTxOf(e)?.slot === "takerPaymentSpend" ? (ownTxOf(e) ?? []) : []));
    let taken = 0;
    maker.onBroadcast = (_ticker, when, raw) => {
      const claim = claims().find((tx) => tx.raw === raw);
      if (when !== "after" || claim === undefined) return;
      taken++;
      chain.pool.remove(claim.txid);
    };
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 20);
    expect(taken).toBeGreaterThan(0);
    maker.crash();
    maker.onBroadcast = () => undefined;
    await world.advance(1.9 * HOUR_MS);
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 20);
    expect(claims().some(({ txid }) => chain.find(txid)?.block != null)).toBe(true);
    maker.crash();
    for (const node of [maker, taker]) await node.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);
