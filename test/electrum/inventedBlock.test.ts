import { afterEach, describe, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { deriveSwapSecret } from "../../src/core/keys/swapSecret.ts";
import type { PaymentSlot, StoredEvent, SwapTerms } from "../../src/core/swap/events.ts";
import { type OwnTx, type SwapState, versionsOf } from "../../src/core/swap/swapState.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { redeemScript } from "../../src/core/utxo/htlc.ts";
import { OP } from "../../src/core/utxo/opcodes.ts";
import { pushBytes } from "../../src/core/utxo/script.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { parseTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { malleate } from "../fakes/malleate.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";
import { type Invented, inventBlock, liarWith } from "./invented.ts";

// A coin whose blocks cost nothing: all connected servers make up a block that spends a payment. One at least that is not connected is honest.

const SERVERS = 5;
/** As many as are connected. */
const FEW = 2;
const LOCK_SEC = 600;
let world: SwapWorld;
let lie: Invented | null = null;
let liars = SERVERS - 1;
let honest: number | null = null;
let connected = FEW;
let coin: object = {};
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  lie = null;
  liars = SERVERS - 1;
  honest = null;
  connected = FEW;
  coin = {};
  for (const server of servers.splice(0)) server.close();
});

/**
 * The taker has a coin through servers of which the first `liars` lie, and has paid. The maker waits. `refund`: of its payment, signed.
 * @param isIn whether it is waited for until the taker's payment is in a block
 */
async function paidThrough(
  ticker: Ticker,
  isIn = true,
  confs = 1,
  lockDurationSec = LOCK_SEC,
): Promise<{ readonly taker: SwapSide; readonly uuid: string; readonly refund: Tx }> {
  world = await SwapWorld.open({ coin }, (w) => {
    for (let i = 0; i < (honest === null ? SERVERS : liars + honest); i++) servers.push(new ElectrumServer(w.daemon(ticker), w.clock));
    w.taker.electrum.set(ticker, {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i < liars ? liarWith(() => lie) : {})),
      options: { maxConnected: connected },
    });
  });
  const { maker, taker } = world;
  maker.refuse = (event) => (event.type === "tx_signed" && event.slot === "takerPaymentSpend" ? "full" : null);
  const uuid = await world.start({ lockDurationSec, confs });
  const isPaid = ({ facts: { takerPayment } }: SwapState): boolean => takerPayment !== undefined && (!isIn || takerPayment.block !== null);
  await world.until("the taker has paid", async () => isPaid(await taker.state(uuid)));
  const state = await taker.state(uuid);
  const payment = fromHex(state.facts.makerPayment?.raw ?? "");
  const built = maker.coin("AAA").buildRefund({ contract: contractOf(state, "makerPayment"), payment });
  const refund = parseTx(built.ok ? built.value.raw : payment, taker.coin("AAA").spec.kind.template.format);
  await maker.stop();
  maker.refuse = () => null;
  return { taker, uuid, refund: refund.ok ? refund.value : expect.fail("no refund") };
}

/** Has the liars show a transaction in a block of theirs, and keep what is sent to them. */
async function show(ticker: Ticker, tx: Tx): Promise<void> {
  world.chain(ticker).autoMine(null);
  lie = inventBlock(world, ticker, tx);
  const { txid } = lie;
  for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
  void world.taker.coin(ticker).chain.refresh();
  await world.until("the block is believed", () => world.taker.coin(ticker).chain.tx(txid)?.block != null);
  world.chain(ticker).autoMine(20_000);
}

/** What spends a payment: unlocks its contract, by a branch, with bytes that nobody signed. */
async function unsigned(taker: SwapSide, uuid: string, slot: PaymentSlot, unlocking: Uint8Array): Promise<Tx> {
  const state = await taker.state(uuid);
  const redeem = redeemScript(contractOf(state, slot));
  const scriptSig = Uint8Array.from([...pushBytes(new Uint8Array(71).fill(0x30)), ...unlocking, ...pushBytes(redeem)]);
  const input = { txid: state.facts[slot]?.txid ?? "", vout: 0, scriptSig, sequence: 0, witness: [] };
  return { version: 1, inputs: [input], outputs: [{ value: 1_000n, script: taker.script }], lockTime: 0 };
}

