import { expect, test } from "vitest";
import type { Devnet } from "../../src/devnet/devnet.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended, expectTraded, match, sidesOf } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string, backend: string) => ({ name, backend, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const pair = (maker: string, taker: string) =>
  topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("maker", maker), funded("taker", taker)] });
const TRADE = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;
const BACK = { base: "MARTY", rel: "DOC", price: "2", volume: "3", taken: "3", by: "sell" } as const;

/** What one of the three servers over each chain does from now on; over one chain alone where it is named. */
async function misbehave(net: Devnet, server: number, fault: object, only?: string): Promise<void> {
  for (const coin of BOTH)
    if (only === undefined || coin === only) await net.chains.get(coin)?.daemon.call("chain_electrumFault", [{ server, ...fault }]);
}

test("one node on Electrum servers and one on the daemon swap in both directions", async () => {
  await withNetwork(pair("electrum", "daemon"), async ({ node }) => {
    const [onServers, onDaemon] = [node("maker"), node("taker")];
    for (const { maker, taker, trade } of [
      { maker: onServers, taker: onDaemon, trade: TRADE },
      { maker: onDaemon, taker: onServers, trade: BACK },
      { maker: onDaemon, taker: onServers, trade: TRADE },
    ]) {
      const before = await sidesOf(maker, taker, BOTH);
      const uuid = await match(maker, taker, trade);
      const done = await ended(maker, taker, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(trade, before, await sidesOf(maker, taker, BOTH));
    }
    const { result } = await onServers.rpc.call("my_tx_history", { coin: "DOC", limit: 100 });
    const history = result as { transactions: { my_balance_change: string }[]; total: number; sync_status: object };
    expect(history.sync_status).toEqual({ state: "Finished" });
    // The faucet's payment, the payment to the taker, what the third swap brought and the two legs of the second at least.
    expect(history.total).toBeGreaterThanOrEqual(5);
    const sum = history.transactions.reduce((n, t) => n + Number(t.my_balance_change), 0);
    const { balance } = await onServers.rpc.call("my_balance", { coin: "DOC" });
    expect(sum).toBeCloseTo(Number(balance), 6);
  });
});

test("both on Electrum: a server that lies from the start and one that goes away in the middle change nothing", async () => {
  await withNetwork(pair("electrum", "electrum"), async ({ net, node, logs }) => {
    await misbehave(net, 0, { kind: "false_branch" });
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await sidesOf(maker, taker, BOTH);
    const gone = logs.next("taker", { type: "tx_attempted", slot: "takerPayment" }, () => void misbehave(net, 1, { kind: "refuse" }));
    const uuid = await match(maker, taker, TRADE);
    await gone;
    const done = await ended(maker, taker, uuid);
    expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
    await misbehave(net, 0, { kind: "clear" });
    await misbehave(net, 1, { kind: "clear" });
    expectTraded(TRADE, before, await sidesOf(maker, taker, BOTH));
  });
});

for (const [who, slot] of [
  ["maker", "makerPayment"],
  ["taker", "takerPayment"],
] as const) {
  test(`both on Electrum: a ${who} killed as it sends its payment finishes the swap after it is started again`, async () => {
    await withNetwork(pair("electrum", "electrum"), async ({ node, logs, revive }) => {
      const before = await sidesOf(node("maker"), node("taker"), BOTH);
      const victim = node(who);
      const dying = logs.next(who, { type: "tx_attempted", slot }, () => victim.process.kill("SIGKILL"));
      const uuid = await match(node("maker"), node("taker"), TRADE);
      await dying;
      expect(await victim.process.exited).toBe("SIGKILL");
      await revive(who);
      const done = await ended(node("maker"), node("taker"), uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(TRADE, before, await sidesOf(node("maker"), node("taker"), BOTH));
    });
  });
}

test("with autostart_coins a maker killed in the middle is back by itself, over its servers, and finishes the swap", async () => {
  const config = { swapnode: { autostart_coins: true } };
  const nodes = [{ name: "seed", seed: true }, { ...funded("maker", "electrum"), config }, funded("taker", "daemon")];
  await withNetwork(topologyOf({ block_time_s: 0.5, nodes }), async ({ net, node, logs, kill }) => {
    const before = await sidesOf(node("maker"), node("taker"), BOTH);
    const paid = logs.next("maker", { type: "tx_attempted", slot: "makerPayment" });
    const uuid = await match(node("maker"), node("taker"), TRADE);
    await paid;
    await kill("maker");
    await net.restart("maker");
    const done = await ended(node("maker"), node("taker"), uuid);
    expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
    expectTraded(TRADE, before, await sidesOf(node("maker"), node("taker"), BOTH));
  });
});
