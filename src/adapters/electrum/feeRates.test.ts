import { expect, test } from "vitest";
import { err } from "../../core/util/result.ts";
import { FeeRates } from "./feeRates.ts";
import type { RemoteServer } from "./remoteServer.ts";

type Word = {
  readonly estimate?: number | "unknown";
  readonly floor?: number | "unknown";
  readonly histogram?: readonly (readonly [number, number])[] | "unknown";
};
const unknown = err({ kind: "rpc", code: -32601, message: "unknown method" });

function serversSaying(words: readonly Word[]): readonly RemoteServer[] {
  return words.map(({ estimate = -1, histogram = [], floor = "unknown" }) => {
    const ask = async (method: string, _: unknown, parse: (value: unknown) => unknown): Promise<unknown> => {
      const word = method.endsWith("relayfee") ? floor : method.endsWith("estimatefee") ? estimate : histogram;
      return word === "unknown" ? unknown : parse(word);
    };
    return { ask } as unknown as RemoteServer;
  });
}
const MOST = { mostPerKb: 1_500_000n, mostRelayPerKb: 100_000n };
const rateOf = (...words: readonly Word[]): Promise<bigint | null> => new FeeRates(8, MOST).estimate(serversSaying(words), 2);

const FULL = [[1_000_000, 1e9]] as const;
const [DEAR, USUAL] = [100, 0.0002];

test.each<readonly [string, bigint | null, readonly Word[]]>([
  ["one of five names a rate where the others know none", null, [{ estimate: DEAR }, {}, {}, {}, {}]],
  ["two of five do", null, [{ estimate: DEAR }, { estimate: DEAR }, {}, {}, {}]],
  [
    "two of five do, one names an honest one, and two know none",
    20_000n,
    [{ estimate: DEAR }, { estimate: DEAR }, { estimate: USUAL }, {}, {}],
  ],
  [
    "two of five are the only ones that know how to answer",
    null,
    [{ estimate: DEAR }, { estimate: DEAR }, ...Array.from({ length: 3 }, () => ({ estimate: "unknown" }) as const)],
  ],
  ["one of three has a full mempool where those of the others are empty", null, [{ histogram: FULL }, {}, {}]],
  ["two of five have one", null, [{ histogram: FULL }, { histogram: FULL }, {}, {}, {}]],
  ["one of three has one, and the others cannot tell", null, [{ histogram: FULL }, { histogram: "unknown" }, { histogram: "unknown" }]],
])("of fees no minority decides: %s", async (_, expected, words) => {
  expect(await rateOf(...words)).toBe(expected);
});

test("the middle of what most say counts, of two the lower, and of one what it says", async () => {
  expect(await rateOf({ estimate: 0.0001 }, { estimate: USUAL }, { estimate: DEAR })).toBe(20_000n);
  expect(await rateOf({ estimate: USUAL }, { estimate: DEAR })).toBe(20_000n);
  expect(await rateOf({ estimate: USUAL })).toBe(20_000n);
  expect(await rateOf({ estimate: USUAL }, { estimate: "unknown" }, { estimate: USUAL })).toBe(20_000n);
  expect(await rateOf({ histogram: [[30, 3_000_000]] }, { histogram: [[20, 3_000_000]] }, {})).toBe(20_000n);
});

test("a relay floor that most servers did not name is asked for again after a minute, one that they named after ten", async () => {
  const fees = new FeeRates(8, MOST);
  const one: Word = { floor: 0.00001 };
  const floors: (bigint | null)[] = [];
  for (const [seconds, words] of [
    [0, [one, {}, {}]],
    [59, [one, one, {}]],
    [60, [one, one, {}]],
    [659, [{ floor: 0.00002 }, { floor: 0.00002 }, {}]],
    [660, [{ floor: 0.00002 }, { floor: 0.00002 }, {}]],
  ] as const) {
    await fees.refresh(serversSaying(words), 1_700_000_000_000 + seconds * 1_000);
    floors.push(fees.relayFee);
  }
  expect(floors).toEqual([null, null, 1_000n, 1_000n, 2_000n]);
});

test("an estimate, or a full mempool, beyond the most that servers are believed counts as that", async () => {
  expect(await rateOf({ estimate: 0.01499999 }, { estimate: DEAR }, { estimate: 0.0001 })).toBe(1_499_999n);
  expect(await rateOf({ estimate: DEAR }, { estimate: DEAR }, { estimate: 0.0001 })).toBe(1_500_000n);
  expect(await rateOf({ histogram: FULL }, { histogram: FULL }, {})).toBe(1_500_000n);
});

test("a relay floor beyond the most that servers are believed is none, and what most named before stays", async () => {
  const fees = new FeeRates(8, MOST);
  const said = async (floor: number, seconds: number): Promise<bigint | null> => {
    await fees.refresh(serversSaying([{ floor }, { floor }, {}]), 1_700_000_000_000 + seconds * 1_000);
    return fees.relayFee;
  };
  expect(await said(DEAR, 0)).toBeNull();
  expect(await said(0.001, 60)).toBe(MOST.mostRelayPerKb);
  expect(await said(0.00100001, 660)).toBe(MOST.mostRelayPerKb);
});
