import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressFromBytes, addressOfPubkey, checksumAddress } from "../../../core/evm/address.ts";
import { parseErc20Call } from "../../../core/evm/erc20.ts";
import { parseGasLimits } from "../../../core/evm/gasLimits.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall, parseSwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { err, ok } from "../../../core/util/result.ts";
import type { CallRequest } from "../../../ports/accountChain.ts";
import type { AccountTxStore } from "../../../ports/accountTxStore.ts";
import { AccountFunds } from "./accountFunds.ts";
import { AllowanceKeeper } from "./allowanceKeeper.ts";
import { NonceLedger } from "./nonceLedger.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const TOKEN = addressFromBytes(new Uint8Array(20).fill(0x11));
const CONTRACT = addressFromBytes(new Uint8Array(20).fill(0x24));
const SLOT = `${TOKEN}/${CONTRACT}`;
const limits = parseGasLimits(undefined) ?? expect.fail("no limits");
const gas = { policy: null, maxTxType: null, estimatePercent: null, limits } as const;
const { signal } = new AbortController();
const ETHER = 10n ** 18n;
const reverted = (message: string) => err({ kind: "Reverted" as const, data: null, message });

/** A token and a swap contract, as far as allowances go, under an account whose transactions are mined when told. */
class TokenWorld {
  readonly chain = new FakeAccountChain();
  readonly clock = new VirtualClock();
  readonly nonces: NonceLedger;
  readonly funds: AccountFunds;
  readonly keeper: AllowanceKeeper;
  /** Wants an allowance reset before it is changed. */
  resets = false;
  /** An approval on top of an allowance takes less gas than one of nothing, as contracts store things. */
  countsStorage = false;
  /** Payments that failed. */
  failed = 0;
  readonly approved: bigint[] = [];
  /** Payments that are held and not out: blocks go no further. */
  readonly unsent = new Set<string>();
  readonly store: AccountTxStore = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));

  constructor(unlimited = false) {
    const { chain, clock, store } = this;
    chain.balance = ETHER;
    chain.gas = 50_000n;
    this.nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
    this.funds = new AccountFunds({ chain, address, nonces: this.nonces, clock });
    const { nonces, funds } = this;
    this.keeper = new AllowanceKeeper({ chain, key, address, gas, nonces, funds, log: new SilentLog(), unlimited });
    chain.estimate = ({ data }) => {
      if (!this.#approves(data)) return reverted("The ETH chain would refuse the transaction: reset first.");
      return this.countsStorage ? ok(this.#gas) : null;
    };
  }

  async open(): Promise<this> {
    await this.chain.watchAccount(address);
    await this.nonces.open();
    return this;
  }

  get allowance(): bigint {
    return this.chain.allowances.get(SLOT) ?? 0n;
  }
  set allowance(amount: bigint) {
    this.chain.allowances.set(SLOT, amount);
  }

  #approves(data: Uint8Array): boolean {
    const call = parseErc20Call(data);
    return !this.resets || this.allowance === 0n || (call.ok && call.value.kind === "approve" && call.value.amount === 0n);
  }

  get #gas(): bigint {
    return this.allowance === 0n ? 46_100n : 29_000n;
  }

  ask(name: string, units: bigint, holdId: string | null = null): Promise<string | null> {
    return this.keeper.ensure(TOKEN, CONTRACT, name, units, signal, holdId);
  }

  /** Signs the payment of one that may pay. */
  pay(name: string, units: bigint): SignedEvmTx {
    const [id, secretHash] = [new Uint8Array(32).fill(1), new Uint8Array(20)];
    const data = encodeSwapCall({ kind: "erc20Payment", id, amount: units, token: TOKEN, receiver: CONTRACT, secretHash, lockTime: 9n });
    const common = { type: "legacy", chainId: 1n, gasLimit: 150_000n, to: CONTRACT, value: 0n, data, gasPrice: 10n } as const;
    const taken = this.nonces.take((nonce) => signEvmTx({ ...common, nonce }, key)) ?? expect.fail("no nonce");
    this.keeper.done(name);
    return taken;
  }

  /** Mines the next transactions of the account, `count` at most. */
  block(count = 100): void {
    for (let i = 0; i < count; i++) {
      const tx = this.nonces.othersAt(this.chain.nonce).find(({ txid }) => !this.unsent.has(txid));
      if (!tx) break;
      this.#carryOut(tx);
      this.chain.nonce++;
      if (this.chain.pendingNonce < this.chain.nonce) this.chain.pendingNonce = this.chain.nonce;
    }
    this.chain.mine();
  }

  #carryOut({ tx }: SignedEvmTx): void {
    const approval = parseErc20Call(tx.data);
    if (approval.ok && approval.value.kind === "approve") {
      if (!this.#approves(tx.data) || (this.countsStorage && tx.gasLimit < this.#gas)) return;
      this.allowance = approval.value.amount;
      this.approved.push(approval.value.amount);
    }
    const payment = parseSwapCall(tx.data);
    if (!payment.ok || payment.value.kind !== "erc20Payment") return;
    if (payment.value.amount > this.allowance) this.failed++;
    else this.allowance -= payment.value.amount;
  }
}

