import { afterEach, describe, expect, test } from "vitest";
import type { ElectrumChain } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { serializeHeader } from "../../src/chain/block.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { serializeTx, txid } from "../../src/core/utxo/txCodec.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { KMD_COIN, SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const HOUR_MS = 3_600_000;
const GET = "blockchain.transaction.get";
const HISTORY = "blockchain.scripthash.get_history";
const POOL = "blockchain.scripthash.get_mempool";
const BROADCAST = "blockchain.transaction.broadcast";
const SERVERS = 3;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

type Spoil = (line: string, server: number, call: string) => string | null;

async function begin(
  spoil?: Spoil,
  coin: object = SEGWIT_COIN,
  servers = SERVERS,
): Promise<{ readonly w: ElectrumWorld; readonly chain: ElectrumChain }> {
  const w = await startElectrumChain(coin, servers, spoil);
  cleanup.push(() => w.close());
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { timeoutMs: 2_000 });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  return { w, chain };
}
/** Calls of a method at each server since `asked` was cleared. */
const askedOf = (w: ElectrumWorld, method: string): number => w.asked.filter((m) => m === method).length / SERVERS;

/** Whether a fee is there. */
const ask = (chain: ElectrumChain, raw: Uint8Array, payer: Uint8Array | null): Promise<boolean> =>
  chain.isWaiting?.(raw, payer) ?? Promise.reject(new Error("nobody can be asked"));

/** A transaction that the chain does not have yet: made on a chain with the same past. */
async function notYetSent(): Promise<{ readonly txid: string; readonly raw: Uint8Array }> {
  const { w } = await begin();
  const paid = w.chain.payFromFaucet(scriptNumber(5), 100_000n);
  if (!paid.ok) throw new Error("not paid");
  return paid.value;
}

test("what nobody waits for is not asked about for each fresh view, only each five minutes: then also what a server forgot to tell comes to light", async () => {
  const { w, chain } = await begin((line) => (/"method":"blockchain.scripthash.subscribe"/.test(line) ? null : line));
  const [awaited, calm] = [scriptNumber(1), scriptNumber(2)];
  for (const script of [awaited, calm]) await whileTimePasses(w, chain.watchScript(script, 0));
  chain.calm?.(calm);
  w.asked.length = 0;
  for (let look = 0; look < 5; look++) await whileTimePasses(w, chain.refresh());
  expect(askedOf(w, "blockchain.scripthash.subscribe")).toBe(5);
  for (const script of [awaited, calm]) w.chain.payFromFaucet(script, 100_000n);
  await whileTimePasses(w, chain.refresh());
  expect([awaited, calm].map((script) => chain.outputs(script).length)).toEqual([1, 0]);
  await w.pass(301_000);
  expect(chain.outputs(calm)).toHaveLength(1);
  await chain.unwatch({ scripts: [calm] });
  await whileTimePasses(w, chain.watchScript(calm, 0));
  w.asked.length = 0;
  await whileTimePasses(w, chain.refresh());
  expect(askedOf(w, "blockchain.scripthash.subscribe")).toBe(2);
});

test("a fresh view of one script has that one asked about anew, and the last block, not all others as well", async () => {
  const { w, chain } = await begin((line) => (/"method":"blockchain.(scripthash|headers).subscribe"/.test(line) ? null : line));
  for (let i = 1; i <= 40; i++) await whileTimePasses(w, chain.watchScript(scriptNumber(i), 0));
  await w.pass(1_000);
  for (const n of [1, 2]) w.chain.payFromFaucet(scriptNumber(n), 100_000n);
  w.asked.length = 0;
  await whileTimePasses(w, chain.refresh(undefined, { scripts: [scriptNumber(1)] }));
  expect(askedOf(w, "blockchain.scripthash.subscribe")).toBe(1);
  expect([1, 2].map((n) => chain.outputs(scriptNumber(n)).length)).toEqual([1, 0]);
  w.mine();
  await whileTimePasses(w, chain.refresh(undefined, { txids: chain.outputs(scriptNumber(1)).map(({ txid: id }) => id) }));
  expect(chain.status().tip?.height).toBe(w.chain.state.tip.height);
});

