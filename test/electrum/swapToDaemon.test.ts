import { afterEach, expect, test } from "vitest";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

const LOCK_SEC = 600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

test("a taker from whom all servers hide the maker's claim starts over a daemon of its own, learns the secret of it at once, long before its own lock", async () => {
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i < 3; i++) servers.push(new ElectrumServer(w.daemon("BBB"), w.clock));
    w.taker.electrum.set("BBB", { servers: servers.map((server, i) => inProcess(`server${i}`, () => server)), options: {} });
  });
  const { maker, taker } = world;
  maker.onEvent = (_uuid, log) => {
    const event = log.at(-1)?.event;
    if (event?.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
    for (const { faults } of servers) faults.add({ kind: "hide", txid: event.txid });
  };
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the maker is paid", async () => (await world.outcome(maker, uuid)) !== null);
  await world.advance(60);
  expect(await world.outcome(taker, uuid)).toBe(null);
  await taker.stop();
  taker.electrum.delete("BBB");
  await taker.restart();
  const startMs = world.clock.nowMs();
  await world.until("the taker knows the secret", async () =>
    (await taker.events(uuid)).some(({ event }) => event.type === "secret_learned"),
  );
  expect(world.clock.nowMs() - startMs).toBeLessThan(60_000);
  await world.until("the taker is done", async () => (await world.outcome(taker, uuid)) !== null);
  expect(await world.outcome(taker, uuid)).toBe("success");
});
