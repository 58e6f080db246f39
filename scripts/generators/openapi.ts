import { packageVersion } from "../../src/main/version.ts";
import { MAX_BATCH } from "../../src/rpc/dispatch.ts";
import { DISPATCH_ERRORS } from "../../src/rpc/dispatchErrors.ts";
import type { Generated } from "../gen.ts";
import { type CallForm, type JsonSchema, rpcSchemas } from "../rpcSchemas.ts";

const PASSWORD = { type: "string", format: "password", description: "rpc_password of the node." };

const requiredOf = (schema: JsonSchema): readonly unknown[] => (Array.isArray(schema.required) ? schema.required : []);

/** `alone`: the method has no flat form, so `mmrpc` may be left out. */
function requestSchema({ method, style, params, title }: CallForm, alone: boolean): JsonSchema {
  const open = method.access === "public";
  const common = { userpass: PASSWORD, method: { const: method.name } };
  const head = { title, description: method.summary };
  const needed = open ? ["method"] : ["userpass", "method"];
  if (style === "flat") {
    const properties = typeof params.properties === "object" ? params.properties : {};
    // With any other `mmrpc` a body is no flat one.
    const all = { ...common, mmrpc: { type: "null" }, ...properties };
    return { ...head, type: "object", properties: all, required: [...needed, ...requiredOf(params)] };
  }
  const properties = { ...common, mmrpc: { const: "2.0" }, params, id: { type: ["integer", "null"], minimum: 0 } };
  const required = [...needed, ...(alone ? [] : ["mmrpc"]), ...(requiredOf(params).length === 0 ? [] : ["params"])];
  return { ...head, type: "object", properties, required, additionalProperties: false };
}

function replySchema({ style, result, bare, title }: CallForm): JsonSchema {
  if (bare) return { title, ...result };
  if (style === "flat") return { title, type: "object", properties: { result }, required: ["result"] };
  const properties = { mmrpc: { const: "2.0" }, result, id: { type: ["integer", "null"] } };
  return { title, type: "object", properties, required: ["mmrpc", "result", "id"] };
}

/** Names of components have no colons (OpenAPI 3.1, 4.8.7.1). */
const plainName = (name: string): string => name.replaceAll("::", ".");
const schemaName = ({ method, style }: CallForm): string => `${plainName(method.name)}.${style}`;
const ref = (name: string): { readonly $ref: string } => ({ $ref: `#/components/schemas/${name}` });

/** May have keys beside `error`, but none of the versioned envelope. */
const FLAT_ERROR = { type: "object", properties: { error: { type: "string" }, mmrpc: false }, required: ["error"] };

const v2Error = (types: readonly string[]): JsonSchema => ({
  type: "object",
  properties: {
    mmrpc: { const: "2.0" },
    error: { type: "string" },
    error_path: { type: "string" },
    error_trace: { type: "string" },
    error_type: { enum: [...types].sort() },
    error_data: {},
    id: { type: ["integer", "null"] },
  },
  required: ["mmrpc", "error", "error_path", "error_trace", "error_type", "id"],
});

/** Statuses the HTTP server answers with by itself; the body is that of a flat failure. */
const SERVER_STATUSES = [400, 403, 408, 413, 431, 500, 503];

/** What can fail, by status: the kinds of versioned failures, and whether a flat one can have it. */
function failuresByStatus(
  forms: readonly CallForm[],
): ReadonlyMap<number, { readonly types: ReadonlySet<string>; readonly flat: boolean }> {
  const all = new Map<number, { types: Set<string>; flat: boolean }>();
  const at = (status: number) => {
    const known = all.get(status) ?? { types: new Set<string>(), flat: false };
    all.set(status, known);
    return known;
  };
  for (const status of SERVER_STATUSES) at(status).flat = true;
  for (const [type, { http }] of Object.entries(DISPATCH_ERRORS)) at(http).types.add(type);
  for (const { method, style } of forms)
    for (const [kind, e] of Object.entries(method.errors))
      if (style === "flat") at(e.flatHttp ?? 500).flat = true;
      else at(e.http).types.add(e.type ?? kind);
  return new Map([...all].sort(([a], [b]) => a - b));
}

