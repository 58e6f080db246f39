import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";

const SINK = new URL("./stderrSink.ts", import.meta.url).href;
const program = (work: string): string => `
  const { createStderrSink } = await import(${JSON.stringify(SINK)});
  const sink = createStderrSink();
  ${work}
`;
/** Logs until its standard error has failed more than once, then says that it is still there. */
const FIVE_LINES = program(`
  let left = 5;
  const timer = setInterval(() => {
    sink.write("a line\\n");
    if (--left > 0) return;
    clearInterval(timer);
    process.stdout.write("still there");
  }, 50);
`);
/** Logs more than any reader leaves unread, says what waits in its memory, then a line more each time it is told to. */
const MANY_LINES = program(`
  for (let i = 0; i < 4_000; i++) {
    sink.write("x".repeat(4_000) + "\\n");
    if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
  }
  process.stdout.write(String(process.stderr.writableLength));
  process.stdin.on("data", () => sink.write("the last line\\n"));
`);

const run = (work: string, stdio: ("ignore" | "pipe" | number)[]) =>
  spawn(process.execPath, ["--input-type=module", "-e", work], { stdio });

/** @param stderr "pipe": one whose reader is gone at once */
async function fiveLines(stderr: number | "pipe"): Promise<{ said: string; code: number | null }> {
  const child = run(FIVE_LINES, ["ignore", "pipe", stderr]);
  child.stderr?.destroy();
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const said = child.stdout ? await text(child.stdout) : "";
  return { said, code: await exited };
}

test("who reads the log may go away: the program goes on", async () => {
  expect(await fiveLines("pipe")).toEqual({ said: "still there", code: 0 });
});

test.runIf(existsSync("/dev/full"))("the log may be on a disk that is full: the program goes on", async () => {
  const full = openSync("/dev/full", "w");
  try {
    expect(await fiveLines(full)).toEqual({ said: "still there", code: 0 });
  } finally {
    closeSync(full);
  }
});

test("who reads the log may stand still: the program goes on, keeps a bounded part of it, and says what is lost", async () => {
  const child = run(MANY_LINES, ["pipe", "pipe", "pipe"]);
  const waiting = await new Promise<string>((resolve) => child.stdout?.once("data", (data) => resolve(String(data))));
  expect(Number(waiting)).toBeLessThan(2_000_000);
  if (!child.stderr) throw new Error("its standard error is no pipe");
  const lines: string[] = [];
  const asking = setInterval(() => child.stdin?.write("."), 100);
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    if (line === "the last line") break;
  }
  clearInterval(asking);
  child.kill();
  const written = lines.filter((line) => line.startsWith("x")).length;
  const lost = lines.filter((line) => line.includes("log_lines_lost")).map((line) => JSON.parse(line).count);
  // What was said before there was room again is lost, too.
  expect(lost).toHaveLength(1);
  expect(written + lost[0]).toBeGreaterThanOrEqual(4_000);
});

// `script` (util-linux) gives the program a terminal; here nobody reads what that shows, as after Ctrl-S or when a connection stalls.
test.runIf(existsSync("/usr/bin/script"))("a terminal may stand still: the program goes on", async () => {
  const said = join(tempFolder(), "said");
  const child = spawn("/usr/bin/script", ["-qec", `'${process.execPath}' --input-type=module -e "$PROGRAM" > '${said}'`, "/dev/null"], {
    env: { ...process.env, PROGRAM: MANY_LINES },
    stdio: ["ignore", "pipe", "ignore"],
  });
  await expect.poll(() => (existsSync(said) ? readFileSync(said, "utf8") : ""), { timeout: 20_000 }).not.toBe("");
  child.kill("SIGKILL");
  expect(Number(readFileSync(said, "utf8"))).toBeLessThan(2_000_000);
});
