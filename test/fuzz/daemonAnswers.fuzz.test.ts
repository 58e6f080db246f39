import { expect, test } from "vitest";
import { parseBatchAnswer, parseSingleAnswer } from "../../src/adapters/jsonRpc/daemonAnswer.ts";
import {
  type AnswerParser,
  parseFeeField,
  parseFeeRate,
  parseFoundTxs,
  parseFullPeers,
  parseHash,
  parseHeader,
  parseMempool,
  parseNotarized,
  parseRawBlock,
  parseRawTx,
  parseScriptAddress,
  parseTxOut,
  parseUtxoScan,
} from "../../src/adapters/utxoRpc/answers.ts";
import { parseBlock } from "../../src/adapters/utxoRpc/parseBlock.ts";
import { parseAmount } from "../../src/chainIndex/coinAmount.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { ok } from "../../src/core/util/result.ts";
import { parseTx, serializeTx } from "../../src/core/utxo/txCodec.ts";
import { startScriptedChain } from "../contract/scriptedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { mutateText, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

/** One JSON-RPC answer may take so long to read. */
const SLOW_MS = 1_000;
/** Characters of a daemon's error that are kept. */
const MAX_MESSAGE = 300;

const HASH = "ab".repeat(32);
const DECIMALS = 8;
const FORMAT = { kind: "bitcoin" } as const;
const UNSPENT = { txid: HASH, vout: 1, scriptPubKey: "76a988ac", amount: 1.23456789, height: 7, coinbase: false };
const chain = startScriptedChain(1);
chain.pay(scriptNumber(1), 5_000n);
chain.mine();
const BLOCK = toHex(chain.daemon.rawBlock(2));
const TX = toHex(serializeTx(spendOf(FORMAT, 1, [{ txid: HASH, vout: 0, value: 20_000n }], scriptNumber(1))));

/** What the index reads a block for. */
const blockOfAnswer: AnswerParser<unknown> = (value) => {
  const raw = parseRawBlock(value);
  if (!raw.ok) return raw;
  const block = parseBlock(raw.value, FORMAT);
  return block.ok ? block : { ok: false, error: { detail: block.error.detail } };
};
const txOfAnswer: AnswerParser<unknown> = (value) => {
  const raw = parseRawTx(value);
  if (!raw.ok) return raw;
  const tx = parseTx(raw.value, FORMAT);
  return tx.ok ? tx : { ok: false, error: { detail: tx.error.kind } };
};

const READERS: readonly (readonly [method: string, result: unknown, parse: AnswerParser<unknown>])[] = [
  ["getbestblockhash", HASH, parseHash],
  ["getblockheader", { hash: HASH, height: 5, time: 1_700_000_000, previousblockhash: HASH }, parseHeader],
  ["getblock", BLOCK, blockOfAnswer],
  ["getrawtransaction", TX, txOfAnswer],
  ["getrawmempool", [HASH, HASH], parseMempool],
  ["estimatesmartfee", { feerate: 1.5e-5, blocks: 2 }, (value) => parseFeeRate(value, DECIMALS)],
  ["estimatefee", 0.00012, (value) => parseAmount(value, DECIMALS, "up")],
  ["getnetworkinfo", { relayfee: 0.00001 }, parseFeeField("relayfee", DECIMALS)],
  ["getinfo", { notarized: 12 }, parseNotarized],
  ["scantxoutset", { success: true, height: 9, bestblock: HASH, unspents: [UNSPENT] }, parseUtxoScan(DECIMALS)],
  ["gettxout", { coinbase: true }, parseTxOut],
  ["getpeerinfo", [{ id: 7, servicesnames: ["NETWORK", "WITNESS"] }, { id: 8 }], parseFullPeers],
  ["decodescript", { addresses: ["RXL3YXG2ceaB6C5hfJcN4fvmLH2C34knhA"] }, parseScriptAddress],
  ["searchrawtransactions", [{ hex: "00ff", blockhash: HASH }, { hex: "01" }], parseFoundTxs],
];

const answer = (status: number, text: string) => ok({ status, body: Buffer.from(text) });

test.each(READERS)(`%s: ${RUNS} damaged answers (seed ${SEED}) are read or refused, never thrown at`, (_method, result, parse) => {
  const pick = source(SEED);
  const memory = watchMemory();
  const read = (text: string): boolean => {
    const single = parseSingleAnswer(answer(200, text), 1);
    return single.ok && parse(single.value).ok;
  };
  const good = JSON.stringify({ result, error: null, id: 1 });
  expect(read(good)).toBe(true);
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const text = mutateText(good, pick);
    const startMs = performance.now();
    if (!read(text)) refused++;
    const batch = parseBatchAnswer(answer([200, 401, 404, 500][pick(4)] ?? 200, `[${text},${good}]`), 1, 2);
    if (batch !== "no_batches" && batch.length !== 2) throw new Error(`input ${i}: a batch of ${batch.length}`);
    if (performance.now() - startMs > SLOW_MS) throw new Error(`input ${i} took too long: ${text.slice(0, 300)}`);
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 10);
  expect(refused).toBeLessThan(RUNS);
});

test(`${RUNS} damaged refusals (seed ${SEED}) become a short error of a known kind`, () => {
  const pick = source(SEED);
  const memory = watchMemory();
  const good = JSON.stringify({ result: null, error: { code: -8, message: "Block height out of range" }, id: 1 });
  const kinds = new Map<string, number>();
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const read = parseSingleAnswer(answer([200, 403, 404, 500][pick(4)] ?? 500, mutateText(good, pick)), 1);
    if (read.ok) continue;
    kinds.set(read.error.kind, (kinds.get(read.error.kind) ?? 0) + 1);
    if (read.error.message.length > MAX_MESSAGE) throw new Error(`input ${i}: a message of ${read.error.message.length}`);
  }
  memory.check();
  expect([...kinds.keys()].filter((k) => !["rpc", "unreachable", "busy"].includes(k))).toEqual([]);
  expect(kinds.get("rpc")).toBeGreaterThan(0);
});
