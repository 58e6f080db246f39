import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { createSwapStore } from "../../src/adapters/sqlite/swapStore.ts";
import { openWorkerDatabase } from "../../src/adapters/sqlite/workerDatabase.ts";
import type { StoredEvent } from "../../src/core/swap/events.ts";

/** Events of one whole swap after the first. */
const EVENTS_PER_SWAP = 14;
/** Bytes of a signed transaction in hex, as the events of payments hold it. */
const TX_HEX = "ab".repeat(350);

/** An event of the size of most; what it says does not matter to the store. */
const stored = (seq: number): StoredEvent => ({
  v: 1,
  atMs: seq,
  event: { type: "tx_received", slot: "fee", txid: "cd".repeat(32), raw: TX_HEX },
});

export type SwapWrites = { readonly swaps: number; readonly writes: number; readonly seconds: number };

/**
 * Writes what `concurrent` swaps write, one after another each, into a fresh store as the product opens it, until
 * `isOver`. Every write waits for its fsync before the next one of the same swap.
 *
 * @param program thread of the database; absent: the product's
 */
export async function writeSwaps(concurrent: number, isOver: () => boolean, program?: URL): Promise<SwapWrites> {
  const dir = await mkdtemp(join(tmpdir(), "swapnode-bench-"));
  const db = await openWorkerDatabase(join(dir, "swapnode.db"), SCHEMA, program);
  const store = createSwapStore(db);
  let swaps = 0;
  let writes = 0;
  const startMs = performance.now();
  const oneAfterAnother = async (): Promise<void> => {
    while (!isOver()) {
      const uuid = randomUUID();
      await store.create({ uuid, role: "maker", myCoin: "C0", otherCoin: "C1", startedAt: 1, finished: false }, stored(0), []);
      for (let seq = 1; seq <= EVENTS_PER_SWAP; seq++)
        await store.append(uuid, seq, stored(seq), seq === 1 ? [{ kind: "secret_hash", value: uuid }] : []);
      swaps++;
      writes += 1 + EVENTS_PER_SWAP;
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrent }, oneAfterAnother));
    return { swaps, writes, seconds: (performance.now() - startMs) / 1_000 };
  } finally {
    await db.close();
    await rm(dir, { recursive: true, force: true });
  }
}
