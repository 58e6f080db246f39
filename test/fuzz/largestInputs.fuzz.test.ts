import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/adapters/httpServer/limits.ts";
import { parseBatchAnswer, parseSingleAnswer } from "../../src/adapters/jsonRpc/daemonAnswer.ts";
import { parseRawBlock } from "../../src/adapters/utxoRpc/answers.ts";
import { MAX_BLOCK_BYTES, parseBlock } from "../../src/adapters/utxoRpc/parseBlock.ts";
import { MAX_FRAME_BYTES } from "../../src/core/gossip/frame.ts";
import { parseFrame } from "../../src/core/gossip/parseFrame.ts";
import { parseEnvelope } from "../../src/core/message/envelope.ts";
import { MAX_MESSAGE_BYTES } from "../../src/core/message/msgpackReader.ts";
import { parseOrderbookAnswer, parseSyncAnswer } from "../../src/core/message/orderbookAnswer.ts";
import { parseOrderMessage } from "../../src/core/message/orderMessage.ts";
import { parseSwapMessage } from "../../src/core/message/swapMessage.ts";
import { MAX_DECIMAL_CHARS, parseDecimal } from "../../src/core/money/rational.ts";
import { MAX_HEADERS, MAX_HEADERS_BYTES, parseHeaders } from "../../src/core/proof/blockHeader.ts";
import { concatBytes } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { parseJson } from "../../src/rpc/parseJson.ts";
import { EASY_RULES, mineHeader, mineHeaders } from "../fakes/mineHeaders.ts";
import { usedBytes } from "./support/fuzz.ts";

/** Bytes of the longest answer the daemon client takes, and of the longest body the HTTP server takes. */
const ANSWER_BYTES = 72_000_000;
const BODY_BYTES = DEFAULT_LIMITS.bodyBytes;

const repeated = (head: string, piece: string, tail: string, bytes: number): Buffer => {
  const room = Math.floor((bytes - head.length - tail.length) / piece.length) * piece.length;
  return Buffer.concat([Buffer.from(head), Buffer.alloc(room, piece), Buffer.from(tail)]);
};
/** A block that says it has so many transactions, each the same bytes, with a Merkle root that is wrong. */
function blockOf(tx: Uint8Array, count: number): Uint8Array {
  const out = new Uint8Array(80 + 5 + count * tx.length);
  out[80] = 0xfe;
  new DataView(out.buffer).setUint32(81, count, true);
  for (let i = 0; i < count; i++) out.set(tx, 85 + i * tx.length);
  return out;
}
const filled = (head: readonly number[], fill: number, bytes: number): Uint8Array => {
  const out = new Uint8Array(bytes).fill(fill);
  out.set(head);
  return out;
};
const answer = (body: Buffer) => ({ ok: true, value: { status: 200, body } }) as const;
/** Version 1, no inputs, no outputs: no chain takes it, and one parser of the family reads it. */
const EMPTY_TX = Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const MB = 1_000_000;

/** Decoder, input of the largest size that comes in, and bytes in use the outcome may hold per byte of it. */
const CASES: readonly (readonly [name: string, input: () => Uint8Array, perByte: number, decode: (bytes: Uint8Array) => unknown])[] = [
  ...['{"a":0},', "[],", "1,", "0.1,", '"",'].map(
    (piece) => [`a body of ${piece}`, () => repeated("[", piece, "0]", BODY_BYTES), 40, (b: Uint8Array) => parseJson(b)] as const,
  ),
  ...['{"a":0},', "[],", "1,", '"",', "["].map(
    (piece) =>
      [
        `a daemon's answer of ${piece}`,
        () => repeated('{"id":1,"error":null,"result":[', piece, "0]}", ANSWER_BYTES),
        0.1,
        (b: Uint8Array) => parseSingleAnswer(answer(Buffer.from(b.buffer, b.byteOffset, b.length)), 1),
      ] as const,
  ),
  [
    "a daemon's batch of []",
    () => repeated("[", "[],", "0]", ANSWER_BYTES),
    0.1,
    (b) => parseBatchAnswer(answer(Buffer.from(b.buffer, b.byteOffset, b.length)), 1, 50),
  ],
  [
    "a daemon's answer of a mempool as long as is read",
    () => repeated('{"id":1,"error":null,"result":[', `"${"ab".repeat(32)}",`, '""]}', 26 * MB),
    4,
    (b) => parseSingleAnswer(answer(Buffer.from(b.buffer, b.byteOffset, b.length)), 1),
  ],
  // Half for the bytes; the text, which may still be held by this test, counts as one.
  ["a raw block in hex", () => Buffer.alloc(2 * MAX_BLOCK_BYTES, "0"), 1.6, (b) => parseRawBlock(Buffer.from(b).toString("latin1"))],
  ["a block of empty transactions", () => blockOf(EMPTY_TX, 3_100_000), 0.1, (b) => parseBlock(b, { kind: "sapling" })],
  [
    "a transaction of empty outputs",
    () => filled([1, 0, 0, 0, 0, 0xfe, 0xa0, 0xbb, 0x0d, 0], 0, 4 * MB),
    40,
    (b) => parseTx(b, { kind: "sapling" }),
  ],
  [
    "headers, none of which follows another",
    () => new Uint8Array(MAX_HEADERS_BYTES),
    0.1,
    (b) => parseHeaders(b, { ...EASY_RULES, layouts: ["equihash", "plain", "auxpow", "progpow", "accumulator"] }),
  ],
  [
    "headers as many as are read",
    () => concatBytes(...mineHeaders(mineHeader({}), MAX_HEADERS).map((h) => h.raw)),
    15,
    (b) => parseHeaders(b, EASY_RULES),
  ],
  // Field 1 (subscriptions), 2 (messages), 3 (control), each an empty message again and again.
  ...[0x0a, 0x12, 0x1a].map(
    (field) =>
      [
        `a frame of empty fields ${field >> 3}`,
        () => Uint8Array.from({ length: MAX_FRAME_BYTES }, (_, i) => (i % 2 === 0 ? field : 0)),
        20,
        (b: Uint8Array) => parseFrame(b),
      ] as const,
  ),
  ...([parseEnvelope, parseOrderMessage, parseSwapMessage, parseOrderbookAnswer, parseSyncAnswer] as const).flatMap((parse) =>
    [0xc0, 0x90, 0x80, 0x91].map(
      (fill) =>
        [
          `${parse.name} of ${fill.toString(16)}`,
          () => filled([0xdd, 0, 0x0f, 0, 0], fill, MAX_MESSAGE_BYTES),
          20,
          (b: Uint8Array) => parse(b),
        ] as const,
    ),
  ),
  [
    "a decimal",
    () => Buffer.from(`1e${"9".repeat(3)}${"0".repeat(0)}`.padStart(MAX_DECIMAL_CHARS, "9")),
    40,
    (b) => parseDecimal(String(b)),
  ],
];

/** What measuring itself may move. */
const NOISE_BYTES = 2 * MB;

test.each(CASES)("%s, as large as it may be, leaves no more than its bound in memory", (_name, input, perByte, decode) => {
  const bytes = input();
  decode(bytes.subarray(0, Math.min(bytes.length, 1_000)));
  const before = usedBytes();
  const outcome: unknown = decode(bytes);
  const held = usedBytes() - before;
  expect(held).toBeLessThan(bytes.length * perByte + NOISE_BYTES);
  expect(outcome).toBeDefined();
});