let world: TokenWorld;
beforeEach(async () => {
  world = await new TokenWorld().open();
});

const WAITS = /^the approval [0-9a-f]{64} of token 0x[0-9a-fA-F]{40} waits for its block$/;
const SENT = /^the approval [0-9a-f]{64} of token 0x[0-9a-fA-F]{40} was sent and waits for its block$/;

test("what is missing is approved exactly, once, stored before it is sent; in its block the payment may be signed", async () => {
  const { chain, store } = world;
  const usual = chain.broadcast.bind(chain);
  chain.broadcast = async (raw) => {
    expect(await store.load(1n, address)).toMatchObject([{ raw, state: "sent" }]);
    return usual(raw);
  };
  expect(await world.ask("a", 300n)).toMatch(SENT);
  expect(await world.ask("a", 300n)).toMatch(WAITS);
  expect([chain.sent.length, world.nonces.waiting()[0]?.signed.tx]).toMatchObject([1, { gasLimit: 55_000n, to: TOKEN, value: 0n }]);
  world.block();
  expect([world.approved, await world.ask("a", 300n)]).toEqual([[300n], null]);
  world.pay("a", 300n);
  world.block();
  expect([world.failed, world.allowance]).toEqual([0, 0n]);
});

test("one approval is of what all need that asked; those who asked first may pay first", async () => {
  const [first, second] = await Promise.all([world.ask("a", 300n), world.ask("b", 200n)]);
  expect([first, second].filter((answer) => SENT.test(answer ?? "")).length).toBe(1);
  expect(await world.ask("c", 50n)).toMatch(WAITS);
  world.block();
  expect(world.approved).toEqual([500n]);
  expect(await world.ask("c", 50n)).toMatch(SENT);
  expect([await world.ask("b", 200n), await world.ask("a", 300n)]).toEqual([null, null]);
  world.pay("b", 200n);
  world.block();
  // At its signing nobody had paid: it was of all three.
  expect(world.approved).toEqual([500n, 550n]);
  for (const [name, units] of [
    ["c", 50n],
    ["a", 300n],
  ] as const) {
    expect(await world.ask(name, units)).toBeNull();
    world.pay(name, units);
  }
  world.block();
  expect(world.failed).toBe(0);
});

test("a payment that waits has used up its part: another one is not allowed on the same allowance", async () => {
  world.allowance = 300n;
  expect(await world.ask("a", 300n)).toBeNull();
  world.pay("a", 300n);
  expect(await world.ask("b", 300n)).toMatch(SENT);
  world.block();
  expect([world.approved, world.failed, world.allowance]).toEqual([[300n], 0, 300n]);
  expect(await world.ask("b", 300n)).toBeNull();
});

test("an approval behind a payment that uses up the allowance has gas enough to begin anew", async () => {
  world.countsStorage = true;
  world.allowance = 300n;
  expect(await world.ask("a", 300n)).toBeNull();
  world.pay("a", 300n);
  expect(await world.ask("b", 200n)).toMatch(SENT);
  world.block();
  expect([world.approved, await world.ask("b", 200n)]).toEqual([[200n], null]);
});

test("one that may pay and has not signed yet keeps its part", async () => {
  world.allowance = 300n;
  expect(await world.ask("a", 300n)).toBeNull();
  expect(await world.ask("b", 1n)).toMatch(SENT);
  world.pay("a", 300n);
  world.block();
  // The approval came before the payment, and was of both.
  expect([world.approved, world.failed, world.allowance]).toEqual([[301n], 0, 1n]);
});

test("one that asks for more than before does not get the part of another that may pay", async () => {
  world.allowance = 200n;
  expect([await world.ask("a", 100n), await world.ask("b", 100n)]).toEqual([null, null]);
  expect(await world.ask("a", 200n)).toMatch(SENT);
  world.pay("b", 100n);
  world.block();
  expect([await world.ask("a", 200n), world.failed]).toEqual([null, 0]);
});

test("an approval that takes a nonce below a waiting payment leaves that payment its part", async () => {
  world.allowance = 100n;
  const hole = world.pay("nobody", 1n);
  expect(await world.ask("a", 99n)).toBeNull();
  world.pay("a", 99n);
  world.nonces.free(hole.txid);
  expect(await world.ask("b", 50n)).toMatch(SENT);
  expect(world.nonces.waiting().map(({ signed }) => signed.tx.nonce)).toEqual([0n, 1n]);
  world.block();
  expect([world.approved, world.failed, world.allowance]).toEqual([[149n], 0, 50n]);
});

