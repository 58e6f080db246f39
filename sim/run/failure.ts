import { commandOf } from "./commandOf.ts";
import { describeFault } from "./faultText.ts";
import type { SimRunOptions } from "./options.ts";
import type { Schedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { type SimRun, scheduleOf, simRun } from "./simRun.ts";
import { timeline } from "./timeline.ts";

const LIMITS = { runs: 60, realMs: 300_000 };
/** Swaps whose story is told. */
const MAX_STORIES = 3;

/** What went wrong in a run, told for people: seed, smallest schedule, story of each swap concerned. */
export async function failureText(options: SimRunOptions, run: SimRun, isShrunk: boolean): Promise<string> {
  const lines = [`seed ${options.seed}: ${run.violations.length} violations`, commandOf(options)];
  for (const v of run.violations.slice(0, 10)) lines.push(`  [${v.rule}] ${v.text}${v.uuid === null ? "" : ` (swap ${v.uuid})`}`);
  const rule = run.violations[0]?.rule;
  let told = run;
  let schedule: Schedule = scheduleOf(options);
  if (isShrunk && rule !== undefined) {
    const fails = async (part: Schedule): Promise<boolean> => {
      const tried = await simRun(options, part).catch(() => null);
      return tried?.violations.some((v) => v.rule === rule) ?? false;
    };
    const smallest = await shrink(schedule, LIMITS, fails);
    schedule = smallest.schedule;
    told = await simRun(options, schedule);
    lines.push("", `smallest schedule found in ${smallest.runs} runs: ${schedule.trades.length} trades, ${schedule.faults.length} faults`);
    lines.push(commandOf({ ...options, onlyTrades: schedule.trades.map((t) => t.id), onlyFaults: schedule.faults.map((f) => f.id) }));
    for (const t of schedule.trades.slice(0, 20))
      lines.push(`  trade #${t.id} at ${Math.round(t.atMs / 1_000)} s: taker${t.taker} ${t.action} ${t.milli / 1_000} ${t.base}/${t.rel}`);
    for (const f of schedule.faults.slice(0, 40)) lines.push(`  ${describeFault(f)}`);
    for (const v of told.violations.slice(0, 10)) lines.push(`  [${v.rule}] ${v.text}`);
  }
  const named = new Set(told.violations.flatMap((v) => v.uuid ?? []));
  // What no swap is named for, as books that do not come out, any of those that ran may have done.
  const concerned = [...(named.size > 0 ? named : told.swaps.keys())];
  for (const uuid of concerned.slice(0, MAX_STORIES)) lines.push("", timeline(told, uuid));
  if (concerned.length > MAX_STORIES)
    lines.push("", `and ${concerned.length - MAX_STORIES} more: ${concerned.slice(MAX_STORIES).join(", ")}`);
  return lines.join("\n");
}
