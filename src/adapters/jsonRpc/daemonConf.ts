import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import type { DaemonEndpoint } from "./daemonEndpoint.ts";

/** Largest conf or cookie file read, bytes; largest line, characters. */
const MAX_FILE_BYTES = 1_000_000;
const MAX_LINE = 4_096;
const MAX_PORT = 65_535;

/** Fields of a coins-file entry that say where its daemon is. */
export type DaemonEntry = {
  readonly coin: string;
  readonly name?: string;
  readonly asset?: string;
  readonly confpath?: string;
  readonly rpcport?: number;
};

export type DaemonConfError =
  | { readonly kind: "NoConfName"; readonly coin: string }
  | { readonly kind: "ConfNotReadable"; readonly path: string; readonly reason: string }
  | { readonly kind: "BadConf"; readonly path: string; readonly line: number; readonly detail: string }
  | { readonly kind: "NoCredentials"; readonly path: string; readonly cookie: string }
  | { readonly kind: "NoPort"; readonly coin: string; readonly path: string };

/** One sentence for people. */
export function daemonConfSentence(error: DaemonConfError): string {
  switch (error.kind) {
    case "NoConfName":
      return `The coins-file entry of ${error.coin} names no daemon: it has neither confpath, asset nor name. Give rpc_url, rpc_user and rpc_password.`;
    case "ConfNotReadable":
      return `Cannot read the daemon's conf file ${error.path}: ${error.reason}.`;
    case "BadConf":
      return `Line ${error.line} of ${error.path} is not a setting: ${error.detail}.`;
    case "NoCredentials":
      return `${error.path} sets no rpcuser and rpcpassword, and there is no cookie file ${error.cookie}; is the daemon running?`;
    case "NoPort":
      return `Neither ${error.path} nor the coins-file entry of ${error.coin} has an rpcport.`;
  }
}

/**
 * Where the daemon of a coin keeps its conf file. `confpath` wins (`~/` and `USERHOME/` stand for the home folder),
 * then `asset` (a Komodo assetchain), then `name`.
 * @param platform `darwin` or anything else, as in `process.platform`
 */
export function daemonConfPath(entry: DaemonEntry, home: string, platform: string): Result<string, DaemonConfError> {
  if (entry.confpath) return ok(entry.confpath.replace(/^(~|USERHOME)(?=\/)/, () => home));
  const mac = platform === "darwin";
  const base = mac ? join(home, "Library", "Application Support") : home;
  if (entry.asset) return ok(join(base, mac ? "Komodo" : ".komodo", entry.asset, `${entry.asset}.conf`));
  if (!entry.name) return err({ kind: "NoConfName", coin: entry.coin });
  const folder = mac ? entry.name.charAt(0).toUpperCase() + entry.name.slice(1) : `.${entry.name}`;
  return ok(join(base, folder, `${entry.name}.conf`));
}

type Settings = ReadonlyMap<string, string>;

/** Settings before the first `[section]`; the first of several equal keys counts, as in the daemons. */
function parseSettings(path: string, text: string): Result<Settings, DaemonConfError> {
  const settings = new Map<string, string>();
  for (const [i, full] of text.split("\n").entries()) {
    if (full.length > MAX_LINE) return err({ kind: "BadConf", path, line: i + 1, detail: `longer than ${MAX_LINE} characters` });
    const line = full.trim();
    if (line.startsWith("[")) break;
    if (line === "" || line.startsWith("#")) continue;
    const at = line.indexOf("=");
    const key = at < 0 ? line : line.slice(0, at).trim();
    // A password may hold "#": nothing after the "=" is a comment where a secret can stand.
    if (!settings.has(key)) settings.set(key, at < 0 ? "1" : line.slice(at + 1).trim());
  }
  return ok(settings);
}

async function readSmall(path: string): Promise<Result<string, string>> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) return err(`it is larger than ${MAX_FILE_BYTES} bytes`);
    return ok(await readFile(path, "utf8"));
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (typeof code !== "string") throw cause;
    return err(code === "ENOENT" ? "there is no such file" : code === "EACCES" ? "permission denied" : code);
  }
}

function parsePort(text: string): number | null {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= MAX_PORT ? port : null;
}

type Login = { readonly user: string; readonly password: Secret<string> };

async function readLogin(path: string, settings: Settings): Promise<Result<Login, DaemonConfError>> {
  const user = settings.get("rpcuser");
  const password = settings.get("rpcpassword");
  if (user !== undefined && password !== undefined) return ok({ user, password: new Secret(password) });
  const named = settings.get("rpccookiefile") ?? ".cookie";
  const cookie = isAbsolute(named) ? named : join(settings.get("datadir") ?? dirname(path), named);
  const content = await readSmall(cookie);
  const at = content.ok ? content.value.indexOf(":") : -1;
  if (!content.ok || at < 0) return err({ kind: "NoCredentials", path, cookie });
  return ok({ user: content.value.slice(0, at), password: new Secret(content.value.slice(at + 1).trim()) });
}

/**
 * Endpoint of a daemon on this machine from its own conf file, as KDF's native `enable` does: `rpcuser` and
 * `rpcpassword`, else the cookie the daemon writes at its start; `rpcport` of the file before that of the entry.
 */
export async function readDaemonConf(entry: DaemonEntry, home: string, platform: string): Promise<Result<DaemonEndpoint, DaemonConfError>> {
  const path = daemonConfPath(entry, home, platform);
  if (!path.ok) return path;
  const text = await readSmall(path.value);
  if (!text.ok) return err({ kind: "ConfNotReadable", path: path.value, reason: text.error });
  const settings = parseSettings(path.value, text.value);
  if (!settings.ok) return settings;
  const named = settings.value.get("rpcport");
  const port = named === undefined ? (entry.rpcport ?? null) : parsePort(named);
  if (port === null) return err({ kind: "NoPort", coin: entry.coin, path: path.value });
  const login = await readLogin(path.value, settings.value);
  if (!login.ok) return login;
  return ok({ url: new URL(`http://127.0.0.1:${port}/`), ...login.value });
}