test("a reset that was being estimated while another was told that it may pay is not signed", async () => {
  world.resets = true;
  world.allowance = 5n;
  let allow = (): void => undefined;
  const allowed = new Promise<void>((resolve) => (allow = resolve));
  const { chain } = world;
  const [call, estimate] = [chain.call.bind(chain), chain.estimateGas.bind(chain)];
  chain.call = async (request) => {
    await allowed;
    return call(request);
  };
  const first = world.ask("a", 5n);
  chain.estimateGas = async (request) => {
    const answer = await estimate(request);
    // The second question: of an approval of nothing.
    if (answer.ok) {
      allow();
      await first;
    }
    return answer;
  };
  expect(await world.ask("b", 10n)).toBe(`token ${checksumAddress(TOKEN)} is being paid with; its allowance is reset afterwards`);
  expect([await first, chain.sent]).toEqual([null, []]);
});

test("one that gave up needs nothing more, and what it had approved serves the next", async () => {
  await world.ask("a", 300n);
  world.keeper.done("a");
  world.block();
  expect(await world.ask("b", 300n)).toBeNull();
  expect(world.approved).toEqual([300n]);
});

test("a token that wants a reset gets one of nothing first, and never while a payment could come to stand behind it", async () => {
  world.resets = true;
  world.allowance = 100n;
  expect(await world.ask("a", 100n)).toBeNull();
  expect(await world.ask("b", 50n)).toContain("takes no other allowance until payments under way have used up this one");
  const payment = world.pay("a", 100n);
  expect(await world.ask("b", 50n)).toContain("until payments under way");
  // It will never be sent: the allowance is left over.
  world.nonces.free(payment.txid);
  expect(await world.ask("b", 150n)).toMatch(SENT);
  expect(await world.ask("c", 10n)).toMatch(WAITS);
  // One that would fit into what is left may not pay either: the reset comes before it.
  world.keeper.done("b");
  expect(await world.ask("c", 10n)).toMatch(WAITS);
  world.block();
  expect([world.approved, world.allowance]).toEqual([[0n], 0n]);
  expect(await world.ask("c", 10n)).toMatch(SENT);
  world.block();
  expect([world.approved, await world.ask("c", 10n), world.failed]).toEqual([[0n, 10n], null, 0]);
});

test("of a token that refuses approvals, or to be paid with, the nodes' reason is told, and nothing is sent", async () => {
  const why = "The ETH chain would refuse the transaction: execution reverted: paused.";
  world.chain.estimate = () => reverted(why);
  expect(await world.ask("a", 5n)).toBe(`token ${checksumAddress(TOKEN)} refuses an approval: ${why}`);
  world.allowance = 3n;
  expect(await world.ask("a", 5n)).toBe(`token ${checksumAddress(TOKEN)} refuses an approval: ${why}`);
  world.allowance = 5n;
  const tried: CallRequest[] = [];
  world.chain.answer = (request) => {
    tried.push(request);
    return reverted(why);
  };
  expect(await world.ask("a", 5n)).toBe(`the swap contract cannot take token ${checksumAddress(TOKEN)}: ${why}`);
  const call = parseSwapCall(tried[0]?.data ?? new Uint8Array(0));
  expect([tried[0]?.to, tried[0]?.from, call.ok && call.value]).toMatchObject([
    CONTRACT,
    address,
    { kind: "erc20Payment", amount: 5n, token: TOKEN, receiver: address },
  ]);
  expect(world.chain.sent).toEqual([]);
});

test("a token whose approvals are mined and change nothing is not paid for more than three times", async () => {
  const answers: (string | null)[] = [];
  for (let i = 0; i < 6; i++) {
    answers.push(await world.ask("a", 5n));
    world.block();
    world.allowance = 1n;
  }
  expect(world.chain.sent.length).toBe(3);
  expect(answers.at(-1)).toBe(`3 approvals of token ${checksumAddress(TOKEN)} did not set its allowance; no more are sent`);
  // Somebody else sees to it.
  world.allowance = 5n;
  expect(await world.ask("a", 5n)).toBeNull();
});

test("an approval is paid from what is free, or from the hold of the swap it is for; one the nodes refuse costs neither anything", async () => {
  const { chain, funds } = world;
  const fee = 55_000n * ((2n * 10n ** 9n * 103n) / 100n);
  chain.balance = fee;
  const made = funds.hold({ asset: null, amounts: [], gas: fee }, null);
  const hold = made.ok ? made.value : expect.fail("nothing held");
  expect(await world.ask("a", 5n)).toBe(`an approval of token ${checksumAddress(TOKEN)} may cost ${fee} wei, and 0 are free`);
  chain.outcomes.push({ kind: "rejected", code: -32_000, message: "no" });
  expect(await world.ask("a", 5n, hold)).toBe("no");
  expect([funds.gasOf(hold), funds.free(null)]).toEqual([fee, 0n]);
  expect(await world.ask("a", 5n, hold)).toMatch(SENT);
  expect([funds.gasOf(hold), world.nonces.outgoing().wei]).toEqual([0n, fee]);
});

