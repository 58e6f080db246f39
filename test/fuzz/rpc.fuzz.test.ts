import { expect, test } from "vitest";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { createRpcHandler } from "../../src/rpc/rpcHandler.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { RUNS, SEED, watchMemory } from "./support/fuzz.ts";

/** Calls a fake node gets before a fresh one takes its place, so that orders and bans do not pile up. */
const CALLS_PER_NODE = 100;

const ODD_VALUES = [
  ...[
    "null",
    "true",
    "[]",
    "{}",
    '""',
    "0",
    "-1",
    "1.5",
    "1.0",
    "-0",
    "1e-999",
    "0.12345678901234567890123",
    "1e308",
    "18446744073709551615",
    "-9223372036854775808",
    '"\\u0000"',
    '"é€😀"',
  ],
  ...[
    '"1e999"',
    '"9"',
    "[[1,[1]],[1,[0]]]",
    "[[1,[4294967295]],[1,[1]]]",
    '{"numer":"1","denom":"0"}',
    '{"type":"All"}',
    '{"type":"Any","data":[]}',
  ],
  ...[
    '"__proto__"',
    '{"__proto__":1,"constructor":2}',
    '"DOC"',
    '"2.0"',
    "[[[[[[[[]]]]]]]]",
    `"${"x".repeat(5_000)}"`,
    `[${"1,".repeat(2_000)}1]`,
  ],
];

/** What the HTTP layer answers itself, and what the methods declare. */
const STATUSES = new Set([
  ...[200, 400, 403, 404, 408, 413, 500, 502],
  ...METHODS.flatMap((m) => Object.values(m.errors).flatMap(({ http }) => http ?? [])),
]);

function mutator(seed: number) {
  const rng = seededRng(seed);
  const below = (n: number): number => {
    const b = rng.bytes(4);
    return (((b[0] ?? 0) | ((b[1] ?? 0) << 8) | ((b[2] ?? 0) << 16)) + (b[3] ?? 0) * 2 ** 24) % n;
  };
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const bodies = METHODS.flatMap((m) =>
    m.examples.map(({ style, params }) => {
      const call = { userpass: PASSWORD, method: m.name };
      return JSON.stringify(style === "flat" ? { ...call, ...params } : { ...call, mmrpc: "2.0", params, id: 1 });
    }),
  );
  /** Replaces one JSON value by an odd one, keeps the rest well-formed. */
  const swapValue = (body: string): string => {
    const values = [...body.matchAll(/(?<=[:[,])("(?:[^"\\]|\\.)*"|[\d.eE+-]+|true|false|null)/g)];
    const at = values[below(Math.max(1, values.length))];
    return at ? body.slice(0, at.index) + pick(ODD_VALUES) + body.slice(at.index + at[0].length) : body;
  };
  const breakBytes = (bytes: Uint8Array): Uint8Array => {
    const out = Uint8Array.from(bytes);
    for (let i = below(4); i >= 0; i--) out[below(out.length)] = below(256);
    return out;
  };
  return (): Uint8Array => {
    let body = pick(bodies);
    switch (below(6)) {
      case 0:
        return breakBytes(new TextEncoder().encode(body));
      case 1:
        return new TextEncoder().encode(body.slice(0, below(body.length)));
      case 2:
        body = `[${body},${swapValue(pick(bodies))}]`;
        break;
      case 3:
        body = body.replace(/"[a-z_]+":/, `${pick(ODD_VALUES.filter((v) => v.startsWith('"')))}:`);
        break;
      default:
        for (let i = below(3); i >= 0; i--) body = swapValue(body);
    }
    return new TextEncoder().encode(body);
  };
}

test(`${RUNS} mutated bodies give valid replies and never crash or hang (FUZZ_SEED=${SEED})`, { timeout: 60_000 + RUNS * 50 }, async () => {
  const next = mutator(SEED);
  // Beside the decoder: a whole fake node at a time.
  const memory = watchMemory(24_000_000);
  const log = new SilentLog();
  let handler = createRpcHandler(fakeDispatcher(await fakeNode({ busy: true }), { log }));
  for (let run = 0; run < RUNS; run++) {
    if (run % CALLS_PER_NODE === CALLS_PER_NODE - 1) {
      expect(log.lines.filter((l) => l.event === "rpc_handler_failed")).toEqual([]);
      log.lines.length = 0;
      handler = createRpcHandler(fakeDispatcher(await fakeNode({ busy: true }), { log }));
    }
    memory.tick();
    const body = next();
    const context = `run ${run}, seed ${SEED}: ${new TextDecoder().decode(body).slice(0, 500)}`;
    const reply = await handler({ verb: "POST", body, remoteAddress: "127.0.0.1" });
    expect(STATUSES, context).toContain(reply.status);
    const parsed: unknown = JSON.parse(reply.body);
    if (reply.status !== 200) expect(parsed, context).toHaveProperty("error");
    expect(reply.body, context).not.toContain(PASSWORD);
  }
  memory.check();
  expect(log.lines.filter((l) => l.event === "rpc_handler_failed")).toEqual([]);
});
