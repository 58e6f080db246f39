import { afterEach, expect, test, vi } from "vitest";
import { SimEvmChain } from "../../../sim/world/evm/simEvmChain.ts";
import { HOUR_MS } from "../../../sim/world/simWorld.ts";
import { parseEvmTx } from "../../../src/core/evm/parseTx.ts";
import { type AccountWorld, accountWorld, ETH, match, UTXO } from "../accountTrade.ts";

const SEED = 20_241_124;
const LIMIT_MS = 180_000;
let t: AccountWorld;
afterEach(async () => {
  vi.restoreAllMocks();
  await t.world.close();
});

test(
  "a dex fee that no node ever takes holds up its account until its swap has failed; then its nonce is filled, and swaps go on",
  async () => {
    t = await accountWorld({ seed: SEED });
    const { world, maker, taker } = t;
    const chain = world.accountChain(ETH);
    const honest = SimEvmChain.prototype.send;
    let fee: string | null = null;
    vi.spyOn(SimEvmChain.prototype, "send").mockImplementation(function (this: SimEvmChain, raw) {
      const tx = parseEvmTx(raw);
      if (!tx.ok || tx.value.from !== taker.account) return honest.call(this, raw);
      fee ??= tx.value.txid;
      return tx.value.txid === fee ? { kind: "refused", message: "not this one" } : honest.call(this, raw);
    });
    const first = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the swap comes to nothing", () => maker.outcome(first) !== null && taker.outcome(first) !== null, 2 * HOUR_MS);
    expect(taker.outcome(first)).toBe("failed");
    expect(chain.nonceOf(taker.account)).toBe(0n);
    await world.runUntil("the swap is settled", () => taker.node.swaps.isSettled(first), 600_000);
    expect(chain.nonceOf(taker.account)).toBe(1n);
    const second = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the next one ends", () => maker.outcome(second) !== null && taker.outcome(second) !== null, 2 * HOUR_MS);
    expect([maker.outcome(second), taker.outcome(second)]).toEqual(["success", "success"]);
  },
  LIMIT_MS,
);
