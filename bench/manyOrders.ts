import { setTimeout as pause } from "node:timers/promises";
import { type DevNode, until } from "../src/devnet/devnet.ts";
import { lastFinishMs, type SwapStatus } from "./support/finishTimes.ts";
import { type KeptRpc, keptRpc } from "./support/keptRpc.ts";
import { processCpu } from "./support/processCpu.ts";
import { processMemory, resetPeak } from "./support/processMemory.ts";
import type { Figure, Question } from "./support/question.ts";
import { BASE, fund, REL, startTradingNet } from "./support/tradingNet.ts";

const ORDERS = 2_000;
const APART_MS = 10;
const EACH = "0.01";
/** Maker orders that offer it all: of 2,000 outputs one payment cannot spend more than some 700, and a taker may want a whole order. */
const OFFERS = 2;
/** Whole coins a side begins with on the chain it pays on; twice what all orders need. */
const FUNDS = 40;
const BLOCK_S = 1;
const DEADLINE_MS = 15 * 60_000;
/** After the last swap, before memory is looked at again. */
const REST_MS = 60_000;
const AIM_MIB = 400;
/** Most swaps in one reply. */
const PAGE = 1_000;
const REFUSALS_SHOWN = 3;

type Ends = {
  readonly succeeded: number;
  readonly failed: number;
  /** Still waiting for a block or for the other side when the run was over. */
  readonly running: number;
  readonly unmatched: number;
  readonly refused: number;
  readonly seconds: number;
};

/** @param look called when all is over, before anything large is asked for: a list of all statuses is 40 MB */
async function takeAll(maker: KeptRpc, taker: KeptRpc, say: (line: string) => void, look: () => void): Promise<Ends> {
  const volume = String((ORDERS * Number(EACH)) / OFFERS);
  for (let i = 0; i < OFFERS; i++) await maker.call("setprice", { base: BASE, rel: REL, price: "1", volume, cancel_previous: false });
  await until("the order", async () =>
    Number((await taker.call("orderbook", { base: BASE, rel: REL })).numasks) === OFFERS ? true : null,
  );
  const startMs = performance.now();
  const orderedMs = Date.now();
  const calls: Promise<string | null>[] = [];
  const refusals = new Set<string>();
  for (let i = 0; i < ORDERS; i++) {
    const call = taker.call("buy", { base: BASE, rel: REL, price: "1", volume: EACH, timeout: 600 });
    calls.push(
      call.then(
        ({ result }) => (result as { uuid: string }).uuid,
        (cause: unknown) => {
          refusals.add(String(cause));
          return null;
        },
      ),
    );
    const early = i * APART_MS - (performance.now() - startMs);
    if (early > 0) await pause(early);
  }
  const uuids = (await Promise.all(calls)).filter((uuid) => uuid !== null);
  say(`${uuids.length} of ${ORDERS} orders taken after ${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
  for (const refusal of [...refusals].slice(0, REFUSALS_SHOWN)) say(refusal);
  const recent = async (): Promise<readonly SwapStatus[]> => {
    const swaps: SwapStatus[] = [];
    for (let page_number = 1; (page_number - 1) * PAGE < ORDERS; page_number++) {
      const { result } = await taker.call("my_recent_swaps", { limit: PAGE, page_number });
      swaps.push(...(result as { swaps: SwapStatus[] }).swaps);
    }
    return swaps;
  };
  const waiting = async (): Promise<number> => {
    const { result } = await taker.call("my_orders");
    return Object.keys((result as { taker_orders: object }).taker_orders).length;
  };
  const active = async (): Promise<number> => ((await taker.call("active_swaps")).uuids as readonly string[]).length;
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    const [open, running] = [await waiting(), await active()];
    say(`${running} swaps running, ${open} orders not matched yet`);
    if (open + running === 0) break;
    await pause(5_000);
  }
  look();
  const swaps = await recent();
  const succeeded = swaps.filter((s) => s.is_success === true).length;
  const failed = swaps.filter((s) => s.is_finished && s.is_success !== true).length;
  const running = swaps.length - succeeded - failed;
  const seconds = (lastFinishMs(swaps) - orderedMs) / 1_000;
  return { succeeded, failed, running, unmatched: uuids.length - swaps.length, refused: ORDERS - uuids.length, seconds };
}

async function run(outputs: number, say: (line: string) => void): Promise<readonly Figure[]> {
  const trading = await startTradingNet(BLOCK_S);
  try {
    const sides = [trading.maker, trading.taker] as const;
    await fund(trading, trading.maker, BASE, FUNDS, outputs);
    await fund(trading, trading.taker, REL, FUNDS, outputs);
    const pids = sides.map((node) => node.process.pid);
    const before = pids.map((pid) => ({ residentMib: processMemory(pid).residentMib, cpuS: processCpu(pid) }));
    for (const pid of pids) resetPeak(pid);
    const clients = sides.map(({ rpc }) => keptRpc(rpc.url, rpc.userpass)) as [KeptRpc, KeptRpc];
    let after: readonly { readonly peakMib: number; readonly cpuS: number }[] = [];
    const look = (): void => {
      after = pids.map((pid) => ({ peakMib: processMemory(pid).peakMib, cpuS: processCpu(pid) }));
    };
    const ends = await takeAll(...clients, say, look).finally(() => {
      for (const client of clients) client.close();
    });
    await pause(REST_MS);
    const label = outputs === 1 ? "one output" : `${outputs} outputs`;
    const ofSide = ({ name, process }: DevNode, i: number): readonly Figure[] => {
      const [was, is] = [before[i], after[i]];
      if (!was || !is) throw new Error("a side without figures");
      const rest = processMemory(process.pid).residentMib;
      const cpuMs = (1_000 * (is.cpuS - was.cpuS)) / Math.max(1, ends.succeeded);
      return [
        { what: `${label}: ${name}, most resident`, value: is.peakMib, unit: "MiB", aim: { atMost: AIM_MIB } },
        { what: `${label}: ${name}, resident a minute later`, value: rest, unit: "MiB", note: `before: ${was.residentMib.toFixed(0)}` },
        {
          what: `${label}: ${name}, processor for each swap`,
          value: cpuMs,
          unit: "ms",
          note: "all threads",
        },
      ];
    };
    const rateNote = "first order to last swap; both nodes, a relay and the chains share the machine";
    return [
      { what: `${label}: swaps succeeded`, value: ends.succeeded, unit: "" },
      { what: `${label}: swaps failed`, value: ends.failed, unit: "", aim: { atMost: 0 } },
      { what: `${label}: swaps that still waited for a block or the other side at the end`, value: ends.running, unit: "" },
      { what: `${label}: orders not matched within their 600 s`, value: ends.unmatched, unit: "", aim: { atMost: 0 } },
      { what: `${label}: orders refused at once`, value: ends.refused, unit: "", aim: { atMost: 0 } },
      { what: `${label}: swaps per second of one node, finished`, value: ends.succeeded / ends.seconds, unit: "/s", note: rateNote },
      ...sides.flatMap(ofSide),
    ];
  } finally {
    await trading.net.stop();
  }
}

/** What many orders at once do to both sides. */
export const question: Question = {
  name: "orders",
  title: `${ORDERS} orders taken ${APART_MS} ms apart on one maker, a block every ${BLOCK_S} s`,
  async ask(say) {
    const out: Figure[] = [];
    for (const outputs of [1, ORDERS]) {
      say(`${outputs} outputs in each wallet`);
      out.push(...(await run(outputs, say)));
    }
    return out;
  },
};
