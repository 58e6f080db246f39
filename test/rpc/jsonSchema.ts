import { isSchema, type JsonSchema } from "../../scripts/rpcSchemas.ts";

/** Says nothing about a value. `format` and `default` are notes (JSON Schema 2020-12, 7.2 and 9.2). */
const NOTES = new Set(["title", "description", "format", "default", "discriminator"]);

type Check = (value: unknown, rule: unknown, schema: JsonSchema, root: JsonSchema) => readonly string[];

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const fails = (bad: boolean, text: string): readonly string[] => (bad ? [text] : []);
const list = (rule: unknown): readonly unknown[] => (Array.isArray(rule) ? rule : []);
const at = (key: string | number, problems: readonly string[]): readonly string[] => problems.map((p) => `/${key}${p}`);

const TYPES: { readonly [type: string]: (value: unknown) => boolean } = {
  null: (v) => v === null,
  boolean: (v) => typeof v === "boolean",
  string: (v) => typeof v === "string",
  number: (v) => typeof v === "number",
  integer: (v) => Number.isInteger(v),
  array: Array.isArray,
  object: isObject,
};

/** The keywords the generated document uses, each as JSON Schema 2020-12 has it. */
const KEYWORDS: { readonly [keyword: string]: Check } = {
  $ref: (value, rule, _, root) => schemaProblems(value, resolve(String(rule), root), root),
  type: (value, rule) =>
    fails(!(Array.isArray(rule) ? rule : [rule]).some((t) => TYPES[String(t)]?.(value)), `: is not ${JSON.stringify(rule)}`),
  const: (value, rule) => fails(!same(value, rule), `: is not ${JSON.stringify(rule)}`),
  enum: (value, rule) => fails(!list(rule).some((v) => same(v, value)), ": is none of the values"),
  minimum: (value, rule) => fails(typeof value === "number" && value < Number(rule), `: is below ${rule}`),
  maximum: (value, rule) => fails(typeof value === "number" && value > Number(rule), `: is above ${rule}`),
  pattern: (value, rule) => fails(typeof value === "string" && !new RegExp(String(rule), "u").test(value), `: does not match ${rule}`),
  minItems: (value, rule) => fails(Array.isArray(value) && value.length < Number(rule), ": has too few elements"),
  maxItems: (value, rule) => fails(Array.isArray(value) && value.length > Number(rule), ": has too many elements"),
  prefixItems: (value, rule, _, root) =>
    Array.isArray(value) ? list(rule).flatMap((s, i) => (i < value.length ? at(i, schemaProblems(value[i], s, root)) : [])) : [],
  items(value, rule, schema, root) {
    const from = list(schema.prefixItems).length;
    return Array.isArray(value) ? value.slice(from).flatMap((v, i) => at(from + i, schemaProblems(v, rule, root))) : [];
  },
  required: (value, rule) => (isObject(value) ? list(rule).flatMap((k) => fails(!Object.hasOwn(value, String(k)), `: lacks ${k}`)) : []),
  properties: (value, rule, _, root) =>
    isObject(value) && isObject(rule)
      ? Object.entries(rule).flatMap(([k, s]) => (Object.hasOwn(value, k) ? at(k, schemaProblems(value[k], s, root)) : []))
      : [],
  additionalProperties(value, rule, schema, root) {
    const known = isObject(schema.properties) ? schema.properties : {};
    if (!isObject(value)) return [];
    return Object.entries(value).flatMap(([k, v]) => (Object.hasOwn(known, k) ? [] : at(k, schemaProblems(v, rule, root))));
  },
  propertyNames: (value, rule, _, root) => (isObject(value) ? Object.keys(value).flatMap((k) => at(k, schemaProblems(k, rule, root))) : []),
  anyOf: (value, rule, _, root) => fails(!list(rule).some((s) => schemaProblems(value, s, root).length === 0), ": fits none of anyOf"),
  oneOf(value, rule, _, root) {
    const fitting = list(rule).filter((s) => schemaProblems(value, s, root).length === 0).length;
    return fails(fitting !== 1, `: fits ${fitting} of oneOf`);
  },
  not: (value, rule, _, root) => fails(schemaProblems(value, rule, root).length === 0, ": fits what it must not"),
};

function resolve(ref: string, root: JsonSchema): unknown {
  let part: unknown = root;
  for (const key of ref.replace(/^#\//, "").split("/")) part = isSchema(part) ? part[key] : undefined;
  if (part === undefined) throw new Error(`${ref} leads nowhere`);
  return part;
}

/** Why a value does not fit a schema; empty: it does. `root`: the document references point into. Throws on a keyword it does not know. */
export function schemaProblems(value: unknown, schema: unknown, root: JsonSchema): readonly string[] {
  if (typeof schema === "boolean") return fails(!schema, ": is not allowed");
  if (!isSchema(schema)) throw new Error(`${JSON.stringify(schema)} is no schema`);
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    if (NOTES.has(keyword)) return [];
    const check = KEYWORDS[keyword];
    if (!check) throw new Error(`the keyword ${keyword} is not known here`);
    return check(value, rule, schema, root);
  });
}
