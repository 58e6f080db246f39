import { expect, test } from "vitest";
import { RefusedHistories } from "./refusedHistories.ts";
import type { RemoteServer } from "./remoteServer.ts";

test("mempools that a server fills are forgotten, the oldest first, and asked for again: all together they are bounded", async () => {
  let asked = 0;
  const pool = Array.from({ length: 20_000 }, (_, i) => ({ tx_hash: i.toString(16).padStart(64, "0"), height: 0 }));
  const server = {
    name: "server",
    tip: null,
    ask: async (_: string, __: unknown, parse: (value: unknown) => unknown) => {
      asked++;
      return parse(pool);
    },
  } as unknown as RemoteServer;
  const index = { hasScript: () => true, outputsOf: () => [], txEntry: () => undefined };
  const refused = new RefusedHistories(index as never);
  const linesOf = async (n: number): Promise<number> =>
    (
      await refused.linesOf(
        server,
        { scriptHex: "51", scriptHash: `${n}`, only: null },
        { fresh: true, nowMs: 0, heightOf: () => undefined },
      )
    )?.length ?? 0;
  expect(await linesOf(0)).toBe(20_000);
  expect([await linesOf(0), asked]).toEqual([20_000, 1]);
  for (let n = 1; n < 6; n++) await linesOf(n);
  expect(asked).toBe(6);
  // The newest four are remembered.
  for (let n = 2; n < 6; n++) await linesOf(n);
  expect(asked).toBe(6);
  await linesOf(0);
  expect(asked).toBe(7);
});
