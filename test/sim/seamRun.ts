import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { isOver, purses, wrongs } from "./audit.ts";
import { COINS, match, tradingWorld } from "./trade.ts";

export type SeamRun = {
  readonly outcomes: readonly (string | null)[];
  /** What went wrong with the money; empty when nobody lost. */
  readonly wrongs: readonly string[];
  readonly traceHash: string;
  /** Things that happened: swap events, gossip messages, blocks. */
  readonly traceLength: number;
  readonly virtualHours: number;
  readonly realMs: number;
  /** Processor time of this process in it: the figure that counts on a busy machine. */
  readonly cpuMs: number;
};

/**
 * The simulator seam: two whole nodes, two chains and a relay in this process. One swap succeeds; in a second one the
 * maker goes away after the taker has paid and comes back when the taker has taken its money back.
 */
export async function seamRun(seed: number): Promise<SeamRun> {
  const realStart = performance.now();
  const cpuStart = process.cpuUsage();
  const t = await tradingWorld({ seed, pollMs: 30_000, blockTimeMs: 180_000 });
  const { world, maker, taker } = t;
  const startMs = world.clock.nowMs();
  const limitMs = 8 * HOUR_MS;
  const before = purses(t);
  const first = await match(t, "4", "0.5");
  await world.runUntil("the first swap ends", () => isOver(t, first), limitMs);
  const found = [...wrongs(t, first, before)];
  const between = purses(t);
  const second = await match(t, "3", "0.5");
  await world.runUntil("the taker pays", () => taker.has(second, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
  maker.crash();
  await world.runUntil("the taker has its money back", () => taker.outcome(second) !== null, limitMs);
  await maker.start(COINS);
  await world.runUntil("the maker has its money back", () => maker.outcome(second) !== null, limitMs);
  found.push(...wrongs(t, second, between));
  const traceHash = world.traceHash();
  const cpu = process.cpuUsage(cpuStart);
  const run: SeamRun = {
    outcomes: [first, second].flatMap((uuid) => [maker.outcome(uuid), taker.outcome(uuid)]),
    wrongs: found,
    traceHash,
    traceLength: world.trace.count,
    virtualHours: (world.clock.nowMs() - startMs) / HOUR_MS,
    realMs: performance.now() - realStart,
    cpuMs: (cpu.user + cpu.system) / 1_000,
  };
  await world.close();
  return run;
}