test("a server that forgot to tell of what nobody waits for is not held to it before it was asked anew", async () => {
  const { w, chain } = await begin((line, server) =>
    server === 0 && /"method":"blockchain.scripthash.subscribe"/.test(line) ? null : line,
  );
  const calm = scriptNumber(2);
  await whileTimePasses(w, chain.watchScript(calm, 0));
  chain.calm?.(calm);
  await whileTimePasses(w, chain.refresh());
  w.chain.payFromFaucet(calm, 100_000n);
  w.mine();
  for (let look = 0; look < 10; look++) {
    await w.pass(10_000);
    await whileTimePasses(w, chain.refresh());
  }
  expect(chain.outputs(calm)[0]?.block).not.toBeNull();
  await w.pass(400_000);
  expect(chain.servers().map(({ state, contradictions }) => [state, contradictions])).toEqual(
    Array.from({ length: SERVERS }, () => ["connected", 0]),
  );
});

test("who waits for one script or transaction has that one asked about, not all others as well: whoever tells of made-up fees keeps a node waiting", async () => {
  const { w, chain } = await begin((line) => (/"method":"blockchain.scripthash.subscribe"/.test(line) ? null : line));
  for (let i = 1; i <= 40; i++) await whileTimePasses(w, chain.watchScript(scriptNumber(i), 0));
  w.asked.length = 0;
  for (let sec = 0; sec < 120; sec += 2) {
    for (const id of ["ab", "cd", "ef"]) await whileTimePasses(w, chain.watchTx(id.repeat(32), 0));
    await w.pass(2_000);
  }
  expect(askedOf(w, "blockchain.scripthash.subscribe")).toBeLessThanOrEqual(2 * 40);
  w.chain.payFromFaucet(scriptNumber(1), 100_000n);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
});

test("a transaction waited for by its id alone is asked for ever less often, twenty times in an hour at most, and found when it is there", async () => {
  const { w, chain } = await begin();
  const { txid: id, raw } = await notYetSent();
  await whileTimePasses(w, chain.watchTx(id, 0));
  w.asked.length = 0;
  await w.pass(HOUR_MS);
  expect(askedOf(w, GET)).toBeGreaterThan(5);
  expect(askedOf(w, GET)).toBeLessThanOrEqual(20);
  w.daemon.answer("sendrawtransaction", [Buffer.from(raw).toString("hex")]);
  await w.pass(301_000);
  expect(chain.tx(id)?.block).toBeNull();
});

test("a transaction that was sent from here is asked for by nobody while servers do not have it, and found at once when they do", async () => {
  let isRefusing = true;
  const { w, chain } = await begin((line) =>
    isRefusing && /"result":"[0-9a-f]{64}"/.test(line)
      ? line.replace(/"result":"[0-9a-f]{64}"/, '"error":{"code":1,"message":"no"}')
      : line,
  );
  const { txid: id, raw } = await notYetSent();
  for (const server of w.servers) server.faults.add({ kind: "swallow_broadcast" });
  expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "rejected" });
  isRefusing = false;
  w.asked.length = 0;
  await whileTimePasses(w, chain.watchTx(id, 0));
  await w.pass(HOUR_MS);
  expect(askedOf(w, GET)).toBe(0);
  w.daemon.answer("sendrawtransaction", [Buffer.from(raw).toString("hex")]);
  await w.pass(1_000);
  expect(chain.tx(id)?.block).toBeNull();
  w.mine();
  await w.pass(2_000);
  expect(chain.tx(id)?.block?.height).toBe(121);
});

test("whether a transaction waits in mempools is asked in a way that nobody refuses, and one server's word for it does not count", async () => {
  let named = "";
  let refused = 0;
  const { w, chain } = await begin((line, server) => {
    if (line.includes('"error"')) refused++;
    if (server !== 0 || named === "") return line;
    return line.replace('"result":[]', `"result":[{"tx_hash":"${named}","height":0,"fee":1}]`);
  });
  const { txid: id, raw } = await notYetSent();
  w.asked.length = 0;
  expect(await ask(chain, raw, null)).toBe(false);
  named = id;
  expect(await ask(chain, raw, null)).toBe(false);
  expect([refused, w.asked.length]).toEqual([0, 2 * SERVERS]);
  w.daemon.answer("sendrawtransaction", [toHex(raw)]);
  expect(await ask(chain, raw, null)).toBe(true);
});

