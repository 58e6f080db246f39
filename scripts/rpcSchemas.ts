import { z } from "zod";
import type { Method } from "../src/rpc/define.ts";
import { METHODS } from "../src/rpc/table.ts";

// What the RPC generators share: the declared methods, one entry per calling form, with JSON Schemas of both sides.

export type JsonSchema = { readonly [key: string]: unknown };

export const isSchema = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null && !Array.isArray(value);

/** One method in one form. `both` methods give two. */
export type CallForm = {
  readonly method: Method;
  readonly style: "flat" | "v2";
  /** `my_orders`, `my_recent_swaps (v2)`: unique among the forms. */
  readonly title: string;
  readonly params: JsonSchema;
  /** Of the handler's value, before it is wrapped. */
  readonly result: JsonSchema;
  /** The value is the whole reply, not inside `result`. */
  readonly bare: boolean;
};

function schemaOf(type: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(type, { io, unrepresentable: "any", reused: "inline" }) as JsonSchema;
  return schema;
}

/** Where a named shape stands in the OpenAPI document. */
const SHAPES = "#/components/schemas/";

/** Name of the shape a reference points to; undefined for anything else. */
export const shapeName = (schema: JsonSchema): string | undefined =>
  typeof schema.$ref === "string" && schema.$ref.startsWith(SHAPES) ? schema.$ref.slice(SHAPES.length) : undefined;

/** Replaces every titled part by a reference and collects its shape. Descriptions and defaults stay where they are used. */
function hoist(schema: unknown, shapes: Map<string, JsonSchema>): unknown {
  if (Array.isArray(schema)) return schema.map((part) => hoist(part, shapes));
  if (!isSchema(schema)) return schema;
  const whole = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, key === "default" ? part : hoist(part, shapes)]));
  if (typeof whole.title !== "string") return whole;
  const { title, description, default: fallback, ...shape } = whole;
  const known = shapes.get(title);
  if (known && JSON.stringify(known) !== JSON.stringify(shape)) throw new Error(`two different shapes are called ${title}`);
  shapes.set(title, shape);
  return {
    $ref: SHAPES + title,
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
}

export type RpcSchemas = {
  readonly forms: readonly CallForm[];
  /** Named shapes by name, in alphabetical order. */
  readonly shapes: ReadonlyMap<string, JsonSchema>;
};

export function rpcSchemas(methods: readonly Method[] = METHODS): RpcSchemas {
  const flatNames = new Set(methods.filter((m) => m.style !== "v2").map((m) => m.name));
  const shapes = new Map<string, JsonSchema>();
  const read = (type: z.ZodType, io: "input" | "output"): JsonSchema => {
    const schema = hoist(schemaOf(type, io), shapes);
    return isSchema(schema) ? schema : {};
  };
  const forms = methods.flatMap((method) => {
    const styles = method.style === "both" ? (["flat", "v2"] as const) : ([method.style] as const);
    return styles.map((style) => ({
      method,
      style,
      title: style === "v2" && flatNames.has(method.name) ? `${method.name} (v2)` : method.name,
      params: read(method.params, "input"),
      result: read(method.result, "output"),
      bare: style === "flat" && method.flatReply === "bare",
    }));
  });
  return { forms, shapes: new Map([...shapes].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** Properties of an object schema with whether each must be given. */
export function propertiesOf(
  schema: JsonSchema,
): readonly { readonly name: string; readonly schema: JsonSchema; readonly required: boolean }[] {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, property]) => ({
    name,
    schema: isSchema(property) ? property : {},
    required: required.includes(name),
  }));
}
