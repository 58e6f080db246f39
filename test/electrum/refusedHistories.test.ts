import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { scriptHashOf } from "../../src/adapters/electrum/scriptHash.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { p2shScript } from "../../src/core/utxo/outputScript.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import type { SqlDatabase } from "../../src/ports/sql.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// Anybody can pay a script so often that servers refuse to tell its history (ElectrumX: some ten thousand transactions; here ten).

const LIMIT = 10;
const PAID = 200_000_000n;
const DUST = 1_000n;
const SCRIPT = scriptNumber(1);
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

async function begin(
  spoil: (line: string, server: number, call: string) => string | null = (line) => line,
): Promise<{ readonly w: ElectrumWorld; readonly db: SqlDatabase }> {
  const w = await startElectrumChain(SEGWIT_COIN, 3, spoil);
  cleanup.push(() => w.close());
  for (const { faults } of w.servers) faults.add({ kind: "short_histories", lines: LIMIT });
  return { w, db: openInlineDatabase(":memory:", [CHAIN_SCHEMA]) };
}

async function open(w: ElectrumWorld, db: SqlDatabase, options: ElectrumOptions = {}): Promise<ElectrumChain> {
  const chain = await w.openElectrum(openChainStore(db, "TST"), { timeoutMs: 2_000, ...options });
  cleanup.push(() => chain.close());
  return chain;
}

/** Fulcrum, up to 2.x: of what is longer than it tells it says that there is nothing. */
function asFulcrum(line: string, _server: number, call: string): string {
  if (!line.includes("history too large")) return line;
  const { id, method } = JSON.parse(call) as { readonly id: number; readonly method: string };
  return JSON.stringify({ id, result: method === "blockchain.scripthash.get_history" ? [] : null });
}

/** Pays the script until no server tells its history, in two blocks. `but`: what these leave out. */
function dust(w: ElectrumWorld, but: readonly string[] = []): void {
  for (const txid of but) w.chain.held.add(txid);
  for (let i = 0; i < LIMIT; i++) w.pay(SCRIPT, DUST);
  w.mine(2);
  for (const txid of but) w.chain.held.delete(txid);
}

/** Spends the payment, past this node. */
function spend(w: ElectrumWorld, payment: string): string {
  const tx = spendOf(w.format, 1, [{ txid: payment, vout: voutOf(w, payment), value: PAID }], scriptNumber(2));
  w.daemon.answer("sendrawtransaction", [toHex(serializeTx(tx))]);
  return txidOf(tx);
}
const voutOf = (w: ElectrumWorld, payment: string): number => {
  const tx = w.chain.mempool.graph.get(payment)?.chainTx ?? w.chain.state.blockOfTx(payment)?.block.txs.find((t) => t.txid === payment);
  return tx?.tx.outputs.findIndex(({ value }) => value === PAID) ?? -1;
};

const paymentOf = (chain: ElectrumChain, payment: string) => chain.outputs(SCRIPT).find((o) => o.txid === payment && o.value === PAID);

async function until(w: ElectrumWorld, condition: () => boolean): Promise<void> {
  for (let i = 0; i < 120 && !condition(); i++) await w.pass(1_000);
  expect(condition()).toBe(true);
}
const statesOf = (chain: ElectrumChain): readonly string[] => chain.servers().map(({ state }) => state);

test("a payment that was seen comes into a block, and its spend is seen in the mempool and in a block, though nobody tells the history any more", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  const payment = w.pay(SCRIPT, PAID);
  await until(w, () => paymentOf(chain, payment) !== undefined);
  // Nor what stands in blocks.
  for (const { faults } of w.servers)
    faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.transaction.id_from_pos"] });
  dust(w, [payment]);
  await w.pass(10_000);
  expect(paymentOf(chain, payment)?.block).toBeNull();
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.block?.height === 123);
  const spender = spend(w, payment);
  await until(w, () => paymentOf(chain, payment)?.spentBy?.txid === spender);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.spentBy?.block?.height === 124);
  expect(statesOf(chain)).toEqual(["connected", "connected", "connected"]);
  expect(chain.status().state).toBe("ready");
});

test("a history that servers tell again after they had said nothing is there is read whole", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  const first = w.pay(SCRIPT, PAID);
  await until(w, () => paymentOf(chain, first) !== undefined);
  dust(w);
  await w.pass(5_000);
  const second = w.pay(SCRIPT, PAID);
  w.mine();
  for (const { faults } of w.servers) faults.clear();
  await w.pass(301_000);
  expect(paymentOf(chain, first)?.block?.height).toBe(121);
  expect(paymentOf(chain, second)?.block?.height).toBe(123);
  expect(chain.outputs(SCRIPT)).toHaveLength(LIMIT + 2);
});

