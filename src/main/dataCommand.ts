import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { parseArgs } from "node:util";
import { acceptDatabase } from "../adapters/sqlite/acceptDatabase.ts";
import { checkDatabase } from "../adapters/sqlite/checkDatabase.ts";
import { repairDatabase } from "../adapters/sqlite/repair/repairDatabase.ts";
import { SCHEMA } from "../adapters/sqlite/schema.ts";
import { setPrivateUmask } from "../adapters/system/dataDir.ts";
import { isKdfDatabase } from "../adapters/system/kdfsOwn.ts";
import { lockDatabase } from "../adapters/system/processLock.ts";
import { parseOrderRecord } from "../app/orders/orderRecord.ts";
import { dbDirHere, type Surroundings } from "../config/configSources.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { StorageError } from "../ports/sql.ts";

const USAGE = "usage: swapnode data check|repair|accept [--dbdir DIR | --db FILE]";
const FILE = "swapnode.db";
const ACTIONS = ["check", "repair", "accept"] as const;

type Io = { readonly print: (line: string) => void; readonly complain: (line: string) => void };

/** `swapnode data check`, `repair` and `accept`. Returns the exit code: 0 good, 1 problems or refused, 2 wrong usage. */
export async function dataCommand(args: readonly string[], at: Surroundings, io: Io): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    io.complain(`${error instanceof Error ? error.message : "unreadable arguments"}\n${USAGE}`);
    return 2;
  }
  const [first, ...rest] = parsed.positionals;
  const action = ACTIONS.find((name) => name === first);
  const { db, dbdir } = parsed.values;
  if (action === undefined || rest.length > 0 || (db !== undefined && dbdir !== undefined)) {
    io.complain(`data needs one of ${ACTIONS.join(", ")}\n${USAGE}`);
    return 2;
  }
  setPrivateUmask();
  const found = databasesMeant(parsed.values, at);
  if (!found.ok) {
    io.complain(found.error);
    return 1;
  }
  const files = found.value;
  const kdfs = files.find(isKdfDatabase);
  if (kdfs !== undefined) {
    io.complain(`${kdfs} is KDF's database, which this node never changes: name a ${FILE}`);
    return 1;
  }
  if (action !== "check" && files.length > 1) {
    io.complain(`several databases are there, name one with --db:\n${files.join("\n")}`);
    return 2;
  }
  try {
    const done = files.map((path) =>
      action === "check" ? check(path, io) : alone(path, io, () => (action === "repair" ? repair(path, io) : accept(path, io))),
    );
    return done.every(Boolean) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    io.complain(error.message);
    return 1;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: { db: { type: "string" }, dbdir: { type: "string" } }, allowPositionals: true });
}

/** The file that is named; else those of the folder that is named, or that a start would use. */
function databasesMeant({ db, dbdir }: ReturnType<typeof parse>["values"], at: Surroundings): Result<readonly string[], string> {
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(at.cwd, path));
  if (db !== undefined) return ok([placeOf(absolute(db))]);
  const folder = dbdir === undefined ? dbDirHere(at) : ok(absolute(dbdir));
  if (!folder.ok) return folder;
  const files = databasesBelow(folder.value);
  if (files.length > 0) return ok(files);
  return err(`no ${FILE} in any wallet's folder below ${folder.value}: name the configuration's dbdir with --dbdir, or the file with --db`);
}

/** Databases of all wallets, also those of which only the mark or the log is left. */
function databasesBelow(dbdir: string): string[] {
  if (!existsSync(dbdir)) return [];
  const wallets = readdirSync(dbdir).filter((name) => /^[0-9a-f]{40}$/.test(name));
  return wallets.map((name) => join(dbdir, name, FILE)).filter((file) => ["", ".mark", "-wal"].some((end) => existsSync(file + end)));
}

/**
 * Where a link that somebody made for this command leads: the lock and the mark of the database are there. Beside a link by which the node
 * itself knows its database they are beside the link.
 */
const placeOf = (path: string): string => (existsSync(path) && !existsSync(`${path}.mark`) ? realpathSync(path) : path);

/** Holds the folder against a running node meanwhile. */
function alone(path: string, io: Io, run: () => boolean): boolean {
  if (!existsSync(dirname(path))) {
    io.complain(`there is no ${path}`);
    return false;
  }
  const lock = lockDatabase(path);
  if (!lock.ok) {
    io.complain(lock.error.message);
    return false;
  }
  try {
    return run();
  } finally {
    lock.value.release();
  }
}

function check(path: string, io: Io): boolean {
  if (!existsSync(path)) {
    io.print(`${path}: it is missing`);
    return false;
  }
  const { problems, swaps, openSwaps, version } = checkDatabase(path, SCHEMA, parseOrderRecord);
  const steps = [...version].map(([component, step]) => `${component} ${step}`).join(", ");
  io.print(`${path}: ${swaps} swaps, ${openSwaps} of them open; version ${steps || "unknown"}`);
  for (const problem of problems) io.print(`  ${problem}`);
  io.print(
    problems.length === 0 ? "  no damage found" : `  ${problems.length} problems; see swapnode data repair and docs/operations/recovery.md`,
  );
  return problems.length === 0;
}

function repair(path: string, io: Io): boolean {
  if (!existsSync(path)) {
    io.complain(`there is no ${path}`);
    return false;
  }
  if (checkDatabase(path, SCHEMA, parseOrderRecord).problems.length === 0) {
    io.print(`${path}: no damage found, nothing to repair`);
    return true;
  }
  const { copies, tables, cut, lost } = repairDatabase(path, SCHEMA, parseOrderRecord);
  io.print("The damaged files are kept as:");
  for (const copy of copies) io.print(`  ${copy}`);
  io.print("Rows recovered:");
  for (const { table, kept, fromPages, aside } of tables)
    io.print(
      `  ${table}: ${kept + fromPages}${fromPages > 0 ? `, ${fromPages} of them from single pages` : ""}${aside > 0 ? `; ${aside} put aside` : ""}`,
    );
  io.print("  what was known of the chains is left out: the node finds it again when the coins are enabled");
  if (lost.length > 0) io.print("Lost:");
  for (const line of lost) io.print(`  ${line}`);
  printCut(cut, io);
  io.print("Start the node.");
  return true;
}

function printCut(cut: readonly string[], io: Io): void {
  if (cut.length > 0) io.print("Swaps whose record may lack events (docs/operations/recovery.md says what to do):");
  for (const line of cut) io.print(`  ${line}`);
}

function accept(path: string, io: Io): boolean {
  const cut = acceptDatabase(path, SCHEMA);
  if (cut === null) {
    io.print(`${path}: it is what was last used here, there is nothing to accept`);
    return true;
  }
  io.print(`${path}: accepted. The next start goes on with ${existsSync(path) ? "it" : "an empty database"}.`);
  printCut(cut, io);
  return true;
}
