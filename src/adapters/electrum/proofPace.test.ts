import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { ProofPace } from "./proofPace.ts";
import type { RemoteServer } from "./remoteServer.ts";

const server = { name: "server" } as RemoteServer;
const header = { hash: "ab" } as BlockHeader;

/** Asks for so many proofs at once. @returns how many were asked for */
async function askFor(pace: ProofPace, count: number, said: boolean | null): Promise<number> {
  const asked = await Promise.all(Array.from({ length: count }, () => pace.run(server, header, async () => said)));
  return asked.filter(Boolean).length;
}

test("of a block of which five proofs are refused no more are asked for until five seconds later, also where the clock is set back", async () => {
  let nowMs = 1_000_000;
  const pace = new ProofPace(() => nowMs);
  expect(await askFor(pace, 100, true)).toBe(100);
  expect(await askFor(pace, 100, null)).toBe(100);
  expect(await pace.run(server, header, async () => false)).toBe(true);
  expect(await askFor(new ProofPace(() => nowMs), 100, false)).toBe(5);
  for (const passedMs of [0, 5_000, -60_000]) {
    nowMs += passedMs;
    for (let i = 0; i < 5; i++) await pace.run(server, header, async () => false);
    expect(await askFor(pace, 100, false)).toBe(0);
    expect(await pace.run(server, { hash: "cd" } as BlockHeader, async () => true)).toBe(true);
  }
});

test("one that fails to be asked leaves its place to the others", async () => {
  const pace = new ProofPace(() => 0);
  const failing = Array.from({ length: 5 }, () => pace.run(server, header, () => Promise.reject(new Error("no"))));
  const others = askFor(pace, 10, null);
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "rejected"));
  expect(await others).toBe(10);
});

test("a server that refuses one proof each five seconds does not keep all others of its block waiting", async () => {
  let nowMs = 1_000_000;
  const pace = new ProofPace(() => nowMs);
  let asked = 0;
  let last = Promise.resolve();
  const later: Promise<boolean>[] = [];
  const refuseLate = async (): Promise<void> => {
    await setImmediate();
    nowMs += 5_000;
    later.push(pace.run(server, header, async () => null));
    await setImmediate();
  };
  const ask = async (): Promise<boolean> => {
    asked++;
    last = last.then(refuseLate);
    await last;
    return false;
  };
  await Promise.all(Array.from({ length: 200 }, () => pace.run(server, header, ask)));
  await Promise.all(later);
  expect(asked).toBe(9);
});
