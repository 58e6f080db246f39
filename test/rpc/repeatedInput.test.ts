import { expect, test } from "vitest";
import type { Json } from "../../src/rpc/parseJson.ts";
import { METHODS } from "../../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";

/** Errors that repeat what was sent: readable by any JSON parser, and short. */

/** Of a character of two halves the first stands where a long text is cut, wherever a quote shifts it by one. */
const SPLIT = ["a".repeat(199), "a".repeat(200), "a".repeat(198)].map((head) => `${head}😀😀${"z".repeat(2_000)}`);
const ODD: readonly Json[] = [
  ...SPLIT,
  "😀",
  ...SPLIT.map((type) => ({ type })),
  { type: "Orders", data: ["😀"] },
  ["😀"],
  SPLIT.map((ticker) => [ticker, ticker]),
];

/** Written as it is, half a pair would make strict parsers refuse the whole reply. */
const HALF_A_PAIR = /\\ud[89a-f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/i;

test.each(METHODS.flatMap((method) => method.examples.map((example) => ({ method, example }))))(
  "$method.name, $example.style: $example.title",
  async ({ method, example: { style, params } }) => {
    const dispatcher = fakeDispatcher(await fakeNode());
    const answer = async (body: { readonly [key: string]: Json }): Promise<void> => {
      const { status, body: reply } = await dispatcher.answer({ userpass: PASSWORD, ...body }, "127.0.0.1");
      expect(reply).not.toMatch(HALF_A_PAIR);
      if (status !== 200) expect(reply.length, reply.slice(0, 500)).toBeLessThan(3_000);
    };
    for (const odd of ODD) {
      for (const key of Object.keys(params)) {
        const given = { ...(params as { readonly [key: string]: Json }), [key]: odd };
        await answer(style === "flat" ? { method: method.name, ...given } : { mmrpc: "2.0", method: method.name, params: given });
      }
    }
  },
);

test.each(SPLIT)("a strange key, version or method %#", async (odd) => {
  const dispatcher = fakeDispatcher(await fakeNode());
  for (const body of [
    { mmrpc: "2.0", method: "version", [odd]: 1 },
    { mmrpc: odd, method: "version" },
    { mmrpc: "2.0", method: odd },
    { mmrpc: "2.0", method: "version", id: odd },
  ]) {
    const { body: reply } = await dispatcher.answer({ userpass: PASSWORD, ...body } as Json, "127.0.0.1");
    expect(reply).not.toMatch(HALF_A_PAIR);
    expect(reply.length).toBeLessThan(3_000);
  }
});
