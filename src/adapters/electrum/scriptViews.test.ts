import { expect, test } from "vitest";
import { ok } from "../../core/util/result.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { HistoryPace } from "./historyPace.ts";
import type { RefusedHistories } from "./refusedHistories.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { scriptHashOf } from "./scriptHash.ts";
import { ScriptViews } from "./scriptViews.ts";

const idOf = (n: number): string => n.toString(16).padStart(64, "0");
const refused = { linesOf: async () => [{ txid: idOf(0xffffff), height: 0 }] } as unknown as RefusedHistories;
const asking = { fresh: "all", nowMs: 0, heightOf: () => undefined } as const;

/** A server whose histories are as long as it likes. */
function serverTelling(name: string, lines: () => number) {
  let status = 0;
  const server = {
    name,
    statusOf: () => undefined,
    askStatus: async () => ok(idOf(++status)),
    ask: async () => ok(Array.from({ length: lines() }, (_, i) => ({ txid: idOf(i), height: i + 1 }))),
    forget: () => undefined,
  };
  return server as unknown as RemoteServer;
}

test("of one server's histories no more than a hundred thousand lines are kept; what is more counts as refused, and takes nothing from others", async () => {
  const views = new ScriptViews(refused, new HistoryPace(), new VirtualClock());
  const [greedy, honest] = [serverTelling("greedy", () => 20_000), serverTelling("honest", () => 3)];
  for (let i = 0; i < 8; i++) views.add(`51${i}0`, 0);
  for (let i = 0; i < 8; i++) await views.look([greedy, honest], asking);
  const held = (server: RemoteServer): number => views.all().reduce((sum, { views: v }) => sum + (v.get(server)?.lines.length ?? 0), 0);
  expect(held(greedy)).toBeGreaterThanOrEqual(100_000);
  // Those that are refused tell what waits in the mempool.
  expect(held(greedy)).toBeLessThanOrEqual(100_100);
  expect(held(honest)).toBe(24);
  for (const tracked of views.all()) expect(views.telling(tracked, [honest])).toBe("told");
  expect(views.all().filter((tracked) => views.telling(tracked, [greedy]) === "crowded")).toHaveLength(3);
});

test("a long history that has changed is not asked for at once: what was told stands, with what is told in other ways, and is not taken for all of it", async () => {
  const views = new ScriptViews(refused, new HistoryPace(), new VirtualClock());
  let length = 400;
  const server = serverTelling("server", () => length);
  views.add("5100", 0);
  await views.look([server], asking);
  const [tracked] = views.all();
  if (!tracked) expect.fail("not followed");
  const lines = (): number => tracked.views.get(server)?.lines.length ?? 0;
  expect([lines(), views.telling(tracked, [server])]).toEqual([400, "told"]);
  length = 500;
  await views.look([server], { ...asking, nowMs: 5_000 });
  expect([lines(), views.telling(tracked, [server])]).toEqual([401, null]);
  await views.look([server], { ...asking, nowMs: 10_000 });
  expect([lines(), views.telling(tracked, [server])]).toEqual([500, "told"]);
});

test("long histories of scripts that nobody follows any more hold up no others, at whomever they were asked for", () => {
  const pace = new HistoryPace();
  const views = new ScriptViews(refused, pace, new VirtualClock());
  const connected = serverTelling("connected", () => 0);
  views.add("5100", 0);
  for (let i = 0; i < 100; i++) {
    const script = `51${(i + 1).toString(16).padStart(4, "0")}`;
    views.add(script, 0);
    // Of who is visited, or was away when the swap ended, no views are kept.
    for (const name of ["connected", "visited"]) pace.told(name, scriptHashOf(script), 9_000, 0);
    views.remove(script, [connected]);
  }
  for (const name of ["connected", "visited"]) pace.told(name, scriptHashOf("5100"), 9_000, 0);
  expect(["connected", "visited"].map((name) => pace.isDue(name, scriptHashOf("5100"), 225_000))).toEqual([true, true]);
});

test("a long history that was told once is gone through again only when something else is told beside it, however often is looked", async () => {
  let later = [{ txid: idOf(0xffffff), height: 0 }];
  const views = new ScriptViews({ linesOf: async () => later } as unknown as RefusedHistories, new HistoryPace(), new VirtualClock());
  let reads = 0;
  let status = 0;
  const lines = Array.from({ length: 400 }, (_, i) => ({
    get txid() {
      reads++;
      return idOf(i);
    },
    height: i + 1,
  }));
  const server = {
    name: "server",
    statusOf: () => undefined,
    askStatus: async () => ok(idOf(++status)),
    ask: async () => ok(lines),
  } as unknown as RemoteServer;
  views.add("5100", 0);
  for (let i = 0; i < 3; i++) await views.look([server], asking);
  reads = 0;
  for (let i = 0; i < 10; i++) await views.look([server], asking);
  expect(reads).toBe(0);
  later = [...later, { txid: idOf(0xfffffe), height: 0 }];
  await views.look([server], asking);
  expect(views.all()[0]?.views.get(server)?.lines).toHaveLength(402);
});

