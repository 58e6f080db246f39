import { existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  factsOf,
  type KdfFolderContent,
  kdfMaker,
  kdfSwap,
  kdfTaker,
  makeKdfFolder,
  OURS,
  SECRET,
  uuidOf,
} from "../../test/fakes/kdfFolder.ts";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { tempFolder } from "../../test/fakes/tempFolder.ts";
import { SqliteEngine } from "../adapters/sqlite/sqliteEngine.ts";
import { lockFolder } from "../adapters/system/processLock.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { loadConfig } from "../config/load.ts";
import { rmd160Hex } from "../core/keys/dbIds.ts";
import { toHex } from "../core/util/bytes.ts";
import { Secret } from "../core/util/secret.ts";
import { startNode } from "./compose.ts";
import { dataCommand } from "./dataCommand.ts";
import { importKdfCommand } from "./importKdfCommand.ts";
import { nodeKeys } from "./nodeKeys.ts";
import type { RunningNode } from "./runningNode.ts";

/** `swapnode import-kdf` over folders made as KDF makes them, and the node that is started on them. */

const NULL_DEVICE = openSync("/dev/null", "r");
const PASSWORD = "StrongPass123*";
const PASSPHRASE = "words of a former KDF user";
const KEYS = nodeKeys(new Secret(PASSPHRASE), false);
const KEY = toHex(KEYS.node.publicKey);
const coin = (ticker: string) => ({
  coin: ticker,
  pubtype: 60,
  p2shtype: 85,
  mm2: 1,
  txfee: 1_000,
  is_testnet: true,
  protocol: { type: "UTXO" },
});
const COINS = [coin("DOC"), coin("MARTY"), { coin: "ETH", mm2: 1, protocol: { type: "ETH" } }];

let node: RunningNode | null = null;
afterEach(async () => {
  await node?.stop();
  node = null;
});

function folder(content: KdfFolderContent = {}) {
  const dir = tempFolder();
  const root = join(dir, "DB", rmd160Hex(KEYS.node.publicKey));
  mkdirSync(root, { recursive: true });
  makeKdfFolder(root, content);
  const mm2 = { rpc_password: PASSWORD, rpcport: 0, disable_p2p: true, coins: COINS, dbdir: join(dir, "DB"), passphrase: PASSPHRASE };
  const at = { args: [JSON.stringify(mm2)], env: {}, cwd: dir, home: dir, stdin: NULL_DEVICE };
  const run = async (...options: string[]) => {
    const lines: string[] = [];
    const io = { print: (line: string) => void lines.push(line), complain: (line: string) => void lines.push(`! ${line}`) };
    const code = await importKdfCommand({ ...at, args: [...options, ...at.args] }, io);
    return { code, text: lines.join("\n") };
  };
  const log = new SilentLog();
  const start = async () => {
    const loaded = loadConfig(at);
    if (!loaded.ok) throw new Error(loaded.error);
    const { config } = loaded.value;
    node = await startNode({ config, passphrase: config.passphrase, clock: createSystemClock(), rng: createSystemRng(), log });
    const { rpcUrl } = node;
    return async (method: string, params: object = {}) => {
      const body = JSON.stringify({ userpass: PASSWORD, method, ...params });
      return (await fetch(rpcUrl, { method: "POST", body })).json() as Promise<Record<string, unknown>>;
    };
  };
  return { dir, root, run, start, log };
}

const ENDED = kdfSwap({ n: 1 });
const TAKEN = kdfSwap({
  n: 2,
  role: "Taker",
  events: [
    ...["Negotiated", "TakerFeeSent", "TakerPaymentInstructionsReceived", "MakerPaymentReceived", "MakerPaymentWaitConfirmStarted"],
    ...[
      "MakerPaymentValidatedAndConfirmed",
      "TakerPaymentSent",
      "TakerPaymentSpent",
      "MakerPaymentSpent",
      "MakerPaymentSpendConfirmed",
      "Finished",
    ],
  ],
});
const OPEN = kdfSwap({
  n: 3,
  key: KEY,
  startedAt: Math.floor(Date.now() / 1_000) - 600,
  events: ["Negotiated", "MakerPaymentInstructionsReceived"],
});
const ALL: KdfFolderContent = {
  swaps: [ENDED, TAKEN, OPEN],
  makers: [
    kdfMaker(10, {}, [
      ["2", true],
      ["3", false],
    ]),
  ],
  takers: [kdfTaker(11, { timeout: 1_000_000_000 })],
  ended: [{ type: "Maker", order: kdfMaker(12) }],
};

