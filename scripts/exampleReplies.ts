import type { Example, Method } from "../src/rpc/define.ts";
import { METHODS } from "../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../test/fakes/fakeNode.ts";
import { send, serveRpc } from "../test/fakes/rpcServer.ts";
import { CONFORMANCE_ROWS } from "../test/rpc/conformance/tables.ts";

/** What an example of the documentation was answered. */
export type ExampleReply = {
  readonly method: Method;
  readonly example: Example;
  /** The body as sent, the password included. */
  readonly request: { readonly [key: string]: unknown };
  readonly status: number;
  readonly reply: string;
};

/** The body of an example. */
export function exampleRequest(method: Method, example: Example, userpass: string): { readonly [key: string]: unknown } {
  const call = { userpass, method: method.name };
  return example.style === "flat" ? { ...call, ...example.params } : { ...call, mmrpc: "2.0", params: example.params, id: 0 };
}

/**
 * Sends every example through HTTP to a node of its own: the imitated busy one of the tests, on a virtual clock, so that
 * each run gives the same bytes.
 */
export async function runExamples(methods: readonly Method[] = METHODS): Promise<readonly ExampleReply[]> {
  const replies: ExampleReply[] = [];
  for (const method of methods) {
    for (const example of method.examples) {
      const server = await serveRpc(await fakeNode({ busy: true }));
      try {
        const request = exampleRequest(method, example, PASSWORD);
        const { status, text } = await send(server, JSON.stringify(request));
        replies.push({ method, example, request, status, reply: text });
      } finally {
        await server.close();
      }
    }
  }
  return replies;
}

/** Texts of a declared error by `seenKey`. */
export type SeenTexts = ReadonlyMap<string, readonly string[]>;
export const seenKey = (method: string, style: "flat" | "v2", kind: string): string => `${method} ${style} ${kind}`;

/** Most texts shown of one error. */
const MOST_TEXTS = 3;

/**
 * What each declared error reads like: as an example was answered, and as the rows of the conformance suite have it, of which a
 * test makes sure that a node says so. What differs from run to run in a row is a name in angle brackets.
 */
export function seenTexts(examples: readonly ExampleReply[]): SeenTexts {
  const seen = new Map<string, string[]>();
  const see = (key: string, text: string): void => {
    const texts = seen.get(key) ?? [];
    if (texts.length < MOST_TEXTS && !texts.includes(text)) seen.set(key, [...texts, text]);
  };
  for (const { method, example, reply } of examples)
    if (example.error) see(seenKey(method.name, example.style, example.error), String(JSON.parse(reply).error));
  for (const row of CONFORMANCE_ROWS) {
    if (!("error" in row)) continue;
    const key = seenKey(row.method, row.style, row.error);
    const hasNames = /\$[a-zA-Z]/.test(row.text);
    if (!hasNames || !seen.has(key)) see(key, row.text.replace(/\$([a-zA-Z]+)/g, "<$1>"));
  }
  return seen;
}
