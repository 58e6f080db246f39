import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasKdfDatabase, type KdfSwapRow, type KdfTables, readKdfDatabase } from "../adapters/kdfFolder/kdfDatabase.ts";
import { type KdfFile, kdfFiles } from "../adapters/kdfFolder/kdfFiles.ts";
import { freshLock } from "../adapters/kdfFolder/kdfLocks.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../adapters/sqlite/schema.ts";
import { keepBeforeImport } from "../adapters/sqlite/snapshot.ts";
import { SqliteEngine } from "../adapters/sqlite/sqliteEngine.ts";
import { endedStatements, reopenedStatements, takenOverStatements } from "../adapters/sqlite/swapStore.ts";
import { openDataDir, refuseKdfsOwn } from "../adapters/system/dataDir.ts";
import { lockDatabase } from "../adapters/system/processLock.ts";
import type { ImportCoins } from "../app/kdf/importCoin.ts";
import { planSwapImport, type SwapPlan } from "../app/kdf/planSwapImport.ts";
import { parseSavedSwap } from "../app/kdf/savedSwap.ts";
import { rmd160Hex } from "../core/keys/dbIds.ts";
import { toHex } from "../core/util/bytes.ts";
import { takeOrders } from "./importKdfOrders.ts";
import { Import, type ImportLine, type ImportOptions, importCoins, type Store } from "./importKdfWork.ts";

export type ImportReport = {
  readonly root: string;
  readonly openSwaps: readonly string[];
  readonly openOrders: readonly string[];
  readonly endedSwaps: number;
  readonly orderRows: number;
  /** What was taken over at an earlier time, or is this node's own. */
  readonly known: number;
  /** Swaps money may be in that only KDF can end. */
  readonly left: readonly ImportLine[];
  /** Orders that are not on offer any more. */
  readonly leftOrders: readonly ImportLine[];
  /** Files that are not as KDF writes them. */
  readonly broken: readonly ImportLine[];
  /** Taken over, and something is to be known of it. */
  readonly notes: readonly ImportLine[];
  /** Tickers to be enabled for what was taken over to go on. */
  readonly coins: readonly string[];
  /** The database as it was before; null: it was new, or nothing was written. */
  readonly copy: string | null;
};

export type ImportOutcome = { readonly ok: true; readonly report: ImportReport } | { readonly ok: false; readonly reason: string };

/**
 * Takes over what KDF has stored for one wallet: open orders, open swaps and the history. KDF's files are only read. What is here
 * already stays as it is, so a second time, or one after a crash, adds what is missing and nothing else. Open swaps and orders are
 * stored in one transaction, the last one.
 */
export async function importKdf(options: ImportOptions): Promise<ImportOutcome> {
  const wallet = rmd160Hex(options.keys.node.publicKey);
  const root = join(options.kdfDbdir, wallet);
  if (!hasKdfDatabase(root)) {
    return {
      ok: false,
      reason: `there is no MM2.db in ${root}: KDF has not been used there with this passphrase (--from DIR names another dbdir)`,
    };
  }
  const busy = await whyBusy(options, root);
  if (busy !== null) return { ok: false, reason: busy };
  const own = join(options.dbdir, wallet);
  const apart = refuseKdfsOwn(own);
  if (!apart.ok) return { ok: false, reason: apart.error.message };
  // A look must leave no trace, and where no node of ours has ever been none can be running.
  if (options.dryRun && !existsSync(join(own, ".lock"))) return run(options, root, null);
  if (!options.dryRun) {
    const dir = openDataDir(options.dbdir, wallet);
    if (!dir.ok) return { ok: false, reason: dir.error.message };
  }
  const path = join(own, "swapnode.db");
  const lock = lockDatabase(path);
  if (!lock.ok) return { ok: false, reason: lock.error.message };
  try {
    const exists = existsSync(path);
    if (options.dryRun && !exists) return await run(options, root, null);
    if (options.dryRun) {
      const engine = new SqliteEngine(path, "read");
      try {
        return await run(options, root, { read: async (sql, params) => engine.read(sql, params), copy: null });
      } finally {
        engine.close();
      }
    }
    const copy = exists ? keepBeforeImport(path) : null;
    const db = openInlineDatabase(path, SCHEMA);
    try {
      return await run(options, root, { read: db.read, write: db.write, copy });
    } finally {
      await db.close();
    }
  } finally {
    lock.value.release();
  }
}

