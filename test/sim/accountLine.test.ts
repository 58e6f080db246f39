import { afterEach, expect, test, vi } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Slot } from "../../src/core/swap/events.ts";
import { type Books, books, leftovers, outcomes } from "./accountAudit.ts";
import { onMined, onSend, refuse, send } from "./accountMeddling.ts";
import { audit, ended } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, USDT, USDT_AT, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";
import { claimBehindPayment } from "./claimBehindPayment.ts";
import { diesOnceAfter } from "./crashPoint.ts";

const SEED = 20_261_123;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => {
  vi.restoreAllMocks();
  return t.world.close();
});

async function open(): Promise<void> {
  t = await accountWorld({ seed: SEED, pollMs: 15_000 });
  before = books(t);
}

/** Its process ends once, as soon as such a transaction is stored as signed, before any of it leaves. */
function dieOnceSigned(node: SimNode, slot: Slot): void {
  diesOnceAfter(node, (event) => event.type === "tx_signed" && event.slot === slot);
}

test.each([
  [TOKEN, ETH],
  [ETH, TOKEN],
] as const satisfies readonly (readonly [Ticker, Ticker])[])(
  "%s for %s: a maker that dies between deciding against its claim and dropping it has its payment back",
  async (base, rel) => {
    await open();
    const { maker, world } = t;
    let isLate = false;
    let died = false;
    maker.onEvent = (event) => {
      if (isLate || event.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
      isLate = true;
      maker.link(ETH).fault({ kind: "http_500" }, { forMs: 2 * HOUR_MS });
    };
    maker.storeFault = (_uuid, { event }) => {
      if (died || !isLate || event.type !== "refund_decided") return undefined;
      died = true;
      return "crash_after";
    };
    const uuid = await match(t, base, rel, "4", "0.5");
    await world.runUntil("it dies", () => !maker.isRunning, 10 * HOUR_MS);
    maker.link(ETH).faults.clear();
    await maker.start(ALL);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("refunded refunded");
  },
  TIMEOUT_MS,
);

test(
  "a maker whose claim no node kept has its payment back after the taker took its own back",
  async () => {
    await open();
    const { maker, world } = t;
    onSend(maker, "claim", () => (maker.link(ETH).isSwallowing = true), "before");
    const uuid = await match(t, TOKEN, ETH, "4", "0.5");
    await world.runUntil(
      "the taker has its own back",
      () => maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPaymentRefund"),
      10 * HOUR_MS,
    );
    maker.link(ETH).isSwallowing = false;
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("refunded refunded");
  },
  TIMEOUT_MS,
);

test(
  "a taker whose refund no node kept claims after the maker claimed",
  async () => {
    await open();
    const { maker, taker, world } = t;
    onSend(maker, "claim", () => maker.link(ETH).fault({ kind: "http_500" }, { forMs: 2.2 * HOUR_MS }), "before");
    onSend(taker, "refund", () => (taker.link(ETH).isSwallowing = true), "before");
    const uuid = await match(t, TOKEN, ETH, "4", "0.5");
    await world.runUntil(
      "the maker has claimed",
      () => taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPaymentSpend"),
      10 * HOUR_MS,
    );
    taker.link(ETH).isSwallowing = false;
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a maker whose unsent claim lost its nonce to another machine and came too late has its payment back",
  async () => {
    await open();
    const { maker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    let isSignedAnew = false;
    maker.onEvent = (event) => {
      if (!("slot" in event) || event.slot !== "takerPaymentSpend") return;
      if (event.type === "tx_signed" && isSignedAnew) maker.link(ETH).fault({ kind: "http_500" }, { forMs: 2 * HOUR_MS });
      // The claim would not be paid now, so it waits.
      else if (event.type === "tx_signed") isSignedAnew = token.isPaused = true;
      if (event.type === "tx_dropped") token.isPaused = false;
    };
    const uuid = await match(t, ETH, TOKEN, "4", "0.5");
    await world.runUntil("it has signed its claim", () => token.isPaused, HOUR_MS);
    maker.crash();
    send(t, maker.key, { to: maker.account });
    await world.advance(60_000);
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    const claims = maker.events(uuid).filter((e) => "slot" in e && e.slot === "takerPaymentSpend");
    expect(claims.map((e) => e.type)).toEqual(["tx_signed", "tx_dropped", "tx_signed", "tx_dropped"]);
    // Payment, the other machine's, refund: the dropped claim's nonce served again, and nobody paid to fill it.
    expect(world.accountChain(ETH).pendingNonce(maker.account)).toBe(3n);
    await audit(t, [uuid], before, 4_000_000n);
    expect(outcomes(t, uuid)).toBe("refunded refunded");
  },
  TIMEOUT_MS,
);

test(
  "a claim that never left, and whose swap takes its payment back meanwhile, holds up no other swap",
  async () => {
    await open();
    const { maker, world } = t;
    maker.onEvent = (event) => {
      if (!("slot" in event) || event.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
      maker.onEvent = () => undefined;
      maker.link(ETH).fault({ kind: "http_500" }, { forMs: 10 * HOUR_MS });
    };
    // Else the claim is dropped at once.
    maker.storeFault = (_uuid, { event }) => (event.type === "refund_decided" ? "crash_after" : undefined);
    const first = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("it decides to take its payment back", () => !maker.isRunning, 10 * HOUR_MS);
    maker.storeFault = () => undefined;
    // Until a block has its refund the first one goes on.
    for (const { chain } of world.chains.values()) chain.autoMine(null);
    maker.link(ETH).faults.clear();
    await maker.start(ALL);
    await world.advance(60_000);
    const second = await match(t, TOKEN, ETH, "4", "0.5");
    await world.runUntil(
      "the second one is paid",
      () => maker.has(second, (e) => e.type === "tx_seen" && e.slot === "makerPayment" && e.block !== null),
      10 * 60_000,
    );
    for (const { chain } of world.chains.values()) chain.autoMine(60_000);
    expect(
      maker
        .events(first)
        .filter((e) => "slot" in e && e.slot === "takerPaymentSpend")
        .map((e) => e.type),
    ).toEqual(["tx_signed"]);
    await world.runUntil("both end", () => isOver(t, first) && isOver(t, second), 10 * HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["refunded refunded", "success success"]);
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "a claim that was given up for the taker's refund counts again when a reorganisation undoes that one",
  async () => {
    await open();
    const { maker, taker, world } = t;
    const chain = world.accountChain(ETH);
    const claims: string[] = [];
    onSend(
      maker,
      "claim",
      ({ txid }) => {
        claims.push(txid);
        maker.link(ETH).isSwallowing = true;
      },
      "before",
      100,
    );
    const given = (): boolean => {
      const coin = maker.node.coins.wallet(ETH);
      if (coin?.family !== "account") throw new Error("no account coin");
      return claims.some((txid) => coin.account.nonces.isMoot(txid));
    };
    const uuid = await match(t, TOKEN, ETH, "4", "0.5");
    await world.runUntil("the claim is given up", given, 10 * HOUR_MS);
    const refund = maker.events(uuid).findLast((e) => e.type === "tx_confirmed" && e.slot === "takerPaymentRefund");
    if (refund?.type !== "tx_confirmed" || !refund.block) throw new Error("no refund");
    taker.crash();
    chain.reorg(chain.tip.height - refund.block.height + 1, { forget: [refund.txid] });
    await world.runUntil("it counts again", () => !given(), HOUR_MS);
    maker.link(ETH).isSwallowing = false;
    await world.runUntil("it has claimed", () => maker.outcome(uuid) === "success", HOUR_MS);
  },
  TIMEOUT_MS,
);

test(
  "a claim that came too late while its swap waits for its other coin holds up no other swap",
  async () => {
    await open();
    const { maker, world } = t;
    maker.onEvent = (event) => {
      if (event.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
      maker.link(ETH).fault({ kind: "http_500" }, { forMs: HOUR_MS });
      maker.onEvent = () => undefined;
    };
    const first = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("it has signed its claim", () =>
      maker.has(first, (e) => e.type === "tx_signed" && e.slot === "takerPaymentSpend"),
    );
    maker.crash();
    await world.advance(1.5 * HOUR_MS);
    await maker.start(ALL.filter((coin) => coin !== UTXO));
    // Its time to leave ends only now.
    await world.advance(0.5 * HOUR_MS);
    const second = await match(t, TOKEN, ETH, "4", "0.5");
    await world.runUntil("the second one ends", () => isOver(t, second), 10 * HOUR_MS);
    expect(outcomes(t, second)).toBe("success success");
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("refunded refunded");
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

const NO_UTXO = ALL.filter((coin) => coin !== UTXO);

/** The taker's token trade beside a swap that waits; it claims the other coin when the secret is out. */
async function tradesOn(base: Ticker, rel: Ticker, withinMs = 10 * HOUR_MS): Promise<string> {
  const uuid = await match(t, base, rel, "4", "0.5");
  await t.world.runUntil("the second one ends", () => isOver(t, uuid), withinMs);
  expect(outcomes(t, uuid)).toBe("success success");
  return uuid;
}

test(
  "a dex fee that no node kept, of a swap that is over and waits for its other coin, holds up no other swap",
  async () => {
    await open();
    const { maker, taker, world } = t;
    const swallow = (isSwallowing: boolean): void => {
      for (const node of [maker, taker]) node.link(ETH).isSwallowing = isSwallowing;
    };
    onSend(taker, "fee", () => swallow(true), "before");
    const first = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the first one ends", () => isOver(t, first) && taker.outcome(first) !== null, 10 * HOUR_MS);
    expect(taker.outcome(first)).toBe("failed");
    taker.crash();
    swallow(false);
    await taker.start(NO_UTXO);
    await world.advance(0.1 * HOUR_MS);
    await tradesOn(TOKEN, ETH);
  },
  TIMEOUT_MS,
);

test.each([
  ["waits for its other coin", false],
  ["lost its other coin to a client that disabled it", true],
] as const)(
  "a refund that no node kept, of a swap that %s, is sent by the account and holds up no other swap",
  async (_, isDisabled) => {
    await open();
    const { maker, taker, world } = t;
    onSend(maker, "claim", () => maker.link(ETH).fault({ kind: "http_500" }, { forMs: 2.2 * HOUR_MS }), "before");
    onSend(taker, "refund", () => (taker.link(ETH).isSwallowing = true), "before");
    const first = await match(t, UTXO, ETH, "4", "0.5");
    const refunds = (): boolean => taker.has(first, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentRefund");
    await world.runUntil("the taker refunds", () => refunds() && taker.link(ETH).isSwallowing, 10 * HOUR_MS);
    maker.crash();
    if (isDisabled) await world.settle(taker.node.coins.disable(UTXO, true));
    else {
      taker.crash();
      await taker.start(NO_UTXO);
    }
    taker.link(ETH).isSwallowing = false;
    await world.advance(2.3 * HOUR_MS);
    await maker.start(ALL);
    const second = await tradesOn(TOKEN, ETH);
    taker.crash();
    await taker.start(ALL);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("refunded refunded");
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "a payment that no node kept and whose swap waits for its other coin until it is too late is given up, and holds up no other swap",
  async () => {
    await open();
    const { taker, world } = t;
    onSend(taker, "payment", () => (taker.link(ETH).isSwallowing = true), "before");
    const first = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("it has paid", () => taker.has(first, (e) => e.type === "tx_attempted" && e.slot === "takerPayment"), HOUR_MS);
    taker.crash();
    taker.link(ETH).isSwallowing = false;
    await world.advance(1.5 * HOUR_MS);
    await taker.start(NO_UTXO);
    await world.advance(0.1 * HOUR_MS);
    const second = await tradesOn(TOKEN, ETH);
    taker.crash();
    await taker.start(ALL);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("refunded cancelled");
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([ETH, TOKEN] as const)(
  "a payment of %s that is signed and may not leave, for the other coin's daemon went away, gives its nonce back and holds up no other swap",
  async (rel) => {
    await open();
    const { taker, world } = t;
    taker.onEvent = (event) => {
      if (event.type !== "tx_signed" || event.slot !== "takerPayment") return;
      taker.onEvent = () => undefined;
      void taker.daemonFault(UTXO, { kind: "http_500", forMs: 0.5 * HOUR_MS });
    };
    const first = await match(t, UTXO, rel, "4", "0.5");
    const stepsOf = (): readonly string[] => taker.events(first).flatMap((e) => ("slot" in e && e.slot === "takerPayment" ? [e.type] : []));
    await world.runUntil("its payment is signed", () => stepsOf().length > 0, HOUR_MS);
    await tradesOn(USDT, ETH, 0.3 * HOUR_MS);
    expect(stepsOf()).toEqual(["tx_signed", "tx_dropped"]);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([
  ["fee", "taker", UTXO, ETH],
  ["takerPayment", "taker", UTXO, ETH],
  ["takerPayment", "taker", UTXO, TOKEN],
  ["makerPayment", "maker", ETH, UTXO],
] as const)(
  "a %s of the %s for %s/%s that was signed right before a crash gives its nonce back while its swap waits for its other coin, and is made anew",
  async (slot, role, base, rel) => {
    await open();
    const { world } = t;
    const node = t[role];
    dieOnceSigned(node, slot);
    const first = await match(t, base, rel, "4", "0.5");
    await world.runUntil("it dies", () => !node.isRunning, HOUR_MS);
    await node.start(NO_UTXO);
    await world.advance(45_000);
    const second = await match(t, USDT, ETH, "4", "0.5");
    await world.runUntil("the second one ends", () => isOver(t, second), 0.3 * HOUR_MS);
    expect(outcomes(t, second)).toBe("success success");
    node.crash();
    await node.start(ALL);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("success success");
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "a maker that dies before its payment leaves, and again when it comes back too late for that, ends though its other coin comes later still",
  async () => {
    await open();
    const { maker, taker, world } = t;
    dieOnceSigned(maker, "makerPayment");
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it dies", () => !maker.isRunning, HOUR_MS);
    await world.runUntil("the taker gives up", () => taker.outcome(uuid) !== null, HOUR_MS);
    await world.advance(HOUR_MS);
    diesOnceAfter(maker, (event) => event.type === "refund_decided");
    await maker.start(NO_UTXO);
    await maker.enable([UTXO]).catch(() => undefined);
    await world.runUntil("it dies again", () => !maker.isRunning, HOUR_MS);
    await maker.start(NO_UTXO);
    await world.advance(60_000);
    await maker.enable([UTXO]);
    expect(await ended(t, uuid, before)).toBe("failed failed");
  },
  TIMEOUT_MS,
);

test(
  "a maker that gave its unsent payment up by a clock hours ahead, which is set right since, makes no other: it would not claim the taker's",
  async () => {
    await open();
    const { maker, world } = t;
    dieOnceSigned(maker, "makerPayment");
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it dies", () => !maker.isRunning, HOUR_MS);
    maker.skewMs = 6 * HOUR_MS;
    diesOnceAfter(maker, (event) => event.type === "refund_decided");
    await maker.start(NO_UTXO);
    await maker.enable([UTXO]).catch(() => undefined);
    await world.runUntil("it dies again", () => !maker.isRunning, HOUR_MS);
    maker.skewMs = 0;
    await maker.start(NO_UTXO);
    await world.advance(60_000);
    await maker.enable([UTXO]);
    expect(await ended(t, uuid, before)).toBe("failed failed");
  },
  TIMEOUT_MS,
);

test.each([
  ["fee", "taker", UTXO, ETH],
  ["takerPayment", "taker", UTXO, ETH],
  ["makerPayment", "maker", ETH, UTXO],
] as const)(
  "a %s of the %s for %s/%s that an accepted copy says was signed and never left stays home, and holds up no other swap",
  async (slot, role, base, rel) => {
    await open();
    const { world } = t;
    const node = t[role];
    dieOnceSigned(node, slot);
    const first = await match(t, base, rel, "4", "0.5");
    await world.runUntil("it dies", () => !node.isRunning, HOUR_MS);
    const log = await node.swapStore.log(first);
    await node.swapStore.append(first, log.length, { v: 1, atMs: log.at(-1)?.atMs ?? 0, event: { type: "record_cut" } }, []);
    await node.start(ALL);
    await world.advance(45_000);
    const second = await match(t, USDT, ETH, "4", "0.5");
    await world.runUntil("the second one ends", () => isOver(t, second), 0.3 * HOUR_MS);
    expect(outcomes(t, second)).toBe("success success");
    expect(node.has(first, (e) => e.type === "tx_attempted" && e.slot === slot)).toBe(false);
  },
  TIMEOUT_MS,
);

test.each(["is in a block", "waits in the pools"] as const)(
  "a taker put back to before its fee left, which %s, without its other coin, pays no second one",
  async (where) => {
    await open();
    const { taker, world } = t;
    dieOnceSigned(taker, "fee");
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("it dies", () => !taker.isRunning, HOUR_MS);
    const backup = await taker.backup();
    const isMined = where === "is in a block";
    const { held } = world.accountChain(ETH);
    if (!isMined) for (const { event } of await taker.swapStore.log(uuid)) if (event.type === "tx_signed") held.add(event.txid);
    await taker.start(ALL);
    const isThere = (): boolean => taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "fee" && (e.block !== null) === isMined);
    await world.runUntil(`its fee ${where}`, isThere, HOUR_MS);
    taker.crash();
    await taker.restore(backup);
    await taker.start(NO_UTXO);
    await world.advance(60_000);
    held.clear();
    taker.crash();
    await taker.start(ALL);
    expect(await ended(t, uuid, before)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a claim that showed its secret, of a swap that waits for its other coin, follows the price of gas, and another swap's claim gets through behind it",
  async () => {
    await open();
    const { maker, taker, world } = t;
    const chain = world.accountChain(ETH);
    const token = chain.tokens.get(USDT_AT) ?? expect.fail("no token");
    // The node that waits is the taker of the second one, whose maker shows no secret as long as its token stands still.
    onMined(t, maker, "payment", () => (token.isPaused = true));
    const second = await match({ world, maker: taker, taker: maker }, TOKEN, USDT, "4", "0.5");
    await world.runUntil("it has paid", () => token.isPaused, HOUR_MS);
    onSend(
      maker,
      "claim",
      () => {
        chain.spike(50n, 20 * HOUR_MS, true);
        maker.crash();
      },
      "after",
    );
    const first = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("it claims", () => !maker.isRunning, HOUR_MS);
    await maker.start(NO_UTXO);
    token.isPaused = false;
    await world.runUntil("both end", () => isOver(t, second) && taker.outcome(first) !== null, 10 * HOUR_MS);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["success success", "success success"]);
    await world.advance(HOUR_MS / 3);
    expect(leftovers(t)).toEqual([]);
  },
  TIMEOUT_MS,
);

test.each([
  ["failed in its block, for its token stood still,", TOKEN, NO_UTXO],
  ["failed in its block, for its token stood still,", TOKEN, [ETH]],
  ["lost its nonce to another wallet", ETH, NO_UTXO],
] as const)(
  "a claim that showed its secret and %s is signed anew in time while its swap waits for its other coin (%s, with %s)",
  async (what, rel, left) => {
    await open();
    const { maker, taker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    const isLost = what.startsWith("lost");
    let isOut = false;
    onSend(maker, "claim", () => {
      isOut = true;
      token.isPaused = !isLost;
      maker.link(ETH).isSwallowing = isLost;
    });
    const uuid = await match(t, UTXO, rel, "4", "0.5");
    await world.runUntil("it claims", () => isOut, HOUR_MS);
    await world.advance(1_000);
    maker.crash();
    if (isLost) send(t, maker.key, { to: maker.account });
    await world.advance(60_000);
    maker.link(ETH).isSwallowing = false;
    await maker.start(left);
    await world.advance(HOUR_MS / 6);
    token.isPaused = false;
    await world.runUntil("the taker ends", () => taker.outcome(uuid) !== null, 10 * HOUR_MS);
    expect(maker.events(uuid).filter((e) => e.type === "tx_replaced" && e.slot === "takerPaymentSpend")).toHaveLength(1);
    maker.crash();
    await maker.start(ALL);
    expect(await ended(t, uuid, before)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a payment that pools have dropped, and that nobody sends while its swap waits for its other coin, holds up no claim of another swap for longer than ten minutes",
  async () => {
    await open();
    const { taker, world } = t;
    const chain = world.accountChain(ETH);
    const { first, second, own } = await claimBehindPayment(t);
    taker.crash();
    chain.pool.remove(own);
    refuse((txid) => txid === own);
    chain.held.clear();
    await taker.start(ALL.filter((coin) => coin !== UTXO));
    await world.runUntil(
      "the claim is in a block",
      () => taker.has(first, (e) => e.type === "tx_confirmed" && e.slot === "takerPaymentSpend"),
      HOUR_MS / 3,
    );
    taker.crash();
    await taker.start(ALL);
    await world.runUntil("both end", () => [first, second].every((uuid) => isOver(t, uuid)), 10 * HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["success success", "refunded cancelled"]);
    expect(leftovers(t)).toEqual([]);
  },
  TIMEOUT_MS,
);

test.each(["stays home while its other coin's daemon is away", "nodes take no more"] as const)(
  "a payment that pools have dropped, and that %s, costs no other swap the claim behind it",
  async (why) => {
    await open();
    const { maker, taker, world } = t;
    const chain = world.accountChain(ETH);
    const { first, second, own } = await claimBehindPayment(t, 1.4 * HOUR_MS);
    // Whom it is for does not bring it back either.
    maker.crash();
    await maker.start(NO_UTXO);
    if (why === "nodes take no more") refuse((txid) => txid === own);
    else await taker.daemonFault(UTXO, { kind: "http_500", forMs: 3 * HOUR_MS });
    await world.advance(30_000);
    chain.pool.remove(own);
    chain.held.clear();
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    await maker.enable([UTXO]);
    await world.runUntil("both end", () => [first, second].every((uuid) => isOver(t, uuid)), 10 * HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["success success", "refunded cancelled"]);
    expect(leftovers(t)).toEqual([]);
  },
  TIMEOUT_MS,
);
