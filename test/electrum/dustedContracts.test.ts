import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import type { PaymentSlot, Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

// Anybody can pay dust to the address of a swap's contract until no server tells its history: ElectrumX refuses some ten thousand
// transactions, the servers here a dozen.

const LIMIT = 12;
const DUST = 1_000n;
const LOCK_SEC = 600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

/** One coin of one side through three servers. */
async function begin(role: Role, ticker: Ticker, options: ElectrumOptions = {}): Promise<SwapSide> {
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i < 3; i++) {
      const server = new ElectrumServer(w.daemon(ticker), w.clock);
      server.faults.add({ kind: "short_histories", lines: LIMIT });
      servers.push(server);
    }
    w.side(role).electrum.set(ticker, { servers: servers.map((server, i) => inProcess(`server${i}`, () => server)), options });
  });
  return world.side(role);
}

/** Pays the contract of a payment until its history is refused; all of it is in the next block. */
function dust(slot: PaymentSlot, state: Awaited<ReturnType<SwapSide["state"]>>): void {
  const ticker = slot === "makerPayment" ? "AAA" : "BBB";
  const script = (world.maker.coins.utxo(ticker) ?? world.taker.coin(ticker)).contractScript(contractOf(state, slot));
  for (let i = 0; i < LIMIT; i++) expect(world.chain(ticker).payFromFaucet(script, DUST).ok).toBe(true);
}

/** Does something once a side has stored an event of a slot. */
function when(owner: SwapSide, type: SwapEvent["type"], slot: Slot | null, act: (uuid: string) => void): void {
  let isDone = false;
  owner.onEvent = (uuid, log) => {
    const event = log.at(-1)?.event;
    if (isDone || event?.type !== type || (slot !== null && !("slot" in event && event.slot === slot))) return;
    isDone = true;
    act(uuid);
  };
}

async function outcomeOf(side: SwapSide, uuid: string): Promise<string | null> {
  await world.until(`the ${side.role} is done`, async () => (await world.outcome(side, uuid)) !== null);
  return world.outcome(side, uuid);
}
const noneDropped = (side: SwapSide, ticker: Ticker): void =>
  expect(
    side
      .coin(ticker)
      .chain.servers()
      .map(({ contradictions }) => contradictions),
  ).toEqual([0, 0, 0]);

describe("the address of a contract is paid until no server tells its history", () => {
  const SEEN: readonly (readonly [what: string, role: Role, ticker: Ticker, slot: PaymentSlot])[] = [
    ["the taker's own payment is there: it learns the secret and claims", "taker", "BBB", "takerPayment"],
    ["the maker's own payment is there: it comes into a block, and is claimed", "maker", "AAA", "makerPayment"],
    ["the maker waits for the taker's payment: it finds it, and claims it", "maker", "BBB", "takerPayment"],
    ["the taker waits for the maker's payment: it finds it, and claims it", "taker", "AAA", "makerPayment"],
  ];
  test.each(SEEN)("once %s", async (_, role, ticker, slot) => {
    const side = await begin(role, ticker);
    const payer = slot === "takerPayment" ? world.taker : world.maker;
    when(payer, "tx_attempted", slot, (uuid) => void payer.state(uuid).then((s) => dust(slot, s)));
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    expect(await outcomeOf(side, uuid)).toBe("success");
    noneDropped(side, ticker);
  });

  test("and so is the own address: the taker finds its own payment and claim, and those of the other side", async () => {
    const taker = await begin("taker", "BBB");
    when(world.taker, "tx_attempted", "takerPayment", (uuid) => {
      for (let i = 0; i < LIMIT; i++) expect(world.chain("BBB").payFromFaucet(taker.script, DUST).ok).toBe(true);
      void world.taker.state(uuid).then((s) => dust("takerPayment", s));
    });
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    expect(await outcomeOf(taker, uuid)).toBe("success");
    noneDropped(taker, "BBB");
  });

  test("and the maker claims while the taker is down: the taker finds the claim in its block after the start, and claims", async () => {
    const taker = await begin("taker", "BBB");
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    await world.until("the taker's payment is deep", async () => (await taker.state(uuid)).facts.takerPayment?.confirmed === true);
    await taker.stop();
    dust("takerPayment", await taker.state(uuid));
    const { maker } = world;
    await world.until("the maker's claim is deep", async () => (await maker.state(uuid)).facts.takerPaymentSpend?.confirmed === true);
    await taker.restart();
    expect(await outcomeOf(taker, uuid)).toBe("success");
    noneDropped(taker, "BBB");
  });

  const SILENT: readonly (readonly [role: Role, ticker: Ticker, slot: PaymentSlot])[] = [
    ["taker", "BBB", "takerPayment"],
    ["maker", "AAA", "makerPayment"],
  ];
  test.each(SILENT)(
    "and the other side is silent from then on: the %s has its payment back, also after a start in between",
    async (role, ticker, slot) => {
      const side = await begin(role, ticker);
      const other = role === "maker" ? world.taker : world.maker;
      const before = side.units(ticker);
      let isPaid = false;
      when(side, "tx_attempted", slot, () => {
        isPaid = true;
      });
      const uuid = await world.start({ lockDurationSec: LOCK_SEC });
      await world.until("it has paid", () => isPaid);
      dust(slot, await side.state(uuid));
      await other.stop();
      await world.until("its payment is deep", async () => (await side.state(uuid)).facts[slot]?.confirmed === true);
      await side.stop();
      await side.restart();
      expect(await outcomeOf(side, uuid)).toBe("refunded");
      expect(before - side.units(ticker)).toBeLessThan(200_000n);
      noneDropped(side, ticker);
      await other.restart();
    },
  );

  test("while the block of the claim is undone and comes again: it is found in both", async () => {
    const taker = await begin("taker", "BBB");
    when(world.taker, "tx_attempted", "takerPayment", (uuid) => void world.taker.state(uuid).then((s) => dust("takerPayment", s)));
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    const spend = async () => (await taker.state(uuid)).facts.takerPaymentSpend;
    await world.until("the claim is in a block", async () => (await spend())?.block != null);
    const before = (await spend())?.block?.hash;
    expect(world.chain("BBB").reorg({ depth: 1, blocks: 2, forget: [] }).ok).toBe(true);
    expect(await outcomeOf(taker, uuid)).toBe("success");
    expect((await spend())?.block?.hash).not.toBe(before);
  });
});

