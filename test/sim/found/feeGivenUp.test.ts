import { expect, test } from "vitest";
import type { Fault } from "../../../sim/run/faults.ts";
import { DEFAULTS, type SimRunOptions } from "../../../sim/run/options.ts";
import { simRun } from "../../../sim/run/simRun.ts";

const WORLD: SimRunOptions = { ...DEFAULTS, seed: 3, makers: 1, takers: 1, coins: 1, accounts: 2, faults: 0, reorg: 0 };
const REFUSED_MS = 18_000_000;
const LIMIT_MS = 180_000;

// Called inside, so that every rule holds.
const FAULTS: readonly Fault[] = [
  { id: 0, atMs: 0, node: "taker0", coin: "ETHX", kind: "daemon_refuses", forMs: REFUSED_MS, envelope: "inside" },
  { id: 1, atMs: 60_000, coin: "ETHX", kind: "drought", forMs: 120_000, envelope: "inside" },
  { id: 2, atMs: 150_000, coin: "ETHX", kind: "forget", all: true, envelope: "inside" },
];

/**
 * A taker's nodes of an account chain refused everything for five hours. Its dex fee went out by its maker, the pools forgot it, and its
 * swap came to nothing. Past the later lock the fee counted as lost and its nonce as free. The next swap signed with it: a fee of the
 * same size is the very same transaction, which the maker refuses as used; another one could be shut out by whoever has the first.
 */
test(
  "the nonce of a dex fee that was out and is refused for hours goes to no other swap",
  async () => {
    const trade = (id: number, atMs: number, milli: number) =>
      ({ id, atMs, milli, taker: 0, action: "Buy", base: "SEG", rel: "TOK-ETHX" }) as const;
    const trades = [trade(0, 60_000, 100), trade(1, REFUSED_MS - 60_000, 100), trade(2, REFUSED_MS - 50_000, 150)];
    const run = await simRun(WORLD, { trades, faults: FAULTS });
    expect(run.violations).toEqual([]);
    expect([...run.swaps.values()].map(({ sides }) => sides.taker?.state.finished)).toEqual(["failed", "success", "success"]);
  },
  LIMIT_MS,
);
