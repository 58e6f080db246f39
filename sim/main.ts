import { type CliOptions, parseCli, type SeedRange, USAGE } from "./run/cliOptions.ts";
import { failureText } from "./run/failure.ts";
import type { SimRunOptions } from "./run/options.ts";
import { runPool } from "./run/pool.ts";
import { scheduleOf, simRun } from "./run/simRun.ts";
import { addUp, notExercised, type Summary, summarize, summaryText } from "./run/summary.ts";
import { worldOf } from "./run/worldOf.ts";

// npm run sim: see USAGE.

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function one(options: SimRunOptions, cli: CliOptions): Promise<number> {
  const run = await simRun(options, scheduleOf(options));
  const summary = summarize(run);
  if (cli.json) say(JSON.stringify(summary));
  else say(`seed ${options.seed}, trace ${run.traceHash} of ${run.traceLength} things\n${summaryText(summary)}`);
  if (run.violations.length === 0) return 0;
  process.stderr.write(`${await failureText(options, run, cli.shrink)}\n`);
  return 1;
}

const worldsOf = ({ first, last, orders, accounts, electrum }: SeedRange): readonly SimRunOptions[] =>
  Array.from({ length: last - first + 1 }, (_, i) => worldOf(first + i, orders, accounts, 1, electrum));

async function many(ranges: readonly SeedRange[], cli: CliOptions): Promise<number> {
  const started = performance.now();
  const done: Summary[] = [];
  const failed: SimRunOptions[] = [];
  const broken: string[] = [];
  const worlds = new Map(ranges.flatMap((range) => worldsOf(range).map((world) => [world.seed, world] as const)));
  const waiting = [...worlds.values()];
  await runPool(
    cli.jobs,
    () => waiting.shift() ?? null,
    (answer) => {
      if (!answer.ok) {
        broken.push(`seed ${answer.seed}: ${answer.error}`);
        return "go on";
      }
      const { summary } = answer;
      done.push(summary);
      const world = worlds.get(summary.seed);
      if (summary.violations.length > 0 && world) failed.push(world);
      if (!cli.json) {
        const rate = Math.round((summary.swaps / summary.cpuMs) * 60_000);
        const bad = summary.violations.length > 0 ? `, ${summary.violations.length} VIOLATIONS` : "";
        say(`seed ${summary.seed}: ${summary.swaps} swaps, ${rate}/min, ${summary.traceHash.slice(0, 16)}${bad}`);
      }
      return failed.length > 2 ? "stop" : "go on";
    },
  );
  const all = addUp(done);
  const minutes = (performance.now() - started) / 60_000;
  say(cli.json ? JSON.stringify(all) : `\n${done.length} seeds, ${minutes.toFixed(1)} min, ${cli.jobs} processes\n${summaryText(all)}`);
  for (const text of broken) process.stderr.write(`${text}\n`);
  const [worst] = failed;
  if (worst) {
    const run = await simRun(worst, scheduleOf(worst));
    process.stderr.write(`${await failureText(worst, run, cli.shrink)}\nfailed: seeds ${failed.map((f) => f.seed).join(", ")}\n`);
  }
  // A run that was stopped has said why already.
  const missing = cli.floor === null || failed.length > 0 ? [] : notExercised(all, cli.floor);
  for (const text of missing) process.stderr.write(`proves too little: ${text}\n`);
  return failed.length + broken.length + missing.length > 0 ? 1 : 0;
}

async function main(): Promise<number> {
  let cli: CliOptions;
  try {
    cli = parseCli(process.argv.slice(2));
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n\n${USAGE}`);
    return 2;
  }
  if (!cli.run) {
    say(USAGE);
    return 0;
  }
  return cli.seeds ? many([cli.seeds, ...cli.more], cli) : one(cli.run, cli);
}

process.exitCode = await main();
