import { expect, test } from "vitest";
import { ClaimTrials } from "../../src/app/coin/evm/claimTrials.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { RpcRefusal, type ScriptedNode, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const { signal } = new AbortController();

/** As geth 1.10.7: no call is carried out whose sender has code. */
function takesNoCode(node: ScriptedNode): void {
  for (const method of ["eth_estimateGas", "eth_call"])
    node.says.set(method, ([call], honest) => {
      if ((call as { from?: string }).from !== `0x${SWAP_CONTRACT}`) return honest();
      throw new RpcRefusal(-32000, "sender not an eoa: address 0x5a, codehash: 0x00");
    });
}

test.each([
  [1, 0, null],
  [1, 1, /nodes refused the request: sender not an eoa.*; enable ETH with nodes that carry out calls whose sender has code/],
  [2, 1, /Only 1 of the 2 ETH nodes that must agree .*sender not an eoa.*; enable ETH with nodes/],
  [3, 1, null],
  [3, 2, /Only 1 of the 2 ETH nodes that must agree .*sender not an eoa/],
  [3, 3, /nodes refused the request: sender not an eoa/],
] as const)("of %s nodes %s carry out no calls of contracts", async (count, silent, obstacle) => {
  const world = scriptedWorld(count);
  for (const node of world.nodes.slice(0, silent)) takesNoCode(node);
  await world.drive(world.chain.refresh());
  const trials = new ClaimTrials({ chain: world.chain, platform: "ETH", clock: world.evm.clock, log: new SilentLog() });
  const found = await world.drive(trials.check(SWAP_CONTRACT, signal));
  expect(found).toEqual(obstacle === null ? null : expect.stringMatching(obstacle));
  await trials.close();
  await world.chain.close();
});