test.each([
  ["all", 150],
  ["half", 75],
])(
  "a reorganisation that takes %s of many payments out of a block has servers asked for few proofs that they do not have",
  async (_, count) => {
    let isLate = false;
    let refused = 0;
    const { w, chain } = await begin((line) => {
      if (line.includes("not in block")) refused++;
      return isLate && /"method":"blockchain.scripthash.subscribe"/.test(line) ? null : line;
    });
    const script = scriptNumber(1);
    await whileTimePasses(w, chain.watchScript(script, 0));
    for (let i = 0; i < 150; i++) w.pay(script, 100_000n);
    w.mine();
    await whileTimePasses(w, chain.refresh());
    isLate = true;
    const paid = w.chain.state.tip.block.txs.slice(1);
    const left = paid.slice(0, 150 - count);
    expect(w.chain.reorg({ depth: 1, blocks: 2, txs: left }).ok).toBe(true);
    await w.pass(10_000);
    expect(refused / SERVERS).toBeLessThan(30);
    expect(chain.outputs(script).filter(({ block }) => block?.height === 121)).toHaveLength(150 - count);
    isLate = false;
    w.mine();
    await w.pass(10_000);
    expect(chain.outputs(script).filter(({ block }) => block?.height === 123)).toHaveLength(count);
    expect(chain.servers().map(({ state }) => state)).toEqual(["connected", "connected", "connected"]);
  },
);

test("servers that do not know how to tell what waits at a script are asked for the transaction itself, also in a block", async () => {
  const { w, chain } = await begin();
  for (const { faults } of w.servers) faults.add({ kind: "error", code: -32601, message: "method not found", methods: [POOL] });
  const { raw } = await notYetSent();
  expect(await ask(chain, raw, null)).toBe(false);
  w.daemon.answer("sendrawtransaction", [toHex(raw)]);
  expect(await ask(chain, raw, null)).toBe(true);
  w.mine();
  expect(await ask(chain, raw, null)).toBe(true);
  expect(askedOf(w, POOL)).toBeLessThanOrEqual(1);
});

test("a fee that came into a block before anybody asked is found by the history of who pays it, which is asked for at a pace; one server's word does not count", async () => {
  let named = "";
  let refused = 0;
  const { w, chain } = await begin((line, server, call) => {
    if (line.includes('"error"')) refused++;
    if (server !== 0 || named === "" || !call.includes(HISTORY)) return line;
    return line.replace('"result":[', `"result":[{"tx_hash":"${named}","height":1},`).replace(",]", "]");
  });
  const payer = scriptNumber(1);
  w.pay(payer, 100_000n);
  w.mine();
  await whileTimePasses(w, chain.watchScript(payer, 0));
  const raw = serializeTx(spendOf(w.format, 1, chain.outputs(payer), scriptNumber(2)));
  await chain.unwatch({ scripts: [payer] });
  expect(await whileTimePasses(w, ask(chain, raw, payer))).toBe(false);
  named = txid(spendOf(w.format, 1, [], payer));
  expect(await whileTimePasses(w, ask(chain, raw, payer))).toBe(false);
  w.daemon.answer("sendrawtransaction", [toHex(raw)]);
  w.mine();
  expect(await whileTimePasses(w, ask(chain, raw, payer))).toBe(true);
  expect(await whileTimePasses(w, ask(chain, raw, null))).toBe(false);
  expect(refused).toBe(0);
  // Whoever makes up fees may pay them from an address that was paid hundreds of times.
  const crowded = scriptNumber(3);
  for (let i = 0; i < 3; i++) {
    for (let k = 0; k < 50; k++) w.pay(crowded, 1_000n);
    w.mine();
  }
  const { raw: other } = await notYetSent();
  w.asked.length = 0;
  for (let i = 0; i < 10; i++) expect(await whileTimePasses(w, ask(chain, other, crowded))).toBe(false);
  expect(askedOf(w, HISTORY)).toBeLessThanOrEqual(2);
});

test("made-up fees that pay a script at which hundreds of transactions wait have servers asked for these at a pace; a fee that pays another is found at once", async () => {
  const { w, chain } = await begin();
  const crowded = scriptNumber(3);
  for (let i = 0; i < 300; i++) w.pay(crowded, 1_000n);
  const madeUp = (n: number) => serializeTx(spendOf(w.format, 1, [{ txid: "ab".repeat(32), vout: n, value: 100_000n }], crowded));
  w.asked.length = 0;
  for (let n = 0; n < 40; n++) {
    expect(await whileTimePasses(w, ask(chain, madeUp(n), null))).toBe(false);
    await w.pass(2_000);
  }
  // Of 300 lines that count twice: one in fifteen seconds.
  expect(askedOf(w, POOL)).toBeLessThanOrEqual(8);
  const paid = w.chain.payFromFaucet(scriptNumber(5), 100_000n);
  expect(paid.ok && (await ask(chain, paid.value.raw, null))).toBe(true);
});