function txOf(ticker: Ticker, tx: { readonly raw: string } | undefined): Tx {
  const parsed = parseTx(fromHex(tx?.raw ?? ""), world.taker.coin(ticker).spec.kind.template.format);
  return parsed.ok ? parsed.value : expect.fail("no transaction");
}

const isMined = (ticker: Ticker, tx: { readonly txid: string } | undefined): boolean =>
  tx !== undefined && world.chain(ticker).state.blockOfTx(tx.txid) !== undefined;
const isAnyMined = (ticker: Ticker, tx: OwnTx | undefined): boolean => tx !== undefined && versionsOf(tx).some((v) => isMined(ticker, v));

const isBack = async (taker: SwapSide, uuid: string): Promise<boolean> =>
  isAnyMined("BBB", (await taker.state(uuid)).own.takerPaymentRefund);
const isClaimed = async (taker: SwapSide, uuid: string): Promise<boolean> =>
  isAnyMined("AAA", (await taker.state(uuid)).own.makerPaymentSpend);

const REFUND = Uint8Array.of(OP.OP_1);

/** The maker's claim of the taker's payment comes into a block that the liars do not tell of. */
function mineClaim(state: SwapState, { startedAt, secretSalt }: SwapTerms): void {
  const { maker } = world;
  const secret = deriveSwapSecret(maker.key.secret, startedAt, secretSalt ?? expect.fail("no maker")).reveal();
  const payment = fromHex(state.facts.takerPayment?.raw ?? "");
  const claim = maker.coin("BBB").buildClaim({ contract: contractOf(state, "takerPayment"), payment, secret });
  const chain = world.chain("BBB");
  const txs = [txToChainTx(txOf("BBB", claim.ok ? { raw: toHex(claim.value.raw) } : undefined))];
  expect(chain.submit(chain.draft(chain.state.tip, chain.faucetScript, txs, 0n)).ok).toBe(true);
}

test.each([
  ["a refund", REFUND],
  ["a claim without the secret", Uint8Array.from([...pushBytes(new Uint8Array(32).fill(7)), 0])],
  ["neither", new Uint8Array(0)],
])("in it is what looks like %s: the taker's refund goes out all the same, and the swap does not end with it", async (_, unlocking) => {
  const { taker, uuid } = await paidThrough("BBB");
  await show("BBB", await unsigned(taker, uuid, "takerPayment", unlocking));
  await world.until("the taker has its money back", () => isBack(taker, uuid), 3 * 3_600);
  expect((await taker.state(uuid)).finished).toBeNull();
  await world.maker.restart();
});

test.each(["that nobody signed", "that the maker signed before its time"])(
  "in it is a refund of the maker's payment %s: the taker's claim goes out all the same",
  async (what) => {
    const { taker, uuid, refund } = await paidThrough("AAA");
    const isSigned = what.includes("maker signed");
    await show("AAA", isSigned ? refund : await unsigned(taker, uuid, "makerPayment", REFUND));
    await world.maker.restart();
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
  },
);

test("in it is what spends the coins of the taker's payment, signed by nobody: no end of the swap, and the refund goes out", async () => {
  const { taker, uuid } = await paidThrough("BBB", false);
  const [input] = txOf("BBB", (await taker.state(uuid)).own.takerPayment).inputs;
  const inputs = input ? [{ ...input, scriptSig: Uint8Array.from([...input.scriptSig].reverse()) }] : [];
  await show("BBB", { version: 1, inputs, outputs: [{ value: 1_000n, script: taker.script }], lockTime: 0 });
  await world.until("the taker has its money back", () => isBack(taker, uuid), 3 * 3_600);
  expect((await taker.state(uuid)).finished).toBeNull();
  await world.maker.restart();
});

