import { mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { firstStore, recordedLogs } from "../../test/vectors/eventLogs/eventLogs.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { loadConfig } from "../config/load.ts";
import { rmd160Hex } from "../core/keys/dbIds.ts";
import { Secret } from "../core/util/secret.ts";
import type { Clock } from "../ports/clock.ts";
import { startNode } from "./compose.ts";
import { nodeKeys } from "./nodeKeys.ts";
import type { RunningNode } from "./runningNode.ts";

/** What a whole node tells over HTTP of the swaps in its store. */

const NULL_DEVICE = openSync("/dev/null", "r");
const PASSWORD = "StrongPass123*";
const PASSPHRASE = "words of somebody who traded";

let folder = "";
let node: RunningNode | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "swapnode-stored-"));
});
afterEach(async () => {
  await node?.stop();
  node = null;
  rmSync(folder, { recursive: true, force: true });
});

/** A node that finds four swaps of the first version: two that ended, two that wait for their coins. */
async function start(
  clock: Clock = createSystemClock(),
): Promise<(body: object) => Promise<{ status: number; reply: Record<string, unknown> }>> {
  const own = nodeKeys(new Secret(PASSPHRASE), false).node;
  const home = join(folder, "DB", rmd160Hex(own?.publicKey ?? new Uint8Array()));
  mkdirSync(home, { recursive: true });
  const db = new DatabaseSync(join(home, "swapnode.db"));
  db.exec(firstStore);
  db.close();
  const mm2 = { rpc_password: PASSWORD, rpcport: 0, disable_p2p: true, coins: [], dbdir: join(folder, "DB"), passphrase: PASSPHRASE };
  const loaded = loadConfig({ args: [JSON.stringify(mm2)], env: {}, cwd: folder, home: folder, stdin: NULL_DEVICE });
  if (!loaded.ok) throw new Error(loaded.error);
  const { config } = loaded.value;
  const [rng, log] = [createSystemRng(), new SilentLog()];
  node = await startNode({ config, passphrase: config.passphrase, clock, rng, log });
  const { rpcUrl } = node;
  return async (body) => {
    const answer = await fetch(rpcUrl, { method: "POST", body: JSON.stringify(body) });
    return { status: answer.status, reply: (await answer.json()) as Record<string, unknown> };
  };
}

test("lists, statuses, statistics and recoveries of the swaps that are there", async () => {
  const ask = await start();
  const flat = async (method: string, params: object = {}) => ask({ userpass: PASSWORD, method, ...params });
  const all = (await flat("all_swaps_uuids_by_filter")).reply.result as { uuids: string[]; found_records: number };
  expect(all.found_records).toBe(4);
  const recent = (await flat("my_recent_swaps", { limit: 3 })).reply.result as {
    swaps: { uuid: string; is_finished: boolean }[];
    total: number;
  };
  expect([recent.total, recent.swaps.map((s) => s.uuid)]).toEqual([4, all.uuids.slice(0, 3)]);
  const after = (await flat("my_recent_swaps", { from_uuid: all.uuids[2] })).reply.result as typeof recent;
  expect(after.swaps.map((s) => s.uuid)).toEqual(all.uuids.slice(3));

  const running = (await flat("active_swaps")).reply.uuids as string[];
  expect(running).toHaveLength(2);
  for (const uuid of all.uuids) {
    const recorded = recordedLogs.find((l) => l.summary.uuid === uuid);
    const isOver = !running.includes(uuid);
    const status = (await flat("my_swap_status", { params: { uuid } })).reply.result;
    expect(status).toMatchObject({ uuid, is_finished: isOver, recoverable: false });
    // Asked again it is the same, kept or read.
    expect((await flat("my_swap_status", { params: { uuid } })).reply.result).toEqual(status);

    const shown = await ask({ method: "stats_swap_status", params: { uuid } });
    if (isOver) expect(shown.reply.result).toMatchObject({ [recorded?.role ?? ""]: { uuid } });
    else expect(shown.reply).toEqual({ error: "swap data is not found" });

    const coin = (status as { maker_coin: string }).maker_coin;
    expect((await flat("recover_funds_of_swap", { params: { uuid } })).reply).toEqual({ error: `Coin ${coin} is not activated` });
  }
});

test("a list shows what a settled swap's record said while it was whole; the swap by itself tells of the damage", async () => {
  const ask = await start();
  const flat = async (method: string, params: object = {}) => (await ask({ userpass: PASSWORD, method, ...params })).reply;
  const list = async () => ((await flat("my_recent_swaps")).result as { swaps: { uuid: string; is_finished: boolean }[] }).swaps;
  const first = await list();
  const uuid = first.find((s) => s.is_finished)?.uuid ?? "";
  const db = new DatabaseSync(join(folder, "DB", readdirSync(join(folder, "DB"))[0] ?? "", "swapnode.db"));
  try {
    await vi.waitFor(() => expect(db.prepare("SELECT count(*) AS n FROM swap_views").get()).toEqual({ n: 2 }), 20_000);
    expect(await list()).toEqual(first);
    db.prepare("UPDATE swap_events SET event = replace(event, '1', '2') WHERE uuid = ? AND seq = 1").run(uuid);
    expect(await list()).toEqual(first);
    expect((await flat("my_swap_status", { params: { uuid } })).error).toContain(`the stored record of swap ${uuid} is damaged at event 1`);
    // Nothing depends on the views: without them there is nothing to show of this one.
    db.exec("DELETE FROM swap_views");
    expect(await list()).toEqual(first.filter((s) => s.uuid !== uuid));
  } finally {
    db.close();
  }
});

test("a node makes the statuses of settled swaps that an earlier version left behind, without being asked", async () => {
  const clock = new VirtualClock();
  await start(clock);
  const db = new DatabaseSync(join(folder, "DB", readdirSync(join(folder, "DB"))[0] ?? "", "swapnode.db"));
  try {
    const kept = () => db.prepare("SELECT uuid FROM swap_views ORDER BY uuid").all();
    const settled = db.prepare("SELECT uuid FROM swaps WHERE settled = 1 ORDER BY uuid").all();
    expect(settled).toHaveLength(2);
    expect(kept()).toEqual([]);
    // The store answers from another thread, which the clock does not wait for.
    await vi.waitFor(async () => {
      await clock.run({ untilMs: clock.nowMs() + 61_000 });
      expect(kept()).toEqual(settled);
    }, 20_000);
  } finally {
    db.close();
  }
});

test("what tells of the node's keys: the hash by its own name, private keys of enabled coins alone", async () => {
  const ask = await start();
  const own = nodeKeys(new Secret(PASSPHRASE), false).node;
  const hash = await ask({ userpass: PASSWORD, mmrpc: "2.0", method: "get_public_key_hash", params: {}, id: 1 });
  expect(hash.reply.result).toEqual({ public_key_hash: rmd160Hex(own?.publicKey ?? new Uint8Array()) });
  expect((await ask({ userpass: PASSWORD, method: "show_priv_key", coin: "DOC" })).reply).toEqual({ error: "No such coin: DOC" });
});
