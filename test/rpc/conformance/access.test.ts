import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpServer } from "../../../src/ports/http.ts";
import { METHODS } from "../../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../../fakes/fakeNode.ts";
import { send, serveRpc } from "../../fakes/rpcServer.ts";

/** Who may call what (reference rpc.md 1.4 to 1.6): each method in each style without a password. */

let server: HttpServer;
beforeAll(async () => {
  server = await serveRpc(await fakeNode({ busy: true }));
});
afterAll(() => server.close());

const FORMS = METHODS.flatMap((method) =>
  (["flat", "v2"] as const)
    .filter((s) => method.style === s || method.style === "both")
    .map((style) => ({ method, style, name: `${method.name} ${style}` })),
);

test.each(FORMS)("$name without a password is answered only where it is declared public", async ({ method, style }) => {
  const params = method.examples.find((e) => e.style === style && e.error === undefined)?.params ?? {};
  const body = style === "flat" ? { method: method.name, ...params } : { mmrpc: "2.0", method: method.name, params, id: 3 };
  const { status, text } = await send(server, JSON.stringify(body));
  if (method.access === "public") {
    expect(status, text).toBe(200);
    return;
  }
  if (style === "flat") expect([status, JSON.parse(text)]).toEqual([500, { error: "Userpass is not set!" }]);
  else
    expect([status, JSON.parse(text)]).toEqual([
      403,
      {
        ...{ mmrpc: "2.0", error: "Userpass is not set!", error_path: "dispatcher", error_trace: "dispatcher:1]" },
        ...{ error_type: "UserpassIsNotSet", id: 3 },
      },
    ]);
});

test("the public methods are those of KDF that do something", () => {
  const names = METHODS.filter((m) => m.access === "public").map((m) => m.name);
  expect([...new Set(names)].sort()).toEqual(["help", "metrics", "orderbook", "stats_swap_status", "version"]);
});

const exampleOf = (method: (typeof METHODS)[number]) => method.examples.find((e) => e.error === undefined)?.params ?? {};
const only = (style: "flat" | "v2") =>
  METHODS.filter((m) => !METHODS.some((other) => other.name === m.name && (other.style === "both" || other.style !== style)));

test.each(only("flat"))(
  "$name has no versioned form: NoSuchMethod, or InvalidRequest with its parameters beside the five keys",
  async (method) => {
    const call = { mmrpc: "2.0", userpass: PASSWORD, method: method.name, id: 3 };
    const inside = await send(server, JSON.stringify({ ...call, params: exampleOf(method) }));
    const error_data = `${method.name} is called in the flat form: its parameters stand beside \`method\`, without \`mmrpc\` and \`params\``;
    const reply = { error: "No such method", error_type: "NoSuchMethod", error_data, id: 3 };
    expect([inside.status, JSON.parse(inside.text)]).toMatchObject([400, reply]);
    const beside = await send(server, JSON.stringify({ ...call, some_key: 1 }));
    expect([beside.status, JSON.parse(beside.text)]).toMatchObject([400, { error_type: "InvalidRequest", id: 3 }]);
  },
);

test.each(only("v2"))("$name may be sent without mmrpc, and is answered in its own form", async (method) => {
  // Some can only be refused.
  const example = method.examples.find((e) => e.error === undefined) ?? method.examples[0];
  const http = example?.error === undefined ? 200 : method.errors[example.error]?.http;
  const { status, text } = await send(server, JSON.stringify({ userpass: PASSWORD, method: method.name, params: example?.params ?? {} }));
  expect([status, JSON.parse(text)]).toMatchObject([http, { mmrpc: "2.0", id: null }]);
});
