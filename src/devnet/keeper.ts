import { spawn } from "node:child_process";

// Runs the program of its command line, and ends it when standard input closes: whoever started this is gone then,
// however it ended. Passes SIGTERM on.

const [program, ...args] = process.argv.slice(2);
if (program === undefined) throw new Error("usage: keeper.ts PROGRAM ARGUMENTS…");
const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
child.once("error", (cause) => {
  process.stderr.write(`${program}: ${cause.message}\n`);
  process.exit(1);
});
child.once("exit", (code) => process.exit(code ?? 1));
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.stdin.once("end", () => child.kill("SIGKILL"));
process.stdin.resume();
