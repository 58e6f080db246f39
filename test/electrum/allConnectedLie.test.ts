import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { pushBytes } from "../../src/core/utxo/script.ts";
import { serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import { inProcess, type LineHooks } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

// All servers that are connected lie together, by leaving out what cannot be proven absent; one that is configured and not connected, the
// last, is honest.

const LAST = 4;
const LOCK_SEC = 600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

const liars = (): readonly ElectrumServer[] => servers.slice(0, LAST);
const lie = (effect: ElectrumEffect): void => {
  for (const { faults } of liars()) faults.add(effect);
};

/** One coin of one side through five servers, of which it uses two. `last`: what becomes of the lines of the last one. */
async function begin(role: Role, ticker: Ticker, options: ElectrumOptions = {}, last: LineHooks = {}): Promise<SwapSide> {
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i <= LAST; i++) servers.push(new ElectrumServer(w.daemon(ticker), w.clock));
    w.side(role).electrum.set(ticker, {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i === LAST ? last : {})),
      options: { maxConnected: 2, ...options },
    });
  });
  return world.side(role);
}
function when(owner: SwapSide, type: SwapEvent["type"], slot: Slot, act: (txid: string) => void): void {
  owner.onEvent = (_uuid, log) => {
    const event = log.at(-1)?.event;
    if (event?.type === type && "slot" in event && event.slot === slot && "txid" in event) act(event.txid);
  };
}
/** Runs until a side is done. @returns its outcome and how long it took, seconds */
async function done(side: SwapSide, uuid: string): Promise<readonly [string | null, number]> {
  const startMs = world.clock.nowMs();
  await world.until(`the ${side.role} is done`, async () => (await world.outcome(side, uuid)) !== null);
  return [await world.outcome(side, uuid), (world.clock.nowMs() - startMs) / 1_000];
}
const typesOf = async (side: SwapSide, uuid: string): Promise<readonly string[]> =>
  (await side.events(uuid)).map(({ event }) => event.type);

describe("the maker's claim is kept from the taker by all servers it is connected to", () => {
  test.each([
    ["and is in no block until the taker has claimed", true],
    ["and is in a block soon", false],
  ])("%s: the taker learns the secret from the one that is not connected, and claims before its own lock", async (_, isHeld) => {
    const taker = await begin("taker", "BBB");
    when(world.maker, "tx_signed", "takerPaymentSpend", (txid) => {
      lie({ kind: "hide", txid });
      if (isHeld) world.chain("BBB").held.add(txid);
    });
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    const [outcome, tookSec] = await done(taker, uuid);
    expect(outcome).toBe("success");
    expect(tookSec).toBeLessThan(LOCK_SEC);
    const status = (await taker.status(uuid)) as { events: { event: { type: string } }[] };
    expect(status.events.map(({ event }) => event.type)).toContain("TakerPaymentSpent");
  });

  test("and they tell of no more blocks: the secret counts though the block it is in is not known", async () => {
    const taker = await begin("taker", "BBB");
    const chain = world.chain("BBB");
    let stoodAt: number | null = null;
    when(world.maker, "tx_signed", "takerPaymentSpend", (txid) => {
      lie({ kind: "hide", txid });
      stoodAt = chain.state.tip.height;
    });
    let lags: (() => void)[] = [];
    chain.onChange(() => {
      const blocks = stoodAt === null ? 0 : chain.state.tip.height - stoodAt;
      for (const end of lags.splice(0)) end();
      if (blocks > 0)
        lags = liars()
          .map(({ faults }) => faults.add({ kind: "lag", blocks }).id)
          .map((id, i) => () => liars()[i]?.faults.clear(id));
    });
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    const [outcome, tookSec] = await done(taker, uuid);
    expect(outcome).toBe("success");
    expect(tookSec).toBeLessThan(LOCK_SEC);
    expect(taker.coin("BBB").chain.status().tip?.height).toBe(stoodAt);
  });

  test("and fewer than must be connected are left: the one that is there is not believed, and what it proves counts all the same", async () => {
    const taker = await begin("taker", "BBB", { maxConnected: 5, minConnected: 3 });
    when(world.maker, "tx_signed", "takerPaymentSpend", () => lie({ kind: "refuse" }));
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    const [outcome, tookSec] = await done(taker, uuid);
    expect(outcome).toBe("success");
    expect(tookSec).toBeLessThan(LOCK_SEC);
    expect(taker.coin("BBB").chain.status().state).toBe("unreachable");
  });

  test("and one of two that are connected shows it alone: its word does not count, the secret does", async () => {
    const taker = await begin("taker", "BBB", { maxConnected: 5 });
    when(world.maker, "tx_signed", "takerPaymentSpend", (txid) => {
      lie({ kind: "hide", txid });
      world.chain("BBB").held.add(txid);
    });
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    await world.until("the maker's claim is out", async () => (await world.maker.state(uuid)).facts.takerPaymentSpend !== undefined);
    await world.advance(10);
    expect(await typesOf(taker, uuid)).toContain("secret_learned");
  });
});

