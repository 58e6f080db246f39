import { afterEach, expect, test } from "vitest";
import { decimal } from "../../src/core/money/rational.ts";
import { type AccountWorld, accountWorld, ETH, TOKEN_AT, USDT_AT, UTXO } from "./accountTrade.ts";

const SEED = 20_261_124;
let t: AccountWorld;
afterEach(() => t.world.close());

test("a node asks for no final blocks of an account chain that has none, and for confirmations as before", async () => {
  const tokens = [TOKEN_AT, USDT_AT].map((address) => ({ address, decimals: 6 }));
  t = await accountWorld({ seed: SEED, accountChains: [{ ticker: ETH, chainId: 7n, finalDepth: null, tokens }] });
  expect(t.world.accountChain(ETH).finalized).toBeNull();
  const ask = (relNota: boolean) =>
    t.world.settle(
      t.maker.node.orders.placeMakerOrder({
        ...{ base: UTXO, rel: ETH, price: decimal("1"), volume: decimal("1"), cancelPrevious: true },
        conf: { relNota },
      }),
    );
  expect(await ask(true)).toMatchObject({ ok: false, error: { kind: "ConfirmationsDoNotFit", coin: ETH, neededSec: null } });
  expect(await ask(false)).toMatchObject({ ok: true });
});
