import { Socket } from "node:net";
import { LIFELINE_VARIABLE } from "../devnet/nodeProcess.ts";

/** Whether somebody holds this process by a pipe. */
export const hasLifeline = (): boolean => process.env[LIFELINE_VARIABLE] !== undefined;

/**
 * Whoever started this process may hold one end of a pipe and name the other in the environment. When it closes, because
 * the parent ended in whatever way, `kill -9` included, we stop as if asked to by SIGTERM.
 */
export function followLifeline(): void {
  const descriptor = Number.parseInt(process.env[LIFELINE_VARIABLE] ?? "", 10);
  // Not for our own children: their descriptors are others.
  delete process.env[LIFELINE_VARIABLE];
  if (!Number.isSafeInteger(descriptor) || descriptor < 3) return;
  const stop = (): void => void process.kill(process.pid, "SIGTERM");
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false });
  lifeline.once("end", stop);
  lifeline.once("error", stop);
  lifeline.resume();
  lifeline.unref();
}