test("of what was sent from here and pays scripts of no address, nothing is kept: others may have made it, as large as they like", async () => {
  const { w, chain } = await begin();
  const input = { txid: "ab".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  const tx: Tx = { version: 1, inputs: [input], outputs: [{ value: 1_000n, script: new Uint8Array(5_000).fill(0x51) }], lockTime: 0 };
  expect(await whileTimePasses(w, chain.broadcast(serializeTx(tx)))).toMatchObject({ kind: "rejected" });
  w.asked.length = 0;
  await whileTimePasses(w, chain.watchTx(txid(tx), 0));
  expect(askedOf(w, GET)).toBe(1);
});

test("a history that servers refuse is asked for ever less often, twenty times in an hour at most, and read when they tell it", async () => {
  let isRefusing = true;
  const { w, chain } = await begin((line) =>
    isRefusing && line.includes('"tx_hash"')
      ? line.replace(/"result":\[.*\](?=,"id")/, '"error":{"code":1,"message":"history too large"}')
      : line,
  );
  w.pay(scriptNumber(1), 100_000n);
  void chain.watchScript(scriptNumber(1), 0).catch(() => undefined);
  await w.pass(1_000);
  w.asked.length = 0;
  await w.pass(HOUR_MS);
  expect(askedOf(w, HISTORY)).toBeGreaterThan(5);
  expect(askedOf(w, HISTORY)).toBeLessThanOrEqual(20);
  isRefusing = false;
  await w.pass(301_000);
  expect(chain.outputs(scriptNumber(1))).toHaveLength(1);
});

test("a server that is behind is not asked about blocks it does not have, however long notarizations are waited for", async () => {
  const refused: string[] = [];
  const { w, chain } = await begin((line, server) => {
    if (server === 2 && line.includes('"error"')) refused.push(line);
    return line;
  }, KMD_COIN);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.servers[2]?.faults.add({ kind: "lag", blocks: 5 });
  // Nor has its mempool what these blocks hold.
  w.servers[2]?.faults.add({ kind: "hide", txid: w.pay(scriptNumber(1), 100_000n) });
  w.mine(4);
  await w.pass(600_000);
  expect(chain.outputs(scriptNumber(1))[0]?.block?.height).toBe(121);
  expect(refused).toEqual([]);
});

test("a server that is behind is not asked what the last block paid, either", async () => {
  const refused: string[] = [];
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS, (line, server) => {
    if (server === 0 && line.includes('"error"')) refused.push(line);
    return line;
  });
  cleanup.push(() => w.close());
  w.servers[0]?.faults.add({ kind: "lag", blocks: 1 });
  const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"), { readsReward: true });
  cleanup.push(() => chain.close());
  for (let i = 0; i < 5; i++) {
    w.mine();
    await whileTimePasses(w, chain.refresh());
  }
  expect(chain.blockRewardUnits()).not.toBeNull();
  expect(refused).toEqual([]);
});

test("a server that answers late is asked for its last block once at a time, however often is looked", async () => {
  const { w, chain } = await begin();
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.servers[2]?.faults.add({ kind: "slow", delayMs: 1_900 });
  for (let i = 0; i < 5; i++) await whileTimePasses(w, chain.refresh());
  expect(chain.servers()[2]?.latencyMs).toBeGreaterThan(1_000);
  w.askedOf(2).length = 0;
  for (let i = 0; i < 100; i++) {
    w.pay(scriptNumber(1), 1_000n);
    await w.pass(200);
  }
  expect(w.askedOf(2).filter((method) => method === "blockchain.headers.subscribe").length).toBeLessThanOrEqual(12);
  expect(chain.servers()[2]).toMatchObject({ state: "connected" });
});

test("servers of a chain that could be notarized and is not are asked about it at new blocks, of one transaction", async () => {
  const { w, chain } = await begin((line) => line, KMD_COIN);
  for (let i = 0; i < 40; i++) {
    w.pay(scriptNumber(1), 100_000n);
    w.mine();
  }
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  await w.pass(60_000);
  w.askedOf(1).length = 0;
  for (let i = 0; i < 6; i++) {
    w.mine();
    await w.pass(60_000);
  }
  const details = w.askedOf(1).filter((method) => method === `${GET} with details`).length;
  expect(details).toBeGreaterThanOrEqual(6);
  // At a block, and once more until the next: of the last block but one, and of one payment.
  expect(details).toBeLessThanOrEqual(6 * 2 * 2);
});

test("one server that shows notarizations on a chain without notaries has the others asked about them no more often", async () => {
  const { w, chain } = await begin((line, server) =>
    server === 0 && line.includes('"confirmations"') ? line.replace('"confirmations"', '"rawconfirmations":9,"confirmations"') : line,
  );
  w.pay(scriptNumber(1), 100_000n);
  w.mine();
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  w.askedOf(1).length = 0;
  for (let i = 0; i < 6; i++) {
    w.mine();
    await w.pass(60_000);
  }
  expect(w.askedOf(1).filter((method) => method === `${GET} with details`).length).toBeLessThanOrEqual(2);
});

