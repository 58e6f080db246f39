import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { finish, ROOT, readSources } from "./sourceFiles.ts";
import { packageProblems, unusedExports, unusedFiles } from "./unused.ts";

// Exports, files and packages that nothing uses.

const keys = (value: unknown): string[] => (typeof value === "object" && value !== null ? Object.keys(value) : []);
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const files = ["src", "sim", "test", "scripts", "bench"].filter((folder) => existsSync(join(ROOT, folder))).flatMap(readSources);
const problems = [
  ...unusedExports(files),
  ...unusedFiles(files),
  ...packageProblems(files, {
    dependencies: [...keys(manifest.dependencies), ...keys(manifest.optionalDependencies)],
    development: keys(manifest.devDependencies),
  }),
];
finish("unused", problems, `${files.length} files`);
