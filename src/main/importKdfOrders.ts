import type { KdfHistoryRow, KdfTables } from "../adapters/kdfFolder/kdfDatabase.ts";
import { type KdfFile, kdfFiles, MAX_ORDER_BYTES } from "../adapters/kdfFolder/kdfFiles.ts";
import { kdfOrderStatements } from "../adapters/sqlite/orderStore.ts";
import { parseKdfEnded, parseKdfMaker, parseKdfTaker } from "../app/kdf/kdfOrders.ts";
import { type OwnOrder, orderToRecord } from "../app/orders/orderRecord.ts";
import type { OrderRecord } from "../ports/orderStore.ts";
import { type Import, importCoins } from "./importKdfWork.ts";

/**
 * Takes over the orders of KDF: what is over at once, what is open with the last of the import.
 *
 * @param swaps uuids of all swaps there are files of
 * @returns new rows of the history
 */
export async function takeOrders(work: Import, root: string, tables: KdfTables, swaps: ReadonlySet<string>): Promise<number> {
  const { open, left } = await takeOpenOrders(work, root, swaps);
  const ended = new Map<string, KdfHistoryRow>();
  let count = 0;
  for (const row of tables.orders) {
    // The row of an order that was left out comes with the order: it is what tells a later time that the order is here.
    if (left.has(row.uuid) || (await work.known.row(row.uuid))) continue;
    count++;
    if (open.has(row.uuid)) work.last.push(...kdfOrderStatements([row], [], []));
    else ended.set(row.uuid, row);
  }
  for (const file of kdfFiles(root, "ORDERS/MY/HISTORY", MAX_ORDER_BYTES)) {
    const row = ended.get(file.uuid ?? "");
    if (file.uuid !== null && !row) continue;
    const order = orderOf(file, parseKdfEnded);
    if (typeof order === "string") work.broken.push({ what: file.name, why: order });
    else if (row) {
      await work.addEnded(kdfOrderStatements([row], [orderToRecord(order)], []));
      ended.delete(row.uuid);
    }
  }
  for (const row of ended.values()) await work.addEnded(kdfOrderStatements([row], [], []));
  work.last.push(...kdfOrderStatements([], [], [...open.values()]));
  return count;
}

/** @returns the open orders to be stored, and the uuids of those that are not taken over */
async function takeOpenOrders(
  work: Import,
  root: string,
  swaps: ReadonlySet<string>,
): Promise<{ readonly open: ReadonlyMap<string, OrderRecord>; readonly left: ReadonlySet<string> }> {
  const isTraded = importCoins(work.options);
  const open = new Map<string, OrderRecord>();
  const left = new Set<string>();
  for (const [folder, parse] of [
    ["ORDERS/MY/MAKER", parseKdfMaker],
    ["ORDERS/MY/TAKER", parseKdfTaker],
  ] as const) {
    for (const file of kdfFiles(root, folder, MAX_ORDER_BYTES)) {
      // KDF was making a maker's order of a taker's when it stopped.
      if (file.uuid !== null && open.has(file.uuid)) continue;
      if (file.uuid !== null && (await work.known.order(file.uuid))) {
        work.knownCount++;
        continue;
      }
      const leave = (what: string, why: string): void => {
        if (file.uuid !== null) left.add(file.uuid);
        work.leftOrders.push({ what, why });
      };
      const order = orderOf(file, parse);
      if (typeof order === "string") {
        leave(file.name, order);
        continue;
      }
      const { uuid, base, rel } = order.order;
      const untraded = [base, rel].map(isTraded).find((coin) => typeof coin === "string");
      if (untraded !== undefined) leave(`order ${uuid}`, String(untraded));
      else if (base === rel) leave(`order ${uuid}`, "both its coins are the same");
      else if (order.kind === "Taker" && swaps.has(uuid)) leave(`order ${uuid}`, "its swap has begun");
      else {
        open.set(uuid, orderToRecord(order));
        left.delete(uuid);
        work.openOrders.push(uuid);
        const note = ageNote(order, work.options.nowMs());
        if (note !== null) work.notes.push({ what: `order ${uuid}`, why: note });
        for (const ticker of [base, rel]) work.coins.add(ticker);
      }
    }
  }
  return { open, left };
}

/** An order whose price nobody has set for this long is named: markets have moved, and it is on offer as soon as its coins are enabled. */
const OLD_MS = 86_400_000;

function ageNote({ kind, order }: OwnOrder, nowMs: number): string | null {
  const atMs = Math.min(kind === "Maker" ? order.updatedAtMs : order.createdAtMs, nowMs);
  if (nowMs - atMs < OLD_MS) return null;
  return `its price is of ${new Date(atMs).toISOString().slice(0, 10)}: cancel it before its coins are enabled, unless that is still meant`;
}

/** The order of a file; a text: why it cannot be taken. */
function orderOf(file: KdfFile, parse: typeof parseKdfMaker): OwnOrder | string {
  if (file.fault !== null) return file.fault;
  const order = parse(file.json);
  if (!order.ok) return order.error.reason;
  return order.value.order.uuid === file.uuid ? order.value : `it is of order ${order.value.order.uuid}`;
}
