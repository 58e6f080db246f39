import { Agent, request } from "node:http";
import { type LoneNode, startLoneNode } from "./support/loneNode.ts";
import { TRAFFIC_PAIRS } from "./support/orderTraffic.ts";
import type { Figure, Question } from "./support/question.ts";
import { prepareTraffic } from "./support/traffic.ts";

const MEASURE_MS = 3_000;
/** Connections that ask one request after another. */
const CLIENTS = 8;
/** Orders in the pair that is asked for. */
const ORDERS = { peers: 1, keys: 400, perKey: 5 };

function ask(agent: Agent, url: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: "POST", agent }, (reply) => {
      reply.resume();
      reply.on("end", () => (reply.statusCode === 200 ? resolve() : reject(new Error(`HTTP ${reply.statusCode}`))));
    });
    call.on("error", reject);
    call.end(body);
  });
}

async function perSecond({ rpc }: LoneNode, method: string, params: Record<string, unknown>): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const body = JSON.stringify({ userpass: rpc.userpass, method, ...params });
  const endMs = performance.now() + MEASURE_MS;
  let calls = 0;
  const startMs = performance.now();
  const client = async (): Promise<void> => {
    for (; performance.now() < endMs; calls++) await ask(agent, rpc.url, body);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  agent.destroy();
  return (1_000 * calls) / (performance.now() - startMs);
}

/** How many calls a node answers; the client shares the machine with it. */
export const question: Question = {
  name: "rpc",
  title: `RPC calls answered, ${CLIENTS} connections`,
  async ask(say) {
    const traffic = await prepareTraffic(ORDERS);
    const node = await startLoneNode({ program: "checkout", isSeed: false, seednodes: traffic.relays, tickers: TRAFFIC_PAIRS.flat() });
    try {
      const [base, rel] = TRAFFIC_PAIRS[0] ?? ["C0", "C1"];
      const book = { base, rel };
      const out: Figure[] = [];
      say("version");
      out.push({ what: "version", value: await perSecond(node, "version", {}), unit: "/s" });
      await node.rpc.call("orderbook", book);
      say("orderbook");
      out.push({ what: "orderbook of an empty pair", value: await perSecond(node, "orderbook", book), unit: "/s" });
      await traffic.go();
      const wanted = traffic.total / TRAFFIC_PAIRS.length;
      while (Number((await node.rpc.call("orderbook", book)).numasks) < wanted) await new Promise((resolve) => setTimeout(resolve, 100));
      out.push({ what: `orderbook with ${wanted} orders`, value: await perSecond(node, "orderbook", book), unit: "/s" });
      return out;
    } finally {
      traffic.stop();
      await node.stop();
    }
  },
};
