import { existsSync, linkSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { factsOf, type KdfFolderContent, kdfMaker, kdfSwap, kdfTaker, makeKdfFolder, uuidOf } from "../../test/fakes/kdfFolder.ts";
import { tempFolder } from "../../test/fakes/tempFolder.ts";
import { SqliteEngine } from "../adapters/sqlite/sqliteEngine.ts";
import { openDataDir } from "../adapters/system/dataDir.ts";
import { type CoinEntry, parseCoinEntry } from "../core/coin/coinEntry.ts";
import { rmd160Hex } from "../core/keys/dbIds.ts";
import { profileOfNetid } from "../core/network/networkProfile.ts";
import { toHex } from "../core/util/bytes.ts";
import { Secret } from "../core/util/secret.ts";
import { dataCommand } from "./dataCommand.ts";
import { importKdf } from "./importKdf.ts";
import { importKdfCommand } from "./importKdfCommand.ts";
import { nodeKeys } from "./nodeKeys.ts";

/** `swapnode import-kdf` over folders that are huge, damaged, made by somebody else, or on a disk that fails. */

const NULL_DEVICE = openSync("/dev/null", "r");
const PASSPHRASE = "words of a former KDF user";
const KEYS = nodeKeys(new Secret(PASSPHRASE), false);
const KEY = toHex(KEYS.node.publicKey);
const coin = (ticker: string) => ({ coin: ticker, mm2: 1, txfee: 1_000, is_testnet: true, protocol: { type: "UTXO" } });

function folder(content: KdfFolderContent = {}) {
  const dir = tempFolder();
  const root = join(dir, "DB", rmd160Hex(KEYS.node.publicKey));
  mkdirSync(root, { recursive: true });
  makeKdfFolder(root, content);
  const run = async (tickers: readonly string[] = ["DOC", "MARTY"], rpcport = 0, ...options: readonly string[]) => {
    const mm2 = {
      rpcport,
      rpc_password: "StrongPass123*",
      disable_p2p: true,
      coins: tickers.map(coin),
      dbdir: join(dir, "DB"),
      passphrase: PASSPHRASE,
    };
    const lines: string[] = [];
    const io = { print: (line: string) => void lines.push(line), complain: (line: string) => void lines.push(`! ${line}`) };
    const code = await importKdfCommand({ args: [...options, JSON.stringify(mm2)], env: {}, cwd: dir, home: dir, stdin: NULL_DEVICE }, io);
    return { code, text: lines.join("\n") };
  };
  /** Works on KDF's database as it would be had KDF closed it. */
  const withKdfDatabase = (work: (db: DatabaseSync) => void): void => {
    const db = new DatabaseSync(join(root, "MM2.db"));
    work(db);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
  };
  const count = (table: string): unknown => {
    const db = new SqliteEngine(join(root, "swapnode.db"), "read");
    const [row] = db.read(`SELECT count(*) AS n FROM ${table}`);
    db.close();
    return row?.n;
  };
  return { root, run, withKdfDatabase, count };
}

function entryOf(json: unknown): CoinEntry {
  const entry = parseCoinEntry(json);
  if (!entry.ok) throw new Error("bad test coin");
  return entry.value;
}
const hexUuid = (n: number): string => `bb2e902d-a810-4d81-aecb-${n.toString(16).padStart(12, "0")}`;

test("the history of a bot, a hundred and fifty thousand orders, is taken over", async () => {
  const { run, withKdfDatabase, count } = folder({ makers: [kdfMaker(1)] });
  withKdfDatabase((db) => {
    db.exec("BEGIN");
    const row = db.prepare("INSERT INTO my_orders VALUES (NULL, ?, 'Maker', 'Sell', 'DOC', 'MARTY', '0.25', '10', 1, 2, 0, 'Cancelled')");
    for (let n = 0; n < 150_000; n++) row.run(hexUuid(n));
    db.exec("COMMIT");
  });
  const { code, text } = await run();
  expect(text).toContain("150001 orders of the history");
  expect(text).toContain("1 open orders");
  expect(code).toBe(0);
  expect([count("my_orders"), count("live_orders")]).toEqual([150_001, 1]);
}, 60_000);

test("orders whose price is more than a day old are named with its date, younger ones are not", async () => {
  const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000;
  const { run } = folder({
    makers: [kdfMaker(1), kdfMaker(2, { updated_at: hoursAgo(23) }), kdfMaker(3, { created_at: hoursAgo(25) })],
    takers: [kdfTaker(4), kdfTaker(5, { created_at: hoursAgo(-1_000) }), kdfTaker(6, { created_at: hoursAgo(1) })],
  });
  const { code, text } = await run();
  expect(code).toBe(0);
  for (const n of [1, 4]) expect(text).toContain(`order ${uuidOf(n)}: its price is of 2023-11-14: cancel it before its coins are enabled`);
  expect(text).toContain(`order ${uuidOf(3)}: its price is of`);
  for (const n of [2, 5, 6]) expect(text).not.toContain(`order ${uuidOf(n)}:`);
});

test("an order that was matched a thousand times has what is left of its volume", async () => {
  const matched = Array.from({ length: 1_000 }, () => ["0.009", true] as const);
  const order = kdfMaker(1, {}, matched);
  for (const match of Object.values(order.matches as Record<string, Record<string, unknown>>)) match.request = { note: "x".repeat(2_000) };
  expect(JSON.stringify(order).length).toBeGreaterThan(2_000_000);
  const { root, run } = folder({ makers: [order] });
  expect(await run()).toMatchObject({ code: 0, text: expect.stringContaining("1 open orders") });
  const db = new SqliteEngine(join(root, "swapnode.db"), "read");
  expect(JSON.parse(String(db.read("SELECT record FROM live_orders")[0]?.record))).toMatchObject({ order: { maxBaseVol: "1/1" } });
  db.close();
});

test("an order that was left out is not called taken over the next time, and comes once it can", async () => {
  const { run, count } = folder({ makers: [kdfMaker(1)], takers: [kdfTaker(2, { matches: { [uuidOf(3)]: {} } })] });
  for (let i = 0; i < 2; i++) {
    const { code, text } = await run(["DOC"]);
    expect(code).toBe(3);
    expect(text).toContain(`order ${uuidOf(1)}: MARTY is not in the coins file`);
    expect(text).toContain(`${uuidOf(2)}.json: it was being matched`);
    expect(text).not.toContain("Here already");
  }
  const { text } = await run();
  expect(text).toContain("1 open orders");
  expect(text).toContain("1 orders of the history");
  expect(count("live_orders")).toBe(1);
});

test("an order KDF was turning into a maker's when it stopped is one order", async () => {
  const { run, count } = folder({ makers: [kdfMaker(1)] });
  const both = folder({ makers: [kdfMaker(1)] });
  writeFileSync(join(both.root, "ORDERS/MY/TAKER", `${uuidOf(1)}.json`), JSON.stringify(kdfTaker(1)));
  expect((await run()).text).toContain("1 open orders");
  expect((await both.run()).text).toContain("1 open orders");
  expect(count("live_orders")).toBe(both.count("live_orders"));
});

test("a number no program of ours can hold costs its row alone, and a table that cannot be read that table alone", async () => {
  const indexed = [{ uuid: uuidOf(30), finished: 0, type: 2 }];
  const odd = folder({ indexed, makers: [kdfMaker(1)] });
  odd.withKdfDatabase((db) =>
    db.exec(`INSERT INTO my_swaps (my_coin, other_coin, uuid, started_at) VALUES ('DOC', 'MARTY', '${uuidOf(31)}', 9223372036854775807);
      INSERT INTO my_orders VALUES (NULL, '${uuidOf(32)}', 'Maker', 'Sell', 'DOC', 'MARTY', '1', '1', -9223372036854775808, 1, 0, x'00')`),
  );
  const { text } = await odd.run();
  expect(text).toContain(`swap ${uuidOf(30)}: it is of KDF's newer protocol`);
  expect(text).toContain("MM2.db: 1 rows of my_swaps are not as KDF writes them");
  expect(text).toContain("1 orders of the history");
  const broken = folder({ indexed });
  broken.withKdfDatabase((db) => db.exec("DROP TABLE my_orders; CREATE TABLE my_orders (uuid TEXT)"));
  const second = await broken.run();
  expect(second.code).toBe(3);
  expect(second.text).toContain(`swap ${uuidOf(30)}: it is of KDF's newer protocol`);
  expect(second.text).toContain("my_orders");
});

test("what a file says never reaches the terminal as it is", async () => {
  const { root, run } = folder({ makers: [kdfMaker(1, { matches: { "\u001b[2J\u009b2J": { reserved: 1 } } })] });
  writeFileSync(join(root, "SWAPS/MY", "\u009b2J\u202ered.json"), "{}");
  const { text } = await run();
  expect(text).toContain(`${uuidOf(1)}.json: matches.`);
  expect(text.replaceAll("\n", "")).toMatch(/^[\x20-\x7e]*$/);
});

test("fractions that would take hours to add do not hold the import up", async () => {
  const limbs = (i: number): number[] =>
    Array.from({ length: 16 }, (_, k) => ((2_654_435_761 * (16 * i + k + 1)) % 2 ** 32) | 1).map((n) => n >>> 0);
  const tiny = (i: number) => ({
    reserved: {
      base_amount: [
        [1, [1]],
        [1, limbs(i)],
      ],
    },
    connected: {},
  });
  const matches = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [String(i), tiny(i)]));
  const { run } = folder({ makers: [kdfMaker(1, { matches })] });
  const before = performance.now();
  expect((await run()).text).toContain("1 open orders");
  expect(performance.now() - before).toBeLessThan(5_000);
}, 120_000);