test("a payment is neither signed nor sent to a contract whose address was paid so often before: the swap ends without it", async () => {
  const taker = await begin("taker", "BBB");
  const before = taker.units("BBB");
  when(world.taker, "negotiated", null, (uuid) => void world.taker.state(uuid).then((s) => dust("takerPayment", s)));
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  expect(await outcomeOf(taker, uuid)).toBe("failed");
  expect((await taker.state(uuid)).own.takerPayment).toBeUndefined();
  expect(before - taker.units("BBB")).toBeLessThan(200_000n);
  expect(await outcomeOf(world.maker, uuid)).toBe("refunded");
});

test("a payment that was signed before its contract was paid so often does not leave", async () => {
  const taker = await begin("taker", "BBB");
  when(taker, "tx_signed", "takerPayment", (uuid) => {
    taker.refuse = ({ type }) => (type === "tx_attempted" ? "full" : null);
    void taker.state(uuid).then((s) => dust("takerPayment", s));
  });
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("it is signed", async () => (await taker.state(uuid)).own.takerPayment !== undefined);
  for (let i = 0; i < 3; i++) await world.clock.advance(20_000);
  taker.refuse = () => null;
  expect(await outcomeOf(taker, uuid)).toBe("failed");
  expect((await taker.state(uuid)).own.takerPayment?.attempted ?? false).toBe(false);
});

test("the balance of an own address that no server tells of any more is read from blocks; after a start it is marked as an old one", async () => {
  const taker = await begin("taker", "BBB");
  const pay = (units: bigint): void => expect(world.chain("BBB").payFromFaucet(taker.script, units).ok).toBe(true);
  expect(taker.coin("BBB").oldView()).toBeNull();
  for (let i = 0; i < LIMIT; i++) pay(DUST);
  world.mine("BBB");
  await world.clock.advance(40_000);
  pay(5_000_000n);
  world.mine("BBB");
  await world.clock.advance(40_000);
  const { chain } = taker.coin("BBB");
  expect(chain.outputs(taker.script).map(({ value }) => value)).toContain(5_000_000n);
  expect(taker.coin("BBB").oldView()).toBeNull();
  await taker.stop();
  world.mine("BBB", 2_000);
  await taker.restart();
  await world.clock.advance(40_000);
  expect(taker.coin("BBB").oldView()).toMatchObject({ state: "unreachable" });
});

test.each([
  ["once the refund is found in its block", 0],
  ["nor where the blocks since then are too many to be read", 2_000],
])(
  "a maker's late claim that never left shows no secret where the contract of the taker's payment, which is back, was paid so often: %s",
  async (_, blocks) => {
    const maker = await begin("maker", "BBB");
    const { taker } = world;
    for (const { faults } of servers) faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.transaction.broadcast"] });
    const uuid = await world.start({ lockDurationSec: LOCK_SEC });
    await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
    await maker.stop();
    await world.until("the taker's refund is deep", async () => (await taker.state(uuid)).facts.takerPaymentRefund?.confirmed === true);
    dust("takerPayment", await taker.state(uuid));
    world.mine("BBB", 1 + blocks);
    const before = maker.log.lines.length;
    await maker.restart();
    expect(await outcomeOf(maker, uuid)).toBe("refunded");
    expect(maker.log.lines.slice(before).filter((l) => l.event === "broadcast" && l.fields.coin === "BBB")).toEqual([]);
  },
);
