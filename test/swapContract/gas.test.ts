import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { type ContractName, encode } from "./support/artifacts.ts";
import { type Call, type Mover, moveCall, openSwapChain, payCall, type SwapChain, type Terms, ZERO_ADDRESS } from "./support/swapChain.ts";

/** The limits that the Komodo DeFi Framework gives its calls (2.5.1 and 3.0.0-beta; swap-protocol.md 5.4). */
const KDF_LIMIT = {
  native: { payment: 65_000, receiverSpend: 65_000, senderRefund: 100_000 },
  token: { payment: 150_000, receiverSpend: 150_000, senderRefund: 150_000 },
};
/** What each call may need at the worst case tested here: a change that makes one dearer must be seen and wanted. */
const BUDGET = {
  native: { payment: 51_000, receiverSpend: 46_000, senderRefund: 46_000, spendFor: 72_000, refundFor: 46_000 },
  token: { payment: 100_000, receiverSpend: 80_000, senderRefund: 80_000, spendFor: 80_000, refundFor: 80_000 },
};
const MOST = 2n ** 256n - 1n;

/** All bytes set, the dearest calldata. */
const full = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

// The rules of 2019, before the first touch of an account or slot was priced; of 2021, after; and of 2025, with a floor for calldata.
for (const hardfork of ["istanbul", "london", "prague"]) {
  describe.skipIf(noAnvil)(`gas under the rules of ${hardfork}${noAnvilReason}`, () => {
    let chain: SwapChain;
    let fresh: unknown;
    const [sender, receiver] = [`0x${"a7".repeat(20)}`, `0x${"b9".repeat(20)}`];
    const tokens = new Map<string, string>();

    beforeAll(async () => {
      chain = await openSwapChain({ hardfork });
      const from = chain.accounts[0] ?? "";
      for (const address of [sender, receiver]) await chain.anvil.call("anvil_impersonateAccount", [address]);
      await chain.anvil.call("anvil_setBalance", [sender, "0x56bc75e2d63100000"]);
      for (const name of ["TestToken", "SilentToken"] as const) {
        const at = await chain.deploy(name, name === "TestToken" ? { name_: "", symbol_: "", decimals_: 18n, supply: 0n } : 0n);
        await chain.must({ from, to: at, data: encode(name, "mint", { to: sender, amount: MOST }) });
        tokens.set(name, at);
      }
      fresh = await chain.anvil.call("evm_snapshot");
    });
    beforeEach(async () => {
      await chain.anvil.call("evm_revert", [fresh]);
      fresh = await chain.anvil.call("evm_snapshot");
    });
    afterAll(() => chain?.stop());

    /** The least gas with which the call goes well, not what is charged after refunds. */
    const need = async ({ from, to, data, value = 0n, atSec }: Call): Promise<number> => {
      // In a block of its own: an estimate does not always heed the time that the next block was given.
      if (atSec !== undefined) await chain.anvil.call("evm_mine", [atSec - 1]);
      return Number(await chain.anvil.call("eth_estimateGas", [{ from, to, data, value: `0x${value.toString(16)}` }]));
    };
    const termsOf = (token: string, amount: bigint): Terms => ({
      id: full(0xee),
      amount,
      secret: full(0xdd),
      token,
      sender,
      receiver,
      lockTime: BigInt(chain.nowSec() + 60),
    });
    const seen: { [call: string]: number } = {};
    const judge = (kind: "native" | "token", call: keyof (typeof BUDGET)["native"], gas: number): void => {
      seen[`${kind} ${call}`] = Math.max(seen[`${kind} ${call}`] ?? 0, gas);
      expect(gas, `${kind} ${call}`).toBeLessThanOrEqual(BUDGET[kind][call]);
    };
    afterAll(() => console.info(`gas needed, ${hardfork}: ${JSON.stringify(seen)}`));

    test("a native payment, spend and refund fit into KDF's limits: first use of everything, dearest calldata", async () => {
      const terms = termsOf(ZERO_ADDRESS, 0x12345678_9abcdefn);
      const payment = payCall(chain.swap, terms);
      judge("native", "payment", await need(payment));
      await chain.must({ ...payment, gas: KDF_LIMIT.native.payment });
      const spend = moveCall(chain.swap, "receiverSpend", terms);
      judge("native", "receiverSpend", await need(spend));
      const paid = await chain.anvil.call("evm_snapshot");
      // The receiver's account does not exist before this transaction.
      expect([
        await chain.anvil.call("eth_getTransactionCount", [receiver, "latest"]),
        await chain.balance(ZERO_ADDRESS, receiver),
      ]).toEqual(["0x0", 0n]);
      await chain.must({ ...spend, gas: KDF_LIMIT.native.receiverSpend });
      await chain.anvil.call("evm_revert", [paid]);
      const refund = { ...moveCall(chain.swap, "senderRefund", terms), atSec: Number(terms.lockTime) + 10 };
      judge("native", "senderRefund", await need(refund));
      await chain.must({ ...refund, gas: KDF_LIMIT.native.senderRefund });
    });

    test("calls in the name of others cost no more than planned, also where the account to be paid does not exist yet", async () => {
      const terms = termsOf(ZERO_ADDRESS, 0x12345678_9abcdefn);
      await chain.must(payCall(chain.swap, terms));
      judge("native", "spendFor", await need(moveCall(chain.swap, "spendFor", terms, chain.accounts[0])));
      const refund = moveCall(chain.swap, "refundFor", terms, chain.accounts[0]);
      judge("native", "refundFor", await need({ ...refund, atSec: Number(terms.lockTime) + 20 }));
    });

    const amounts: readonly [string, bigint][] = [
      ["a part of all the sender has", MOST / 3n],
      ["all the sender has", MOST],
    ];
    for (const name of ["TestToken", "SilentToken"] as const satisfies readonly ContractName[]) {
      for (const [what, amount] of amounts) {
        test(`a payment, spend and refund of ${what}, ${name}, fit into KDF's limits: first use of everything`, async () => {
          const token = tokens.get(name) ?? "";
          const terms = termsOf(token, amount);
          const approve = encode(name, "approve", { spender: chain.swap, amount });
          await chain.must({ from: sender, to: token, data: approve });
          const payment = payCall(chain.swap, terms);
          judge("token", "payment", await need(payment));
          await chain.must({ ...payment, gas: KDF_LIMIT.token.payment });
          let paid = await chain.anvil.call("evm_snapshot");
          for (const mover of ["receiverSpend", "spendFor", "senderRefund", "refundFor"] as const satisfies readonly Mover[]) {
            const call = moveCall(chain.swap, mover, terms, mover.endsWith("For") ? chain.accounts[0] : undefined);
            const late = { ...call, atSec: Math.max(Number(terms.lockTime), chain.nowSec()) + 10 };
            judge("token", mover, await need(late));
            const gas = mover.includes("efund") ? KDF_LIMIT.token.senderRefund : KDF_LIMIT.token.receiverSpend;
            await chain.must({ ...late, gas });
            await chain.anvil.call("evm_revert", [paid]);
            paid = await chain.anvil.call("evm_snapshot");
          }
        });
      }
    }
  });
}
