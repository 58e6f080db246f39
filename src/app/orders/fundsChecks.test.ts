import { afterEach, expect, test } from "vitest";
import { SwapWorld } from "../../../test/fakes/swapWorld.ts";
import { decimal, fromUnits, ONE, ZERO } from "../../core/money/rational.ts";
import { tradePreimage } from "../fees/tradePreimage.ts";
import { checkMakerFunds, checkTakerFunds } from "./fundsChecks.ts";
import type { TradeRules } from "./ordersDeps.ts";

const NO_DEX_FEE = { dexFee: () => ZERO } as unknown as TradeRules;

let world: SwapWorld;
afterEach(() => world.close());

test.each<[string, bigint]>([
  ["0.00000999999", 999n],
  ["0.000000009", 0n],
])("a volume of %s, below dust, is named in whole units by orders and preimages, before any look at the balance", async (text, units) => {
  world = new SwapWorld({ blockSec: null });
  await world.maker.open();
  await world.taker.open();
  const volume = decimal(text);
  // The maker has coins AAA and none of BBB.
  for (const [given, received] of [
    ["AAA", "BBB"],
    ["BBB", "AAA"],
  ] as const) {
    const [coin, other] = [world.maker.coin(given), world.maker.coin(received)];
    const error = { kind: "VolumeTooLow", coin: given, volume: fromUnits(units, 8), threshold: coin.dust };
    const request = { base: coin, rel: other, method: "setprice", price: ONE, volume, max: false, terms: null } as const;
    expect(checkMakerFunds({ coin, other }, volume)).toEqual({ ok: false, error });
    expect(checkTakerFunds(NO_DEX_FEE, { coin, other }, volume)).toEqual({ ok: false, error });
    expect(tradePreimage(request, { rate: ONE, floor: ZERO })).toEqual({ ok: false, error });
  }
});
