import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { loadConfig } from "../config/load.ts";
import { rmd160Hex } from "../core/keys/dbIds.ts";
import { Secret } from "../core/util/secret.ts";
import { freePort } from "../devnet/freePorts.ts";
import { startNode } from "./compose.ts";
import { nodeKeys } from "./nodeKeys.ts";
import type { RunningNode } from "./runningNode.ts";

/** A whole node in this process, asked over HTTP. */

const NULL_DEVICE = openSync("/dev/null", "r");
const PASSWORD = "StrongPass123*";
const PASSPHRASE = "words of a former KDF user";

let folder = "";
let node: RunningNode | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "swapnode-compose-"));
});
afterEach(async () => {
  await node?.stop();
  node = null;
  rmSync(folder, { recursive: true, force: true });
});

async function start(fields: object): Promise<(method: string, params?: object) => Promise<Record<string, unknown>>> {
  const mm2 = { rpc_password: PASSWORD, rpcport: 0, disable_p2p: true, coins: [], dbdir: join(folder, "DB"), ...fields };
  const loaded = loadConfig({ args: [JSON.stringify(mm2)], env: {}, cwd: folder, home: folder, stdin: NULL_DEVICE });
  if (!loaded.ok) throw new Error(loaded.error);
  const { config } = loaded.value;
  node = await startNode({
    config,
    passphrase: config.passphrase,
    clock: createSystemClock(),
    rng: createSystemRng(),
    log: new SilentLog(),
  });
  const { rpcUrl } = node;
  return async (method, params = {}) => {
    const body = JSON.stringify({ userpass: PASSWORD, method, ...params });
    return (await fetch(rpcUrl, { method: "POST", body })).json() as Promise<Record<string, unknown>>;
  };
}

test("a node without keys answers what needs none, refuses the rest, writes nothing, and stops", async () => {
  const ask = await start({});
  expect(await ask("version")).toHaveProperty("result");
  expect(await ask("get_enabled_coins")).toEqual({ result: [] });
  expect(await ask("get_public_key")).toMatchObject({ error: "public_key not available" });
  expect((await ask("enable", { coin: "DOC", mm2: 1 })).error).toMatch(
    /^enable needs the keys of a wallet, and this node was started without any: /,
  );
  expect((await ask("my_orders")).error).toMatch(/^my_orders needs the keys/);
  expect(await ask("stop")).toEqual({ result: "success" });
  await Promise.all([node?.stopping, node?.stopped]);
  expect(readdirSync(folder)).toEqual([]);
});

test("prometheusport serves the node's values until it stops; calls of the RPC count", async () => {
  const port = await freePort();
  const ask = await start({ prometheusport: port, prometheus_credentials: "watcher:word" });
  for (const method of ["version", "version", "my_orders"]) await ask(method);
  const url = `http://127.0.0.1:${port}/metrics`;
  expect((await fetch(url)).status).toBe(401);
  const text = await (await fetch(url, { headers: { authorization: `Basic ${btoa("watcher:word")}` } })).text();
  expect(text).toContain("# TYPE p2p_connected_peers_count gauge\np2p_connected_peers_count 0\n");
  expect(text).toContain("rpc_requests_count 3\n");
  expect(text).toContain("rpc_failures_count 1\n");
  await node?.stop();
  await expect(fetch(url)).rejects.toThrow();
});

test("with a passphrase nothing is refused for want of keys, and there is a folder", async () => {
  const ask = await start({ passphrase: PASSPHRASE });
  expect(await ask("my_orders")).toEqual({ result: { maker_orders: {}, taker_orders: {} } });
  expect(readdirSync(join(folder, "DB"))).toHaveLength(1);
});

test.each([
  ["spec", "CoinIsNotFound"],
  ["kdf", "InternalError"],
])("compatibility %s of the configuration reaches the replies", async (compatibility, error_type) => {
  const ask = await start({ passphrase: PASSPHRASE, swapnode: { compatibility } });
  expect(await ask("sign_message", { params: { coin: "KMD", message: "hello" } })).toMatchObject({ error_type });
});

test("https: without a certificate the node makes one in the working directory, for its alt_names, and answers with it", async () => {
  await start({ https: true, alt_names: ["node.lan"] });
  const rpcUrl = node?.rpcUrl ?? "";
  expect(rpcUrl).toMatch(/^https:/);
  const ca = readFileSync(join(folder, "cert.pem"), "utf8");
  const status = await new Promise((resolve, reject) => {
    const call = request(rpcUrl, { method: "POST", ca, servername: "node.lan", agent: false }, (reply) =>
      resolve(reply.resume().statusCode),
    );
    call.on("error", reject);
    call.end('{"method":"version"}');
  });
  expect(status).toBe(200);
  expect(statSync(join(folder, "key.pem")).mode & 0o777).toBe(0o600);
});

