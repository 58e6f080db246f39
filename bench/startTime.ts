import { programs, startLoneNode } from "./support/loneNode.ts";
import { type Figure, median, type Question } from "./support/question.ts";

const RUNS = 5;
/** Seconds from `swapnode start` to the first answer. */
const AIM_S = 1;

/** How long a person waits after `swapnode start` before the first RPC call is answered. */
export const question: Question = {
  name: "start",
  title: "Start to first RPC answer (new process, new data folder)",
  async ask(say) {
    const figures: Figure[] = [];
    for (const program of programs()) {
      const seconds: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const node = await startLoneNode({ program, isSeed: false });
        seconds.push(node.startSeconds);
        await node.stop();
      }
      say(`${program}: ${seconds.map((s) => s.toFixed(3)).join(" ")} s`);
      figures.push({
        what: `light node, from ${program}`,
        value: median(seconds),
        unit: "s",
        aim: { atMost: AIM_S },
        note: `median of ${RUNS}`,
      });
    }
    return figures;
  },
};