test.each([
  ["also while the taker does not restart", false],
  ["also to those that are visited after a restart of the taker", true],
])("in it is the taker's own claim, which they gave to nobody: others get it, %s, and the swap does not end with it", async (_, isDown) => {
  liars = FEW;
  const { taker, uuid } = await paidThrough("AAA");
  world.chain("AAA").autoMine(null);
  for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
  await world.maker.restart();
  await world.until("the claim leaves", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
  await show("AAA", txOf("AAA", (await taker.state(uuid)).own.makerPaymentSpend));
  if (isDown) await taker.stop();
  expect(await isClaimed(taker, uuid)).toBe(false);
  if (isDown) await taker.restart();
  await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
  expect((await taker.state(uuid)).finished).toBeNull();
});

test("in it is the taker's own claim, which pays too little by then: it is raised all the same, for those that are visited", async () => {
  liars = FEW;
  coin = { segwit: true, bech32_hrp: "tst", relay_policy: "replace" };
  const { taker, uuid } = await paidThrough("AAA");
  const { policy } = world.chain("AAA");
  policy.replacement = true;
  world.chain("AAA").autoMine(null);
  for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
  await world.maker.restart();
  await world.until("the claim leaves", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
  policy.blockFeePerKb = 20_000n;
  await show("AAA", txOf("AAA", (await taker.state(uuid)).own.makerPaymentSpend));
  await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), 2 * LOCK_SEC);
  expect((await taker.state(uuid)).own.makerPaymentSpend?.replaced).not.toHaveLength(0);
});

/** A payment of the same script and value, of coins that do not exist. */
const another = (made: Tx, n: number): Tx => ({ ...made, inputs: made.inputs.map((input) => ({ ...input, txid: `${n}b`.repeat(32) })) });

describe("in it is the maker's payment under another id, of coins that do not exist", () => {
  /** The taker pays for a payment that is in no block. */
  async function begin(): Promise<{ readonly taker: SwapSide; readonly uuid: string; readonly made: Tx }> {
    liars = FEW;
    const { taker, uuid } = await paidThrough("AAA", false, 0);
    const { facts } = await taker.state(uuid);
    expect(isMined("AAA", facts.makerPayment)).toBe(false);
    return { taker, uuid, made: txOf("AAA", facts.makerPayment) };
  }

  test("the taker claims the one it paid against", async () => {
    const { taker, uuid, made } = await begin();
    await show("AAA", another(made, 1));
    await world.maker.restart();
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
  });

  test("and in another block in its place another, again and again: the taker, back from a restart, claims the one it paid against", async () => {
    const { taker, uuid, made } = await begin();
    for (let n = 1; n < 6; n++) await show("AAA", another(made, n));
    await taker.restart();
    await world.maker.restart();
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
    const { own, forms } = await taker.state(uuid);
    expect(forms.makerPayment).toHaveLength(6);
    const spent = (own.makerPaymentSpend ? versionsOf(own.makerPaymentSpend) : []).map((v) => txOf("AAA", v).inputs[0]?.txid);
    expect(new Set(spent).size).toBe(6);
  });

  test("and it moves from block to block: the log does not grow with it, and the taker claims the one it paid against", async () => {
    const { taker, uuid, made } = await begin();
    const before = (await taker.events(uuid)).length;
    const { chain } = taker.coin("AAA");
    const tx = another(made, 1);
    await show("AAA", tx);
    world.chain("AAA").autoMine(null);
    for (let n = 1; n < 80; n++) {
      const former = chain.tx(txidOf(tx))?.block?.hash;
      lie = inventBlock(world, "AAA", tx);
      void chain.refresh();
      await world.until("it is in another block", () => chain.tx(txidOf(tx))?.block?.hash !== former);
      await world.clock.advance(1_000);
    }
    world.chain("AAA").autoMine(20_000);
    const moved = (await taker.events(uuid)).slice(before);
    expect(moved.length).toBeLessThan(60);
    expect(JSON.stringify(moved).length).toBeLessThan(60 * 400);
    await world.maker.restart();
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
  });

  test("and larger than any mempool takes: it is not stored, and the taker claims the one it paid against", async () => {
    const { taker, uuid, made } = await begin();
    const scriptSig = new Uint8Array(400_001);
    const large = { ...another(made, 1), inputs: made.inputs.map((input) => ({ ...input, txid: "1b".repeat(32), scriptSig })) };
    await show("AAA", large);
    await world.clock.advance(120_000);
    expect((await taker.state(uuid)).forms.makerPayment?.map(({ txid }) => txid)).toEqual([txidOf(made)]);
    await world.maker.restart();
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
  });

  test("and the claim of the one it paid against pays too little at first: it is raised like any other", async () => {
    coin = { segwit: true, bech32_hrp: "tst", relay_policy: "replace" };
    const { taker, uuid, made } = await begin();
    const { policy } = world.chain("AAA");
    policy.replacement = true;
    await show("AAA", another(made, 1));
    await world.maker.restart();
    await world.until("the taker knows the secret", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
    policy.blockFeePerKb = 20_000n;
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), 2 * LOCK_SEC);
  });

  test.each(["child", "overpay"])(
    "and the claim of the one it paid against is too cheap to be relayed, policy %s: another is made",
    async (policy) => {
      coin = { relay_policy: policy };
      const { taker, uuid, made } = await begin();
      const chain = world.chain("AAA");
      chain.policy.replacement = false;
      chain.policy.entryFeePerKb = 20_000n;
      await show("AAA", another(made, 1));
      await world.maker.restart();
      await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), 2 * LOCK_SEC);
    },
  );

  test.each(["is connected, too", "is visited"])(
    "and fees rise, where nothing is replaced: a child of the claim of the one it paid against pays for it, and an honest server that %s gets both",
    async (how) => {
      coin = { relay_policy: "child" };
      if (how === "is connected, too") [connected, honest] = [FEW + 1, 1];
      const { taker, uuid, made } = await begin();
      const { policy } = world.chain("AAA");
      [policy.replacement, policy.packages] = [false, true];
      await show("AAA", another(made, 1));
      await world.maker.restart();
      await world.until("the taker knows the secret", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
      policy.blockFeePerKb = 20_000n;
      await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), 2 * LOCK_SEC);
      expect(isAnyMined("AAA", (await taker.state(uuid)).own.claimChild)).toBe(true);
    },
  );

  test("and the child of its claim is in another: those that are visited get the children all the same", async () => {
    coin = { relay_policy: "child" };
    const { taker, uuid, made } = await begin();
    const { policy } = world.chain("AAA");
    [policy.replacement, policy.packages] = [false, true];
    await show("AAA", another(made, 1));
    await world.maker.restart();
    await world.until("the taker knows the secret", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
    policy.blockFeePerKb = 2_000_000n;
    await world.until("a child leaves", async () => (await taker.state(uuid)).own.claimChild?.attempted === true);
    await show("AAA", txOf("AAA", (await taker.state(uuid)).own.claimChild));
    await world.until("the block is seen", async () => (await taker.state(uuid)).facts.claimChild !== undefined);
    await world.clock.advance(60_000);
    expect((await taker.state(uuid)).facts.claimChild?.confirmed).toBe(false);
    policy.blockFeePerKb = 20_000n;
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), 2 * LOCK_SEC);
  });

  test("and an honest server is connected, too: it gets the claim of the one the taker paid against", async () => {
    connected = FEW + 1;
    honest = 1;
    const { taker, uuid, made } = await begin();
    await show("AAA", another(made, 1));
    await world.maker.restart();
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), LOCK_SEC);
  });
});