test("an amount no coin has is no swap to be gone on with: it is named, and what is stored can be read", async () => {
  const swap = kdfSwap({ n: 3, key: KEY, events: ["Negotiated"] });
  const data = swap.events[0]?.event.data as Record<string, unknown>;
  data.maker_amount = "1e60";
  const { run, count } = folder({ swaps: [swap] });
  expect((await run()).text).toContain(`swap ${swap.uuid}: its maker amount is no amount`);
  expect(count("swap_events")).toBe(0);
});

test("a disk or folder that does not do its part is a sentence and an exit code, and nothing is taken over", async () => {
  const copy = folder({ swaps: [kdfSwap()] });
  await copy.run();
  mkdirSync(join(copy.root, "swapnode.db.before-import/in the way"), { recursive: true });
  expect(await copy.run()).toMatchObject({ code: 1, text: expect.stringMatching(/^! .*before-import/m) });
  const none = folder({ swaps: [kdfSwap()] });
  rmSync(join(none.root, "SWAPS"), { recursive: true });
  writeFileSync(join(none.root, "SWAPS"), "");
  expect(await none.run()).toMatchObject({ code: 1, text: expect.stringContaining("SWAPS/MY") });
});

test.each([
  ["link", "swapnode.db", "MM2.db"],
  ["second name", "swapnode.db", "MM2.db"],
  ["link", "swapnode", "."],
  ["link", "swapnode/SWAPS", "SWAPS"],
  ["link", "swapnode/ORDERS/MY/MAKER", "ORDERS/MY/MAKER"],
] as const)(
  "with a %s, %s, that leads to KDF's %s nothing is written, looked at or taken over, and no node starts",
  async (kind, ours, kdfs) => {
    const { root, run } = folder({ swaps: [kdfSwap()], makers: [kdfMaker(1)] });
    mkdirSync(join(root, ours, ".."), { recursive: true });
    const before = factsOf(root);
    (kind === "link" ? symlinkSync : linkSync)(join(root, kdfs), join(root, ours));
    for (const options of [[], ["--dry-run"]])
      expect(await run(undefined, 0, ...options)).toMatchObject({ code: 1, text: expect.stringContaining("leads to what belongs to KDF") });
    expect(openDataDir(join(root, ".."), basename(root))).toMatchObject({
      ok: false,
      error: { kind: "KdfsOwn", folder: join(root, ours) },
    });
    rmSync(join(root, ours));
    expect(factsOf(root)).toEqual(before);
  },
);

