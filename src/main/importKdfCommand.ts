import { isAbsolute, join } from "node:path";
import { parseArgs } from "node:util";
import { setPrivateUmask } from "../adapters/system/dataDir.ts";
import { isPortTaken } from "../adapters/system/portTaken.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { readWallet, walletErrorText, walletPath } from "../adapters/system/walletFile.ts";
import type { Surroundings } from "../config/configSources.ts";
import { loadConfig } from "../config/load.ts";
import type { NodeConfig } from "../config/nodeConfig.ts";
import type { Secret } from "../core/util/secret.ts";
import { StorageError } from "../ports/sql.ts";
import { type ImportReport, importKdf } from "./importKdf.ts";
import type { ImportLine } from "./importKdfWork.ts";
import { nodeKeys } from "./nodeKeys.ts";
import { StartRefused } from "./runningNode.ts";

const USAGE = "usage: swapnode import-kdf [--dry-run] [--from DIR] [JSON | -]";
/** Lines of one kind that are printed. */
const MAX_LINES = 200;

type Io = { readonly print: (line: string) => void; readonly complain: (line: string) => void };

/**
 * `swapnode import-kdf`: takes over what KDF has stored for the wallet of the configuration, the same one `start` reads.
 *
 * @returns the exit code: 0 everything is here, 1 refused and nothing of the open swaps and orders taken, 2 wrong usage,
 * 3 done, and something was left with KDF or could not be read
 */
export async function importKdfCommand(at: Surroundings, io: Io): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(at.args);
  } catch (error) {
    io.complain(`${error instanceof Error ? error.message : "unreadable arguments"}\n${USAGE}`);
    return 2;
  }
  const { positionals, values } = parsed;
  if (positionals.length > 1) {
    io.complain(`import-kdf takes at most one configuration\n${USAGE}`);
    return 2;
  }
  setPrivateUmask();
  const loaded = loadConfig({ ...at, args: positionals });
  if (!loaded.ok) {
    io.complain(loaded.error);
    return 1;
  }
  const { config, warnings } = loaded.value;
  for (const text of warnings) io.complain(text);
  const dryRun = values["dry-run"] === true;
  const clock = createSystemClock();
  const { ip, port } = config.rpc;
  // KDF has locks for swaps that run, and none for orders and for swaps that wait for their coins.
  const whoListens = async (): Promise<string | null> =>
    !dryRun && port !== 0 && (await isPortTaken(ip, port))
      ? `something listens on ${ip}:${port}, the RPC port of the configuration: stop KDF, or this node, and try again`
      : null;
  try {
    const passphrase = await passphraseOf(config);
    const from = values.from ?? config.dbdir;
    const outcome = await importKdf({
      keys: nodeKeys(passphrase, config.enableHd),
      coins: config.coins,
      safety: config.profile.safety,
      dbdir: config.dbdir,
      kdfDbdir: isAbsolute(from) ? from : join(at.cwd, from),
      nowMs: () => clock.nowMs(),
      whoListens,
      dryRun,
    });
    if (!outcome.ok) {
      io.complain(outcome.reason);
      return 1;
    }
    for (const line of reportLines(outcome.report, dryRun)) io.print(line);
    return isWhole(outcome.report) ? 0 : 3;
  } catch (error) {
    if (!(error instanceof StartRefused) && !(error instanceof StorageError) && !isOfSystem(error)) throw error;
    io.complain(error.message);
    return 1;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: { "dry-run": { type: "boolean" }, from: { type: "string" } }, allowPositionals: true });
}

/** The words of the configuration, or of its wallet, which must be there: an import makes none. */
async function passphraseOf({ wallet, passphrase, dbdir }: NodeConfig): Promise<Secret<string>> {
  if (wallet !== null) {
    const read = await readWallet(walletPath(dbdir, wallet.name), wallet.password);
    if (read.ok) return read.value;
    if (read.error.kind !== "WalletNotFound" || passphrase === null) throw new StartRefused(walletErrorText(read.error, wallet.name));
  }
  if (passphrase === null)
    throw new StartRefused("import-kdf needs the passphrase KDF had: set passphrase or wallet_name in the configuration");
  return passphrase;
}

/** What the operating system answered about a file or folder: it names both. */
const isOfSystem = (error: unknown): error is Error => error instanceof Error && "syscall" in error;

/** What comes from files of others on one line and without what a terminal acts on. */
const shown = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

const isWhole = (r: ImportReport): boolean => r.left.length + r.leftOrders.length + r.broken.length === 0;

function reportLines(r: ImportReport, dryRun: boolean): string[] {
  const lines = [`KDF's data in ${r.root}`, dryRun ? "A look only: nothing was written. It would be:" : "Taken over:"];
  const count = (n: number, what: string): void => void lines.push(`  ${n} ${what}`);
  count(r.openSwaps.length, "open swaps");
  for (const uuid of r.openSwaps) lines.push(`    ${uuid}`);
  count(r.openOrders.length, "open orders");
  for (const uuid of r.openOrders) lines.push(`    ${uuid}`);
  count(r.endedSwaps, "swaps that are over");
  count(r.orderRows, "orders of the history");
  if (r.known > 0) lines.push(`Here already, left as they are: ${r.known}`);
  if (r.coins.length > 0) lines.push(`They go on once these coins are enabled: ${r.coins.join(", ")}`);
  const list = (title: string, entries: readonly ImportLine[]): void => {
    if (entries.length === 0) return;
    lines.push(`${title}: ${entries.length}`);
    for (const { what, why } of entries.slice(0, MAX_LINES)) lines.push(`  ${shown(what)}: ${shown(why)}`);
    if (entries.length > MAX_LINES) lines.push(`  and ${entries.length - MAX_LINES} more`);
  };
  list("To be known", r.notes);
  list("SWAPS NOT TAKEN OVER, money may be in them: let KDF end them (docs/operations/upgrade.md)", r.left);
  list("Orders not taken over; they are not on offer any more", r.leftOrders);
  list("Not as KDF writes it, skipped", r.broken);
  if (r.copy !== null) lines.push(`The database as it was before: ${r.copy}`);
  if (!dryRun && r.openSwaps.length > 0) lines.push("Never start KDF with this passphrase again while these swaps are open.");
  return lines;
}
