import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const JSON_LOG = new URL("./jsonLog.ts", import.meta.url).href;
/** Logs until its standard error has failed more than once, then says that it is still there. */
const PROGRAM = `
  const { createStderrSink } = await import(${JSON.stringify(JSON_LOG)});
  const sink = createStderrSink();
  let left = 5;
  const timer = setInterval(() => {
    sink.write("a line\\n");
    if (--left > 0) return;
    clearInterval(timer);
    process.stdout.write("still there");
  }, 50);
`;

/** @param stderr "pipe": one whose reader is gone at once */
async function run(stderr: number | "pipe"): Promise<{ said: string; code: number | null }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM], { stdio: ["ignore", "pipe", stderr] });
  child.stderr?.destroy();
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const said = child.stdout ? await text(child.stdout) : "";
  return { said, code: await exited };
}

test("who reads the log may go away: the program goes on", async () => {
  expect(await run("pipe")).toEqual({ said: "still there", code: 0 });
});

test.runIf(existsSync("/dev/full"))("the log may be on a disk that is full: the program goes on", async () => {
  const full = openSync("/dev/full", "w");
  try {
    expect(await run(full)).toEqual({ said: "still there", code: 0 });
  } finally {
    closeSync(full);
  }
});
