import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runExamples } from "../../scripts/exampleReplies.ts";
import { isSchema, type JsonSchema } from "../../scripts/rpcSchemas.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";
import { schemaProblems } from "./jsonSchema.ts";

/** docs/reference/openapi.json against what goes over the wire. */

const root: JsonSchema = JSON.parse(readFileSync(new URL("../../docs/reference/openapi.json", import.meta.url), "utf8"));

function part(...path: readonly string[]): JsonSchema {
  let found: unknown = root;
  for (const key of path) found = isSchema(found) ? found[key] : undefined;
  if (!isSchema(found)) throw new Error(`the document has no ${path.join("/")}`);
  return found;
}
const post = ["paths", "/", "post"] as const;
const JSON_BODY = ["content", "application/json", "schema"] as const;
const requestBody = part(...post, "requestBody", ...JSON_BODY);
const responseOf = (status: number): JsonSchema => part(...post, "responses", String(status), ...JSON_BODY);
const component = (name: string): JsonSchema => part("components", "schemas", name);

const ran = (await runExamples()).map((r) => ({ ...r, name: `${r.method.name}, ${r.example.style}: ${r.example.title}` }));

test.each(ran)("request and reply fit the document: $name", ({ method, example, request, status, reply: text }) => {
  const reply: unknown = JSON.parse(text);
  expect(schemaProblems(request, requestBody, root)).toEqual([]);
  expect(schemaProblems(request, component(`${method.name.replaceAll("::", ".")}.${example.style}.request`), root)).toEqual([]);
  expect(schemaProblems(reply, responseOf(status), root)).toEqual([]);
  if (status === 200)
    expect(schemaProblems(reply, component(`${method.name.replaceAll("::", ".")}.${example.style}.reply`), root)).toEqual([]);
});

test("a batch of all examples and its answer fit the document", async () => {
  const batch = ran.filter((r) => r.method.name !== "stop").map((r) => r.request);
  const server = await serveRpc(await fakeNode({ busy: true }));
  const { status, text } = await send(server, JSON.stringify(batch));
  await server.close();
  expect(status).toBe(200);
  expect(schemaProblems(batch, requestBody, root)).toEqual([]);
  expect(schemaProblems(JSON.parse(text), responseOf(200), root)).toEqual([]);
});

test("method tells the calls apart, one entry for each", () => {
  const { oneOf, discriminator } = component("Call");
  const mapping = isSchema(discriminator) && isSchema(discriminator.mapping) ? discriminator.mapping : {};
  expect(discriminator).toMatchObject({ propertyName: "method" });
  expect(new Set(Object.keys(mapping))).toEqual(new Set(METHODS.map((method) => method.name)));
  expect(Object.values(mapping)).toEqual((oneOf as readonly JsonSchema[]).map(({ $ref }) => $ref));
});

const balance = { userpass: PASSWORD, method: "my_balance", coin: "DOC" };
const balanceV2 = { userpass: PASSWORD, method: "get_enabled_coins", mmrpc: "2.0" };

test.each<[string, unknown]>([
  ["no method", { userpass: PASSWORD }],
  ["a method that is not there", { ...balance, method: "toString" }],
  ["no password", { method: "my_balance", coin: "DOC" }],
  ["a parameter missing", { userpass: PASSWORD, method: "my_balance" }],
  ["a parameter of another type", { ...balance, coin: 5 }],
  ["another key in a versioned call", { ...balanceV2, coin: "DOC" }],
  ["another version", { ...balanceV2, mmrpc: "1.0" }],
  ["a negative id", { ...balanceV2, id: -1 }],
  ["a batch with a call that does not fit", [balance, { userpass: PASSWORD }]],
  ["a batch that is too long", Array.from({ length: 501 }, () => balance)],
  ["text", "my_balance"],
])("a request with %s does not fit", (_, body) => {
  expect(schemaProblems(balance, requestBody, root)).toEqual([]);
  expect(schemaProblems(balanceV2, requestBody, root)).toEqual([]);
  expect(schemaProblems(body, requestBody, root)).not.toEqual([]);
});

test.each<[number, unknown]>([
  [400, { mmrpc: "2.0", error: "x", error_path: "x", error_trace: "x", error_type: "Timeout", id: null }],
  [404, { mmrpc: "2.0", error: "x", error_path: "x", error_trace: "x", error_type: "InvalidRequest", id: null }],
  [500, { result: "success" }],
  [200, { error: 5 }],
])("a reply of another status or shape does not fit: %s %j", (status, reply) => {
  expect(schemaProblems(reply, responseOf(status), root)).not.toEqual([]);
});
