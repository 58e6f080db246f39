import { enableCompileCache } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Flags a node is started with. The young part of the heap stays small: loading the modules would make it grow to its
 * full size, 25 MB that an idle node never gives back; the busiest order traffic is no slower for it. And Node sets itself up
 * instead of unpacking its snapshot, whose heap stays half empty: 7 MB for 40 ms. The old part is collected when it has grown by
 * three fifths, not fourfold as the engine has it for small heaps: what a swap needs for seconds is too old for the young part, and
 * under thousands of swaps two thirds of the heap were such garbage (400 MiB resident where 260 will do, for 5 % more processor).
 */
export const NODE_FLAGS: readonly string[] = ["--max-semi-space-size=2", "--no-node-snapshot", "--heap-growing-percent=60"];

const CACHE_VARIABLE = "NODE_COMPILE_CACHE";

/** One allocation arena for all threads, and two threads for files and name lookups: each more keeps memory of its own. */
const SMALL = { MALLOC_ARENA_MAX: "1", UV_THREADPOOL_SIZE: "2" } as const;

/**
 * Environment a node is started with. Run from the checkout, it would strip the types of some 300 files at every start,
 * which takes half a second and 40 MB; Node keeps the result beside the installed packages, checked against the sources.
 * The built program gains nothing from that.
 */
export function nodeEnvironment(): { readonly [name: string]: string } {
  const small = Object.fromEntries(Object.entries(SMALL).map(([name, value]) => [name, process.env[name] ?? value]));
  if (!import.meta.url.endsWith(".ts")) return small;
  const root = fileURLToPath(new URL("../..", import.meta.url));
  // Absolute: children have other working folders.
  return { ...small, [CACHE_VARIABLE]: resolve(process.env[CACHE_VARIABLE] ?? join(root, "node_modules", ".cache", "swapnode")) };
}

/**
 * Gives this process the settings. A command that runs a node starts itself over for it, unless it has them: same process
 * id, same standard streams, but not where a parent holds another pipe to it, which would be lost, or where the system
 * cannot do that. All others get what can still be changed.
 *
 * @param args after the program's name
 * @param hasLifeline whether a parent holds this process by a pipe
 */
export function takeNodeSettings([first]: readonly string[], hasLifeline: boolean): void {
  const environment = nodeEnvironment();
  const isSet =
    NODE_FLAGS.every((flag) => process.execArgv.includes(flag)) && Object.keys(environment).every((name) => name in process.env);
  if (isSet) return;
  const runsNode = first === undefined || first === "start" || first === "-" || first.trimStart().startsWith("{");
  if (runsNode && !hasLifeline && process.channel === undefined && process.execve !== undefined) {
    const args = [process.execPath, ...process.execArgv, ...NODE_FLAGS, ...process.argv.slice(1)];
    process.execve(process.execPath, args, { ...process.env, ...environment });
  }
  const folder = environment[CACHE_VARIABLE];
  // The variable is for threads and children.
  if (folder !== undefined && enableCompileCache(folder).directory !== undefined) process.env[CACHE_VARIABLE] = folder;
}
