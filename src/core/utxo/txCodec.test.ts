import { Transaction } from "bitcoinjs-lib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chainTxs, kdfFacts, recordedSwaps } from "../../../test/vectors/utxo/utxoVectors.ts";
import { concatBytes, fromHex, toHex } from "../util/bytes.ts";
import type { Tx } from "./tx.ts";
import { MAX_TX_BYTES, parseTx, parseTxAt, serializeTx, type TxFormat, txid, txWeight, vsize } from "./txCodec.ts";

const BITCOIN: TxFormat = { kind: "bitcoin" };
const SAPLING: TxFormat = { kind: "sapling" };

function parsed(hex: string, format: TxFormat = BITCOIN): Tx {
  const tx = parseTx(fromHex(hex), format);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
}

const bytes = (max: number) => fc.uint8Array({ maxLength: max });
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const anyInput = fc.record({
  txid: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex),
  vout: u32,
  scriptSig: bytes(300),
  sequence: u32,
  witness: fc.array(bytes(80), { maxLength: 3 }),
});
const anyOutput = fc.record({ value: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), script: bytes(300) });
const anyTx = fc.record({
  version: fc.integer({ min: 0, max: 0x7fffffff }),
  inputs: fc.array(anyInput, { minLength: 1, maxLength: 4 }),
  outputs: fc.array(anyOutput, { maxLength: 4 }),
  lockTime: u32,
});

test("every recorded swap transaction parses, gives back its bytes and has the recorded id", () => {
  for (const swap of recordedSwaps) {
    for (const { hex, txid: id } of [swap.fee, swap.makerPayment, swap.takerPayment, swap.takerPaymentSpend, swap.makerPaymentSpend]) {
      expect(toHex(serializeTx(parsed(hex)))).toBe(hex);
      expect(txid(parsed(hex))).toBe(id);
    }
  }
});

test("Sapling v4 transactions of the Komodo family round-trip and have the ids their chain gave", () => {
  const { fee, sha256Swap } = kdfFacts;
  for (const { hex, txid: id } of [fee, sha256Swap.takerPayment, chainTxs.zip243]) {
    expect(toHex(serializeTx(parsed(hex, SAPLING)))).toBe(hex);
    expect(txid(parsed(hex, SAPLING))).toBe(id);
  }
});

test("Litecoin transactions have the ids and weights of litecoind, the block-final one included", () => {
  const { litecoinHogEx, litecoinWitness, litecoinMixed } = chainTxs;
  for (const { hex, txid: id, weight } of [litecoinHogEx, litecoinWitness, litecoinMixed]) {
    const tx = parsed(hex, { kind: "bitcoin", mweb: true });
    expect([toHex(serializeTx(tx)), txid(tx), txWeight(tx)]).toEqual([hex, id, weight]);
  }
  expect(vsize(parsed(litecoinHogEx.hex, { kind: "bitcoin", mweb: true }))).toBe(94);
});

test("Litecoin's ways into the extension block and out of it have litecoind's ids, in the mempool and in the block", () => {
  const mweb: TxFormat = { kind: "bitcoin", mweb: true };
  const { litecoinPegIn, litecoinPegInMined, litecoinPegOut, litecoinOnlyExtension } = chainTxs;
  for (const { hex, txid: id } of [litecoinPegIn, litecoinPegInMined, litecoinPegOut])
    expect([toHex(serializeTx(parsed(hex, mweb))), txid(parsed(hex, mweb))]).toEqual([hex, id]);
  const [waiting, mined] = [parsed(litecoinPegIn.hex, mweb), parsed(litecoinPegInMined.hex, mweb)];
  expect([waiting.inputs, waiting.outputs, txWeight(waiting)]).toEqual([mined.inputs, mined.outputs, txWeight(mined)]);
  expect([waiting.hogEx, parsed(litecoinPegOut.hex, mweb).hogEx]).toEqual([undefined, true]);
  // Its id is of another kind: whoever reads it would find another one than he was told.
  expect(parseTx(fromHex(litecoinOnlyExtension.hex), mweb).ok).toBe(false);
});

test("the extension-block flag is refused where the format does not have it", () => {
  expect(parseTx(fromHex(chainTxs.litecoinHogEx.hex), BITCOIN)).toEqual({
    ok: false,
    error: { kind: "BadTx", detail: "unknown transaction flag" },
  });
});

test("a typed Dash transaction keeps its payload, and only its own format reads it", () => {
  const { hex, txid: id } = chainTxs.dashCoinbase;
  const tx = parsed(hex, { kind: "bitcoin", specialTx: true });
  expect([toHex(serializeTx(tx)), txid(tx), tx.extraPayload?.length]).toEqual([hex, id, 0x46]);
  expect(parseTx(fromHex(hex), BITCOIN).ok).toBe(false);
});