test("in six blocks in turns are other forms of the maker's payment: a connected server that refused the claim of the one the taker paid against is soon offered it again", async () => {
  liars = FEW;
  connected = FEW + 1;
  honest = 1;
  const { taker, uuid } = await paidThrough("AAA", false, 0);
  const made = txOf("AAA", (await taker.state(uuid)).facts.makerPayment);
  for (let n = 1; n < 7; n++) await show("AAA", another(made, n));
  const { policy } = world.chain("AAA");
  const { entryFeePerKb } = policy;
  policy.entryFeePerKb = 100_000_000n;
  await world.maker.restart();
  await world.until("the claims leave", async () => {
    const claim = (await taker.state(uuid)).own.makerPaymentSpend;
    return claim !== undefined && versionsOf(claim).length >= 7;
  });
  await world.clock.advance(10_000);
  policy.entryFeePerKb = entryFeePerKb;
  await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), 180);
});

test("in it is the taker's own payment under another id: the refund is of the one that left", async () => {
  liars = FEW;
  const { taker, uuid } = await paidThrough("BBB", false);
  const made = txOf("BBB", (await taker.state(uuid)).own.takerPayment);
  const scriptSig = (input: Uint8Array): Uint8Array => Uint8Array.from([1, 7, ...input]);
  await show("BBB", { ...made, inputs: made.inputs.map((input) => ({ ...input, scriptSig: scriptSig(input.scriptSig) })) });
  await world.until("the taker has its money back", () => isBack(taker, uuid), 3 * 3_600);
  await world.maker.restart();
});

