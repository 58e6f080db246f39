import { expect, test } from "vitest";
import { seededRng } from "../virtualClock/seededRng.ts";
import type { Stream } from "./libp2pTypes.ts";
import { ping } from "./pings.ts";
import { exchange } from "./requestStream.ts";

/** A stream the peer has reset as soon as it was open. */
class ResetStream extends EventTarget {
  readonly remoteWriteStatus = "writable";
  readonly readBufferLength = 0;
  isAborted = false;
  send(): boolean {
    throw new Error("Cannot write to a stream that is closed");
  }
  async close(): Promise<void> {}
  abort(): void {
    this.isAborted = true;
    this.dispatchEvent(new Event("close"));
  }
}

test.each([
  ["request", (stream: Stream, signal: AbortSignal): Promise<unknown> => exchange(stream, Uint8Array.of(1), signal)],
  ["ping", (stream: Stream, signal: AbortSignal): Promise<unknown> => ping(stream, seededRng(1), signal)],
])("a stream that is reset before the %s could be sent fails that one and nothing else", async (_, ask) => {
  const unhandled: unknown[] = [];
  const note = (cause: unknown): void => void unhandled.push(cause);
  process.on("unhandledRejection", note);
  try {
    const stream = new ResetStream();
    await expect(ask(stream as unknown as Stream, new AbortController().signal)).rejects.toThrow("Cannot write");
    expect(stream.isAborted).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});
