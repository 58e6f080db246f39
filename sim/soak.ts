import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { failureText } from "./run/failure.ts";
import { runPool } from "./run/pool.ts";
import { scheduleOf, simRun } from "./run/simRun.ts";
import { addUp, type Summary, summaryText } from "./run/summary.ts";
import { worldOf } from "./run/worldOf.ts";

// npm run sim:soak -- --minutes N: seed after seed, until the time is over or a rule is broken.

const USAGE = `Usage: npm run sim:soak -- [--minutes N] [--from SEED] [--orders N] [--accounts N] [--density N] [--jobs N] [--report FILE]

  --minutes N    how long; a run that has begun is finished (10)
  --from SEED    first seed (1000)
  --orders N     orders per seed (400)
  --accounts N   coins of an account chain in every world, 0 to 3 (0)
  --density N    so many times the orders, and the coins for them, in the same hours with the same faults (1)
  --jobs N       processes (2)
  --report FILE  one line per run is added to it (sim-soak.log)
`;

async function main(): Promise<number> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      minutes: text,
      from: text,
      orders: text,
      accounts: text,
      density: text,
      jobs: text,
      report: text,
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const endMs = performance.now() + Number(values.minutes ?? 10) * 60_000;
  const orders = Number(values.orders ?? 400);
  const accounts = Number(values.accounts ?? 0);
  const density = Number(values.density ?? 1);
  const file = values.report ?? "sim-soak.log";
  let seed = Number(values.from ?? 1_000);
  const done: Summary[] = [];
  let failed: number | null = null;
  await runPool(
    Number(values.jobs ?? 2),
    () => (performance.now() > endMs ? null : worldOf(seed++, orders, accounts, density)),
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
  process.stdout.write(`${done.length} seeds from ${values.from ?? 1_000}, report in ${file}\n${summaryText(addUp(done))}\n`);
  if (failed === null) return 0;
  const options = worldOf(failed, orders, accounts, density);
  const run = await simRun(options, scheduleOf(options));
  process.stderr.write(`${await failureText(options, run, true)}\n`);
  return 1;
}

process.exitCode = await main();
