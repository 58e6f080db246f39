import { afterEach, expect, test } from "vitest";
import { ownTxOf } from "../../sim/run/swapBook.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { SwapEvent } from "../../src/core/swap/events.ts";
import { books, outcomes } from "./accountAudit.ts";
import { audit } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";
import { diesOnceAfter } from "./crashPoint.ts";

const TIMEOUT_MS = 120_000;
const NO_UTXO = ALL.filter((coin) => coin !== UTXO);

let t: AccountWorld;
afterEach(() => t.world.close());

/** How far a payment came before its node died. */
type Step = "marked" | "taken" | "mined";

const isAt = (step: Step, e: SwapEvent): boolean => {
  if (e.type === "tx_attempted") return step === "marked" && e.slot === "takerPayment";
  return e.type === "tx_seen" && e.slot === "takerPayment" && (step === "mined" ? e.block !== null : step === "taken");
};

/**
 * A taker that died right after the mark of its payment, once a node had taken that and dropped it, or once it was in a block that a reorganisation
 * took away, and a maker whose own has gone with one and that is away.
 */
async function diedAt(
  step: Step,
): Promise<{ readonly uuid: string; readonly before: ReturnType<typeof books>; readonly isPaid: () => boolean }> {
  t = await accountWorld({ seed: 20_261_129, pollMs: 15_000 });
  const { maker, taker, world } = t;
  const before = books(t);
  const hasDied = diesOnceAfter(taker, (event) => isAt(step, event));
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await world.runUntil("the mark", hasDied, HOUR_MS);
  maker.crash();
  const own = [...maker.events(uuid), ...taker.events(uuid)].flatMap((e) => ownTxOf(e) ?? []);
  const idOf = (slot: string): string => own.find((tx) => tx.slot === slot)?.txid ?? "";
  const { chain } = world.chain(UTXO);
  const height = chain.state.blockOfTx(idOf("makerPayment"))?.height ?? Number.NaN;
  const depth = chain.state.tip.height - height + 1;
  chain.reorg({ depth, blocks: depth + 1, forget: [idOf("makerPayment")] });
  const accounts = world.accountChain(ETH);
  const mined = accounts.find(idOf("takerPayment"))?.block;
  if (mined) expect(accounts.reorg(accounts.tip.height - mined.height + 1, { forget: [idOf("takerPayment")] }).ok).toBe(true);
  accounts.pool.remove(idOf("takerPayment"));
  return { uuid, before, isPaid: () => accounts.find(idOf("takerPayment")) !== undefined };
}

test.each([
  ["that never left", "the swap goes on once it runs, and the maker's is back", "marked", 5, "success success"],
  ["that never left", "past the time of the maker's both are taken back", "marked", 10, "cancelled cancelled"],
  ["that a node took and dropped", "the swap goes on once it runs, and the maker's is back", "taken", 5, "success success"],
  ["that two reorganisations took with it", "the swap goes on once it runs, and the maker's is back", "mined", 5, "success success"],
] as const)(
  "a taker's payment %s stays home while its swap waits for its other coin, where nobody sees the maker's: %s",
  async (_, __, step, minutes, ends) => {
    const { uuid, before, isPaid } = await diedAt(step);
    const { maker, taker, world } = t;
    await taker.start(NO_UTXO);
    await world.advance((minutes * HOUR_MS) / 60);
    expect(isPaid()).toBe(false);
    taker.crash();
    for (const node of [maker, taker]) await node.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe(ends);
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);
