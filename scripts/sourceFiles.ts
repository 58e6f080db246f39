import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** A source file: path from the root with `/`, and its text. */
export type SourceFile = { readonly path: string; readonly text: string };

/** Every `.ts` file below a folder of the repository, in order of name. Throws when there is none: a check that reads nothing proves nothing. */
export function readSources(folder: string): SourceFile[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  const paths = names.filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`);
  if (paths.length === 0) throw new Error(`no sources in ${folder}`);
  return paths.sort().map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** The text with comments and the content of plain strings blanked, line breaks kept. */
export function codeOnly(text: string): string {
  const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;
  return text.replace(token, (found) => (found.startsWith("/") ? found.replace(/[^\n]/g, " ") : `"${" ".repeat(found.length - 2)}"`));
}

/** Prints what was found and ends the process: 1 when there is a problem, else 0. */
export function finish(name: string, problems: readonly string[], looked: string): never {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stdout.write(problems.length === 0 ? `${name}: ${looked}, all well\n` : `${name}: ${problems.length} problems\n`);
  process.exit(problems.length === 0 ? 0 : 1);
}
