import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type BareHttp, openBareHttp } from "./support/bareHttp.ts";
import { type LoneNode, startLoneNode } from "./support/loneNode.ts";
import { DEEP, fillLongHistory, ORDERS, orderCreatedMs, SWAPS, swapAt } from "./support/longHistory.ts";
import { type Figure, median, type Question } from "./support/question.ts";

/** Calls per figure; the first ones compile the code and are not counted. */
const CALLS = 250;
const WARM_UP = 50;
const PAGE = 10;
const P50_MS = 1;
const P99_MS = 10;

/** Connections that ask one request after another, and how long each server is asked in a turn. */
const CLIENTS = 8;
const TURN_MS = 700;
const TURNS = 3;

type Params = Readonly<Record<string, unknown>>;
/** A call of the history: its parameters by turn, and how many records it must give. */
type Call = {
  readonly what: string;
  readonly method: string;
  readonly params: (turn: number) => Params;
  readonly records: number | null;
  readonly hasAim: boolean;
};

const recent = (what: string, params: (turn: number) => Params): Call => ({
  what: `my_recent_swaps, ${what}`,
  method: "my_recent_swaps",
  params,
  records: PAGE,
  hasAim: true,
});

/** Every turn another page, so that none is answered from what the last one left in memory. */
const CALLS_ASKED: readonly Call[] = [
  recent("first page", () => ({})),
  recent("a page behind 49,000", (turn) => ({ page_number: DEEP.from / PAGE + 1 + (turn % 290) })),
  recent("from_uuid behind 49,000", (turn) => ({ from_uuid: swapAt(DEEP.from + PAGE * (turn % 290)).uuid })),
  recent("two coins and a time", (turn) => ({
    my_coin: "DOC",
    other_coin: "MARTY",
    to_timestamp: swapAt(DEEP.from).startedAt,
    page_number: 1 + (turn % 200),
  })),
  { what: "my_orders", method: "my_orders", params: () => ({}), records: null, hasAim: true },
  {
    what: "orders_history_by_filter, coin, status and time",
    method: "orders_history_by_filter",
    params: (turn) => ({
      base: "DOC",
      status: "Fulfilled",
      from_timestamp: orderCreatedMs(5_000 + turn),
      to_timestamp: orderCreatedMs(4_900 + turn),
    }),
    records: null,
    hasAim: true,
  },
  {
    what: `orders_history_by_filter, all ${ORDERS}`,
    method: "orders_history_by_filter",
    params: () => ({}),
    records: ORDERS,
    hasAim: false,
  },
];

async function latencies(http: BareHttp, userpass: string, call: Call): Promise<readonly Figure[]> {
  const { what, method, hasAim, records } = call;
  const taken: number[] = [];
  let bytes = 0;
  // The one that gives all is no call to repeat hundreds of times.
  const calls = hasAim ? CALLS : PAGE;
  const warmUp = hasAim ? WARM_UP : 1;
  for (let turn = 0; turn < warmUp + calls; turn++) {
    const body = JSON.stringify({ userpass, method, ...call.params(turn) });
    const startMs = performance.now();
    const reply = await http.post(body);
    const ms = performance.now() - startMs;
    bytes = reply.length;
    const { result } = JSON.parse(reply.toString());
    if (records !== null && result.found_records !== records) throw new Error(`${what}: ${result.found_records} records`);
    if (result.swaps !== undefined && result.swaps.length !== records) throw new Error(`${what}: swaps without a status`);
    if (turn >= warmUp) taken.push(ms);
  }
  taken.sort((a, b) => a - b);
  const p99 = taken[Math.ceil(0.99 * taken.length) - 1] ?? Number.NaN;
  const note = `replies of ${Math.ceil(bytes / 1_000)} kB`;
  return [
    { what: `${what}, p50`, value: median(taken), unit: "ms", note, ...(hasAim ? { aim: { atMost: P50_MS } } : {}) },
    { what: `${what}, p99`, value: p99, unit: "ms", ...(hasAim ? { aim: { atMost: P99_MS } } : {}) },
  ];
}

async function perSecond(clients: readonly BareHttp[], body: string): Promise<number> {
  const startMs = performance.now();
  let calls = 0;
  const ask = async (client: BareHttp): Promise<void> => {
    for (; performance.now() < startMs + TURN_MS; calls++) await client.post(body);
  };
  await Promise.all(clients.map(ask));
  return (1_000 * calls) / (performance.now() - startMs);
}

async function withEcho<T>(use: (port: number) => Promise<T>): Promise<T> {
  const child = fork(fileURLToPath(new URL("./support/echoServer.ts", import.meta.url)), { execArgv: [] });
  try {
    return await use(await new Promise<number>((resolve, reject) => child.once("message", resolve).once("error", reject)));
  } finally {
    child.disconnect();
  }
}

async function rates({ rpc }: LoneNode, echoPort: number): Promise<readonly Figure[]> {
  const connections = (port: number) => Promise.all(Array.from({ length: CLIENTS }, () => openBareHttp(port)));
  const [node, echo] = [await connections(Number(new URL(rpc.url).port)), await connections(echoPort)];
  const body = (method: string): string => JSON.stringify({ userpass: rpc.userpass, method });
  const found = { echo: [] as number[], version: [] as number[], my_orders: [] as number[] };
  // The first turn warms all three up.
  for (let turn = 0; turn <= TURNS; turn++) {
    const measured = {
      echo: await perSecond(echo, body("version")),
      version: await perSecond(node, body("version")),
      my_orders: await perSecond(node, body("my_orders")),
    };
    if (turn > 0) for (const name of ["echo", "version", "my_orders"] as const) found[name].push(measured[name]);
  }
  for (const client of [...node, ...echo]) client.close();
  const bare = median(found.echo);
  const share = (what: "version" | "my_orders"): Figure => ({
    what: `${what}, of the bare echo`,
    value: (100 * median(found[what])) / bare,
    unit: "%",
    aim: { atLeast: 50 },
  });
  return [
    { what: "bare echo", value: bare, unit: "/s", note: `${CLIENTS} connections` },
    { what: "version", value: median(found.version), unit: "/s" },
    { what: "my_orders", value: median(found.my_orders), unit: "/s" },
    share("version"),
    share("my_orders"),
  ];
}

export const question: Question = {
  name: "rpcHistory",
  title: `Calls with ${SWAPS} swaps and ${ORDERS} own orders in the history`,
  async ask(say) {
    say("filling the store");
    const node = await startLoneNode({ program: "checkout", isSeed: false, fillStore: fillLongHistory });
    try {
      const http = await openBareHttp(Number(new URL(node.rpc.url).port));
      const out: Figure[] = [];
      for (const call of CALLS_ASKED) {
        say(call.what);
        out.push(...(await latencies(http, node.rpc.userpass, call)));
      }
      http.close();
      say("beside a bare echo");
      out.push(...(await withEcho((port) => rates(node, port))));
      return out;
    } finally {
      await node.stop();
    }
  },
};