test("KDF's database is neither checked, repaired nor accepted as ours, under whatever name", async () => {
  const { root } = folder({ swaps: [kdfSwap()] });
  symlinkSync(root, join(root, "../elsewhere"));
  symlinkSync(join(root, "MM2.db"), join(root, "../a link"));
  const before = factsOf(root);
  for (const action of ["check", "repair", "accept"])
    for (const path of [join(root, "MM2.db"), join(root, "../elsewhere/MM2.db"), join(root, "../a link")]) {
      const lines: string[] = [];
      const io = { print: (line: string) => void lines.push(line), complain: (line: string) => void lines.push(`! ${line}`) };
      const code = await dataCommand([action, "--db", path], { args: [], env: {}, cwd: root, home: root, stdin: NULL_DEVICE }, io);
      expect([code, lines.join()]).toEqual([1, expect.stringMatching(/^! .* is KDF's database, which this node never changes/)]);
    }
  expect(factsOf(root)).toEqual(before);
});

/** An import that asks `whoListens` between its steps. */
const importOf = (root: string, whoListens: () => Promise<string | null>) => {
  const dbdir = join(root, "..");
  const coins = new Map(["DOC", "MARTY"].map((ticker) => [ticker, entryOf(coin(ticker))]));
  const { safety } = profileOfNetid(9_998);
  return importKdf({ keys: KEYS, coins, safety, dbdir, kdfDbdir: dbdir, nowMs: Date.now, whoListens, dryRun: false });
};

test("a look at what an import would add to what is here adds nothing", async () => {
  const { root, run, count } = folder({ swaps: [kdfSwap()] });
  expect((await run()).code).toBe(0);
  writeFileSync(join(root, "ORDERS/MY/MAKER", `${uuidOf(1)}.json`), JSON.stringify(kdfMaker(1)));
  const before = factsOf(root, [".lock", ".lock.pid", "swapnode.db-shm", "swapnode.db-wal", "swapnode.db.lock", "swapnode.db.lock.pid"]);
  expect((await run(undefined, 0, "--dry-run")).text).toContain("1 open orders");
  expect(factsOf(root, [".lock", ".lock.pid", "swapnode.db-shm", "swapnode.db-wal", "swapnode.db.lock", "swapnode.db.lock.pid"])).toEqual(
    before,
  );
  expect(count("live_orders")).toBe(0);
});

test("a KDF that is started while its data is read keeps what is open", async () => {
  const open = kdfSwap({ n: 2, key: KEY, events: ["Negotiated", "MakerPaymentInstructionsReceived"] });
  const { root, run, count } = folder({ swaps: [kdfSwap(), open], makers: [kdfMaker(1)] });
  const answers = [null, "KDF listens"];
  const outcome = await importOf(root, async () => answers.shift() ?? null);
  expect(outcome).toEqual({ ok: false, reason: "KDF listens; of the open swaps and orders nothing was taken over" });
  expect([count("swaps"), count("live_orders")]).toEqual([1, 0]);
  expect((await run()).text).toContain("1 open swaps");
});

test("a swap that was over when it was taken over, and with which KDF went on, is taken over as open; one this node cannot look after is named each time", async () => {
  const begun = [kdfSwap({ n: 3, key: KEY, events: [] }), kdfSwap({ n: 4, key: KEY, events: [], coins: ["DOC", "ETH"] })];
  const { root, run, count } = folder({ swaps: begun });
  expect(await run()).toMatchObject({ code: 0, text: expect.stringContaining("2 swaps that are over") });
  for (const [n, coins] of [
    [3, ["DOC", "MARTY"]],
    [4, ["DOC", "ETH"]],
  ] as const) {
    const swap = kdfSwap({ n, key: KEY, coins, events: ["Negotiated", "TakerFeeValidated"] });
    writeFileSync(join(root, "SWAPS/MY", `${swap.uuid}.json`), JSON.stringify(swap));
  }
  const second = await run();
  expect(second).toMatchObject({ code: 3, text: expect.stringContaining(`1 open swaps\n    ${uuidOf(3)}`) });
  expect(second.text).toContain(`swap ${uuidOf(4)}: ETH is not in the coins file`);
  expect([count("swaps"), count("ended_elsewhere")]).toEqual([2, 1]);
  const db = new SqliteEngine(join(root, "swapnode.db"), "read");
  expect(db.read("SELECT finished, settled FROM swaps WHERE uuid = ?", [uuidOf(3)])).toEqual([{ finished: 0, settled: 0 }]);
  expect(db.read("SELECT seq FROM swap_events WHERE uuid = ?", [uuidOf(3)]).length).toBeGreaterThan(1);
  db.close();
  const third = await run();
  expect(third).toMatchObject({ code: 3, text: expect.stringContaining("Here already, left as they are: 1") });
  expect(third.text).toContain(`swap ${uuidOf(4)}: ETH is not in the coins file`);
});

test("while something listens on the RPC port nothing is taken over: a KDF that runs orders alone has no lock", async () => {
  const { root, run } = folder({ makers: [kdfMaker(1)] });
  const kdf = createServer();
  await new Promise<void>((resolve) => kdf.listen(0, "127.0.0.1", resolve));
  const at = kdf.address();
  const port = typeof at === "object" && at ? at.port : 0;
  expect(await run(undefined, port)).toMatchObject({ code: 1, text: expect.stringContaining(`something listens on 127.0.0.1:${port}`) });
  expect(existsSync(join(root, "swapnode.db"))).toBe(false);
  // A look changes nothing, so it may be taken at any time.
  expect((await run(undefined, port, "--dry-run")).code).toBe(0);
  await new Promise((resolve) => kdf.close(resolve));
  expect((await run(undefined, port)).code).toBe(0);
});