test("another comes each hour, and nothing else: the taker has its money back before the maker may have its own", async () => {
  const { taker, uuid } = await paidThrough("BBB", true, 1, 7_200);
  const { tip } = world.chain("BBB").state;
  const nothing = { txid: "11".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
  const outputs = [{ value: 1_000n, script: Uint8Array.of(OP.OP_1) }];
  const makerLock = contractOf(await taker.state(uuid), "makerPayment").lock;
  let dueMs = 0;
  const isBackAt = async (): Promise<boolean> => {
    const nowMs = world.clock.nowMs();
    if (nowMs >= dueMs) {
      dueMs = nowMs + 3_500_000;
      lie = inventBlock(world, "BBB", { version: 1, inputs: [nothing], outputs, lockTime: nowMs % 1_000_000 }, undefined, tip);
      void taker.coin("BBB").chain.refresh();
    }
    return isBack(taker, uuid);
  };
  await world.until("the taker has its money back", isBackAt, makerLock - world.clock.nowMs() / 1_000);
  await world.maker.restart();
});

test("the taker's own payment is there in another form than the one shown: its refund is of that one, too", async () => {
  liars = FEW;
  const { taker, uuid } = await paidThrough("BBB", false);
  const chain = world.chain("BBB");
  chain.autoMine(null);
  const { own } = await taker.state(uuid);
  const made = txOf("BBB", own.takerPayment);
  const other = malleate(made);
  const txs = isMined("BBB", own.fee) ? [other] : [txToChainTx(txOf("BBB", own.fee)), other];
  lie = inventBlock(world, "BBB", made);
  for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
  expect(chain.submit(chain.draft(chain.state.tip, chain.faucetScript, txs, 0n)).ok).toBe(true);
  void taker.coin("BBB").chain.refresh();
  chain.autoMine(20_000);
  await world.until("the taker has its money back", () => isBack(taker, uuid), 3 * 3_600);
  await world.maker.restart();
});

test("none is made up, and one server is away for good: the swap ends when it would without that one, and is watched an hour and a quarter longer", async () => {
  [liars, honest, connected] = [3, 1, 3];
  const { taker, uuid } = await paidThrough("AAA");
  servers[liars]?.faults.add({ kind: "refuse" });
  await world.maker.restart();
  await world.until("its swap ends", async () => (await taker.state(uuid)).finished === "success", 300);
  await world.clock.advance(4_400_000);
  expect(taker.runner.isSettled(uuid)).toBe(false);
  await world.until("it is watched no more", async () => taker.runner.isSettled(uuid), 300);
});

describe("of three that lie, with one other alone that denies it", () => {
  async function begin(ticker: Ticker): Promise<{ readonly taker: SwapSide; readonly uuid: string }> {
    [liars, honest, connected] = [3, 1, 3];
    const begun = await paidThrough(ticker);
    for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
    return begun;
  }

  /** The liars hide the taker's payment, which is in a block, and it cancels that. @returns with it, the last block that they have not made up */
  async function cancelsHidden(): Promise<{
    readonly taker: SwapSide;
    readonly uuid: string;
    readonly tip: Parameters<typeof inventBlock>[4];
  }> {
    [liars, honest, connected] = [3, 1, 3];
    const { taker, uuid } = await paidThrough("BBB", false);
    const { tip } = world.chain("BBB").state;
    const nothing = { txid: "11".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
    const empty = { version: 1, inputs: [nothing], outputs: [{ value: 1_000n, script: Uint8Array.of(OP.OP_1) }], lockTime: 0 };
    lie = inventBlock(world, "BBB", empty, undefined, tip);
    for (const { faults } of servers.slice(0, liars)) faults.add({ kind: "swallow_broadcast" });
    void taker.coin("BBB").chain.refresh();
    await world.until("the cancellation leaves", async () => (await taker.state(uuid)).own.cancel?.attempted === true, 7_200);
    return { taker, uuid, tip };
  }

  test("in it is the taker's own claim, which ends its swap: the other one gets it all the same, before the maker may have its payment back", async () => {
    const { taker, uuid } = await begin("AAA");
    world.chain("AAA").autoMine(null);
    await world.maker.restart();
    await world.until("the claim leaves", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
    await show("AAA", txOf("AAA", (await taker.state(uuid)).own.makerPaymentSpend));
    await world.until("its swap ends", async () => (await taker.state(uuid)).finished === "success");
    expect(await isClaimed(taker, uuid)).toBe(false);
    const { lock } = contractOf(await taker.state(uuid), "makerPayment");
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), lock - world.clock.nowMs() / 1_000);
  });

  test("in it is the taker's own claim, and the other one was silent when the block that ends the swap was asked about: it gets the claim once it is back", async () => {
    const { taker, uuid } = await begin("AAA");
    world.chain("AAA").autoMine(null);
    await world.maker.restart();
    await world.until("the claim leaves", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
    servers[liars]?.faults.add({ kind: "stall" });
    await show("AAA", txOf("AAA", (await taker.state(uuid)).own.makerPaymentSpend));
    await world.until("its swap ends", async () => (await taker.state(uuid)).finished === "success");
    await world.clock.advance(120_000);
    servers[liars]?.faults.clear();
    expect(await isClaimed(taker, uuid)).toBe(false);
    const { lock } = contractOf(await taker.state(uuid), "makerPayment");
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), lock - world.clock.nowMs() / 1_000);
  });

  test("in it is the taker's own refund, which ends its swap: the other one gets it all the same", async () => {
    const { taker, uuid } = await begin("BBB");
    await world.until("the refund leaves", async () => (await taker.state(uuid)).own.takerPaymentRefund?.attempted === true, 7_200);
    await show("BBB", txOf("BBB", (await taker.state(uuid)).own.takerPaymentRefund));
    await world.until("its swap ends", async () => (await taker.state(uuid)).finished === "refunded");
    expect(await isBack(taker, uuid)).toBe(false);
    await world.until("the taker has its money back", () => isBack(taker, uuid), 7_200);
    await world.maker.restart();
  });

  test("in it is the taker's own refund, and the maker mines its claim meanwhile: the taker has the maker's payment by the secret in it", async () => {
    const { taker, uuid } = await begin("BBB");
    await world.until("the refund leaves", async () => (await taker.state(uuid)).own.takerPaymentRefund?.attempted === true, 7_200);
    await show("BBB", txOf("BBB", (await taker.state(uuid)).own.takerPaymentRefund));
    await world.maker.restart(["BBB"]);
    mineClaim(await taker.state(uuid), (await world.maker.state(uuid)).terms);
    await world.until("its swap ends", async () => (await taker.state(uuid)).finished === "refunded");
    const { lock } = contractOf(await taker.state(uuid), "makerPayment");
    await world.until("the taker has the maker's payment", () => isClaimed(taker, uuid), lock - world.clock.nowMs() / 1_000);
    await world.until("its swap says so", async () => (await taker.state(uuid)).finished === "success");
    const isTakenBack = ({ event }: StoredEvent): boolean => event.type === "tx_withdrawn" && event.slot === "takerPaymentRefund";
    expect((await taker.events(uuid)).filter(isTakenBack)).toHaveLength(1);
    await world.maker.restart();
  });

  test("in it is what cancels the taker's own payment, which they hide: its refund goes to the other one all the same", async () => {
    const { taker, uuid, tip } = await cancelsHidden();
    expect(isMined("BBB", (await taker.state(uuid)).own.takerPayment)).toBe(true);
    lie = inventBlock(world, "BBB", txOf("BBB", (await taker.state(uuid)).own.cancel), undefined, tip);
    void taker.coin("BBB").chain.refresh();
    await world.until("the taker has its money back", () => isBack(taker, uuid), 4 * 3_600);
    await world.maker.restart();
  });

  test("in it is what cancels the taker's own payment, and the other one was silent when asked: the payment is refunded once it is back", async () => {
    const { taker, uuid, tip } = await cancelsHidden();
    servers[liars]?.faults.add({ kind: "stall" });
    lie = inventBlock(world, "BBB", txOf("BBB", (await taker.state(uuid)).own.cancel), undefined, tip);
    void taker.coin("BBB").chain.refresh();
    await world.until("its swap ends", async () => (await taker.state(uuid)).finished === "cancelled");
    servers[liars]?.faults.clear();
    await world.until("the taker has its money back", () => isBack(taker, uuid), 4 * 3_600);
    await world.maker.restart();
  });
});
