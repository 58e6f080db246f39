import { expect, test } from "vitest";
import { coinNode } from "../../../test/fakes/coinNode.ts";

const DOC = { coin: "DOC", pubtype: 60, p2shtype: 85, mm2: 1, protocol: { type: "UTXO" } };
const WRONG = "The DOC daemon cannot be used: wrong rpc user or password.";

test("a daemon that refuses is told after 3 s, not after the whole wait for a first balance, and can be tried again", async () => {
  const node = await coinNode([DOC], "registry test", false, WRONG);
  for (let turn = 0; turn < 2; turn++) {
    let told: unknown = null;
    void node.enable("DOC").then((done) => {
      told = done;
    });
    await node.clock.advance(2_900);
    expect(told).toBeNull();
    expect((await node.enable("DOC")).ok).toBe(false);
    await node.clock.advance(200);
    expect(told).toEqual({ ok: false, error: { kind: "DaemonFailed", coin: "DOC", message: WRONG } });
  }
});

test("a daemon that comes up meanwhile is used", async () => {
  const node = await coinNode([DOC], "registry test", false, "The DOC daemon is busy: Loading block index.");
  const enabling = node.enable("DOC");
  await node.clock.advance(2_000);
  node.chains.get("DOC")?.comeUp();
  await node.clock.advance(1_500);
  expect((await enabling).ok).toBe(true);
});
