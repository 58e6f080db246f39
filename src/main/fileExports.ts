import { join } from "node:path";
import type { DataDir } from "../adapters/system/dataDir.ts";
import type { OrderFiles } from "../app/orders/ordersDeps.ts";
import type { StoredEvent } from "../core/swap/events.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import type { Log } from "../ports/log.ts";
import { LatestFiles } from "./latestFiles.ts";

/** Keys of a status that are not part of a saved swap (reference rpc.md 7.6). */
const NOT_SAVED = ["my_info", "recoverable", "is_finished", "is_success", "swapnode"];

/** What is told of orders and swaps for the files that show them. */
export type FileExports = {
  /** Absent: orders are shown in no file. */
  readonly orders?: OrderFiles;
  readonly onSwapEvent: (uuid: string, events: readonly StoredEvent[]) => void;
};

/** With it all that is told is on the disk. */
export type OpenFileExports = Required<FileExports> & { close(): Promise<void> };

/**
 * Order and swap files in KDF's names and shapes, in our own folder. An export of the database, never read back: a file that cannot be
 * written is logged and loses nothing. Nothing waits for them: a busy node writes the latest state of each. A swap that
 * ended is also in the statistics folder of its side (reference rpc.md 7.6); what KDF hides there, the secret and the other
 * side's key, none of our files has.
 */
export function createFileExports(dir: DataDir, log: Log): OpenFileExports {
  const folders = { MAKER: dir.makerOrders, TAKER: dir.takerOrders, HISTORY: dir.orderHistory };
  const files = new LatestFiles();
  return {
    orders: {
      write: (folder, uuid, content) => files.put(join(folders[folder], `${uuid}.json`), () => JSON.stringify(content())),
      remove: (folder, uuid) => files.put(join(folders[folder], `${uuid}.json`), () => null),
    },
    onSwapEvent(uuid, events) {
      const put = (folder: string, isFinal: boolean): void => {
        const failed = (error: unknown): void => log.warn("swap_file_not_written", { swap: uuid, error });
        files.put(join(folder, `${uuid}.json`), () => savedSwap(events), isFinal).catch(failed);
      };
      const first = events[0]?.event;
      const isFinished = events.some(({ event }) => event.type === "finished");
      put(dir.mySwaps, isFinished);
      if (isFinished && first && "terms" in first) put(first.terms.role === "maker" ? dir.makerStatistics : dir.takerStatistics, true);
    },
    close: () => files.idle(),
  };
}

function savedSwap(events: readonly StoredEvent[]): string {
  return JSON.stringify(Object.fromEntries(Object.entries(swapStatus(events)).filter(([key]) => !NOT_SAVED.includes(key))));
}
