import { expect, test } from "vitest";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { AskedBeside } from "./askedBeside.ts";
import type { RemoteServer } from "./remoteServer.ts";

const [one, other] = [{} as RemoteServer, {} as RemoteServer];

test("who leaves twenty things open is asked for no more of them, others are, and what nobody takes is forgotten after a minute", async () => {
  const clock = new VirtualClock();
  const beside = new AskedBeside<string>(clock);
  let asks = 0;
  const never = (): Promise<string> => {
    asks++;
    return new Promise(() => undefined);
  };
  const take = async (count: number, of: readonly RemoteServer[]): Promise<number> => {
    const before = asks;
    for (let i = 0; i < count; i++) {
      const taken = beside.take(`${clock.nowMs()} ${i}`, of, never);
      await clock.advance(2_000);
      expect(await taken).toBeNull();
    }
    return asks - before;
  };
  expect(await take(25, [one])).toBe(20);
  expect([await take(1, [one]), await take(1, [one, other])]).toEqual([0, 1]);
  await clock.advance(60_000);
  expect(await take(1, [one])).toBe(1);
});

test("what failed late fails once, and is asked for anew after that", async () => {
  const clock = new VirtualClock();
  const beside = new AskedBeside<string>(clock);
  const late = beside.take("it", [one], () => new Promise((_, reject) => void clock.after(3_000, () => reject(new Error("failed")))));
  await clock.advance(3_000);
  expect(await late).toBeNull();
  await expect(beside.take("it", [one], () => Promise.resolve("anew"))).rejects.toThrow("failed");
  expect(await beside.take("it", [one], () => Promise.resolve("anew"))).toEqual({ answer: "anew", wasLate: false });
});
