import { expect, test } from "vitest";
import { ClaimTrials } from "../../src/app/coin/evm/claimTrials.ts";
import { FEE_ORACLE } from "../../src/core/evm/dataCost.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { OWNER, RpcRefusal, type ScriptedNode, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

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

const oracleWord = (wei: bigint): string => `0x${wei.toString(16).padStart(64, "0")}`;
/** On a chain that takes what data costs from the balance; how the node tries what a contract sends that has none. */
const TRIES = {
  /** As op-geth: nothing is taken in a trial. */
  freely: () => undefined,
  /** As anvil, of a contract that is given nothing. */
  charging: (params: readonly unknown[]) => {
    const [, , funds] = params as [unknown, unknown, { [address: string]: { balance: string } } | undefined];
    if (BigInt(funds?.[`0x${SWAP_CONTRACT}`]?.balance ?? 0n) < 700n)
      throw new RpcRefusal(-32003, "Insufficient funds for gas * price + value");
  },
  /** As a geth older than state overrides for estimates. */
  plainly: (params: readonly unknown[]) => {
    if (params.length > 2) throw new RpcRefusal(-32602, "too many arguments, want at most 2");
  },
  /** It has neither. */
  never: () => {
    throw new RpcRefusal(-32003, "Insufficient funds for gas * price + value");
  },
  /** It has had enough of questions. */
  seldom: () => {
    throw new RpcRefusal(-32005, "daily request count exceeded, request rate limited");
  },
} as const;

test.each([
  [["freely", "freely"], null],
  [["charging", "charging"], null],
  [["charging", "plainly"], null],
  [["plainly", "plainly"], null],
  [["charging", "never"], /Only 1 of the 2 ETH nodes that must agree .*Insufficient funds/],
  [["never", "never"], /nodes refused the request: Insufficient funds/],
  [["seldom", "seldom"], /nodes refused the request: daily request count exceeded/],
] as const)("where data is paid for from the balance, of nodes that try what a contract sends %s", async (how, obstacle) => {
  const world = scriptedWorld(how.length);
  for (const [i, node] of world.nodes.entries()) {
    const tried = TRIES[how[i] ?? "freely"];
    node.says.set("eth_estimateGas", (params, honest) => {
      if ((params[0] as { from: string }).from === `0x${SWAP_CONTRACT}`) tried(params);
      return honest();
    });
    node.says.set("eth_call", (params, honest) => ((params[0] as { to?: string }).to === `0x${FEE_ORACLE}` ? oracleWord(700n) : honest()));
  }
  await world.drive(world.chain.watchAccount(OWNER));
  const trials = new ClaimTrials({ chain: world.chain, platform: "ETH", clock: world.evm.clock, log: new SilentLog() });
  const found = await world.drive(trials.check(SWAP_CONTRACT, signal));
  expect(found).toEqual(obstacle === null ? null : expect.stringMatching(obstacle));
  const asks = world.nodes.map(
    ({ calls }) =>
      calls.filter(({ method, params }) => method === "eth_estimateGas" && (params[0] as { from: string }).from !== `0x${OWNER}`).length,
  );
  // Only who refused for another reason than that it is asked too often is asked the plain way, too.
  expect(asks).toEqual(how.map((one) => (one === "plainly" || one === "never" ? 2 : 1)));
  await trials.close();
  await world.chain.close();
});
