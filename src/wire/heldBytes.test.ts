import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { LineReader } from "../adapters/electrum/lineReader.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { HeldBytes } from "./heldBytes.ts";
import { WsFrameReader } from "./wsFrames.ts";

const PIECES = 300_000;
/** Each piece by itself takes some two hundred. */
const MOST_BYTES_A_PIECE = 50;

/** What is in use when all that is not has been let go of. */
function inUse(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The head of a text message of ten million bytes. */
const LONG_TEXT = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0x98, 0x96, 0x80]);

test.each([
  ["a line", () => new LineReader(10_000_000)],
  [
    "a WebSocket message",
    () => {
      const reader = new WsFrameReader(10_000_000);
      reader.push(LONG_TEXT);
      return reader;
    },
  ],
])("%s that comes a byte at a time takes little more room than its bytes", (_, open) => {
  const reader: { push(chunk: Buffer): unknown } = open();
  const before = inUse();
  for (let i = 0; i < PIECES; i++) reader.push(Buffer.from("A"));
  expect((inUse() - before) / PIECES).toBeLessThan(MOST_BYTES_A_PIECE);
  expect(reader.push(Buffer.from("A"))).toBeTruthy();
});

test("bytes come out as they came in, whatever is appended and dropped", () => {
  const rng = seededRng(7);
  const held = new HeldBytes();
  let expected = Buffer.alloc(0);
  for (let step = 0; step < 2_000; step++) {
    const [kind = 0, size = 0, scale = 0] = rng.bytes(3);
    const bytes = rng.bytes(size * (scale % 9 === 0 ? 400 : 1));
    if (kind % 2 === 0) {
      held.append(bytes);
      expected = Buffer.concat([expected, bytes]);
    } else {
      const count = Math.min(expected.length, kind % 3 === 0 ? expected.length : bytes.length);
      held.drop(count);
      expected = expected.subarray(count);
    }
    expect(held.length).toBe(expected.length);
    if (!held.view.equals(expected)) expect.fail(`other bytes at step ${step}`);
  }
});
