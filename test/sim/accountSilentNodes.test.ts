import { afterEach, expect, test, vi } from "vitest";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { EvmAddress } from "../../src/core/evm/address.ts";
import { decimal } from "../../src/core/money/rational.ts";
import type { SwapEvent } from "../../src/core/swap/events.ts";
import { err } from "../../src/core/util/result.ts";
import type { CallRequest } from "../../src/ports/accountChain.ts";
import { Aborted } from "../../src/ports/clock.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, TOKEN, TOKEN_AT, UTXO } from "./accountTrade.ts";

const SEED = 20_241_130;
const QUARTER_MS = HOUR_MS / 4;
const MONEY = ["fee", "makerPayment", "takerPayment"] as const;
let t: AccountWorld;
afterEach(async () => {
  vi.restoreAllMocks();
  await t.world.close();
});

const isOver = (uuid: string) => (): boolean => t.maker.outcome(uuid) !== null && t.taker.outcome(uuid) !== null;
const has = (node: SimNode, uuid: string, type: SwapEvent["type"], slot: string): boolean =>
  node.has(uuid, (e) => e.type === type && "slot" in e && e.slot === slot);
const isPaid = (uuid: string) => (): boolean => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment" && !!e.block);
async function passes(ms: number): Promise<void> {
  const until = t.world.clock.nowMs() + ms;
  await t.world.runUntil("time passes", () => t.world.clock.nowMs() >= until, 2 * ms);
}

async function startAnew(node: SimNode): Promise<void> {
  await node.stop();
  await node.start(ALL);
  await t.world.runUntil("it has a relay", () => node.p2p.relays().length > 0);
}

const stalled = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Aborted())));

/** From now on the nodes of one side leave some questions without an answer. @returns ends that */
function silence(node: SimNode, isSilent: (request: CallRequest) => boolean, how: "refuse" | "stall" = "refuse"): () => void {
  const honest = SimEvmView.prototype.estimateGas;
  const silent = vi.spyOn(SimEvmView.prototype, "estimateGas").mockImplementation(function (this: SimEvmView, request, signal) {
    const isAsked = this.account(node.account) !== undefined && isSilent(request);
    if (!isAsked) return honest.call(this, request, signal);
    return how === "stall" ? stalled(signal) : Promise.resolve(err({ kind: "Refused", message: "The nodes say: sender is not an EOA." }));
  });
  return () => silent.mockRestore();
}
const isPayout = ({ to }: CallRequest): boolean => to === TOKEN_AT;
/** As nodes that carry out no call whose sender has code. */
const isFromCode = ({ from }: CallRequest): boolean => codes().has(from);
const codes = (): ReadonlySet<EvmAddress> => new Set(t.world.accountChain(ETH).swapContracts);

