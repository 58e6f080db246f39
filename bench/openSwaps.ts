import { setTimeout as pause } from "node:timers/promises";
import { type DevNode, until } from "../src/devnet/devnet.ts";
import { type KeptRpc, keptRpc } from "./support/keptRpc.ts";
import { type Collected, NodeLogs, preloadMemoryProbe } from "./support/nodeLogs.ts";
import { processCpu } from "./support/processCpu.ts";
import type { Figure, Question } from "./support/question.ts";
import { BASE, fund, REL, startTradingNet, type TradingNet } from "./support/tradingNet.ts";

/** The first swaps compile the code that all of them run: memory is compared with a node that has these open already. */
const FIRST = 100;
const SWAPS = 1_000;
const EACH = "0.01";
/** Whole coins a side begins with on the chain it pays on, and the outputs they are in: two swaps in a row hang on each of them. */
const FUNDS = 50;
const OUTPUTS = 500;
const BLOCK_S = 1;
const AIM_KB = 50;
const AIM_RESTART_S = 5;
const OPEN_DEADLINE_MS = 15 * 60_000;
const RESUME_DEADLINE_MS = 5 * 60_000;
/** Without a stored event of any swap: all of them stand. */
const QUIET_MS = 6_000;
const SAY_MS = 10_000;
const LOOK_MS = 200;

type World = TradingNet & { readonly logs: NodeLogs };

async function activeUuids({ rpc }: DevNode): Promise<readonly string[]> {
  const { uuids } = await rpc.call("active_swaps");
  return uuids as readonly string[];
}

async function mempoolSize({ net }: World, ticker: string): Promise<number> {
  const txids = await net.chains.get(ticker)?.daemon.call("getrawmempool");
  return Array.isArray(txids) ? txids.length : 0;
}

/** No block comes from here on: every swap waits for its first confirmation. */
async function stopBlocks({ net }: World): Promise<void> {
  for (const chain of net.chains.values()) await chain.daemon.call("chain_autoMine", [{ intervalMs: null }]);
}

async function memoryOf(world: World, node: DevNode): Promise<Collected> {
  await until("the swaps stand", async () => (world.logs.quietMs() > QUIET_MS ? true : null));
  return world.logs.collected(node);
}

async function offerAll(maker: KeptRpc, taker: KeptRpc): Promise<void> {
  await maker.call("setprice", { base: BASE, rel: REL, price: "1", volume: String(SWAPS * Number(EACH)) });
  await until("the order", async () => (Number((await taker.call("orderbook", { base: BASE, rel: REL })).numasks) > 0 ? true : null));
}

async function ordersWaiting(taker: KeptRpc): Promise<number> {
  const { result } = await taker.call("my_orders");
  return Object.keys((result as { taker_orders: object }).taker_orders).length;
}

/**
 * Takes orders until `total` swaps are open; orders that end without a match are placed again.
 * @returns seconds until each swap has its dex fee and its maker payment in the mempools
 */
async function openUpTo(total: number, world: World, taker: KeptRpc, say: (line: string) => void): Promise<number> {
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1_000;
  const order = { base: BASE, rel: REL, price: "1", volume: EACH, timeout: OPEN_DEADLINE_MS / 1_000 };
  let placedMs = Number.NEGATIVE_INFINITY;
  for (let saidMs = startMs; ; await pause(LOOK_MS)) {
    const [payments, fees] = [await mempoolSize(world, BASE), await mempoolSize(world, REL)];
    if (payments >= total && fees >= total) return seconds();
    if (seconds() * 1_000 > OPEN_DEADLINE_MS)
      throw new Error(`only ${payments} maker payments and ${fees} dex fees after ${seconds().toFixed(0)} s`);
    const isQuiet = Math.min(world.logs.quietMs(), performance.now() - placedMs) > QUIET_MS;
    if (isQuiet && (await ordersWaiting(taker)) === 0) {
      const missing = total - (await activeUuids(world.taker)).length;
      placedMs = performance.now();
      await Promise.all(Array.from({ length: missing }, () => taker.call("buy", order)));
      say(`${missing} orders placed after ${seconds().toFixed(1)} s`);
    }
    if (performance.now() - saidMs < SAY_MS) continue;
    saidMs = performance.now();
    say(`${fees} dex fees and ${payments} maker payments after ${seconds().toFixed(0)} s`);
  }
}

