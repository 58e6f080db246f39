import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { releaseMemory } from "./releaseMemory.ts";

const LOOK_MS = 3_000;
/** Share of a core that counts as having nothing to do. */
const IDLE_SHARE = 0.1;
/** Growth worth a collection: a process that has been tidied up grows by some megabytes in any case. */
const GROWTH_BYTES = 24 * 1024 * 1024;
/** So many times as long as the last collection took there is none: where a client asks for thousands of orders every few seconds, one each time would be due. */
const REST = 100;

/** What is known and can be done about this process; replaced in tests. */
export type ProcessMemory = {
  readonly residentBytes: () => number;
  /** Milliseconds of CPU time used so far, all threads. */
  readonly cpuMs: () => number;
  readonly release: () => Promise<void>;
};

const THIS_PROCESS: ProcessMemory = {
  residentBytes: () => process.memoryUsage.rss(),
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  release: releaseMemory,
};

/**
 * Gives memory back in quiet moments: the garbage of loading the program soon after the start, and that of a burst of
 * work when it is over. The engine by itself would keep most of it until it needs it again. Never while there is work, and for a
 * hundredth of the time at most, since a collection stops everything: an idle node for some 50 ms, one with thousands of orders or swaps for several times that.
 *
 * @returns ends it
 */
export function keepMemorySmall(clock: Clock, log: Log, memory: ProcessMemory = THIS_PROCESS): () => void {
  let cpuMs = memory.cpuMs();
  // Nothing was ever tidied up: the first quiet moment counts as grown.
  let tidyBytes = 0;
  let last = { endedMs: 0, tookMs: 0 };
  let cancel = (): void => undefined;
  const look = async (): Promise<void> => {
    const usedMs = memory.cpuMs() - cpuMs;
    const isIdle = usedMs < IDLE_SHARE * LOOK_MS;
    const isRested = Math.abs(clock.nowMs() - last.endedMs) >= REST * last.tookMs;
    if (isIdle && isRested && memory.residentBytes() > tidyBytes + GROWTH_BYTES) {
      const beganMs = clock.nowMs();
      await memory.release();
      last = { endedMs: clock.nowMs(), tookMs: clock.nowMs() - beganMs };
      tidyBytes = memory.residentBytes();
    }
    cpuMs = memory.cpuMs();
  };
  const schedule = (): void => {
    cancel = clock.after(LOOK_MS, () => {
      schedule();
      look().catch((cause: unknown) => log.debug("memory_not_released", { cause: String(cause) }));
    });
  };
  schedule();
  return () => cancel();
}
