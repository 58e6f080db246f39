import { expect, test, vi } from "vitest";
import { startEcho } from "../../../test/fakes/echoTransport.ts";
import { Handshakes } from "./handshakes.ts";

/** A clock that is set by hand. */
function timed() {
  const now = { ms: 1_700_000_000_000 };
  const handshakes = new Handshakes({ nowMs: () => now.ms, after: () => () => undefined });
  /** How many of so many attempts may begin. */
  const begun = (hosts: readonly string[], each: number): number =>
    hosts.reduce((sum, host) => sum + Array.from({ length: each }, () => handshakes.begin(host)).filter(Boolean).length, 0);
  return { now, handshakes, begun };
}
const hosts = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${first}.7.${n >> 8}.${n & 255}`);

test("one address begins twenty handshakes at once, then two a second", () => {
  const { now, begun } = timed();
  expect(begun(["8.8.8.8"], 100)).toBe(20);
  now.ms += 3_000;
  expect(begun(["8.8.8.8"], 100)).toBe(6);
  expect(begun(["8.8.4.4"], 100)).toBe(20);
});

test("addresses that come again and again leave room for those that have not come, for as long as they go on", () => {
  const { now, begun } = timed();
  const rogues = hosts(5, 50);
  let first = 0;
  for (let second = 0; second < 300; second++) {
    begun(rogues, 20);
    expect(begun(hosts(60 + (second % 60), 8), 1)).toBe(8);
    now.ms += 1_000;
    if (second === 0) first = begun(rogues, 20);
  }
  expect(first).toBeGreaterThan(0);
});

test("who comes through a proxy as fast as it can keeps nobody out that comes by itself", () => {
  const { now, begun } = timed();
  for (let second = 0; second < 300; second++) {
    begun(["127.0.0.1", "172.17.0.1"], 100);
    expect(begun(hosts(60 + (second % 60), 8), 1)).toBe(8);
    now.ms += 1_000;
  }
});

test("all together begin four hundred at once, then fifty a second, and nobody is known for longer than is remembered", () => {
  const { now, begun } = timed();
  expect(begun(hosts(6, 1_000), 1)).toBe(400);
  now.ms += 2_000;
  expect(begun(hosts(7, 1_000), 1)).toBe(100);
  // A proxy of this machine is not held to the use of one node.
  now.ms += 60_000;
  expect(begun(["127.0.0.1"], 1_000)).toBe(200);
  expect(begun(hosts(8, 1_000), 1)).toBe(200);
  now.ms -= 600_000;
  expect(begun(["9.9.9.9"], 1)).toBe(0);
  now.ms += 1_000;
  expect(begun(["9.9.9.9"], 1)).toBe(1);
});

test("who comes when no handshake may begin does not get in, and does once one may", async () => {
  const [listener, other] = [await startEcho(["/ip4/127.0.0.1/tcp/0"]), await startEcho([])];
  const [address = ""] = listener.listenAddresses();
  const begin = vi.spyOn(Handshakes.prototype, "begin").mockReturnValue(false);
  try {
    await expect(other.dial(address, AbortSignal.timeout(5_000))).rejects.toThrow();
    begin.mockReturnValue(true);
    expect(await other.dial(address, AbortSignal.timeout(5_000))).toBe(listener.self.id);
    expect(begin.mock.calls).toEqual([["127.0.0.1"], ["127.0.0.1"]]);
  } finally {
    begin.mockRestore();
    await Promise.all([listener.stop(), other.stop()]);
  }
});
