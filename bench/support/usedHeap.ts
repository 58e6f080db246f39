import { releaseMemory } from "../../src/adapters/system/releaseMemory.ts";

/** Bytes in use after everything that is garbage has been collected: heap, and buffers outside it. */
export async function usedHeap(): Promise<number> {
  await releaseMemory();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
