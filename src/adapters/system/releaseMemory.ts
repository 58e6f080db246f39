import { Session } from "node:inspector/promises";

/**
 * Collects garbage thoroughly, once, and gives the memory back to the system: some 15 MB that loading the modules has
 * left behind and that an idle process would keep. Takes about 50 ms, in which nothing else runs.
 */
export async function releaseMemory(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.collectGarbage");
  } finally {
    session.disconnect();
  }
}
