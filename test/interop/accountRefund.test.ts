import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import type { TestNetwork } from "../e2e/support/network.ts";
import type { NodeLogs } from "../e2e/support/nodeLogs.ts";
import { endedAt, expectChange, swapStatus, type Trade, type Wealth, wealthOf } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { ETH, leapOverLocks, TOKEN, UTXO, withAccountNetwork } from "./support/accountNetwork.ts";

const ALL = [UTXO, ETH, TOKEN];
/** The taker payment is locked for so long, the maker payment for twice as long. Both sides must agree on it. */
const LOCK_SEC = 240;
const config = { swapnode: { profile_overrides: { payment_locktime_sec: LOCK_SEC } } };
/** Each coin is once the maker's and once the taker's. */
const TRADES: readonly Trade[] = [
  { base: UTXO, rel: ETH, price: "0.5", volume: "2", taken: "2", by: "buy" },
  { base: ETH, rel: TOKEN, price: "1.5", volume: "4", taken: "4", by: "buy" },
  { base: TOKEN, rel: UTXO, price: "0.2", volume: "20", taken: "20", by: "buy" },
];

/** Only fees are gone: of the account chain in ETH, and what the coin itself takes. */
function expectOnlyFees(who: string, before: Wealth, after: Wealth, dexFees: Readonly<Record<string, string>> = {}): void {
  expectChange(who, UTXO, before, after, "0", dexFees[UTXO] ?? "0.001");
  expectChange(who, ETH, before, after, "0", dexFees[ETH] ?? "0.01");
  expectChange(who, TOKEN, before, after, "0", dexFees[TOKEN] ?? "0");
}

/** Blocks that one side waits for until the other is gone. */
const LONG_WAIT = 25;

/** Places every trade with so many confirmations of the maker's and of the taker's payments. @returns their uuids */
async function matchAll({ node }: TestNetwork, base_confs: number, rel_confs: number): Promise<readonly string[]> {
  const [maker, taker] = [node("maker"), node("taker")];
  const uuids: string[] = [];
  for (const { base, rel, price, volume } of TRADES) {
    const order = { base, rel, price, volume, base_confs, rel_confs };
    await maker.rpc.call("setprice", order);
    await until("the taker sees the order", async () => {
      const { numasks } = await taker.rpc.call("orderbook", { base, rel });
      return Number(numasks) > 0 ? true : null;
    });
    const { result } = await taker.rpc.call("buy", order);
    uuids.push((result as { uuid: string }).uuid);
  }
  return uuids;
}

/** Resolves as soon as a swap of a node has seen a payment, now or earlier. */
const seen = (logs: NodeLogs, who: string, swap: string, slot: string): Promise<true> =>
  until(`${who} sees the ${slot} of ${swap}`, async () =>
    logs.all(who, { event: "swap_event", swap, type: "tx_seen", slot }).length > 0 ? true : null,
  );

test.skipIf(noAnvil)(`makers whose taker disappears for good get back UTXO, ETH and ERC-20${noAnvilReason}`, async () => {
  await withAccountNetwork({ config }, async (network, anvil) => {
    const { node, logs } = network;
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await wealthOf(maker, ALL);
    const uuids = await matchAll(network, LONG_WAIT, 1);
    await Promise.all(uuids.map((swap) => seen(logs, "maker", swap, "makerPayment")));
    taker.process.kill("SIGKILL");
    for (const uuid of uuids) expect((await swapStatus(maker, uuid)).is_finished).toBe(false);
    await leapOverLocks(network, anvil, LOCK_SEC);
    for (const uuid of uuids) expect(await endedAt(maker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
    expectOnlyFees("the maker", before, await wealthOf(maker, ALL));
  });
});

test.skipIf(noAnvil)(
  `takers whose maker disappears for good get back UTXO, ETH and ERC-20, and so does the maker when it returns too late${noAnvilReason}`,
  async () => {
    await withAccountNetwork({ config }, async (network, anvil) => {
      const { node, logs, kill, revive } = network;
      const [makerBefore, takerBefore] = [await wealthOf(node("maker"), ALL), await wealthOf(node("taker"), ALL)];
      const uuids = await matchAll(network, 1, LONG_WAIT);
      await Promise.all(uuids.map((swap) => seen(logs, "taker", swap, "takerPayment")));
      await kill("maker");
      await leapOverLocks(network, anvil, LOCK_SEC);
      for (const uuid of uuids)
        expect(await endedAt(node("taker"), uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      // A 777th of 1 ETH, 6 tokens and 4 UTXO coins is gone.
      const fees = { [ETH]: "0.0113", [TOKEN]: "0.007723", [UTXO]: "0.0062" };
      expectOnlyFees("the taker", takerBefore, await wealthOf(node("taker"), ALL), fees);
      const returned = await revive("maker");
      for (const uuid of uuids)
        expect(await endedAt(returned, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      expectOnlyFees("the maker", makerBefore, await wealthOf(returned, ALL));
    });
  },
);
