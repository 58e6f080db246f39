import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { type Books, books, outcomes } from "./accountAudit.ts";
import { onMined, onSend } from "./accountMeddling.ts";
import { audit, ended, runSwap } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, USDT, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";

const SEED = 20_241_127;
const MINUTE_MS = 60_000;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());
const chain = () => t.world.accountChain(ETH);

async function open(pollMs = 5_000): Promise<void> {
  t = await accountWorld({ seed: SEED, pollMs });
  before = books(t);
}

const run = (base: Ticker, rel: Ticker, allowances?: bigint): Promise<string> => runSwap(t, before, base, rel, allowances);

type Outage = readonly [Ticker, Ticker, Role, SwapEvent["type"], Slot | undefined, string];
test.each([
  // The secret never left, so both take their own back.
  [UTXO, ETH, "maker", "tx_signed", "takerPaymentSpend", "refunded refunded"],
  // The maker has the payment by message and sends it itself.
  [UTXO, TOKEN, "taker", "tx_signed", "takerPayment", "success success"],
  // The taker has its claim out only when its nodes are back, still before the maker's lock.
  [TOKEN, ETH, "taker", "secret_learned", undefined, "success success"],
] as const satisfies readonly Outage[])(
  "%s for %s: the %s's nodes are away for three hours from %s %s on: %s ends without loss",
  async (base, rel, who, type, slot, ends) => {
    await open(15_000);
    let begun = false;
    t[who].onEvent = (event) => {
      if (begun || event.type !== type || ("slot" in event ? event.slot : undefined) !== slot) return;
      begun = true;
      t[who].link(ETH).fault({ kind: "http_500" }, { forMs: 3 * HOUR_MS });
    };
    expect(await run(base, rel, 4_000_000n)).toBe(ends);
    expect(begun).toBe(true);
  },
  TIMEOUT_MS,
);

test(
  "a payment that waits for its other token keeps no other payment of its token from a new allowance",
  async () => {
    await open(15_000);
    const { maker, world } = t;
    const token = chain().tokens.get(TOKEN_AT) ?? expect.fail("no token");
    onMined(t, maker, "payment", () => (token.isPaused = true));
    const first = await match(t, TOKEN, USDT, "4", "0.5");
    await world.runUntil("the other token stands still", () => token.isPaused, HOUR_MS);
    await world.advance(MINUTE_MS);
    const second = await match(t, UTXO, USDT, "8", "0.5");
    await world.runUntil("the second one ends", () => isOver(t, second), 10 * MINUTE_MS);
    expect(outcomes(t, second)).toBe("success success");
    token.isPaused = false;
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("success success");
    await audit(t, [first, second], before);
  },
  TIMEOUT_MS,
);

test.each([
  [UTXO, ETH, "taker"],
  [TOKEN, UTXO, "maker"],
] as const)(
  "%s for %s: the %s's refund is raised at its nonce when gas jumps fiftyfold under it",
  async (base, rel, who) => {
    await open(15_000);
    const nonces: bigint[] = [];
    onSend(
      t[who],
      "refund",
      ({ tx }) => {
        nonces.push(tx.nonce);
        if (nonces.length === 1) chain().spike(50n, 6 * HOUR_MS, true);
      },
      "before",
      100,
    );
    const gone = who === "taker" ? "takerPaymentSpend" : "takerPayment";
    t[who === "taker" ? "maker" : "taker"].storeFault = (_uuid, { event }) =>
      event.type === "tx_signed" && event.slot === gone ? "refuse" : undefined;
    expect(await run(base, rel)).toBe(who === "taker" ? "refunded refunded" : "refunded failed");
    expect(new Set(nonces).size).toBe(1);
    expect(nonces.length).toBeGreaterThan(1);
  },
  TIMEOUT_MS,
);

