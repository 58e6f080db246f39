import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { encode } from "./support/artifacts.ts";
import {
  type Call,
  type Mover,
  moveCall,
  openSwapChain,
  payCall,
  type SwapChain,
  type Terms,
  word,
  ZERO_ADDRESS,
} from "./support/swapChain.ts";

const AMOUNT = 1_000_000_007n;

describe.skipIf(noAnvil)(`the swap contract${noAnvilReason}`, () => {
  let chain: SwapChain;
  let token: string;
  let [sender, receiver, stranger] = ["", "", ""];
  let used = 0;

  beforeAll(async () => {
    chain = await openSwapChain();
    [sender = "", receiver = "", stranger = ""] = chain.accounts;
    token = await chain.deploy("TestToken", { name_: "Test", symbol_: "TEST", decimals_: 18n, supply: 0n });
    const most = 2n ** 256n - 1n;
    await chain.must({ from: sender, to: token, data: encode("TestToken", "mint", { to: sender, amount: 10n ** 30n }) });
    await chain.must({ from: sender, to: token, data: encode("TestToken", "approve", { spender: chain.swap, amount: most }) });
  });
  afterAll(() => chain?.stop());

  for (const asset of ["native coin", "token"]) {
    describe(asset, () => {
      let terms: Terms;
      let sinceStart: () => Promise<{ readonly [who: string]: bigint }>;
      const pay = (changed: Partial<Terms> = {}): Call => payCall(chain.swap, { ...terms, ...changed });
      const move = (mover: Mover, changed: Partial<Terms> = {}, from?: string): Call =>
        moveCall(chain.swap, mover, { ...terms, ...changed }, from);
      const lock = (): number => Number(terms.lockTime);

      beforeEach(async () => {
        used++;
        const of = asset === "token" ? token : ZERO_ADDRESS;
        const lockTime = BigInt(chain.nowSec() + 1_000);
        terms = { id: word(used), amount: AMOUNT, secret: word(30_000 + used), token: of, sender, receiver, lockTime };
        const holders = { sender, receiver, stranger, contract: chain.swap };
        const all = async (): Promise<[string, bigint][]> =>
          Promise.all(Object.entries(holders).map(async ([name, at]) => [name, await chain.balance(of, at)] as [string, bigint]));
        const before = new Map(await all());
        sinceStart = async () =>
          Object.fromEntries(
            (await all()).map(([name, have]) => [name, have - (before.get(name) ?? 0n)]).filter(([, moved]) => moved !== 0n),
          );
      });

      test("a payment locks exactly the amount", async () => {
        await chain.must(pay());
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, contract: AMOUNT });
      });

      test("the receiver takes it with the secret, before the lock time and after it", async () => {
        await chain.must(pay());
        await chain.must(move("receiverSpend"));
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, receiver: AMOUNT });
        const late = { id: word(used + 10_000) };
        await chain.must(pay(late));
        await chain.must({ ...move("receiverSpend", late), atSec: lock() + 1_000_000 });
        expect(await sinceStart()).toEqual({ sender: -2n * AMOUNT, receiver: 2n * AMOUNT });
      });

      test("the sender takes it back at the lock time, not a second earlier", async () => {
        await chain.must(pay());
        expect(await chain.send({ ...move("senderRefund"), atSec: lock() - 1 })).toMatchObject({ error: "TooEarly", logs: [] });
        await chain.must({ ...move("senderRefund"), atSec: lock() });
        expect(await sinceStart()).toEqual({});
        expect((await chain.payment(terms.id)).state).toBe(3n);
      });

      test("spendFor by a stranger pays the receiver, refundFor by a stranger pays the sender, each with the event of the interface", async () => {
        await chain.must(pay());
        const spent = await chain.must(move("spendFor", {}, stranger));
        expect(spent.logs.some(({ topics }) => topics[0]?.startsWith("0x36c177bc"))).toBe(true);
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, receiver: AMOUNT });
        const second = { id: word(used + 20_000) };
        await chain.must(pay(second));
        expect((await chain.send({ ...move("refundFor", second, stranger), atSec: lock() - 1 })).error).toBe("TooEarly");
        const refunded = await chain.must({ ...move("refundFor", second, stranger), atSec: lock() });
        expect(refunded.logs.some(({ topics }) => topics[0]?.startsWith("0x1797d500"))).toBe(true);
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, receiver: AMOUNT });
      });

      test("a lock time in the past, or of zero, means a refund at once; the greatest one means never", async () => {
        await chain.must(pay({ lockTime: 0n }));
        await chain.must(move("senderRefund"));
        expect(await sinceStart()).toEqual({});
        const never = { id: word(used + 10_000), lockTime: 2n ** 64n - 1n };
        await chain.must(pay(never));
        expect((await chain.send({ ...move("senderRefund", never), atSec: chain.nowSec() + 3_000_000 })).error).toBe("TooEarly");
        expect((await chain.payment(never.id)).lockTime).toBe(never.lockTime);
      });

      test("sender and receiver may be the same", async () => {
        await chain.must(pay({ receiver: sender }));
        await chain.must(move("receiverSpend", { receiver: sender }));
        expect(await sinceStart()).toEqual({});
      });

      test("an amount of zero and a receiver that cannot be paid are refused", async () => {
        expect((await chain.send(pay({ amount: 0n }))).error).toBe("ZeroAmount");
        expect((await chain.send(pay({ receiver: ZERO_ADDRESS }))).error).toBe("ReceiverRefused");
        expect((await chain.send(pay({ receiver: chain.swap }))).error).toBe("ReceiverRefused");
        expect((await chain.payment(terms.id)).state).toBe(0n);
      });

      test("nothing can be taken of a payment that was never made", async () => {
        for (const mover of ["receiverSpend", "spendFor", "senderRefund", "refundFor"] as const)
          expect((await chain.send(move(mover))).error).toBe("NotOpen");
      });

      test("nothing can be taken twice, and an id is never used again", async () => {
        await chain.must(pay());
        expect((await chain.send(pay())).error).toBe("IdUsed");
        await chain.must(move("receiverSpend"));
        for (const mover of ["receiverSpend", "spendFor", "senderRefund", "refundFor"] as const)
          expect((await chain.send({ ...move(mover), atSec: Math.max(lock(), chain.nowSec() + 1) })).error).toBe("NotOpen");
        expect((await chain.send(pay())).error).toBe("IdUsed");

        const second = { id: word(used + 10_000) };
        await chain.must(pay(second));
        await chain.must(move("refundFor", second, stranger));
        for (const mover of ["receiverSpend", "spendFor", "senderRefund", "refundFor"] as const)
          expect((await chain.send(move(mover, second))).error).toBe("NotOpen");
        expect((await chain.send(pay({ ...second, receiver: stranger }))).error).toBe("IdUsed");
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, receiver: AMOUNT });
      });

      test("a payment under an id keeps others out, whoever they are", async () => {
        await chain.must(pay({ amount: 1n }));
        const other = { sender: stranger, receiver: stranger };
        expect((await chain.send(payCall(chain.swap, { ...terms, ...other, token: ZERO_ADDRESS }))).error).toBe("IdUsed");
      });

      test("neither a stranger nor the sender can spend, neither a stranger nor the receiver can refund", async () => {
        await chain.must(pay());
        const outcomes = [
          await chain.send(move("receiverSpend", {}, stranger)),
          await chain.send(move("receiverSpend", {}, sender)),
          await chain.send({ ...move("senderRefund", {}, stranger), atSec: lock() }),
          await chain.send(move("senderRefund", {}, receiver)),
          await chain.send(move("spendFor", { receiver: stranger }, stranger)),
          await chain.send(move("spendFor", { receiver: sender }, sender)),
          await chain.send(move("refundFor", { sender: stranger }, stranger)),
          await chain.send(move("refundFor", { sender: receiver, receiver: sender }, receiver)),
        ];
        expect(outcomes.map(({ error }) => error)).toEqual(Array(8).fill("WrongTerms"));
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, contract: AMOUNT });
      });

      test("each term must be that of the payment", async () => {
        await chain.must(pay());
        const others: Partial<Terms>[] = [
          { amount: AMOUNT + 1n },
          { amount: AMOUNT - 1n },
          { amount: 0n },
          { secret: word(29_999) },
          { token: asset === "token" ? ZERO_ADDRESS : token },
          { sender: stranger },
          { receiver: stranger },
        ];
        for (const other of others) {
          expect((await chain.send(move("spendFor", other, stranger))).error).toBe("WrongTerms");
          expect((await chain.send({ ...move("refundFor", other, stranger), atSec: Math.max(lock(), chain.nowSec() + 1) })).error).toBe(
            "WrongTerms",
          );
        }
        expect((await chain.send(move("spendFor", { id: word(used + 1_000) }, stranger))).error).toBe("NotOpen");
        expect(await sinceStart()).toEqual({ sender: -AMOUNT, contract: AMOUNT });
      });

      test("the other movers take no coins", async () => {
        await chain.must(pay());
        for (const mover of ["receiverSpend", "spendFor", "senderRefund", "refundFor"] as const)
          expect((await chain.send({ ...move(mover), value: 1n, atSec: Math.max(lock(), chain.nowSec() + 1) })).error).toBe("empty");
        expect(await sinceStart()).toMatchObject({ contract: AMOUNT });
      });
    });
  }

  test("a token payment takes no native coins", async () => {
    const terms = { id: word(9_001), amount: 5n, secret: word(1), token, sender, receiver, lockTime: 0n };
    expect((await chain.send({ ...payCall(chain.swap, terms), value: 1n })).error).toBe("empty");
    expect((await chain.payment(terms.id)).state).toBe(0n);
  });

  test("a token payment for an address without code is refused, the zero address too: it would be paid out in native coins", async () => {
    await chain.must(
      payCall(chain.swap, { id: word(9_002), amount: 5n, secret: word(1), token: ZERO_ADDRESS, sender, receiver, lockTime: 0n }),
    );
    for (const nothing of [ZERO_ADDRESS, stranger, `0x${"00".repeat(19)}04`]) {
      const args = { id: word(9_003), amount: 5n, token: nothing, receiver, secretHash: new Uint8Array(20), lockTime: 0n };
      expect((await chain.send({ from: sender, to: chain.swap, data: encode("SwapnodeSwap", "erc20Payment", args) })).error).toBe(
        "TokenRefused",
      );
    }
    expect((await chain.payment(word(9_003))).state).toBe(0n);
  });

  test("coins without a call, and calls of unknown functions, are refused", async () => {
    expect((await chain.send({ from: sender, to: chain.swap, data: "0x", value: 1n })).error).toBe("empty");
    expect((await chain.send({ from: sender, to: chain.swap, data: "0x0971fd54" })).error).toBe("empty");
  });

  test("calldata with dirty upper bytes of an address or lock time is refused", async () => {
    const terms = { id: word(9_004), amount: 5n, secret: word(1), token: ZERO_ADDRESS, sender, receiver, lockTime: 7n };
    const { data, ...call } = payCall(chain.swap, terms);
    const dirty = (at: number): string => `${data.slice(0, 2 + at * 2)}01${data.slice(2 + at * 2 + 2)}`;
    for (const at of [4 + 32, 4 + 3 * 32, 4 + 2 * 32 + 31]) expect((await chain.send({ ...call, data: dirty(at) })).error).toBe("empty");
    await chain.must({ ...call, data });
  });
});
