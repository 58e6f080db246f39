import { expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const HOUR_MS = 3_600_000;
const LATE_MS = 9_900;
const HEADERS = ["blockchain.block.header", "blockchain.block.headers"];

test("where work decides, one server of three that gives the headers of its branch late delays a hundredth of all looks at most, and is followed once it has more", async () => {
  const w = await startElectrumChain(SEGWIT_COIN, 3);
  const rival = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  const late = new ElectrumServer(new ChainDaemon(rival, w.clock), w.clock);
  rival.payFromFaucet(scriptNumber(1), 200_000_000n);
  w.mine(40);
  rival.mine(30);
  w.replace(2, late);
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 10_000, costlyWork: 1n });
  await whileTimePasses(w, chain.refresh());
  late.faults.add({ kind: "slow", delayMs: LATE_MS, methods: HEADERS });
  const beganMs = w.clock.nowMs();
  let waitedMs = 0;
  for (let look = 0; w.clock.nowMs() < beganMs + 2 * HOUR_MS; look++) {
    // What was read of a branch is not read again: it goes on, as ours does.
    for (const on of look % 6 === 0 ? [w.chain, rival] : []) on.mine(1);
    const sinceMs = w.clock.nowMs();
    await whileTimePasses(w, chain.refresh());
    waitedMs += w.clock.nowMs() - sinceMs;
    await w.pass(10_000);
  }
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  expect(waitedMs).toBeGreaterThan(0);
  expect(waitedMs).toBeLessThan((w.clock.nowMs() - beganMs) / 100);
  rival.mine(20);
  // A clock that is set back makes nobody rest for longer; by more than two hours it would make the blocks come from the future.
  w.skewMs = -1.5 * HOUR_MS;
  for (let i = 0; i < 120 && chain.status().tip?.hash !== rival.state.tip.block.hash; i++) await w.pass(30_000);
  expect(chain.status().tip?.hash).toBe(rival.state.tip.block.hash);
  await chain.close();
  late.close();
  await w.close();
});

test("one server of three that gives the headers of its branch late and one by one holds up no look for as many calls", async () => {
  const oneHeader = (line: string): string => line.replace(/"hex":"([0-9a-f]{160})[0-9a-f]+"/, '"hex":"$1"');
  const w = await startElectrumChain(SEGWIT_COIN, 3, (line, server) => (server === 2 ? oneHeader(line) : line));
  const rival = new EmbeddedChain({ params: w.chain.params, clock: w.clock, rng: seededRng(1) });
  const late = new ElectrumServer(new ChainDaemon(rival, w.clock), w.clock);
  rival.payFromFaucet(scriptNumber(1), 200_000_000n);
  w.mine(60);
  rival.mine(50);
  w.replace(2, late);
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 10_000, costlyWork: 1n });
  late.faults.add({ kind: "slow", delayMs: LATE_MS, methods: HEADERS });
  let longestMs = 0;
  for (const untilMs = w.clock.nowMs() + HOUR_MS; w.clock.nowMs() < untilMs; ) {
    w.mine();
    const sinceMs = w.clock.nowMs();
    await whileTimePasses(w, chain.refresh());
    longestMs = Math.max(longestMs, w.clock.nowMs() - sinceMs);
    await w.pass(60_000);
  }
  expect(w.askedOf(2)).toContain("blockchain.block.headers");
  expect(longestMs).toBeLessThan(60_000);
  expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
  await chain.close();
  late.close();
  await w.close();
});
