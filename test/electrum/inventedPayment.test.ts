import { afterEach, expect, test } from "vitest";
import type { ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { contractOf, unitsOf } from "../../src/app/swap/contracts.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import type { PaymentSlot, Role } from "../../src/core/swap/events.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";
import { type Invented, inventBlock, liarWith } from "./invented.ts";

// A coin whose blocks cost nothing: all connected servers make up a block with the other side's payment. Those that are not connected are honest.

const LIARS = 2;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

/** One coin of one side through `LIARS` servers that lie and so many honest ones, of which the liars are connected. */
async function begin(
  role: Role,
  ticker: Ticker,
  honest: number,
  invented: () => Invented | null,
  options: ElectrumOptions = {},
): Promise<SwapSide> {
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i < LIARS + honest; i++) servers.push(new ElectrumServer(w.daemon(ticker), w.clock));
    w.side(role).electrum.set(ticker, {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i < LIARS ? liarWith(invented) : {})),
      options: { maxConnected: LIARS, ...options },
    });
  });
  return world.side(role);
}

/** The other side's payment, or another value, of coins that do not exist, in a block that nobody mined. */
async function inventPayment(
  side: SwapSide,
  uuid: string,
  slot: PaymentSlot,
  ticker: Ticker,
  units?: bigint,
  bits?: number,
): Promise<Invented> {
  const state = await side.state(uuid);
  const script = side.coin(ticker).contractScript(contractOf(state, slot));
  const input = { txid: "ab".repeat(32), vout: 0, scriptSig: new Uint8Array(100), sequence: 0xffffffff, witness: [] };
  const outputs = [{ value: units ?? unitsOf(state, slot), script }];
  const lie = inventBlock(world, ticker, { version: 1, inputs: [input], outputs, lockTime: 0 }, bits);
  world.chain(ticker).autoMine(null);
  return lie;
}

/** One hash of 512 fits it. */
const DEARER = 0x1f7fffff;

test.each([
  ["", {}, undefined],
  [", in a block whose work counts as costly, after others whose work does not", { costlyWork: 100n }, DEARER],
])("a taker does not pay for a payment that only connected servers show%s", async (_, options, bits) => {
  let lie: Invented | null = null;
  const taker = await begin("taker", "AAA", 3, () => lie, options);
  world.maker.refuse = ({ type }) => (type === "tx_signed" ? "full" : null);
  const uuid = await world.start();
  await world.until("the fee leaves", async () => (await taker.state(uuid)).own.fee?.attempted === true);
  await world.maker.stop();
  lie = await inventPayment(taker, uuid, "makerPayment", "AAA", undefined, bits);
  void taker.coin("AAA").chain.refresh();
  await world.until("the payment is believed", async () => (await taker.state(uuid)).facts.makerPayment?.confirmed === true);
  await world.until("the taker is done", async () => (await world.outcome(taker, uuid)) !== null, 30_000);
  expect(await world.outcome(taker, uuid)).toBe("failed");
  const { own, abandoned } = await taker.state(uuid);
  expect(own.takerPayment).toBeUndefined();
  expect(JSON.stringify(abandoned)).toContain("is shown by 2 connected servers and not by server");
  await world.maker.restart();
});

test("a taker does not pay for a payment that only made-up blocks make deep enough", async () => {
  let lie: Invented | null = null;
  const taker = await begin("taker", "AAA", 3, () => lie);
  const uuid = await world.start({ confs: 2 });
  await world.until("the maker's payment is in a block", async () => (await taker.state(uuid)).facts.makerPayment?.block != null);
  lie = await inventPayment(taker, uuid, "makerPayment", "AAA", 1n);
  void taker.coin("AAA").chain.refresh();
  await world.until("it is believed to be deep", async () => (await taker.state(uuid)).facts.makerPayment?.confirmed === true);
  await world.until("the taker is done", async () => (await world.outcome(taker, uuid)) !== null, 30_000);
  expect(await world.outcome(taker, uuid)).toBe("failed");
  const { own, abandoned } = await taker.state(uuid);
  expect(own.takerPayment).toBeUndefined();
  expect(JSON.stringify(abandoned)).toContain("is shown by 2 connected servers and not by server");
});

test("a maker does not show its secret for a payment that only connected servers show, and takes its own back", async () => {
  let lie: Invented | null = null;
  const maker = await begin("maker", "BBB", 1, () => lie);
  world.taker.refuse = (event) => (event.type === "tx_signed" && event.slot === "takerPayment" ? "full" : null);
  const uuid = await world.start({ lockDurationSec: 600 });
  await world.until("the maker's payment leaves", async () => (await maker.state(uuid)).own.makerPayment?.attempted === true);
  await world.taker.stop();
  lie = await inventPayment(maker, uuid, "takerPayment", "BBB");
  void maker.coin("BBB").chain.refresh();
  await world.until("the payment is believed", async () => (await maker.state(uuid)).facts.takerPayment?.confirmed === true);
  await world.until("the maker is done", async () => (await world.outcome(maker, uuid)) !== null, 30_000);
  expect(await world.outcome(maker, uuid)).toBe("refunded");
  expect((await maker.state(uuid)).own.takerPaymentSpend).toBeUndefined();
  await world.taker.restart();
});
