import { afterEach, expect, test } from "vitest";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { serializeTx } from "../../src/core/utxo/txCodec.ts";
import { type ElectrumWorld, startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

// What programs answer in another way than ElectrumX 1.15 and the embedded servers: electrs of romanz and of Blockstream, and Fulcrum.

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type Message = { readonly id?: number; readonly result?: unknown };

const SERVERS = 3;

/** Three servers, all of which answer in a way of their own. @param say what one says in place of an answer */
async function begin(
  say: (call: Call, message: Message) => object,
  options: ElectrumOptions = {},
): Promise<{ w: ElectrumWorld; chain: ElectrumChain }> {
  const w = await startElectrumChain(SEGWIT_COIN, SERVERS, (line, _server, call) =>
    call === "" ? line : JSON.stringify(say(JSON.parse(call) as Call, JSON.parse(line) as Message)),
  );
  cleanup.push(() => w.close());
  const store = openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
  const chain = await w.openElectrum(store, { timeoutMs: 2_000, readsReward: true, ...options });
  cleanup.push(() => chain.close());
  await whileTimePasses(w, chain.refresh());
  return { w, chain };
}

const states = (chain: ElectrumChain): readonly unknown[] => chain.servers().map(({ state, trouble }) => [state, trouble]);
const ALL_THERE = Array.from({ length: SERVERS }, () => ["connected", null]);

test("servers that name a transaction by its place as electrs does (tx_id, and an object without a branch, too) are not lost at each block", async () => {
  const { w, chain } = await begin(({ method, params }, message) => {
    if (method !== "blockchain.transaction.id_from_pos") return message;
    const { result } = message;
    if (params[2] !== true) return { ...message, result: { tx_id: result } };
    const { tx_hash: txid, ...rest } = result as { tx_hash: string };
    return { ...message, result: { tx_id: txid, ...rest } };
  });
  w.pay(scriptNumber(1), 100_000n);
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  for (let i = 0; i < 5; i++) {
    w.mine();
    await whileTimePasses(w, chain.refresh());
    expect(states(chain)).toEqual(ALL_THERE);
  }
  expect(chain.blockRewardUnits()).not.toBeNull();
  expect(w.asked.filter((method) => method === "server.version")).toHaveLength(SERVERS);
});

test("servers whose history names a transaction twice, while a new block is in their index and their mempool is the old one, are not lost", async () => {
  let isBetween = false;
  const { w, chain } = await begin(({ method }, message) => {
    if (method !== "blockchain.scripthash.get_history" || !isBetween) return message;
    const lines = message.result as readonly { readonly tx_hash: string }[];
    return { ...message, result: [...lines, ...lines.map(({ tx_hash }) => ({ tx_hash, height: 0, fee: 200 }))] };
  });
  await whileTimePasses(w, chain.watchScript(scriptNumber(1), 0));
  const id = w.pay(scriptNumber(1), 100_000n);
  await whileTimePasses(w, chain.refresh());
  isBetween = true;
  w.mine();
  await whileTimePasses(w, chain.refresh());
  expect(states(chain)).toEqual(ALL_THERE);
  expect(chain.tx(id)?.block?.height).toBe(121);
});

test("servers that take one version of the protocol and no range of them (electrs before 0.10) are used", async () => {
  const { chain } = await begin(({ id, method, params }, message) => {
    if (method !== "server.version") return message;
    if (params[1] === "1.4") return { id, result: ["electrs/0.9.14", "1.4"] };
    return { id, error: { code: 1, message: "requested Range, server supports 1.4" } };
  });
  expect(states(chain)).toEqual(ALL_THERE);
});

test("servers that end the connection when they do not know a method (electrs of mempool.space) are not lost over it again and again", async () => {
  const { w, chain } = await begin((_call, message) => message);
  const paid = w.chain.payFromFaucet(scriptNumber(5), 100_000n);
  if (!paid.ok) expect.fail("not paid");
  const ending = w.servers.map(({ faults }) => faults.add({ kind: "lost_reply", methods: ["blockchain.scripthash.get_mempool"] }));
  for (let i = 0; i < 2; i++) {
    expect(await whileTimePasses(w, chain.isWaiting?.(paid.value.raw, null) ?? Promise.reject(new Error("not asked")))).toBe(false);
    await w.pass(60_000);
  }
  w.asked.length = 0;
  for (let i = 0; i < 5; i++) {
    expect(await whileTimePasses(w, chain.isWaiting?.(paid.value.raw, null) ?? Promise.reject(new Error("not asked")))).toBe(true);
    await w.pass(10_000);
  }
  expect(states(chain)).toEqual(ALL_THERE);
  expect(w.asked).not.toContain("server.version");
  // A day later another program may answer there.
  for (const [i, { faults }] of w.servers.entries()) faults.clear(ending[i]?.id);
  await w.pass(24 * 3_600_000);
  await whileTimePasses(w, chain.isWaiting?.(paid.value.raw, null) ?? Promise.reject(new Error("not asked")));
  expect(w.asked).toContain("blockchain.scripthash.get_mempool");
});

test("a silent connection is tried all the same at a server that ended it over pings: that may have been chance", async () => {
  const { w, chain } = await begin((_call, message) => message, { pollMs: 400_000 });
  const ending = w.servers.map(({ faults }) => faults.add({ kind: "lost_reply", methods: ["server.ping"] }));
  await w.pass(200_000);
  w.asked.length = 0;
  await w.pass(100_000);
  expect(w.asked.filter((method) => method === "blockchain.headers.subscribe").length).toBeGreaterThanOrEqual(SERVERS);
  expect(w.asked).not.toContain("server.version");
  for (const [i, { faults }] of w.servers.entries()) {
    faults.clear(ending[i]?.id);
    faults.add({ kind: "stall" });
  }
  await w.pass(65_000);
  expect(chain.servers().map(({ state }) => state)).not.toContain("connected");
});

/** As Fulcrum (1.9 to 2.x) writes what the embedded servers say: its own numbers for refusals, exponents, and the unconfirmed by their ids. */
function asFulcrum({ id, method, params }: Call, message: Message & { readonly error?: { readonly message: string } }): object {
  const said = { jsonrpc: "2.0", id };
  const [range] = params.slice(1);
  if (method === "server.version") return { ...said, result: ["Fulcrum 1.11.1", Array.isArray(range) ? "1.4.2" : range] };
  if (method === "blockchain.estimatefee") return { ...said, result: -1 };
  if (method === "blockchain.relayfee") return { ...said, result: 1e-5 };
  if (method === "mempool.get_fee_histogram") return { ...said, result: [] };
  if (message.error !== undefined) {
    const refusal = message.error.message;
    const isDaemon = method === "blockchain.transaction.get";
    const text = `daemon error: DaemonError({'code': -5, 'message': '${refusal}'})`;
    return { ...said, error: isDaemon ? { code: 2, message: text } : { code: 1, message: refusal } };
  }
  if (method !== "blockchain.scripthash.get_history") return { ...said, result: message.result };
  const lines = message.result as readonly { readonly tx_hash: string; readonly height: number }[];
  const inBlocks = lines.filter(({ height }) => height > 0).map(({ tx_hash, height }) => ({ height, tx_hash }));
  const waiting = lines.filter(({ height }) => height <= 0).toSorted((a, b) => (a.tx_hash < b.tx_hash ? -1 : 1));
  return { ...said, result: [...inBlocks, ...waiting] };
}

test("through servers that answer as Fulcrum does a script is followed, a payment sent and its past told", async () => {
  const { w, chain } = await begin(asFulcrum);
  const [own, other] = [scriptNumber(1), scriptNumber(2)];
  const paid = w.pay(own, 100_000n);
  w.mine();
  await whileTimePasses(w, chain.watchScript(own, 0));
  const [output] = chain.outputs(own);
  if (output === undefined) expect.fail("not seen");
  const raw = serializeTx(spendOf(w.format, 1, [output], other, 1_000n));
  expect(await whileTimePasses(w, chain.broadcast(raw))).toMatchObject({ kind: "accepted" });
  expect(
    await whileTimePasses(w, chain.broadcast(Uint8Array.from(serializeTx(spendOf(w.format, 1, [{ ...output, vout: 7 }], other))))),
  ).toMatchObject({
    kind: "rejected",
  });
  w.pay(own, 5_000n);
  await whileTimePasses(w, chain.refresh());
  expect(chain.outputs(own).map(({ spentBy, block }) => [spentBy?.block ?? null, block === null])).toEqual([
    [null, false],
    [null, true],
  ]);
  w.mine();
  await whileTimePasses(w, chain.refresh());
  expect(chain.outputs(own).find(({ txid }) => txid === paid)?.spentBy?.block?.height).toBe(122);
  expect(await chain.history([own], 10)).toHaveLength(3);
  expect([await whileTimePasses(w, chain.estimateFeePerKb(2)), chain.relayFeePerKb()]).toEqual([null, 1_000n]);
  expect(states(chain)).toEqual(ALL_THERE);
});