test(
  "nodes whose logs have no events for half an hour hold a swap up and end none wrong",
  async () => {
    await open();
    for (const node of [t.maker, t.taker]) node.link(ETH).hasNoLogs = true;
    t.world.clock.after(30 * MINUTE_MS, () => {
      for (const node of [t.maker, t.taker]) node.link(ETH).hasNoLogs = false;
    });
    expect(await run(ETH, TOKEN)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a payment whose receipt no node has after a restart is taken back once one has it again",
  async () => {
    await open(15_000);
    t.taker.storeFault = (_uuid, { event }) => (event.type === "tx_signed" && event.slot === "takerPayment" ? "refuse" : undefined);
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    const { maker, world } = t;
    await world.runUntil(
      "the maker has paid",
      () => maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "makerPayment"),
      HOUR_MS,
    );
    maker.link(ETH).receiptsBehind = Number.POSITIVE_INFINITY;
    maker.crash();
    await maker.start(ALL);
    await world.advance(HOUR_MS);
    expect(maker.outcome(uuid)).toBeNull();
    maker.link(ETH).receiptsBehind = 0;
    expect(await ended(t, uuid, before)).toBe("refunded failed");
  },
  TIMEOUT_MS,
);

test.each([
  [ETH, UTXO, "maker", "tx_confirmed"],
  [UTXO, TOKEN, "taker", "tx_confirmed"],
  [ETH, UTXO, "maker", "tx_attempted"],
  [UTXO, TOKEN, "taker", "tx_attempted"],
] as const)(
  "%s for %s: the %s takes a payment (%s) back whose receipt and logs no node has any more after a restart",
  async (base, rel, who, reached) => {
    await open(15_000);
    const node = t[who];
    const gone = who === "maker" ? "takerPayment" : "takerPaymentSpend";
    t[who === "maker" ? "taker" : "maker"].storeFault = (_uuid, { event }) =>
      event.type === "tx_signed" && event.slot === gone ? "refuse" : undefined;
    const uuid = await match(t, base, rel, "4", "0.5");
    await t.world.runUntil("it has paid", () => node.has(uuid, (e) => e.type === reached && e.slot === `${who}Payment`), HOUR_MS);
    node.crash();
    await t.world.advance(HOUR_MS);
    node.link(ETH).receiptsFrom = chain().tip.height;
    await node.start(ALL);
    expect(await ended(t, uuid, before, 4_000_000n)).toBe(who === "maker" ? "refunded failed" : "refunded refunded");
  },
  TIMEOUT_MS,
);

test.each(["after a restart", "after a reorganisation, while it runs"])(
  "a taker finds the secret in the claim of its payment though no node has that payment's receipt and logs any more %s",
  async (when) => {
    await open(15_000);
    const { maker, taker, world } = t;
    maker.storeFault = (_uuid, { event }) => (event.type === "tx_signed" && event.slot === "takerPaymentSpend" ? "refuse" : undefined);
    const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
    await world.runUntil("it has paid", () => taker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPayment"), HOUR_MS);
    if (when === "after a restart") taker.crash();
    await world.advance(10 * MINUTE_MS);
    taker.link(ETH).receiptsFrom = chain().tip.height;
    if (when === "after a restart") await taker.start(ALL);
    maker.storeFault = () => undefined;
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a payment of a quarter of an hour ago whose receipt comes a minute after a restart is not cancelled, and trades",
  async () => {
    await open(15_000);
    const { maker, taker, world } = t;
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil(
      "the maker has paid",
      () => maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "makerPayment"),
      HOUR_MS,
    );
    for (const node of [maker, taker]) node.crash();
    await world.advance(15 * MINUTE_MS);
    maker.link(ETH).receiptsBehind = Number.POSITIVE_INFINITY;
    await maker.start(ALL);
    await world.advance(MINUTE_MS);
    maker.link(ETH).receiptsBehind = 0;
    await taker.start(ALL);
    expect(await ended(t, uuid, before)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a maker put back to before its payment, of which only the contract tells for an hour, does not call its swap failed",
  async () => {
    await open(15_000);
    const { maker, taker, world } = t;
    let backup: ReturnType<typeof maker.backup> | null = null;
    maker.onEvent = (event) => {
      if (event.type === "tx_received" && backup === null) backup = maker.backup();
    };
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it has paid", () =>
      maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment" && e.block !== null),
    );
    for (const node of [maker, taker]) node.crash();
    if (backup === null) throw new Error("no backup");
    await maker.restore(await backup);
    maker.link(ETH).receiptsBehind = Number.POSITIVE_INFINITY;
    await maker.start(ALL);
    await world.advance(HOUR_MS);
    expect(maker.outcome(uuid)).toBeNull();
    expect(maker.node.swaps.unseenOf(uuid)).toContain("add a node that serves logs");
    maker.link(ETH).receiptsBehind = 0;
    await taker.start(ALL);
    expect(await ended(t, uuid, before)).toBe("refunded failed");
  },
  TIMEOUT_MS,
);

test.each([
  [UTXO, ETH, "maker"],
  [UTXO, TOKEN, "maker"],
  [TOKEN, UTXO, "taker"],
  [ETH, TOKEN, "taker"],
] as const)("%s for %s: the %s's claim is raised at its nonce when gas jumps fiftyfold under it", async (base, rel, who) => {
  await open();
  const nonces = new Set<bigint>();
  let versions = 0;
  let spikes = 0;
  onSend(
    t[who],
    "claim",
    ({ tx }) => {
      nonces.add(tx.nonce);
      versions++;
      if (spikes++ === 0) chain().spike(50n, 2 * HOUR_MS, true);
    },
    "before",
    100,
  );
  expect(await run(base, rel)).toBe("success success");
  expect(nonces.size).toBe(1);
  expect(versions).toBeGreaterThan(1);
});
