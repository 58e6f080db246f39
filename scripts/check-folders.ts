import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { finish, ROOT } from "./sourceFiles.ts";

// Each folder that is a part of the program has a line in ARCHITECTURE.md that says what it owns, and holds sources only: no
// leftovers of editors and patches.

/** Folders whose own subfolders are parts too. */
const SPLIT = ["src", "src/core", "src/app", "src/adapters"];

const text = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const folders = SPLIT.flatMap((parent) => readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`)).filter((path) =>
  statSync(join(ROOT, path)).isDirectory(),
);
const described = [...text.matchAll(/^\| `(src\/[^`]+)\/` \|/gm)].map((m) => m[1] ?? "");
const files = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const problems = [
  ...files
    .filter(({ name }) => !/\.ts$|^README\.md$|^tsconfig\.json$/.test(name))
    .map(({ parentPath, name }) => `${join(parentPath, name)} is no source file`),
  ...folders.filter((path) => !described.includes(path)).map((path) => `ARCHITECTURE.md has no line for ${path}/`),
  ...described.filter((path) => !folders.includes(path)).map((path) => `ARCHITECTURE.md describes ${path}/, which does not exist`),
];
finish("folders", problems, `${folders.length} folders`);
