import { rmdirSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { dirname, isAbsolute } from "node:path";
import { LIFELINE_VARIABLE, ORPHAN_FOLDER_VARIABLE } from "../devnet/nodeProcess.ts";

/** Whether somebody holds this process by a pipe. */
export const hasLifeline = (): boolean => process.env[LIFELINE_VARIABLE] !== undefined;

/**
 * Whoever started this process may hold one end of a pipe and name the other in the environment. When it closes, because
 * the parent ended in whatever way, `kill -9` included, we stop as if asked to by SIGTERM, and remove the folder that the
 * parent would have removed.
 */
export function followLifeline(): void {
  const descriptor = Number.parseInt(process.env[LIFELINE_VARIABLE] ?? "", 10);
  const folder = process.env[ORPHAN_FOLDER_VARIABLE];
  // Not for our own children: their descriptors and folders are others.
  delete process.env[LIFELINE_VARIABLE];
  delete process.env[ORPHAN_FOLDER_VARIABLE];
  if (!Number.isSafeInteger(descriptor) || descriptor < 3) return;
  const parent = process.ppid;
  let isOrphan = false;
  if (folder !== undefined && isAbsolute(folder)) {
    // A signal to the whole group may end the parent first, and us before we have seen the pipe close.
    process.once("exit", () => {
      if (isOrphan || process.ppid !== parent) removeFolder(folder);
    });
  }
  const stop = (): void => {
    isOrphan = true;
    // While nobody listens yet, the signal would end us before the folder is gone.
    if (process.listenerCount("SIGTERM") === 0) process.exit(1);
    process.kill(process.pid, "SIGTERM");
  };
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false });
  lifeline.once("close", stop);
  lifeline.once("error", () => lifeline.destroy());
  lifeline.resume();
  lifeline.unref();
}

/** The folder, and the one around it if this was the last in it. */
function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  try {
    rmdirSync(dirname(folder));
  } catch (error) {
    // The others of the network are still at it: the last one removes it.
    if (!(error instanceof Error && "code" in error && (error.code === "ENOTEMPTY" || error.code === "ENOENT"))) throw error;
  }
}

/** Set by the scripts of package.json: npm is the parent, and what it runs ends with it. */
const FOLLOW_VARIABLE = "SWAPNODE_FOLLOW_PARENT";
const LOOK_MS = 300;

/** npm holds no pipe to what it runs: where a script asks for it, we stop when another process has become the parent. */
export function followParent(): void {
  const asked = process.env[FOLLOW_VARIABLE] !== undefined;
  // Not for our own children: they hang on a lifeline.
  delete process.env[FOLLOW_VARIABLE];
  if (!asked) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, LOOK_MS);
  timer.unref();
}
