import { afterAll, describe, expect, test } from "vitest";
import { between, happens, pick } from "../../sim/run/dice.ts";
import { EvmLink } from "../../sim/world/evm/evmLink.ts";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import { Life } from "../../sim/world/life.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { parseSwapCall, type SwapCall } from "../../src/core/evm/swapContract.ts";
import { equalBytes, toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { type Rng, randomBelow } from "../../src/ports/rng.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { bid, type Deal, ETHER, EvmTable, GWEI, type Party, PLAIN, SECRET, type Sending, SILENT, SWAP } from "./evmTable.ts";

const SEED = Number(process.env.SIM_SEED ?? 20_261_122);
const RUNS = 10;
const STEPS = 200;

type Paid = {
  readonly call: SwapCall & { readonly kind: "ethPayment" | "erc20Payment" };
  readonly from: EvmAddress;
  readonly amount: bigint;
  end: string | null;
};

/** Reads the blocks alone, by the rules of the contract, and says what must be there after them. */
function replay({ chain }: EvmTable) {
  const wei = new Map<string, bigint>();
  const nonces = new Map<string, bigint>();
  const payments = new Map<string, Paid>();
  let fees = 0n;
  const add = (to: string, value: bigint): void => void wei.set(to, (wei.get(to) ?? 0n) + value);
  for (let height = 0; height <= chain.tip.height; height++) {
    const block = chain.at(height) ?? expect.fail("no block");
    for (const { signed, receipt } of block.txs) {
      const { tx, from } = signed;
      expect(tx.nonce).toBe(nonces.get(from) ?? 0n);
      nonces.set(from, tx.nonce + 1n);
      const fee = receipt.gasUsed * (receipt.effectiveGasPrice ?? 0n);
      expect(receipt.gasUsed <= tx.gasLimit && (receipt.effectiveGasPrice ?? 0n) >= block.baseFee).toBe(true);
      fees += fee;
      add(from, -fee);
      if (!receipt.succeeded) continue;
      add(from, -tx.value);
      add(tx.to ?? "", tx.value);
      const call = tx.to === SWAP ? parseSwapCall(tx.data) : null;
      if (call?.ok) applied(call.value, from, tx.value, block.timeSec);
    }
  }
  function applied(call: SwapCall, from: EvmAddress, value: bigint, timeSec: number): void {
    const id = toHex(call.id);
    const paid = payments.get(id);
    if (call.kind === "ethPayment" || call.kind === "erc20Payment") {
      expect(paid).toBeUndefined();
      payments.set(id, { call, from, amount: call.kind === "ethPayment" ? value : call.amount, end: null });
      return;
    }
    if (paid === undefined) expect.fail("ended without a beginning");
    expect([paid.end, call.amount, call.token]).toEqual([
      null,
      paid.amount,
      paid.call.kind === "ethPayment" ? ZERO_ADDRESS : paid.call.token,
    ]);
    if (call.kind === "receiverSpend") {
      expect([from, call.sender]).toEqual([paid.call.receiver, paid.from]);
      expect(equalBytes(hash160(call.secret), paid.call.secretHash)).toBe(true);
      paid.end = "spent";
    } else {
      expect([from, call.receiver]).toEqual([paid.from, paid.call.receiver]);
      expect(BigInt(timeSec)).toBeGreaterThanOrEqual(paid.call.lockTime);
      paid.end = "refunded";
    }
    if (call.token !== ZERO_ADDRESS) return;
    add(SWAP, -call.amount);
    add(from, call.amount);
  }
  return { wei, nonces, payments, fees };
}

class Random {
  readonly t = new EvmTable({ finalDepth: 30, pool: { blockGasLimit: 1_000_000n, maxTxs: 40 } });
  readonly rng: Rng;
  readonly deals: Deal[] = [];
  readonly txids: string[] = [];
  readonly counts = new Map<string, number>();

  constructor(seed: number) {
    this.rng = seededRng(seed);
    // Who has what is below the reach of reorgs; the tokens may go.
    this.t.chain.mine(6);
    for (const from of this.parties) for (const token of [PLAIN, SILENT]) this.t.did(from, this.t.approve(token, 10n ** 9n));
  }

  get parties(): readonly Party[] {
    return [this.t.maker, this.t.taker, this.t.thief];
  }

  /** Who sends it, mostly whom the contract would let. */
  #sending(): readonly [Party, Sending] {
    const { rng, deals } = this;
    const from = pick(rng, this.parties);
    const deal = deals.length > 0 ? pick(rng, deals.slice(-5)) : null;
    const kind = deal === null ? 0 : randomBelow(rng, 8);
    const owner = kind < 5 || deal === null || happens(rng, 0.2) ? from : kind === 5 ? deal.from : deal.to;
    return [owner, this.#call(kind, from, deal)];
  }

  #call(kind: number, from: Party, deal: Deal | null): Sending {
    const { t, rng, deals } = this;
    switch (Math.max(0, kind - 1)) {
      case 0: {
        const lockTime = t.nowSec + BigInt(between(rng, 0, 300));
        const made = {
          from,
          to: pick(rng, this.parties),
          amount: BigInt(between(rng, 0, 9)) * 1_000n,
          token: pick(rng, [ZERO_ADDRESS, PLAIN, SILENT]),
          lockTime,
        };
        deals.push(made);
        return t.pay(made);
      }
      case 1:
        return { to: pick(rng, this.parties).address, value: BigInt(between(rng, 0, 500)) * (ETHER / 2n) };
      case 2:
        return t.approve(pick(rng, [PLAIN, SILENT]), BigInt(pick(rng, [0, 5_000, 1_000_000])));
      case 3:
        return { to: pick(rng, [PLAIN, SILENT]), data: transferCall(pick(rng, this.parties).address, BigInt(between(rng, 0, 2_000))) };
      case 4:
        return t.refund(deal ?? expect.fail());
      default:
        return t.claim(deal ?? expect.fail(), happens(rng, 0.8) ? SECRET : new Uint8Array(32));
    }
  }

  #note(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async step(): Promise<void> {
    const { t, rng } = this;
    const { chain } = t;
    switch (randomBelow(rng, 14)) {
      case 0:
        return void (await t.clock.advance(between(rng, 1, 60_000)));
      case 1: {
        const depth = between(rng, 1, pick(rng, [1, 2, 6]));
        const off = Array.from({ length: depth }, (_, i) => chain.at(chain.tip.height - i)?.txs ?? []).flat();
        const forget = happens(rng, 0.5) ? off.map((tx) => tx.signed.txid).filter(() => happens(rng, 0.5)) : [];
        return this.#note(`reorg ${chain.reorg(depth, { forget, refill: happens(rng, 0.5) }).ok}`);
      }
      case 2:
        if (happens(rng, 0.2)) chain.spike(BigInt(between(rng, 2, 50)), between(rng, 1, 120_000), happens(rng, 0.5));
        return;
      case 3: {
        const token = chain.tokens.get(pick(rng, [PLAIN, SILENT])) ?? expect.fail("no token");
        token.feePercent = BigInt(pick(rng, [0, 0, 0, 10]));
        token.isPaused = happens(rng, 0.1);
        return;
      }
      case 4:
        for (const txid of happens(rng, 0.3) ? chain.pool.ids() : []) if (happens(rng, 0.3)) chain.pool.remove(txid);
        return;
      case 5:
      case 6:
      case 7:
        await t.clock.advance(between(rng, 0, 15_000));
        chain.mine(between(rng, 1, 3));
        return;
      default: {
        const [from, sending] = this.#sending();
        const pending = chain.pendingNonce(from.address);
        const nonce = happens(rng, 0.9) ? pending : BigInt(Math.max(0, Number(pending) + between(rng, -2, 2)));
        const gwei = BigInt(between(rng, 8, 600));
        const price = happens(rng, 0.2) ? ({ kind: "legacy", gasPrice: gwei * GWEI } as const) : bid(gwei, BigInt(between(rng, 1, 4)));
        const gasLimit = happens(rng, 0.1) ? BigInt(between(rng, 21_000, 60_000)) : 200_000n;
        const tx = t.signed(from, { ...sending, nonce, bid: price, gasLimit });
        this.txids.push(tx.txid);
        this.#note(chain.send(tx.raw).kind);
      }
    }
  }

  /** What must hold at any moment. */
  check(totals: { readonly wei: bigint; readonly tokens: readonly bigint[] }): void {
    const { chain } = this.t;
    expect(chain.totalWei()).toBe(totals.wei);
    expect([...chain.tokens.keys()].map((token) => chain.totalOf(token))).toEqual(totals.tokens);
    const told = replay(this.t);
    expect(chain.burned + chain.earned).toBe(told.fees);
    for (const { address } of this.parties) {
      expect(chain.nonceOf(address)).toBe(told.nonces.get(address) ?? 0n);
      expect(chain.balance(address)).toBe(told.wei.get(address) ?? 0n);
    }
    const openOf = (token: EvmAddress): bigint =>
      [...told.payments.values()]
        .filter(({ call, end }) => end === null && (call.kind === "ethPayment" ? ZERO_ADDRESS : call.token) === token)
        .reduce((sum, { amount }) => sum + amount, 0n);
    expect(chain.balance(SWAP)).toBe(openOf(ZERO_ADDRESS));
    for (const token of [PLAIN, SILENT]) expect(chain.tokenBalance(token, SWAP)).toBe(openOf(token));
    for (const deal of this.deals) {
      const paid = told.payments.get(this.t.key(deal).id);
      expect(this.t.state(deal)).toBe(paid === undefined ? "uninitialized" : (paid.end ?? "sent"));
    }
  }
}

