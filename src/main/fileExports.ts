import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../adapters/system/atomicFile.ts";
import type { DataDir } from "../adapters/system/dataDir.ts";
import type { OrderFiles } from "../app/orders/ordersDeps.ts";
import type { StoredEvent } from "../core/swap/events.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import type { Log } from "../ports/log.ts";

/** Keys of a status that are not part of a saved swap (reference rpc.md 7.6). */
const NOT_SAVED = ["my_info", "recoverable", "is_finished", "is_success", "swapnode"];

/**
 * Order and swap files in KDF's places and shapes. An export of the database, never read back: a file that cannot be
 * written is logged and loses nothing.
 */
export function createFileExports(
  dir: DataDir,
  log: Log,
): { readonly orders: OrderFiles; readonly onSwapEvent: (uuid: string, events: readonly StoredEvent[]) => void } {
  const folders = { MAKER: dir.makerOrders, TAKER: dir.takerOrders, HISTORY: dir.orderHistory };
  return {
    orders: {
      async write(folder, uuid, content) {
        writeFileAtomic(join(folders[folder], `${uuid}.json`), JSON.stringify(content));
      },
      async remove(folder, uuid) {
        await rm(join(folders[folder], `${uuid}.json`), { force: true });
      },
    },
    onSwapEvent(uuid, events) {
      try {
        const saved = Object.fromEntries(Object.entries(swapStatus(events)).filter(([key]) => !NOT_SAVED.includes(key)));
        writeFileAtomic(join(dir.mySwaps, `${uuid}.json`), JSON.stringify(saved));
      } catch (error) {
        log.warn("swap_file_not_written", { swap: uuid, error });
      }
    },
  };
}
