import { setTimeout as pause } from "node:timers/promises";
import { type LoneNode, type Program, programs, startLoneNode } from "./support/loneNode.ts";
import { TRAFFIC_PAIRS } from "./support/orderTraffic.ts";
import { type ProcessMemory, processMemory } from "./support/processMemory.ts";
import type { Aim, Figure, Question } from "./support/question.ts";
import { prepareTraffic } from "./support/traffic.ts";

const IDLE_MS = 10_000;
/** Decimal megabytes, as everything here. */
const AIM = { atMost: 120 };
const MB_PER_MIB = 1.048_576;
/** Peers × keys × messages: every message of a key is a new order. */
const ORDERS = { peers: 2, keys: 1_000, perKey: 5 };
const BOOK_DEADLINE_MS = 60_000;

function figures(what: string, { residentMib, privateMib }: ProcessMemory, aim?: Aim): readonly Figure[] {
  return [
    { what: `${what}: resident`, value: residentMib * MB_PER_MIB, unit: "MB", ...(aim ? { aim } : {}) },
    {
      what: `${what}: heap and other private`,
      value: privateMib * MB_PER_MIB,
      unit: "MB",
      note: "the rest is the Node binary, shared by all its processes",
    },
  ];
}

async function idle(node: LoneNode): Promise<ProcessMemory> {
  await pause(IDLE_MS);
  return processMemory(node.pid);
}

/** Follows all pairs, takes 10,000 orders of others, and is idle again. */
async function withBook(program: Program, isSeed: boolean): Promise<ProcessMemory> {
  const traffic = await prepareTraffic(ORDERS);
  const node = await startLoneNode({ program, isSeed, seednodes: traffic.relays, tickers: TRAFFIC_PAIRS.flat() });
  try {
    const count = async (): Promise<number> => {
      let orders = 0;
      for (const [base, rel] of TRAFFIC_PAIRS) orders += Number((await node.rpc.call("orderbook", { base, rel })).numasks);
      return orders;
    };
    const deadline = performance.now() + BOOK_DEADLINE_MS;
    while (Object.keys((await node.rpc.call("get_directly_connected_peers")).result as object).length < ORDERS.peers) await pause(100);
    await count();
    await traffic.go();
    while ((await count()) < traffic.total) {
      if (performance.now() > deadline) throw new Error(`the book has ${await count()} orders, not ${traffic.total}`);
      await pause(500);
    }
    return await idle(node);
  } finally {
    traffic.stop();
    await node.stop();
  }
}

/** What a node costs that does nothing, alone and with a large book. */
export const question: Question = {
  name: "memory",
  title: "Idle memory of a node, 10 s after its last work",
  async ask(say) {
    const out: Figure[] = [];
    for (const program of programs()) {
      for (const isSeed of [false, true]) {
        const what = `${isSeed ? "seed" : "light node"}, from ${program}`;
        say(what);
        // Twice: the first start after a change of the sources fills Node's cache of stripped files.
        await (await startLoneNode({ program, isSeed })).stop();
        const node = await startLoneNode({ program, isSeed });
        out.push(...figures(what, await idle(node), AIM));
        await node.stop();
      }
    }
    for (const isSeed of [false, true]) {
      const what = `${isSeed ? "seed" : "light node"} with 10,000 orders`;
      say(what);
      out.push(...figures(what, await withBook("checkout", isSeed)));
    }
    return out;
  },
};
