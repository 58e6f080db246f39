import { expect, test } from "vitest";
import type { CoinsApi } from "../../src/rpc/ctx/coins.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";

/** KMD is enabled, and `rest` of the work is not done: writing it down. */
async function enabling(act: (ask: (method: string, params: object) => Promise<string>, close: () => void) => Promise<void>) {
  const node = await fakeNode({});
  let finish: () => void = () => undefined;
  const rest = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const disabled: string[] = [];
  const coins: CoinsApi = {
    ...node.ctx.coins,
    async enable(request, signal) {
      const done = await node.ctx.coins.enable(request, signal);
      await rest;
      return done;
    },
    async disable(ticker, force) {
      disabled.push(`${ticker} ${force}`);
      return node.ctx.coins.disable(ticker, force);
    },
  };
  const server = await serveRpc({ ...node, ctx: { ...node.ctx, coins } });
  const ask = async (method: string, params: object): Promise<string> =>
    (await send(server, JSON.stringify({ userpass: PASSWORD, mmrpc: "2.0", method, params }))).text;
  try {
    const mode = { rpc: "Electrum", rpc_data: { servers: [{ url: "127.0.0.1:1" }] } };
    expect(await ask("task::enable_utxo::init", { ticker: "KMD", activation_params: { mode } })).toContain('"task_id":2');
    await act(ask, () => node.ctx.tasks.enableUtxo.close());
    finish();
    // Its answer comes after what the end of the work set off.
    await ask("get_enabled_coins", {});
    return { disabled, active: node.ctx.coins.active("KMD") !== undefined };
  } finally {
    await server.close();
  }
}

test("a coin whose task is cancelled while it is being remembered is not enabled in the end", async () => {
  const { disabled, active } = await enabling(async (ask) => {
    expect(await ask("task::enable_utxo::cancel", { task_id: 2 })).toContain('"success"');
  });
  expect([disabled, active]).toEqual([["KMD true"], false]);
});

test("a node that stops meanwhile disables nothing: the coin comes back with it", async () => {
  const { disabled, active } = await enabling(async (_, close) => close());
  expect([disabled, active]).toEqual([[], true]);
});
