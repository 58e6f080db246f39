import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import type { FaultLimits } from "../../src/chain/faultList.ts";
import { deriveSwapSecret } from "../../src/core/keys/swapSecret.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { pushBytes } from "../../src/core/utxo/script.ts";
import { serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import { inProcess, type LineHooks } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

// All servers that are connected lie together, by leaving out what cannot be proven absent; one that is configured and not connected, the
// last, is honest.

const LAST = 4;
const LOCK_SEC = 600;
/** A quarter of it is an hour. */
const LONG_SEC = 14_400;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

const liars = (): readonly ElectrumServer[] => servers.slice(0, LAST);
const lie = (effect: ElectrumEffect & Partial<FaultLimits>): void => {
  for (const { faults } of liars()) faults.add(effect);
};

/** One coin of one side through five servers, of which it uses two. `last`, `others`: what becomes of the lines of the last one and of the others. */
async function begin(
  role: Role,
  ticker: Ticker,
  options: ElectrumOptions = {},
  last: LineHooks = {},
  others: () => LineHooks = () => ({}),
): Promise<SwapSide> {
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i <= LAST; i++) servers.push(new ElectrumServer(w.daemon(ticker), w.clock));
    w.side(role).electrum.set(ticker, {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i === LAST ? last : others())),
      options: { maxConnected: 2, ...options },
    });
  });
  return world.side(role);
}
/** From now on all that are connected tell of no more blocks. @returns the height of the last */
function stopBlocks(ticker: Ticker): number {
  const chain = world.chain(ticker);
  const last = chain.state.tip.height;
  let lags: (() => void)[] = [];
  chain.onChange(() => {
    const blocks = chain.state.tip.height - last;
    for (const end of lags.splice(0)) end();
    lags = liars().map(({ faults }) => {
      const { id } = faults.add({ kind: "lag", blocks });
      return () => faults.clear(id);
    });
  });
  return last;
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

/** Servers that name a made-up spend of a payment, with 32 bytes that are not its secret, or with it, in every history, as soon as it is forged. */
function forger(height: number): {
  readonly forge: (payment: string, script: Uint8Array, shown?: Uint8Array) => string;
  /** Of one server. */
  readonly hooks: () => LineHooks;
  /** Methods called, each with its first parameter. */
  readonly calls: readonly string[];
} {
  const calls: string[] = [];
  const forged = { txid: "", hex: "" };
  const hooks = (): LineHooks => {
    const asked = new Map<number, string>();
    return {
      asked: (line) => {
        const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: readonly unknown[] };
        asked.set(id, `${method} ${params[0]}`);
        calls.push(`${method} ${params[0]}`);
      },
      answer: (line) => {
        const message = JSON.parse(line) as { id?: number; result?: unknown };
        const call = asked.get(message.id ?? -1) ?? "";
        if (forged.txid === "") return line;
        if (call === `blockchain.transaction.get ${forged.txid}`)
          return JSON.stringify({ jsonrpc: "2.0", id: message.id, result: forged.hex });
        if (call.startsWith("blockchain.scripthash.get_history"))
          message.result = [...(message.result as object[]), { tx_hash: forged.txid, height }];
        if (call.startsWith("blockchain.scripthash.subscribe")) message.result = forged.txid;
        return JSON.stringify(message);
      },
    };
  };
  const forge = (payment: string, script: Uint8Array, shown: Uint8Array = new Uint8Array(32).fill(7)): string => {
    const input = { txid: payment, vout: 0, scriptSig: pushBytes(shown), sequence: 0, witness: [] };
    const tx = { version: 1, inputs: [input], outputs: [{ value: 1_000n, script }], lockTime: 0 };
    Object.assign(forged, { txid: txidOf(tx), hex: toHex(serializeTx(tx)) });
    return forged.txid;
  };
  return { forge, hooks, calls };
}

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
    let stoodAt: number | null = null;
    when(world.maker, "tx_signed", "takerPaymentSpend", (txid) => {
      lie({ kind: "hide", txid });
      stoodAt = stopBlocks("BBB");
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
    const { forge, hooks, calls } = forger(height);
    const taker = await begin("taker", "BBB", {}, hooks());
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    await world.until("the taker has paid", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
    await world.maker.stop();
    const forged = forge((await taker.state(uuid)).own.takerPayment?.txid ?? "", taker.script);
    const [outcome] = await done(taker, uuid);
    expect(outcome).toBe("refunded");
    const events = await taker.events(uuid);
    expect(events.some(({ event }) => event.type === "secret_learned")).toBe(false);
    expect(events.some(({ event }) => event.type === "tx_seen" && event.slot === "takerPaymentSpend")).toBe(false);
    expect(taker.coin("BBB").chain.tx(forged)).toBeUndefined();
    expect(calls).toContain(`blockchain.transaction.get ${forged}`);
    await world.maker.restart();
  },
);

test("all servers it is connected to invent a spend of its payment, in no block and without the secret: the taker takes it back all the same", async () => {
  const { forge, hooks } = forger(0);
  const taker = await begin("taker", "BBB", {}, {}, hooks);
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the taker has paid", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
  await world.maker.stop();
  const forged = forge((await taker.state(uuid)).own.takerPayment?.txid ?? "", taker.script);
  lie({ kind: "swallow_broadcast" });
  await world.until("it is believed", () => taker.coin("BBB").chain.tx(forged) !== undefined);
  const [outcome, tookSec] = await done(taker, uuid);
  expect(outcome).toBe("refunded");
  expect(tookSec).toBeLessThan(2 * LOCK_SEC);
  await world.maker.restart();
});

test("all servers it is connected to refuse the maker's claim, keep it, and invent a spend of the payment: the one that is not gets it, late as it is", async () => {
  const { forge, hooks } = forger(0);
  const maker = await begin("maker", "BBB", {}, {}, hooks);
  const { held } = world.chain("BBB");
  when(world.taker, "tx_signed", "takerPayment", (txid) => held.add(txid));
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  const { startedAt } = (await maker.state(uuid)).terms;
  const limit = startedAt + (LOCK_SEC * 4) / 5;
  await world.advance(limit - 25 - world.clock.nowMs() / 1_000);
  lie({ kind: "error", code: 1, message: "no", methods: ["blockchain.transaction.broadcast"] });
  held.clear();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  const { facts } = await maker.state(uuid);
  forge(facts.takerPayment?.txid ?? "", world.taker.script);
  await world.until("it is late", () => world.clock.nowMs() / 1_000 > limit + 1);
  const isMined = async (): Promise<boolean> =>
    versionsOf((await maker.state(uuid)).own.takerPaymentSpend ?? expect.fail("none")).some(
      ({ txid }) => world.chain("BBB").state.blockOfTx(txid) !== undefined,
    );
  expect(await isMined()).toBe(false);
  await world.advance(startedAt + LOCK_SEC - world.clock.nowMs() / 1_000);
  expect(await isMined()).toBe(true);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a maker that has its own payment back shows the secret in a spend that is in no block: the taker, who was away, takes its own back, too", async () => {
  const { forge, hooks } = forger(0);
  const taker = await begin("taker", "BBB", {}, {}, hooks);
  world.maker.salts.push(5);
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the taker has paid", async () => (await taker.state(uuid)).own.takerPayment?.attempted === true);
  await world.maker.stop();
  await world.until("it is in a block", async () => (await taker.state(uuid)).facts.takerPayment?.block != null);
  await taker.stop();
  const { startedAt } = (await world.maker.state(uuid)).terms;
  await world.advance(LOCK_SEC);
  await world.maker.restart();
  await world.until("the maker has its own back", async () => (await world.outcome(world.maker, uuid)) === "refunded");
  const secret = deriveSwapSecret(world.maker.key.secret, startedAt, 5).reveal();
  forge((await taker.state(uuid)).own.takerPayment?.txid ?? "", taker.script, secret);
  lie({ kind: "swallow_broadcast" });
  await taker.restart();
  const [outcome] = await done(taker, uuid);
  expect(outcome).toBe("refunded");
  expect(await typesOf(taker, uuid)).toContain("secret_learned");
});

describe("all servers it is connected to tell of no more blocks", () => {
  const isBack = async (taker: SwapSide, uuid: string): Promise<boolean> => {
    const { takerPaymentRefund } = (await taker.state(uuid)).own;
    return takerPaymentRefund !== undefined && world.chain("BBB").state.blockOfTx(takerPaymentRefund.txid) !== undefined;
  };

  test.each([
    ["since the taker's payment is in a block", false],
    ["and of none of the taker's payment", true],
  ])("%s: the one that is not gets the refund, an hour after the lock", async (_, isDenied) => {
    const taker = await begin("taker", "BBB");
    const uuid = await world.start({ lockDurationSec: LONG_SEC });
    await world.until("the taker's payment is out", async () => {
      const payment = (await taker.state(uuid)).facts.takerPayment;
      return isDenied ? payment !== undefined : payment?.block != null;
    });
    const stopping = world.maker.stop();
    stopBlocks("BBB");
    lie({ kind: "swallow_broadcast" });
    if (isDenied) lie({ kind: "hide", txid: (await taker.state(uuid)).own.takerPayment?.txid ?? "" });
    await stopping;
    await world.advance(LONG_SEC + 3_300);
    expect((await taker.state(uuid)).own.takerPaymentRefund).toBeUndefined();
    await world.until("the taker has its money back", () => isBack(taker, uuid), 1_200);
    await world.maker.restart();
  });
});

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