test("while nodes do not say whether a token would be paid the maker keeps its secret, and claims when they do again", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("the taker has paid", isPaid(uuid), HOUR_MS);
  const speak = silence(t.maker, isPayout);
  await passes(QUARTER_MS);
  expect(has(t.maker, uuid, "tx_confirmed", "takerPayment")).toBe(true);
  expect(has(t.maker, uuid, "tx_signed", "takerPaymentSpend")).toBe(false);
  speak();
  await t.world.runUntil("the swap ends for both", isOver(uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test("where they never say it both sides get their own back", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, UTXO, TOKEN, "4", "0.5");
  await t.world.runUntil("the taker has paid", isPaid(uuid), HOUR_MS);
  silence(t.maker, isFromCode);
  await t.world.runUntil("the swap ends for both", isOver(uuid), 12 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["refunded", "refunded"]);
});

test("a taker whose nodes never say it claims all the same: the secret is public", async () => {
  t = await accountWorld({ seed: SEED });
  const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
  await t.world.runUntil("the taker has paid", isPaid(uuid), HOUR_MS);
  silence(t.taker, isFromCode);
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});

test.each(["refuse", "stall"] as const)(
  "its claim that failed is made a few times while they do not, not once a block: they %s",
  async (how) => {
    t = await accountWorld({ seed: SEED });
    const uuid = await match(t, TOKEN, UTXO, "4", "0.5");
    await t.world.runUntil("the taker has paid", isPaid(uuid), HOUR_MS);
    silence(t.taker, isPayout, how);
    const token = t.world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.isPaused = true;
    await passes(4 * HOUR_MS);
    const claims = t.taker.events(uuid).filter((e) => e.type === "tx_replaced" && e.slot === "makerPaymentSpend").length;
    expect([claims > 0, claims < 8]).toEqual([true, true]);
    token.isPaused = false;
    await t.world.runUntil("the taker has claimed", () => t.taker.outcome(uuid) !== null, 12 * HOUR_MS);
    expect(t.taker.outcome(uuid)).toBe("success");
  },
);

test.each([
  ["maker", UTXO, TOKEN],
  ["taker", TOKEN, UTXO],
] as const)(
  "the nodes of the %s stop carrying out calls from contracts at the match: nothing is paid, not even the dex fee, by who claims a token",
  async (side, base, rel) => {
    t = await accountWorld({ seed: SEED });
    const uuid = await match(t, base, rel, "4", "0.5");
    silence(t[side], isFromCode);
    await t.world.runUntil("the swap ends for both", isOver(uuid), 12 * HOUR_MS);
    for (const slot of MONEY) expect([slot, has(t[side], uuid, "tx_signed", slot)]).toEqual([slot, false]);
  },
);

test.each([
  ["maker", UTXO, TOKEN],
  ["taker", TOKEN, UTXO],
] as const)(
  "with such nodes the %s begins no trade that ends with its claim of a token, and is told which it needs",
  async (side, base, rel) => {
    t = await accountWorld({ seed: SEED });
    silence(t[side], isFromCode);
    await startAnew(t[side]);
    const common = { base, rel, price: decimal("0.5"), volume: decimal("4") };
    const { orders } = t[side].node;
    const refused =
      side === "maker"
        ? await t.world.settle(orders.placeMakerOrder({ ...common, cancelPrevious: false }))
        : await t.world.settle(orders.placeTakerOrder({ ...common, action: "Buy" }));
    expect(refused).toMatchObject({
      ok: false,
      error: {
        kind: "Transport",
        coin: TOKEN,
        message: expect.stringMatching(/would be paid, the nodes do not say: .*not an EOA; enable ETHX with nodes that/),
      },
    });
  },
);

test("an order that was placed before is not matched once they are found to be such", async () => {
  t = await accountWorld({ seed: SEED });
  const common = { base: UTXO, rel: TOKEN, price: decimal("0.5"), volume: decimal("4") };
  const offered = await t.world.settle(t.maker.node.orders.placeMakerOrder({ ...common, cancelPrevious: false }));
  expect(offered.ok).toBe(true);
  const speak = silence(t.maker, isFromCode);
  await passes(QUARTER_MS);
  const placed = await t.world.settle(t.taker.node.orders.placeTakerOrder({ ...common, action: "Buy", orderType: "FillOrKill" }));
  const { uuid } = placed.ok ? placed.value : expect.fail("not placed");
  await passes(60_000);
  expect([t.maker.swaps.has(uuid), t.taker.swaps.has(uuid)]).toEqual([false, false]);
  speak();
  await passes(60_000);
  await match(t, UTXO, TOKEN, "4", "0.5");
});

test.each([
  ["maker", TOKEN, UTXO],
  ["taker", UTXO, TOKEN],
] as const)("who only pays a token needs no such nodes: %s", async (side, base, rel) => {
  t = await accountWorld({ seed: SEED });
  silence(t[side], isFromCode);
  await startAnew(t[side]);
  const uuid = await match(t, base, rel, "4", "0.5");
  await t.world.runUntil("the swap ends for both", isOver(uuid), 2 * HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
});