describe("any transactions, blocks and reorgs", () => {
  /** How payments ended, over all seeds. */
  const seen = new Map<string, number>();
  afterAll(() => {
    // A run of a few seeds of one's own may have fewer.
    for (const end of process.env.SIM_SEED === undefined ? ["open", "spent", "refunded"] : []) expect(seen.get(end)).toBeGreaterThan(2);
  });

  test.each(Array.from({ length: RUNS }, (_, i) => SEED + i))("seed %i: nothing is made or lost, and the view agrees", async (seed) => {
    const random = new Random(seed);
    const { t } = random;
    const { chain } = t;
    const totals = { wei: chain.totalWei(), tokens: [...chain.tokens.keys()].map((token) => chain.totalOf(token)) };
    const life = new Life();
    const link = new EvmLink(t.clock);
    link.headDelayMs = 100;
    const view = new SimEvmView({ chain, link, life, clock: life.clock(t.clock, () => 0), log: new SilentLog(), pollMs: 5_000 });
    /** What somebody knows who asks again only when told. */
    const known = new Map<string, unknown>();
    const read = (key: string): unknown => {
      const deal = random.deals.find((d) => t.key(d).id === key);
      if (deal !== undefined) return view.payment(t.key(deal));
      return key.length === 64 ? view.tx(key) : view.account(key as EvmAddress);
    };
    view.onChange(({ keys }) => {
      for (const key of keys) known.set(key, read(key));
    });
    const settle = async (promise: Promise<void>): Promise<void> => {
      let isDone = false;
      void promise.then(() => {
        isDone = true;
      });
      await t.clock.run({ until: () => isDone, untilMs: t.clock.nowMs() + 600_000 });
      expect(isDone).toBe(true);
    };
    for (let i = 0; i < STEPS; i++) {
      await random.step();
      if (i % 3 !== 0) continue;
      random.check(totals);
      if (i % 6 !== 0) continue;
      // Not waited for one by one: they are all covered by the look that is waited for.
      for (const { address } of random.parties) void view.watchAccount(address);
      for (const deal of random.deals) void view.watchPayment(t.key(deal), 0);
      for (const txid of random.txids) void view.watchTx(txid, 0);
      await settle(view.refresh());
      agrees();
    }
    random.check(totals);
    const ends = [...replay(t).payments.values()].map(({ end }) => end ?? "open");
    console.info(`seed ${seed}: ${JSON.stringify([...random.counts])}, payments at the end: ${ends.join(" ")}`);
    for (const end of ends) seen.set(end, (seen.get(end) ?? 0) + 1);
    await view.close();

    function agrees(): void {
      expect(view.status().tip).toMatchObject({ hash: chain.tip.hash, height: chain.tip.height, finalized: chain.finalized });
      for (const { address } of random.parties) {
        const [balance, nonce, pendingNonce] = [chain.balance(address), chain.nonceOf(address), chain.pendingNonce(address)];
        expect(view.account(address)).toMatchObject({ balance, nonce, pendingNonce });
        expect(known.get(address)).toMatchObject({ balance, nonce, pendingNonce });
      }
      for (const txid of random.txids) {
        const found = chain.find(txid);
        const seen = view.tx(txid);
        expect([txid, seen?.block?.hash, seen?.receipt]).toEqual([
          txid,
          found?.block?.hash,
          found === undefined ? undefined : found.receipt,
        ]);
        expect((known.get(txid) as typeof seen)?.block?.hash).toBe(found?.block?.hash);
      }
      for (const deal of random.deals) {
        const key = t.key(deal);
        const record = chain.payment(SWAP, key.id);
        expect(view.payment(key)).toMatchObject({ ...record, events: "complete" });
        const { sent, spent, refunded } = view.payment(key) ?? expect.fail("no payment");
        const events = [sent, spent, refunded].map((event) => event !== null);
        expect(events).toEqual([record.state !== "uninitialized", record.state === "spent", record.state === "refunded"]);
        for (const event of [sent, spent, refunded])
          expect(event === null || chain.find(event.txid)?.block?.hash === event.block.hash).toBe(true);
        expect((known.get(key.id) as { state: string } | undefined)?.state).toBe(record.state);
      }
    }
  });

  test("the same seed gives the same blocks", async () => {
    const hashes: string[] = [];
    for (let run = 0; run < 2; run++) {
      const random = new Random(SEED);
      for (let i = 0; i < STEPS; i++) await random.step();
      hashes.push(random.t.chain.hashes().join());
    }
    expect(hashes[0]).toBe(hashes[1]);
  });
});