test("while the nodes are away nothing is sent and the reason told", async () => {
  world.chain.trouble = "None of the ETH nodes can be used.";
  expect(await world.ask("a", 5n)).toBe("None of the ETH nodes can be used.");
  expect(world.chain.sent).toEqual([]);
});

test("only where a setting asks for it, any amount is approved once", async () => {
  world = await new TokenWorld(true).open();
  await world.ask("a", 5n);
  world.block();
  expect([world.approved, await world.ask("a", 5n), await world.ask("b", 10n ** 30n)]).toEqual([[2n ** 256n - 1n], null, null]);
});

test("an allowance read at one block is not judged by what waits at another", async () => {
  world.allowance = 300n;
  expect(await world.ask("a", 300n)).toBeNull();
  world.pay("a", 300n);
  const usual = world.chain.allowance.bind(world.chain);
  let isFirst = true;
  world.chain.allowance = async (...args) => {
    const answer = await usual(...args);
    if (isFirst) world.block();
    isFirst = false;
    return answer;
  };
  expect(await world.ask("b", 300n)).toMatch(SENT);
  expect(world.failed).toBe(0);
});

test("whatever order keys ask, pay, give up and blocks come in, no payment that was allowed fails, and all get to pay", async () => {
  const step = fc.record({
    key: fc.integer({ min: 0, max: 5 }),
    act: fc.integer({ min: 0, max: 6 }),
    units: fc.bigInt({ min: 1n, max: 9n }),
  });
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.bigInt({ min: 0n, max: 9n }), fc.array(step, { maxLength: 40 }), async (resets, left, steps) => {
      const w = await new TokenWorld().open();
      [w.resets, w.allowance] = [resets, left];
      const units = new Map<string, bigint>();
      const mayPay = new Set<string>();
      let runs = 0;
      const ask = async (name: string, amount: bigint): Promise<void> => {
        const wanted = units.get(name) ?? amount;
        units.set(name, wanted);
        if ((await w.ask(name, wanted)) === null) mayPay.add(name);
        else mayPay.delete(name);
      };
      const free = (txid: string): void => {
        w.unsent.delete(txid);
        w.nonces.free(txid);
      };
      const end = (name: string): void => {
        units.delete(name);
        mayPay.delete(name);
      };
      for (const { key: n, act, units: amount } of steps) {
        const name = `key ${n}`;
        if (act <= 2) await ask(name, amount);
        if (act === 3) await Promise.all([ask(name, amount), ask(`key ${(n + 1) % 6}`, amount)]);
        if (act === 4 && mayPay.has(name)) {
          const payment = w.pay(name, units.get(name) ?? 0n);
          if (amount <= 2n) w.unsent.add(payment.txid);
          end(name);
        }
        if (act === 5) w.block(Number(amount) % 3);
        if (act === 6 && amount > 6n) {
          w.keeper.done(name);
          end(name);
        }
        // One that is never sent: its nonce is a hole below those after it.
        const [oldest] = w.unsent;
        if (act === 6 && amount <= 6n && oldest !== undefined) free(oldest);
      }
      for (const txid of w.unsent) free(txid);
      while (units.size > 0 && runs++ < 60) {
        for (const [name, amount] of [...units]) {
          await ask(name, amount);
          if (!mayPay.has(name)) continue;
          w.pay(name, amount);
          end(name);
        }
        w.block();
        // The keeper of nonces would fill it.
        if (w.nonces.othersAt(w.chain.nonce).length === 0 && w.nonces.waiting().length > 0) {
          w.chain.nonce++;
          w.chain.pendingNonce = w.chain.nonce;
          w.block();
        }
      }
      expect([w.failed, units.size]).toEqual([0, 0]);
    }),
    { numRuns: 150 },
  );
});

test("an approval that needs far more gas than any usual token's is not paid for", async () => {
  const w = await new TokenWorld().open();
  w.chain.gas = 1_000_001n;
  expect(await w.ask("a", 5n)).toBe(`an approval of token ${checksumAddress(TOKEN)} needs 1000001 gas, far more than the usual 100000`);
  expect(w.nonces.waiting()).toEqual([]);
  w.chain.gas = 1_000_000n;
  expect(await w.ask("a", 5n)).toMatch(/ was sent and waits for its block$/);
});
