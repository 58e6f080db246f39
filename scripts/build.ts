import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// npm run build: JavaScript for the published package in dist/, because Node refuses .ts below node_modules.

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const tsc = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});
if (tsc.status !== 0) process.exit(1);

/** Data the program reads at run time stands beside its code; the compiler copies only code. */
for (const name of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
  if (/\.(?:json|html|css|svg)$/.test(name) && !name.endsWith("tsconfig.json")) cpSync(join(root, "src", name), join(dist, name));
}
