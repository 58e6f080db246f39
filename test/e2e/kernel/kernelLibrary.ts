import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const WHEEL = "py-bitcoinkernel==0.1.0a5";
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const MAX_OUTPUT = 200_000_000;

export type Python = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly reason: string };

function run(command: string, args: readonly string[], input?: string) {
  return spawnSync(command, args, { encoding: "utf8", maxBuffer: MAX_OUTPUT, ...(input === undefined ? {} : { input }) });
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";

/** A Python that has Bitcoin Core's validation library, made on first use. */
export function kernelPython(): Python {
  const folder = join(process.env.SWAPNODE_CI_CACHE ?? join(ROOT, ".cache"), "kernel");
  const python = join(folder, "bin", "python");
  if (existsSync(python) && run(python, ["-c", "import pbk"]).status === 0) return { ok: true, path: python };
  const system = ["python3.13", "python3.12", "python3.11", "python3.10", "python3"].find(
    (name) => run(name, ["-c", "import sys, venv; sys.exit(sys.version_info < (3, 10))"]).status === 0,
  );
  if (!system) return { ok: false, reason: "no Python 3.10 or newer with venv" };
  const made = run(system, ["-m", "venv", folder]);
  if (made.status !== 0) return { ok: false, reason: `venv: ${lastLine(made.stderr)}` };
  const installed = run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", WHEEL]);
  if (installed.status !== 0) return { ok: false, reason: `pip install ${WHEEL}: ${lastLine(installed.stderr)}` };
  return { ok: true, path: python };
}

export type Verdicts = {
  readonly chains: { readonly [name: string]: readonly { readonly valid: boolean; readonly tip: string }[] };
  readonly scripts: readonly boolean[];
};

/** Runs `judge.py`; its input is described there. */
export function judge(python: string, request: object): Verdicts {
  const answer = run(python, [fileURLToPath(new URL("./judge.py", import.meta.url))], JSON.stringify(request));
  if (answer.status !== 0) throw new Error(`judge.py failed: ${answer.stderr.slice(-2_000)}`);
  return JSON.parse(answer.stdout) as Verdicts;
}
