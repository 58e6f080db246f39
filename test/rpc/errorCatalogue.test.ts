import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type CatalogueEntry, ERROR_CATALOGUE } from "./errorCatalogue.ts";
import { provoke } from "./provoke.ts";

/** Every text of the error catalogue (reference rpc.md 10) is provoked through HTTP, word for word. */

const NUMBER = String.raw`\d+(?:\.\d+)?`;
const PLACEHOLDERS: { readonly [name: string]: string } = {
  l: String.raw`(?:None|Some\(BigDecimal\("${NUMBER}"\)\))`,
  u: "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
  n: String.raw`\d+`,
  a: NUMBER,
  r: NUMBER,
  t: NUMBER,
  X: "[A-Z]+",
};

function patternOf(text: string): RegExp {
  const parts = text.split(/<(\w+)>/);
  const source = parts.map((part, i) => (i % 2 === 0 ? part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : (PLACEHOLDERS[part] ?? ".+")));
  return new RegExp(`^${source.join("")}$`);
}

const provoked = ERROR_CATALOGUE.flatMap((entry) => ("provoke" in entry ? [entry] : []));

describe.each(provoked)("$key: $text", ({ text, provoke: calls }: Extract<CatalogueEntry, { provoke: unknown }>) => {
  test.each(calls)("$method $params", async (call) => {
    const { status, error } = await provoke(call);
    expect(error).toMatch(patternOf(text));
    expect(status).toBe(call.status ?? 500);
  });
});

test("every text stands once, and is provoked or says why it cannot be", () => {
  const texts = ERROR_CATALOGUE.map((entry) => entry.text);
  expect(new Set(texts).size).toBe(texts.length);
  for (const entry of ERROR_CATALOGUE) {
    if ("cannotArise" in entry) {
      expect(entry.cannotArise, entry.text).toMatch(/\w/);
      continue;
    }
    expect(entry.provoke, entry.text).not.toHaveLength(0);
    for (const file of entry.source.split(", ")) expect(existsSync(new URL(`../../src/${file}`, import.meta.url)), file).toBe(true);
  }
});

test("a text is taken word for word, its values in their forms only", () => {
  const pattern = patternOf("Not enough <X>: locked by swaps <l>");
  expect('Not enough DOC: locked by swaps Some(BigDecimal("1.5"))').toMatch(pattern);
  for (const other of [
    "Not enough DOC: locked by swaps None!",
    "not enough DOC: locked by swaps None",
    "Not enough DOC: locked by swaps 1.5",
    "Not enough : locked by swaps None",
  ])
    expect(other).not.toMatch(pattern);
});

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const reference = join(shared, "reference/rpc.md");
const hasShared = existsSync(reference);

test.skipIf(!hasShared)(`no text of the reference is missing, none is ours alone${hasShared ? "" : " skipped: no shared data"}`, () => {
  const section = /\n## 10\. [^\n]*\n([\s\S]*?)\n## /.exec(readFileSync(reference, "utf8"))?.[1] ?? "";
  const cells = section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Text "));
  // What stands in backquotes in the first column, but for the names of methods.
  const texts = cells.flatMap((line) => [...(line.split(" | ")[0] ?? "").matchAll(/`([^`]+)`/g)].map(([, text]) => text ?? ""));
  const inReference = texts.filter((text) => !/^[a-z_]+$/.test(text));
  expect(inReference.length).toBeGreaterThan(30);
  expect(ERROR_CATALOGUE.map((entry) => entry.text)).toEqual(inReference);
});
