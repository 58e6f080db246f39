import { expect, test } from "vitest";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { FrameReader } from "./frameReader.ts";
import { withLengthPrefix } from "./lengthPrefix.ts";
import type { Stream } from "./libp2pTypes.ts";
import { TurnQueue } from "./turnQueue.ts";

/** The inbound side of a stream as the library has it: events, and a pause that keeps what comes. */
class FakeStream {
  readStatus: "readable" | "paused" = "readable";
  /** Paused in the middle of resuming: the library then keeps what comes and still asks the peer for more. */
  isTorn = false;
  #listener: (event: { data: Uint8Array }) => void = () => undefined;
  #kept: Uint8Array[] = [];
  addEventListener(_: string, listener: (event: { data: Uint8Array }) => void): void {
    this.#listener = listener;
  }
  pause(): void {
    this.readStatus = "paused";
  }
  resume(): void {
    this.readStatus = "readable";
    for (const data of this.#kept.splice(0)) this.arrive(data);
    this.isTorn ||= this.#isPaused();
  }
  #isPaused(): boolean {
    return this.readStatus === "paused";
  }
  arrive(data: Uint8Array): void {
    if (this.#isPaused()) this.#kept.push(data);
    else this.#listener({ data });
  }
}

function setUp() {
  const clock = new VirtualClock();
  const turns = new TurnQueue(clock);
  const read = (name: string, seen: string[], isHeld = false) => {
    const stream = new FakeStream();
    const broken: unknown[] = [];
    const reader = new FrameReader(stream as unknown as Stream, isHeld, {
      turns,
      onFrame: (frame) => seen.push(`${name}${frame[0]}`),
      onBroken: (cause) => broken.push(cause),
    });
    return { stream, reader, broken };
  };
  return { clock, read };
}

/** Frames of `size` bytes, numbered from `first` in their first byte. */
const frames = (count: number, size: number, first = 0): Uint8Array =>
  withLengthPrefix(Array.from({ length: count }, (_, n) => new Uint8Array(size).fill(first + n)));

test("frames come whole and in order however the bytes were cut", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  const { stream } = read("a", seen);
  const bytes = frames(20, 700);
  for (let at = 0; at < bytes.length; at += 333) stream.arrive(bytes.subarray(at, at + 333));
  await clock.advance(10);
  expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => `a${n}`));
});

test("a flood is worked off 16 KiB at a time, in rotation with the frames of other peers", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  read("flood", seen).stream.arrive(frames(100, 8_000));
  read("calm", seen).stream.arrive(frames(1, 100));
  let seenByTimer: readonly string[] = [];
  clock.after(0, () => {
    seenByTimer = [...seen];
  });
  await clock.advance(10);
  // Two whole frames fit into a piece; the rest of the third comes with the flood's next turn.
  expect(seenByTimer).toEqual(["flood0", "flood1"]);
  expect(seen.indexOf("calm0")).toBe(2);
  expect(seen).toHaveLength(101);
});

test("with 256 KiB waiting the peer has to wait, and goes on when half of it is done", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  const { stream } = read("a", seen, true);
  stream.arrive(frames(30, 8_000));
  expect(stream.readStatus).toBe("readable");
  stream.arrive(frames(5, 8_000, 30));
  expect(stream.readStatus).toBe("paused");
  stream.arrive(frames(5, 8_000, 35));
  await clock.advance(10);
  expect(seen).toEqual([]);
});

test("what comes on resuming may be too much again: then the peer really has to wait", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  const { stream, reader } = read("a", seen, true);
  for (let n = 0; n < 200; n += 10) stream.arrive(frames(10, 8_000, n));
  reader.hold(false);
  await clock.advance(10);
  expect(stream.isTorn).toBe(false);
  expect(seen).toEqual(Array.from({ length: 200 }, (_, n) => `a${n}`));
});

test("a held peer's frames wait and nothing is lost or reordered when it may go on", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  const { stream, reader } = read("a", seen);
  stream.arrive(frames(10, 8_000));
  reader.hold(true);
  await clock.advance(10);
  expect(seen).toEqual([]);
  for (let n = 10; n < 100; n += 10) stream.arrive(frames(10, 8_000, n));
  expect(stream.readStatus).toBe("paused");
  reader.hold(false);
  await clock.advance(10);
  expect(stream.readStatus).toBe("readable");
  expect(seen).toEqual(Array.from({ length: 100 }, (_, n) => `a${n}`));
});

test("a length above the limit breaks the stream, after the frames before it", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  const { stream, broken } = read("a", seen);
  stream.arrive(frames(2, 10));
  stream.arrive(Uint8Array.of(0xff, 0xff, 0xff, 0x7f));
  await clock.advance(10);
  expect(seen).toEqual(["a0", "a1"]);
  expect(broken).toHaveLength(1);
  stream.arrive(frames(1, 10));
  await clock.advance(10);
  expect(seen).toHaveLength(2);
});

test("the last words of a peer that leaves are heard, a flood of them is not", async () => {
  const { clock, read } = setUp();
  const seen: string[] = [];
  const polite = read("a", seen);
  polite.stream.arrive(frames(3, 100));
  polite.reader.finish();
  expect(seen).toEqual(["a0", "a1", "a2"]);
  const flood = read("b", seen);
  flood.stream.arrive(frames(20, 8_000));
  flood.reader.finish();
  await clock.advance(10);
  expect(seen.filter((frame) => frame.startsWith("b"))).toHaveLength(2);
});
