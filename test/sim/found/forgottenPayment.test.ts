import { expect, test } from "vitest";
import { Watch } from "../../../sim/run/watch.ts";
import { HOUR_MS } from "../../../sim/world/simWorld.ts";
import { txToChainTx } from "../../../src/chain/chainTx.ts";
import { fromHex } from "../../../src/core/util/bytes.ts";
import { parseTx } from "../../../src/core/utxo/txCodec.ts";
import { txidOf } from "../audit.ts";
import { BASE, buy, COINS, match, offer, tradingWorld } from "../trade.ts";

// `npm run sim -- --seeds 40-40 --orders 470`: a maker was put back to before a swap; a reorganisation undid its payment of that
// swap, and every mempool forgot it. The output it had spent was free by all that anybody could tell, and paid for the next swap.
test.each([
  ["nobody has any trace of it: the output serves the next swap, which succeeds", false],
  ["it is back in the mempools when the output is spent again: that breaks a rule", true],
])("a maker put back to before a swap has forgotten its payment, and %s", async (_what, isBack) => {
  const t = await tradingWorld({ seed: 40 });
  const { world, maker, taker } = t;
  const { chain } = world.chain(BASE);
  const watch = new Watch(world);
  for (const node of [maker, taker]) {
    node.onStored = (batch) => watch.onStored(node.name, batch);
    node.onBroadcast = (ticker, when, raw) => {
      if (when !== "before") return;
      if (isBack && node === maker && old !== null && raw !== old) returnToMempool(old);
      watch.onBroadcast(node.name, ticker, raw);
    };
  }
  let old = null as string | null;
  const returnToMempool = (raw: string): void => {
    const tx = parseTx(fromHex(raw), chain.params.template.format);
    if (!tx.ok || !chain.mempool.accept(txToChainTx(tx.value)).ok) throw new Error("it is refused");
  };
  chain.autoMine(null);
  const copy = await maker.backup();
  const first = await match(t, "4", "0.5");
  await world.runUntil("the maker has paid", () => maker.events(first).some((e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  const paid = maker.events(first).find((e) => e.type === "tx_signed" && e.slot === "makerPayment");
  maker.crash();
  taker.crash();
  await world.advance(1);
  watch.onRestored(maker.name, await maker.restore(copy));
  chain.mempool.graph.clear();
  chain.autoMine(60_000);
  old = paid?.type === "tx_signed" ? paid.raw : null;
  await maker.start(COINS);
  const other = world.addNode("other");
  for (const coin of COINS) world.fund(other, coin, 1_000n * 100_000_000n);
  await other.start(COINS);
  await world.runUntil("it has a relay", () => other.p2p.relays().length > 0);
  await offer(world, maker, "4", "0.5");
  const uuid = await buy(world, other, "4", "0.5");
  const isPaid = (): boolean => txidOf(maker, uuid, "makerPayment") !== undefined && maker.outcome(uuid) !== null;
  await world.runUntil("the next swap ends", isPaid, 6 * HOUR_MS);
  expect(watch.violations.map((v) => v.rule)).toEqual(isBack ? ["one output"] : []);
  expect(maker.outcome(uuid)).toBe(isBack ? "cancelled" : "success");
  await world.close();
});
