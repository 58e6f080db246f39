import { afterEach, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";
import { type Invented, inventBlock, liarWith } from "./invented.ts";

// All connected servers show a branch that cost nothing, on which neither the own payment is nor anything that it spends, and keep what they are given.

const CONNECTED = 2;
const LOCK_SEC = 3_600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

test("a maker's swap ends as failed then, and its refund is given to who is visited all the same", async () => {
  let invented: Invented | null = null;
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i <= CONNECTED; i++) servers.push(new ElectrumServer(w.daemon("AAA"), w.clock));
    w.maker.electrum.set("AAA", {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i < CONNECTED ? liarWith(() => invented) : {})),
      options: { maxConnected: CONNECTED },
    });
  });
  const { maker, taker } = world;
  const chain = world.chain("AAA");
  taker.refuse = (event) => (event.type === "tx_signed" && event.slot === "takerPayment" ? "full" : null);
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the maker has paid", async () => (await maker.state(uuid)).facts.makerPayment?.confirmed === true);
  await taker.stop();
  const input = { txid: "ab".repeat(32), vout: 0, scriptSig: new Uint8Array(100), sequence: 0xffffffff, witness: [] };
  const outputs = [{ value: 1n, script: Uint8Array.of(0x51) }];
  const on = chain.state.at(100) ?? expect.fail("no such block");
  invented = inventBlock(world, "AAA", { version: 1, inputs: [input], outputs, lockTime: 0 }, undefined, on);
  for (const { faults } of servers.slice(0, CONNECTED)) faults.add({ kind: "swallow_broadcast" });
  void maker.coin("AAA").chain.refresh();
  const { lock } = contractOf(await maker.state(uuid), "makerPayment");
  const isBack = async (): Promise<boolean> => {
    const { txid = "" } = (await maker.state(uuid)).own.makerPaymentRefund ?? {};
    return chain.state.blockOfTx(txid) !== undefined;
  };
  await world.advance(lock + 3_600 - world.clock.nowMs() / 1_000);
  await world.until("it has its payment back", isBack, 3_600);
  expect(await world.outcome(maker, uuid)).toBe("failed");
  await taker.restart();
});
