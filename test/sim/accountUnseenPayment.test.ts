import { afterEach, expect, test } from "vitest";
import { ownTxOf } from "../../sim/run/swapBook.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { books, outcomes } from "./accountAudit.ts";
import { audit } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";

const TIMEOUT_MS = 120_000;
const NO_UTXO = ALL.filter((coin) => coin !== UTXO);

let t: AccountWorld;
afterEach(() => t.world.close());

/**
 * A taker that died right after the mark of its payment, or once a node had taken that and dropped it, and a maker whose own has gone with a reorganisation and
 * that is away.
 */
async function diedAt(
  step: "tx_attempted" | "tx_seen",
): Promise<{ readonly uuid: string; readonly before: ReturnType<typeof books>; readonly isPaid: () => boolean }> {
  t = await accountWorld({ seed: 20_261_129, pollMs: 15_000 });
  const { maker, taker, world } = t;
  const before = books(t);
  let died = false;
  taker.storeFault = (_uuid, { event }) => {
    if (died || event.type !== step || event.slot !== "takerPayment") return undefined;
    died = true;
    return "crash_after";
  };
  const uuid = await match(t, UTXO, ETH, "4", "0.5");
  await world.runUntil("the mark", () => died, HOUR_MS);
  maker.crash();
  const own = [...maker.events(uuid), ...taker.events(uuid)].flatMap((e) => ownTxOf(e) ?? []);
  const idOf = (slot: string): string => own.find((tx) => tx.slot === slot)?.txid ?? "";
  const { chain } = world.chain(UTXO);
  const height = chain.state.blockOfTx(idOf("makerPayment"))?.height ?? Number.NaN;
  const depth = chain.state.tip.height - height + 1;
  chain.reorg({ depth, blocks: depth + 1, forget: [idOf("makerPayment")] });
  const accounts = world.accountChain(ETH);
  accounts.pool.remove(idOf("takerPayment"));
  return { uuid, before, isPaid: () => accounts.find(idOf("takerPayment")) !== undefined };
}

test.each([
  ["that never left", "the swap goes on once it runs, and the maker's is back", "tx_attempted", 5, "success success"],
  ["that never left", "past the time of the maker's both are taken back", "tx_attempted", 10, "cancelled cancelled"],
  ["that a node took and dropped", "the swap goes on once it runs, and the maker's is back", "tx_seen", 5, "success success"],
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
