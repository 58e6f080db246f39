import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { signCall } from "../../src/app/coin/evm/signCall.ts";
import { encodeSwapCall } from "../../src/core/evm/swapContract.ts";
import { decimal } from "../../src/core/money/rational.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { ok } from "../../src/core/util/result.ts";
import { type Books, books, leftovers, outcomes } from "./accountAudit.ts";
import { onSend, send, spendFor, stranger, swapCall } from "./accountMeddling.ts";
import { audit, ended, runSwap } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";

const SEED = 20_241_126;
const MINUTE_MS = 60_000;
const LIMIT_MS = 8 * HOUR_MS;
const TIMEOUT_MS = 120_000;
const GWEI = 10n ** 9n;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());
const chain = () => t.world.accountChain(ETH);

async function open(pollMs = 5_000): Promise<void> {
  t = await accountWorld({ seed: SEED, pollMs });
  before = books(t);
}

const run = (base: Ticker, rel: Ticker, allowances?: bigint): Promise<string> => runSwap(t, before, base, rel, allowances);

test.each([
  [UTXO, ETH, "maker"],
  [UTXO, TOKEN, "maker"],
  [TOKEN, UTXO, "taker"],
] as const)(
  "%s for %s: somebody else carries out the %s's claim: the money came, and the swap is a success",
  async (base, rel, who) => {
    await open();
    const key = stranger(t);
    const by: string[] = [];
    onSend(t[who], "claim", (own) => {
      if (own.tx.to !== null) by.push(send(t, key, { to: own.tx.to, data: spendFor(own) }).txid);
    });
    expect(await run(base, rel)).toBe("success success");
    expect(by).toHaveLength(1);
    expect(t[who].has([...t[who].swaps.keys()][0] ?? "", (e) => e.type === "tx_confirmed" && e.txid === by[0])).toBe(true);
  },
  TIMEOUT_MS,
);

