import { expect, test } from "vitest";
import { parseBatchAnswer, parseSingleAnswer } from "../../src/adapters/jsonRpc/daemonAnswer.ts";
import {
  type AnswerParser,
  parseFeeField,
  parseFeeRate,
  parseFoundTxs,
  parseHash,
  parseHeader,
  parseMempool,
  parseNotarized,
  parseRawTx,
  parseScriptAddress,
  parseTxOut,
  parseUtxoScan,
} from "../../src/adapters/utxoRpc/answers.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ok } from "../../src/core/util/result.ts";

/** Damaged answers per reader and the seed they are drawn from. */
const RUNS = Number(process.env.FUZZ_RUNS ?? "2000");
const SEED = Number(process.env.FUZZ_SEED ?? "20260401");
/** One JSON-RPC answer may take so long to read. */
const SLOW_MS = 1_000;

const HASH = "ab".repeat(32);
const DECIMALS = 8;
const UNSPENT = { txid: HASH, vout: 1, scriptPubKey: "76a988ac", amount: 1.23456789, height: 7, coinbase: false };

const READERS: readonly (readonly [method: string, result: unknown, parse: AnswerParser<unknown>])[] = [
  ["getbestblockhash", HASH, parseHash],
  ["getblockheader", { hash: HASH, height: 5, time: 1_700_000_000, previousblockhash: HASH }, parseHeader],
  ["getrawtransaction", "00ff".repeat(20), parseRawTx],
  ["getrawmempool", [HASH, HASH], parseMempool],
  ["estimatesmartfee", { feerate: 1.5e-5, blocks: 2 }, (value) => parseFeeRate(value, DECIMALS)],
  ["getnetworkinfo", { relayfee: 0.00001 }, parseFeeField("relayfee", DECIMALS)],
  ["getinfo", { notarized: 12 }, parseNotarized],
  ["scantxoutset", { success: true, height: 9, bestblock: HASH, unspents: [UNSPENT] }, parseUtxoScan(DECIMALS)],
  ["gettxout", { coinbase: true }, parseTxOut],
  ["decodescript", { addresses: ["RXL3YXG2ceaB6C5hfJcN4fvmLH2C34knhA"] }, parseScriptAddress],
  ["searchrawtransactions", [{ hex: "00ff", blockhash: HASH }, { hex: "01" }], parseFoundTxs],
];

const PIECES = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "null",
  "true",
  "-1",
  "1e999",
  "0.1",
  '""',
  "[[[[",
  '"__proto__":',
  "9".repeat(400),
  "é",
];

function source(seed: number): (n: number) => number {
  const rng = seededRng(seed);
  return (n) => new DataView(rng.bytes(4).slice().buffer).getUint32(0) % n;
}

function mutate(text: string, pick: (n: number) => number): string {
  let out = text;
  for (let i = 1 + pick(4); i > 0; i--) {
    const at = pick(out.length + 1);
    const cut = pick(3) === 0 ? pick(20) : pick(2);
    out = out.slice(0, at) + (pick(4) === 0 ? "" : (PIECES[pick(PIECES.length)] ?? "")) + out.slice(at + cut);
  }
  return out;
}

test.each(READERS)(`%s: ${RUNS} damaged answers (seed ${SEED}) are read or refused, never thrown at`, (_method, result, parse) => {
  const pick = source(SEED);
  const answer = (status: number, text: string) => ok({ status, body: Buffer.from(text) });
  const read = (text: string): boolean => {
    const single = parseSingleAnswer(answer(200, text), 1);
    return single.ok && parse(single.value).ok;
  };
  const good = JSON.stringify({ result, error: null, id: 1 });
  expect(read(good)).toBe(true);
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    const text = mutate(good, pick);
    const startMs = performance.now();
    if (!read(text)) refused++;
    const batch = parseBatchAnswer(answer([200, 401, 404, 500][pick(4)] ?? 200, `[${text},${good}]`), 1, 2);
    if (batch !== "no_batches" && batch.length !== 2) throw new Error(`input ${i}: a batch of ${batch.length}`);
    if (performance.now() - startMs > SLOW_MS) throw new Error(`input ${i} took too long: ${text.slice(0, 300)}`);
  }
  expect(refused).toBeGreaterThan(RUNS / 10);
  expect(refused).toBeLessThan(RUNS);
});
