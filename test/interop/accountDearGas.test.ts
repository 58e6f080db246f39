import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import type { LogLine, NodeLogs } from "../e2e/support/nodeLogs.ts";
import { ended, endedAt, expectChange, expectTraded, match, sidesOf, wealthOf } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { type AnvilChain, ETH, leapOverLocks, TOKEN, UTXO, withAccountNetwork } from "./support/accountNetwork.ts";

const ALL = [UTXO, ETH, TOKEN];
/** Base fee and tip of a crowded chain, gwei each: a bid for it is thirty times the usual one, of which the tip alone is 1. */
const DEAR = 10;
/** Beyond the eightfold price that is reserved for a payment. */
const FAR_TOO_DEAR = 40;
/** What any of these swaps pays for gas at such prices. */
const GAS = "0.1";
/** Blocks after which nothing of a crowd is left in what the nodes bid by. */
const QUIET_BLOCKS = 11;
const LOOK_MS = 250;
/** A payment's time is up after half a minute here, and an approval is left alone for as long. */
const STEP_MS = 120_000;

const of = (logs: NodeLogs, who: string, swap: string, type: string, slot: string): readonly LogLine[] =>
  logs.all(who, { event: "swap_event", swap, type, slot });

/** Resolves when a swap has stored this of a transaction. `meanwhile` is done again and again before. */
function stored(
  logs: NodeLogs,
  [who, type, slot]: readonly [string, string, string],
  swap: string,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<string> {
  const look = async (): Promise<string | null> => {
    const line = of(logs, who, swap, type, slot).at(-1);
    if (line) return String(line.txid);
    await meanwhile();
    return null;
  };
  return until(`${who}: ${type} ${slot}`, look, STEP_MS, LOOK_MS);
}

type ChainTx = { readonly nonce: string; readonly blockNumber: string | null };
const txOf = async (anvil: AnvilChain, txid: string): Promise<ChainTx | null> =>
  (await anvil.call("eth_getTransactionByHash", `0x${txid.replace(/^0x/, "")}`)) as ChainTx | null;

/** The chain gets crowded while a transaction of a swap is in its pool: fails unless another one with its nonce gets into a block. */
async function expectReplaced(anvil: AnvilChain, logs: NodeLogs, who: string, swap: string, slot: string): Promise<void> {
  const first = await stored(logs, [who, "tx_seen", slot], swap);
  const waiting = await txOf(anvil, first);
  expect(waiting, `${slot} of ${who} waits`).toMatchObject({ blockNumber: null });
  await anvil.crowd(DEAR);
  expect(await txOf(anvil, first), `${slot} of ${who} waits still`).toMatchObject({ blockNumber: null });
  await stored(logs, [who, "tx_confirmed", slot], swap, () => anvil.crowd(DEAR));
  expect(await txOf(anvil, first)).toBeNull();
  const versions = of(logs, who, swap, "tx_replaced", slot).map((line) => String(line.txid));
  const mined = await Promise.all(versions.map((txid) => txOf(anvil, txid)));
  expect(mined.filter((tx) => tx !== null && tx.blockNumber !== null).map((tx) => tx?.nonce)).toEqual([waiting?.nonce]);
}

test.skipIf(noAnvil)(
  `gas leaps to thirty times its price while the maker's claim waits: another one at its nonce is mined, and the taker's bids enough at once${noAnvilReason}`,
  async () => {
    await withAccountNetwork({}, async ({ node, logs }, anvil) => {
      const trade = { base: ETH, rel: TOKEN, price: "1.5", volume: "4", taken: "4", by: "buy" } as const;
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      await anvil.pause(true);
      const uuid = await match(maker, taker, trade);
      await stored(logs, ["taker", "tx_signed", "takerPayment"], uuid, () => anvil.mine());
      const payment = await stored(logs, ["taker", "tx_seen", "takerPayment"], uuid);
      if ((await txOf(anvil, payment))?.blockNumber === null) await anvil.mine();
      await expectReplaced(anvil, logs, "maker", uuid, "takerPaymentSpend");
      await stored(logs, ["taker", "tx_confirmed", "makerPaymentSpend"], uuid, () => anvil.crowd(DEAR));
      expect(of(logs, "taker", uuid, "tx_replaced", "makerPaymentSpend")).toEqual([]);
      await anvil.pause(false);
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(trade, before, await sidesOf(maker, taker, ALL), GAS);
    });
  },
);

const LOCK_SEC = 240;
/** Blocks that the maker waits for until it is gone. */
const LONG_WAIT = 25;

test.skipIf(noAnvil)(
  `gas leaps to thirty times its price while a taker's refunds of ETH and ERC-20 wait: others at their nonces are mined${noAnvilReason}`,
  async () => {
    const config = { swapnode: { profile_overrides: { payment_locktime_sec: LOCK_SEC } } };
    await withAccountNetwork({ config }, async (network, anvil) => {
      const { node, logs, kill } = network;
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await wealthOf(taker, ALL);
      const uuids: string[] = [];
      for (const rel of [ETH, TOKEN]) {
        const order = { base: UTXO, rel, price: "2", volume: "2", base_confs: 1, rel_confs: LONG_WAIT };
        await maker.rpc.call("setprice", order);
        await until("the taker sees the order", async () => {
          const { numasks } = await taker.rpc.call("orderbook", { base: UTXO, rel });
          return Number(numasks) > 0 ? true : null;
        });
        uuids.push(((await taker.rpc.call("buy", order)).result as { uuid: string }).uuid);
      }
      for (const uuid of uuids) await stored(logs, ["taker", "tx_seen", "takerPayment"], uuid);
      await kill("maker");
      await anvil.pause(true);
      await leapOverLocks(network, anvil, LOCK_SEC);
      for (const uuid of uuids) await stored(logs, ["taker", "tx_seen", "takerPaymentRefund"], uuid);
      const replaced = uuids.map((uuid) => expectReplaced(anvil, logs, "taker", uuid, "takerPaymentRefund"));
      await Promise.all(replaced);
      await anvil.pause(false);
      for (const uuid of uuids) expect(await endedAt(taker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      const after = await wealthOf(taker, ALL);
      // A 777th of 4 ETH and of 4 tokens is gone.
      expectChange("the taker", UTXO, before, after, "0", "0");
      expectChange("the taker", ETH, before, after, "-0.005", GAS);
      expectChange("the taker", TOKEN, before, after, "-0.005", "0.001");
    });
  },
);

test.skipIf(noAnvil)(
  `a payment that no block takes before its time is up is cancelled at its nonce, and nobody pays but fees${noAnvilReason}`,
  async () => {
    const config = { swapnode: { profile_overrides: { payment_locktime_sec: 60 } } };
    await withAccountNetwork({ config }, async ({ node, logs }, anvil) => {
      const trade = { base: ETH, rel: UTXO, price: "0.5", volume: "4", taken: "4", by: "buy" } as const;
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      await anvil.pause(true);
      const uuid = await match(maker, taker, trade);
      const payment = await stored(logs, ["maker", "tx_seen", "makerPayment"], uuid);
      const waiting = await txOf(anvil, payment);
      await stored(logs, ["maker", "tx_confirmed", "cancel"], uuid, () => anvil.crowd(FAR_TOO_DEAR));
      const cancel = of(logs, "maker", uuid, "tx_confirmed", "cancel").map((line) => String(line.txid));
      expect(await txOf(anvil, cancel.at(-1) ?? "")).toMatchObject({ nonce: waiting?.nonce });
      expect(await txOf(anvil, payment)).toBeNull();
      await anvil.pause(false);
      expect(await endedAt(maker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "cancelled" } });
      expect(await endedAt(taker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "failed" } });
      const after = await sidesOf(maker, taker, ALL);
      expectChange("the maker", ETH, before.maker, after.maker, "0", GAS);
      expectChange("the maker", UTXO, before.maker, after.maker, "0", "0");
      expectChange("the taker", ETH, before.taker, after.taker, "0", "0");
      // The dex fee is gone.
      expectChange("the taker", UTXO, before.taker, after.taker, "-0.00257400", "0.001");
    });
  },
);

test.skipIf(noAnvil)(
  `an approval that no block takes is raised at its nonce, and the payment after it, whose id is fixed, is mined as it is when the crowd has gone${noAnvilReason}`,
  async () => {
    await withAccountNetwork({}, async ({ node, logs }, anvil) => {
      const trade = { base: TOKEN, rel: UTXO, price: "0.2", volume: "20", taken: "20", by: "buy" } as const;
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      const own = maker.addresses[ETH] ?? "";
      const nonces = async (block: string): Promise<number> => Number(await anvil.call("eth_getTransactionCount", own, block));
      await anvil.pause(true);
      const mined = await nonces("latest");
      const uuid = await match(maker, taker, trade);
      await until("the approval waits", async () => ((await nonces("pending")) > mined ? true : null));
      const look = async (): Promise<true | null> => {
        if ((await nonces("latest")) > mined) return true;
        await anvil.crowd(DEAR);
        return null;
      };
      await until("the approval is in a block", look, STEP_MS, 1_000);
      expect(logs.all("maker", { event: "sent_dearer", nonce: String(mined) }).length).toBeGreaterThan(0);
      // Gas costs more than is reserved for a payment: it waits for the crowd to go.
      expect(of(logs, "maker", uuid, "tx_signed", "makerPayment")).toEqual([]);
      await anvil.mine(QUIET_BLOCKS);
      const payment = await stored(logs, ["maker", "tx_seen", "makerPayment"], uuid);
      for (let i = 0; i < QUIET_BLOCKS; i++) await anvil.crowd(FAR_TOO_DEAR);
      expect(await txOf(anvil, payment)).toMatchObject({ blockNumber: null });
      await anvil.pause(false);
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expect(await txOf(anvil, payment)).toMatchObject({ nonce: `0x${(mined + 1).toString(16)}` });
      expectTraded(trade, before, await sidesOf(maker, taker, ALL), GAS);
    });
  },
);
