import { afterEach, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";
import { type Invented, inventBlock, liarWith } from "./invented.ts";

// All servers but one, which is not connected, take the taker's payment and give it to nobody, for the maker to have it mined when that
// has its own payment back.

const SERVERS = 5;
const CONNECTED = 2;
const LOCK_SEC = 3_600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

test.each([
  ["nothing else", false, false],
  ["the connected show it in a block of theirs", true, false],
  ["the honest one takes none until its time is over", false, true],
  ["the connected show it in a block of theirs, and the honest one takes none until its time is over", true, true],
])("%s: it, or what undoes it, is in a block before the maker may have its own payment back", async (_, isInvented, isBusy) => {
  let invented: Invented | null = null;
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i < SERVERS; i++) servers.push(new ElectrumServer(w.daemon("BBB"), w.clock));
    // The others that keep it do not show the block: they would be witnesses of it.
    const hooks = (i: number) => (i < CONNECTED ? liarWith(() => invented) : {});
    w.taker.electrum.set("BBB", {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, hooks(i))),
      options: { maxConnected: CONNECTED },
    });
  });
  const { maker, taker } = world;
  const chain = world.chain("BBB");
  const last = servers.at(-1)?.faults;
  const busy = { kind: "error", code: -1, message: "busy", methods: ["blockchain.transaction.broadcast"] } as const;
  const fault = isBusy ? last?.add(busy) : undefined;
  let stopping = Promise.resolve();
  taker.onEvent = (_uuid, log) => {
    const event = log.at(-1)?.event;
    if (event?.type !== "tx_signed" || event.slot !== "takerPayment") return;
    for (const { faults } of servers.slice(0, -1)) faults.add({ kind: "swallow_broadcast" });
    stopping = maker.stop();
  };
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the taker has paid", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
  await stopping;
  const state = await taker.state(uuid);
  const tx = parseTx(fromHex(state.own.takerPayment?.raw ?? ""), taker.coin("BBB").spec.kind.template.format);
  if (isInvented) invented = inventBlock(world, "BBB", tx.ok ? tx.value : expect.fail("no transaction"));
  void taker.coin("BBB").chain.refresh();
  if (isBusy) await world.advance(state.terms.startedAt + 0.8 * LOCK_SEC + 60 - world.clock.nowMs() / 1_000);
  if (fault) last?.clear(fault.id);
  const isMined = (txid = ""): boolean => chain.state.blockOfTx(txid) !== undefined;
  const isDone = async (): Promise<boolean> => {
    const { takerPayment, cancel } = (await taker.state(uuid)).own;
    return isMined(takerPayment?.txid) || isMined(cancel?.txid);
  };
  await world.until("one of them is", isDone, contractOf(state, "makerPayment").lock - world.clock.nowMs() / 1_000);
  expect(isMined(state.own.takerPayment?.txid)).toBe(!isBusy);
  await maker.restart();
});