/** Kills a node, starts it again, enables its coins, and waits until it has taken up every swap it had. */
async function restart({ net, logs }: World, old: DevNode, say: (line: string) => void): Promise<readonly Figure[]> {
  const open = new Set(await activeUuids(old));
  if (open.size !== SWAPS) throw new Error(`${old.name} has ${open.size} open swaps`);
  old.process.kill("SIGKILL");
  await old.process.exited;
  const startMs = performance.now();
  const node = await net.restart(old.name);
  const answerS = (performance.now() - startMs) / 1_000;
  await net.enableCoins(node);
  const enabledS = (performance.now() - startMs) / 1_000;
  await until(
    `${node.name} resumes its swaps`,
    async () => (logs.resumed(node.name).swaps.size >= SWAPS ? true : null),
    RESUME_DEADLINE_MS,
  );
  const cpuS = processCpu(node.process.pid);
  const { swaps, lastMs } = logs.resumed(node.name);
  const active = await activeUuids(node);
  if (active.length !== SWAPS || ![...open].every((uuid) => swaps.has(uuid) && active.includes(uuid)))
    throw new Error(`${node.name} took up ${swaps.size} swaps and lists ${active.length}, not those it had`);
  const resumedS = (lastMs - startMs) / 1_000;
  say(`${node.name}: RPC after ${answerS.toFixed(2)} s, coins after ${enabledS.toFixed(2)} s, all swaps after ${resumedS.toFixed(2)} s`);
  const note = `RPC answers after ${answerS.toFixed(1)} s, coins are enabled after ${enabledS.toFixed(1)} s; ${cpuS.toFixed(1)} s of processor`;
  return [{ what: `${node.name}: kill -9 and start to all resumed`, value: resumedS, unit: "s", aim: { atMost: AIM_RESTART_S }, note }];
}

function perSwap(who: string, before: Collected, after: Collected): readonly Figure[] {
  const kb = (of: keyof Collected): number => (after[of] - before[of]) / (SWAPS - FIRST) / 1_000;
  const mb = (of: keyof Collected): string =>
    `${(before[of] / 1e6).toFixed(1)} MB with ${FIRST}, ${(after[of] / 1e6).toFixed(1)} MB with ${SWAPS}`;
  return [
    { what: `${who}: heap of one open swap`, value: kb("heap"), unit: "kB", aim: { atMost: AIM_KB }, note: mb("heap") },
    { what: `${who}: resident for one open swap`, value: kb("resident"), unit: "kB", aim: { atMost: AIM_KB }, note: mb("resident") },
  ];
}

async function measure(world: World, say: (line: string) => void): Promise<readonly Figure[]> {
  const { maker, taker } = world;
  say(`${OUTPUTS} outputs for each side`);
  await fund(world, maker, BASE, FUNDS, OUTPUTS);
  await fund(world, taker, REL, FUNDS, OUTPUTS);
  await stopBlocks(world);
  const sides = [maker, taker] as const;
  const memory = async (): Promise<readonly [Collected, Collected]> => [await memoryOf(world, maker), await memoryOf(world, taker)];
  const cpu = (): readonly number[] => sides.map(({ process }) => processCpu(process.pid));
  const clients = [keptRpc(maker.rpc.url, maker.rpc.userpass), keptRpc(taker.rpc.url, taker.rpc.userpass)] as const;
  const opened = await (async () => {
    await offerAll(...clients);
    await openUpTo(FIRST, world, clients[1], say);
    const [before, cpuBefore] = [await memory(), cpu()];
    const seconds = await openUpTo(SWAPS, world, clients[1], say);
    const cpuMs = cpu().map((s, i) => (1_000 * (s - (cpuBefore[i] ?? 0))) / (SWAPS - FIRST));
    return { before, seconds, cpuMs };
  })().finally(() => {
    for (const client of clients) client.close();
  });
  const { before, seconds } = opened;
  const [makerMs, takerMs] = opened.cpuMs.map((ms) => ms.toFixed(1));
  say(`${SWAPS} swaps open, the last ${SWAPS - FIRST} in ${seconds.toFixed(1)} s`);
  const after = await memory();
  const out: Figure[] = [...perSwap("maker", before[0], after[0]), ...perSwap("taker", before[1], after[1])];
  out.push(...(await restart(world, maker, say)), ...(await restart(world, taker, say)));
  const note = `processor for each: maker ${makerMs} ms, taker ${takerMs} ms`;
  out.push({ what: "swaps per second until they wait for a block", value: (SWAPS - FIRST) / seconds, unit: "/s", note });
  return out;
}

/** What open swaps cost, and how long a node that has many takes to be back. */
export const question: Question = {
  name: "open",
  title: `${SWAPS} open swaps that all wait for a block, in real node processes`,
  async ask(say) {
    preloadMemoryProbe();
    const logs = new NodeLogs(() => performance.now());
    const trading = await startTradingNet(BLOCK_S, (node, line) => logs.read(node, line));
    try {
      return await measure({ ...trading, logs }, say);
    } finally {
      const troubles = [...logs.troubles].map(([event, count]) => `${event} ${count}`);
      if (troubles.length > 0) say(`warnings and errors: ${troubles.join(", ")}`);
      await trading.net.stop();
    }
  },
};
