import { expect, test } from "vitest";
import { PromptClock } from "../../../test/fakes/promptClock.ts";
import { ONE } from "../../core/money/rational.ts";
import { ok } from "../../core/util/result.ts";
import type { RpcContext } from "../ctx.ts";
import { orderbook, orderbookV2 } from "./orderbook.ts";

/** A node whose books have as many orders as the ticker of their rel says, and which rels were written, order by order. */
function manyOrders() {
  const clock = new PromptClock();
  const written: string[] = [];
  const read: [rel: string, whenWritten: number][] = [];
  const entry = (rel: string, n: number) => ({
    ...{
      uuid: String(n),
      base: "AAA",
      rel,
      price: ONE,
      maxVolume: ONE,
      minVolume: ONE,
      createdAt: n,
      conf: null,
      isMine: false,
      address: "",
    },
    get pubkey() {
      written.push(rel);
      return "";
    },
  });
  const ctx = {
    clock,
    coins: { entry: (ticker: string) => ({ walletOnly: false, orderbookTicker: ticker, protocol: {} }) },
    node: { netid: 1 },
    orderbook: {
      pair: async (_: string, rel: string) =>
        ok({
          size: Number(rel),
          read: async () => {
            read.push([rel, written.length]);
            return { asks: Array.from({ length: Number(rel) }, (_, n) => entry(rel, n)), bids: [] };
          },
        }),
    },
  } as unknown as RpcContext;
  return { clock, ctx, written, read };
}

test.each([orderbook, orderbookV2])(
  "$style: long books are written some orders in a turn and one book at a time, short ones at once",
  async (method) => {
    const { clock, ctx, written, read } = manyOrders();
    const inTurn: number[] = [];
    clock.onTurn = () => inTurn.push(written.length - inTurn.reduce((sum, n) => sum + n, 0));
    const ask = (rel: string) => method.run({ base: "AAA", rel }, ctx, { signal: new AbortController().signal });
    const replies = await Promise.all(["450", "401", "150"].map(ask));
    expect(replies.map((r) => r.kind === "reply" && (r.value as { asks: readonly unknown[] }).asks.length)).toEqual([450, 401, 150]);
    const order = written.filter((rel, i) => rel !== written[i - 1]);
    expect(order.filter((rel) => rel !== "150")).toEqual(["450", "401"]);
    // What a long one takes in memory is read of it when its turn comes, not before.
    expect(read.filter(([rel]) => rel !== "150")).toEqual([
      ["450", 0],
      ["401", 600],
    ]);
    // The short one within the first turn of a long one; all of the first turn of the second right after the first one's last.
    expect(inTurn).toEqual([350, 200, 50 + 200, 200]);
  },
);

test("a book that nobody waits for any more keeps no other from being written", async () => {
  const { clock, ctx, written } = manyOrders();
  const caller = new AbortController();
  clock.onTurn = () => caller.abort();
  const given = orderbook.run({ base: "AAA", rel: "1000" }, ctx, { signal: caller.signal });
  const waiting = orderbook.run({ base: "AAA", rel: "900" }, ctx, { signal: caller.signal });
  const next = orderbook.run({ base: "AAA", rel: "300" }, ctx, { signal: new AbortController().signal });
  await expect(Promise.any([given, waiting])).rejects.toThrow();
  expect((await next).kind).toBe("reply");
  expect(written.length).toBe(500);
});