test("one that is left out as slow, or lost, and is there again soon is not asked for its long histories anew each time", async () => {
  const views = new ScriptViews(refused, new HistoryPace(), new VirtualClock());
  let asked = 0;
  const server = serverTelling("server", () => {
    asked++;
    return 400;
  });
  views.add("5100", 0);
  await views.look([server], asking);
  for (let i = 0; i < 5; i++) {
    await views.look([], { ...asking, nowMs: 1_000 * i });
    expect(views.all()[0]?.views.has(server)).toBe(false);
    await views.look([server], { ...asking, nowMs: 1_000 * i + 500 });
    expect(views.all()[0]?.views.get(server)?.lines).toHaveLength(401);
  }
  expect(asked).toBe(1);
  await views.look([], { ...asking, nowMs: 10_000 });
  await views.look([server], { ...asking, nowMs: 10_000 });
  expect(asked).toBe(2);
});

test("of a server whose histories are too long together the longest are refused: others of a hundred lines and more are told, also where they come last", async () => {
  const views = new ScriptViews(refused, new HistoryPace(), new VirtualClock());
  let lines = 20_000;
  const server = serverTelling("server", () => lines);
  for (let i = 0; i < 5; i++) views.add(`51${i}0`, 0);
  await views.look([server], asking);
  lines = 150;
  for (let i = 5; i < 8; i++) views.add(`51${i}0`, 0);
  await views.look([server], asking);
  const told = views.all().map((tracked) => [tracked.scriptHex, views.telling(tracked, [server])]);
  expect(told.filter(([, telling]) => telling === "crowded")).toHaveLength(1);
  expect(told.slice(5)).toEqual(["5150", "5160", "5170"].map((script) => [script, "told"]));
  expect(views.all().reduce((sum, { views: v }) => sum + (v.get(server)?.lines.length ?? 0), 0)).toBeLessThanOrEqual(100_100);
});

test("a short history that has changed and is asked for later is not taken for all there is, and nothing else is asked about it meanwhile", async () => {
  const pace = new HistoryPace();
  let asked = 0;
  const counting = {
    linesOf: async () => {
      asked++;
      return null;
    },
  };
  const views = new ScriptViews(counting as unknown as RefusedHistories, pace, new VirtualClock());
  let length = 3;
  const server = serverTelling("server", () => length);
  views.add("5100", 0);
  await views.look([server], asking);
  const [tracked] = views.all();
  if (!tracked) expect.fail("not followed");
  for (let i = 0; i < 3_000; i++) pace.told("server", `noisy${i % 50}`, 50, 0);
  length = 4;
  await views.look([server], { ...asking, nowMs: 1_000 });
  expect([tracked.views.get(server)?.lines.length, views.telling(tracked, [server]), asked]).toEqual([3, null, 0]);
  await views.look([server], { ...asking, nowMs: 600_000 });
  expect([tracked.views.get(server)?.lines.length, views.telling(tracked, [server]), asked]).toEqual([4, "told", 0]);
});

/** Three servers, of which the last answers when it is let. */
function oneLate() {
  const clock = new VirtualClock();
  const views = new ScriptViews(refused, new HistoryPace(), clock);
  const [quick, other, late] = [serverTelling("quick", () => 1), serverTelling("other", () => 1), serverTelling("late", () => 2)];
  const waiting: (() => void)[] = [];
  const { askStatus } = late;
  late.askStatus = async (scriptHash) => {
    await new Promise<void>((answer) => waiting.push(answer));
    return askStatus(scriptHash);
  };
  views.add("5100", 0);
  const look = async (...servers: readonly RemoteServer[]): Promise<void> => {
    const looked = views.look(servers, asking);
    await clock.advance(2_000);
    await looked;
  };
  const answer = async (): Promise<void> => {
    for (const go of waiting.splice(0)) go();
    await clock.advance(1);
  };
  const lines = (): number | undefined => views.all()[0]?.views.get(late)?.lines.length;
  return { views, servers: [quick, other, late] as const, late, waiting, look, answer, lines };
}

test("who is late is not waited for beside most, is asked for nothing twice meanwhile, and what it tells counts once it comes", async () => {
  const { views, servers, late, waiting, look, answer, lines } = oneLate();
  const told = (): readonly boolean[] => views.all().map((tracked) => views.hasToldAnew(late, tracked, "all"));
  for (let i = 0; i < 5; i++) await look(...servers);
  expect([lines(), told(), waiting.length]).toEqual([undefined, [false], 1]);
  for (const tracked of views.all()) tracked.changed = false;
  await answer();
  expect([lines(), views.all()[0]?.changed, waiting.length]).toEqual([2, true, 1]);
  await answer();
  expect([told(), waiting.length]).toEqual([[true], 0]);
});

test("what comes late of a script that is followed for more by then is worked off as well", async () => {
  const { views, servers, look, answer } = oneLate();
  views.add("5200", 100);
  await look(...servers);
  views.add("5200", 50);
  for (const tracked of views.all()) tracked.changed = false;
  await answer();
  expect(views.all().map((tracked) => [tracked.views.get(servers[2])?.lines.length, tracked.changed])).toEqual([
    [2, true],
    [2, true],
  ]);
});

test("who is not asked any more when its answer comes has no say, nor has one of a script that nobody follows any more", async () => {
  const { views, servers, look, answer, lines } = oneLate();
  const [quick, other] = servers;
  await look(...servers);
  await look(quick, other);
  await answer();
  expect(lines()).toBeUndefined();
  await look(...servers);
  views.remove("5100", servers);
  await answer();
  expect(views.all()).toEqual([]);
});
