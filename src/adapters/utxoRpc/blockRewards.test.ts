import { expect, test } from "vitest";
import { type ScriptedChain, startScriptedChain } from "../../../test/contract/scriptedChain.ts";
import { spendOf } from "../../../test/contract/spendable.ts";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { BlockRewards } from "../../chainIndex/blockRewards.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import type { UtxoChainWithHistory } from "../../ports/chain.ts";
import { CHAIN_SCHEMA, openChainStore } from "../sqlite/chainStore.ts";
import { openInlineDatabase } from "../sqlite/inlineDatabase.ts";
import type { ReadBlock } from "./blockReader.ts";
import { openUtxoRpcChain } from "./utxoRpcChain.ts";
import type { UtxoRpcOptions } from "./utxoRpcOptions.ts";

function blocks(from: number, ...rewards: readonly (readonly bigint[])[]): readonly ReadBlock[] {
  return rewards.map((values, i) => {
    const tx: Tx = {
      ...spendOf({ kind: "bitcoin" }, 1, [], new Uint8Array(), 0n),
      outputs: values.map((value) => ({ value, script: new Uint8Array() })),
    };
    const raw = { txid: "", tx, raw: new Uint8Array() };
    return { height: from + i, hash: `${from + i}`, block: { prevHash: "", timeSec: 0, txs: [raw] } };
  });
}
const medianOf = (...rewards: readonly bigint[]): bigint | null => {
  const known = new BlockRewards();
  known.note(blocks(1, ...rewards.map((r) => [r])));
  return known.median;
};

test("the reward is the middle one of the last eleven coinbases, whatever five miners make of theirs", () => {
  expect(medianOf(50n)).toBe(50n);
  expect(medianOf(50n, 60n)).toBe(50n);
  expect(medianOf(...Array<bigint>(20).fill(1n), 50n, 50n, 50n, 50n, 50n, 50n, 9_999n, 9_999n, 9_999n, 0n, 0n)).toBe(50n);
});

test("a coinbase counts with all its outputs; where coinbases are empty, and before one was read, nothing is known", () => {
  const known = new BlockRewards();
  expect([known.isEmpty, known.median]).toEqual([true, null]);
  known.note(blocks(1, [40n, 10n]));
  expect(known.median).toBe(50n);
  expect(medianOf(0n, 0n, 0n)).toBeNull();
});

test("the coinbases of a reorganisation take the place of those it removes", () => {
  const known = new BlockRewards();
  known.note(blocks(1, [10n], [70n], [70n], [70n], [70n], [70n], [70n]));
  expect(known.median).toBe(70n);
  known.note(blocks(2, [10n], [10n]));
  expect(known.median).toBe(10n);
});

function open(h: ScriptedChain, options: UtxoRpcOptions = {}): Promise<UtxoChainWithHistory> {
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  return openUtxoRpcChain({ ticker: "TST", format: h.format, rpc: h.rpc, store, clock: h.clock, log: quietLog, options });
}

test("a chain learns the reward from the blocks it reads, and from its tip at once where it is asked to", async () => {
  const h = startScriptedChain(30);
  const [patient, eager] = [await open(h), await open(h, { readsReward: true })];
  await patient.refresh();
  await eager.refresh();
  const reward = eager.blockRewardUnits();
  expect(reward).toBeGreaterThan(0n);
  expect(patient.blockRewardUnits()).toBeNull();
  h.mine();
  await patient.refresh();
  expect(patient.blockRewardUnits()).toBe(reward);
  await Promise.all([patient.close(), eager.close()]);
});

test("a daemon that does not give the block leaves the reward unknown and the chain usable", async () => {
  const h = startScriptedChain(30);
  h.rpc.instead.set("getblock", { ok: false, error: { kind: "rpc", code: -1, message: "Block not available (pruned data)" } });
  const chain = await open(h, { readsReward: true });
  await chain.refresh();
  expect([chain.blockRewardUnits(), chain.status().state]).toEqual([null, "ready"]);
  const asked = h.rpc.counts.get("getblock");
  await chain.refresh();
  expect(h.rpc.counts.get("getblock")).toBe(asked);
  await chain.close();
});
