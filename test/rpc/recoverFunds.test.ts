import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../../src/core/swap/events.ts";
import { recoverFunds } from "../../src/main/recoverFunds.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";
import { recordedLogs } from "../vectors/eventLogs/eventLogs.ts";

/** `recover_funds_of_swap` over the logs of real swaps (reference rpc.md 5.3). */

const logs = new Map(recordedLogs.map((l) => [l.summary.uuid, l.events.map((text) => JSON.parse(text) as StoredEvent)]));

async function recover(uuid: string, active: readonly string[]): Promise<{ status: number; error: unknown }> {
  const node = await fakeNode();
  const swaps = {
    ...node.ctx.swaps,
    recoverFunds: recoverFunds(
      async (id) => logs.get(id) ?? null,
      (ticker) => active.includes(ticker),
      async () => null,
    ),
  };
  const dispatcher = fakeDispatcher({ ...node, ctx: { ...node.ctx, swaps } });
  const { status, body } = await dispatcher.answer({ userpass: PASSWORD, method: "recover_funds_of_swap", params: { uuid } }, "127.0.0.1");
  return { status, error: JSON.parse(body).error };
}

const TEXTS: Readonly<Record<string, string>> = {
  "maker success": "Taker payment spend transaction has been sent and confirmed",
  "maker refunded": "Maker payment is refunded, swap is not recoverable",
  "maker cancelled": "Maker payment is refunded, swap is not recoverable",
  "maker failed": "Maker payment transaction was not found",
  "taker success": "Maker payment is spent and confirmed, swap is not recoverable",
  "taker refunded": "Taker payment is refunded, swap is not recoverable",
};

describe.each(recordedLogs)("a $role, $name ($outcome)", ({ role, outcome, name, summary, status }) => {
  const coins = [String(status.maker_coin), String(status.taker_coin)];

  test("is answered by how it ended", async () => {
    const failedTaker = name.includes("after the maker paid")
      ? "Taker payment is not found, swap is not recoverable"
      : "No info about maker payment, swap is not recoverable";
    const running = status.is_finished === false ? "Swap must be finished before recover funds attempt" : undefined;
    const reorganised = "A reorganisation took back what ended this swap; the node is putting it back by itself";
    const text = running ?? (outcome === null ? reorganised : (TEXTS[`${role} ${outcome}`] ?? failedTaker));
    expect(await recover(summary.uuid, coins)).toEqual({ status: 500, error: text });
  });

  test("asks for its coins first, the maker's before the taker's", async () => {
    expect((await recover(summary.uuid, [])).error).toBe(`Coin ${coins[0]} is not activated`);
    expect((await recover(summary.uuid, coins.slice(0, 1))).error).toBe(`Coin ${coins[1]} is not activated`);
  });
});

test("a swap nobody knows", async () => {
  expect(await recover("ffffffff-0000-4000-8000-000000000001", [])).toEqual({ status: 500, error: "swap data is not found" });
});
