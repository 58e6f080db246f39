import { afterEach, expect, test, vi } from "vitest";
import { HOUR_MS } from "../../../sim/world/simWorld.ts";
import { heldFee, onSend, refuse } from "../accountMeddling.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, UTXO } from "../accountTrade.ts";

const SEED = 20_241_124;
const LIMIT_MS = 180_000;
let t: AccountWorld;
afterEach(async () => {
  vi.restoreAllMocks();
  await t.world.close();
});

const chain = () => t.world.accountChain(ETH);
const used = (): bigint => chain().nonceOf(t.taker.account);
const swap = (): Promise<string> => match(t, UTXO, ETH, "4", "0.5");
const ends = (uuid: string) => [t.maker.outcome(uuid), t.taker.outcome(uuid)];
const bothEnd = (uuid: string, hours: number): Promise<void> =>
  t.world.runUntil("both end", () => ends(uuid).every((end) => end !== null), hours * HOUR_MS);
const signs = (uuid: string, slot: string): boolean => t.taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === slot);

async function goesOn(): Promise<void> {
  const next = await swap();
  await bothEnd(next, 2);
  expect(ends(next)).toEqual(["success", "success"]);
}

test(
  "a dex fee that no node ever takes holds up its account until its swap has failed; then its nonce is filled, and swaps go on",
  async () => {
    t = await accountWorld({ seed: SEED });
    let fee: string | null = null;
    onSend(t.taker, "fee", ({ txid }) => {
      fee ??= txid;
    });
    refuse((txid) => txid === fee);
    const first = await swap();
    await t.world.runUntil("the taker gives up", () => t.taker.outcome(first) !== null, 2 * HOUR_MS);
    expect([t.taker.outcome(first), used()]).toEqual(["failed", 0n]);
    await t.world.runUntil("the swap is settled", () => t.taker.node.swaps.isSettled(first), HOUR_MS / 2);
    expect(used()).toBe(1n);
    await bothEnd(first, 2);
    await goesOn();
  },
  LIMIT_MS,
);

test(
  "a dex fee that all nodes forget and refuse with the payment behind it out: it is given up once the payment is taken back, and swaps go on",
  async () => {
    t = await accountWorld({ seed: SEED });
    const { forget } = heldFee(t);
    const uuid = await swap();
    await t.world.runUntil("it has paid", () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
    forget();
    await t.world.runUntil("it takes the payment back", () => signs(uuid, "cancel"), 3 * HOUR_MS);
    // Until then the maker could have gone on: nothing else has the fee's nonce.
    expect([used(), chain().pool.pending(t.taker.account)]).toEqual([0n, []]);
    await t.world.runUntil("it is back", () => t.taker.outcome(uuid) !== null, HOUR_MS / 2);
    expect([t.taker.outcome(uuid), used()]).toEqual(["cancelled", 2n]);
    await goesOn();
    await t.world.runUntil("the swap is settled", () => t.taker.node.swaps.isSettled(uuid), HOUR_MS);
  },
  LIMIT_MS,
);

test(
  "a dex fee that pools keep and nobody mines holds up other swaps for ten minutes after its own has failed",
  async () => {
    t = await accountWorld({ seed: SEED });
    heldFee(t);
    t.taker.onEvent = (event) => {
      if (event.type === "tx_signed" && event.slot === "fee") t.maker.crash();
    };
    const uuid = await swap();
    await t.world.runUntil("it comes to nothing", () => t.taker.outcome(uuid) !== null, HOUR_MS);
    t.taker.onEvent = () => undefined;
    expect(t.taker.outcome(uuid)).toBe("failed");
    await t.maker.start(ALL);
    await t.world.advance(HOUR_MS / 2);
    // Nothing waits for it.
    expect(used()).toBe(0n);
    await goesOn();
    await t.world.runUntil("the swap is settled", () => t.taker.node.swaps.isSettled(uuid), HOUR_MS);
  },
  LIMIT_MS,
);