test.each([
  ["the taker's payment is kept from the maker", "maker", "BBB", "taker", "takerPayment"],
  ["the maker's own claim, which is in a block, is kept from it", "maker", "BBB", "maker", "takerPaymentSpend"],
  ["the maker's payment is kept from the taker", "taker", "AAA", "maker", "makerPayment"],
  ["the taker's own claim, which is in a block, is kept from it", "taker", "AAA", "taker", "makerPaymentSpend"],
] as const)(
  "%s by all servers it is connected to: the one that is not proves it, and the swap goes on",
  async (_, role, ticker, owner, slot) => {
    const side = await begin(role, ticker);
    when(world.side(owner), "tx_signed", slot, (txid) => lie({ kind: "hide", txid }));
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    const [outcome, tookSec] = await done(side, uuid);
    expect(outcome).toBe("success");
    expect(tookSec).toBeLessThan(LOCK_SEC);
  },
);

test.each([
  ["maker", "BBB", "takerPaymentSpend"],
  ["taker", "AAA", "makerPaymentSpend"],
] as const)(
  "the %s's claim is taken by all servers it is connected to, who give it to nobody: the one that is not gets it too",
  async (role, ticker, slot) => {
    const side = await begin(role, ticker);
    when(side, "tx_signed", slot, () => lie({ kind: "swallow_broadcast" }));
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    const [outcome, tookSec] = await done(side, uuid);
    expect(outcome).toBe("success");
    expect(tookSec).toBeLessThan(LOCK_SEC);
  },
);

test.each([
  ["in the mempool", 0],
  ["in a block", 30],
])(
  "one that lies alone shows a claim %s with 32 bytes that are not the secret: nothing of it counts, and the refund comes in time",
  async (_, height) => {
    const asked = new Map<number, readonly [string, unknown]>();
    const forged = { txid: "", hex: "" };
    const answer = (line: string): string => {
      const message = JSON.parse(line) as { id?: number; result?: unknown; error?: unknown };
      const [method, param] = asked.get(message.id ?? -1) ?? [];
      if (forged.txid === "") return line;
      if (method === "blockchain.scripthash.get_history")
        message.result = [...(message.result as object[]), { tx_hash: forged.txid, height }];
      if (method === "blockchain.transaction.get" && param === forged.txid)
        return JSON.stringify({ jsonrpc: "2.0", id: message.id, result: forged.hex });
      return JSON.stringify(message);
    };
    const taker = await begin(
      "taker",
      "BBB",
      {},
      {
        asked: (line) => {
          const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: readonly unknown[] };
          asked.set(id, [method, params[0]]);
        },
        answer,
      },
    );
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    await world.until("the taker has paid", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
    await world.maker.stop();
    const payment = (await taker.state(uuid)).own.takerPayment?.txid ?? "";
    const input = { txid: payment, vout: 0, scriptSig: pushBytes(new Uint8Array(32).fill(7)), sequence: 0, witness: [] };
    const tx = { version: 1, inputs: [input], outputs: [{ value: 1_000n, script: taker.script }], lockTime: 0 };
    Object.assign(forged, { txid: txidOf(tx), hex: toHex(serializeTx(tx)) });
    const [outcome] = await done(taker, uuid);
    expect(outcome).toBe("refunded");
    const events = await taker.events(uuid);
    expect(events.some(({ event }) => event.type === "secret_learned")).toBe(false);
    expect(events.some(({ event }) => event.type === "tx_seen" && event.slot === "takerPaymentSpend")).toBe(false);
    expect(taker.coin("BBB").chain.tx(forged.txid)).toBeUndefined();
    expect([...asked.values()]).toContainEqual(["blockchain.transaction.get", forged.txid]);
    await world.maker.restart();
  },
);

test("once a swap is over nobody who is not connected is asked about it", async () => {
  const asked: string[] = [];
  const taker = await begin("taker", "BBB", {}, { asked: (line) => void asked.push(line) });
  when(world.maker, "tx_signed", "takerPaymentSpend", (txid) => world.chain("BBB").held.add(txid));
  when(taker, "tx_signed", "makerPaymentSpend", (txid) => world.chain("AAA").held.add(txid));
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the last one was visited", () => asked.some((line) => line.includes("get_history")));
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).held.clear();
  await done(taker, uuid);
  asked.length = 0;
  await world.advance(3_600);
  expect(asked).toEqual([]);
});
