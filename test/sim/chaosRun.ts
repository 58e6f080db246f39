import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { type Rng, randomBelow } from "../../src/ports/rng.ts";
import { isOver, leftovers, purses, wrongs } from "./audit.ts";
import { buy, COINS, offer, type TradingWorld, tradingWorld } from "./trade.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const SWAPS = 2;
const MAX_FAULTS = 4;
/** Faults begin within this of the order. */
const SPAN_MS = 8 * MINUTE_MS;
const LIMIT_MS = 12 * 60 * MINUTE_MS;
/** Tries to enable coins after a crash while their daemon is away, a minute apart. */
const MAX_STARTS = 60;

const KINDS = ["crash", "crash", "down", "stall", "lost_reply", "refused", "reorg", "reorg_forget", "forget", "cut"] as const;
const LASTS_MS = [SECOND_MS, 20 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 40 * MINUTE_MS];

type Fault = {
  readonly atMs: number;
  readonly kind: (typeof KINDS)[number];
  readonly who: Role;
  readonly coin: string;
  readonly forMs: number;
};

export type ChaosRun = {
  /** How each swap ended for maker and taker. */
  readonly ends: readonly string[];
  /** What went wrong, with the faults that led to it; empty when nobody lost. */
  readonly found: readonly string[];
};

function pick<T>(dice: Rng, items: readonly T[]): T {
  const item = items[randomBelow(dice, items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

function drawFaults(dice: Rng, startMs: number): readonly Fault[] {
  const count = 1 + randomBelow(dice, MAX_FAULTS);
  const faults = Array.from({ length: count }, (): Fault => {
    const atMs = startMs + randomBelow(dice, SPAN_MS);
    return {
      atMs,
      kind: pick(dice, KINDS),
      who: pick(dice, ["maker", "taker"] as const),
      coin: pick(dice, COINS),
      forMs: pick(dice, LASTS_MS),
    };
  });
  return faults.sort((a, b) => a.atMs - b.atMs);
}

/** Begins a fault. @returns when a crashed node is to be started again, unix ms; null for everything else */
async function begin({ world, ...roles }: TradingWorld, { kind, who, coin, forMs }: Fault): Promise<number | null> {
  const node = roles[who];
  switch (kind) {
    case "crash":
      if (!node.isRunning) return null;
      node.crash();
      return world.clock.nowMs() + forMs;
    case "down":
      await node.daemonFault(coin, { kind: "http_500", forMs });
      return null;
    case "stall":
      await node.daemonFault(coin, { kind: "stall", forMs });
      return null;
    case "lost_reply":
      await node.daemonFault(coin, { kind: "lost_reply", count: 2 });
      return null;
    case "refused":
      await node.daemonFault(coin, { kind: "refuse_broadcast", forMs });
      return null;
    case "reorg":
      world.chain(coin).reorg(1);
      return null;
    case "reorg_forget": {
      const { chain } = world.chain(coin);
      world.chain(coin).reorg(
        1,
        chain.state.tip.block.txs.slice(1).map((t) => t.txid),
      );
      return null;
    }
    case "forget":
      await node.daemonFault(coin, { kind: "forget" });
      return null;
    case "cut":
      if (!node.isRunning) return null;
      world.net.cut(node.p2p.peerId, world.node("relay").p2p.peerId);
      world.clock.after(forMs, () => world.net.heal());
      return null;
  }
}

/** Starts a node as an operator would: again and again while a daemon is away. */
async function restart({ world, ...roles }: TradingWorld, who: Role): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await roles[who].start(COINS);
    } catch (cause) {
      if (tries >= MAX_STARTS) throw cause;
      roles[who].crash();
      await world.advance(MINUTE_MS);
    }
  }
}

async function swapUnderFaults(t: TradingWorld, dice: Rng): Promise<ChaosRun> {
  const { world, maker, taker } = t;
  const nodes = [maker, taker];
  await world.runUntil("both have a relay", () => nodes.every((n) => n.p2p.relays().length > 0), LIMIT_MS);
  const before = purses(t);
  await offer(world, maker, "4", "0.5");
  const uuid = await buy(world, taker, "4", "0.5");
  const startMs = world.clock.nowMs();
  const faults = drawFaults(dice, startMs);
  const waiting = [...faults];
  const starts = new Map<Role, number>();
  while (waiting.length > 0 || starts.size > 0) {
    const [first] = [...starts].sort((a, b) => a[1] - b[1]);
    const fault = waiting[0];
    if (first && (!fault || first[1] <= fault.atMs)) {
      await world.clock.run({ untilMs: first[1] });
      starts.delete(first[0]);
      await restart(t, first[0]);
    } else if (fault) {
      waiting.shift();
      await world.clock.run({ untilMs: fault.atMs });
      const backMs = await begin(t, fault);
      if (backMs !== null) starts.set(fault.who, backMs);
    }
  }
  await world.runUntil("the swap ends", () => world.clock.nowMs() - startMs > 3 * MINUTE_MS && isOver(t, uuid), LIMIT_MS);
  for (const n of nodes) {
    await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
    for (const coin of COINS) await n.daemonFault(coin, { kind: "clear" });
  }
  await world.advance(20 * MINUTE_MS);
  const found = [...wrongs(t, uuid, before), ...leftovers(t)];
  const story = faults.map((f) => `${(f.atMs - startMs) / SECOND_MS} s: ${f.kind} ${f.who} ${f.coin} for ${f.forMs / SECOND_MS} s`);
  return { ends: [`${maker.outcome(uuid)} ${taker.outcome(uuid)}`], found: found.length > 0 ? [...found, ...story] : [] };
}

/** Two swaps in a world where crashes, daemon faults, reorgs of depth 1 and dead lines come as the seed says. */
export async function chaosRun(seed: number): Promise<ChaosRun> {
  const dice = seededRng(seed);
  const t = await tradingWorld({ seed, pollMs: 10 * SECOND_MS, confirmations: 1 + randomBelow(dice, 2) });
  const runs: ChaosRun[] = [];
  for (let n = 0; n < SWAPS; n++) runs.push(await swapUnderFaults(t, dice));
  await t.world.close();
  return { ends: runs.flatMap((r) => r.ends), found: runs.flatMap((r) => r.found) };
}
