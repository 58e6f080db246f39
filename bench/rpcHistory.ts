import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type BareHttp, openBareHttp } from "./support/bareHttp.ts";
import { type LoneNode, startLoneNode } from "./support/loneNode.ts";
import { DEEP, fillLongHistory, OLD, ORDERS, orderCreatedMs, SWAPS, swapAt } from "./support/longHistory.ts";
import { type Figure, median, type Question } from "./support/question.ts";

/** Calls per figure; the first ones, in which the code is compiled, are not counted: a node runs for days. */
const CALLS = 250;
const WARM_UP = 50;
/** And before them, all of the same. */
const SAME = 500;
const PAGE = 10;
const AIMS = { p50: 1, p99: 10 };

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
  /** Milliseconds. */
  readonly aims: { readonly p50?: number; readonly p99?: number };
};

const recent = (what: string, params: (turn: number) => Params): Call => ({
  what: `my_recent_swaps, ${what}`,
  method: "my_recent_swaps",
  params,
  records: PAGE,
  aims: AIMS,
});

/** Where the swaps of each call begin: behind all that were asked for before. */
const FROM = { page: DEEP.from, uuid: DEEP.from + 3_000, old: OLD.from, filter: OLD.to } as const;

/** Every turn another page, of swaps nobody asked for before. */
const CALLS_ASKED: readonly Call[] = [
  recent("first page", () => ({})),
  recent("a page behind 49,000", (turn) => ({ page_number: FROM.page / PAGE + 1 + turn })),
  recent("from_uuid behind 52,000", (turn) => ({ from_uuid: swapAt(FROM.uuid + PAGE * turn - 1).uuid })),
  {
    ...recent("of an earlier version, asked for the first time", (turn) => ({ page_number: FROM.old / PAGE + 1 + turn })),
    aims: { p99: AIMS.p99 },
  },
  recent("two coins and a time", (turn) => ({
    my_coin: "DOC",
    other_coin: "MARTY",
    to_timestamp: swapAt(FROM.filter).startedAt,
    page_number: 1 + turn,
  })),
  {
    what: "my_swap_status",
    method: "my_swap_status",
    params: (turn) => ({ params: { uuid: swapAt(FROM.page + turn).uuid } }),
    records: null,
    aims: AIMS,
  },
  { what: "my_orders", method: "my_orders", params: () => ({}), records: null, aims: AIMS },
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
    aims: AIMS,
  },
  {
    what: `orders_history_by_filter, all ${ORDERS}`,
    method: "orders_history_by_filter",
    params: () => ({}),
    records: ORDERS,
    aims: {},
  },
];

const aimAtMost = (ms: number | undefined): Pick<Figure, "aim"> => (ms === undefined ? {} : { aim: { atMost: ms } });

async function milliseconds<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const startMs = performance.now();
  const value = await work();
  return [value, performance.now() - startMs];
}

/** The value that so many of all, from 0 to 1, do not exceed. */
function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? Number.NaN;
}

/** @param bare asked after each call for a reply of the same size: what machine, system and client take of the time */
async function latencies(http: BareHttp, bare: BareHttp, userpass: string, call: Call): Promise<readonly Figure[]> {
  const { what, method, aims, records } = call;
  const taken: number[] = [];
  const bareTaken: number[] = [];
  let bytes = 0;
  // The one that gives all is no call to repeat hundreds of times.
  const isLong = records === ORDERS;
  const calls = isLong ? PAGE : CALLS;
  const warmUp = isLong ? 1 : WARM_UP;
  const bodyOf = (turn: number): string => JSON.stringify({ userpass, method, ...call.params(turn) });
  for (let n = 0; n < (isLong ? 0 : SAME); n++) await http.post(bodyOf(0));
  for (let turn = 0; turn < warmUp + calls; turn++) {
    const body = bodyOf(turn);
    const [reply, ms] = await milliseconds(() => http.post(body));
    bytes = reply.length;
    const [, bareMs] = await milliseconds(() => bare.post(String(bytes)));
    const { result } = JSON.parse(reply.toString());
    if (records !== null && result.found_records !== records) throw new Error(`${what}: ${result.found_records} records`);
    if (result.swaps !== undefined && result.swaps.length !== records) throw new Error(`${what}: swaps without a status`);
    if (turn < warmUp) continue;
    taken.push(ms);
    bareTaken.push(bareMs);
  }
  const size = `replies of ${Math.ceil(bytes / 1_000)} kB`;
  const besideBare = (of: number): string => `a bare server's: ${of.toFixed(2)} ms`;
  return [
    { what: `${what}, p50`, value: median(taken), unit: "ms", note: `${size}; ${besideBare(median(bareTaken))}`, ...aimAtMost(aims.p50) },
    { what: `${what}, p99`, value: quantile(taken, 0.99), unit: "ms", note: besideBare(quantile(bareTaken, 0.99)), ...aimAtMost(aims.p99) },
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
      return await withEcho(async (echoPort) => {
        const [http, bare] = [await openBareHttp(Number(new URL(node.rpc.url).port)), await openBareHttp(echoPort)];
        const out: Figure[] = [];
        for (const call of CALLS_ASKED) {
          say(call.what);
          out.push(...(await latencies(http, bare, node.rpc.userpass, call)));
        }
        http.close();
        bare.close();
        say("beside a bare echo");
        return [...out, ...(await rates(node, echoPort))];
      });
    } finally {
      await node.stop();
    }
  },
};
