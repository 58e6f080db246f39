import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { type Args, type ContractName, encode } from "./support/artifacts.ts";
import {
  type Call,
  errorName,
  type Mover,
  moveCall,
  type Outcome,
  openSwapChain,
  payCall,
  type SwapChain,
  type Terms,
  word,
  ZERO_ADDRESS,
} from "./support/swapChain.ts";

const MOST = 2n ** 256n - 1n;
const MOVERS = ["receiverSpend", "spendFor", "senderRefund", "refundFor"] as const;
const YES = hexToBytes("01".padStart(64, "0"));

describe.skipIf(noAnvil)(`tokens that misbehave, and contracts as parties${noAnvilReason}`, () => {
  let chain: SwapChain;
  let [sender, receiver, stranger] = ["", "", ""];
  let used = 0;
  let fresh: unknown;

  beforeAll(async () => {
    chain = await openSwapChain();
    [sender = "", receiver = "", stranger = ""] = chain.accounts;
    fresh = await chain.anvil.call("evm_snapshot");
  });
  beforeEach(async () => {
    await chain.anvil.call("evm_revert", [fresh]);
    fresh = await chain.anvil.call("evm_snapshot");
  });
  afterAll(() => chain?.stop());

  const tell = (name: ContractName, at: string, method: string, args?: Args): Promise<Outcome> =>
    chain.must({ from: stranger, to: at, data: encode(name, method, args) });
  /** A token of which both parties have plenty, and which the contract may take from the sender. */
  const token = async (name: ContractName, args?: Args): Promise<string> => {
    const at = await chain.deploy(name, args);
    for (const to of [sender, receiver]) await tell(name, at, "mint", { to, amount: 10n ** 24n });
    await chain.must({ from: sender, to: at, data: encode(name, "approve", { spender: chain.swap, amount: MOST }) });
    return at;
  };
  const terms = (of: string, changed: Partial<Terms> = {}): Terms => {
    used++;
    const lockTime = BigInt(chain.nowSec() + 1_000);
    return { id: word(used), amount: 1_000n, secret: word(30_000 + used), token: of, sender, receiver, lockTime, ...changed };
  };
  const pay = (t: Terms): Promise<Outcome> => chain.send(payCall(chain.swap, t));
  const move = (mover: Mover, t: Terms, from?: string): Promise<Outcome> =>
    chain.send({ ...moveCall(chain.swap, mover, t, from), atSec: Math.max(Number(t.lockTime), chain.nowSec() + 1) });
  const state = async (t: Terms): Promise<bigint> => (await chain.payment(t.id)).state;
  const errorOf = async (outcome: Promise<Outcome>): Promise<string | null> => (await outcome).error;

  describe("a token that returns nothing", () => {
    test("is paid, spent and refunded as any other", async () => {
      const silent = await token("SilentToken", 0n);
      const [first, second] = [terms(silent), terms(silent)];
      expect(await errorOf(pay(first))).toBe(null);
      expect(await errorOf(pay(second))).toBe(null);
      expect(await errorOf(move("receiverSpend", first))).toBe(null);
      expect(await errorOf(move("senderRefund", second))).toBe(null);
      expect(await chain.balance(silent, receiver)).toBe(10n ** 24n + 1_000n);
      expect(await chain.balance(silent, sender)).toBe(10n ** 24n - 1_000n);
    });

    test("wants an allowance reset to zero before it is changed, so that the node's approval has something to prove", async () => {
      const silent = await token("SilentToken", 0n);
      const approve = (amount: bigint): Call => ({
        from: sender,
        to: silent,
        data: encode("SilentToken", "approve", { spender: chain.swap, amount }),
      });
      expect((await chain.send(approve(5n))).error).toBe("ResetFirst");
      await chain.must(approve(0n));
      await chain.must(approve(5n));
    });
  });

  describe("a token that answers false", () => {
    test("is refused at the payment, even when it moved the money", async () => {
      const hostile = await token("HostileToken");
      await tell("HostileToken", hostile, "setAnswer", new Uint8Array(32));
      const t = terms(hostile);
      for (const moves of [true, false]) {
        await tell("HostileToken", hostile, "setMoves", moves);
        expect(await errorOf(pay(t))).toBe("TokenRefused");
      }
      expect([await state(t), await chain.balance(hostile, chain.swap)]).toEqual([0n, 0n]);
    });

    test("leaves the payment open when it is spent or refunded, until it answers better", async () => {
      const hostile = await token("HostileToken");
      const t = terms(hostile);
      await pay(t);
      await tell("HostileToken", hostile, "setAnswer", new Uint8Array(32));
      for (const mover of MOVERS) expect(await errorOf(move(mover, t))).toBe("TokenRefused");
      expect([await state(t), await chain.balance(hostile, chain.swap)]).toEqual([1n, 1_000n]);
      await tell("HostileToken", hostile, "setAnswer", YES);
      expect(await errorOf(move("receiverSpend", t))).toBe(null);
      expect(await chain.balance(hostile, receiver)).toBe(10n ** 24n + 1_000n);
    });
  });

  test("an answer is a refusal unless it is nothing or begins with the word 1", async () => {
    const hostile = await token("HostileToken");
    const answers: readonly [Uint8Array, string | null][] = [
      [new Uint8Array(0), null],
      [YES, null],
      [Uint8Array.of(...YES, ...new Uint8Array(32)), null],
      [Uint8Array.of(1), "TokenRefused"],
      [YES.slice(1), "TokenRefused"],
      [hexToBytes("02".padStart(64, "0")), "TokenRefused"],
      [hexToBytes("ff".repeat(32)), "TokenRefused"],
      [hexToBytes("01".padEnd(64, "0")), "TokenRefused"],
    ];
    for (const [answer, error] of answers) {
      await tell("HostileToken", hostile, "setAnswer", answer);
      expect([bytesToHex(answer), await errorOf(pay(terms(hostile)))]).toEqual([bytesToHex(answer), error]);
    }
  });

  test("an answer shorter than a word is not filled up with what happens to be in memory", async () => {
    const hostile = await token("HostileToken");
    await tell("HostileToken", hostile, "setAnswer", new Uint8Array(31));
    // The contract has just had the id in the place where the answer goes.
    const id = Uint8Array.of(...word(77).slice(0, 31), 1);
    expect(await errorOf(pay(terms(hostile, { id })))).toBe("TokenRefused");
  });

  test("a transfer that fails is a refusal, whatever reason it gives, or none: the payment is not made, or stays open", async () => {
    const hostile = await token("HostileToken");
    for (const reason of [new Uint8Array(0), YES, hexToBytes("08c379a0")]) {
      const [made, other] = [terms(hostile), terms(hostile)];
      expect(await errorOf(pay(made))).toBe(null);
      await tell("HostileToken", hostile, "setAnswer", reason);
      await tell("HostileToken", hostile, "setFails", true);
      expect(await errorOf(pay(other))).toBe("TokenRefused");
      for (const mover of MOVERS) expect(await errorOf(move(mover, made))).toBe("TokenRefused");
      expect([await state(made), await state(other)]).toEqual([1n, 0n]);
      await tell("HostileToken", hostile, "setFails", false);
      await tell("HostileToken", hostile, "setAnswer", YES);
      expect(await errorOf(move("spendFor", made))).toBe(null);
    }
  });

  test("a token whose transfer fails is refused: no allowance, no balance", async () => {
    const plain = await token("TestToken", { name_: "", symbol_: "", decimals_: 18n, supply: 0n });
    expect(await errorOf(pay(terms(plain, { sender: receiver, receiver: sender })))).toBe("TokenRefused");
    expect(await errorOf(pay(terms(plain, { amount: 10n ** 24n + 1n })))).toBe("TokenRefused");
  });

  describe("a token that takes a fee", () => {
    test("is refused at the payment: less arrives than the amount, or nothing, whatever it answers", async () => {
      const hostile = await token("HostileToken");
      const t = terms(hostile);
      await tell("HostileToken", hostile, "setFee", { fee_: 1n, extra_: 0n });
      expect(await errorOf(pay(t))).toBe("TokenAmountDiffers");
      await tell("HostileToken", hostile, "setFee", { fee_: 0n, extra_: 0n });
      await tell("HostileToken", hostile, "setMoves", false);
      expect(await errorOf(pay(t))).toBe("TokenAmountDiffers");
      expect([await state(t), await chain.balance(hostile, chain.swap)]).toEqual([0n, 0n]);
    });

    test("is refused at the payment when more arrives than the amount", async () => {
      const hostile = await token("HostileToken");
      const donation = encode("HostileToken", "mint", { to: chain.swap, amount: 1n });
      await tell("HostileToken", hostile, "setHook", { hook_: hostile, data: hexToBytes(donation.slice(2)), isAfter: true });
      expect(await errorOf(pay(terms(hostile)))).toBe("TokenAmountDiffers");
    });

    test("that begins later and is borne by the payee does not hold the money back", async () => {
      const hostile = await token("HostileToken");
      const [first, second] = [terms(hostile), terms(hostile)];
      await pay(first);
      await pay(second);
      await tell("HostileToken", hostile, "setFee", { fee_: 10n, extra_: 0n });
      expect(await errorOf(move("receiverSpend", first))).toBe(null);
      expect(await errorOf(move("refundFor", second, stranger))).toBe(null);
      expect(await chain.balance(hostile, receiver)).toBe(10n ** 24n + 990n);
      expect(await chain.balance(hostile, chain.swap)).toBe(0n);
    });

    test("that begins later and would be borne by other payments is refused until it ends", async () => {
      const hostile = await token("HostileToken");
      const [first, second] = [terms(hostile), terms(hostile)];
      await pay(first);
      await pay(second);
      await tell("HostileToken", hostile, "setFee", { fee_: 0n, extra_: 10n });
      for (const mover of MOVERS) expect(await errorOf(move(mover, first))).toBe("TokenAmountDiffers");
      await tell("HostileToken", hostile, "setFee", { fee_: 0n, extra_: 0n });
      expect(await errorOf(move("receiverSpend", first))).toBe(null);
      expect(await errorOf(move("senderRefund", second))).toBe(null);
      expect(await chain.balance(hostile, chain.swap)).toBe(0n);
    });
  });

  test("tokens given to the contract in the middle of a transfer hold no money back", async () => {
    const hostile = await token("HostileToken");
    const t = terms(hostile);
    await pay(t);
    const gift = encode("HostileToken", "mint", { to: chain.swap, amount: 3n });
    await tell("HostileToken", hostile, "setHook", { hook_: hostile, data: hexToBytes(gift.slice(2)), isAfter: true });
    expect(await errorOf(move("receiverSpend", t))).toBe(null);
    expect(await chain.balance(hostile, chain.swap)).toBe(3n);
  });

  test("amounts up to the greatest of all, of a token with 77 decimals, are exact", async () => {
    const fine = await chain.deploy("TestToken", { name_: "Fine", symbol_: "FINE", decimals_: 77n, supply: 0n });
    await tell("TestToken", fine, "mint", { to: sender, amount: MOST });
    await chain.must({ from: sender, to: fine, data: encode("TestToken", "approve", { spender: chain.swap, amount: MOST }) });
    const [most, refunded] = [terms(fine, { amount: MOST }), terms(fine, { amount: 123_456_789n * 10n ** 68n + 1n })];
    expect(await errorOf(pay(refunded))).toBe(null);
    expect(await errorOf(pay(most))).toBe("TokenRefused");
    expect(await errorOf(move("senderRefund", refunded))).toBe(null);
    expect(await errorOf(pay(most))).toBe(null);
    expect(await errorOf(move("receiverSpend", most))).toBe(null);
    expect(await chain.balance(fine, receiver)).toBe(MOST);
  });

  describe("a token that calls back in the middle of a transfer", () => {
    /** The token calls `data` at `to`, once. */
    const hook = (hostile: string, to: string, data: string, isAfter: boolean): Promise<Outcome> =>
      tell("HostileToken", hostile, "setHook", { hook_: to, data: hexToBytes(data.slice(2)), isAfter });
    const hooked = async (hostile: string): Promise<string | null> => {
      expect(await chain.read("HostileToken", hostile, "hookCalled")).toBe(true);
      if ((await chain.read("HostileToken", hostile, "hookSucceeded")) === true) return null;
      return errorName(bytesToHex((await chain.read("HostileToken", hostile, "hookAnswer")) as Uint8Array));
    };

    test("cannot have one arrival of tokens counted for two payments", async () => {
      const hostile = await token("HostileToken");
      const victim = terms(hostile, { amount: 500n });
      await pay(victim);
      const thief = await chain.deploy("Puppet");
      await tell("HostileToken", hostile, "mint", { to: thief, amount: 50n });
      const act = (to: string, data: string): Promise<Outcome> =>
        tell("Puppet", thief, "act", { to, value: 0n, data_: hexToBytes(data.slice(2)) });
      await act(hostile, encode("HostileToken", "approve", { spender: chain.swap, amount: MOST }));
      // The outer payment of 100 arrives as 50, the inner one of 50 in its middle: without a lock, 150 would be booked for 100.
      const [outer, inner] = [terms(hostile, { amount: 100n }), terms(hostile, { amount: 50n, sender: thief, receiver: stranger })];
      const data = hexToBytes(payCall(chain.swap, inner).data.slice(2));
      await tell("HostileToken", hostile, "setFee", { fee_: 50n, extra_: 0n });
      for (const isAfter of [false, true]) {
        await hook(hostile, thief, encode("Puppet", "act", { to: chain.swap, value: 0n, data_: data }), isAfter);
        expect(await errorOf(pay(outer))).toBe("TokenAmountDiffers");
      }
      expect([await state(outer), await state(inner), await chain.balance(hostile, chain.swap)]).toEqual([0n, 0n, 500n]);
    });

    test("cannot enter any token call of the contract while it is paid, spent or refunded", async () => {
      const hostile = await token("HostileToken");
      const other = terms(hostile);
      await pay(other);
      const entries = {
        payment: payCall(chain.swap, terms(hostile)).data,
        spend: moveCall(chain.swap, "spendFor", other).data,
        refund: moveCall(chain.swap, "refundFor", { ...other, lockTime: 0n }).data,
      };
      for (const [name, data] of Object.entries(entries)) {
        for (const mover of ["receiverSpend", "senderRefund"] as const) {
          const t = terms(hostile, { lockTime: other.lockTime });
          await hook(hostile, chain.swap, data, false);
          expect([name, await errorOf(pay(t))]).toEqual([name, null]);
          // Before its lock time a refund is refused for that reason.
          expect([name, await hooked(hostile)]).toEqual([
            name,
            name === "refund" && chain.nowSec() < Number(other.lockTime) ? "TooEarly" : "Reentered",
          ]);
          await hook(hostile, chain.swap, data, true);
          expect([name, await errorOf(move(mover, t))]).toEqual([name, null]);
          expect([name, await hooked(hostile)]).toEqual([name, "Reentered"]);
        }
      }
      expect([await state(other), await chain.balance(hostile, chain.swap)]).toEqual([1n, 1_000n]);
    });

    test("finds the payment under way already settled: not to be spent, refunded or sent again", async () => {
      const hostile = await token("HostileToken");
      for (const mover of MOVERS) {
        for (const isAfter of [false, true]) {
          const t = terms(hostile, { lockTime: 0n });
          await hook(hostile, chain.swap, moveCall(chain.swap, "refundFor", t).data, isAfter);
          expect(await errorOf(pay(t))).toBe(null);
          expect(await hooked(hostile)).toBe("Reentered");
          for (const again of ["spendFor", "refundFor"] as const) {
            const snapshot = await chain.anvil.call("evm_snapshot");
            await hook(hostile, chain.swap, moveCall(chain.swap, again, t).data, isAfter);
            expect(await errorOf(move(mover, t))).toBe(null);
            expect(await hooked(hostile)).toBe("NotOpen");
            await chain.anvil.call("evm_revert", [snapshot]);
          }
          expect(await errorOf(move(mover, t))).toBe(null);
        }
      }
      expect(await chain.balance(hostile, chain.swap)).toBe(0n);
    });

    test("may pay native coins meanwhile; the two do not touch", async () => {
      const hostile = await token("HostileToken");
      const puppet = await chain.deploy("Puppet");
      const native = terms(ZERO_ADDRESS, { amount: 7n });
      await pay(native);
      await hook(hostile, chain.swap, moveCall(chain.swap, "spendFor", native).data, false);
      const before = await chain.balance(ZERO_ADDRESS, receiver);
      const t = terms(hostile, { receiver: puppet });
      expect(await errorOf(pay(t))).toBe(null);
      expect(await hooked(hostile)).toBe(null);
      expect((await chain.balance(ZERO_ADDRESS, receiver)) - before).toBe(7n);
      expect(await chain.balance(hostile, chain.swap)).toBe(1_000n);
    });

    test("is free again after each transfer, also after one that failed", async () => {
      const hostile = await token("HostileToken");
      await tell("HostileToken", hostile, "setAnswer", new Uint8Array(32));
      expect(await errorOf(pay(terms(hostile)))).toBe("TokenRefused");
      await tell("HostileToken", hostile, "setAnswer", YES);
      for (let i = 0; i < 3; i++) expect(await errorOf(pay(terms(hostile)))).toBe(null);
    });
  });

  describe("a contract as a party of a native payment", () => {
    const manners = { accept: 0n, refuse: 1n, useUpGas: 2n, callBack: 3n, answerAtLength: 4n };
    const behave = (puppet: string, manner: keyof typeof manners, data = "0x"): Promise<Outcome> =>
      tell("Puppet", puppet, "behave", { manner_: manners[manner], target_: chain.swap, data_: hexToBytes(data.slice(2)) });
    const act = (puppet: string, { data, value = 0n }: Call): Promise<Outcome> =>
      chain.send({
        from: stranger,
        to: puppet,
        value,
        data: encode("Puppet", "act", { to: chain.swap, value, data_: hexToBytes(data.slice(2)) }),
        atSec: chain.nowSec() + 1,
      });
    const native = (changed: Partial<Terms>): Terms => terms(ZERO_ADDRESS, changed);

    test("pays, spends and is refunded as any account; its answers, however long, cost the caller nothing", async () => {
      const puppet = await chain.deploy("Puppet");
      await behave(puppet, "answerAtLength");
      const [out, back, in_] = [native({ sender: puppet }), native({ sender: puppet, lockTime: 0n }), native({ receiver: puppet })];
      expect(await errorOf(act(puppet, payCall(chain.swap, out)))).toBe(null);
      expect(await errorOf(act(puppet, payCall(chain.swap, back)))).toBe(null);
      expect(await errorOf(pay(in_))).toBe(null);
      expect(await errorOf(move("receiverSpend", out))).toBe(null);
      expect(await errorOf(chain.send({ ...moveCall(chain.swap, "spendFor", in_, stranger), gas: 400_000 }))).toBe(null);
      expect(await errorOf(act(puppet, moveCall(chain.swap, "senderRefund", back)))).toBe(null);
      expect(await chain.balance(ZERO_ADDRESS, puppet)).toBe(2_000n);
    });

    test("that refuses as receiver keeps nobody else from theirs: the sender is refunded, others are not touched", async () => {
      const puppet = await chain.deploy("Puppet");
      const [stuck, other] = [native({ receiver: puppet }), native({})];
      await pay(stuck);
      await pay(other);
      for (const manner of ["refuse", "useUpGas"] as const) {
        await behave(puppet, manner);
        expect(await errorOf(chain.send(moveCall(chain.swap, "spendFor", stuck, stranger)))).toBe("PayoutRefused");
        expect(await state(stuck)).toBe(1n);
      }
      expect(await errorOf(move("receiverSpend", other))).toBe(null);
      const before = await chain.balance(ZERO_ADDRESS, sender);
      expect(await errorOf(move("senderRefund", stuck))).toBe(null);
      expect((await chain.balance(ZERO_ADDRESS, sender)) - before).toBe(1_000n);
    });

    test("that refuses its refund keeps nobody else from theirs: the receiver can still spend, and so can it later", async () => {
      const puppet = await chain.deploy("Puppet");
      const [first, second] = [native({ sender: puppet, lockTime: 0n }), native({ sender: puppet, lockTime: 0n })];
      await act(puppet, payCall(chain.swap, first));
      await act(puppet, payCall(chain.swap, second));
      await behave(puppet, "refuse");
      expect(await errorOf(move("refundFor", first, stranger))).toBe("PayoutRefused");
      expect(await errorOf(move("receiverSpend", first))).toBe(null);
      await behave(puppet, "accept");
      expect(await errorOf(move("refundFor", second, stranger))).toBe(null);
      expect(await chain.balance(ZERO_ADDRESS, puppet)).toBe(1_000n);
    });

    test("that calls back when it is paid finds its payment settled, and is paid once", async () => {
      const puppet = await chain.deploy("Puppet");
      await pay(native({ amount: 50_000n }));
      for (const again of MOVERS) {
        const t = native({ sender: puppet, receiver: puppet, lockTime: 0n });
        await act(puppet, payCall(chain.swap, t));
        for (const first of MOVERS) {
          const snapshot = await chain.anvil.call("evm_snapshot");
          await behave(puppet, "callBack", moveCall(chain.swap, again, t).data);
          const before = await chain.balance(ZERO_ADDRESS, puppet);
          expect(await errorOf(act(puppet, moveCall(chain.swap, first, t)))).toBe(null);
          expect([await chain.read("Puppet", puppet, "calledBack"), await chain.read("Puppet", puppet, "callBackSucceeded")]).toEqual([
            true,
            false,
          ]);
          expect((await chain.balance(ZERO_ADDRESS, puppet)) - before).toBe(1_000n);
          await chain.anvil.call("evm_revert", [snapshot]);
        }
        expect(await errorOf(act(puppet, moveCall(chain.swap, "receiverSpend", t)))).toBe(null);
      }
      expect(await chain.balance(ZERO_ADDRESS, chain.swap)).toBe(50_000n);
    });

    test("may take another payment of its own when it is paid", async () => {
      const puppet = await chain.deploy("Puppet");
      const [first, second] = [native({ receiver: puppet }), native({ receiver: puppet })];
      await pay(first);
      await pay(second);
      await behave(puppet, "callBack", moveCall(chain.swap, "receiverSpend", second).data);
      expect(await errorOf(move("spendFor", first, stranger))).toBe(null);
      expect([await chain.balance(ZERO_ADDRESS, puppet), await state(second)]).toEqual([2_000n, 2n]);
    });
  });
});