test("an unconfirmed payment that leaves the mempools is gone, though nobody tells the history", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 0));
  const payment = w.pay(SCRIPT, PAID);
  dust(w, [payment]);
  await until(w, () => paymentOf(chain, payment) !== undefined);
  await w.pass(70_000);
  expect(paymentOf(chain, payment)).toBeDefined();
  for (const { faults } of w.servers) faults.add({ kind: "hide", txid: payment });
  w.chain.held.add(payment);
  await until(w, () => paymentOf(chain, payment) === undefined);
});

test("a spend that came into a block while nobody looked is found in the block, and so is the payment", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  await w.pass(1_000);
  await chain.close();
  const payment = w.pay(SCRIPT, PAID);
  w.mine();
  dust(w);
  const spender = spend(w, payment);
  w.mine();
  const again = await open(w, db);
  await until(w, () => paymentOf(again, payment)?.spentBy?.txid === spender);
  expect(paymentOf(again, payment)?.block?.height).toBe(121);
  expect(paymentOf(again, payment)?.spentBy?.block?.height).toBe(124);
  expect(statesOf(again)).toEqual(["connected", "connected", "connected"]);
});

test("a script whose history is refused from the first look on is covered once its blocks are read, and one with too long a past is not", async () => {
  const { w, db } = await begin();
  const payment = w.pay(SCRIPT, PAID);
  dust(w);
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 118));
  expect(paymentOf(chain, payment)?.block?.height).toBe(121);
  w.mine(2_000);
  const other = await open(w, openInlineDatabase(":memory:", [CHAIN_SCHEMA]));
  let isCovered = false;
  void other.watchScript(SCRIPT, 100).then(
    () => {
      isCovered = true;
    },
    () => undefined,
  );
  await until(w, () => other.status().state === "unreachable");
  expect(other.status().error).toContain("do not give the history of a script");
  await w.pass(60_000);
  expect(isCovered).toBe(false);
});

test("blocks are read by proofs: servers that name another transaction in the place of one hide nothing", async () => {
  let other = "";
  const { w, db } = await begin((line, server) =>
    server === 0 || other === "" || !line.includes('"merkle"') ? line : line.replace(/"tx_hash":"[0-9a-f]{64}"/, `"tx_hash":"${other}"`),
  );
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  const payment = w.pay(SCRIPT, PAID);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.block != null);
  dust(w);
  await w.pass(10_000);
  spend(w, payment);
  for (const server of w.servers)
    server.faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.scripthash.get_mempool"] });
  other = payment;
  for (let i = 0; i < 5; i++) w.pay(scriptNumber(3), DUST);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.spentBy?.block?.height === 124);
});

test("a spend in a block that takes the place of one that was read is found", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  const payment = w.pay(SCRIPT, PAID);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.block != null);
  for (const server of w.servers)
    server.faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.scripthash.get_mempool"] });
  dust(w);
  await w.pass(20_000);
  const tx = spendOf(w.format, 1, [{ txid: payment, vout: voutOf(w, payment), value: PAID }], scriptNumber(2));
  expect(w.chain.reorg({ depth: 1, blocks: 2, txs: [txToChainTx(tx)] }).ok).toBe(true);
  await until(w, () => paymentOf(chain, payment)?.spentBy?.block?.height === 123);
});

test("two servers that leave a spend out of the history they tell do not hide it while the third refuses it: its blocks are read where somebody waits", async () => {
  const { w, db } = await begin();
  for (const { faults } of w.servers.slice(0, 2)) faults.clear();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  const payment = w.pay(SCRIPT, PAID);
  w.mine();
  dust(w);
  await w.pass(5_000);
  const spender = spend(w, payment);
  for (const { faults } of w.servers.slice(0, 2)) faults.add({ kind: "hide", txid: spender });
  w.mine();
  await w.pass(60_000);
  expect(paymentOf(chain, payment)?.spentBy).toBeNull();
  chain.guard?.(SCRIPT, { dueSec: 4_000_000_000, onTx: () => undefined });
  await until(w, () => paymentOf(chain, payment)?.spentBy?.block?.height === 124);
});

test("a mempool that is full of dust is asked for the more seldom", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  dust(w);
  await w.pass(10_000);
  const asked = async (): Promise<number> => {
    w.asked.length = 0;
    await w.pass(120_000);
    return w.asked.filter((m) => m === "blockchain.scripthash.get_mempool").length / w.servers.length;
  };
  expect(await asked()).toBeGreaterThan(15);
  for (let i = 0; i < 300; i++) w.pay(SCRIPT, DUST);
  await w.pass(20_000);
  expect(await asked()).toBeLessThan(13);
});

