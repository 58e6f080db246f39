import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import { ended, expectTraded, match, sidesOf } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { ETH, TOKEN, UTXO, withAccountNetwork } from "./support/accountNetwork.ts";
import { type Lie, type SwitchedProxy, startSwitchedProxy } from "./support/switchedProxy.ts";

const ALL = [UTXO, ETH, TOKEN];
/** Gas of a swap stays below it; what the pairs here do not trade does not change but by gas. */
const GAS = "0.01";
const OUTAGE_BLOCKS = 6;

/** Starts the nodes' ways to anvil, so many, and takes them down afterwards. @param lies of the first of them */
async function withProxies(
  count: number,
  work: (proxies: readonly SwitchedProxy[], urls: (url: string) => string[]) => Promise<void>,
  lies: readonly Lie[] = [],
): Promise<void> {
  let target = "http://127.0.0.1:1";
  const proxies: SwitchedProxy[] = [];
  try {
    for (let i = 0; i < count; i++) proxies.push(await startSwitchedProxy(() => target, lies[i]));
    await work(proxies, (url) => {
      target = url;
      return proxies.map((proxy) => proxy.url);
    });
  } finally {
    for (const proxy of proxies) await proxy.close();
  }
}

const TRADE = { base: UTXO, rel: ETH, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;

test.skipIf(noAnvil)(
  `one of two RPC nodes is gone for good in the middle of a swap: the other carries it to its end${noAnvilReason}`,
  async () => {
    await withProxies(2, async ([lost, left], urls) => {
      await withAccountNetwork({ urls }, async ({ node, logs }) => {
        const [maker, taker] = [node("maker"), node("taker")];
        const before = await sidesOf(maker, taker, ALL);
        const paying = logs.next("taker", { event: "swap_event", type: "tx_attempted", slot: "takerPayment" }, () => lost?.on(false));
        const uuid = await match(maker, taker, TRADE);
        await paying;
        const asked = left?.answered() ?? 0;
        const done = await ended(maker, taker, uuid);
        expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
        expect(left?.answered()).toBeGreaterThan(asked);
        expectTraded(TRADE, before, await sidesOf(maker, taker, ALL), GAS);
      });
    });
  },
);

test.skipIf(noAnvil)(`the only RPC node is away for a while as the maker claims: both finish when it is back${noAnvilReason}`, async () => {
  await withProxies(1, async ([only], urls) => {
    await withAccountNetwork({ urls }, async ({ node, logs }, anvil) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      const claiming = logs.next("maker", { event: "swap_event", type: "tx_signed", slot: "takerPaymentSpend" }, () => only?.on(false));
      const uuid = await match(maker, taker, TRADE);
      await claiming;
      const heightOf = async (): Promise<number> => Number(await anvil.call("eth_blockNumber"));
      const height = await heightOf();
      await until("blocks went by", async () => ((await heightOf()) >= height + OUTAGE_BLOCKS ? true : null));
      only?.on(true);
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(TRADE, before, await sidesOf(maker, taker, ALL), GAS);
    });
  });
});

test.skipIf(noAnvil)(
  `of five RPC nodes one lies about contracts, nonces and gas and one stays at an old block: the others carry a swap, and nobody pays more${noAnvilReason}`,
  async () => {
    let lied = 0;
    const liar: Lie = (method, _params, result) => {
      const told = ((): unknown => {
        if (method === "eth_getTransactionCount" || method === "eth_gasPrice") return "0xffffffffff";
        // Of a payment: that it is another, or has been spent. Of a token: another balance.
        return method === "eth_call" ? String(result).replace(/1$/, "2").replace(/0$/, "7") : result;
      })();
      if (told !== result) lied++;
      return told;
    };
    let old: unknown = null;
    const laggard: Lie = (method, [block], result) => {
      if (method !== "eth_getBlockByNumber" || block !== "latest") return result;
      old ??= result;
      return old;
    };
    const work = async (_: readonly SwitchedProxy[], urls: (url: string) => string[]): Promise<void> => {
      await withAccountNetwork({ urls }, async ({ node }) => {
        const [maker, taker] = [node("maker"), node("taker")];
        const before = await sidesOf(maker, taker, ALL);
        const done = await ended(maker, taker, await match(maker, taker, TRADE));
        expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
        expectTraded(TRADE, before, await sidesOf(maker, taker, ALL), GAS);
      });
    };
    await withProxies(5, work, [liar, laggard]);
    // How often it is asked depends on how long it rests after each lie that was found out, by the real clock: some thirty times as a rule.
    expect([lied > 5, old !== null]).toEqual([true, true]);
  },
);

for (const slot of ["makerPayment", "takerPayment"] as const) {
  const trade = slot === "makerPayment" ? { ...TRADE, base: ETH, rel: UTXO } : TRADE;
  test.skipIf(noAnvil)(`the block with the ${slot} is taken out of the account chain, and the swap ends well${noAnvilReason}`, async () => {
    await withAccountNetwork({}, async ({ node, logs }, anvil) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      const waits = slot === "makerPayment" ? "taker" : "maker";
      const confirmed = logs.next(waits, { event: "swap_event", type: "tx_confirmed", slot });
      const uuid = await match(maker, taker, trade);
      await anvil.reorg(Number((await confirmed).height));
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(trade, before, await sidesOf(maker, taker, ALL), GAS);
    });
  });
}