test.each<TxFormat>([
  { kind: "bitcoin", specialTx: true },
  { kind: "bitcoin", specialTx: "version 3" },
])("a typed transaction without inputs, as Dash takes coins back from its platform by, is no witness form: %o", (format) => {
  const { hex, txid: id } = chainTxs.dashUnlock;
  const tx = parsed(hex, format);
  expect([toHex(serializeTx(tx)), txid(tx), tx.inputs.length, tx.outputs.length]).toEqual([hex, id, 0, 1]);
  expect(tx.extraPayload?.length).toBe(145);
});

test("shielded parts are carried as they are, whatever their number", () => {
  const transparent = chainTxs.zip243.hex.slice(0, -6);
  const spend = "11".repeat(384);
  const output = "22".repeat(948);
  const joinSplit = "33".repeat(1698);
  const cases = [
    { tail: `01${spend}0000${"44".repeat(64)}` },
    { tail: `0002${output}${output}00${"44".repeat(64)}` },
    { tail: `000001${joinSplit}${"55".repeat(96)}` },
    { tail: `01${spend}01${output}01${joinSplit}${"55".repeat(96)}${"44".repeat(64)}` },
  ];
  for (const { tail } of cases) {
    const tx = parsed(transparent + tail, SAPLING);
    expect(toHex(tx.sapling?.shieldedTail ?? new Uint8Array(0))).toBe(tail);
    expect(toHex(serializeTx(tx))).toBe(transparent + tail);
    expect(parseTx(fromHex((transparent + tail).slice(0, -2)), SAPLING).ok).toBe(false);
  }
});

test("old transactions of a Sapling chain parse by their header: v1 plain, v2 and v3 with JoinSplits", () => {
  const plain = recordedSwaps[0]?.fee.hex ?? "";
  const v2 = `02000000${plain.slice(8)}`;
  const joinSplit = `01${"33".repeat(1802)}${"55".repeat(96)}`;
  expect(toHex(serializeTx(parsed(plain, SAPLING)))).toBe(plain);
  for (const hex of [
    `${v2}00`,
    v2 + joinSplit,
    `030000807082c403${plain.slice(8)}0000000000`,
    `030000807082c403${plain.slice(8)}07000000${joinSplit}`,
  ]) {
    expect(toHex(serializeTx(parsed(hex, SAPLING)))).toBe(hex);
  }
  expect(parseTx(fromHex(`050000800a27a726${plain.slice(8)}`), SAPLING).ok).toBe(false);
});

test("any transaction survives the round trip, and bitcoinjs-lib agrees on id and weight", () => {
  fc.assert(
    fc.property(anyTx, (tx) => {
      const raw = serializeTx(tx);
      const back = parsed(toHex(raw));
      expect(back).toEqual(tx);
      if (tx.outputs.every((o) => o.value <= 21n * 10n ** 14n)) {
        const oracle = Transaction.fromBuffer(raw);
        expect([oracle.getId(), oracle.weight()]).toEqual([txid(tx), txWeight(tx)]);
      }
    }),
    { numRuns: 200 },
  );
});

test("transactions of a block are read one after the other at their offsets", () => {
  const [a, b] = [fromHex(recordedSwaps[0]?.fee.hex ?? ""), fromHex(chainTxs.litecoinWitness.hex)];
  const block = concatBytes(Uint8Array.of(9, 9), a, b);
  const first = parseTxAt(block, 2, BITCOIN);
  if (!first.ok) throw new Error(first.error.detail);
  expect(first.value.end).toBe(2 + a.length);
  const second = parseTxAt(block, first.value.end, BITCOIN);
  expect(second.ok && [txid(second.value.tx), second.value.end]).toEqual([chainTxs.litecoinWitness.txid, block.length]);
  expect(parseTxAt(block, block.length + 1, BITCOIN).ok).toBe(false);
});

test("malformed bytes are refused with the reason", () => {
  const good = recordedSwaps[0]?.fee.hex ?? "";
  const detail = (hex: string, format: TxFormat = BITCOIN) => {
    const tx = parseTx(fromHex(hex), format);
    return tx.ok ? "accepted" : tx.error.detail;
  };
  expect(detail("")).toBe("unexpected end of data");
  expect(detail(good.slice(0, -2))).toBe("unexpected end of data");
  expect(detail(`${good}00`)).toBe("data after the transaction");
  expect(detail(`01000000fd0100${good.slice(10)}`)).toBe("count not in its shortest form");
  expect(detail(`01000000fe10270000${good.slice(10)}`)).toBe("count not in its shortest form");
  expect(detail(`01000000ff0100000000000000${good.slice(10)}`)).toBe("count too large");
  expect(detail("01000000fcffff")).toBe("count larger than the data");
  expect(detail(`01000000000102${"00".repeat(60)}`)).toBe("count larger than the data");
  const witness = chainTxs.litecoinWitness.hex;
  expect(detail(`${witness.slice(0, witness.indexOf("0247"))}00145d2400`)).toBe("witness flag without a witness");
  expect(detail(good.replace("6246000000000000", "62460000000000ff"))).toBe("negative output value");
  expect(parseTx(new Uint8Array(MAX_TX_BYTES + 1), BITCOIN)).toMatchObject({ ok: false, error: { detail: "transaction too large" } });
});
