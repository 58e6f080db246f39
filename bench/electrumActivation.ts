import { createNativeVerifier } from "../src/adapters/system/nativeVerifier.ts";
import { createSystemClock } from "../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../src/adapters/system/systemRng.ts";
import { type ChainServer, startChainServer } from "../src/chain/startChainServer.ts";
import { DEMO_COINS } from "../src/devnet/demoCoins.ts";
import { SilentLog } from "../test/fakes/silentLog.ts";
import { type LoneNode, startLoneNode } from "./support/loneNode.ts";
import { processMemory } from "./support/processMemory.ts";
import type { Question } from "./support/question.ts";

const COINS = 14;
const SERVERS = 3;
const BLOCKS = 1_000;
/** What starting and enabling throw away is collected by then, mostly. */
const SETTLE_MS = 10_000;
const tickers = Array.from({ length: COINS }, (_, i) => `COIN${i + 1}`);

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function startChain(coin: string): Promise<ChainServer> {
  const started = await startChainServer({
    ...{ coin: { ...DEMO_COINS[0], coin, asset: coin, fname: coin }, clock: createSystemClock(), rng: createSystemRng() },
    ...{ verifier: createNativeVerifier(new SilentLog()), port: 0, user: "bench", password: "bench", blockTimeMs: null },
    ...{ initialBlocks: BLOCKS, electrumPorts: Array.from({ length: SERVERS }, () => 0) },
  });
  if (!started.ok) throw new Error(started.error.detail);
  return started.value;
}

/** Seconds until every coin has answered with its balance, all asked for at once. */
async function enableAll(node: LoneNode, chains: ReadonlyMap<string, ChainServer>): Promise<number> {
  const startMs = performance.now();
  const replies = [...chains].map(([coin, { electrum }]) =>
    node.rpc.call("electrum", { coin, servers: electrum.map(({ port }) => ({ url: `127.0.0.1:${port}` })) }),
  );
  await Promise.all(replies);
  return (performance.now() - startMs) / 1_000;
}

async function callsOf(node: LoneNode): Promise<number> {
  let calls = 0;
  for (const coin of tickers) {
    const { result } = await node.rpc.call("electrum_servers", { mmrpc: "2.0", id: 1, params: { coin } });
    for (const server of (result as { servers: { calls: number }[] }).servers) calls += server.calls;
  }
  return calls;
}

/** How fast a wallet of many coins is there without any daemon. */
export const question: Question = {
  name: "electrum",
  title: "Coins enabled in parallel through Electrum servers on this machine",
  recorded: "KDF users report some 20 s for 14 coins, one by one",
  async ask(say) {
    say(`making ${COINS} chains of ${BLOCKS} blocks with ${SERVERS} servers each`);
    const chains = new Map<string, ChainServer>();
    let node: LoneNode | null = null;
    try {
      for (const coin of tickers) chains.set(coin, await startChain(coin));
      node = await startLoneNode({ program: "checkout", isSeed: true, tickers });
      await later(SETTLE_MS);
      const before = processMemory(node.pid).privateMib;
      say("enabling them");
      const first = await enableAll(node, chains);
      const calls = await callsOf(node);
      await later(SETTLE_MS);
      const perCoin = (processMemory(node.pid).privateMib - before) / COINS;
      for (const coin of tickers) await node.rpc.call("disable_coin", { coin });
      const again = await enableAll(node, chains);
      return [
        { what: `${COINS} coins, never enabled before`, value: first, unit: "s", aim: { atMost: 2 } },
        { what: `${COINS} coins, known before`, value: again, unit: "s", aim: { atMost: 2 } },
        { what: "calls a coin, over all servers", value: calls / COINS, unit: "", note: "until its balance was there" },
        { what: "private memory a coin", value: perCoin, unit: "MiB", note: "what the program loads for the first included" },
      ];
    } finally {
      await node?.stop();
      for (const chain of chains.values()) await chain.close();
    }
  },
};
