import { expect, test } from "vitest";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { UnreadBytes } from "./unreadBytes.ts";

type MuxerFactory = Parameters<UnreadBytes["limited"]>[0];
type Below = Parameters<MuxerFactory["createStreamMuxer"]>[0];

/** A connection for which so much waits; what the multiplexer has beside it is nothing. */
class Line extends EventTarget {
  isOpen = true;
  readonly writeBufferLength: number;
  constructor(bytes: number) {
    super();
    this.writeBufferLength = bytes;
  }
  abort(): void {
    this.isOpen = false;
    this.dispatchEvent(new Event("close"));
  }
}

function lines() {
  const clock = new VirtualClock();
  const unread = new UnreadBytes(clock, 100);
  const factory = unread.limited({ createStreamMuxer: () => ({ streams: [] }) } as unknown as MuxerFactory);
  const connect = (host: string, bytes: number): Line => {
    const line = new Line(bytes);
    unread.isFrom(line, host);
    factory.createStreamMuxer(line as unknown as Below);
    return line;
  };
  return { clock, connect, close: () => unread.close() };
}

test("an address that has much wait in little parts is left before one that reads slowly", async () => {
  const { clock, connect, close } = lines();
  const rogues = ["5.5.5.5", "6.6.6.6"].flatMap((host) => Array.from({ length: 12 }, (_, n) => connect(host, n === 5 ? 5 : 4)));
  const slow = [connect("8.8.8.8", 6), connect("9.9.9.9", 6)];
  await clock.advance(1_000);
  expect(slow.every(({ isOpen }) => isOpen)).toBe(true);
  // 110 waited, 100 may.
  expect(rogues.flatMap(({ isOpen, writeBufferLength }) => (isOpen ? [] : [writeBufferLength]))).toEqual([5, 5]);
  close();
});

test("of addresses that many may share each connection is for itself", async () => {
  const { clock, connect, close } = lines();
  const shared = Array.from({ length: 20 }, () => connect("127.0.0.1", 4));
  const greedy = [connect("8.8.8.8", 15), connect("9.9.9.9", 15)];
  await clock.advance(1_000);
  expect(shared.every(({ isOpen }) => isOpen)).toBe(true);
  expect(greedy.filter(({ isOpen }) => isOpen)).toHaveLength(1);
  close();
});
