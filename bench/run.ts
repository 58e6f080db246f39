import { fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { AskReport } from "./support/askAlone.ts";
import { machineNow, machineText } from "./support/machine.ts";
import { meetsAim } from "./support/question.ts";
import { type Answer, answerText, renewed } from "./support/report.ts";

// npm run bench [-- names…] [--json] [--write]: answers the questions of this folder, with machine and commit.

/** Name on the command line → file. */
const QUESTIONS: { readonly [name: string]: string } = {
  start: "startTime.ts",
  memory: "idleMemory.ts",
  ingest: "orderIngest.ts",
  loop: "loopDelay.ts",
  swap: "swapTime.ts",
  book: "bookMemory.ts",
  rpc: "rpcRate.ts",
  rpcHistory: "rpcHistory.ts",
  chain: "chainCatchUp.ts",
  electrum: "electrumActivation.ts",
  electrumSwap: "electrumSwap.ts",
  tokens: "tokenActivation.ts",
  orders: "manyOrders.ts",
  open: "openSwaps.ts",
  sim: "simRate.ts",
};

const USAGE = `Usage: npm run bench [-- [--json] [--write] [${Object.keys(QUESTIONS).join(" | ")}] …]

  --json    one JSON document on standard output instead of text
  --write   also renew the chapters of bench/RESULTS.md that were asked for
`;

function ask(name: string, say: (line: string) => void): Promise<Answer> {
  const program = fileURLToPath(new URL("./support/askAlone.ts", import.meta.url));
  const child = fork(program, [QUESTIONS[name] ?? ""], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  return new Promise((resolve) => {
    let answer: Answer | null = null;
    child.on("message", (report: AskReport) => {
      if (report.kind === "said") say(report.line);
      else if (report.kind === "failed") answer = { name, title: name, figures: [], failure: report.reason };
      else
        answer = {
          name,
          title: report.title,
          figures: report.figures,
          ...(report.recorded === undefined ? {} : { recorded: report.recorded }),
        };
    });
    child.on("exit", (code, signal) =>
      resolve(answer ?? { name, title: name, figures: [], failure: `the process ended with ${code ?? signal}` }),
    );
  });
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { json: { type: "boolean" }, write: { type: "boolean" }, help: { type: "boolean" } },
    allowPositionals: true,
  });
  const unknown = positionals.find((name) => QUESTIONS[name] === undefined);
  if (values.help || unknown !== undefined) {
    process.stderr.write(unknown === undefined ? USAGE : `There is no question ${unknown}.\n${USAGE}`);
    return unknown === undefined ? 0 : 2;
  }
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  const print = (text: string): void => void (values.json ? undefined : process.stdout.write(`${text}\n\n`));
  const machine = machineNow();
  print(machineText(machine));
  const answers: Answer[] = [];
  for (const name of positionals.length > 0 ? positionals : Object.keys(QUESTIONS)) {
    const answer = await ask(name, (line) => note(`  ${name}: ${line}`));
    answers.push(answer);
    print(answerText(answer));
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ machine, answers }, null, 2)}\n`);
  if (values.write) {
    const path = new URL("./RESULTS.md", import.meta.url);
    writeFileSync(path, renewed(readFileSync(path, "utf8"), Object.keys(QUESTIONS), machine, answers));
  }
  const missed = answers.flatMap(({ figures }) => figures.filter((f) => meetsAim(f) === false)).length;
  if (missed > 0) note(`${missed} aims missed`);
  return answers.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

process.exitCode = await main();
