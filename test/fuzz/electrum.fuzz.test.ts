import { expect, test } from "vitest";
import {
  type AnswerParser,
  parseBlockHash,
  parseBranch,
  parseDepth,
  parseFeePerKb,
  parseHeaderRun,
  parseHistogram,
  parseHistory,
  parseOneHeader,
  parsePlacedId,
  parsePlacedTx,
  parseRawTx,
  parseStatus,
  parseTip,
  parseTxid,
  parseVersion,
} from "../../src/adapters/electrum/answers.ts";
import { LineReader } from "../../src/adapters/electrum/lineReader.ts";
import { parseServerUrl } from "../../src/adapters/electrum/serverAddress.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { serializeHeader } from "../../src/chain/block.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { serializeTx, txid } from "../../src/core/utxo/txCodec.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { EASY_RULES } from "../fakes/mineHeaders.ts";
import { mutateText, RUNS, SEED, source, usedBytes, watchMemory } from "./support/fuzz.ts";

const HASH = "ab".repeat(32);
const world = await startElectrumChain(SEGWIT_COIN, 1);
const headers = Array.from({ length: 3 }, (_, i) => {
  const entry = world.chain.state.at(5 + i);
  if (!entry) throw new Error("no block");
  return toHex(serializeHeader(entry.block.header));
});
const TX = toHex(serializeTx(spendOf(world.format, 1, [{ txid: HASH, vout: 0, value: 20_000n }], scriptNumber(1))));

const READERS: readonly (readonly [what: string, result: unknown, parse: AnswerParser<unknown>])[] = [
  ["server.version", ["ElectrumX 1.15.0", "1.4"], parseVersion],
  ["headers.subscribe", { height: 5, hex: headers[0] }, (v) => parseTip(v, EASY_RULES)],
  ["block.header", headers[0], (v) => parseOneHeader(v, EASY_RULES)],
  ["block.headers", { count: 3, max: 2016, hex: headers.join("") }, (v) => parseHeaderRun(v, EASY_RULES, 3)],
  ["scripthash.subscribe", HASH, parseStatus],
  [
    "scripthash.get_history",
    [
      { tx_hash: HASH, height: 7 },
      { tx_hash: "cd".repeat(32), height: -1, fee: 200 },
    ],
    parseHistory,
  ],
  ["transaction.get", TX, parseRawTx],
  ["transaction.get, with details", { confirmations: 1, rawconfirmations: 3, hex: TX }, parseDepth],
  ["transaction.get, with its block", { blockhash: HASH, confirmations: 1 }, parseBlockHash],
  ["transaction.broadcast", HASH, parseTxid],
  ["transaction.get_merkle", { block_height: 5, merkle: [HASH, HASH], pos: 2 }, parseBranch],
  ["transaction.id_from_pos", { tx_hash: HASH, merkle: [HASH] }, parsePlacedTx],
  ["transaction.id_from_pos, without a branch", { tx_id: HASH }, parsePlacedId],
  ["estimatefee", 0.00012, (v) => parseFeePerKb(v, 8)],
  [
    "get_fee_histogram",
    [
      [12.5, 128_812],
      [4.9, 92_524],
    ],
    parseHistogram,
  ],
];

test.each(READERS)(`%s: ${RUNS} damaged answers (seed ${SEED}) are read or refused, never thrown at`, (_what, result, parse) => {
  const pick = source(SEED);
  const memory = watchMemory();
  const good = JSON.stringify(result);
  const read = (text: string): boolean => {
    try {
      return parse(JSON.parse(text)).ok;
    } catch (cause) {
      if (cause instanceof SyntaxError) return false;
      throw cause;
    }
  };
  expect(read(good)).toBe(true);
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    if (!read(mutateText(good, pick))) refused++;
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 20);
});

