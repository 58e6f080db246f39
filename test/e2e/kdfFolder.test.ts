import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import { factsOf, kdfMaker, kdfSwap, kdfTaker, makeKdfFolder, OURS, uuidOf } from "../fakes/kdfFolder.ts";
import { orderFile, walletFolder } from "./support/files.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended, expectTraded, match, sidesOf } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("maker"), funded("taker")] });
const TRADE = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;
const CLI = fileURLToPath(new URL("../../src/main/cli.ts", import.meta.url));

test("on a folder KDF has used, orders are placed, cancelled and traded, and its data taken over, without a byte or name of KDF's changing", async () => {
  await withNetwork(PAIR, async ({ node, kill, revive }) => {
    await kill("maker");
    const root = walletFolder(node("maker"));
    const history = kdfSwap({ n: 1 });
    const orders = { makers: [kdfMaker(10)], takers: [kdfTaker(11)], ended: [{ type: "Maker", order: kdfMaker(12) }] as const };
    makeKdfFolder(root, { swaps: [history, kdfSwap({ n: 2, role: "Taker" })], ...orders, lock: "1700000000" });
    const before = factsOf(root, OURS);

    const maker = await revive("maker");
    const sides = await sidesOf(maker, node("taker"), BOTH);
    const uuid = await match(maker, node("taker"), TRADE);
    await ended(maker, node("taker"), uuid);
    expectTraded(TRADE, sides, await sidesOf(maker, node("taker"), BOTH));
    const { result } = await maker.rpc.call("setprice", { base: "MARTY", rel: "DOC", price: "3", volume: "1" });
    const placed = (result as { uuid: string }).uuid;
    await until("the order has its file", async () => orderFile(maker, "MAKER", placed));
    await maker.rpc.call("cancel_all_orders", { cancel_by: { type: "All" } });
    const saved = join(root, "swapnode/SWAPS/STATS/MAKER", `${uuid}.json`);
    await until("the swap has its files", async () => (existsSync(saved) ? true : null));
    expect(factsOf(root, OURS)).toEqual(before);

    await kill("maker");
    const env = { ...process.env, MM_CONF_PATH: join(maker.dataDir, "MM2.json"), MM_COINS_PATH: join(maker.dataDir, "coins") };
    const done = spawnSync(process.execPath, [CLI, "import-kdf"], { env, encoding: "utf8", timeout: 60_000 });
    expect([done.stderr, done.status]).toEqual(["", 0]);
    expect(done.stdout).toContain("2 swaps that are over");
    expect(done.stdout).toContain("2 open orders");
    const again = await revive("maker");
    const swaps = (await again.rpc.call("my_recent_swaps")).result as { swaps: { uuid: string }[]; total: number };
    expect(swaps.total).toBe(3);
    expect(swaps.swaps.map((s) => s.uuid)).toEqual(expect.arrayContaining([uuid, history.uuid, uuidOf(2)]));
    expect((await again.rpc.call("my_orders")).result).toMatchObject({ maker_orders: { [uuidOf(10)]: { available_amount: "10" } } });
    expect(factsOf(root, OURS)).toEqual(before);
  });
});
