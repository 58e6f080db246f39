import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDaemonClient } from "../src/adapters/jsonRpc/daemonClient.ts";
import { parseDaemonUrl } from "../src/adapters/jsonRpc/daemonUrl.ts";
import { openChainStore } from "../src/adapters/sqlite/chainStore.ts";
import { SCHEMA } from "../src/adapters/sqlite/schema.ts";
import { openWorkerDatabase } from "../src/adapters/sqlite/workerDatabase.ts";
import { createNativeVerifier } from "../src/adapters/system/nativeVerifier.ts";
import { createSystemClock } from "../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../src/adapters/system/systemRng.ts";
import { openUtxoRpcChain } from "../src/adapters/utxoRpc/utxoRpcChain.ts";
import { type ChainServer, startChainServer } from "../src/chain/startChainServer.ts";
import { DEMO_COINS } from "../src/devnet/demoCoins.ts";
import { SilentLog } from "../test/fakes/silentLog.ts";
import type { Question } from "./support/question.ts";

const BLOCKS = 1_000;
const TXS_PER_BLOCK = 5;
/** Every how many of the transactions pays the script that is watched. */
const OURS = 25;
const COIN_UNITS = 100_000_000n;
/** Pay-to-public-key-hash of a made-up hash. */
const script = (n: number): Uint8Array => Uint8Array.from([0x76, 0xa9, 20, ...new Uint8Array(20).fill(n), 0x88, 0xac]);

function fill({ daemon }: ChainServer): number {
  let ours = 0;
  for (let block = 0; block < BLOCKS; block++) {
    for (let n = 0; n < TXS_PER_BLOCK; n++) {
      const isOurs = (block * TXS_PER_BLOCK + n) % OURS === 0;
      const paid = daemon.chain.payFromFaucet(script(isOurs ? 1 : 2), COIN_UNITS);
      if (!paid.ok) throw new Error(`the faucet refused: ${paid.error.kind}`);
      if (isOurs) ours++;
    }
    daemon.chain.mine(1);
  }
  return ours;
}

/** How fast the index reads a chain it has not seen, over HTTP from a daemon on this machine. */
export const question: Question = {
  name: "chain",
  title: "Block index catching up, embedded chain over HTTP in the same process",
  async ask(say) {
    const clock = createSystemClock();
    const log = new SilentLog();
    const [user, password] = ["bench", "bench"];
    const chain = { coin: DEMO_COINS[0], clock, rng: createSystemRng(), verifier: createNativeVerifier(log), port: 0, user, password };
    const started = await startChainServer({ ...chain, blockTimeMs: null });
    if (!started.ok) throw new Error(started.error.detail);
    const server = started.value;
    const dir = await mkdtemp(join(tmpdir(), "swapnode-bench-"));
    const db = await openWorkerDatabase(join(dir, "swapnode.db"), SCHEMA);
    try {
      say(`making ${BLOCKS} blocks`);
      const ours = fill(server);
      const endpoint = parseDaemonUrl(`http://127.0.0.1:${server.port}/`, user, password);
      if (!endpoint.ok) throw new Error(endpoint.error.detail);
      const client = createDaemonClient(endpoint.value, clock);
      const startMs = performance.now();
      const index = await openUtxoRpcChain({
        ticker: "DOC",
        format: server.daemon.chain.params.template.format,
        rpc: client,
        store: openChainStore(db, "DOC"),
        clock,
        log,
      });
      await index.watchScript(script(1), 1);
      const seconds = (performance.now() - startMs) / 1_000;
      const found = index.outputs(script(1)).length;
      if (found !== ours) throw new Error(`the index found ${found} of ${ours} payments`);
      await index.close();
      client.close();
      const note = `${TXS_PER_BLOCK} transactions and the coinbase in each`;
      return [{ what: "blocks read and stored", value: server.daemon.chain.state.tip.height / seconds, unit: "/s", note }];
    } finally {
      await db.close();
      await server.close();
      await rm(dir, { recursive: true, force: true });
    }
  },
};
