import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { linkProblems } from "./links.ts";
import { finish, ROOT, type SourceFile } from "./sourceFiles.ts";

// Links, file names and commands in the documents. The texts beside test vectors are found by who looks at the vectors.

const FOLDERS = ["docs", "bench", "contracts", "src/chain", "test/e2e/kernel"];

const below = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);
const paths = [...readdirSync(ROOT), ...FOLDERS.flatMap(below)].filter((path) => path.endsWith(".md")).sort();
const documents: SourceFile[] = paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
const problems = linkProblems(documents, { hasPath: (path) => existsSync(join(ROOT, path)), commands: Object.keys(scripts) });
finish("documents", problems, `${documents.length} documents`);
