import { setTimeout as pause } from "node:timers/promises";
import { type DevNode, type Devnet, startDevnet, until } from "../src/devnet/devnet.ts";
import { parseTopology } from "../src/devnet/topology.ts";
import { type KeptRpc, keptRpc } from "./support/keptRpc.ts";
import { processMemory } from "./support/processMemory.ts";
import type { Figure, Question } from "./support/question.ts";

const ORDERS = 2_000;
const APART_MS = 10;
const BASE = "DOC";
const REL = "MARTY";
const EACH = "0.01";
/** Whole coins a side begins with on the chain it pays on; twice what all orders need. */
const FUNDS = 40;
const BLOCK_S = 1;
const DEADLINE_MS = 15 * 60_000;
const SAMPLE_MS = 500;
/** After the last swap, before memory is looked at again. */
const REST_MS = 60_000;
const AIM_MIB = 400;
/** Most swaps in one reply. */
const PAGE = 1_000;
const REFUSALS_SHOWN = 3;

const coin = (ticker: string) => ({
  coin: ticker,
  mm2: 1,
  is_testnet: true,
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  txfee: 1_000,
  required_confirmations: 1,
  avg_blocktime: BLOCK_S,
  protocol: { type: "UTXO" },
});

function topology(): ReturnType<typeof parseTopology> {
  const side = (name: string) => ({ name, enable: [BASE, REL], fund: { [BASE]: "1", [REL]: "1" } });
  return parseTopology(
    JSON.stringify({
      coins: [coin(BASE), coin(REL)],
      block_time_s: BLOCK_S,
      nodes: [{ name: "seed", seed: true }, side("maker"), side("taker")],
    }),
  );
}

/** Pays a node `outputs` equal parts of the funds. */
async function fund(net: Devnet, node: DevNode, ticker: string, outputs: number): Promise<void> {
  const chain = net.chains.get(ticker);
  const part = (FUNDS / outputs).toFixed(8);
  for (let i = 0; i < outputs; i++) await chain?.fund(node.addresses[ticker] ?? "", part);
  await until(`${node.name} has its ${ticker}`, async () =>
    Number((await node.rpc.call("my_balance", { coin: ticker })).balance) >= FUNDS ? true : null,
  );
}

type Peak = { maker: number; taker: number };

/** Looks at both processes until `done`. @returns the most each had, MiB */
async function watchMemory(maker: DevNode, taker: DevNode, done: () => boolean): Promise<Peak> {
  const peak = { maker: 0, taker: 0 };
  while (!done()) {
    peak.maker = Math.max(peak.maker, processMemory(maker.process.pid).residentMib);
    peak.taker = Math.max(peak.taker, processMemory(taker.process.pid).residentMib);
    await pause(SAMPLE_MS);
  }
  return peak;
}

type Ends = {
  readonly succeeded: number;
  readonly failed: number;
  readonly unmatched: number;
  readonly refused: number;
  readonly seconds: number;
};

async function takeAll(maker: KeptRpc, taker: KeptRpc, say: (line: string) => void): Promise<Ends> {
  await maker.call("setprice", { base: BASE, rel: REL, price: "1", volume: String(ORDERS * Number(EACH)) });
  await until("the order", async () => (Number((await taker.call("orderbook", { base: BASE, rel: REL })).numasks) > 0 ? true : null));
  const startMs = performance.now();
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
  const recent = async (): Promise<readonly { is_finished: boolean; is_success?: boolean }[]> => {
    const pages = Array.from({ length: Math.ceil(ORDERS / PAGE) }, (_, i) => i + 1);
    const replies = await Promise.all(pages.map((page_number) => taker.call("my_recent_swaps", { limit: PAGE, page_number })));
    return replies.flatMap(({ result }) => (result as { swaps: { is_finished: boolean; is_success?: boolean }[] }).swaps);
  };
  const waiting = async (): Promise<number> => {
    const { result } = await taker.call("my_orders");
    return Object.keys((result as { taker_orders: object }).taker_orders).length;
  };
  const deadline = performance.now() + DEADLINE_MS;
  let swaps = await recent();
  while (performance.now() < deadline) {
    const open = await waiting();
    swaps = await recent();
    say(
      `${swaps.filter((s) => s.is_finished).length} finished, ${swaps.filter((s) => !s.is_finished).length} running, ${open} not matched yet`,
    );
    if (open === 0 && swaps.every((s) => s.is_finished)) break;
    await pause(5_000);
  }
  const succeeded = swaps.filter((s) => s.is_success === true).length;
  const failed = swaps.filter((s) => s.is_finished && s.is_success !== true).length;
  const seconds = (performance.now() - startMs) / 1_000;
  return { succeeded, failed, unmatched: uuids.length - succeeded - failed, refused: ORDERS - uuids.length, seconds };
}

async function run(outputs: number, say: (line: string) => void): Promise<readonly Figure[]> {
  const parsed = topology();
  if (!parsed.ok) throw new Error(parsed.error);
  const net = await startDevnet({ topology: parsed.value, keepDataDir: null, say: () => undefined });
  try {
    const [maker, taker] = [net.nodes.get("maker"), net.nodes.get("taker")];
    if (!maker || !taker) throw new Error("the network lacks its maker or taker");
    await fund(net, maker, BASE, outputs);
    await fund(net, taker, REL, outputs);
    const before = { maker: processMemory(maker.process.pid).residentMib, taker: processMemory(taker.process.pid).residentMib };
    let over = false;
    const watched = watchMemory(maker, taker, () => over);
    const clients = [maker, taker].map(({ rpc }) => keptRpc(rpc.url, rpc.userpass)) as [KeptRpc, KeptRpc];
    const ends = await takeAll(...clients, say).finally(() => {
      over = true;
      for (const client of clients) client.close();
    });
    const peak = await watched;
    await pause(REST_MS);
    const rest = { maker: processMemory(maker.process.pid).residentMib, taker: processMemory(taker.process.pid).residentMib };
    const label = outputs === 1 ? "one output" : `${outputs} outputs`;
    return [
      { what: `${label}: swaps succeeded`, value: ends.succeeded, unit: "" },
      { what: `${label}: swaps failed`, value: ends.failed, unit: "", aim: { atMost: 0 } },
      { what: `${label}: orders not matched within their 600 s`, value: ends.unmatched, unit: "" },
      { what: `${label}: orders refused at once`, value: ends.refused, unit: "" },
      { what: `${label}: swaps finished per second, both sides`, value: ends.succeeded / ends.seconds, unit: "/s" },
      { what: `${label}: maker, most resident`, value: peak.maker, unit: "MiB", aim: { atMost: AIM_MIB } },
      { what: `${label}: taker, most resident`, value: peak.taker, unit: "MiB", aim: { atMost: AIM_MIB } },
      { what: `${label}: maker, resident a minute later`, value: rest.maker, unit: "MiB", note: `before: ${before.maker.toFixed(0)}` },
      { what: `${label}: taker, resident a minute later`, value: rest.taker, unit: "MiB", note: `before: ${before.taker.toFixed(0)}` },
    ];
  } finally {
    await net.stop();
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
