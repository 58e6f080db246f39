// Lets Node run this package's TypeScript sources where it refuses to by itself: below node_modules. Needed only when
// the package was packed without its built files (`npm pack` runs no build under `ignore-scripts`).
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";

const own = new URL("../src/", import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(own) || !url.endsWith(".ts")) return nextLoad(url, context);
    return { format: "module", shortCircuit: true, source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8")) };
  },
});
