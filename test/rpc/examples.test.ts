import { afterEach, expect, test } from "vitest";
import type { HttpServer } from "../../src/ports/http.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";

let server: HttpServer | undefined;
afterEach(() => server?.close());

const cases = METHODS.flatMap((method) =>
  method.examples.map((example) => ({ method, example, name: `${method.name}, ${example.style}: ${example.title}` })),
);

test.each(cases)("the documented example holds through HTTP: $name", async ({ method, example }) => {
  server = await serveRpc(await fakeNode({ busy: true }));
  const flat = example.style === "flat";
  const call = { userpass: PASSWORD, method: method.name };
  const request = flat ? { ...call, ...example.params } : { ...call, mmrpc: "2.0", params: example.params, id: 7 };
  const { status, text } = await send(server, JSON.stringify(request));
  const reply: Record<string, unknown> = JSON.parse(text);
  if (example.error !== undefined) {
    const spec = method.errors[example.error];
    expect(spec, `error ${example.error} is declared`).toBeDefined();
    expect(typeof reply.error, text).toBe("string");
    if (flat) expect(status, text).toBe(spec?.flatHttp ?? 500);
    else
      expect({ status, type: reply.error_type, id: reply.id }, text).toEqual({
        status: spec?.http,
        type: spec?.type ?? example.error,
        id: 7,
      });
    return;
  }
  expect(status, text).toBe(200);
  const value = flat && method.flatReply === "bare" ? reply : reply.result;
  if (example.result !== undefined) expect(value).toEqual(example.result);
  // Nothing in the reply that the schema does not name, nothing missing that it does.
  expect(method.result.parse(value)).toEqual(value);
});

test("every method has an example, and every example of an error names a declared kind", () => {
  for (const method of METHODS) {
    expect(method.examples.length, method.name).toBeGreaterThan(0);
    for (const { error } of method.examples) if (error !== undefined) expect(Object.keys(method.errors), method.name).toContain(error);
  }
});
