import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const CLI = fileURLToPath(new URL("./cli.ts", import.meta.url));
const cwd = mkdtempSync(join(tmpdir(), "swapnode-start-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const aFile = join(cwd, "a-file");
writeFileSync(aFile, "");
mkdirSync(join(cwd, "folder.log"));
const BASE = { rpc_password: "StrongPass123*", passphrase: "a secret of the owner", disable_p2p: true, rpcport: 0, coins: [], dbdir: "DB" };
const wallet = { passphrase: undefined, wallet_name: "w", wallet_password: "OtherPass456*" };
const SEED = { disable_p2p: false, i_am_seed: true, is_bootstrap_node: true };
const PROMETHEUS = { prometheusport: 9_100, prometheus_credentials: "user:secret words", silent_console: true };
const NO_SUCH_ADDRESS = "this machine has no such address (EADDRNOTAVAIL)";

function start(config: object, env: object = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, "start", "-"], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
    input: JSON.stringify({ ...BASE, ...config }),
    encoding: "utf8",
    timeout: 20_000,
  });
  return { status, stdout, stderr };
}

/** What an operator can mend is told in one sentence, with exit code 1, and no secret is in it. */
test.each<[string, object, object, string]>([
  ["no port", { rpcport: -1 }, {}, "rpcport: must be a port number"],
  ["a port in words", { rpcport: "http" }, {}, "rpcport: must be a port number"],
  ["an address that is none", { rpcip: "999.2.3.4" }, {}, "rpcip: must be an IP address"],
  [
    "an address of another machine",
    { rpcip: "192.0.2.1", silent_console: true },
    {},
    `the RPC cannot start on 192.0.2.1:0 (rpcip, rpcport): ${NO_SUCH_ADDRESS}`,
  ],
  ["Prometheus there", { rpcip: "192.0.2.1", ...PROMETHEUS }, {}, `prometheusport 9100 cannot be opened on 192.0.2.1: ${NO_SUCH_ADDRESS}`],
  [
    "a seed on an address of another machine",
    { ...SEED, netid: 9_998, myipaddr: "192.0.2.1" },
    {},
    `the peer-to-peer network cannot start on 192.0.2.1:47771 (myipaddr, netid): ${NO_SUCH_ADDRESS}`,
  ],
  [
    "TLS without a place for a certificate",
    { https: true },
    { MM_CERT_PATH: `${cwd}/none/cert.pem`, MM_CERT_KEY_PATH: `${cwd}/none/key.pem` },
    `the certificate ${cwd}/none/cert.pem and its key ${cwd}/none/key.pem cannot be used (ENOENT`,
  ],
  ["TLS with something else", { https: true }, { MM_CERT_PATH: aFile, MM_CERT_KEY_PATH: aFile }, `the certificate ${aFile} and its key`],
  ["a data folder that cannot be made", { dbdir: "/proc/nobody/here" }, {}, "db dir is not writable: /proc/nobody/here"],
  ["a file as data folder", { dbdir: aFile }, {}, `db dir is not writable: ${aFile}`],
  ["a wallet in a folder that cannot be made", { ...wallet, dbdir: "/proc/nobody" }, {}, "the file of wallet w cannot be written: ENOENT"],
  ["a wallet in a file", { ...wallet, dbdir: aFile }, {}, "the file of wallet w cannot be written: ENOTDIR"],
  ["a log that cannot be made", {}, { MM_LOG: "/proc/nobody/a.log" }, "MM_LOG: the log file cannot be opened: ENOENT"],
  ["a folder as log", {}, { MM_LOG: join(cwd, "folder.log") }, "MM_LOG: the log file cannot be opened: EISDIR"],
  [
    "wss certificates that are not there",
    { ...SEED, netid: 9_998, wss_certs: { server_priv_key: "/no/key", certificate: "/no/cert" } },
    {},
    "wss_certs: /no/key cannot be read: ENOENT",
  ],
])("%s", (_, config, env, text) => {
  const { status, stdout, stderr } = start(config, env);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(text);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  for (const secret of ["a secret of the owner", "StrongPass123", "OtherPass456"]) expect(stderr).not.toContain(secret);
});

test("a database that is none is told with the way out, and so is an unknown failure of a silent node", () => {
  const dbdir = mkdtempSync(join(cwd, "db-"));
  const first = start({ dbdir, rpcip: "192.0.2.1" });
  expect(first.status).toBe(1);
  const root = spawnSync("ls", [dbdir], { encoding: "utf8" }).stdout.trim();
  writeFileSync(join(dbdir, root, "swapnode.db"), "not a database ".repeat(500));
  const { status, stderr } = start({ dbdir, silent_console: true });
  expect(status).toBe(1);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).toContain("the database file is damaged or is not a database: stop the node, then run swapnode data check");
});

test("a wallet of new words, made because there was none of that name, is warned of: it may be a slip of the pen", () => {
  const made = (config: object): string => {
    const { stderr } = start({ ...wallet, ...config, rpcip: "192.0.2.1" });
    return stderr.split("\n").find((line) => line.includes("wallet_created")) ?? "";
  };
  const path = join(cwd, "DB", "WALLETS", "slip.json");
  expect(JSON.parse(made({ wallet_name: "slip" }))).toMatchObject({ level: "warn", wallet: "slip", file: path });
  expect(made({ wallet_name: "slip" })).toBe("");
  expect(made({ wallet_name: "kept", passphrase: BASE.passphrase })).toContain("holds the passphrase of the configuration");
});