test("orders, ended and open swaps and the history of KDF are here after an import, and KDF's own files are as they were", async () => {
  const { root, run, start, log } = folder(ALL);
  const before = factsOf(root);
  const { code, text } = await run();
  expect(text).toContain("1 open swaps");
  expect(text).toContain(`    ${OPEN.uuid}`);
  expect(text).toContain("2 open orders");
  expect(text).toContain("2 swaps that are over");
  expect(text).toContain("3 orders of the history");
  expect(text).toContain("They go on once these coins are enabled: DOC, MARTY");
  expect(code).toBe(0);
  expect(factsOf(root, OURS)).toEqual(before);

  const ask = await start();
  const recent = (await ask("my_recent_swaps")).result as { swaps: Record<string, unknown>[]; total: number };
  expect(recent.total).toBe(3);
  const shown = new Map(recent.swaps.map((s) => [s.uuid, s]));
  // As KDF shows it: all its fields, four more, and what it hides hidden.
  const hidden = (swap: typeof TAKEN, key: string) => ({
    ...swap,
    events: swap.events.map((e) =>
      e.event.type === "Started" ? { ...e, event: { ...e.event, data: { ...(e.event.data as object), [key]: "0".repeat(64) } } } : e,
    ),
  });
  expect(shown.get(TAKEN.uuid)).toEqual({
    ...hidden(TAKEN, "maker"),
    my_info: { my_coin: "MARTY", other_coin: "DOC", my_amount: "0.01", other_amount: "2", started_at: 1_700_000_000 },
    ...{ recoverable: false, is_finished: true, is_success: true },
  });
  expect(Object.keys(shown.get(TAKEN.uuid) ?? {}).slice(0, 4)).toEqual(["type", "uuid", "my_order_uuid", "events"]);
  expect(shown.get(ENDED.uuid)).toMatchObject({ is_finished: true, is_success: false, recoverable: false });
  expect(shown.get(OPEN.uuid)).toMatchObject({ type: "Maker", is_finished: false, gui: "a gui", mm_version: "2.5.1-beta" });
  expect((await ask("my_swap_status", { params: { uuid: ENDED.uuid } })).result).toMatchObject({ uuid: ENDED.uuid });
  expect(await ask("active_swaps")).toMatchObject({ uuids: [OPEN.uuid] });
  expect((await ask("coins_needed_for_kick_start")).result).toEqual(expect.arrayContaining(["DOC", "MARTY"]));
  expect(await ask("recover_funds_of_swap", { params: { uuid: TAKEN.uuid } })).toMatchObject({
    error: expect.stringContaining("Maker payment is spent and confirmed, swap is not recoverable"),
  });
  const orders = (await ask("my_orders")).result as { maker_orders: Record<string, object>; taker_orders: object };
  expect(orders.maker_orders[uuidOf(10)]).toMatchObject({ available_amount: "8", max_base_vol: "8", price: "0.25", min_base_vol: "0.5" });
  expect(Object.keys(orders.taker_orders)).toEqual([uuidOf(11)]);
  const history = (await ask("orders_history_by_filter")).result as { orders: { uuid: string }[] };
  expect(history.orders.map((o) => o.uuid).sort()).toEqual([10, 11, 12].map(uuidOf));
  expect(await ask("order_status", { uuid: uuidOf(12) })).toMatchObject({ order: { uuid: uuidOf(12) } });
  const everything = JSON.stringify([recent, await ask("active_swaps", { include_status: true }), log.lines]);
  expect(everything).not.toContain(SECRET);
  await node?.stop();
  expect(factsOf(root, OURS)).toEqual(before);
  for (const file of factsOf(join(root, "swapnode"))) expect(file).not.toContain(SECRET);
});

test("a second import changes nothing, also of an order that has ended here meanwhile, and a look changes nothing at all", async () => {
  const { root, run, start } = folder({ ...ALL, makers: [kdfMaker(10, { save_in_history: false })] });
  const untouched = factsOf(root);
  const look = await run("--dry-run");
  expect(look).toMatchObject({ code: 0, text: expect.stringContaining("A look only: nothing was written") });
  expect(look.text).toContain("1 open swaps");
  expect(factsOf(root)).toEqual(untouched);
  expect((await run()).code).toBe(0);
  const db = new SqliteEngine(join(root, "swapnode.db"), "read");
  const counts = () =>
    ["swaps", "swap_events", "ended_elsewhere", "live_orders", "my_orders", "ended_orders"].map(
      (t) => db.read(`SELECT count(*) AS n FROM ${t}`)[0]?.n,
    );
  const first = counts();
  const again = await run();
  expect(again).toMatchObject({ code: 0, text: expect.stringContaining("Here already, left as they are: 5") });
  expect(again.text).toContain("0 open swaps");
  expect(counts()).toEqual(first);
  expect(existsSync(join(root, "swapnode.db.before-import"))).toBe(true);
  const ask = await start();
  expect(await ask("cancel_order", { uuid: uuidOf(10) })).toEqual({ result: "success" });
  await node?.stop();
  const third = await run();
  expect(third.text).toContain("0 open orders");
  const checked: string[] = [];
  const io = { print: (line: string) => void checked.push(line), complain: (line: string) => void checked.push(line) };
  expect(await dataCommand(["check", "--db", join(root, "swapnode.db")], { args: [], env: {}, cwd: root, home: root, stdin: 0 }, io)).toBe(
    0,
  );
  expect(checked.join()).toContain("no damage found");
  db.close();
});

