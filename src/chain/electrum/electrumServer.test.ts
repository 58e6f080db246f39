import { sha256 } from "@noble/hashes/sha2.js";
import { describe, expect, test } from "vitest";
import { createChainWorld, fund, pay, payTo, testKey } from "../../../test/fakes/chainWorld.ts";
import { electrumClient, type Json, pipedClient } from "../../../test/fakes/electrumClient.ts";
import { seededRng } from "../../adapters/virtualClock/seededRng.ts";
import { concatBytes, fromHex, reversed, toHex } from "../../core/util/bytes.ts";
import { hash256 } from "../../core/utxo/hash.ts";
import { randomBelow } from "../../ports/rng.ts";
import { serializeHeader } from "../block.ts";
import { ChainDaemon } from "../daemon.ts";
import type { EmbeddedChain } from "../embeddedChain.ts";
import { ElectrumServer } from "./electrumServer.ts";
import { scriptHashOf } from "./scriptHash.ts";

const OWNER = testKey("owner");
const OUT = payTo(testKey("anyone"));

async function world(kind: "legacy" | "segwit" | "kmd" = "segwit") {
  const { chain, clock } = createChainWorld(kind);
  const daemon = new ChainDaemon(chain, clock);
  const server = new ElectrumServer(daemon, clock);
  return { chain, clock, daemon, server, client: await pipedClient(server) };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

/** Lines "txid height" of a script, worked out from the blocks in the plainest way. */
function truth(chain: EmbeddedChain, script: Uint8Array): string[] {
  const wanted = toHex(script);
  const outputs = new Map<string, string>();
  const lines: string[] = [];
  const look = (txs: readonly { txid: string; tx: Json }[], height: (txid: string) => number): void => {
    for (const { txid, tx } of txs) {
      for (const [n, o] of tx.outputs.entries()) outputs.set(`${txid}:${n}`, toHex(o.script));
      const pays = tx.outputs.some((o: Json) => toHex(o.script) === wanted);
      const spends = tx.inputs.some((i: Json) => outputs.get(`${i.txid}:${i.vout}`) === wanted);
      if (pays || spends) lines.push(`${txid} ${height(txid)}`);
    }
  };
  for (let h = 1; h <= chain.state.tip.height; h++) look(chain.state.at(h)?.block.txs ?? [], () => h);
  const waiting = chain.mempool.graph.entries();
  const ids = new Set(waiting.map((e) => e.chainTx.txid));
  look(
    waiting.map((e) => e.chainTx),
    (txid) => (waiting.find((e) => e.chainTx.txid === txid)?.chainTx.tx.inputs.some((i) => ids.has(i.txid)) ? -1 : 0),
  );
  return lines;
}

const linesOf = (history: Json): string[] => history.map((l: Json) => `${l.tx_hash} ${l.height}`);

const rootOf = (leaf: string, branch: readonly string[], pos: number): string => {
  let hash = reversed(fromHex(leaf));
  for (const [i, beside] of branch.entries()) {
    const other = reversed(fromHex(beside));
    hash = hash256((pos >> i) & 1 ? concatBytes(other, hash) : concatBytes(hash, other));
  }
  return toHex(reversed(hash));
};

test("a script's history, coins and balance follow a payment from the mempool into a block, and its spend", async () => {
  const { chain, client } = await world();
  const hash = scriptHashOf(payTo(OWNER));
  expect(await client.call("blockchain.scripthash.subscribe", hash)).toBeNull();
  expect(await client.call("blockchain.scripthash.get_history", hash)).toEqual([]);
  const paid = chain.payFromFaucet(payTo(OWNER), 5_000_000n);
  if (!paid.ok) throw new Error(paid.error.kind);
  const { txid } = paid.value;
  const vout = paid.value.tx.outputs.findIndex((o) => o.value === 5_000_000n);
  const [line] = await client.call("blockchain.scripthash.get_mempool", hash);
  expect(line).toMatchObject({ tx_hash: txid, height: 0 });
  expect(line.fee).toBe(Number(chain.mempool.graph.get(txid)?.fee));
  expect(await client.call("blockchain.scripthash.get_balance", hash)).toEqual({ confirmed: 0, unconfirmed: 5_000_000 });
  chain.mine(1);
  const height = chain.state.tip.height;
  expect(await client.call("blockchain.scripthash.get_history", hash)).toEqual([{ tx_hash: txid, height }]);
  const coin = { tx_hash: txid, tx_pos: vout, value: 5_000_000, height };
  expect(await client.call("blockchain.scripthash.listunspent", hash)).toEqual([coin]);
  const spend = pay(chain, [{ txid, vout, value: 5_000_000n, script: payTo(OWNER) }], OWNER, [{ value: 4_990_000n, script: OUT }]);
  expect(await client.call("blockchain.transaction.broadcast", toHex(spend.raw))).toBe(spend.txid);
  expect(await client.call("blockchain.scripthash.get_balance", hash)).toEqual({ confirmed: 5_000_000, unconfirmed: -5_000_000 });
  expect(await client.call("blockchain.scripthash.listunspent", hash)).toEqual([]);
  expect(linesOf(await client.call("blockchain.scripthash.get_history", hash))).toEqual([`${txid} ${height}`, `${spend.txid} 0`]);
  expect(await client.call("blockchain.transaction.get", spend.txid)).toBe(toHex(spend.raw));
  await settle();
  const status = toHex(sha256(Buffer.from(`${txid}:${height}:${spend.txid}:0:`)));
  expect(client.told.at(-1)).toEqual({ jsonrpc: "2.0", method: "blockchain.scripthash.subscribe", params: [hash, status] });
  expect(await client.call("blockchain.scripthash.unsubscribe", hash)).toBe(true);
  expect(await client.call("blockchain.scripthash.unsubscribe", hash)).toBe(false);
});

test("a child of an unconfirmed transaction has height -1, and 0 once its parent is in a block", async () => {
  const { chain, client } = await world();
  const paid = chain.payFromFaucet(payTo(OWNER), 5_000_000n);
  if (!paid.ok) throw new Error(paid.error.kind);
  const { txid, tx } = paid.value;
  const vout = tx.outputs.findIndex((o) => o.value === 5_000_000n);
  const child = pay(chain, [{ txid, vout, value: 5_000_000n, script: payTo(OWNER) }], OWNER, [{ value: 4_990_000n, script: OUT }]);
  expect(chain.send(child).ok).toBe(true);
  const heights = async (): Promise<number[]> => {
    const history = await client.call("blockchain.scripthash.get_history", scriptHashOf(payTo(OWNER)));
    return history.map((l: Json) => l.height);
  };
  expect(await heights()).toEqual([0, -1]);
  chain.mineExactly(chain.faucetScript, [paid.value]);
  expect(await heights()).toEqual([chain.state.tip.height, 0]);
});

test("histories are those of the blocks after any payments, spends, blocks and reorganisations", async () => {
  const { chain, client } = await world();
  const rng = seededRng(11);
  const keys = [testKey("a"), testKey("b"), testKey("c")];
  const scripts = [...keys.map(payTo), chain.faucetScript];
  for (let step = 0; step < 60; step++) {
    const pick = randomBelow(rng, 10);
    const key = keys[randomBelow(rng, keys.length)] ?? OWNER;
    if (pick < 4) chain.payFromFaucet(payTo(key), 100_000n);
    else if (pick < 6) {
      const coins = chain.state.coins.ofScript(toHex(payTo(key))).slice(0, 2);
      const total = coins.reduce((n, c) => n + c.value, 0n);
      if (coins.length > 0) chain.send(pay(chain, coins, key, [{ value: total - 2_000n, script: payTo(keys[0] ?? OWNER) }]));
    } else if (pick < 8) chain.mine(1 + randomBelow(rng, 3));
    else chain.reorg({ depth: 1 + randomBelow(rng, 3), forget: pick === 9 ? chain.state.tip.block.txs.slice(1).map((t) => t.txid) : [] });
    for (const script of scripts) {
      const answer = await client.call("blockchain.scripthash.get_history", scriptHashOf(script));
      expect(linesOf(answer), `step ${step}`).toEqual(truth(chain, script));
    }
  }
  expect(chain.state.tip.height).toBeGreaterThan(130);
});

test("branches lead from the transaction to the header of its block, for blocks of every size up to nine", async () => {
  const { chain, client } = await world();
  for (let size = 0; size < 9; size++) {
    for (let i = 0; i < size; i++) expect(chain.payFromFaucet(OUT, 50_000n).ok).toBe(true);
    chain.mine(1);
    const { block, height } = chain.state.tip;
    expect(block.txs.length).toBe(size + 1);
    const header = await client.call("blockchain.block.header", height);
    for (const [pos, { txid }] of block.txs.entries()) {
      const proof = await client.call("blockchain.transaction.get_merkle", txid, height);
      expect(proof).toMatchObject({ block_height: height, pos });
      expect(toHex(reversed(fromHex(rootOf(txid, proof.merkle, pos))))).toBe(header.slice(72, 136));
      const byPos = await client.call("blockchain.transaction.id_from_pos", height, pos, true);
      expect(byPos).toEqual({ tx_hash: txid, merkle: proof.merkle });
      expect(await client.call("blockchain.transaction.id_from_pos", height, pos)).toBe(txid);
    }
  }
});

test("headers link, and a checkpoint proves them", async () => {
  const { chain, client } = await world();
  const { hex, count, max } = await client.call("blockchain.block.headers", 5, 30);
  expect([hex.length, count, max]).toEqual([30 * 160, 30, 2_016]);
  for (let i = 0; i < 30; i++) {
    const entry = chain.state.at(5 + i);
    expect(hex.slice(160 * i, 160 * (i + 1))).toBe(entry ? toHex(serializeHeader(entry.block.header)) : "");
  }
  const top = chain.state.tip.height;
  expect((await client.call("blockchain.block.headers", top - 1, 10)).count).toBe(2);
  expect((await client.call("blockchain.block.headers", top + 5, 10)).count).toBe(0);
  for (const height of [0, 7, 100]) {
    const { branch, root, header } = await client.call("blockchain.block.header", height, 100);
    expect(header).toBe(await client.call("blockchain.block.header", height));
    expect(rootOf(chain.state.at(height)?.block.hash ?? "", branch, height)).toBe(root);
  }
  expect((await client.call("blockchain.block.headers", 1, 3, 100)).root).toHaveLength(64);
});

test("blocks mined in one go are one notification, a reorganisation to the same height is one too", async () => {
  const { chain, client } = await world();
  const { height, hex } = await client.call("blockchain.headers.subscribe");
  expect([height, hex]).toEqual([chain.state.tip.height, toHex(serializeHeader(chain.state.tip.block.header))]);
  chain.mine(3);
  await settle();
  expect(client.told.map((t) => t.params[0].height)).toEqual([height + 3]);
  const fork = chain.state.at(height + 2);
  if (fork) chain.invalidate(fork);
  chain.mine(2);
  await settle();
  expect(client.told.map((t) => t.params[0].height)).toEqual([height + 3, height + 3]);
  expect(client.told[0].params[0].hex).not.toBe(client.told[1].params[0].hex);
});

test("what is asked wrongly is refused in words of ElectrumX, and the connection stays", async () => {
  const { chain, client } = await world();
  const none = "11".repeat(32);
  expect(await client.call("blockchain.nosuch")).toBe('-32601 unknown method "blockchain.nosuch"');
  expect(await client.call("toString")).toBe('-32601 unknown method "toString"');
  expect(await client.call("blockchain.transaction.get", "zz")).toBe("1 zz should be a transaction hash");
  expect(await client.call("blockchain.transaction.get", none)).toMatch(/^2 daemon error: DaemonError\(\{'code': -5, 'message': 'No such/);
  expect(await client.call("blockchain.scripthash.get_history", 5)).toBe("1 5 is not a valid script hash");
  expect(await client.call("blockchain.block.header", 9_999)).toBe("1 height 9,999 out of range");
  expect(await client.call("blockchain.block.header", -1)).toBe("1 -1 should be a non-negative integer");
  expect(await client.call("blockchain.block.header")).toMatch(/^-32602 /);
  expect(await client.call("blockchain.block.header", 5, chain.state.tip.height + 1)).toMatch(/^1 require header height/);
  expect(await client.call("blockchain.transaction.get_merkle", none, 3)).toBe(`1 tx ${none} not in block at height 3`);
  expect(await client.call("blockchain.transaction.broadcast", "00")).toMatch(
    /^1 the transaction was rejected by network rules\.\n\nTX decode/,
  );
  expect(await client.call("server.version", "x", "1.4")).toBe("1 server.version already sent");
  client.send("{");
  client.send([]);
  client.send({ id: {}, method: "server.ping" });
  client.send(7);
  client.send({ method: "server.ping", params: [] });
  expect(await client.call("server.ping")).toBeNull();
  expect(client.told.map((t) => t.error?.code)).toEqual([-32700, -32600, -32600, -32600]);
});

test("a batch is answered with a batch, calls by name are read, and nothing is served before the version", async () => {
  const { server } = await world();
  const client = electrumClient((peer) => server.connect(peer)?.write ?? (() => {}));
  expect(await client.call("server.ping")).toBe("1 use server.version to identify client");
  expect(await client.call("server.version", "x", "1.2")).toMatch(/^1 unsupported protocol version/);
  expect(await client.call("server.version", "x", ["1.2", "1.4"])).toEqual(["swapnode chain 1.0", "1.4"]);
  expect(await client.call("blockchain.scripthash.unsubscribe", "00".repeat(32))).toMatch(/^-32601 unknown method/);
  client.send([
    { jsonrpc: "2.0", id: "a", method: "blockchain.block.header", params: { height: 0 } },
    { jsonrpc: "2.0", id: "b", method: "nosuch" },
    { jsonrpc: "2.0", method: "server.ping" },
  ]);
  await settle();
  expect(client.told).toHaveLength(1);
  expect(client.told[0].map((r: Json) => [r.id, r.error?.code ?? r.result.length])).toEqual([
    ["a", 160],
    ["b", -32601],
  ]);
});

test("a line without an end closes the connection", async () => {
  const { server, client } = await world();
  for (let i = 0; i < 11; i++) client.write(new Uint8Array(100_000).fill(0x20));
  await settle();
  expect([client.state.closed, server.connections]).toEqual([true, 0]);
});

test("fee estimates, relay fee and histogram are the daemon's, on both dialects", async () => {
  for (const kind of ["segwit", "kmd"] as const) {
    const { chain, daemon, client } = await world(kind);
    await daemon.call("chain_setFeeRate", [0.005]);
    expect(await client.call("blockchain.estimatefee", 2)).toBe(0.005);
    await daemon.call("chain_setFeeRate", ["none"]);
    expect(await client.call("blockchain.estimatefee", 2)).toBe(-1);
    expect(await client.call("blockchain.relayfee")).toBe(Number(chain.params.minRelayFeePerKb) / 1e8);
    const coin = fund(chain, payTo(OWNER));
    const tx = pay(chain, [coin], OWNER, [{ value: coin.value - 10_000n, script: OUT }]);
    chain.send(tx);
    expect(await client.call("mempool.get_fee_histogram")).toEqual([[Math.floor(10_000 / tx.vsize), tx.vsize]]);
    const waiting = await client.call("blockchain.transaction.get", tx.txid, true);
    expect([waiting.txid, waiting.hex, waiting.blockhash]).toEqual([tx.txid, toHex(tx.raw), undefined]);
    chain.mine(1);
    const mined = await client.call("blockchain.transaction.get", tx.txid, true);
    expect([mined.blockhash, mined.confirmations]).toEqual([chain.state.tip.block.hash, 1]);
    expect((await client.call("server.features")).genesis_hash).toBe(chain.state.at(0)?.block.hash);
  }
});

describe("on request it misbehaves", () => {
  const HISTORY = "blockchain.scripthash.get_history";

  async function paidOnce() {
    const w = await world();
    const script = payTo(OWNER);
    const { txid } = fund(w.chain, script);
    w.chain.payFromFaucet(OUT, 50_000n);
    w.chain.mine(1);
    return { ...w, hash: scriptHashOf(script), txid, height: w.chain.state.tip.height - 1 };
  }

  test("a lagging server lacks the last blocks: what they hold waits in its mempool, and the tip comes when it catches up", async () => {
    const { client, server, chain, hash, txid, height } = await paidOnce();
    await client.call("blockchain.headers.subscribe");
    const fault = server.faults.add({ kind: "lag", blocks: 2 });
    await settle();
    expect(client.told.at(-1).params[0].height).toBe(height - 1);
    expect(linesOf(await client.call(HISTORY, hash))).toEqual([`${txid} 0`]);
    expect(await client.call("blockchain.transaction.get_merkle", txid, height)).toMatch(/^1 height .* out of range$/);
    const waiting = await client.call("blockchain.transaction.get", txid, true);
    expect([waiting.txid, waiting.blockhash, waiting.confirmations]).toEqual([txid, undefined, undefined]);
    server.faults.clear(fault.id);
    await settle();
    expect(client.told.at(-1).params[0].height).toBe(chain.state.tip.height);
    expect(linesOf(await client.call(HISTORY, hash))).toEqual([`${txid} ${height}`]);
  });

  test("a history beyond its limit is refused, and a subscription ends with a status of null; its mempool and its blocks are told", async () => {
    const { client, server, chain, hash, txid, height } = await paidOnce();
    server.faults.add({ kind: "short_histories", lines: 2 });
    expect(await client.call("blockchain.scripthash.subscribe", hash)).toMatch(/^[0-9a-f]{64}$/);
    const second = fund(chain, payTo(OWNER));
    chain.mine(1);
    await settle();
    expect(client.told.at(-1).params).toEqual([hash, null]);
    for (const method of [HISTORY, "blockchain.scripthash.subscribe"]) expect(await client.call(method, hash)).toBe("1 history too large");
    expect(await client.call("blockchain.scripthash.listunspent", hash)).toBe("1 response too large");
    const told = client.told.length;
    const third = chain.payFromFaucet(payTo(OWNER), 10_000n);
    if (!third.ok) expect.fail("not paid");
    await settle();
    expect(client.told).toHaveLength(told);
    expect(linesOf(await client.call("blockchain.scripthash.get_mempool", hash))).toEqual([`${third.value.txid} 0`]);
    expect(await client.call("blockchain.transaction.id_from_pos", height, 1)).toBe(txid);
    expect(second.txid).not.toBe(txid);
    server.faults.clear();
    expect(await client.call(HISTORY, hash)).toHaveLength(3);
  });

  test("lies about headers, branches, heights, histories and bytes are told and end when cleared", async () => {
    const { client, server, chain, hash, txid, height } = await paidOnce();
    const calls = {
      header: () => client.call("blockchain.block.header", height),
      branch: () => client.call("blockchain.transaction.get_merkle", txid, height),
      history: async () => linesOf(await client.call(HISTORY, hash)).join(),
      bytes: () => client.call("blockchain.transaction.get", txid),
      fee: () => client.call("blockchain.estimatefee", 1),
    };
    const all = async (): Promise<Json> =>
      Object.fromEntries(await Promise.all(Object.entries(calls).map(async ([k, f]) => [k, JSON.stringify(await f())])));
    const honest = await all();
    const other = chain.state.tip.block.txs[1]?.txid ?? "";
    for (const [fault, changed] of [
      [{ kind: "false_header", fromHeight: height }, ["header"]],
      [{ kind: "false_branch" }, ["branch"]],
      [{ kind: "false_height", delta: -3 }, ["history"]],
      [{ kind: "claim", scriptHash: hash, txid: other, height: 7 }, ["history"]],
      [{ kind: "hide", txid }, ["history", "bytes"]],
      [{ kind: "false_tx", txid }, ["bytes"]],
      [{ kind: "false_fee", rate: 0.5 }, ["fee"]],
    ] as const) {
      server.faults.add(fault);
      const told = await all();
      const differing = Object.keys(honest).filter((k) => honest[k] !== told[k]);
      expect(differing, fault.kind).toEqual(changed);
      server.faults.clear();
    }
    expect(await all()).toEqual(honest);
  });

  test("a swallowed transaction is answered with its id and goes nowhere", async () => {
    const { client, server, chain, txid } = await paidOnce();
    const tx = pay(chain, [{ txid, vout: 0, value: 10_000_000n, script: payTo(OWNER) }], OWNER, [{ value: 9_990_000n, script: OUT }]);
    server.faults.add({ kind: "swallow_broadcast" });
    expect(await client.call("blockchain.transaction.broadcast", toHex(tx.raw))).toBe(tx.txid);
    expect(chain.mempool.graph.size).toBe(0);
  });

  test("answers stall, come late, under another id, as an error, as garbage, without an end, or not at all", async () => {
    const { client, server, clock, chain } = await paidOnce();
    const { faults } = server;
    const stall = faults.add({ kind: "stall", methods: ["server.ping"] });
    let answered = false;
    const held = client.call("server.ping").finally(() => {
      answered = true;
    });
    expect(await client.call("server.banner")).toMatch(/embedded/);
    expect(answered).toBe(false);
    faults.clear(stall.id);
    expect(await held).toBeNull();
    faults.add({ kind: "slow", delayMs: 500, count: 1 });
    const late = client.call("server.ping");
    await settle();
    expect(await client.call("server.donation_address")).toBe("");
    await clock.advance(500);
    expect(await late).toBeNull();
    faults.add({ kind: "error", code: -101, message: "excessive resource usage", count: 1 });
    expect(await client.call("server.ping")).toBe("-101 excessive resource usage");
    faults.add({ kind: "wrong_id", count: 1 });
    void client.call("server.ping");
    await settle();
    expect(client.told.at(-1).id).toBe(987_654_321);
    faults.add({ kind: "mute" });
    await client.call("blockchain.headers.subscribe");
    const before = client.told.length;
    chain.mine(1);
    await settle();
    expect(client.told.length).toBe(before);
    faults.clear();
    await settle();
    expect(client.told.length).toBe(before + 1);
    faults.add({ kind: "lost_reply", count: 1 });
    expect(await client.call("server.ping")).toBe("0 closed");

    const pieces: number[] = [];
    const raw = server.connect({ data: (bytes) => pieces.push(bytes.length), closed: () => {} });
    faults.add({ kind: "garbage", text: "{not json", count: 1 });
    raw?.write(Buffer.from('{"id":1,"method":"server.version"}\n'));
    await settle();
    faults.add({ kind: "endless", bytes: 200_000, count: 1 });
    raw?.write(Buffer.from('{"id":1,"method":"server.ping"}\n'));
    await clock.advance(100);
    expect(pieces).toEqual([10, 65_536, 65_536, 65_536, 3_392]);
    faults.add({ kind: "refuse" });
    expect([server.connections, server.connect({ data: () => {}, closed: () => {} })]).toEqual([0, null]);
  });
});
