import { test } from "vitest";
import { noAnvil, noAnvilReason } from "../../support/anvil.ts";
import { ETH, TOKEN, UTXO, withAccountNetwork } from "./accountNetwork.ts";
import { killAtEachEvent } from "./everyKill.ts";

/** Each side bids by the tips of recent blocks, which here only the two pay: they climb from swap to swap. */
const GAS = "0.2";
/** Both legs on the account chain: every payment, claim and allowance goes through the nonces of one account. */
const TRADE = { base: ETH, rel: TOKEN, price: "1.5", volume: "0.5", taken: "0.5", by: "buy" } as const;
/** Blocks whose tips count for the next bid, or more. */
const QUIET_BLOCKS = 25;

/** A file of its own for each side: a third of an hour is too long for one. */
export function testAccountKills(who: "maker" | "taker"): void {
  test.skipIf(noAnvil)(
    `ETH for ERC-20 on anvil: a ${who} killed at each event it stores finishes every swap after it is started again${noAnvilReason}`,
    () =>
      withAccountNetwork({}, (network, anvil) => {
        // Tips are bid by what recent blocks paid, and on this chain nobody but the two nodes pays any.
        const between = () => anvil.mine(QUIET_BLOCKS);
        return killAtEachEvent(network, { who, trade: TRADE, coins: [UTXO, ETH, TOKEN], minerFees: GAS, between });
      }),
    1_200_000,
  );
}