test.each([false, true])(
  "a transaction that all name and nobody gives in a form this node reads is asked for ever less often, guarded: %s",
  async (isGuarded) => {
    let isReadable = false;
    let id = "";
    let bytes = "";
    const { w, chain } = await begin((line) => (isReadable || bytes === "" ? line : line.replace(`"result":"${bytes}"`, '"result":"00"')));
    await whileTimePasses(w, chain.watchScript(scriptNumber(2), 0));
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    if (isGuarded) chain.guard?.(scriptNumber(1), { dueSec: w.clock.nowMs(), onTx: () => undefined });
    const paid = w.chain.payFromFaucet(scriptNumber(1), 100_000n);
    if (!paid.ok) throw new Error("not paid");
    id = paid.value.txid;
    bytes = Buffer.from(paid.value.raw).toString("hex");
    await w.pass(1_000);
    expect(chain.tx(id)).toBeUndefined();
    w.asked.length = 0;
    for (let i = 0; i < 60; i++) {
      w.pay(scriptNumber(2), 1_000n);
      await w.pass(1_000);
    }
    // Each of the others is read once, at one of the servers.
    expect(askedOf(w, GET)).toBeLessThanOrEqual(10 + 60 / SERVERS);
    isReadable = true;
    await w.pass(60_000);
    expect(chain.tx(id)?.block).toBeNull();
  },
);

test("a transaction that all refuse is offered every two minutes in the end, however often it is sent; each server is asked once whether it has it", async () => {
  let refusal = "no";
  const { w, chain } = await begin((line) =>
    /"result":"[0-9a-f]{64}"/.test(line) ? line.replace(/"result":"[0-9a-f]{64}"/, `"error":{"code":1,"message":"${refusal}"}`) : line,
  );
  const { raw } = await notYetSent();
  for (const server of w.servers) server.faults.add({ kind: "swallow_broadcast" });
  w.asked.length = 0;
  const send = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "rejected", code: 1 });
      await w.pass(5_000);
    }
  };
  await send(HOUR_MS / 5_000);
  expect(askedOf(w, BROADCAST)).toBeGreaterThan(30);
  expect(askedOf(w, BROADCAST)).toBeLessThanOrEqual(36);
  expect(askedOf(w, GET)).toBe(1);
  refusal = "another reason";
  await send(24);
  expect(askedOf(w, GET)).toBe(2);
});

test("a transaction that one of two refuses while the other says that it took it is offered to that one every two minutes in the end, and to the other each time", async () => {
  const { w, chain } = await begin(undefined, SEGWIT_COIN, 2);
  const { raw } = await notYetSent();
  w.servers[0]?.faults.add({ kind: "swallow_broadcast" });
  w.servers[1]?.faults.add({ kind: "error", code: 1, message: "min relay fee not met", methods: [BROADCAST] });
  const asked = w.servers.map((_, i) => w.askedOf(i));
  for (const calls of asked) calls.length = 0;
  for (let i = 0; i < HOUR_MS / 5_000; i++) {
    expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "unknown" });
    await w.pass(5_000);
  }
  const [taking, refusing] = asked.map((calls) => calls.filter((method) => method === BROADCAST).length);
  expect(taking).toBe(HOUR_MS / 5_000);
  expect(refusing).toBeGreaterThan(30);
  expect(refusing).toBeLessThanOrEqual(36);
  expect(asked[1]?.filter((method) => method === GET)).toHaveLength(1);
});

test("a refused transaction is offered at once when one it spends from appears or gets a block, when other servers are there, and once it is seen", async () => {
  const { w, chain } = await begin();
  await whileTimePasses(w, chain.watchScript(scriptNumber(5), 0));
  for (const server of w.servers) server.faults.add({ kind: "error", code: 1, message: "no", methods: [BROADCAST] });
  const parent = await notYetSent();
  const raw = serializeTx(spendOf(w.format, 5, [{ txid: parent.txid, vout: 0, value: 100_000n }], scriptNumber(2)));
  const offers = async (): Promise<readonly number[]> => {
    const counts: number[] = [];
    for (let i = 0; i < 2; i++) {
      w.asked.length = 0;
      await whileTimePasses(w, chain.broadcast(raw));
      counts.push(w.asked.filter((m) => m === BROADCAST).length);
    }
    return counts;
  };
  expect(await offers()).toEqual([SERVERS, 0]);
  w.daemon.answer("sendrawtransaction", [Buffer.from(parent.raw).toString("hex")]);
  await w.pass(1_000);
  expect(await offers()).toEqual([SERVERS, 0]);
  w.mine();
  await w.pass(1_500);
  expect(await offers()).toEqual([SERVERS, 0]);
  const away = w.servers[2]?.faults.add({ kind: "refuse" });
  await w.pass(500);
  expect(await offers()).toEqual([0, 0]);
  w.servers[2]?.faults.clear(away?.id);
  await w.pass(1_500);
  expect(await offers()).toEqual([1, 0]);
  w.daemon.answer("sendrawtransaction", [Buffer.from(raw).toString("hex")]);
  await w.pass(500);
  expect(await whileTimePasses(w, chain.broadcast(raw))).toEqual({ kind: "already_known" });
});

