import type { Example, Method } from "../src/rpc/define.ts";
import type { FaultSpec } from "../src/rpc/fault.ts";
import { METHODS } from "../src/rpc/table.ts";
import { fakeNode, PASSWORD } from "../test/fakes/fakeNode.ts";
import { send, serveRpc } from "../test/fakes/rpcServer.ts";
import { ERROR_CATALOGUE } from "../test/rpc/errorCatalogue.ts";
import { provoke } from "../test/rpc/provoke.ts";
import { ERROR_CAUSES } from "./errorCauses.ts";

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

/** A text by its declaration: methods share those of what can go wrong in all of them. */
export type SeenTexts = ReadonlyMap<FaultSpec<never>, string>;

/** What each declared error read like when it happened: in an example, else in a call of the error catalogue or of `errorCauses.ts`. */
export async function seenTexts(examples: readonly ExampleReply[], methods: readonly Method[] = METHODS): Promise<SeenTexts> {
  const seen = new Map<FaultSpec<never>, string>();
  const see = (spec: FaultSpec<never> | undefined, text: unknown): void => {
    if (spec && typeof text === "string" && !seen.has(spec)) seen.set(spec, text);
  };
  for (const { method, example, reply } of examples) if (example.error) see(method.errors[example.error], JSON.parse(reply).error);
  let last: string | undefined;
  const watched = methods.map(
    (method): Method => ({
      ...method,
      async run(params, ctx, call) {
        const outcome = await method.run(params, ctx, call);
        if (outcome.kind === "fault") {
          const { type, text } = outcome.fault;
          last = type;
          const specs = Object.entries(method.errors).filter(([kind, spec]) => (spec.type ?? kind) === type);
          // Two kinds under one name cannot be told apart here.
          if (specs.length === 1) see(specs[0]?.[1], text);
        }
        return outcome;
      },
    }),
  );
  for (const entry of ERROR_CATALOGUE) if ("provoke" in entry) for (const call of entry.provoke) await provoke(call, watched);
  for (const { kind, node, call } of ERROR_CAUSES) {
    const method = watched.find((m) => m.name === call.method && m.style !== ("mmrpc" in call ? "flat" : "v2"));
    const spec = method?.errors[kind];
    const server = await serveRpc(await node(), {}, { methods: watched });
    try {
      last = undefined;
      const { text } = await send(server, JSON.stringify({ userpass: PASSWORD, ...call }));
      if (last !== (spec?.type ?? kind)) throw new Error(`${call.method} was to fail with ${kind}, not with ${last}`);
      see(spec, JSON.parse(text).error);
    } finally {
      await server.close();
    }
  }
  return seen;
}
