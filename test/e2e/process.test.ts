import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { until } from "../../src/devnet/devnet.ts";
import { freePort } from "../../src/devnet/freePorts.ts";
import { startNodeProcess } from "../../src/devnet/nodeProcess.ts";
import { createRpcClient } from "../../src/devnet/rpcClient.ts";
import { hangDisk, noStrace, stateOf } from "./support/strace.ts";

const COINS_FILE = join(process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url)), "data/coins.json");
const skipped = existsSync(COINS_FILE) ? "" : " (skipped: no shared data)";
const PASSWORD = "Str0ng-Secret*";

/** One node without a network, from these coins; its log and its RPC. The process and its folder are gone afterwards. */
async function withNode(
  coins: readonly unknown[],
  more: Readonly<Record<string, unknown>>,
  work: (node: {
    readonly rpc: ReturnType<typeof createRpcClient>;
    readonly process: ReturnType<typeof startNodeProcess>;
    readonly dir: string;
    readonly lines: readonly string[];
  }) => Promise<void>,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "swapnode-process-"));
  const lines: string[] = [];
  const rpcport = await freePort();
  const mm2 = { gui: "test", rpc_password: PASSWORD, passphrase: "one node alone", disable_p2p: true, dbdir: dir, rpcport, ...more };
  const process = startNodeProcess(dir, { mm2, coins }, (line) => lines.push(line));
  try {
    const rpc = createRpcClient(`http://127.0.0.1:${rpcport}`, PASSWORD);
    const gone = process.exited.then((code) => Promise.reject(new Error(`the node ended with ${code}\n${lines.join("\n")}`)));
    gone.catch(() => undefined);
    await Promise.race([until("the node answers", () => rpc.call("version")), gone]);
    await work({ rpc, process, dir, lines });
  } finally {
    await process.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

test.skipIf(skipped !== "")(`a node loads the whole public coins file and refuses by name what it cannot trade${skipped}`, async () => {
  const coins: { coin: string; protocol: { type: string } }[] = JSON.parse(readFileSync(COINS_FILE, "utf8"));
  expect(coins.length).toBeGreaterThanOrEqual(730);
  await withNode(coins, {}, async ({ rpc, lines }) => {
    expect(lines.filter((l) => l.includes('"configuration"'))).toEqual([]);
    await expect(rpc.call("enable", { coin: "ATOM", rpc_url: "http://127.0.0.1:1" })).rejects.toThrow(
      /ATOM is not supported by this node: /,
    );
    // An ETH-like coin and a token go as far as their nodes.
    for (const coin of ["ETH", "USDC-PLG20"]) await expect(rpc.call("enable", { coin })).rejects.toThrow(/expected a sequence/);
    // A tradeable one goes as far as its daemon, which is not here.
    await expect(rpc.call("enable", { coin: "KMD" })).rejects.toThrow(/Error parsing the native wallet configuration '.*komodo\.conf'/);
    await expect(rpc.call("enable", { coin: "NOSUCHCOIN" })).rejects.toThrow(/mm2 param is not set/);
  });
});

const DOC = {
  coin: "DOC",
  asset: "DOC",
  is_testnet: true,
  mm2: 1,
  txversion: 4,
  overwintered: 1,
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  protocol: { type: "UTXO" },
};

test("a running node warns of unknown keys with the nearest name, in MM2.json and in the coins file, and works", async () => {
  await withNode([{ ...DOC, txfe: 1000 }], { rpcprot: 1, seednode: [] }, async ({ lines }) => {
    const warnings = lines.filter((l) => l.includes('"event":"configuration"')).join("\n");
    expect(warnings).toMatch(/rpcprot.*did you mean.*rpcport/);
    expect(warnings).toMatch(/seednode.*did you mean.*seednodes/);
    expect(warnings).toMatch(/txfe.*did you mean.*txfee/);
  });
});

test("a second process on the same data folder is refused with the first one's id, which goes on; SIGINT, SIGTERM and stop end cleanly", async () => {
  for (const end of ["SIGINT", "SIGTERM", "stop"] as const) {
    await withNode([DOC], {}, async ({ rpc, process, dir }) => {
      if (end === "SIGINT") {
        const refused: string[] = [];
        const folder = mkdtempSync(join(tmpdir(), "swapnode-process-"));
        const mm2 = {
          gui: "test",
          rpc_password: PASSWORD,
          passphrase: "one node alone",
          disable_p2p: true,
          dbdir: dir,
          rpcport: await freePort(),
        };
        const second = startNodeProcess(folder, { mm2, coins: [DOC] }, (line) => refused.push(line));
        expect(await second.exited).toBe(1);
        expect(refused.join("\n")).toMatch(new RegExp(`another swapnode process \\(pid ${process.pid}\\) is using`));
        rmSync(folder, { recursive: true, force: true });
        await rpc.call("version");
      }
      if (end === "stop") await rpc.call("stop");
      else process.kill(end);
      expect(await process.exited).toBe(0);
    });
  }
});

test.skipIf(noStrace !== "")(`a disk that does not answer does not hold a process that the method stop stops${noStrace}`, async () => {
  await withNode([], {}, async ({ rpc, process }) => {
    const strace = await hangDisk(process.pid);
    try {
      await rpc.call("stop");
      // Only strace keeps what is left of it then.
      await expect.poll(() => stateOf(process.pid), { timeout: 40_000, interval: 200 }).toBe("Z");
    } finally {
      strace.kill("SIGKILL");
    }
  });
});