test("a block with a transaction of 64 bytes, which proves nothing alone, is read all the same, and the spend behind it found", async () => {
  const { w, db } = await begin();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  await w.pass(1_000);
  await chain.close();
  const payment = w.pay(SCRIPT, PAID);
  const free = w.pay(p2shScript(hash160(Uint8Array.of(0x51))), 5_000_000n);
  w.mine();
  dust(w);
  const paid = w.chain.state.blockOfTx(free)?.block.txs.find((t) => t.txid === free)?.tx.outputs ?? [];
  const vout = paid.findIndex(({ value }) => value === 5_000_000n);
  const small: Tx = {
    version: 1,
    inputs: [{ txid: free, vout, scriptSig: Uint8Array.of(1, 0x51), sequence: 0xffffffff, witness: [] }],
    outputs: [{ value: 0n, script: Uint8Array.of(0x6a, 0) }],
    lockTime: 0,
  };
  expect(serializeTx(small)).toHaveLength(64);
  expect(w.chain.reorg({ depth: 1, blocks: 2, txs: [txToChainTx(small)] }).ok).toBe(true);
  expect(w.chain.state.blockOfTx(txidOf(small))).toBeDefined();
  const spender = spend(w, payment);
  w.mine();
  for (const server of w.servers)
    server.faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.scripthash.get_mempool"] });
  const again = await open(w, db);
  await until(w, () => paymentOf(again, payment)?.spentBy?.txid === spender);
  expect(again.crowded?.(SCRIPT)).toBe("read");
});

/** More lines than fit into an answer. */
const ENDLESS = JSON.stringify(Array.from({ length: 130_000 }, (_, i) => ({ height: 121, tx_hash: i.toString(16).padStart(64, "0") })));

// Servers that do not refuse long histories (electrs works them out from whole blocks, Fulcrum tells a hundred thousand lines).
test.each([
  ["work for longer at a long history than is waited for", (): string | null => null],
  ["tell a history longer than any answer may be", (line: string): string | null => line.replace(/\[.*\]/s, ENDLESS)],
])("all servers %s: they are not lost over it for ever, and both that script and all others go on", async (_, spoilt) => {
  let isLong = false;
  const { w, db } = await begin((line, __, call) => {
    if (!isLong || !call.includes(scriptHashOf(toHex(SCRIPT)))) return line;
    if (call.includes("get_history")) return spoilt(line);
    return call.includes("subscribe") && spoilt(line) === null ? null : line;
  });
  for (const { faults } of w.servers) faults.clear();
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  await whileTimePasses(w, chain.watchScript(scriptNumber(3), 115));
  const payment = w.pay(SCRIPT, PAID);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.block != null);
  isLong = true;
  w.pay(SCRIPT, DUST);
  await w.pass(60_000);
  // They are there from now on.
  const other = w.pay(scriptNumber(3), PAID);
  await until(w, () => chain.outputs(scriptNumber(3)).some(({ txid }) => txid === other));
  const dusted = w.pay(SCRIPT, DUST);
  await until(w, () => chain.outputs(SCRIPT).some(({ txid }) => txid === dusted));
  // Nobody sees the spend before it is in a block.
  for (const { faults } of w.servers) faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.scripthash.get_mempool"] });
  spend(w, payment);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.spentBy?.block?.height === 122);
  expect(statesOf(chain)).toEqual(["connected", "connected", "connected"]);
  expect(chain.status().state).toBe("ready");
  await chain.close();
  const again = await open(w, db);
  const third = w.pay(scriptNumber(3), PAID);
  await until(w, () => again.outputs(scriptNumber(3)).some(({ txid }) => txid === third));
  await w.pass(60_000);
  expect(again.status().state).toBe("ready");
});

test("servers that say nothing was ever there once a history is too long for them (Fulcrum) do not hide a spend in a block", async () => {
  const { w, db } = await begin(asFulcrum);
  const chain = await open(w, db);
  await whileTimePasses(w, chain.watchScript(SCRIPT, 115));
  const payment = w.pay(SCRIPT, PAID);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.block != null);
  chain.guard?.(SCRIPT, { dueSec: 4_000_000_000, onTx: () => undefined });
  for (const { faults } of w.servers) faults.add({ kind: "error", code: 1, message: "no", methods: ["blockchain.scripthash.get_mempool"] });
  dust(w);
  await w.pass(10_000);
  spend(w, payment);
  w.mine();
  await until(w, () => paymentOf(chain, payment)?.spentBy?.block?.height === 124);
  expect(statesOf(chain)).toEqual(["connected", "connected", "connected"]);
});
