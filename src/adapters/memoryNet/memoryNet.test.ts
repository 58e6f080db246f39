import { expect, test } from "vitest";
import { peerTransportContract } from "../../../test/contract/peerTransport.ts";
import { seededRng } from "../virtualClock/seededRng.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { MemoryNet } from "./memoryNet.ts";

peerTransportContract("memory net", async () => {
  const clock = new VirtualClock();
  const rng = seededRng(1);
  const net = new MemoryNet(clock, rng);
  let created = 0;
  const settle = async <T>(promise: Promise<T>): Promise<T> => {
    let done = false;
    const mark = (): void => {
      done = true;
    };
    promise.then(mark, mark);
    await clock.run({ until: () => done, untilMs: clock.nowMs() + 60_000 });
    return promise;
  };
  return {
    async create(listens) {
      const address = `/memory/${++created}`;
      const transport = net.transport({ identitySeed: rng.bytes(32), listen: listens ? [address] : [] });
      return { transport, address: () => address };
    },
    async until(condition) {
      if ((await clock.run({ until: condition, untilMs: clock.nowMs() + 60_000 })) !== "until")
        throw new Error("it did not happen within a minute");
    },
    settle,
    close: async () => undefined,
  };
});

function twoEnds(seed: number) {
  const clock = new VirtualClock(0);
  const rng = seededRng(seed);
  const net = new MemoryNet(clock, rng, { latencyMs: 5 });
  const frames: { at: number; frame: number }[] = [];
  const gone: string[] = [];
  const handlers = {
    onPeer: () => undefined,
    onPeerGone: (peer: string) => gone.push(peer),
    onFrame: (_: string, frame: Uint8Array) => frames.push({ at: clock.nowMs(), frame: frame[0] ?? -1 }),
    onRequest: async () => undefined,
  };
  const a = net.transport({ identitySeed: rng.bytes(32), listen: ["/memory/1"] });
  const b = net.transport({ identitySeed: rng.bytes(32) });
  const connect = async (): Promise<unknown> => {
    const dial = b.dial("/memory/1", new AbortController().signal).catch((cause: unknown) => cause);
    await clock.advance(20_000);
    return dial;
  };
  const begin = async (): Promise<void> => {
    await a.start(handlers);
    await b.start(handlers);
    await connect();
  };
  return { clock, net, a, b, frames, gone, begin, connect };
}

test("frames arrive after the latency and keep their order despite jitter", async () => {
  const world = twoEnds(3);
  await world.begin();
  world.net.setLink(world.a.self.id, world.b.self.id, { jitterMs: 50 });
  const startMs = world.clock.nowMs();
  for (let i = 0; i < 100; i++) world.b.sendFrame(world.a.self.id, Uint8Array.of(i));
  await world.clock.run();
  expect(world.frames.map(({ frame }) => frame)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(world.frames.every(({ at }) => at >= startMs + 5)).toBe(true);
});

test("loss, duplicates and reordering happen on request, the same way for the same seed", async () => {
  const run = async (): Promise<number[]> => {
    const world = twoEnds(4);
    await world.begin();
    world.net.setAll({ jitterMs: 50, loss: 0.2, duplicate: 0.2, reorder: true });
    for (let i = 0; i < 100; i++) world.b.sendFrame(world.a.self.id, Uint8Array.of(i));
    await world.clock.run();
    return world.frames.map(({ frame }) => frame);
  };
  const frames = await run();
  const distinct = new Set(frames);
  expect(distinct.size).toBeLessThan(100);
  expect(frames.length).toBeGreaterThan(distinct.size);
  expect(frames).not.toEqual([...frames].sort((x, y) => x - y));
  expect(await run()).toEqual(frames);
});

test("a narrow line takes its time and says when it is full", async () => {
  const world = twoEnds(5);
  await world.begin();
  world.net.setLink(world.a.self.id, world.b.self.id, { bytesPerSec: 100_000 });
  const startMs = world.clock.nowMs();
  let sent = 0;
  while (world.b.sendFrame(world.a.self.id, new Uint8Array(100_000))) sent++;
  expect(sent).toBe(41);
  await world.clock.run({ until: () => world.frames.length === 3 });
  expect(world.clock.nowMs() - startMs).toBe(3005);
  expect(world.b.sendFrame(world.a.self.id, new Uint8Array(100_000))).toBe(true);
});

test("a cut ends the connection and dials fail until it heals", async () => {
  const world = twoEnds(6);
  await world.begin();
  world.net.partition([[world.a.self.id], [world.b.self.id]], [world.a.self.id, world.b.self.id]);
  expect(world.gone).toHaveLength(2);
  expect(await world.connect()).toBeInstanceOf(Error);
  world.net.heal();
  expect(await world.connect()).toBe(world.a.self.id);
});
