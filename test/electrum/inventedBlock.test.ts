import { afterEach, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { redeemScript } from "../../src/core/utxo/htlc.ts";
import { OP } from "../../src/core/utxo/opcodes.ts";
import { pushBytes } from "../../src/core/utxo/script.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld } from "../fakes/swapWorld.ts";
import { type Invented, inventBlock, liarWith } from "./invented.ts";

// A coin whose blocks cost nothing: all connected servers make up a block that spends the taker's payment. One that is not connected is honest.

const LAST = 4;
const LOCK_SEC = 600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

/** What spends the taker's payment in the invented block: unlocks its contract, by a branch, with bytes that nobody signed. */
async function invent(taker: SwapSide, uuid: string, unlocking: Uint8Array): Promise<Invented> {
  const state = await taker.state(uuid);
  const redeem = redeemScript(contractOf(state, "takerPayment"));
  const scriptSig = Uint8Array.from([...pushBytes(new Uint8Array(71).fill(0x30)), ...unlocking, ...pushBytes(redeem)]);
  const input = { txid: state.own.takerPayment?.txid ?? "", vout: 0, scriptSig, sequence: 0, witness: [] };
  return inventBlock(world, "BBB", { version: 1, inputs: [input], outputs: [{ value: 1_000n, script: taker.script }], lockTime: 0 });
}

test.each([
  ["a refund", Uint8Array.of(OP.OP_1)],
  ["a claim without the secret", Uint8Array.from([...pushBytes(new Uint8Array(32).fill(7)), 0])],
  ["neither", new Uint8Array(0)],
])("in it is what looks like %s: the taker's refund goes out all the same, and the swap does not end with it", async (_, unlocking) => {
  let lie: Invented | null = null;
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i <= LAST; i++) servers.push(new ElectrumServer(w.daemon("BBB"), w.clock));
    w.taker.electrum.set("BBB", {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i === LAST ? {} : liarWith(() => lie))),
      options: { maxConnected: 2 },
    });
  });
  const { taker } = world;
  const chain = world.chain("BBB");
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the taker's payment is in a block", async () => (await taker.state(uuid)).facts.takerPayment?.block != null);
  await world.maker.stop();
  chain.autoMine(null);
  lie = await invent(taker, uuid, unlocking);
  const { txid } = lie;
  for (const { faults } of servers.slice(0, LAST)) faults.add({ kind: "swallow_broadcast" });
  await world.until("the block is believed", () => taker.coin("BBB").chain.tx(txid)?.block != null);
  chain.autoMine(20_000);
  const isBack = async (): Promise<boolean> => {
    const { takerPaymentRefund } = (await taker.state(uuid)).own;
    return takerPaymentRefund !== undefined && chain.state.blockOfTx(takerPaymentRefund.txid) !== undefined;
  };
  await world.until("the taker has its money back", isBack, 3 * 3_600);
  expect((await taker.state(uuid)).finished).toBeNull();
  await world.maker.restart();
});