test.each([
  ["10 s", 10, 1],
  ["of a clock that runs ahead", -1_000, 1],
  ["40 s", 40, 0],
])("a lock of KDF that is %s old", async (_, age, code) => {
  const { root, run } = folder({ swaps: [ENDED], lock: String(Math.floor(Date.now() / 1_000) - age) });
  const before = factsOf(root);
  const done = await run();
  expect(done.code).toBe(code);
  if (code === 0) return;
  expect(done.text).toMatch(/KDF is running swaps: its lock SWAPS\/MY\/.*\.lock is -?\d+ s old\. Stop KDF/);
  expect(factsOf(root)).toEqual(before);
});

test("a lock that is no time is KDF's own idea of a stale one", async () => {
  expect((await folder({ swaps: [ENDED], lock: "soon" }).run()).code).toBe(0);
});

test("while a node of ours uses the folder nothing is taken over", async () => {
  const { root, run } = folder(ALL);
  const lock = lockFolder(root);
  expect(await run()).toMatchObject({ code: 1, text: expect.stringContaining("is using") });
  expect(existsSync(join(root, "swapnode.db"))).toBe(false);
  if (lock.ok) lock.value.release();
});

test("without MM2.db the folder is not KDF's, and another dbdir can be named", async () => {
  const { dir, root, run } = folder(ALL);
  rmSync(join(root, "MM2.db"));
  expect(await run()).toMatchObject({ code: 1, text: expect.stringContaining("there is no MM2.db in") });
  const other = folder(ALL);
  expect(await run("--from", join(other.dir, "DB"))).toMatchObject({ code: 0, text: expect.stringContaining("2 swaps that are over") });
  expect(existsSync(join(other.root, "swapnode.db"))).toBe(false);
  expect(existsSync(join(dir, "DB"))).toBe(true);
});

test("swaps this node cannot end and orders it cannot serve are named and left", async () => {
  const eth = kdfSwap({ n: 20, key: KEY, coins: ["ETH", "DOC"], events: ["Negotiated", "TakerFeeValidated"] });
  const foreign = kdfSwap({ n: 21, events: ["Negotiated"] });
  const gone = kdfSwap({
    n: 22,
    key: KEY,
    events: [
      "Negotiated",
      "TakerFeeValidated",
      "MakerPaymentSent",
      "TakerPaymentValidateFailed",
      "MakerPaymentWaitRefundStarted",
      "MakerPaymentRefundFailed",
      "Finished",
    ],
  });
  const { run } = folder({
    swaps: [eth, foreign, gone],
    indexed: [
      { uuid: uuidOf(30), finished: 0, type: 2 },
      { uuid: uuidOf(31), finished: 0, type: 0 },
      { uuid: uuidOf(32), finished: 1, type: 1 },
    ],
    makers: [
      kdfMaker(40, { base: "ETH" }),
      kdfMaker(41, {}, [["9.9", true]]),
      kdfMaker(42, { p2p_privkey: [1, 2] }),
      kdfMaker(43, {
        price: [
          [0, []],
          [1, [1]],
        ],
      }),
    ],
    takers: [kdfTaker(44, { matches: { [uuidOf(1)]: {} } })],
  });
  const { code, text } = await run();
  expect(code).toBe(3);
  for (const line of [
    `swap ${eth.uuid}: ETH is traded here, but of KDF only what is between UTXO coins is taken over`,
    `swap ${foreign.uuid}: its keys are not those of this wallet`,
    `swap ${uuidOf(30)}: it is of KDF's newer protocol, which this node does not speak (DOC for MARTY)`,
    `swap ${uuidOf(31)}: KDF has it in its index, but no file of it`,
    `swap ${gone.uuid}: KDF ended it and calls it recoverable, and this node cannot look after it: the bytes of its makerPayment`,
    `order ${uuidOf(40)}: ETH is traded here, but of KDF only what is between UTXO coins is taken over`,
    `${uuidOf(41)}.json: nothing above its minimum is left of it`,
    `${uuidOf(42)}.json: p2p_privkey: it uses a key of its own`,
    `${uuidOf(43)}.json: its price or volume is not above zero`,
    `${uuidOf(44)}.json: it was being matched when KDF stopped`,
  ])
    expect(text).toContain(line);
  expect(text).not.toContain(uuidOf(32));
  expect((await run()).text).toContain(`swap ${gone.uuid}: KDF ended it and calls it recoverable`);
});