test(
  "a claim that somebody else carried out and that no pool has any more holds no later transaction up",
  async () => {
    await open();
    const key = stranger(t);
    let met = 0;
    onSend(
      t.maker,
      "claim",
      (own) => {
        if (own.tx.to !== null && met++ === 0) send(t, key, { to: own.tx.to, data: spendFor(own) });
        // No block takes it, and in the end no pool has it.
        chain().held.add(own.txid);
        t.world.clock.after(5 * MINUTE_MS, () => chain().pool.remove(own.txid));
      },
      "after",
    );
    expect(await run(UTXO, ETH)).toBe("success success");
    before = books(t);
    expect(await run(ETH, UTXO)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([
  [ETH, UTXO, "maker"],
  [UTXO, ETH, "taker"],
] as const)(
  "%s for %s: somebody pays the id of the %s's payment first: it is never taken for the agreed one",
  async (base, rel, who) => {
    await open(15_000);
    const key = stranger(t);
    const sent: bigint[] = [];
    onSend(t[who], "payment", (own) => {
      const call = swapCall(own);
      if (call?.kind !== "ethPayment" || own.tx.to === null) throw new Error("no payment");
      send(t, key, { to: own.tx.to, value: own.tx.value, data: encodeSwapCall(call) });
      sent.push(own.tx.value);
    });
    const uuid = await match(t, base, rel, "4", "0.5");
    await t.world.runUntil("both end", () => isOver(t, uuid), LIMIT_MS);
    expect(outcomes(t, uuid)).toBe(who === "maker" ? "cancelled failed" : "refunded cancelled");
    // What is left in the contract is the stranger's.
    expect(chain().swapContracts.map((at) => chain().balance(at))).toEqual(sent);
  },
  TIMEOUT_MS,
);

test.each(["fee", "payment", "claim", "refund"] as const)(
  "another machine with the same seed uses the nonce of the %s",
  async (step) => {
    await open(15_000);
    const who: Role = step === "claim" ? "maker" : "taker";
    let used = 0;
    onSend(t[who], step, ({ tx }) => {
      used++;
      send(t, t[who].key, { to: t[who].account, nonce: tx.nonce });
    });
    if (step === "refund")
      t.maker.storeFault = (_uuid, { event }) => (event.type === "tx_signed" && event.slot === "takerPaymentSpend" ? "refuse" : undefined);
    const ends = await run(UTXO, ETH);
    expect(used).toBe(1);
    expect(ends).toBe({ fee: "failed failed", payment: "refunded cancelled", claim: "success success", refund: "refunded refunded" }[step]);
  },
  TIMEOUT_MS,
);

test(
  "a withdrawal nobody mines stands before a claim: it is raised, and the claim is in time",
  async () => {
    await open();
    const sent: string[] = [];
    t.maker.onEvent = (event) => {
      if (event.type !== "tx_confirmed" || event.slot !== "takerPayment" || sent.length > 0) return;
      const coin = t.maker.node.coins.wallet(ETH);
      if (coin?.family !== "account") throw new Error("no account coin");
      const { account } = coin;
      sent.push("asked");
      chain().spike(5n, 3 * HOUR_MS);
      void account.nonces.signNext(
        (nonce) => {
          const signed = signCall(
            account,
            { to: account.address, value: 1n, data: new Uint8Array(0) },
            { bid: { kind: "eip1559", maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI }, gasLimit: 21_000n, nonce },
          );
          sent.push(signed.txid);
          return ok(signed);
        },
        true,
        new AbortController().signal,
      );
    };
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await t.world.runUntil("both end", () => isOver(t, uuid), LIMIT_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    expect(sent).toHaveLength(2);
    await t.world.advance(20 * MINUTE_MS);
    expect(leftovers(t)).toEqual([]);
  },
  TIMEOUT_MS,
);

test.each([2, 20])(
  "%s swaps at once on one account, both ways and of a token: all succeed, and every unit is accounted for",
  async (count) => {
    await open();
    const uuids: string[] = [];
    const pairs: readonly (readonly [Ticker, Ticker])[] = [
      [ETH, TOKEN],
      [TOKEN, ETH],
      [UTXO, TOKEN],
      [ETH, UTXO],
    ];
    for (let i = 0; i < count; i++) {
      const [base, rel] = pairs[i % pairs.length] ?? [ETH, TOKEN];
      const common = { base, rel, price: decimal("0.5"), volume: decimal("4") };
      const offered = await t.world.settle(t.maker.node.orders.placeMakerOrder({ ...common, cancelPrevious: false }));
      if (!offered.ok) throw new Error(offered.error.kind);
      const placed = await t.world.settle(t.taker.node.orders.placeTakerOrder({ ...common, action: "Buy" }));
      if (!placed.ok) throw new Error(placed.error.kind);
      uuids.push(placed.value.uuid);
    }
    await t.world.runUntil("all end", () => uuids.every((uuid) => t.maker.swaps.has(uuid) && isOver(t, uuid)), LIMIT_MS);
    expect(uuids.map((uuid) => outcomes(t, uuid))).toEqual(uuids.map(() => "success success"));
    await audit(t, uuids, before);
  },
  TIMEOUT_MS,
);

test.each([
  [ETH, UTXO, "maker"],
  [UTXO, TOKEN, "taker"],
] as const)(
  "%s for %s: a payment of the %s that misses its window is cancelled at its nonce",
  async (base, rel, who) => {
    await open(15_000);
    onSend(t[who], "payment", ({ txid }) => void chain().held.add(txid));
    expect(await run(base, rel, 4_000_000n)).toBe(who === "maker" ? "cancelled failed" : "refunded cancelled");
  },
  TIMEOUT_MS,
);

test.each([
  [TOKEN, UTXO, "maker"],
  [UTXO, TOKEN, "taker"],
] as const)(
  "%s for %s: a payment of the %s that is reverted because the token was paused ends without loss",
  async (base, rel, who) => {
    await open(15_000);
    const token = chain().tokens.get(TOKEN_AT);
    if (!token) throw new Error("no token");
    onSend(t[who], "payment", () => {
      token.isPaused = true;
      t.world.clock.after(MINUTE_MS, () => {
        token.isPaused = false;
      });
    });
    expect(await run(base, rel, 4_000_000n)).toBe(who === "maker" ? "cancelled failed" : "refunded cancelled");
  },
  TIMEOUT_MS,
);

type Moment = "negotiated" | "tx_received" | "tx_signed";
test.each([
  [ETH, UTXO, "maker", "negotiated", "in a block"],
  [ETH, UTXO, "maker", "tx_received", "in the pool"],
  [UTXO, ETH, "taker", "tx_received", "in a block"],
  [UTXO, TOKEN, "taker", "tx_received", "in the pool"],
  [TOKEN, UTXO, "maker", "tx_received", "in the pool"],
] as const satisfies readonly (readonly [Ticker, Ticker, Role, Moment, string])[])(
  "%s for %s: a %s put back to '%s' while its payment is %s does not pay twice, and trades",
  async (base, rel, who, moment, where) => {
    await open();
    const node = t[who];
    const slot = `${who}Payment`;
    let backup: ReturnType<typeof node.backup> | null = null;
    node.onEvent = (event) => {
      if (event.type === moment && backup === null) backup = node.backup();
    };
    const paid: string[] = [];
    onSend(
      node,
      "payment",
      ({ txid }) => {
        paid.push(txid);
        if (where === "in the pool") chain().held.add(txid);
      },
      "before",
      5,
    );
    const uuid = await match(t, base, rel, "4", "0.5");
    await t.world.runUntil("it has paid", () =>
      node.has(uuid, (e) => e.type === "tx_seen" && e.slot === slot && (where === "in the pool" || e.block !== null)),
    );
    node.crash();
    if (backup === null) throw new Error("no backup");
    await node.restore(await backup);
    expect(node.has(uuid, (e) => e.type === "tx_signed" && e.slot === slot)).toBe(false);
    await node.start(ALL);
    await t.world.advance(MINUTE_MS);
    chain().held.clear();
    expect(await ended(t, uuid, before, 4_000_000n)).toBe("success success");
    expect(paid.length).toBeLessThan(3);
  },
  TIMEOUT_MS,
);

test(
  "a maker put back to before its payment, which is still in the pool, and back too late to pay, takes it back once it is in a block",
  async () => {
    await open(15_000);
    const { maker, taker, world } = t;
    let backup: ReturnType<typeof maker.backup> | null = null;
    maker.onEvent = (event) => {
      if (event.type === "tx_received" && backup === null) backup = maker.backup();
    };
    onSend(maker, "payment", ({ txid }) => void chain().held.add(txid));
    const uuid = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it has paid", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
    for (const node of [maker, taker]) node.crash();
    if (backup === null) throw new Error("no backup");
    await maker.restore(await backup);
    await world.advance(HOUR_MS);
    await maker.start(ALL);
    await world.advance(10 * MINUTE_MS);
    expect(maker.outcome(uuid)).toBeNull();
    chain().held.clear();
    await taker.start(ALL);
    expect(await ended(t, uuid, before)).toBe("refunded failed");
  },
  TIMEOUT_MS,
);

test.each([UTXO, TOKEN] as const)(
  "a maker of %s for an account coin that dies when it has taken the fee and is back a second later pays and trades",
  async (base) => {
    await open();
    t.maker.storeFault = (_uuid, { event }) => (event.type === "tx_received" && event.slot === "fee" ? "crash_after" : undefined);
    const uuid = await match(t, base, ETH, "4", "0.5");
    await t.world.runUntil("the maker dies", () => !t.maker.isRunning);
    t.maker.storeFault = () => undefined;
    await t.world.advance(1_000);
    await t.maker.start(ALL);
    await t.world.runUntil("both end", () => isOver(t, uuid), LIMIT_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    for (const node of [t.maker, t.taker]) expect(node.has(uuid, (e) => e.type === "tx_withdrawn")).toBe(false);
    await audit(t, [uuid], before);
  },
  TIMEOUT_MS,
);