/** A database as KDF has it in its folder, made by SQLite itself. */
function kdfDatabase(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(
    "CREATE TABLE my_swaps (id INTEGER PRIMARY KEY, uuid TEXT); INSERT INTO my_swaps (uuid) VALUES ('aa2e902d-a810-4d81-aecb-202c8b037216')",
  );
  db.close();
}

test.each([
  ["a database", kdfDatabase],
  ["no database at all", (path: string) => writeFileSync(path, "what a crash left of a file ".repeat(300))],
])("in a folder KDF has used our node starts, works beside KDF's files and leaves them as they are: MM2.db is %s", async (_, make) => {
  const root = join(folder, "DB", rmd160Hex(nodeKeys(new Secret(PASSPHRASE), false).node.publicKey));
  mkdirSync(join(root, "SWAPS/MY"), { recursive: true });
  mkdirSync(join(root, "TX_CACHE"));
  make(join(root, "MM2.db"));
  writeFileSync(join(root, ".migration"), Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0));
  writeFileSync(join(root, "SWAPS/MY", "aa2e902d-a810-4d81-aecb-202c8b037216.json"), '{"type":"Taker"}');
  const theirs = ["MM2.db", ".migration", "SWAPS/MY/aa2e902d-a810-4d81-aecb-202c8b037216.json"];
  const facts = () => theirs.map((name) => [name, readFileSync(join(root, name), "latin1"), statSync(join(root, name)).mtimeMs]);
  const before = facts();

  const ask = await start({ passphrase: PASSPHRASE });
  // What KDF has stored is not ours to show.
  expect(await ask("my_recent_swaps")).toMatchObject({ result: { swaps: [], total: 0 } });
  expect(await ask("my_orders")).toHaveProperty("result");
  await node?.stop();

  expect(facts()).toEqual(before);
  expect(readdirSync(root).filter((name) => name.startsWith("MM2.db"))).toEqual(["MM2.db"]);
  expect(existsSync(join(root, "swapnode.db"))).toBe(true);
});

test("a coin of the last run can be enabled with other servers while it is being tried, by a task and by a call", async () => {
  const coin = { coin: "TST", mm2: 1, txversion: 4, overwintered: 1, pubtype: 60, p2shtype: 85, protocol: { type: "UTXO" } };
  const fields = { coins: [coin], passphrase: PASSPHRASE, swapnode: { autostart_coins: true } };
  await start(fields);
  await node?.stop();
  const home = join(folder, "DB", rmd160Hex(nodeKeys(new Secret(PASSPHRASE), false).node.publicKey));
  // It takes connections and says nothing: a try of it lasts.
  const silent = createServer();
  await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const url = typeof address === "object" && address ? `127.0.0.1:${address.port}` : "";
  const db = new DatabaseSync(join(home, "swapnode.db"));
  const servers = [{ url, protocol: "TCP", anyCertificate: false, timeoutSec: 600 }];
  db.prepare("INSERT INTO activation (coin, request) VALUES ('TST', ?)").run(
    JSON.stringify({ v: 1, coin: "TST", mm2: false, electrum: { servers }, txHistory: false }),
  );
  db.close();
  try {
    const ask = await start(fields);
    const mode = { rpc: "Electrum", rpc_data: { servers: [{ url: "127.0.0.1:1" }] } };
    const begun = await ask("task::enable_utxo::init", { mmrpc: "2.0", params: { ticker: "TST", activation_params: { mode } } });
    expect(begun).toMatchObject({ result: { task_id: 0 } });
    const status = async () =>
      (await ask("task::enable_utxo::status", { mmrpc: "2.0", params: { task_id: 0, forget_if_finished: false } })).result;
    await vi.waitFor(
      async () => expect(await status()).toMatchObject({ status: "Error", details: { error_type: "CoinCreationError" } }),
      20_000,
    );
    expect((await ask("electrum", { coin: "TST", servers: [{ url: "127.0.0.1:1" }] })).error).toMatch(/^Deactivated coin/);
    expect((await ask("my_balance", { coin: "TST" })).error).toMatch(/is being enabled again/);
  } finally {
    silent.close();
  }
}, 60_000);

