import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { exampleRequest, runExamples } from "../../scripts/exampleReplies.ts";
import { METHODS } from "../../src/rpc/table.ts";

const document = readFileSync(new URL("../../docs/reference/rpc.md", import.meta.url), "utf8");
const cases = (await runExamples()).map((ran) => ({ ...ran, name: `${ran.method.name}, ${ran.example.style}: ${ran.example.title}` }));

test.each(cases)("the documented example holds through HTTP: $name", ({ method, example, status, reply: text }) => {
  const flat = example.style === "flat";
  const reply: Record<string, unknown> = JSON.parse(text);
  // To the letter, the sentence of an error included.
  expect(document).toContain(
    `${example.title}:\n\n\`\`\`json\n${JSON.stringify(exampleRequest(method, example, "<RPC_PASSWORD>"))}\n${text}\n\`\`\`\n`,
  );
  if (example.error !== undefined) {
    const spec = method.errors[example.error];
    expect(spec, `error ${example.error} is declared`).toBeDefined();
    expect(typeof reply.error, text).toBe("string");
    if (flat) expect(status, text).toBe(spec?.flatHttp ?? 500);
    else
      expect({ status, type: reply.error_type, id: reply.id }, text).toEqual({
        status: spec?.http,
        type: spec?.type ?? example.error,
        id: 0,
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
