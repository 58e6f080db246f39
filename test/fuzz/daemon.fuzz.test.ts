import { expect, test } from "vitest";
import { parseSingleAnswer } from "../../src/adapters/jsonRpc/daemonAnswer.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { parseBlock } from "../../src/adapters/utxoRpc/parseBlock.ts";
import { openUtxoRpcChain } from "../../src/adapters/utxoRpc/utxoRpcChain.ts";
import { serializeTx } from "../../src/core/utxo/txCodec.ts";
import type { DaemonRpc } from "../../src/ports/daemonRpc.ts";
import { startScriptedChain } from "../contract/scriptedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { quietLog } from "../fakes/quietLog.ts";
import { mutateText, type Pick, RUNS, SEED, source, usedBytes, watchMemory } from "./support/fuzz.ts";

/** Worlds in the index test at least; more as long as they fit. */
const WORLDS = 60;
const WORLD_TIME_MS = 25_000;

test(`${RUNS} damaged blocks are read or refused, never thrown on (seed ${SEED})`, { timeout: 300_000 }, () => {
  const pick = source(SEED);
  const h = startScriptedChain(1);
  h.pay(scriptNumber(1), 5_000n);
  h.pay(scriptNumber(2), 6_000n);
  h.mine();
  const good = h.daemon.rawBlock(2);
  const memory = watchMemory();
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const bytes = Uint8Array.from(pick(10) === 0 ? good.subarray(0, pick(good.length)) : good);
    for (let n = 1 + pick(4); n > 0; n--) bytes[pick(bytes.length + 1)] = pick(256);
    if (pick(3) === 0 && bytes.length > 82) bytes[80 + pick(3)] = 0xfd + pick(3);
    const format =
      pick(4) === 0 ? ({ kind: "sapling" } as const) : ({ kind: "bitcoin", mweb: pick(2) === 0, posTime: pick(5) === 0 } as const);
    if (!parseBlock(bytes, format).ok) refused++;
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 2);
});

const JUNK: readonly unknown[] = [
  null,
  undefined,
  true,
  0,
  -1,
  1e300,
  Number.NaN,
  "",
  "zz",
  "ab".repeat(32),
  "00".repeat(200),
  [],
  [null],
  ["ab".repeat(32)],
  {},
  { height: -5 },
  { hash: "ab".repeat(32), height: 3, time: 1, previousblockhash: "cd".repeat(32) },
  { success: true, height: 1, bestblock: "ab".repeat(32), unspents: [{}] },
  { relayfee: "NaN", feerate: [] },
];

type Answer = Awaited<ReturnType<DaemonRpc["call"]>>;

/** The answer as the daemon would have sent it over HTTP, damaged, as the JSON-RPC client reads it. */
function damaged(answer: Answer, pick: Pick): Answer {
  const error = answer.ok ? null : { code: "code" in answer.error ? answer.error.code : -1, message: answer.error.message };
  const text = mutateText(JSON.stringify({ result: answer.ok ? answer.value : null, error, id: 1 }), pick);
  return parseSingleAnswer({ ok: true, value: { status: answer.ok ? 200 : 500, body: Buffer.from(text) } }, 1);
}

/** What hundreds of worlds may leave behind: less than two of them hold while they live. */
const WORLD_SLACK_BYTES = 16_000_000;

test(`a daemon that answers anything at all neither breaks nor hangs the index (seed ${SEED})`, { timeout: 120_000 }, async () => {
  const pick = source(SEED + 1);
  const startMs = performance.now();
  let mutated = 0;
  let world = 0;
  let before = 0;
  for (; world < WORLDS || (mutated < RUNS && performance.now() - startMs < WORLD_TIME_MS); world++) {
    if (world === WORLDS / 2) before = usedBytes();
    const h = startScriptedChain(25);
    h.daemon.scansUtxoSet = pick(2) === 0;
    h.daemon.notarized = pick(2) === 0 ? 5 : null;
    const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
    const { rpc, format, clock } = h;
    const chain = await openUtxoRpcChain({ ticker: "TST", format, rpc, clock, store, log: quietLog, options: { readWholeUpTo: 10 } });
    const methods = [
      "getbestblockhash",
      "getblockhash",
      "getblockheader",
      "getblock",
      "getrawmempool",
      "getrawtransaction",
      "gettxout",
      "getnetworkinfo",
      "getinfo",
      "getmempoolinfo",
      "scantxoutset",
      "sendrawtransaction",
      "estimatesmartfee",
    ];
    let broken = true;
    for (const method of methods) {
      rpc.twist.set(method, (answer) => {
        if (!broken || pick(4) !== 0) return answer;
        mutated++;
        if (pick(2) === 0) return damaged(answer, pick);
        const code = [-1, -5, -8, -28, -32601, -32603][pick(6)] ?? -1;
        return pick(3) === 0 ? { ok: false, error: { kind: "rpc", code, message: "x" } } : { ok: true, value: JUNK[pick(JUNK.length)] };
      });
    }
    const script = scriptNumber(1);
    const watched = chain.watchScript(script, pick(2)).catch((cause: unknown) => cause);
    h.pay(script, 5_000n);
    for (let i = 0; i < 10; i++) {
      if (pick(2) === 0) h.mine(1 + pick(2));
      if (pick(5) === 0) h.reorg(1, 2);
      await clock.advance(1_000 * (1 + pick(30)));
      const sent = chain.broadcast(serializeTx(spendOf(format, 1, [{ txid: "11".repeat(32), vout: i, value: 20_000n }], script)));
      await clock.advance(20_000);
      await sent;
      chain.status();
    }
    broken = false;
    await clock.advance(100_000);
    h.mine();
    await clock.advance(100_000);
    expect(chain.status(), `seed ${SEED} world ${world}`).toMatchObject({ state: "ready", error: null });
    expect(chain.status().tip?.hash).toBe(h.daemon.blocks.at(-1)?.hash);
    expect(await watched).toBeUndefined();
    expect(chain.outputs(script).length).toBeGreaterThan(0);
    await chain.close();
  }
  process.stdout.write(`block index: seed ${SEED}, ${world} worlds, ${mutated} answers changed\n`);
  expect(usedBytes() - before).toBeLessThan(WORLD_SLACK_BYTES);
});
