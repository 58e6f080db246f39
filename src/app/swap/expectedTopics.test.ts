import { expect, test } from "vitest";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { GossipMessage } from "../../ports/network.ts";
import { ExpectedTopics } from "./expectedTopics.ts";

const message = (n: number): GossipMessage => ({ topic: "swap/x", data: Uint8Array.of(n), from: "relay" });
function world() {
  const clock = new VirtualClock();
  const joined = new Set<string>();
  const steps: string[] = [];
  const expected = new ExpectedTopics(
    clock,
    (uuid) => {
      joined.add(uuid);
      steps.push(`+${uuid}`);
    },
    (uuid) => {
      joined.delete(uuid);
      steps.push(`-${uuid}`);
    },
  );
  return { clock, joined, steps, expected };
}

test("what comes before the start is handed over in its order, once; a start of another name gets nothing", () => {
  const { expected, steps } = world();
  expected.add("a");
  expected.add("a");
  for (const n of [1, 2]) expected.put("a", message(n));
  expected.put("b", message(3));
  expect(expected.take("b")).toEqual([]);
  expect(expected.take("a").map((m) => m.data[0])).toEqual([1, 2]);
  expect(expected.take("a")).toEqual([]);
  expect(steps).toEqual(["+a", "-a"]);
});

test("neither messages for one start nor starts are kept without bound: the first of them are", () => {
  const { expected, joined } = world();
  for (let n = 0; n < 150; n++) expected.add(`s${n}`);
  expect([joined.size, joined.has("s99"), joined.has("s100")]).toEqual([100, true, false]);
  expected.put("s0", { ...message(99), data: new Uint8Array(10_001) });
  for (let n = 0; n < 20; n++) expected.put("s0", message(n));
  expect(expected.take("s0").map((m) => m.data[0])).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expected.add("s100");
  expect(joined.has("s100")).toBe(true);
});

test("a start that does not come within a minute is given up and its topic left, and so are all when the node closes", async () => {
  const { clock, expected, joined } = world();
  expected.add("a");
  await clock.advance(30_000);
  expected.add("b");
  await clock.advance(30_000);
  expect([...joined]).toEqual(["b"]);
  expected.put("a", message(1));
  expect(expected.take("a")).toEqual([]);
  expected.close();
  expect(joined.size).toBe(0);
  await clock.advance(60_000);
  expect(joined.size).toBe(0);
});
