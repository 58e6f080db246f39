import type { LogSink } from "./jsonLog.ts";

/** Characters that may wait for whoever reads standard error: minutes of a busy node's log, and no burden on its memory. */
const MAX_WAITING = 1_048_576;

/** Node waits for a terminal with each write: Ctrl-S, or a connection that stalls, would stop the node amid its swaps. */
function waitForNoTerminal(stream: unknown): void {
  if (typeof stream !== "object" || stream === null || !("_handle" in stream)) return;
  const handle = stream._handle;
  if (typeof handle !== "object" || handle === null || !("setBlocking" in handle)) return;
  if (typeof handle.setBlocking === "function") handle.setBlocking(false);
}

/**
 * Standard error: coloured lines on a terminal, JSON when something else reads it. Where the file it leads to is on a full disk, or its
 * reader has gone, lines are lost; Node would end the process for that. Lines are lost, too, when the reader stands still and too many wait
 * for it; how many is told when it has caught up.
 */
export function createStderrSink(): LogSink {
  const { stderr } = process;
  const format = stderr.isTTY ? "human" : "json";
  stderr.on("error", () => undefined);
  if (stderr.isTTY) waitForNoTerminal(stderr);
  let lost = 0;
  return {
    format,
    write(line) {
      if (stderr.writableLength > (lost > 0 ? 0 : MAX_WAITING)) {
        lost++;
        return;
      }
      if (lost > 0)
        stderr.write(format === "json" ? `{"level":"warn","event":"log_lines_lost","count":${lost}}\n` : `${lost} log lines lost\n`);
      lost = 0;
      stderr.write(line);
    },
  };
}
