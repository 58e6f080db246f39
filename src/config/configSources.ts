import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { err, ok, type Result } from "../core/util/result.ts";
import { MAX_COINS_BYTES } from "./coinsFile.ts";

/** Where the process stands; a value, so that tests need no real environment. */
export type Surroundings = {
  /** Arguments after `start`; the first, if any, is the configuration as JSON, or `-` for standard input. */
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly home: string;
  /** File descriptor read for `-`; 0 in the product. */
  readonly stdin: number;
};

export type ConfigSource = {
  readonly kind: "argument" | "stdin" | "file";
  /** For the texts. */
  readonly name: string;
  readonly text: string;
  /** The file can be read by other users of the machine. */
  readonly readableByOthers: boolean;
};

/** The file an environment variable names, with KDF's texts when it cannot be one. */
function envFile(path: string): Result<string, string> {
  if (!existsSync(path)) return err(`File '${path}' is not present.`);
  if (statSync(path).isDirectory()) return err(`Expected file but '${path}' is a directory.`);
  return ok(path);
}

function findFile(fromEnv: string | undefined, candidates: readonly string[]): Result<string | null, string> {
  if (fromEnv !== undefined && fromEnv !== "") return envFile(fromEnv);
  return ok(candidates.find((path) => existsSync(path) && statSync(path).isFile()) ?? null);
}

const findConfigFile = (at: Surroundings): Result<string | null, string> =>
  findFile(at.env.MM_CONF_PATH, [join(at.cwd, "MM2.json"), join(at.home, ".kdf", "MM2.json")]);

function readBounded(path: string): Result<Buffer, string> {
  const size = statSync(path).size;
  if (size > MAX_COINS_BYTES) return err(`${path} has ${size} bytes, at most ${MAX_COINS_BYTES} are read`);
  try {
    return ok(readFileSync(path));
  } catch (error) {
    return err(`${path} cannot be read: ${error instanceof Error ? error.message : "unknown reason"}`);
  }
}

const notText = (name: string): string =>
  `${name} is not UTF-8 text: save it as UTF-8. A passphrase read otherwise would give other keys than its words`;

/** Text of a configuration. Signs that cannot be read are not made up for: the passphrase is among them. A byte order mark is left out. */
function toText(bytes: Uint8Array, name: string): Result<string, string> {
  try {
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return err(notText(name));
  }
}

/** All of a descriptor, blocking; used before anything else runs. */
function readDescriptor(fd: number): Result<Buffer, string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const buffer = Buffer.alloc(65_536);
  for (;;) {
    let read: number;
    try {
      read = readSync(fd, buffer, 0, buffer.length, null);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") continue;
      if (error instanceof Error && "code" in error && error.code === "EOF") break;
      throw error;
    }
    if (read === 0) break;
    size += read;
    if (size > MAX_COINS_BYTES) return err(`the configuration on standard input is longer than ${MAX_COINS_BYTES} bytes`);
    chunks.push(Buffer.from(buffer.subarray(0, read)));
  }
  return ok(Buffer.concat(chunks));
}

type Piped = "file" | "pipe" | "nothing";

function pipedInto(fd: number): Piped {
  try {
    const stat = fstatSync(fd);
    if (stat.isFile()) return stat.size > 0 ? "file" : "nothing";
    return stat.isFIFO() || stat.isSocket() ? "pipe" : "nothing";
  } catch {
    // A closed descriptor: nothing is piped.
    return "nothing";
  }
}

/**
 * Finds the configuration text (reference rpc.md 2.1): the argument; `-` or a file redirected to standard input; the
 * file of `MM_CONF_PATH`, else `MM2.json` here, else in `~/.kdf`; else what is piped in. A pipe comes last because
 * many programs leave one open: it is read only when there is nothing else.
 */
export function readConfigSource(at: Surroundings): Result<ConfigSource, string> {
  const [argument] = at.args;
  const fromStdin = (): Result<ConfigSource, string> => {
    const read = readDescriptor(at.stdin);
    const text = read.ok ? toText(read.value, "standard input") : read;
    return text.ok ? ok({ kind: "stdin", name: "standard input", text: text.value, readableByOthers: false }) : text;
  };
  const piped = pipedInto(at.stdin);
  if (argument === "-" || (argument === undefined && piped === "file")) return fromStdin();
  if (argument !== undefined) {
    const name = "the configuration argument";
    // What Node puts in the place of bytes that are no UTF-8.
    if (argument.includes("\ufffd")) return err(notText(name));
    return ok({ kind: "argument", name, text: argument, readableByOthers: true });
  }
  const found = findConfigFile(at);
  if (!found.ok) return found;
  const path = found.value;
  if (path === null) {
    if (piped === "pipe") return fromStdin();
    return err(
      "no configuration: write MM2.json in this folder or in ~/.kdf, name a file in MM_CONF_PATH, or give the JSON as the first argument or on standard input (see --help)",
    );
  }
  const read = readBounded(path);
  const text = read.ok ? toText(read.value, path) : read;
  if (!text.ok) return text;
  return ok({ kind: "file", name: path, text: text.value, readableByOthers: (statSync(path).mode & 0o077) !== 0 });
}

/** The coins file of `MM_COINS_PATH`, else `coins` here, else in `~/.kdf`; null when there is none. */
export function readCoinsSource(at: Surroundings): Result<{ readonly name: string; readonly text: string } | null, string> {
  const found = findFile(at.env.MM_COINS_PATH, [join(at.cwd, "coins"), join(at.home, ".kdf", "coins")]);
  if (!found.ok) return found;
  if (found.value === null) return ok(null);
  const read = readBounded(found.value);
  return read.ok ? ok({ name: found.value, text: read.value.toString("utf8") }) : read;
}

/**
 * The data folder of the node that is started here without arguments, for the commands that work on its files. A configuration that cannot
 * be read is an error: its wallets and databases may be anywhere.
 */
export function dbDirHere(at: Surroundings): Result<string, string> {
  const found = findConfigFile(at);
  if (!found.ok) return found;
  const path = found.value;
  const read = path === null ? null : readBounded(path);
  if (path === null || read === null) return ok(defaultDbDir(at));
  const text = read.ok ? toText(read.value, path) : read;
  if (!text.ok) return text;
  const named = dbDirIn(text.value);
  if (named === undefined) return err(`the dbdir in ${path} cannot be read: mend it, or name the folder with --dbdir`);
  return ok(named === null ? defaultDbDir(at) : join(isAbsolute(named) ? "" : at.cwd, named));
}

/** Null: none is named; undefined: nobody knows. */
function dbDirIn(configuration: string): string | null | undefined {
  try {
    const { dbdir = null }: { readonly dbdir?: unknown } = JSON.parse(configuration);
    return dbdir === null || typeof dbdir === "string" ? dbdir : undefined;
  } catch {
    return undefined;
  }
}

/** The data folder when the configuration names none. */
export function defaultDbDir(at: Surroundings): string {
  const here = join(at.cwd, "DB");
  return existsSync(here) && statSync(here).isDirectory() ? here : join(at.home, ".kdf", "DB");
}

/** A file named `myipaddr` in the working directory wins over the configuration. At most 64 characters are read. */
export function readMyIpFile(at: Surroundings): string | null {
  const path = join(at.cwd, "myipaddr");
  if (!existsSync(path) || !statSync(path).isFile()) return null;
  const buffer = Buffer.alloc(64);
  const fd = openSync(path, "r");
  try {
    return buffer
      .subarray(0, readSync(fd, buffer, 0, buffer.length, 0))
      .toString("utf8")
      .trim();
  } finally {
    closeSync(fd);
  }
}
