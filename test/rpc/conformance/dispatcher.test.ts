import { afterEach, expect, test } from "vitest";
import { openHttpServer } from "../../../src/adapters/httpServer/openHttpServer.ts";
import type { HttpServer } from "../../../src/ports/http.ts";
import type { Method } from "../../../src/rpc/define.ts";
import { DISPATCH_ERRORS, type DispatchErrorType } from "../../../src/rpc/dispatchErrors.ts";
import { keylessMethods } from "../../../src/rpc/keylessMethods.ts";
import { createRpcHandler } from "../../../src/rpc/rpcHandler.ts";
import { METHODS } from "../../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../../fakes/fakeNode.ts";
import { type Answer, fakeDispatcher, send } from "../../fakes/rpcServer.ts";
import { SilentLog } from "../../fakes/silentLog.ts";

/** What is refused before a method runs, and what is said when one fails to answer (reference rpc.md 1.5 to 1.8), in both forms. */

type Situation = {
  /** The caller's address; default: loopback. */
  readonly from?: string;
  readonly userpass?: string;
  readonly wrongBefore?: number;
  readonly mmrpc?: string;
  readonly extra?: object;
  readonly method?: string;
  /** What becomes of `min_trading_vol` and `max_maker_vol`. */
  readonly run?: Method["run"];
  readonly keyless?: true;
};
type Row = Situation & {
  readonly type: DispatchErrorType;
  readonly text: string;
  readonly data?: unknown;
  readonly path?: string;
  /** Null: the flat form has no such refusal. */
  readonly flat: string | null;
};

const STRICT = "unknown field `some_key`, expected one of `mmrpc`, `userpass`, `method`, `params`, `id`";
const ROWS: readonly Row[] = [
  {
    type: "InvalidMmRpcVersion",
    mmrpc: "1.0",
    userpass: "wrong",
    text: "Error parsing mmrpc version: unknown variant `1.0`, expected `2.0`",
    data: "unknown variant `1.0`, expected `2.0`",
    flat: null,
  },
  { type: "InvalidRequest", extra: { some_key: 1 }, userpass: "wrong", text: `Error parsing request: ${STRICT}`, data: STRICT, flat: null },
  {
    type: "LocalHostOnly",
    from: "192.0.2.7",
    userpass: "wrong",
    text: "Selected method can be called from localhost only!",
    flat: "Selected method can only be called from localhost.",
  },
  { type: "Banned", wrongBefore: 10, text: "Your ip is banned.", flat: "Your IP is banned." },
  { type: "UserpassIsNotSet", userpass: "", text: "Userpass is not set!", flat: "Userpass is not set!" },
  {
    type: "UserpassIsInvalid",
    userpass: "wrong",
    wrongBefore: 2,
    text: "Userpass is invalid! - Rate Limit attempts left: 7",
    data: { error_type: "NbAttemptsLeft", error_data: 7 },
    path: "rate_limiter",
    flat: "Userpass is invalid! - Rate Limit attempts left: 7",
  },
  { type: "NoSuchMethod", method: "get_peers_info", text: "No such method", flat: null },
  {
    type: "NoKeys",
    keyless: true,
    path: "max_maker_vol",
    text: "max_maker_vol needs the keys of a wallet, and this node was started without any: set passphrase, or wallet_name and wallet_password, in MM2.json and start it again",
    flat: "min_trading_vol needs the keys of a wallet, and this node was started without any: set passphrase, or wallet_name and wallet_password, in MM2.json and start it again",
  },
  {
    type: "Timeout",
    run: () => new Promise(() => undefined),
    text: "max_maker_vol gave no answer within 60 s; it may still finish, so look at the state before you repeat it",
    flat: "min_trading_vol gave no answer within 60 s; it may still finish, so look at the state before you repeat it",
  },
  {
    type: "InternalError",
    run: () => Promise.reject(new Error("the secret cause")),
    text: "Internal error in max_maker_vol; the log of the node has the details",
    flat: "Internal error in min_trading_vol; the log of the node has the details",
  },
];

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function ask(row: Row, body: object): Promise<Answer> {
  const node = await fakeNode();
  const run = row.run;
  const methods = run ? METHODS.map((m): Method => ({ ...m, run })) : row.keyless ? keylessMethods(METHODS) : METHODS;
  const handler = createRpcHandler(fakeDispatcher(node, { methods }));
  const open = await openHttpServer(
    (request) => handler({ ...request, remoteAddress: row.from ?? request.remoteAddress }),
    { port: 0 },
    { log: new SilentLog(), clock: node.clock },
  );
  server = open;
  for (let i = 0; i < (row.wrongBefore ?? 0); i++) await send(open, JSON.stringify({ userpass: "wrong", method: "my_orders" }));
  const userpass = row.userpass ?? PASSWORD;
  let isDone = false;
  const sent = send(open, JSON.stringify({ ...(userpass === "" ? {} : { userpass }), ...body })).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    // The method that never answers is given up after a minute of the node's own time.
    await node.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

test.each(ROWS)("$type: $text", async (row) => {
  const { mmrpc = "2.0", method = "max_maker_vol", path = "dispatcher", extra } = row;
  const { status, text, headers } = await ask(row, { mmrpc, method, params: { coin: "DOC" }, id: 9, ...extra });
  expect(headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
  expect(status).toBe(DISPATCH_ERRORS[row.type].http);
  expect(text).toBe(
    JSON.stringify({
      ...{ mmrpc: "2.0", error: row.text, error_path: path, error_trace: `${path}:1]`, error_type: row.type },
      ...(row.data === undefined ? {} : { error_data: row.data }),
      id: 9,
    }),
  );
});

test.each(ROWS.filter((row) => row.flat !== null))("$type, flat: $flat", async (row) => {
  const { status, text } = await ask(row, { method: "min_trading_vol", coin: "DOC" });
  expect([status, text]).toEqual([500, JSON.stringify({ error: row.flat })]);
});

test("every refusal of the dispatcher is provoked", () => {
  expect(ROWS.map((row) => row.type).sort()).toEqual(Object.keys(DISPATCH_ERRORS).sort());
});
