import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { type Books, books, outcomes } from "./accountAudit.ts";
import { onSend } from "./accountMeddling.ts";
import { audit, ended } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, TOKEN, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";
import { diesAtMark } from "./crashPoint.ts";

const SEED = 20_261_123;
const MINUTE_MS = 60_000;
const TIMEOUT_MS = 120_000;
const ALLOWANCE = 4_000_000n;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());
const chain = () => t.world.accountChain(ETH);

async function open(): Promise<void> {
  t = await accountWorld({ seed: SEED, pollMs: 15_000 });
  before = books(t);
}

const inBlock = (slot: Slot) => (e: SwapEvent) => e.type === "tx_seen" && e.slot === slot && e.block !== null;

test.each([
  [ETH, UTXO, "have been searched"],
  [TOKEN, UTXO, "have been searched"],
  [ETH, UTXO, "are searched for hours"],
  [TOKEN, UTXO, "are searched for hours"],
] as const)(
  "%s for %s: a maker put back to between signing and sending its payment takes it back though no node has its receipt any more and logs %s",
  async (base, rel, logs) => {
    await open();
    const { maker, taker, world } = t;
    let backup: ReturnType<typeof maker.backup> | null = null;
    maker.storeFault = (_uuid, { event }) => {
      if (backup !== null || event.type !== "tx_attempted" || event.slot !== "makerPayment") return undefined;
      backup = maker.backup();
      return "refuse";
    };
    const uuid = await match(t, base, rel, "4", "0.5");
    await world.runUntil("it has paid", () =>
      maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment" && e.block !== null),
    );
    for (const node of [maker, taker]) node.crash();
    await world.advance(HOUR_MS);
    if (backup === null) throw new Error("no backup");
    const restored = await maker.restore(await backup);
    expect(restored.get(uuid)?.at(-1)?.event).toMatchObject({ type: "tx_signed", slot: "makerPayment" });
    maker.link(ETH).receiptsFrom = chain().tip.height;
    maker.link(ETH).isSearching = logs === "are searched for hours";
    let sent = 0;
    onSend(maker, "payment", () => sent++);
    await maker.start(ALL);
    await world.advance(HOUR_MS);
    expect(maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "makerPayment")).toBe(true);
    expect(sent).toBe(0);
    await world.runUntil("it is taken back", () => maker.has(uuid, inBlock("makerPaymentRefund")), 5 * HOUR_MS);
    maker.link(ETH).isSearching = false;
    await taker.start(ALL);
    expect(await ended(t, uuid, before, ALLOWANCE)).toBe("refunded failed");
  },
  TIMEOUT_MS,
);

/** A side's node is down until nodes have neither receipts nor logs of what it did, from an event of its swap on. */
async function forgetWhileDown(who: Role, uuid: string, from: (e: SwapEvent) => boolean): Promise<void> {
  const node = t[who];
  await t.world.runUntil("its last step is taken", () => node.has(uuid, from), 10 * HOUR_MS);
  node.crash();
  await t.world.advance(HOUR_MS);
  node.link(ETH).receiptsFrom = chain().tip.height;
  await node.start(ALL);
}

test.each([
  [UTXO, ETH, "maker", "takerPaymentSpend", "success success"],
  [TOKEN, UTXO, "taker", "makerPaymentSpend", "success success"],
  [ETH, UTXO, "maker", "makerPaymentRefund", "refunded failed"],
  [UTXO, TOKEN, "taker", "takerPaymentRefund", "refunded refunded"],
] as const)(
  "%s for %s: the %s's swap whose %s no node shows any more ends as the contract says, and is watched no longer",
  async (base, rel, who, slot, ends) => {
    await open();
    const { maker, taker, world } = t;
    const gone = slot === "makerPaymentRefund" ? "takerPayment" : slot === "takerPaymentRefund" ? "takerPaymentSpend" : null;
    (who === "maker" ? taker : maker).storeFault = (_uuid, { event }) =>
      event.type === "tx_signed" && event.slot === gone ? "refuse" : undefined;
    const uuid = await match(t, base, rel, "4", "0.5");
    await forgetWhileDown(who, uuid, inBlock(slot));
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe(ends);
    await world.runUntil("it is watched no longer", () => t[who].node.swaps.isSettled(uuid), HOUR_MS);
    await audit(t, [uuid], before, ALLOWANCE);
  },
  TIMEOUT_MS,
);

