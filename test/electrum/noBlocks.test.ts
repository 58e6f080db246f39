import { afterEach, expect, test } from "vitest";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld } from "../fakes/swapWorld.ts";

// A chain that makes no blocks for hours after the lock, and everybody honest.

const LOCK_SEC = 14_400;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

/** A taker whose maker has left, and whose chain rests since its payment is in a block. */
async function begin(
  isElectrum: boolean,
  coin: Record<string, unknown> = {},
): Promise<{ readonly taker: SwapSide; readonly uuid: string }> {
  world = await SwapWorld.open({ coin }, (w) => {
    if (!isElectrum) return;
    for (let i = 0; i < 3; i++) servers.push(new ElectrumServer(w.daemon("BBB"), w.clock));
    w.taker.electrum.set("BBB", { servers: servers.map((server, i) => inProcess(`server${i}`, () => server)), options: {} });
  });
  const { taker } = world;
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the taker has paid", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
  await world.maker.stop();
  await world.until("it is in a block", async () => (await taker.state(uuid)).facts.takerPayment?.block != null);
  world.chain("BBB").autoMine(null);
  return { taker, uuid };
}

async function end(taker: SwapSide, uuid: string): Promise<void> {
  world.chain("BBB").autoMine(20_000);
  await world.until("the taker is done", async () => (await world.outcome(taker, uuid)) !== null);
  expect(await world.outcome(taker, uuid)).toBe("refunded");
  await world.maker.restart();
}

test("seen through servers: the refund is offered an hour after the lock, that it is refused makes it no dearer, and it is paid once there are blocks", async () => {
  const { taker, uuid } = await begin(true);
  await world.advance(LOCK_SEC + 3_000);
  expect((await taker.state(uuid)).refund).toBeNull();
  await world.advance(3 * 3_600);
  const first = (await taker.state(uuid)).own.takerPaymentRefund;
  expect(first).toMatchObject({ attempted: true });
  expect(first?.replaced).toBeUndefined();
  // No block has left out what none could take.
  expect(first?.height).toBeUndefined();
  expect(taker.log.lines.some(({ fields }) => JSON.stringify(fields).includes("takerPaymentRefund rejected"))).toBe(true);
  await end(taker, uuid);
  expect((await taker.state(uuid)).facts.takerPaymentRefund?.txid).toBe(first?.txid);
});

test("seen through a daemon of one's own: the refund waits for the chain's time, and the swap for the refund", async () => {
  const { taker, uuid } = await begin(false);
  await world.advance(LOCK_SEC + 4 * 3_600);
  const { own, refund } = await taker.state(uuid);
  expect([own.takerPaymentRefund, refund]).toEqual([undefined, null]);
  await end(taker, uuid);
});

test("a refund signed before its time pays more with each block that leaves it out once it is final", async () => {
  const { taker, uuid } = await begin(true, { segwit: true, bech32_hrp: "tst", relay_policy: "replace" });
  const chain = world.chain("BBB");
  const paid = async (): Promise<number> => Number((await taker.state(uuid)).own.takerPaymentRefund?.fee);
  taker.onEvent = (_uuid, log) => {
    const event = log.at(-1)?.event;
    if ((event?.type === "tx_signed" || event?.type === "tx_replaced") && event.slot === "takerPaymentRefund") chain.held.add(event.txid);
  };
  await world.advance(LOCK_SEC + 4 * 3_600);
  const before = await paid();
  chain.autoMine(20_000);
  await world.advance(900);
  // Time alone raises it to 64 times the going fee, blocks that leave it out far beyond.
  expect(await paid()).toBeGreaterThan(2 * before);
  chain.held.clear();
  await end(taker, uuid);
});