test("a coin whose servers are away since the start says so and what to do, and is disabled as any other", async () => {
  const coin = { coin: "TST", mm2: 1, txversion: 4, overwintered: 1, pubtype: 60, p2shtype: 85, protocol: { type: "UTXO" } };
  const fields = { coins: [coin], passphrase: PASSPHRASE, swapnode: { autostart_coins: true } };
  await start(fields);
  await node?.stop();
  const home = join(folder, "DB", rmd160Hex(nodeKeys(new Secret(PASSPHRASE), false).node?.publicKey ?? new Uint8Array()));
  const db = new DatabaseSync(join(home, "swapnode.db"));
  const servers = [{ url: "127.0.0.1:1", protocol: "TCP", anyCertificate: false }];
  const record = JSON.stringify({ v: 1, coin: "TST", mm2: false, electrum: { servers }, txHistory: false });
  db.prepare("INSERT INTO activation (coin, request) VALUES ('TST', ?)").run(record);
  db.close();
  const ask = await start(fields);
  const isAwaited = /^No such coin: TST\. TST was enabled before this node was started and is being enabled again\./;
  expect((await ask("my_balance", { coin: "TST" })).error).toMatch(isAwaited);
  const health = await ask("electrum_servers", { mmrpc: "2.0", params: { coin: "TST" } });
  expect(health).toMatchObject({ error_type: "NoSuchCoin", error_data: { coin: "TST" }, error: expect.stringMatching(isAwaited) });
  const order = { base: "OTHER", rel: "TST", price: "1", volume: "1" };
  const again = "TST was enabled before this node was started and is being enabled again\\..+";
  const says = (text: string) => expect.stringMatching(new RegExp(`${text}\\. ${again}`));
  expect(await ask("buy", order)).toMatchObject({ error: says("Rel coin is not found or inactive") });
  expect(await ask("setprice", { ...order, base: "TST", rel: "OTHER" })).toMatchObject({ error: says("Base coin TST is not found") });
  const v2 = (params: object): object => ({ mmrpc: "2.0", params: { coin: "TST", ...params } });
  const history = await ask("my_tx_history", v2({}));
  expect(history).toMatchObject({ error: says("TST"), error_type: "CoinIsNotActive", error_data: "TST" });
  const signed = await ask("sign_message", v2({ message: "m" }));
  expect(signed).toMatchObject({ error_type: "CoinIsNotFound", error_data: says("No such coin: TST") });
  const withdrawn = await ask("task::withdraw::init", v2({ to: "R", amount: "1" }));
  expect(withdrawn).toMatchObject({ error_type: "NoSuchCoin", error: says("No such coin TST"), error_data: { coin: "TST" } });
  expect(await ask("disable_coin", { coin: "TST" })).toEqual({ result: { coin: "TST", cancelled_orders: [], passivized: false } });
  expect(await ask("my_balance", { coin: "TST" })).toEqual({ error: "No such coin: TST" });
  expect(await ask("disable_coin", { coin: "TST" })).toMatchObject({ error: "No such coin: TST" });
});

test("a coin whose daemon has not started and left no cookie yet is tried until it has", async () => {
  const confpath = join(folder, "TST.conf");
  const coin = { coin: "TST", mm2: 1, txversion: 4, overwintered: 1, pubtype: 60, p2shtype: 85, protocol: { type: "UTXO" }, confpath };
  writeFileSync(confpath, "rpcport=1\n");
  const fields = { coins: [coin], passphrase: PASSPHRASE, swapnode: { autostart_coins: true } };
  await start(fields);
  await node?.stop();
  const home = join(folder, "DB", rmd160Hex(nodeKeys(new Secret(PASSPHRASE), false).node.publicKey));
  const db = new DatabaseSync(join(home, "swapnode.db"));
  const record = JSON.stringify({ v: 1, coin: "TST", mm2: false, txHistory: false });
  db.prepare("INSERT INTO activation (coin, request) VALUES ('TST', ?)").run(record);
  db.close();
  const ask = await start(fields);
  const balance = async () => (await ask("my_balance", { coin: "TST" })).error;
  await vi.waitFor(async () =>
    expect(await balance()).toMatch(/is being enabled again\. .+there is no cookie file .+is the daemon running\?/),
  );
  writeFileSync(join(folder, ".cookie"), "__cookie__:word");
  // The first pause is ten seconds. What answers at the port is no daemon.
  await vi.waitFor(async () => expect(await balance()).toMatch(/is being enabled again\. The TST daemon/), 20_000);
}, 60_000);