test.each([
  [-32601, "Method not found"],
  [-32600, 'unknown method "x"'],
  [0, "unsupported method: x"],
])(
  "what a server does not know how to answer (%i %s) is asked of it once a connection, is no fault of it, and others are asked for it",
  async (code, message) => {
    const optional = ["blockchain.estimatefee", "blockchain.relayfee", "mempool.get_fee_histogram", "blockchain.transaction.id_from_pos"];
    const w = await startElectrumChain(SEGWIT_COIN, SERVERS);
    cleanup.push(() => w.close());
    for (const { faults } of w.servers.slice(1)) faults.add({ kind: "false_fee", rate: 0.0002 });
    const refusing = w.servers[0]?.faults.add({ kind: "error", code, message, methods: [...optional, "server.ping"] });
    const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
    const chain = await w.openElectrum(store, { timeoutMs: 2_000, readsReward: true });
    cleanup.push(() => chain.close());
    await whileTimePasses(w, chain.refresh());
    /** Of the first server alone. */
    const asked = (): readonly string[] => w.askedOf(0).filter((method) => [...optional, "server.ping"].includes(method));
    for (let i = 0; i < 10; i++) {
      expect(await whileTimePasses(w, chain.estimateFeePerKb(2))).toBe(20_000n);
      w.mine();
      await w.pass(700_000);
    }
    expect(new Set(asked()).size).toBeGreaterThanOrEqual(3);
    expect(asked()).toHaveLength(new Set(asked()).size);
    expect(chain.relayFeePerKb()).toBe(20_000n);
    expect(chain.servers()[0]).toMatchObject({ state: "connected", trouble: null, contradictions: 0 });
    // Another program may answer at the same place after the connection is gone.
    w.servers[0]?.faults.clear(refusing?.id);
    const away = w.servers[0]?.faults.add({ kind: "refuse" });
    await w.pass(1_000);
    w.servers[0]?.faults.clear(away?.id);
    await w.pass(60_000);
    w.askedOf(0).length = 0;
    await whileTimePasses(w, chain.estimateFeePerKb(2));
    expect(asked()).toContain("blockchain.estimatefee");
  },
);

test("the many transactions of one history are asked for in equal shares, not all of the first server", async () => {
  const given = [0, 0, 0];
  const { w, chain } = await begin((line, server) => {
    if (/"result":"0[0-9a-f]{100,}"/.test(line) || line.includes('"pos"')) given[server] = (given[server] ?? 0) + 1;
    return line;
  });
  for (let i = 0; i < 150; i++) {
    w.pay(scriptNumber(1), 1_000n);
    if (i % 20 === 19) w.mine();
  }
  w.mine();
  given.fill(0);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  expect(chain.outputs(scriptNumber(1))).toHaveLength(150);
  for (const count of given) expect(count).toBeGreaterThan(80);
  for (const count of given) expect(count).toBeLessThan(130);
});

test("a script that others pay hundreds of times, and then every second, is asked about no faster than servers bear, and what waits there is seen all the same", async () => {
  const { w, chain } = await begin();
  const script = scriptNumber(1);
  for (let i = 0; i < 10; i++) {
    for (let k = 0; k < 40; k++) w.pay(script, 1_000n);
    w.mine();
  }
  await whileTimePasses(w, chain.watchScript(script, 0));
  expect(chain.outputs(script)).toHaveLength(400);
  w.asked.length = 0;
  for (let i = 0; i < 120; i++) {
    w.pay(script, 1_000n);
    if (i % 20 === 19) w.mine();
    await w.pass(1_000);
  }
  // Of 400 lines and more each: eight are counted for one, and one a second is forgiven.
  expect(askedOf(w, HISTORY)).toBeGreaterThan(5);
  expect(askedOf(w, HISTORY)).toBeLessThanOrEqual(13);
  // A mempool is asked for every five seconds, and less often the more waits there.
  expect(chain.outputs(script).length).toBeGreaterThan(510);
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  await w.pass(30_000);
  expect(chain.outputs(script)).toHaveLength(520);
  expect(chain.outputs(script).every(({ block }) => block !== null)).toBe(true);
});

