import { expect, test } from "vitest";
import { ok } from "../../core/util/result.ts";
import type { ServerStreamHandlers } from "../../ports/electrum.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { CallWindow } from "./callWindow.ts";
import { ServerConnection } from "./serverConnection.ts";
import { ServerCredit } from "./serverCredit.ts";

async function begin(credit = new ServerCredit()): Promise<{
  readonly connection: ServerConnection;
  readonly handlers: ServerStreamHandlers;
  readonly clock: VirtualClock;
  readonly hear: (line: string) => void;
  readonly ended: string[];
  readonly notices: string[];
}> {
  const clock = new VirtualClock();
  const ended: string[] = [];
  const notices: string[] = [];
  const hooks = {
    onNotice: (method: string) => void notices.push(method),
    onEnd: (why: string) => void ended.push(why),
    onAnswer: () => undefined,
  };
  const connection = new ServerConnection(clock, 10_000, hooks, credit, new CallWindow());
  const given: ServerStreamHandlers[] = [];
  await connection.open(async (handlers) => {
    given.push(handlers);
    return ok({ send: () => true, close: () => undefined });
  }, new AbortController().signal);
  const [handlers] = given;
  if (handlers === undefined) throw new Error("nobody listens");
  return { clock, connection, handlers, ended, notices, hear: (line) => handlers.onBytes(Buffer.from(`${line}\n`)) };
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
  const empty = await begin();
  for (let i = 0; i < 10_000; i++) empty.hear("[]");
  expect(empty.ended).toEqual(["it sent something that is not JSON-RPC"]);
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

const GET = "blockchain.transaction.get";
const answer = (id: number, chars: number): string => JSON.stringify({ id, result: "0".repeat(chars) });

test.each([
  ["blockchain.scripthash.subscribe", ["ab".repeat(32)], 90_000, 200_000],
  ["blockchain.transaction.get_merkle", ["ab".repeat(32), 7], 90_000, 200_000],
  ["mempool.get_fee_histogram", [], 90_000, 200_000],
  ["blockchain.block.header", [7], 1_900_000, 2_100_000],
  ["blockchain.block.headers", [7, 500], 4_900_000, 5_100_000],
  // ElectrumX puts the refused transaction behind its reason.
  ["blockchain.transaction.broadcast", ["00".repeat(2_000_000)], 4_000_000, 4_200_000],
  [GET, ["ab".repeat(32)], 8_000_000, 8_200_000],
  [GET, ["ab".repeat(32), true], 9_900_000, 10_100_000],
  ["blockchain.scripthash.get_history", ["ab".repeat(32)], 9_900_000, 10_100_000],
])("an answer to %s may be as long as it has to be, and a longer one costs the connection", async (method, params, good, bad) => {
  const honest = await begin();
  const read = honest.connection.call(method, params);
  honest.hear(answer(1, good));
  expect(await read).toMatchObject({ ok: true });
  expect(honest.ended).toEqual([]);
  const liar = await begin();
  const refused = liar.connection.call(method, params);
  const innocent = liar.connection.call("server.ping", []);
  liar.hear(answer(1, bad));
  expect(await refused).toMatchObject({ ok: false, error: { kind: "too_much" } });
  expect(await innocent).toMatchObject({ ok: false, error: { kind: "unreachable" } });
  expect(liar.ended).toEqual([expect.stringMatching(/^its answer to |^it sent a line without end/)]);
});

test("a message is not read on once it is longer than any answer to what is asked, through WebSocket either", async () => {
  const { connection, handlers, ended } = await begin();
  void connection.call("server.ping", []);
  for (let i = 0; i < 40; i++) handlers.onBytes(Buffer.alloc(60_000, "x"));
  expect(ended).toEqual([expect.stringContaining("longer than any answer to what it is asked")]);
  const web = await begin();
  void web.connection.call(GET, ["ab".repeat(32)]);
  web.handlers.onUnread(8_000_000);
  expect(web.ended).toEqual([]);
  web.handlers.onUnread(9_000_000);
  expect(web.ended).toHaveLength(1);
});

test("a server that answers a hundred calls with the longest that may be loses the connection after a dozen, and is said to have sent too much", async () => {
  const credit = new ServerCredit();
  const { connection, hear, ended } = await begin(credit);
  const calls = Array.from({ length: 100 }, () => connection.call(GET, ["ab".repeat(32)]));
  for (let id = 1; id <= 100; id++) hear(answer(id, 8_000_000));
  const answers = await Promise.all(calls);
  expect(answers.filter(({ ok: isAnswered }) => isAnswered)).toHaveLength(13);
  expect(ended).toEqual(["it sends more than 100 MB at once"]);
  expect(credit.heldBytes).toBe(0);
});

test("what was answered counts no longer once nothing is on the way", async () => {
  const credit = new ServerCredit();
  const { connection, hear, ended } = await begin(credit);
  for (let id = 1; id <= 30; id++) {
    const call = connection.call(GET, ["ab".repeat(32)]);
    hear(answer(id, 8_000_000));
    expect(await call).toMatchObject({ ok: true });
  }
  expect(ended).toEqual([]);
  expect(credit.heldBytes).toBe(0);
});

test("of hundreds of servers that each leave a long message unended only as many are kept as fit; who sends little stays", async () => {
  const credit = new ServerCredit();
  const honest = await begin(credit);
  void honest.connection.call(GET, ["ab".repeat(32)]);
  honest.handlers.onBytes(Buffer.alloc(1_000, "x"));
  const hostile: Awaited<ReturnType<typeof begin>>[] = [];
  for (let i = 0; i < 200; i++) {
    const one = await begin(credit);
    void one.connection.call(GET, ["ab".repeat(32)]);
    one.handlers.onUnread(8_000_000);
    hostile.push(one);
    expect(credit.heldBytes).toBeLessThanOrEqual(256_000_000);
  }
  expect(hostile.filter(({ ended }) => ended.length === 0)).toHaveLength(31);
  expect(hostile[0]?.ended).toEqual(["it holds most of the 256 MB that all servers together may send at once"]);
  expect(honest.ended).toEqual([]);
});

test.each(["get_history", "get_mempool"])(
  "a %s of few lines in megabytes ends the connection; one of many lines is as long as they are",
  async (what) => {
    const line = `{"fee":100000,"height":800000,"tx_hash":"${"ab".repeat(32)}"}`;
    const { connection, hear, ended } = await begin();
    const many = connection.call(`blockchain.scripthash.${what}`, ["00"]);
    hear(`{"id":1,"result":[${new Array(20_000).fill(line).join(",")}]}`);
    expect(await many).toMatchObject({ ok: true });
    const few = connection.call(`blockchain.scripthash.${what}`, ["00"]);
    hear(`{"id":2,"pad":"${"x".repeat(1_000_000)}","result":[${line}]}`);
    expect(await few).toMatchObject({ ok: false, error: { kind: "unreachable" } });
    expect(ended).toEqual([expect.stringContaining("far more than its lines take")]);
  },
);
