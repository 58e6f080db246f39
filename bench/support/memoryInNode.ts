import { isMainThread } from "node:worker_threads";
import { usedHeap } from "./usedHeap.ts";

// Loaded into a node before its own program: at SIGUSR2 it collects garbage and says what is left, as a line of its log.

async function tell(): Promise<void> {
  const heap = await usedHeap();
  process.stderr.write(`${JSON.stringify({ event: "bench_memory", heap, resident: process.memoryUsage.rss() })}\n`);
}

if (isMainThread) process.on("SIGUSR2", () => void tell());
