import { stripTypeScriptTypes } from "node:module";
import { finish, readSources } from "./sourceFiles.ts";

// Node runs the sources with their types blanked out, by a parser that is stricter than those of the compiler and of the tests.

function problemOf({ path, text }: { readonly path: string; readonly text: string }): readonly string[] {
  try {
    stripTypeScriptTypes(text);
    return [];
  } catch (cause) {
    return [`${path}: Node cannot run it: ${cause instanceof Error ? cause.message : String(cause)}`];
  }
}

process.removeAllListeners("warning");
const files = ["src", "sim", "test", "bench", "scripts"].flatMap((folder) => readSources(folder));
finish("what Node runs", files.flatMap(problemOf), `${files.length} files`);