test(
  "a finished swap whose own payment no node shows any more is watched no longer",
  async () => {
    await open();
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await forgetWhileDown("maker", uuid, (e) => e.type === "finished");
    await t.world.runUntil("it is watched no longer", () => t.maker.node.swaps.isSettled(uuid), HOUR_MS);
    await audit(t, [uuid], before, ALLOWANCE);
    expect(outcomes(t, uuid)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([
  [UTXO, ETH, "maker", "takerPayment"],
  [UTXO, TOKEN, "maker", "takerPayment"],
  [ETH, UTXO, "taker", "makerPayment"],
  [TOKEN, UTXO, "taker", "makerPayment"],
] as const)(
  "%s for %s: the %s goes on with the other side's payment that the contract holds and no node shows any more",
  async (base, rel, who, slot) => {
    await open();
    const uuid = await match(t, base, rel, "4", "0.5");
    const node = t[who];
    await t.world.runUntil("it is there", () => node.has(uuid, inBlock(slot)), HOUR_MS);
    node.crash();
    await t.world.advance(2 * MINUTE_MS);
    node.link(ETH).receiptsFrom = chain().tip.height;
    await node.start(ALL);
    expect(await ended(t, uuid, before, ALLOWANCE)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a maker that died before it knew that its claim had left claims what it was paid, though no node shows who took its own payment any more",
  async () => {
    await open();
    const { maker, taker, world } = t;
    const { chain: utxo } = world.chain(UTXO);
    let died = false;
    maker.storeFault = (_uuid, { event }) => {
      if (died || event.type !== "tx_seen" || event.slot !== "takerPaymentSpend") return undefined;
      died = true;
      return "crash_before";
    };
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it has claimed", () => died, HOUR_MS);
    utxo.autoMine(null);
    await world.runUntil("the taker has its claim", () => taker.outcome(uuid) !== null, HOUR_MS);
    taker.crash();
    // Mempools forget.
    expect(utxo.mempool.evictBelow(10n ** 9n)).toHaveLength(1);
    utxo.autoMine(MINUTE_MS);
    await world.advance(5 * HOUR_MS);
    maker.link(ETH).receiptsFrom = chain().tip.height;
    // Until the account chain is known again.
    void maker.daemonFault(UTXO, { kind: "refuse_broadcast", forMs: 2 * MINUTE_MS });
    await maker.start(ALL);
    await world.runUntil("it has claimed again", () => maker.outcome(uuid) !== null, HOUR_MS);
    await taker.start(ALL);
    await world.advance(HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "a maker's claim that nobody was seen to have shows no secret once its own payment, which no node shows any more, can go back",
  async () => {
    await open();
    const { maker, taker, world } = t;
    const hasDied = diesAtMark(maker);
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("the mark", hasDied, HOUR_MS);
    taker.crash();
    await world.advance(5 * HOUR_MS);
    const claim = maker.events(uuid).flatMap((e) => (e.type === "tx_signed" && e.slot === "takerPaymentSpend" ? [e.raw] : []));
    let shown = 0;
    maker.onBroadcast = (_ticker, _when, raw) => void (claim.includes(raw) && shown++);
    maker.link(ETH).receiptsFrom = chain().tip.height;
    await maker.start(ALL);
    await world.runUntil("the maker has its own back", () => maker.outcome(uuid) !== null, HOUR_MS);
    await taker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect([outcomes(t, uuid), shown]).toEqual(["refunded refunded", 0]);
  },
  TIMEOUT_MS,
);
