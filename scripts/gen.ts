import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./sourceFiles.ts";

// npm run gen: writes every generated file. With --check: fails when one is not what it would write.

/** One file to write; `content` null: its sources are not here (no shared data), so it is left alone. */
export type Generated = { readonly path: string; readonly content: string | null };

const check = process.argv.includes("--check");
let stale = 0;
let written = 0;
const names = readdirSync(join(ROOT, "scripts", "generators")).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
for (const name of names.sort()) {
  const { generate }: { generate: () => Generated[] | Promise<Generated[]> } = await import(join(ROOT, "scripts", "generators", name));
  for (const { path, content } of await generate()) {
    if (content === null) {
      process.stdout.write(`gen: ${path} skipped: no shared data\n`);
      continue;
    }
    const file = join(ROOT, path);
    if (existsSync(file) && readFileSync(file, "utf8") === content) continue;
    if (check) {
      process.stderr.write(`${path} is not current: npm run gen\n`);
      stale++;
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    written++;
  }
}
process.stdout.write(check ? `gen: ${names.length} generators, ${stale} stale files\n` : `gen: ${written} files written\n`);
process.exit(stale === 0 ? 0 : 1);
