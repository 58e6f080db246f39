import { appendFileSync } from "node:fs";
import { failureText } from "./run/failure.ts";
import { runPool } from "./run/pool.ts";
import { scheduleOf, simRun } from "./run/simRun.ts";
import { SOAK_USAGE, soakOptions } from "./run/soakOptions.ts";
import { addUp, type Summary, summaryText } from "./run/summary.ts";

// npm run sim:soak -- --minutes N: seed after seed, until the time is over or a rule is broken.

async function main(): Promise<number> {
  const options = soakOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(SOAK_USAGE);
    return 0;
  }
  const { minutes, from, jobs, report: file, worldAt } = options;
  const endMs = performance.now() + minutes * 60_000;
  let seed = from;
  const done: Summary[] = [];
  let failed: number | null = null;
  await runPool(
    jobs,
    () => (performance.now() > endMs ? null : worldAt(seed++)),
    (answer) => {
      if (!answer.ok) {
        appendFileSync(file, `seed ${answer.seed} broke: ${answer.error}\n`);
        failed ??= answer.seed;
        return "stop";
      }
      const { summary: s } = answer;
      done.push(s);
      const lost = Object.entries(s.ends.outside).reduce((n, [end, count]) => n + (end.includes("lost") ? count : 0), 0);
      const bad = s.violations.map((v) => v.rule).join(",");
      appendFileSync(
        file,
        `seed ${s.seed} swaps ${s.swaps} hours ${s.virtualHours.toFixed(1)} cpu_ms ${Math.round(s.cpuMs)} lost_outside ${lost} violations ${bad || "none"} trace ${s.traceHash}\n`,
      );
      if (s.violations.length > 0) failed ??= s.seed;
      return failed === null ? "go on" : "stop";
    },
  );
  process.stdout.write(`${done.length} seeds from ${from}, report in ${file}\n${summaryText(addUp(done))}\n`);
  if (failed === null) return 0;
  const world = worldAt(failed);
  const run = await simRun(world, scheduleOf(world));
  process.stderr.write(`${await failureText(world, run, true)}\n`);
  return 1;
}

process.exitCode = await main();