/** What ElectrumX (1.15) counts for an answer to a call: what both take on the way, and what it has to look up. */
function costOf(line: string, call: string): number {
  const method = call === "" ? "" : (JSON.parse(call) as { readonly method: string }).method;
  const { result } = JSON.parse(line) as { readonly result?: unknown };
  const waiting = Array.isArray(result) ? (result as { readonly height?: number }[]).filter(({ height = 1 }) => height <= 0).length : 0;
  const looked = method === HISTORY || method === POOL ? 0.35 + waiting / 50 : method === GET ? 1 : 0.1;
  return looked + (line.length + call.length) / 5_000;
}

/** Makes transactions each of which pays all of `scripts`. */
function payingAll(w: ElectrumWorld, count: number, scripts: readonly Uint8Array[]): () => void {
  const purse = scriptNumber(999);
  const funds: { readonly txid: string; readonly vout: number; readonly value: bigint }[] = [];
  while (funds.length < count) {
    for (let k = 0; k < 40; k++) {
      const paid = w.chain.payFromFaucet(purse, 1_000_000n);
      if (!paid.ok) throw new Error("not paid");
      const vout = paid.value.tx.outputs.findIndex(({ script }) => toHex(script) === toHex(purse));
      funds.push({ txid: paid.value.txid, vout, value: 1_000_000n });
    }
    w.mine();
  }
  return () => {
    const [from] = funds.splice(0, 1);
    if (from === undefined) throw new Error("nothing is left");
    const outputs = scripts.map((script) => ({ script, value: 1_000n }));
    w.daemon.answer("sendrawtransaction", [toHex(serializeTx({ ...spendOf(w.format, 999, [from], purse), outputs }))]);
  };
}

test.each([
  ["long histories", false, 110],
  ["histories that are refused", true, 110],
  ["short histories", false, 0],
])(
  "one transaction after the other that pays all contracts, which have %s, costs servers no more than they bear",
  async (_, isRefused, before) => {
    let cost = 0;
    const { w, chain } = await begin((line, server, call) => {
      if (server === 0) cost += costOf(line, call);
      return line;
    });
    const scripts = Array.from({ length: 20 }, (_, i) => scriptNumber(i + 1));
    for (const script of scripts) await whileTimePasses(w, chain.watchScript(script, 100));
    const payAll = payingAll(w, before + 120, scripts);
    for (let i = 1; i <= before; i++) {
      payAll();
      if (i % 20 === 0) w.mine();
    }
    w.mine();
    if (isRefused) for (const { faults } of w.servers) faults.add({ kind: "short_histories", lines: 100 });
    await w.pass(10_000);
    cost = 0;
    for (let i = 0; i < 120; i++) {
      payAll();
      if (i % 60 === 59) w.mine();
      await w.pass(10_000);
    }
    // Of 1,500 at once, and one a second that is forgiven, beside what it tells by itself.
    expect(cost).toBeLessThan(3_300);
    await w.pass(900_000);
    expect(scripts.map((script) => chain.outputs(script).length)).toEqual(scripts.map(() => before + 120));
    expect(chain.servers().map(({ state }) => state)).toEqual(["connected", "connected", "connected"]);
  },
);

test("who told a long history just before a reorganisation is not held to what left the chain, and is asked for it again at once", async () => {
  const { w, chain } = await begin();
  const script = scriptNumber(1);
  for (let i = 0; i < 10; i++) {
    for (let k = 0; k < 40; k++) w.pay(script, 1_000n);
    w.mine();
  }
  await whileTimePasses(w, chain.watchScript(script, 0));
  w.reorg(1, 2);
  for (let i = 0; i < 5; i++) {
    w.pay(script, 1_000n);
    await w.pass(1_000);
  }
  expect(chain.servers().map(({ state, trouble, contradictions }) => [state, trouble, contradictions])).toEqual(
    Array.from({ length: SERVERS }, () => ["connected", null, 0]),
  );
  expect(chain.status()).toMatchObject({ state: "ready", error: null });
  expect(chain.outputs(script).filter(({ block }) => block !== null)).toHaveLength(360);
  w.mine();
  await w.pass(15_000);
  expect(chain.outputs(script).filter(({ block }) => block !== null)).toHaveLength(405);
});