const REASONS: { readonly [status: number]: string } = {
  400: "The body is no HTTP request, or a versioned call that is not as declared or is refused.",
  403: "The caller may not ask: a foreign Host or Origin, another machine, a wrong password.",
  404: "What the call names is not there.",
  408: "The request did not arrive, or no answer was found, in time.",
  413: "The body or the batch is too large.",
  431: "The headers are too large.",
  500: "A flat call failed, or the node did.",
  503: "Too many bodies are being read at one time.",
};

export function generate(): Generated[] {
  const { forms, shapes } = rpcSchemas();
  const schemas: Record<string, JsonSchema> = { ...Object.fromEntries(shapes), FlatError: FLAT_ERROR };
  const byMethod = new Map<string, CallForm[]>();
  for (const form of forms) byMethod.set(form.method.name, [...(byMethod.get(form.method.name) ?? []), form]);
  const mapping: Record<string, string> = {};
  for (const [name, styles] of byMethod) {
    for (const form of styles) {
      schemas[`${schemaName(form)}.request`] = requestSchema(form, styles.length === 1);
      schemas[`${schemaName(form)}.reply`] = replySchema(form);
    }
    const requests = styles.map((form) => ref(`${schemaName(form)}.request`));
    // Both forms of a method have one name: told apart by `mmrpc`.
    if (requests.length > 1) schemas[`${name}.request`] = { oneOf: requests };
    mapping[name] = requests.length > 1 ? ref(`${name}.request`).$ref : (requests[0]?.$ref ?? "");
  }
  schemas.Call = {
    type: "object",
    required: ["method"],
    oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
    discriminator: { propertyName: "method", mapping },
  };
  schemas.Reply = { anyOf: forms.map((form) => ref(`${schemaName(form)}.reply`)) };
  const failures = failuresByStatus(forms);
  const failureRefs: { readonly $ref: string }[] = [ref("FlatError")];
  const responses: Record<string, JsonSchema> = {};
  const json = (schema: JsonSchema) => ({ "application/json": { schema } });
  for (const [status, { types, flat }] of failures) {
    const name = `V2Error${status}`;
    if (types.size > 0) {
      schemas[name] = v2Error([...types]);
      failureRefs.push(ref(name));
    }
    const choices = [...(flat ? [ref("FlatError")] : []), ...(types.size > 0 ? [ref(name)] : [])];
    responses[status] = {
      description: REASONS[status] ?? "A versioned call was refused.",
      content: json({ anyOf: choices }),
    };
  }
  schemas.Batch = { type: "array", items: ref("Call"), maxItems: MAX_BATCH };
  schemas.BatchReply = {
    description: "One answer for each request, in their order.",
    type: "array",
    items: { anyOf: [ref("Reply"), ...failureRefs] },
    maxItems: MAX_BATCH,
  };
  const success = {
    description: "The answer of the method, or those of a batch, failures among them.",
    content: json({ anyOf: [ref("Reply"), ref("BatchReply")] }),
  };
  const streams = { description: "There are no streams of events.", content: { "text/plain": { schema: { type: "string" } } } };
  const document = {
    openapi: "3.1.0",
    info: {
      title: "swapnode RPC",
      version: packageVersion(),
      description: "All calls are POST / with the method in the body. Generated by npm run gen.",
    },
    servers: [{ url: "http://127.0.0.1:7783" }],
    paths: {
      "/": {
        post: {
          operationId: "call",
          requestBody: { required: true, content: json({ oneOf: [ref("Call"), ref("Batch")] }) },
          responses: { "200": success, ...responses },
        },
      },
      "/event-stream": { get: { operationId: "eventStream", responses: { "500": streams } } },
    },
    components: { schemas },
  };
  return [{ path: "docs/reference/openapi.json", content: `${JSON.stringify(document, null, 1)}\n` }];
}
