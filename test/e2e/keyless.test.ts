import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import { freePort } from "../../src/devnet/freePorts.ts";
import { startNodeProcess } from "../../src/devnet/nodeProcess.ts";
import { createRpcClient } from "../../src/devnet/rpcClient.ts";
import { walletFolder } from "./support/files.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended, match } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
const funded = (name: string) => ({ name, enable: BOTH, fund: { DOC: "100", MARTY: "100" } });
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("alice"), funded("bob")] });

test("a process without keys joins a network and shows its book; others swap beside it, and each shows the ended swap in its two files", async () => {
  await withNetwork(PAIR, async ({ node, logs }) => {
    const [alice, bob] = [node("alice"), node("bob")];
    const trade = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;
    const { mm2, coins } = bob.config;
    const { passphrase: _, ...rest } = mm2;
    const dir = mkdtempSync(join(tmpdir(), "swapnode-keyless-"));
    const rpcport = await freePort();
    const dbdir = join(dir, "DB");
    const watcher = startNodeProcess(dir, { mm2: { ...rest, rpcport, dbdir }, coins }, (line) => logs.add("watcher", line));
    try {
      const rpc = createRpcClient(`http://127.0.0.1:${rpcport}`, String(mm2.rpc_password));
      const uuid = await match(alice, bob, trade);
      const { asks } = await until("the watcher has the rest of the order", async () => {
        const book = await rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
        const first = (book.asks as { maxvolume: string }[])[0];
        return first?.maxvolume === "6" ? book : null;
      });
      expect(asks).toMatchObject([{ pubkey: alice.pubkey, address: alice.addresses.DOC, is_mine: false }]);
      expect(Object.keys((await rpc.call("get_directly_connected_peers")).result as object)).toHaveLength(1);
      await expect(rpc.call("buy", { base: "DOC", rel: "MARTY", price: "1", volume: "1" })).rejects.toThrow(
        /buy needs the keys of a wallet/,
      );
      const warnings = logs.tail("watcher", 100).filter((line) => line.includes('"event":"configuration"'));
      expect(warnings).toEqual([expect.stringContaining("this node has no keys")]);
      const started = logs.tail("watcher", 100).find((line) => line.includes('"event":"started"'));
      expect(JSON.parse(started ?? "{}")).toMatchObject({ netid: mm2.netid, profile: "spec", dbdir });

      const done = await ended(alice, bob, uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      for (const [side, owner] of [
        ["MAKER", alice],
        ["TAKER", bob],
      ] as const) {
        const saved = (folder: string): string => join(walletFolder(owner), "swapnode/SWAPS", folder, `${uuid}.json`);
        const both = [saved(`STATS/${side}`), saved("MY")];
        await until(`${side} has both files`, async () => (both.every((path) => existsSync(path)) ? true : null));
        // Whoever writes one of them is not done with the other yet.
        await until("they are alike", async () => (new Set(both.map((path) => readFileSync(path, "utf8"))).size === 1 ? true : null));
        expect(statSync(saved(`STATS/${side}`)).mode & 0o777).toBe(0o600);
      }
      await rpc.call("stop");
      expect(await watcher.exited).toBe(0);
      // What it was started from, and nothing else.
      expect(readdirSync(dir).sort()).toEqual(["MM2.json", "coins"]);
    } finally {
      await watcher.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

test("a seed without keys is refused with KDF's text", async () => {
  const dir = mkdtempSync(join(tmpdir(), "swapnode-keyless-"));
  try {
    const lines: string[] = [];
    const mm2 = { netid: 9_998, rpc_password: "Str0ng-Secret*", i_am_seed: true, is_bootstrap_node: true, dbdir: join(dir, "DB") };
    const process = startNodeProcess(dir, { mm2, coins: [] }, (line) => lines.push(line));
    expect(await process.exited).toBe(1);
    expect(lines).toEqual(["swapnode: Precheck failed: 'Seed node requires a persistent identity to generate its P2P key.'"]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
