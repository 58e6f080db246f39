import { expect, test } from "vitest";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { addressFromBytes } from "../../../core/evm/address.ts";
import { err, ok } from "../../../core/util/result.ts";
import { PayoutGate } from "./payoutGate.ts";

test("an account whose code could not be asked for is asked about again, though the next question was answered", async () => {
  const chain = new FakeAccountChain();
  const address = addressFromBytes(new Uint8Array(20).fill(7));
  await chain.watchAccount(address);
  let asked = 0;
  chain.hasCode = async () => (asked++ === 0 ? err({ kind: "Unreachable", message: "away" }) : ok(true));
  const gate = new PayoutGate({ chain, address, platform: "ETH", log: new SilentLog() });
  chain.gas = 21_000n;
  gate.start();
  for (let block = 0; block < 2; block++) {
    chain.mine();
    for (let turns = 0; turns < 50; turns++) await Promise.resolve();
  }
  expect([gate.hasCode, gate.obstacle]).toEqual([true, null]);
  await gate.close();
});