test("files that are broken or hostile are named and passed over, and those beside them are taken", async () => {
  const { dir, root, run } = folder({ swaps: [ENDED] });
  const put = (name: string, text: string | Uint8Array): void => writeFileSync(join(root, "SWAPS/MY", name), text);
  const file = (n: number): string => `${uuidOf(n)}.json`;
  put(file(50), "");
  put(file(51), `{"type":"Maker","events":${"[".repeat(200_000)}`);
  put(file(52), `${"[".repeat(200_000)}${"]".repeat(200_000)}`);
  put(file(53), JSON.stringify({ ...kdfSwap({ n: 53 }), events: "none" }));
  put(file(54), JSON.stringify(kdfSwap({ n: 1 })));
  put(file(55), "x".repeat(1_000_001));
  put(file(56), Uint8Array.of(0xff, 0xfe));
  put(file(57), JSON.stringify({ ...kdfSwap({ n: 57 }), uuid: "../../../../etc/passwd" }));
  put(file(58), '{"type":"Maker","__proto__":{"uuid":"x"}}');
  put("..%2f..%2fevil.json", "{}");
  put("\u001b[31mred.json", "{}");
  writeFileSync(join(dir, "elsewhere.json"), JSON.stringify(kdfSwap({ n: 59 })));
  symlinkSync(join(dir, "elsewhere.json"), join(root, "SWAPS/MY", file(59)));
  mkdirSync(join(root, "SWAPS/MY", file(60)));
  const before = factsOf(root);
  const { code, text } = await run();
  expect(code).toBe(3);
  for (const [n, why] of [
    [50, "it is not JSON"],
    [51, "it is not JSON"],
    [52, "nested"],
    [53, "events: "],
    [54, `it is of swap ${uuidOf(1)}`],
    [55, "it has 1000001 bytes"],
    [56, "it is not UTF-8"],
    [57, "uuid: not a uuid"],
    [58, "uuid"],
    [59, "it is a link"],
    [60, "it is no file"],
  ] as const)
    expect(text).toMatch(new RegExp(`SWAPS/MY/${file(n)}: .*${why}`));
  expect(text).toContain("its name is not one KDF gives");
  expect(text).not.toContain("\u001b");
  expect(text).toContain("1 swaps that are over");
  expect(text).toContain("Not as KDF writes it, skipped: 13");
  expect(factsOf(root, OURS)).toEqual(before);
});

test("a database that is none is named, and the files are taken all the same", async () => {
  const { root, run } = folder({ swaps: [ENDED] });
  writeFileSync(join(root, "MM2.db"), "what a crash left of a file ".repeat(300));
  rmSync(join(root, "MM2.db-wal"));
  const { code, text } = await run();
  expect(code).toBe(3);
  expect(text).toContain("MM2.db: it cannot be read");
  expect(text).toContain("1 swaps that are over");
  expect(readFileSync(join(root, "MM2.db"), "latin1")).toContain("what a crash");
});

test("import_swaps takes ended swaps, each for itself, and leaves those money may be in", async () => {
  const { root, start } = folder();
  const ask = await start();
  const notFinished = kdfSwap({ n: 6, events: ["NegotiateFailed"] });
  const recoverable = kdfSwap({ n: 7, events: ["Negotiated", "MakerPaymentSent", "MakerPaymentRefundFailed", "Finished"] });
  const again = { swaps: [ENDED, TAKEN, OPEN, notFinished, recoverable, { uuid: 7 }, { ...kdfSwap({ n: 5 }), type: "Watcher" }] };
  expect(await ask("import_swaps", again)).toEqual({
    result: {
      imported: [ENDED.uuid, TAKEN.uuid],
      skipped: {
        [OPEN.uuid]: "money may be in it: take it over with swapnode import-kdf",
        [notFinished.uuid]: "money may be in it: take it over with swapnode import-kdf",
        [recoverable.uuid]: "money may be in it: take it over with swapnode import-kdf",
        "swaps[5]": expect.stringContaining("type"),
        [uuidOf(5)]: expect.stringContaining("type"),
      },
    },
  });
  expect(await ask("import_swaps", { swaps: [ENDED] })).toEqual({
    result: { imported: [], skipped: { [ENDED.uuid]: "this node has a swap of this uuid" } },
  });
  const { result } = (await ask("my_recent_swaps")) as { result: { total: number } };
  expect(result.total).toBe(2);
  expect(JSON.stringify(await ask("my_swap_status", { params: { uuid: ENDED.uuid } }))).not.toContain(SECRET);
  await node?.stop();
  // Nobody needs it any more, so it is nowhere on the disk.
  for (const file of factsOf(root, ["MM2.db", "MM2.db-wal"])) expect(file).not.toContain(SECRET);
});