async function whyBusy(options: ImportOptions, root: string): Promise<string | null> {
  const lock = freshLock(root, Math.floor(options.nowMs() / 1_000));
  if (lock === null) return options.whoListens();
  const ahead = lock.ageSec < 0 ? ". If KDF is surely stopped, its clock was ahead: remove that lock" : "";
  return `KDF is running swaps: its lock ${lock.name} is ${lock.ageSec} s old. Stop KDF, wait 40 seconds and try again${ahead}`;
}

async function run(options: ImportOptions, root: string, db: Store | null): Promise<ImportOutcome> {
  const work = new Import(options, db);
  const tables = readKdfDatabase(root);
  for (const fault of tables.faults) work.broken.push({ what: "MM2.db", why: fault });
  const taken = await takeSwaps(work, root, tables);
  const orderRows = await takeOrders(work, root, tables, taken);
  await work.flush();
  const busy = await whyBusy(options, root);
  if (busy !== null) return { ok: false, reason: `${busy}; of the open swaps and orders nothing was taken over` };
  await work.write(work.last);
  const { openSwaps, openOrders, endedSwaps, knownCount, left, leftOrders, broken, notes, coins } = work;
  const report = {
    ...{ root, openSwaps, openOrders, endedSwaps, orderRows, known: knownCount, left, leftOrders, broken, notes },
    ...{ coins: [...coins].sort(), copy: db?.copy ?? null },
  };
  return { ok: true, report };
}

/** @returns the uuids of all swaps there are files of */
async function takeSwaps(work: Import, root: string, tables: KdfTables): Promise<ReadonlySet<string>> {
  const rows = new Map(tables.swaps.map((row) => [row.uuid, row]));
  const coins = importCoins(work.options);
  const ownKey = toHex(work.options.keys.node.publicKey);
  const seen = new Set<string>();
  for (const file of kdfFiles(root, "SWAPS/MY")) {
    if (file.uuid !== null) seen.add(file.uuid);
    const plan = planOf(file, rows, coins, ownKey, work.options.nowMs());
    if (typeof plan === "string") {
      work.broken.push({ what: file.name, why: plan + unfinishedNote(rows.get(file.uuid ?? "")) });
      continue;
    }
    const uuid = file.uuid ?? "";
    const isKnown = await work.known.swap(uuid);
    const wasOver = isKnown && (await work.known.endedElsewhere(uuid));
    // Taken for over the last time: KDF has gone on with it since, or this node can look after it now.
    const isReopened = wasOver && plan.plan !== "history";
    if ((!isKnown || wasOver) && plan.plan !== "leave" && plan.note !== null) work.notes.push({ what: `swap ${uuid}`, why: plan.note });
    if (isKnown && !isReopened) work.knownCount++;
    else if (plan.plan === "leave") work.left.push({ what: `swap ${uuid}`, why: plan.reason });
    else {
      if (plan.plan === "history") {
        work.endedSwaps++;
        await work.addEnded(endedStatements(plan));
      } else {
        work.openSwaps.push(uuid);
        work.last.push(...(isReopened ? reopenedStatements : takenOverStatements)(plan.summary, plan.log, plan.marks));
        for (const ticker of [plan.summary.myCoin, plan.summary.otherCoin]) work.coins.add(ticker);
      }
    }
  }
  for (const row of tables.swaps) {
    if (row.isFinished || seen.has(row.uuid)) continue;
    const why =
      row.swapType === 0 ? "KDF has it in its index, but no file of it" : "it is of KDF's newer protocol, which this node does not speak";
    work.left.push({ what: `swap ${row.uuid}`, why: `${why} (${row.myCoin} for ${row.otherCoin})` });
  }
  return seen;
}

const unfinishedNote = (row: KdfSwapRow | undefined): string =>
  row && !row.isFinished ? ". KDF has not finished this swap: money may be in it" : "";

/** What becomes of a file of a swap; a text: why it cannot be read. */
function planOf(
  file: KdfFile,
  rows: ReadonlyMap<string, KdfSwapRow>,
  coins: ImportCoins,
  ownKey: string,
  nowMs: number,
): SwapPlan | string {
  if (file.fault !== null) return file.fault;
  const swap = parseSavedSwap(file.json, rows.get(file.uuid) ?? null);
  if (!swap.ok) return swap.error.reason;
  if (swap.value.uuid !== file.uuid) return `it is of swap ${swap.value.uuid}`;
  return planSwapImport(swap.value, coins, ownKey, nowMs);
}