test("what nobody gave once is found when it is given, however many others of its script are given by nobody", async () => {
  const hidden = new Set<string>();
  const { w, chain } = await begin((line) => {
    const [, bytes = ""] = /"result":"([0-9a-f]{162,})"/.exec(line) ?? [];
    return hidden.has(bytes) ? line.replace(/"result":"[0-9a-f]+"/, '"error":{"code":1,"message":"no"}') : line;
  });
  const paid: string[] = [];
  for (let i = 0; i < 81; i++) {
    paid.push(w.pay(scriptNumber(1), 1_000n));
    w.mine();
  }
  const bytesOf = new Map(w.blocks().flatMap(({ txs }) => txs.map((tx) => [txid(tx), toHex(serializeTx(tx))] as const)));
  for (const id of paid) hidden.add(bytesOf.get(id) ?? expect.fail("not there"));
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  await w.pass(10_000);
  expect(chain.outputs(scriptNumber(1))).toEqual([]);
  hidden.delete(bytesOf.get(paid[40] ?? "") ?? "");
  await w.pass(330_000);
  expect(chain.outputs(scriptNumber(1)).map((o) => o.txid)).toEqual([paid[40]]);
});

describe("what many unconfirmed transactions turn out not to be there costs servers no more than they bear", () => {
  const NOT_THERE = /"error":\{"code":2,/;
  const many = (w: ElectrumWorld, count: number): readonly string[] => Array.from({ length: count }, () => w.pay(scriptNumber(1), 1_000n));

  test("where others replace what they had paid, all at once: what is not asked for is gone a minute later", async () => {
    let refused = 0;
    const { w, chain } = await begin((line) => {
      if (NOT_THERE.test(line)) refused++;
      return line;
    });
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    const paid = many(w, 90);
    await w.pass(2_000);
    expect(chain.outputs(scriptNumber(1))).toHaveLength(90);
    for (const { faults } of w.servers) for (const id of paid) faults.add({ kind: "hide", txid: id });
    await w.pass(10_000);
    expect(refused).toBeGreaterThan(0);
    await w.pass(60_000);
    expect(chain.outputs(scriptNumber(1))).toEqual([]);
    expect(refused).toBeLessThanOrEqual(22 * SERVERS);
  });

  test("where two servers of five make them up, ever anew: none of them is there for long", async () => {
    let refused = 0;
    const { w, chain } = await begin(
      (line, server) => {
        if (server > 1 && NOT_THERE.test(line)) refused++;
        return line;
      },
      SEGWIT_COIN,
      5,
    );
    const { w: made } = await begin();
    for (const at of [0, 1]) w.replace(at, made.servers[at] ?? expect.fail("no server"));
    for (const at of [0, 1]) w.servers[at]?.faults.add({ kind: "refuse" });
    await w.pass(5_000);
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    expect(chain.servers().map(({ state }) => state)).toEqual(new Array(5).fill("connected"));
    for (let round = 0; round < 10; round++) {
      many(made, 20);
      await w.pass(1_000);
    }
    await w.pass(60_000);
    expect(chain.outputs(scriptNumber(1))).toEqual([]);
    expect(refused).toBeLessThanOrEqual(22 * SERVERS);
    // What most tell of counts all the same.
    many(w, 3);
    await w.pass(2_000);
    expect(chain.outputs(scriptNumber(1))).toHaveLength(3);
  });

  test("where two servers of five make them up and say that they are in a block, of which they show another one", async () => {
    let other = "";
    const lied = (line: string): string =>
      line.replace(/"result":"[0-9a-f]{160}"/, `"result":"${other}"`).replaceAll('"height":0', '"height":100');
    const { w, chain } = await begin((line, server) => (server < 2 && other !== "" ? lied(line) : line), SEGWIT_COIN, 5);
    const { w: made } = await begin();
    for (const at of [0, 1]) w.replace(at, made.servers[at] ?? expect.fail("no server"));
    for (const at of [0, 1]) w.servers[at]?.faults.add({ kind: "refuse" });
    await w.pass(5_000);
    await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
    other = toHex(serializeHeader(w.chain.state.at(1)?.block.header ?? expect.fail("no block")));
    for (let round = 0; round < 5; round++) {
      many(made, 20);
      await w.pass(1_000);
    }
    await w.pass(70_000);
    for (let round = 0; round < 5; round++) {
      many(made, 1);
      await w.pass(30_000);
      expect(chain.outputs(scriptNumber(1))).toEqual([]);
    }
    expect(chain.servers().map(({ state }) => state)).toEqual(new Array(5).fill("connected"));
  });
});
