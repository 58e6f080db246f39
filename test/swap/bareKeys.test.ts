import { afterEach, expect, test, vi } from "vitest";
import type { SwapState } from "../../src/core/swap/swapState.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { p2pkScript } from "../../src/core/utxo/outputScript.ts";
import { pushesOf } from "../../src/core/utxo/script.ts";
import { parseTx, serializeTx } from "../../src/core/utxo/txCodec.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

// Block rewards of a node that mines itself are on its bare key. A signature there names no key, and in the KMD family it covers the value
// of the output, which the other side has to ask for.

let world: SwapWorld;
afterEach(async () => {
  await world.close();
  SwapWorld.backend = "daemon";
});

const KMD = { txversion: 4, overwintered: 1 };

/** A swap whose taker pays its fee from an output of its bare key. @param txIndex whether daemons give the transaction that made it */
async function start(txIndex: boolean): Promise<string> {
  world = new SwapWorld({ coin: KMD, txIndex });
  const { maker, taker } = world;
  expect(world.chain("BBB").payFromFaucet(p2pkScript(taker.key.publicKey), 1_000_000n).ok).toBe(true);
  world.mine("BBB");
  await maker.open();
  await taker.open();
  return world.start();
}

/** How many pushes the input of the fee has: a signature alone is one. */
function feePushes({ own }: SwapState): number | undefined {
  const tx = parseTx(fromHex(own.fee?.raw ?? ""), world.chain("BBB").params.template.format);
  return tx.ok ? pushesOf(tx.value.inputs[0]?.scriptSig ?? new Uint8Array(0))?.length : undefined;
}

test.each(["daemon", "electrum"] as const)(
  "a dex fee from an output of the taker's bare key counts where signatures cover values: %s",
  async (backend) => {
    SwapWorld.backend = backend;
    const uuid = await start(true);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect(feePushes(await world.taker.state(uuid))).toBe(1);
  },
);

test("a fee does not count whose signature cannot be checked for want of the value", async () => {
  const uuid = await start(false);
  const asked = vi.spyOn(world.maker.coin("BBB").chain, "rawTx");
  await world.until("it is over", async () => (await world.outcome(world.maker, uuid)) === "failed", 1_000);
  expect((await world.maker.state(uuid)).abandoned?.reason).toContain("does not have all the transactions whose outputs it spends");
  // However often the taker tells of it: servers count each request for what they do not have.
  expect(asked.mock.calls.length).toBeLessThanOrEqual(9);
});

test("fees that their own bytes rule out have nobody asked for them, nor for what they spend, however many a taker tells of", async () => {
  world = new SwapWorld({ coin: KMD, txIndex: true });
  const { maker, taker } = world;
  expect(world.chain("BBB").payFromFaucet(p2pkScript(taker.key.publicKey), 1_000_000n).ok).toBe(true);
  world.mine("BBB");
  await maker.open();
  await taker.open();
  const heard = world.lose(maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the fee is there", async () => (await taker.state(uuid)).own.fee !== undefined);
  expect(feePushes(await taker.state(uuid))).toBe(1);
  const { chain } = maker.coin("BBB");
  const asked = [vi.spyOn(chain, "rawTx"), vi.fn(async () => false)] as const;
  Object.assign(chain, { isWaiting: asked[1] });
  const fee = fromHex((await taker.state(uuid)).own.fee?.raw ?? "");
  const tx = parseTx(fee, world.chain("BBB").params.template.format);
  const [input, output] = tx.ok ? [tx.value.inputs[0], tx.value.outputs[0]] : [];
  if (!tx.ok || !input || !output) throw new Error("no fee");
  for (let i = 0; i < 30; i++) {
    const short = { ...tx.value, outputs: [{ ...output, value: output.value - 1n - BigInt(i) }] };
    const crowded = { ...tx.value, inputs: Array.from({ length: 21 }, (_, vout) => ({ ...input, vout: vout + i })) };
    for (const made of [short, crowded]) {
      world.inject(taker, maker, uuid, { type: "TakerFee", tx: { data: serializeTx(made) } });
      await world.advance(1);
    }
  }
  expect(asked.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  heard();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("dust that a stranger sends to the taker's bare key does not spoil its fee: makers verify few signatures of bare keys", async () => {
  world = new SwapWorld();
  const { maker, taker } = world;
  for (let i = 0; i < 150; i++) expect(world.chain("BBB").payFromFaucet(p2pkScript(taker.key.publicKey), 900n).ok).toBe(true);
  world.mine("BBB");
  await maker.open();
  await taker.open();
  const uuid = await world.start();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  const fee = parseTx(fromHex((await taker.state(uuid)).own.fee?.raw ?? ""), world.chain("BBB").params.template.format);
  expect(fee.ok && fee.value.inputs.length).toBe(21);
});

test("fees with made-up signatures of a bare key are verified three at once and then rarely, and the right one still counts", async () => {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  const heard = world.lose(maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the fee is there", async () => (await taker.state(uuid)).own.fee !== undefined);
  const verified = vi.spyOn(maker.coin("BBB"), "checkDexFee");
  const tx = parseTx(fromHex((await taker.state(uuid)).own.fee?.raw ?? ""), world.chain("BBB").params.template.format);
  const [input] = tx.ok ? tx.value.inputs : [];
  const signature = pushesOf(input?.scriptSig ?? new Uint8Array(0))?.[0];
  if (!tx.ok || !input || !signature) throw new Error("no fee");
  const bare = { ...input, scriptSig: Uint8Array.of(signature.length, ...signature) };
  for (let i = 0; i < 30; i++) {
    const made = { ...tx.value, inputs: Array.from({ length: 1 + (i % 20) }, (_, vout) => ({ ...bare, vout })), lockTime: i };
    world.inject(taker, maker, uuid, { type: "TakerFee", tx: { data: serializeTx(made) } });
    await world.advance(1);
  }
  expect(verified.mock.calls.length).toBe(3);
  heard();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a payment from outputs of the bare key that the log lacks is found, and not made a second time", async () => {
  world = new SwapWorld({ funds: 1_000n });
  const { maker, taker } = world;
  const bare = p2pkScript(maker.key.publicKey);
  expect(world.chain("AAA").payFromFaucet(bare, 300_000_000n).ok).toBe(true);
  expect(world.chain("AAA").payFromFaucet(bare, 300_000_000n).ok).toBe(true);
  world.mine("AAA");
  world.fund("BBB", taker, 1_000_000_000n);
  await maker.open();
  await taker.open();
  const uuid = await world.start();
  await world.until("it is in a block", async () => (await maker.state(uuid)).facts.makerPayment?.block != null);
  await maker.stop();
  const events = (await maker.events(uuid)).map(({ event }) => event.type);
  const kept = 1 + events.indexOf("tx_received");
  await maker.db.write([{ sql: "DELETE FROM swap_events WHERE uuid = ? AND seq >= ?", params: [uuid, kept] }]);
  await maker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  // One payment of two coins, out of six.
  expect(world.unitsOf("AAA", bare) + maker.units("AAA")).toBeGreaterThan(390_000_000n);
});