test(`${RUNS} addresses of servers are read or refused (seed ${SEED})`, () => {
  const pick = source(SEED);
  for (let i = 0; i < RUNS; i++) {
    const read = parseServerUrl(mutateText(["electrum1.cipig.net:10001", "[2001:db8::1]:50002"][pick(2)] ?? "", pick));
    if (read.ok) expect([read.value.port > 0, read.value.port < 65_536, read.value.host.includes("/")]).toEqual([true, true, false]);
  }
});

test(`lines come out the same however they are cut, and a longer one than allowed ends the reading (seed ${SEED})`, () => {
  const pick = source(SEED);
  for (let i = 0; i < RUNS / 10; i++) {
    const lines = Array.from({ length: pick(6) }, () => "x".repeat(pick(50)));
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""), "utf8");
    const reader = new LineReader(49);
    const out: string[] = [];
    for (let at = 0, step = 0; at < bytes.length; at += step) {
      step = 1 + pick(30);
      out.push(...(reader.push(bytes.subarray(at, at + step)) ?? expect.fail("too long")));
    }
    expect(out).toEqual(lines);
    expect(new LineReader(49).push(Buffer.from("x".repeat(50 + pick(9)), "utf8"))).toBeNull();
    expect(new LineReader(49).push(Buffer.from(`${"x".repeat(50)}\n`, "utf8"))).toBeNull();
  }
});

/** Worlds at least; more as long as they fit. */
const WORLDS = 24;
const WORLD_TIME_MS = 25_000;
/** What the worlds may leave behind: less than two of them hold while they live. */
const WORLD_SLACK_BYTES = 24_000_000;

test(`one of three servers that says anything at all neither breaks nor hangs nor fools the index (seed ${SEED})`, {
  timeout: 180_000,
}, async () => {
  const pick = source(SEED + 2);
  const startMs = performance.now();
  let damaged = 0;
  let before = 0;
  let done = 0;
  for (; done < WORLDS || (damaged < RUNS && performance.now() - startMs < WORLD_TIME_MS); done++) {
    if (done === WORLDS / 2) before = usedBytes();
    const all = pick(4) === 0;
    let broken = true;
    const w = await startElectrumChain(SEGWIT_COIN, 3, (line, server) => {
      if (!broken || (server !== 0 && !all) || pick(4) !== 0) return line;
      damaged++;
      return pick(6) === 0 ? null : mutateText(line, pick);
    });
    const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
    const chain = await w.openElectrum(store, { timeoutMs: 2_000 });
    const script = scriptNumber(1);
    const watched = chain.watchScript(script, 0).catch((cause: unknown) => cause);
    const paid = [w.pay(script, 5_000_000n)];
    for (let i = 0; i < 5; i++) {
      if (pick(2) === 0) paid.push(w.pay(script, 5_000_000n));
      if (pick(2) === 0) w.mine(1 + pick(2));
      if (pick(5) === 0) w.reorg(1, 2);
      await w.pass(1_000 * (1 + pick(30)));
      const sent = chain.broadcast(serializeTx(spendOf(w.format, 1, [{ txid: "11".repeat(32), vout: i, value: 20_000n }], script)));
      await w.pass(20_000);
      await sent;
      // Whatever it is told: what it shows has been there.
      for (const seen of chain.outputs(script)) expect(paid).toContain(seen.txid);
    }
    broken = false;
    await w.pass(400_000);
    w.mine();
    await w.pass(100_000);
    expect(chain.status(), `seed ${SEED} world ${done}`).toMatchObject({ state: "ready", error: null });
    expect(chain.status().tip?.hash).toBe(w.blocks().at(-1)?.hash);
    expect(await watched).toBeUndefined();
    const mined = w.blocks().flatMap((b) => b.txs.map(txid));
    expect(
      chain
        .outputs(script)
        .map((o) => o.txid)
        .sort(),
    ).toEqual(paid.filter((id) => mined.includes(id)).sort());
    await chain.close();
    await w.close();
  }
  process.stdout.write(`electrum: seed ${SEED}, ${done} worlds, ${damaged} lines changed\n`);
  expect(usedBytes() - before).toBeLessThan(WORLD_SLACK_BYTES);
});
