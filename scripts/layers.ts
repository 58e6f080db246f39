import { posix } from "node:path";
import type { SourceFile } from "./sourceFiles.ts";

/** Which layers a layer may import, and which packages. ARCHITECTURE.md explains the picture. */
type Rule = { readonly layers: readonly string[]; readonly packages: readonly RegExp[] };

const PURE = [/^@noble\//, /^@scure\//];
const NODE = [/^node:/];
const ANY = [/^/];

const RULES: { readonly [layer: string]: Rule } = {
  core: { layers: ["core"], packages: PURE },
  ports: { layers: ["ports", "core"], packages: [] },
  net: { layers: ["net", "ports", "core"], packages: [] },
  app: { layers: ["app", "ports", "core"], packages: [/^zod$/] },
  rpc: { layers: ["rpc", "app", "ports", "core"], packages: [/^zod$/, /^node:crypto$/, /^@noble\//] },
  config: { layers: ["config", "core"], packages: [...NODE, /^zod$/] },
  chain: { layers: ["chain", "ports", "core"], packages: [...NODE, ...PURE] },
  wire: { layers: ["wire", "ports", "core"], packages: NODE },
  chainIndex: { layers: ["chainIndex", "ports", "core"], packages: NODE },
  adapters: { layers: ["chainIndex", "wire", "ports", "core"], packages: ANY },
  main: {
    layers: ["main", "devnet", "chain", "config", "rpc", "app", "net", "adapters", "chainIndex", "wire", "ports", "core"],
    packages: ANY,
  },
  sim: { layers: ["sim", "devnet", "chain", "app", "net", "adapters", "chainIndex", "ports", "core"], packages: [...NODE, ...PURE] },
  devnet: { layers: ["devnet", "main", "chain", "config", "rpc", "app", "net", "adapters", "ports", "core"], packages: ANY },
};

/** Files that are a program of their own and put things together like `main`. ARCHITECTURE.md gives the reasons. */
const PROGRAMS = ["src/chain/main.ts"];

export type Import = { readonly specifier: string; readonly typeOnly: boolean };

/** What a file imports, re-exports or loads with `import()`. The sources are formatted, so each stands at a line's start. */
export function importsOf(text: string): Import[] {
  const bare = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const found: Import[] = [];
  for (const m of bare.matchAll(/^(?:import|export)\b([^"';]*?)\bfrom\s*["']([^"']+)["']/gm)) {
    found.push({ specifier: m[2] ?? "", typeOnly: /^\s*type\b/.test(m[1] ?? "") });
  }
  for (const m of bare.matchAll(/^import\s*["']([^"']+)["']/gm)) found.push({ specifier: m[1] ?? "", typeOnly: false });
  for (const m of bare.matchAll(/\bimport\(\s*["']([^"']+)["']/g)) found.push({ specifier: m[1] ?? "", typeOnly: false });
  return found;
}

/** The simulator stands beside `src` and puts nodes together like `main`. */
const SIMULATOR = "sim/";

const layerOf = (path: string): string => {
  if (path.startsWith(SIMULATOR)) return "sim";
  return PROGRAMS.includes(path) ? "main" : (path.split("/")[1] ?? "");
};
const adapterOf = (path: string): string => path.split("/")[2] ?? "";

function problemOf(file: SourceFile, { specifier }: Import): string | null {
  const from = layerOf(file.path);
  const rule = RULES[from];
  if (rule === undefined) return `the folder src/${from} has no rule in scripts/layers.ts`;
  if (!specifier.startsWith("."))
    return rule.packages.some((p) => p.test(specifier)) ? null : `${from} may not import the package ${specifier}`;
  if (!specifier.endsWith(".ts") && !specifier.endsWith(".json")) return `the import ${specifier} does not end in .ts`;
  const target = posix.join(posix.dirname(file.path), specifier);
  if (from === "sim" && target.startsWith(SIMULATOR)) return null;
  if (!target.startsWith("src/")) return from === "main" ? null : `${from} may not import ${target}, outside src`;
  const to = layerOf(target);
  if (from === "adapters" && to === "adapters") {
    return adapterOf(target) === adapterOf(file.path)
      ? null
      : `the adapter ${adapterOf(file.path)} may not import the adapter ${adapterOf(target)}`;
  }
  return rule.layers.includes(to) ? null : `${from} may not import ${to} (${target})`;
}

/** Rings of files that import each other at run time; type-only imports vanish and may ring. */
function ringsOf(files: readonly SourceFile[]): string[] {
  const next = new Map(
    files.map((f) => {
      const targets = importsOf(f.text).filter((i) => i.specifier.startsWith(".") && !i.typeOnly);
      return [f.path, targets.map((i) => posix.join(posix.dirname(f.path), i.specifier))] as const;
    }),
  );
  const rings: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) rings.push(`files import each other: ${[...trail.slice(at), path].join(" -> ")}`);
    if (at >= 0 || done.has(path)) return;
    for (const target of next.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of next.keys()) visit(path, []);
  return rings;
}

/** Every import that crosses a border it may not, and every ring. Tests may import anything. */
export function layerProblems(all: readonly SourceFile[]): string[] {
  const files = all.filter((f) => !f.path.endsWith(".test.ts"));
  const crossings = files.flatMap((file) =>
    importsOf(file.text).flatMap((found) => {
      const problem = problemOf(file, found);
      return problem === null ? [] : [`${file.path}: ${problem}`];
    }),
  );
  return [...crossings, ...ringsOf(files)];
}
