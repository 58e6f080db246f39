import { expect, test } from "vitest";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { AccountPool, type PlatformKind } from "../../src/app/coin/evm/accountPool.ts";
import { KDF_GAS_LIMITS } from "../../src/core/evm/gasLimits.ts";
import { keyPairFromScalar } from "../../src/core/keys/keyPair.ts";
import { ok } from "../../src/core/util/result.ts";
import { SCRIPT_CHAIN_ID, type ScriptedWorld, scriptedWorld } from "./support/scriptedEvm.ts";

const KEY = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");

const GAS = { limits: KDF_GAS_LIMITS, policy: null, maxTxType: null, estimatePercent: null };
const PLATFORM = {
  ticker: "ETH",
  decimals: 18,
  chainId: SCRIPT_CHAIN_ID,
  logsBlockRange: null,
  gas: GAS,
  signMessagePrefix: null,
} as unknown as PlatformKind;

/** Opens an account at so many nodes, once something is wrong with some of them. */
async function opened(count: number, prepare: (world: ScriptedWorld) => void, keep = false) {
  const world: ScriptedWorld = scriptedWorld(count);
  prepare(world);
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const load = () => Promise.reject(new Error("loaded already"));
  const parts = { store, unlimitedAllowances: false, openChain: async () => ok(world.chain), load };
  const pool = new AccountPool({ clock: world.evm.clock, log: world.log, parts });
  const urls = world.nodes.map(({ name }) => `http://${name}`);
  const account = await world.drive(pool.take("ETH", PLATFORM, KEY, urls, async () => null, new AbortController().signal, keep));
  return { account, world, pool };
}

const foreign =
  (...numbers: readonly number[]) =>
  ({ nodes }: ScriptedWorld): void => {
    for (const n of numbers) nodes[n]?.says.set("eth_chainId", () => "0x9");
  };

test("one of three nodes that names another chain keeps nobody from the coin: it is left aside, and named", async () => {
  for (const liar of [0, 2]) {
    const { account, world, pool } = await opened(3, foreign(liar));
    expect(account).toMatchObject({ ok: true });
    expect(world.chain.status().nodes[liar]).toMatchObject({ state: "refused", trouble: expect.stringContaining("chain with id 9") });
    expect(world.log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", event: "nodes_of_another_chain", fields: expect.objectContaining({ coin: "ETH" }) }),
    );
    await world.drive(pool.release("ETH", account.ok ? account.value.account : expect.fail("not open")));
  }
});

test.each([
  [1, [0]],
  [2, [1]],
  [3, [0, 2]],
  [4, [1, 2]],
] as const)("of %i nodes those that name another chain (%j) are too many: that is said at once", async (count, numbers) => {
  const { account } = await opened(count, foreign(...numbers));
  expect(account).toMatchObject({ ok: false, error: { kind: "ChainMismatch", reason: expect.stringContaining("serves another chain") } });
});

test.each([
  [2, [1]],
  [3, [0, 2]],
] as const)(
  "of %i nodes some (%j) name another chain: what is kept for swaps is there all the same, and ready once they mend it",
  async (count, numbers) => {
    const { account, world } = await opened(count, foreign(...numbers), true);
    expect(account).toMatchObject({ ok: true, value: { away: expect.stringContaining("serves another chain") } });
    expect(world.chain.status().state).toBe("unreachable");
    for (const { says } of world.nodes) says.clear();
    await world.evm.clock.advance(300_000);
    expect(world.chain.status().state).toBe("ready");
  },
);

test.each(["dead", "hangs"] as const)(
  "a coin with two nodes of which one is gone (%s) is enabled with the other, within the time that a balance has",
  async (trouble) => {
    const { account, world } = await opened(2, ({ nodes }) => {
      for (const node of nodes.slice(0, 1)) node[trouble] = true;
    });
    expect(account).toMatchObject({ ok: true });
    expect(world.chain.status().alone).toContain("b alone is believed");
  },
);

test("where no node answers that is said soon", async () => {
  let sinceMs = 0;
  const { account, world } = await opened(2, ({ nodes, evm }) => {
    sinceMs = evm.clock.nowMs();
    for (const node of nodes) node.dead = true;
  });
  expect(account).toMatchObject({ ok: false, error: { kind: "DaemonFailed" } });
  expect(world.evm.clock.nowMs() - sinceMs).toBeLessThan(5_000);
});
