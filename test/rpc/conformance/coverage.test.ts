import { expect, test } from "vitest";
import { METHODS } from "../../../src/rpc/table.ts";
import type { Row } from "./row.ts";
import { CONFORMANCE_ROWS } from "./tables.ts";

/** The rows against the declarations: the other tests run the rows, this one says that none is missing. */

/** A task waits for a hardware wallet only, and there are none. */
const NEVER_SUCCEEDS = /^task::\w+::user_action$/;
const STYLES = ["flat", "v2"] as const;
const FORMS = METHODS.flatMap((method) =>
  STYLES.filter((style) => method.style === style || method.style === "both").map((style) => ({ method, style })),
);
/** Refusals no method declares. */
const EVERYWHERE = new Set(["bad_params", "NoKeys"]);
const rowsOf = (name: string, style: string): readonly Row[] => CONFORMANCE_ROWS.filter((r) => r.method === name && r.style === style);

test("every method succeeds in every style it has", () => {
  const missing = FORMS.filter(
    ({ method, style }) => !NEVER_SUCCEEDS.test(method.name) && !rowsOf(method.name, style).some((row) => "result" in row),
  );
  expect(missing.map(({ method, style }) => `${method.name} ${style}`)).toEqual([]);
});

test("every declared error of every method is provoked, in every style", () => {
  const missing = FORMS.flatMap(({ method, style }) => {
    const provoked = new Set(rowsOf(method.name, style).flatMap((row) => ("error" in row ? [row.error] : [])));
    return Object.keys(method.errors).flatMap((kind) => (provoked.has(kind) ? [] : [`${method.name} ${style}: ${kind}`]));
  });
  expect(missing).toEqual([]);
});

test("no row asks for a method, a style or an error that is not declared", () => {
  const unknown = CONFORMANCE_ROWS.filter((row) => {
    const form = FORMS.find(({ method, style }) => method.name === row.method && style === row.style);
    return !form || ("error" in row && !EVERYWHERE.has(row.error) && !(row.error in form.method.errors));
  });
  expect(unknown).toEqual([]);
});

test("status and error_type of each versioned failure are the declared ones, and a flat one is 500 but where it is declared", () => {
  for (const row of CONFORMANCE_ROWS) {
    if (!("error" in row) || EVERYWHERE.has(row.error)) continue;
    const spec = FORMS.find(({ method, style }) => method.name === row.method && style === row.style)?.method.errors[row.error];
    if (row.style === "flat") expect([row, row.status ?? 500]).toEqual([row, spec?.flatHttp ?? 500]);
    else expect([row, row.status, row.type ?? row.error]).toEqual([row, spec?.http, spec?.type ?? row.error]);
  }
});
