import { setTimeout as pause } from "node:timers/promises";
import { createNativeVerifier } from "../src/adapters/system/nativeVerifier.ts";
import { createSystemClock } from "../src/adapters/system/systemClock.ts";
import { createThreadedVerifier } from "../src/adapters/system/verifierThreads.ts";
import { SilentLog } from "../test/fakes/silentLog.ts";
import { ingest } from "./support/ingest.ts";
import { type LoopDelay, measureLoopDelay } from "./support/loopDelay.ts";
import type { Figure, Question } from "./support/question.ts";
import { type SwapWrites, writeSwaps } from "./support/swapWrites.ts";

const SWAPS = 50;
const WRITE_MS = 5_000;
const SLOW_DISK = new URL("./support/slowDiskWorker.ts", import.meta.url);

const delayFigure = (what: string, { p99Ms, maxMs }: LoopDelay, note = ""): Figure => ({
  what,
  value: p99Ms,
  unit: "ms",
  note: `longest ${maxMs.toFixed(0)} ms${note}`,
});
const rate = ({ writes, seconds }: SwapWrites): string => `, ${Math.round(writes / seconds)} writes/s`;

async function writesFor(ms: number, program?: URL): Promise<{ readonly result: SwapWrites; readonly delay: LoopDelay }> {
  const endMs = performance.now() + ms;
  return measureLoopDelay(() => writeSwaps(SWAPS, () => performance.now() > endMs, program));
}

/** Whether RPC and timers stay prompt while the node works and the disk is slow. */
export const question: Question = {
  name: "loop",
  title: "Event-loop delay, p99",
  async ask(say) {
    const out: Figure[] = [];
    const idle = await measureLoopDelay(() => pause(2_000));
    out.push(delayFigure("nothing to do", idle.delay, ": the timer's own 1 ms and the machine's noise"));
    say(`${SWAPS} swaps that write`);
    const quick = await writesFor(WRITE_MS);
    out.push(delayFigure(`${SWAPS} swaps that write`, quick.delay, rate(quick.result)));
    say("the same on a slow disk");
    const slow = await writesFor(WRITE_MS, SLOW_DISK);
    out.push(delayFigure(`${SWAPS} swaps that write, 20 ms per fsync`, slow.delay, rate(slow.result)));
    say("the same while order messages come as fast as they can be taken");
    const inline = createNativeVerifier(new SilentLog());
    const verifier = createThreadedVerifier(inline, { clock: createSystemClock(), log: new SilentLog() });
    let isOver = false;
    const writes = writeSwaps(SWAPS, () => isOver, SLOW_DISK);
    const busy = await ingest(verifier);
    isOver = true;
    await verifier.close();
    out.push(
      delayFigure(
        `${SWAPS} swaps that write, 20 ms per fsync, and all the order messages it can take`,
        busy.delay,
        `${rate(await writes)}, ${Math.round(busy.perSecond)} messages/s`,
      ),
    );
    return out;
  },
};
