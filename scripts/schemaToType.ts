import { isSchema, type JsonSchema, propertiesOf, shapeName } from "./rpcSchemas.ts";

const union = (types: readonly string[]): string => [...new Set(types)].join(" | ");

/** A JSON Schema of the kinds our declarations use, as a TypeScript type. Anything else is `unknown`. */
export function schemaToType(schema: JsonSchema): string {
  const name = shapeName(schema);
  if (name !== undefined) return name;
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return union(choices.map((c) => (isSchema(c) ? schemaToType(c) : "unknown")));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map((v) => JSON.stringify(v)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => schemaToType({ ...schema, type })));
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return arrayType(schema);
    case "object":
      return objectType(schema);
    default:
      return "unknown";
  }
}

function arrayType(schema: JsonSchema): string {
  if (Array.isArray(schema.prefixItems))
    return `[${schema.prefixItems.map((s) => (isSchema(s) ? schemaToType(s) : "unknown")).join(", ")}]`;
  const item = isSchema(schema.items) ? schemaToType(schema.items) : "unknown";
  return /^[\w.]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
}

function objectType(schema: JsonSchema): string {
  const fields = propertiesOf(schema).map(({ name, schema: field, required }) => {
    const optional = required ? "" : "?";
    return `${JSON.stringify(name)}${optional}: ${schemaToType(field)}`;
  });
  const rest = isSchema(schema.additionalProperties) ? schemaToType(schema.additionalProperties) : null;
  if (fields.length === 0) return rest === null ? "Record<string, never>" : `{ [key: string]: ${rest} }`;
  return `{ ${fields.join("; ")}${rest === null ? "" : "; [key: string]: unknown"} }`;
}
