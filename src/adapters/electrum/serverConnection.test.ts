import { expect, test } from "vitest";
import { ok } from "../../core/util/result.ts";
import type { ServerStreamHandlers } from "../../ports/electrum.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { ServerConnection } from "./serverConnection.ts";

async function begin(): Promise<{
  readonly clock: VirtualClock;
  readonly hear: (line: string) => void;
  readonly ended: string[];
  readonly notices: string[];
}> {
  const clock = new VirtualClock();
  const ended: string[] = [];
  const notices: string[] = [];
  const connection = new ServerConnection(clock, 10_000, {
    onNotice: (method) => void notices.push(method),
    onEnd: (why) => void ended.push(why),
    onAnswer: () => undefined,
  });
  const given: ServerStreamHandlers[] = [];
  await connection.open(async (handlers) => {
    given.push(handlers);
    return ok({ send: () => true, close: () => undefined });
  }, new AbortController().signal);
  return { clock, ended, notices, hear: (line) => given[0]?.onBytes(Buffer.from(`${line}\n`)) };
}
const notice = (junk: number): string => JSON.stringify({ method: "news", params: ["x".repeat(junk)] });

test("a server that tells of much is heard; one that tells of more, in many messages or in long ones, loses the connection", async () => {
  const many = await begin();
  for (let i = 0; i < 5_000; i++) many.hear(notice(200));
  expect(many.ended).toEqual([]);
  expect(many.notices).toHaveLength(5_000);
  many.hear(notice(200));
  expect(many.ended).toEqual(["it sends messages without end"]);
  const long = await begin();
  for (let i = 0; i < 10; i++) long.hear(notice(1_000_000));
  expect(long.ended).toEqual(["it sends messages without end"]);
  expect(long.notices.length).toBeLessThan(6);
  const batch = await begin();
  for (let i = 0; i < 10; i++) batch.hear(`[${Array.from({ length: 1_000 }, () => notice(1_000)).join(",")}]`);
  expect(batch.ended).toEqual(["it sends messages without end"]);
  expect(batch.notices.length).toBeLessThan(6_000);
});

test("what was told is forgiven with time", async () => {
  const { clock, hear, ended, notices } = await begin();
  for (let i = 0; i < 4; i++) {
    hear(notice(1_000_000));
    await clock.advance(2_100);
  }
  for (let i = 0; i < 4; i++) hear(notice(1_000_000));
  expect(notices).toHaveLength(8);
  expect(ended).toEqual([]);
});
