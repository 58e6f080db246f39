import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject } from "../../../src/rpc/jsonNumber.ts";
import { METHODS } from "../../../src/rpc/table.ts";
import { differences, type Entry, type Expected, isCheck, type Row, type State } from "./row.ts";
import { PASSWORD, type Stage } from "./stage.ts";
import { STATES } from "./states.ts";

/** `$name` in a text stands for a kept value. */
const filled = (text: string, kept: ReadonlyMap<string, string>): string =>
  text.replace(/\$([a-zA-Z]+)/g, (all, name: string) => kept.get(name) ?? all);

function filledIn(value: unknown, kept: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return filled(value, kept);
  if (Array.isArray(value)) return value.map((item) => filledIn(item, kept));
  if (typeof value !== "object" || value === null) return value;
  const expected = value as Expected;
  if (isCheck(expected)) return expected.filled?.((v) => filledIn(v, kept) as Expected) ?? expected;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [filled(key, kept), filledIn(v, kept)]));
}

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce((v, key) => (typeof v === "object" && v !== null ? Reflect.get(v, key) : undefined), value);

export const methodOf = (row: Row) => METHODS.find((m) => m.name === row.method && (m.style === row.style || m.style === "both"));

function nameOf(row: Row): string {
  const params = JSON.stringify(row.params ?? {});
  const end = "error" in row ? `${row.error}: ${row.text}` : "answered";
  return `${row.method} ${row.style} ${params.length > 120 ? `${params.slice(0, 120)}…` : params}${row.note ? ` (${row.note})` : ""} → ${end}`;
}

async function checkRow(row: Row, stage: Stage, kept: Map<string, string>): Promise<void> {
  const params = filledIn(row.params === null ? undefined : (row.params ?? {}), kept);
  const call = { userpass: PASSWORD, method: row.method };
  const body = row.style === "v2" ? { ...call, mmrpc: "2.0", params, id: 7 } : { ...call, ...(isJsonObject(params) ? params : {}) };
  const { status, text, headers } = await stage.ask(JSON.stringify(body));
  const reply: Record<string, unknown> = JSON.parse(text);
  const method = methodOf(row);
  expect(headers.get("access-control-allow-origin"), text).toBe("http://localhost:3000");
  expect(headers.get("content-type"), text).toBe("application/json");
  if ("error" in row) {
    const wanted = filled(row.text, kept);
    const path = row.path ?? row.method;
    const data = row.data === undefined ? {} : { error_data: row.data };
    const envelope: { readonly [key: string]: Expected } =
      row.style === "flat"
        ? { error: wanted, ...row.extra }
        : {
            ...{ mmrpc: "2.0", error: wanted, error_path: path, error_trace: `${path}:1]` },
            ...{ error_type: row.type ?? row.error, ...data, id: 7 },
          };
    expect(differences(filledIn(envelope, kept) as Expected, reply, ""), text).toEqual([]);
    if (row.style === "v2") expect(Object.keys(reply), text).toEqual(Object.keys(envelope));
    expect(status, text).toBe(row.status ?? 500);
    if (stage.lastKind() !== undefined) expect(stage.lastKind()).toBe(row.error);
    return;
  }
  expect(status, text).toBe(row.status ?? 200);
  const isBare = row.style === "flat" && method?.flatReply === "bare";
  const value = isBare ? reply : reply.result;
  expect(differences(filledIn(row.result, kept) as Expected, value, "result"), text).toEqual([]);
  if (!isBare) expect(Object.keys(reply)).toEqual(row.style === "v2" ? ["mmrpc", "result", "id"] : ["result"]);
  if (row.style === "v2") expect([reply.mmrpc, reply.id]).toEqual(["2.0", 7]);
  // Nothing that the declaration does not name.
  expect(method?.result.parse(value)).toEqual(value);
  for (const [name, path] of Object.entries(row.keep ?? {})) kept.set(name, String(at(value, path)));
}

/** Runs a table: its entries in order, those of one state on one node. */
export function runRows(title: string, entries: readonly Entry[]): void {
  for (const state of [...new Set(entries.map((e) => e.on))] as readonly State[]) {
    describe(`${title}, node ${state}`, { shuffle: false }, () => {
      let stage: Stage;
      const kept = new Map<string, string>();
      beforeAll(async () => {
        stage = await STATES[state]();
        for (const [name, value] of Object.entries(stage.kept)) kept.set(name, value);
      }, 60_000);
      afterAll(() => stage.close());
      for (const entry of entries.filter((e) => e.on === state)) {
        if ("step" in entry)
          test(`[${entry.step}]`, async () => {
            const step = stage.steps[entry.step];
            if (!step) throw new Error(`no step ${entry.step}`);
            await step();
          }, 120_000);
        else test(nameOf(entry), () => checkRow(entry, stage, kept));
      }
    });
  }
}
