import { expect, test } from "vitest";
import { toHex as quickHex } from "../../sim/native/toHex.ts";
import { parseRawBlock as parseRawBlockOnce } from "../../sim/pure/answers.ts";
import { messageId } from "../../sim/pure/messageId.ts";
import { parseBlock as parseBlockOnce } from "../../sim/pure/parseBlock.ts";
import { parseFrame as parseFrameOnce } from "../../sim/pure/parseFrame.ts";
import { rawTxid as rawTxidOnce, scriptHex as scriptHexOnce } from "../../sim/pure/rawTx.ts";
import { remembered } from "../../sim/pure/remembered.ts";
import { parseTx as parseTxOnce } from "../../sim/pure/txCodec.ts";
import { sharedVerifier } from "../../sim/world/sharedVerifier.ts";
import { parseRawBlock } from "../../src/adapters/utxoRpc/answers.ts";
import { parseBlock } from "../../src/adapters/utxoRpc/parseBlock.ts";
import { rawTxid, scriptHex } from "../../src/chainIndex/rawTx.ts";
import { encodeFrame } from "../../src/core/gossip/frame.ts";
import { messageId as realMessageId } from "../../src/core/gossip/messageId.ts";
import { parseFrame } from "../../src/core/gossip/parseFrame.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { BITCOIN_FORMAT, parseTx } from "../../src/core/utxo/txCodec.ts";

test("a verdict counts for its signature, digest and key together, and is worked out once", () => {
  let asked = 0;
  const verifier = sharedVerifier({ verify: (_signature, digest, key) => ++asked > 0 && digest[0] === key[0] });
  const [signature, one, two] = [Uint8Array.of(9), Uint8Array.of(1), Uint8Array.of(2)];
  const answers = [
    [one, one],
    [one, one],
    [two, one],
    [one, two],
    [two, two],
  ].map(([digest = one, key = one]) => verifier.verify(signature, digest, key));
  expect(answers).toEqual([true, true, false, false, true]);
  expect(asked).toBe(4);
});

test("what is worked out once for all nodes is what each would work out, also when it was forgotten meanwhile", () => {
  const frames = Array.from({ length: 5_000 }, (_, i) =>
    encodeFrame({ publish: [{ from: Uint8Array.of(1), data: Uint8Array.of(i, i >> 8), seqno: new Uint8Array(8).fill(i), topic: "t" }] }),
  );
  for (const frame of [...frames, ...frames]) expect(parseFrameOnce(frame)).toEqual(parseFrame(frame));
  const last = frames.at(-1) ?? new Uint8Array();
  expect(parseFrameOnce(last)).toBe(parseFrameOnce(last));
  const data = Uint8Array.of(5);
  for (const seqno of [undefined, new Uint8Array(8), new Uint8Array(8).fill(7)]) {
    for (let again = 0; again < 2; again++) expect(messageId(data, seqno)).toEqual(realMessageId(data, seqno));
  }
});

/** Bitcoin's first block. */
const BLOCK =
  "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c01" +
  "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000";

test("blocks and transactions read once for all nodes are what each would read, whoever asks how", () => {
  for (const value of [BLOCK, "zz", "", null]) expect(parseRawBlockOnce(value)).toEqual(parseRawBlock(value));
  const read = parseRawBlockOnce(BLOCK);
  if (!read.ok) throw new Error("not hex");
  expect(parseRawBlockOnce(`${BLOCK.slice(0, 9)}${BLOCK.slice(9)}`)).toBe(read);
  const formats = [BITCOIN_FORMAT, { kind: "sapling" }, { kind: "bitcoin", mweb: true }] as const;
  for (const format of [...formats, ...formats]) {
    for (const first of ["plain", "equihash"] as const)
      expect(parseBlockOnce(read.value, format, first)).toEqual(parseBlock(read.value, format, first));
  }
  const raw = fromHex(BLOCK.slice(162));
  for (const format of [...formats, ...formats]) expect(parseTxOnce(raw, format)).toEqual(parseTx(raw, format));
  expect(parseTxOnce(raw, { kind: "bitcoin" })).toBe(parseTxOnce(raw, { kind: "bitcoin" }));
  const tx = parseTx(raw, BITCOIN_FORMAT);
  if (!tx.ok) throw new Error("no transaction");
  for (let again = 0; again < 2; again++) {
    expect(rawTxidOnce(tx.value, raw)).toBe(rawTxid(tx.value, raw));
    for (const { script } of tx.value.outputs) expect(scriptHexOnce(script)).toBe(scriptHex(script));
  }
  expect(rawTxidOnce(tx.value, raw.slice(0, -1))).toBe(rawTxid(tx.value, raw.slice(0, -1)));
});

test("hex made by Node is hex made by the program, of a part of a buffer too", () => {
  const all = Uint8Array.from({ length: 300 }, (_, i) => i * 7);
  for (const part of [all, all.subarray(3, 40), all.subarray(5, 5)]) expect(quickHex(part)).toBe(toHex(part));
});

test("an answer is kept for as long as many others, and no longer than twice as many", () => {
  let worked = 0;
  const answer = remembered((bytes) => [++worked, bytes.length]);
  const first = Uint8Array.of(1);
  answer(first);
  for (let i = 0; i < 1_999; i++) answer(new Uint8Array(1));
  expect(answer(first)[0]).toBe(1);
  for (let i = 0; i < 4_000; i++) answer(new Uint8Array(1));
  expect(answer(first)[0]).toBeGreaterThan(1);
});
