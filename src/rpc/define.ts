import type { z } from "zod";
import type { Result } from "../core/util/result.ts";
import type { RpcContext } from "./ctx.ts";
import { type Fault, type FaultSpec, type FaultTable, faultOf } from "./fault.ts";
import { isJsonObject, JsonNumber } from "./jsonNumber.ts";
import { issueText, wrongType } from "./serdeText.ts";
import type { SwapList } from "./swapList.ts";

/** What one call brings along. `signal` fires at the deadline of the request. */
export type CallInfo = { readonly signal: AbortSignal };

/** One example of the documentation; a test sends each through the real HTTP path. */
export type Example = {
  readonly title: string;
  readonly style: "flat" | "v2";
  /** Without `userpass`, `method`, `mmrpc`, `id`. */
  readonly params: { readonly [key: string]: unknown };
  /** What stands in `result`, or the whole reply of a bare method. */
  readonly result?: unknown;
  /** The kind of the failure this example shows instead. */
  readonly error?: string;
};

type Declaration<E extends { readonly kind: string }, P extends z.ZodType, R extends z.ZodType> = {
  readonly name: string;
  /** `flat`: parameters at the top level; `v2`: in `params` of an `mmrpc` body; `both`: one handler for both. */
  readonly style: "flat" | "v2" | "both";
  /** Whether a flat reply is `{"result": …}` or the value itself. A v2 reply always has `result`. */
  readonly flatReply?: "wrapped" | "bare";
  /** `public`: no userpass needed, answered to other machines too. */
  readonly access?: "public" | "user";
  /** False: a node started without keys answers it too. Default true. */
  readonly needsKeys?: false;
  readonly summary: string;
  /** Where the behaviour is written down. */
  readonly source: string;
  /** The name parse errors of `params` use for the whole object. */
  readonly struct?: string;
  readonly params: P;
  readonly result: R;
  /** A list of swaps may come as texts. */
  handle(params: z.output<P>, ctx: RpcContext, call: CallInfo): Promise<Result<z.input<R> | SwapList, E>>;
  readonly errors: FaultTable<E>;
  readonly examples: readonly Example[];
};

export type Outcome =
  | { readonly kind: "reply"; readonly value: unknown }
  | { readonly kind: "bad_params"; readonly text: string }
  | { readonly kind: "fault"; readonly fault: Fault };

/** A declared method with its types erased: what dispatch, documents and tests work with. */
export type Method = {
  readonly name: string;
  readonly style: "flat" | "v2" | "both";
  readonly flatReply: "wrapped" | "bare";
  readonly access: "public" | "user";
  readonly needsKeys: boolean;
  readonly summary: string;
  readonly source: string;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
  readonly errors: { readonly [kind: string]: FaultSpec<never> };
  readonly examples: readonly Example[];
  run(params: unknown, ctx: RpcContext, call: CallInfo): Promise<Outcome>;
};

/**
 * Declares one RPC method (design D11): everything else about it is derived from this. `errors` has exactly one entry
 * for each kind of `E`, the errors the handler can return; a missing or a superfluous one does not compile.
 * The second call lets the schemas be inferred while `E` is named.
 */
export const defineMethod =
  <E extends { readonly kind: string } = never>() =>
  <P extends z.ZodType, R extends z.ZodType>(d: Declaration<E, P, R>): Method => {
    const table: { readonly [kind: string]: FaultSpec<never> | undefined } = d.errors;
    return {
      name: d.name,
      style: d.style,
      flatReply: d.flatReply ?? "wrapped",
      access: d.access ?? "user",
      needsKeys: d.needsKeys ?? true,
      summary: d.summary,
      source: d.source,
      params: d.params,
      result: d.result,
      errors: d.errors,
      examples: d.examples,
      async run(params, ctx, call) {
        // To the schema library such a number is an object without keys.
        if (params instanceof JsonNumber) return { kind: "bad_params", text: badParams(params, d.struct, []) };
        const parsed = d.params.safeParse(params);
        if (!parsed.success) return { kind: "bad_params", text: badParams(params, d.struct, parsed.error.issues) };
        const done = await d.handle(parsed.data, ctx, call);
        if (done.ok) return { kind: "reply", value: done.value };
        const spec = table[done.error.kind];
        if (!spec) throw new Error(`${d.name}: no entry for error kind ${done.error.kind}`);
        // The table's type guarantees that the entry under a kind takes that kind's data.
        return { kind: "fault", fault: faultOf(spec as FaultSpec<E>, done.error) };
      },
    };
  };

function badParams(params: unknown, struct: string | undefined, issues: readonly z.core.$ZodIssue[]): string {
  return isJsonObject(params) ? issueText(issues) : wrongType(params, `struct ${struct ?? "Params"}`);
}
