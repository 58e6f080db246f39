import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { Catcher, PlantedBug } from "../test/planted/plantedBug.ts";
import { plant, programText } from "./plantedTable.ts";
import { ROOT } from "./sourceFiles.ts";

/** A run takes seconds; one that takes this long, and so much longer for each test file, hangs. */
const DEADLINE_MS = 120_000;
const DEADLINE_PER_FILE_MS = 30_000;
/** The simulator takes its time, and longer on a busy machine. */
const PROGRAM_DEADLINE_MS = 600_000;
/** Characters kept of what a program writes. */
const MAX_OUTPUT = 100_000;
/** A test that hangs because of the bug need not take its usual time to say so. */
const TEST_TIMEOUT_MS = 20_000;
const WORKERS = 2;

/** `red`: names of what failed. `broken`: the run says nothing about the bug, and why. */
export type RunResult = { readonly red: readonly string[] } | { readonly broken: string };

/** What vitest's JSON reporter says, as far as it is used. */
type Report = {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
};

/** The tree as it stands, in a temporary folder of its own: bugs are planted there, never in the working tree. */
export class PlantedCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), "swapnode-planted-"));
  #stopRun: () => void = () => undefined;

  constructor() {
    const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
    for (const path of listed.split("\0").filter((name) => name !== "" && existsSync(join(ROOT, name)))) {
      mkdirSync(dirname(join(this.#folder, path)), { recursive: true });
      copyFileSync(join(ROOT, path), join(this.#folder, path));
    }
    // Links inside a real folder: what tools cache in there stays out of the working tree.
    mkdirSync(join(this.#folder, "node_modules"));
    for (const name of readdirSync(join(ROOT, "node_modules")).filter((n) => !n.startsWith(".") || n === ".bin"))
      symlinkSync(join(ROOT, "node_modules", name), join(this.#folder, "node_modules", name));
  }

  /** Ends what still runs there, and removes it. */
  remove(): void {
    this.#stopRun();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Plants the bug, runs who must notice, takes the bug out again. */
  async try(bug: PlantedBug): Promise<RunResult> {
    const path = join(this.#folder, bug.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, plant(bug, text));
    try {
      return await this.look(bug.caughtBy);
    } finally {
      writeFileSync(path, text);
    }
  }

  /** Runs who must notice, on the tree as it is. */
  look(catcher: Catcher): Promise<RunResult> {
    return "tests" in catcher ? this.#runTests(catcher.tests) : this.#runProgram(catcher.program, catcher.says);
  }

  /** A program that fails in another way than it should, a crash say, has not noticed the bug. */
  async #runProgram(args: readonly string[], says: string | undefined): Promise<RunResult> {
    const { code, output } = await this.#node(args, PROGRAM_DEADLINE_MS);
    if (code === null) return { broken: "it hangs" };
    if (code === 0) return { red: [] };
    if (says !== undefined && !output.includes(says))
      return { broken: `it ended with ${code} and did not say ${says}: ${output.slice(-500)}` };
    return { red: [programText(args, says)] };
  }

  async #runTests(files: readonly string[]): Promise<RunResult> {
    const output = join(this.#folder, "planted-report.json");
    rmSync(output, { force: true });
    const options = ["--reporter=json", `--outputFile=${output}`, `--maxWorkers=${WORKERS}`, `--testTimeout=${TEST_TIMEOUT_MS}`];
    const vitest = join("node_modules", "vitest", "vitest.mjs");
    const { code } = await this.#node([vitest, "run", ...files, ...options], DEADLINE_MS + files.length * DEADLINE_PER_FILE_MS);
    if (code === null) return { broken: `it hangs: ${files.join(", ")}` };
    if (!existsSync(output)) return { broken: `vitest ended with ${code} and reported nothing` };
    return this.#read(JSON.parse(readFileSync(output, "utf8")) as Report, files, code);
  }

  #read({ testResults }: Report, files: readonly string[], code: number): RunResult {
    const byFile = new Map(testResults.map((result) => [relative(this.#folder, result.name), result]));
    const red: string[] = [];
    for (const file of files) {
      const result = byFile.get(file);
      if (!result) return { broken: `${file} was not run` };
      if (result.assertionResults.length === 0) return { broken: `${file} did not load: ${result.message.slice(0, 300)}` };
      for (const { fullName, status } of result.assertionResults) if (status === "failed") red.push(fullName);
    }
    // A bug may also show as an error that no test waits for.
    return { red: red.length === 0 && code !== 0 ? [`an error outside the tests of ${files.join(", ")}`] : red };
  }

  /** Exit code, null when it had to be killed, and the end of what it wrote. */
  #node(args: readonly string[], deadlineMs: number): Promise<{ readonly code: number | null; readonly output: string }> {
    return new Promise((resolve, reject) => {
      const env = { ...process.env, SWAPNODE_SHARED: process.env.SWAPNODE_SHARED ?? join(dirname(ROOT), "shared") };
      const child = spawn(process.execPath, args, {
        cwd: this.#folder,
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
        env,
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => {
          output = (output + text).slice(-MAX_OUTPUT);
        });
      let late = false;
      this.#stopRun = (): void => {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      };
      const timer = setTimeout(() => {
        late = true;
        this.#stopRun();
      }, deadlineMs);
      child.on("error", reject);
      child.on("close", (code) => {
        clearTimeout(timer);
        this.#stopRun = () => undefined;
        resolve({ code: late ? null : (code ?? 1), output });
      });
    });
  }
}
