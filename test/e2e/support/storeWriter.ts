import { writeSync } from "node:fs";
import { SCHEMA } from "../../../src/adapters/sqlite/schema.ts";
import { createSwapStore } from "../../../src/adapters/sqlite/swapStore.ts";
import { openWorkerDatabase } from "../../../src/adapters/sqlite/workerDatabase.ts";
import type { StoredEvent } from "../../../src/core/swap/events.ts";
import { recordedLogs } from "../../vectors/eventLogs/eventLogs.ts";

// node storeWriter.ts FILE SWAPS EVENTS [PAGES] [patient]: writes the first events of recorded swaps through the product's store, the swaps all at
// once, each one's events one after another, and says "ack UUID SEQ" after each acknowledgement. A refused write is said as
// "refused KIND" and ends its swap; one more swap is tried after the others then. With PAGES the log is copied into the main file
// whenever it is that long; "patient" tries what was refused again until it is stored.

const [path = "", swaps = "", events = "", pages, patient] = process.argv.slice(2);
const AGAIN_MS = 250;
const MAX_TRIES = 60;
const say = (line: string): void => void writeSync(1, `${line}\n`);

const db = await openWorkerDatabase(path, SCHEMA);
if (pages !== undefined) await db.read(`PRAGMA wal_autocheckpoint = ${Number(pages)}`);
const store = createSwapStore(db);
say("open");

async function untilStored(write: () => Promise<void>): Promise<void> {
  for (let left = patient === undefined ? 0 : MAX_TRIES; ; left--) {
    try {
      return await write();
    } catch (error) {
      if (left === 0) throw error;
      if (left === MAX_TRIES) say("refused for now");
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function writeSwap(index: number): Promise<void> {
  const log = recordedLogs[index];
  if (!log) throw new Error("not so many recorded");
  const { uuid } = log.summary;
  for (const [seq, text] of log.events.slice(0, Number(events)).entries()) {
    const event = JSON.parse(text) as StoredEvent;
    const summary = { uuid, role: log.role, myCoin: "AAA", otherCoin: "BBB", startedAt: 1, finished: false } as const;
    await untilStored(() =>
      seq === 0
        ? store.create(summary, event, [{ kind: "secret_hash", value: `${uuid} first` }])
        : store.append(uuid, seq, event, [{ kind: "fee_tx", value: `${uuid} ${seq}` }]),
    );
    say(`ack ${uuid} ${seq}`);
  }
}

let isRefused = false;
async function tell(writing: Promise<unknown>): Promise<void> {
  await writing.catch((error: unknown) => {
    isRefused = true;
    say(`refused ${error instanceof Error && "kind" in error ? String(error.kind) : "?"}`);
  });
}

await Promise.all(Array.from({ length: Number(swaps) }, (_, i) => tell(writeSwap(i))));
// Whoever is refused once tries again, as the node does.
if (isRefused) await tell(writeSwap(Number(swaps)));
await tell(db.close());
if (!isRefused) say("done");
process.exit(isRefused ? 3 : 0);
