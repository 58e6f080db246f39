import { scheduleOf, simRun } from "../sim/run/simRun.ts";
import { addUp, type Summary, summarize } from "../sim/run/summary.ts";
import { worldOf } from "../sim/run/worldOf.ts";
import type { Figure, Question } from "./support/question.ts";

/** Worlds as `npm run sim -- --seeds` runs them, all faults on. One is not enough: they differ in nodes and bad luck. */
const SEEDS = [1, 2, 3];
const ORDERS = 400;
const AIM = 5_000;

/** How many swaps the simulator does, by the processor time it uses and not by the clock on the wall. */
export const question: Question = {
  name: "sim",
  title: `Simulated swaps, seeds ${SEEDS.join(", ")} of ${ORDERS} orders each, all faults on, one process`,
  async ask(say) {
    const done: Summary[] = [];
    for (const seed of SEEDS) {
      const options = worldOf(seed, ORDERS);
      const summary = summarize(await simRun(options, scheduleOf(options)));
      if (summary.violations.length > 0)
        throw new Error(`seed ${seed} breaks ${summary.violations[0]?.rule}: npm run sim -- --seeds ${seed}`);
      done.push(summary);
      say(`seed ${seed}: ${summary.swaps} swaps in ${(summary.cpuMs / 1_000).toFixed(1)} s of processor`);
    }
    const perMinute = ({ swaps, cpuMs }: Summary): number => (60_000 * swaps) / cpuMs;
    const all = addUp(done);
    const each = done.map((s) => perMinute(s).toFixed(0)).join(", ");
    const note = `each seed: ${each}; ${all.swaps} swaps in ${all.virtualHours.toFixed(1)} virtual hours`;
    const out: Figure[] = [{ what: "swaps per minute and core", value: perMinute(all), unit: "/min", aim: { atLeast: AIM }, note }];
    return out;
  },
};
