import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { createClient, type ErrorType, RpcError } from "../../client/client.ts";
import { generate as client } from "../../scripts/generators/client.ts";
import { generate as errorsDoc } from "../../scripts/generators/errorsDoc.ts";
import { generate as openapi } from "../../scripts/generators/openapi.ts";
import { generate as rpcDoc } from "../../scripts/generators/rpcDoc.ts";
import type { HttpServer } from "../../src/ports/http.ts";
import { DISPATCH_ERRORS } from "../../src/rpc/dispatchErrors.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { serveRpc } from "../fakes/rpcServer.ts";

let server: HttpServer | undefined;
afterEach(() => server?.close());

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test.each([...client(), ...errorsDoc(), ...openapi(), ...(await rpcDoc())])("$path is what the declarations say", ({ path, content }) => {
  expect(read(path) === content, `${path} is not current: npm run gen`).toBe(true);
});

const kindsOf = (methods: typeof METHODS): Set<string> =>
  new Set([...Object.keys(DISPATCH_ERRORS), ...methods.flatMap((m) => Object.entries(m.errors).map(([kind, e]) => e.type ?? kind))]);

test("the error kinds in code, in errors.md and in the client are the same", () => {
  const rows = read("docs/reference/errors.md").matchAll(/^\| (?:any|`[\w: ()]+`) \| `(\w+)` \|/gm);
  expect(new Set([...rows].map((m) => m[1]))).toEqual(kindsOf(METHODS));
  // Only versioned replies name their kind, so the client knows those.
  const inClient = /ErrorType =\n([^;]*);/.exec(read("client/client.ts"))?.[1] ?? "";
  expect(new Set([...inClient.matchAll(/"(\w+)"/g)].map((m) => m[1]))).toEqual(kindsOf(METHODS.filter((m) => m.style !== "flat")));
});

test("every reference of the OpenAPI document leads somewhere", () => {
  const text = read("docs/reference/openapi.json");
  const { components } = JSON.parse(text);
  const names = [...text.matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map((m) => m[1] ?? "");
  expect(names.length).toBeGreaterThan(100);
  for (const name of names) expect(components.schemas, name).toHaveProperty([name]);
});

test("the generated client calls a node and tells a refusal apart", async () => {
  server = await serveRpc(await fakeNode({ busy: true }));
  const rpc = createClient({ url: server.url, userpass: PASSWORD });
  const balance = await rpc.flat("my_balance", { coin: "DOC" });
  expect(balance.balance).toBe("200");
  const order = await rpc.flat("setprice", { base: "DOC", rel: "MARTY", price: { numer: "5", denom: "2" }, volume: "3" });
  expect(order.price_rat).toEqual([
    [1, [5]],
    [1, [2]],
  ]);
  expect((await rpc.flat("my_orders")).maker_orders).toHaveProperty(order.uuid);
  expect((await rpc.v2("max_maker_vol", { coin: "MARTY" })).coin).toBe("MARTY");
  const failed = await rpc.v2("max_maker_vol", { coin: "KMD" }).catch((error: unknown) => error);
  if (!(failed instanceof RpcError)) throw new Error("expected an RpcError");
  expect({ status: failed.status, type: failed.type, data: failed.data }).toEqual({
    status: 404,
    type: "NoSuchCoin" satisfies ErrorType,
    data: { coin: "KMD" },
  });
});
