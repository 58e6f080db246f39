import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createChainWorld, fund, pay, payTo, testKey } from "../../test/fakes/chainWorld.ts";
import { toHex } from "../core/util/bytes.ts";
import { scriptToAddress } from "../core/utxo/address.ts";
import { parseBlock, serializeBlock } from "./block.ts";
import { ChainDaemon } from "./daemon.ts";
import { TransportFault } from "./faults.ts";
import { RpcError } from "./rpc/rpcError.ts";

const OWNER = testKey("owner");
const OUT = payTo(testKey("anyone"));

function daemonOf(kind: "legacy" | "segwit" | "kmd", options: { txIndex?: boolean; onStop?: () => void } = {}) {
  const { chain, clock } = createChainWorld(kind);
  const daemon = new ChainDaemon(chain, clock, options);
  const address = (script: Uint8Array): string => scriptToAddress(script, chain.params.addresses) ?? "";
  // Answers are JSON: reading fields of any shape is what a client does.
  const call = async (method: string, ...params: readonly unknown[]): Promise<Json> => (await daemon.call(method, params)) as Json;
  return { chain, clock, daemon, call, address };
}

// biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
type Json = any;

/** The daemon's error code and text. */
async function refusal(answer: Promise<unknown>): Promise<string> {
  try {
    await answer;
    return "answered";
  } catch (cause) {
    if (cause instanceof RpcError) return `${cause.code} ${cause.message}`;
    if (cause instanceof TransportFault) return cause.kind;
    throw cause;
  }
}

function spendHex(world: ReturnType<typeof daemonOf>, fee = 1_000n) {
  const coin = fund(world.chain, payTo(OWNER));
  const tx = pay(world.chain, [coin], OWNER, [{ value: coin.value - fee, script: OUT }]);
  return { coin, tx, hex: toHex(tx.raw) };
}

describe("errors have the codes of a Core daemon", () => {
  test("for what does not exist or does not fit", async () => {
    const { call, daemon } = daemonOf("segwit");
    expect(await refusal(call("nosuchmethod"))).toBe("-32601 Method not found");
    expect(await refusal(call("toString"))).toBe("-32601 Method not found");
    expect(await refusal(call("getblockhash", 1_000_000))).toBe("-8 Block height out of range");
    expect(await refusal(call("getblockhash", -1))).toBe("-8 Block height out of range");
    expect(await refusal(call("getblock", "00".repeat(32)))).toBe("-5 Block not found");
    expect(await refusal(call("getblock", "abc"))).toMatch(/^-8 blockhash must be of length 64/);
    expect(await refusal(call("getblock", 5))).toMatch(/^-3 /);
    expect(await refusal(call("getblockhash"))).toBe("-1 getblockhash height");
    expect(await refusal(daemon.call("getblockhash", { height: 1, depth: 2 }))).toBe("-8 Unknown named parameter depth");
    expect(await refusal(daemon.call("getblockhash", "5"))).toMatch(/^-32600 /);
    expect(await refusal(call("getrawtransaction", "11".repeat(32)))).toMatch(/^-5 No such mempool transaction/);
    expect(await refusal(call("getmempoolentry", "11".repeat(32)))).toBe("-5 Transaction not in mempool");
    expect(await refusal(call("sendrawtransaction", "00"))).toMatch(/^-22 TX decode failed/);
    expect(await refusal(call("importaddress", "nonsense"))).toBe("-5 Invalid address");
  });

  test("for transactions that are refused", async () => {
    const world = daemonOf("segwit");
    const { call } = world;
    const { coin, tx, hex } = spendHex(world);
    const low = pay(world.chain, [coin], OWNER, [{ value: coin.value - 1n, script: OUT }]);
    expect(await refusal(call("sendrawtransaction", toHex(low.raw)))).toMatch(/^-26 min relay fee not met, 0.00000001 < 0.0000/);
    const lavish = pay(world.chain, [coin], OWNER, [{ value: 1_000n, script: OUT }]);
    expect(await refusal(call("sendrawtransaction", toHex(lavish.raw)))).toMatch(/^-25 Fee exceeds maximum/);
    const missing = pay(world.chain, [{ ...coin, vout: 5 }], OWNER, [{ value: 1_000n, script: OUT }]);
    expect(await refusal(call("sendrawtransaction", toHex(missing.raw)))).toBe("-25 bad-txns-inputs-missingorspent");
    expect(await call("sendrawtransaction", hex)).toBe(tx.txid);
    expect(await call("sendrawtransaction", hex)).toBe(tx.txid);
    await call("chain_mine");
    expect(await refusal(call("sendrawtransaction", hex))).toBe("-27 Transaction outputs already in utxo set");
  });

  test("and Komodo's on a KMD-family chain", async () => {
    const world = daemonOf("kmd");
    const { call } = world;
    const { coin, hex } = spendHex(world);
    const low = pay(world.chain, [coin], OWNER, [{ value: coin.value, script: OUT }]);
    expect(await refusal(call("sendrawtransaction", toHex(low.raw)))).toBe("-26 66: min relay fee not met");
    const missing = pay(world.chain, [{ ...coin, vout: 5 }], OWNER, [{ value: 1_000n, script: OUT }]);
    expect(await refusal(call("sendrawtransaction", toHex(missing.raw)))).toBe("-25 Missing inputs");
    await call("sendrawtransaction", hex);
    await call("chain_mine", 1);
    expect(await refusal(call("sendrawtransaction", hex))).toBe("-27 transaction already in block chain");
    expect(await refusal(call("getrawtransaction", "11".repeat(32)))).toBe("-5 No information available about transaction");
    expect(await refusal(call("estimatesmartfee", 2))).toBe("-32601 Method not found");
  });
});

describe("what a client reads", () => {
  test("blocks as hex, with ids and with transactions agree", async () => {
    const world = daemonOf("segwit");
    const { call, chain } = world;
    await call("sendrawtransaction", spendHex(world).hex);
    const [hash] = await call("chain_mine");
    const [raw, ids, full] = await Promise.all([call("getblock", hash, 0), call("getblock", hash), call("getblock", hash, 2)]);
    const parsed = parseBlock(
      Uint8Array.from(raw.match(/../g), (h: string) => Number.parseInt(h, 16)),
      chain.params.template.format,
    );
    expect(parsed.ok && parsed.value.txs.map((t) => t.txid)).toEqual(ids.tx);
    expect(full.tx.map((t: Json) => t.txid)).toEqual(ids.tx);
    expect(full.tx[1].fee).toBe(0.00001);
    expect(raw).toBe(toHex(serializeBlock(chain.state.tip.block)));
    expect(await call("getblockheader", hash, false)).toBe(raw.slice(0, 160));
    const header = await call("getblockheader", hash);
    expect(header).toMatchObject({
      hash,
      confirmations: 1,
      height: chain.state.tip.height,
      mediantime: chain.state.tip.medianTime,
      nTx: 2,
    });
    const before = await call("getblockheader", header.previousblockhash);
    expect(before).toMatchObject({ nextblockhash: hash, confirmations: 2 });
  });

  test("a confirmed transaction is found by its block, or by id alone with a transaction index", async () => {
    for (const txIndex of [false, true]) {
      const world = daemonOf("legacy", { txIndex });
      const { call } = world;
      const { tx, hex } = spendHex(world);
      await call("sendrawtransaction", hex);
      expect(await call("getrawtransaction", tx.txid)).toBe(hex);
      const [hash] = await call("chain_mine");
      const byId = call("getrawtransaction", tx.txid, true);
      if (txIndex) expect(await byId).toMatchObject({ txid: tx.txid, confirmations: 1, blockhash: hash });
      else expect(await refusal(byId)).toMatch(/^-5 No such mempool transaction. Use -txindex or provide a block hash/);
      expect(await call("getrawtransaction", tx.txid, 1, hash)).toMatchObject({ in_active_chain: true, hex, confirmations: 1 });
      expect(await refusal(call("getrawtransaction", tx.txid, 1, await call("getblockhash", 1)))).toMatch(
        /^-5 No such transaction found in the provided block/,
      );
    }
  });

  test("gettxout sees the mempool unless told not to", async () => {
    const world = daemonOf("legacy");
    const { call } = world;
    const { coin, tx, hex } = spendHex(world);
    expect(await call("gettxout", coin.txid, 0)).toMatchObject({ value: 0.1, confirmations: 1, coinbase: false });
    await call("sendrawtransaction", hex);
    expect(await call("gettxout", coin.txid, 0)).toBeNull();
    expect(await call("gettxout", coin.txid, 0, false)).toMatchObject({ value: 0.1 });
    expect(await call("gettxout", tx.txid, 0)).toMatchObject({ confirmations: 0, value: 0.09999 });
  });

  test("the mempool lists fees, ancestors and descendants", async () => {
    const world = daemonOf("legacy");
    const { call, chain } = world;
    const coin = fund(chain, payTo(OWNER));
    const parent = pay(chain, [coin], OWNER, [{ value: coin.value - 1_000n, script: payTo(OWNER) }]);
    const child = pay(chain, [{ txid: parent.txid, vout: 0, value: coin.value - 1_000n, script: payTo(OWNER) }], OWNER, [
      { value: 9_000_000n, script: OUT },
    ]);
    await call("sendrawtransaction", toHex(parent.raw));
    await call("sendrawtransaction", toHex(child.raw));
    expect(await call("getrawmempool")).toEqual([parent.txid, child.txid]);
    const all = await call("getrawmempool", true);
    expect(all[child.txid]).toMatchObject({
      ancestorcount: 2,
      descendantcount: 1,
      depends: [parent.txid],
      fees: { base: 0.00999, ancestor: 0.01 },
    });
    expect(await call("getmempoolentry", parent.txid)).toMatchObject({
      descendantcount: 2,
      spentby: [child.txid],
      "bip125-replaceable": false,
    });
    expect(await call("getmempoolinfo")).toMatchObject({ size: 2, bytes: parent.vsize + child.vsize });
  });

  test("testmempoolaccept judges without keeping", async () => {
    const world = daemonOf("segwit");
    const { coin, tx, hex } = spendHex(world);
    expect(await world.call("testmempoolaccept", [hex])).toMatchObject([
      { txid: tx.txid, allowed: true, vsize: tx.vsize, fees: { base: 0.00001 } },
    ]);
    const low = pay(world.chain, [coin], OWNER, [{ value: coin.value, script: OUT }]);
    expect(await world.call("testmempoolaccept", [toHex(low.raw)])).toMatchObject([
      { allowed: false, "reject-reason": "min relay fee not met" },
    ]);
    expect(await world.call("getrawmempool")).toEqual([]);
  });

  test("a fee estimate follows the fees paid, or what it is told", async () => {
    const world = daemonOf("segwit");
    const { call } = world;
    expect(await call("estimatesmartfee", 2)).toEqual({ feerate: 0.00001, blocks: 2 });
    const { hex, tx } = spendHex(world, 50_000n);
    await call("sendrawtransaction", hex);
    await call("chain_mine");
    await call("chain_mine");
    const rate = Math.floor((50_000 * 1_000) / tx.vsize) / 1e8;
    expect((await call("estimatesmartfee", 2)).feerate).toBeLessThanOrEqual(rate);
    await call("chain_setFeeRate", 0.005);
    expect(await call("estimatesmartfee", 2)).toEqual({ feerate: 0.005, blocks: 2 });
    await call("chain_setFeeRate", "none");
    expect(await call("estimatesmartfee", 2)).toEqual({ errors: ["Insufficient data or no feerate found"], blocks: 2 });
  });

  test("addresses of the coin are valid, those of others are not", async () => {
    const { call, address } = daemonOf("segwit");
    expect(await call("validateaddress", address(OUT))).toMatchObject({
      isvalid: true,
      scriptPubKey: toHex(OUT),
      isscript: false,
      iswitness: false,
    });
    expect(await call("validateaddress", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")).toMatchObject({ isvalid: false });
  });

  test("scantxoutset finds what an address and a script have", async () => {
    const { call, chain, address } = daemonOf("segwit");
    const coin = fund(chain, payTo(OWNER));
    const byAddress = await call("scantxoutset", "start", [`addr(${address(payTo(OWNER))})`]);
    expect(byAddress).toMatchObject({
      success: true,
      height: chain.state.tip.height,
      total_amount: 0.1,
      unspents: [{ txid: coin.txid, vout: 0, amount: 0.1 }],
    });
    const byScript = await call("scantxoutset", "start", [{ desc: `raw(${toHex(payTo(OWNER))})` }]);
    expect(byScript.unspents).toHaveLength(1);
    expect(await refusal(call("scantxoutset", "start", ["wpkh(02aa)"]))).toMatch(/^-5 .*not a valid descriptor/);
  });
});

describe("the watch-only wallet of a daemon in native mode", () => {
  test.each(["segwit", "kmd"] as const)("lists what came, what left and what is left (%s)", async (kind) => {
    const { call, chain, address } = daemonOf(kind);
    const mine = address(payTo(OWNER));
    const since = await call("getbestblockhash");
    expect(await call("listunspent", 0, 9_999, [mine])).toEqual([]);
    await call("importaddress", mine, mine, false);
    const coin = fund(chain, payTo(OWNER));
    expect(await call("listunspent", 0, 9_999, [mine])).toMatchObject([
      { txid: coin.txid, vout: 0, address: mine, amount: 0.1, confirmations: 1 },
    ]);
    const tx = pay(chain, [coin], OWNER, [
      { value: 1_000_000n, script: OUT },
      { value: 8_999_000n, script: payTo(OWNER) },
    ]);
    await call("sendrawtransaction", toHex(tx.raw));
    expect(await call("listunspent", 0, 9_999, [mine])).toMatchObject([{ txid: tx.txid, vout: 1, confirmations: 0 }]);
    expect(await call("listunspent", 1, 9_999, [mine])).toEqual([]);
    const history = (await call("listsinceblock", since, 1, true)).transactions;
    expect(history.map((t: Json) => [t.category, t.txid, t.amount, t.confirmations])).toEqual([
      ["receive", coin.txid, 0.1, 1],
      ["send", tx.txid, -0.01, 0],
      ["send", tx.txid, -0.08999, 0],
      ["receive", tx.txid, 0.08999, 0],
    ]);
    expect(await call("listreceivedbyaddress", 0, true, true)).toMatchObject([{ address: mine, txids: [coin.txid, tx.txid] }]);
    expect(await call("listtransactions", "*", 1, 0, true)).toHaveLength(1);
    expect(await call("validateaddress", mine)).toMatchObject(kind === "kmd" ? { iswatchonly: true } : { isvalid: true });
  });

  test("an import without rescan does not see the past, one with rescan does", async () => {
    const { call, chain, address } = daemonOf("legacy");
    const coin = fund(chain, payTo(OWNER));
    const mine = address(payTo(OWNER));
    await call("importaddress", mine, "", false);
    expect(await call("listunspent", 0, 9_999, [mine])).toEqual([]);
    await call("importaddress", mine, "", true);
    expect(await call("listunspent", 0, 9_999, [mine])).toMatchObject([{ txid: coin.txid }]);
    expect(await call("getaddressinfo", mine)).toMatchObject({ iswatchonly: true, ismine: false });
  });
});

describe("notarization", () => {
  test("confirmations stay at 1 until a later block is notarized, raw ones count on", async () => {
    const world = daemonOf("kmd");
    const { call, chain } = world;
    expect((await call("getinfo")).notarized).toBe(0);
    await call("chain_mine", 5);
    const { height } = chain.state.tip;
    await call("chain_notarize", height - 2);
    expect(await call("getinfo")).toMatchObject({
      notarized: height - 2,
      notarizedhash: await call("getblockhash", height - 2),
      blocks: height,
    });
    const confirmations = async (h: number) => {
      const block = await call("getblock", String(h));
      return [block.confirmations, block.rawconfirmations];
    };
    expect(await confirmations(height - 3)).toEqual([4, 4]);
    expect(await confirmations(height - 2)).toEqual([1, 3]);
    expect(await confirmations(height)).toEqual([1, 1]);
    expect(await refusal(daemonOf("segwit").call("chain_notarize"))).toMatch(/^-1 /);
  });
});

describe("blocks on demand", () => {
  test("generateblock takes exactly what it is given and refuses an invalid block", async () => {
    const world = daemonOf("legacy");
    const { call, address } = world;
    const { coin, tx, hex } = spendHex(world);
    const other = spendHex(world);
    await call("sendrawtransaction", other.hex);
    const { hash } = await call("generateblock", address(OUT), [hex]);
    expect((await call("getblock", hash)).tx.slice(1)).toEqual([tx.txid]);
    expect(await call("getrawmempool")).toEqual([other.tx.txid]);
    const again = pay(world.chain, [coin], OWNER, [{ value: 1n, script: OUT }]);
    expect(await refusal(call("generateblock", address(OUT), [toHex(again.raw)]))).toMatch(
      /^-25 TestBlockValidity failed: bad-txns-inputs-missingorspent/,
    );
    expect(await refusal(call("generateblock", address(OUT), ["22".repeat(32)]))).toMatch(/^-5 Transaction .* not in mempool/);
    expect((await call("generateblock", address(OUT), [other.tx.txid])).hash).toHaveLength(64);
  });

  test("a block is taken from another chain of the same genesis", async () => {
    const one = daemonOf("legacy");
    const two = daemonOf("legacy");
    const [hash] = await one.call("chain_mine");
    const raw = await one.call("getblock", hash, 0);
    expect(await two.call("submitblock", raw)).toBeNull();
    expect(await two.call("submitblock", raw)).toBe("duplicate");
    expect(await two.call("getbestblockhash")).toBe(hash);
    expect(await refusal(two.call("submitblock", "00"))).toMatch(/^-22 /);
  });

  test("the faucet pays and confirms, and says when it is dry", async () => {
    const { call, address } = daemonOf("legacy");
    const { txid, blocks } = await call("chain_faucet", address(OUT), "1.5", 1);
    expect((await call("getblock", blocks[0])).tx).toContain(txid);
    expect(await refusal(call("chain_faucet", address(OUT), 1_000_000))).toMatch(/^-6 Insufficient funds/);
    expect(await refusal(call("chain_faucet", address(OUT), "0.123456789"))).toBe("-3 Invalid amount");
  });

  test("time can be set and moved", async () => {
    const { call } = daemonOf("legacy");
    await call("chain_setTime", 1_800_000_000);
    await call("chain_addTime", 60);
    const [hash] = await call("chain_mine");
    expect((await call("getblockheader", hash)).time).toBe(1_800_000_060);
    expect(await call("chain_time")).toMatchObject({ time: 1_800_000_060, tiptime: 1_800_000_060 });
  });

  test("invalidateblock and reconsiderblock go back and forth", async () => {
    const { call } = daemonOf("legacy");
    const [first] = await call("chain_mine", 2);
    const tip = await call("getbestblockhash");
    await call("invalidateblock", first);
    expect(await call("getbestblockhash")).not.toBe(tip);
    expect(await call("getchaintips")).toMatchObject([{ status: "invalid", branchlen: 2 }]);
    expect((await call("getblockheader", tip)).confirmations).toBe(-1);
    await call("reconsiderblock", first);
    expect(await call("getbestblockhash")).toBe(tip);
  });
});

describe("faults", () => {
  test("a lost reply: the broadcast is carried out, the connection breaks, once", async () => {
    const world = daemonOf("legacy");
    const { call } = world;
    const { tx, hex } = spendHex(world);
    await call("chain_fault", { kind: "lost_reply" });
    expect(await refusal(call("sendrawtransaction", hex))).toBe("connection_closed");
    expect(await call("getrawmempool")).toEqual([tx.txid]);
    expect(await call("sendrawtransaction", hex)).toBe(tx.txid);
  });

  test("a refused broadcast is not carried out", async () => {
    const world = daemonOf("legacy");
    const { call } = world;
    const { tx, hex } = spendHex(world);
    await call("chain_fault", { kind: "refuse_broadcast", count: 1, code: -26, message: "mempool full" });
    expect(await refusal(call("sendrawtransaction", hex))).toBe("-26 mempool full");
    expect(await call("getrawmempool")).toEqual([]);
    expect(await call("sendrawtransaction", hex)).toBe(tx.txid);
  });

  test("a stall holds calls back until its time is over", async () => {
    const { call, clock, chain } = daemonOf("legacy");
    await call("chain_fault", { kind: "stall", methods: ["getblockcount"], forMs: 5_000 });
    let count: unknown;
    const waiting = call("getblockcount").then((n) => {
      count = n;
    });
    expect(await call("getbestblockhash")).toBe(chain.state.tip.block.hash);
    await clock.run({ untilMs: clock.nowMs() + 4_000 });
    expect(count).toBeUndefined();
    await clock.run({ untilMs: clock.nowMs() + 2_000 });
    await waiting;
    expect(count).toBe(chain.state.tip.height);
  });

  test("a stall ends when it is cleared, and closing fails what waits", async () => {
    const { call, daemon } = daemonOf("legacy");
    await call("chain_fault", { kind: "stall" });
    const first = call("getblockcount");
    await call("chain_fault", { kind: "clear" });
    expect(await first).toBe(120);
    await call("chain_fault", { kind: "stall" });
    const second = refusal(call("getblockcount"));
    daemon.close();
    expect(await second).toBe("connection_closed");
  });

  test("wrong heights, slow answers and HTTP 500 last as long as they should", async () => {
    const { call, clock, chain } = daemonOf("kmd");
    const { height } = chain.state.tip;
    const { id } = await call("chain_fault", { kind: "wrong_height", delta: -7 });
    expect([await call("getblockcount"), (await call("getinfo")).blocks, (await call("getblockchaininfo")).blocks]).toEqual([
      height - 7,
      height - 7,
      height - 7,
    ]);
    await call("chain_fault", { kind: "clear", id });
    await call("chain_fault", { kind: "http_500", count: 2 });
    expect([await refusal(call("getblockcount")), await refusal(call("ping")), await refusal(call("ping"))]).toEqual([
      "http_500",
      "http_500",
      "answered",
    ]);
    await call("chain_fault", { kind: "slow", delayMs: 300, methods: ["getblockcount"], count: 1 });
    const slow = call("getblockcount");
    await clock.run({ untilMs: clock.nowMs() + 300 });
    expect(await slow).toBe(height);
    expect(await call("chain_fault", { kind: "list" })).toEqual([]);
    expect(await refusal(call("chain_fault", { kind: "nonsense" }))).toMatch(/^-8 kind must be one of/);
  });

  test("a reorg on request with a rival transaction, and forgetting a transaction", async () => {
    const world = daemonOf("legacy");
    const { call } = world;
    const { coin, tx, hex } = spendHex(world);
    await call("sendrawtransaction", hex);
    await call("chain_mine");
    const rival = pay(world.chain, [coin], OWNER, [{ value: 5_000_000n, script: OUT }]);
    const { hash, height } = await call("chain_fault", { kind: "reorg", depth: 1, txs: [toHex(rival.raw)] });
    expect([await call("getbestblockhash"), await call("getblockcount")]).toEqual([hash, height]);
    expect(await call("getrawmempool")).toEqual([]);
    expect(await refusal(call("sendrawtransaction", hex))).toMatch(/^-25 /);
    const next = spendHex(world);
    await call("sendrawtransaction", next.hex);
    expect(await call("chain_fault", { kind: "forget", txid: next.tx.txid })).toEqual([next.tx.txid]);
    expect(await call("getrawmempool")).toEqual([]);
    expect(tx.txid).not.toBe(rival.txid);
  });

  test("a held transaction stays unconfirmed until it is released", async () => {
    const world = daemonOf("legacy");
    const { call } = world;
    const { tx, hex } = spendHex(world);
    await call("sendrawtransaction", hex);
    await call("chain_fault", { kind: "hold", txid: tx.txid });
    await call("chain_mine", 2);
    expect(await call("getrawmempool")).toEqual([tx.txid]);
    await call("chain_fault", { kind: "release", txid: tx.txid });
    await call("chain_mine");
    expect(await call("getrawmempool")).toEqual([]);
  });
});

test("every method a dialect lists can be called without breaking, whatever it is given", async () => {
  for (const kind of ["segwit", "kmd"] as const) {
    const { daemon } = daemonOf(kind);
    for (const name of daemon.methodNames()) {
      for (const params of [[], [null], ["x"], [-1], [{}], [[]], [1e99, "y", true], "text", { foo: 1 }, ["00".repeat(32), 7, "q"]]) {
        if (name.startsWith("chain_autoMine")) continue;
        expect(await refusal(daemon.call(name, params)), `${name} ${JSON.stringify(params)}`).toMatch(/^(answered|-\d+ )/);
      }
    }
  }
});

test("stop asks the owner to stop", async () => {
  let stops = 0;
  const { call } = daemonOf("legacy", { onStop: () => stops++ });
  expect(await call("stop")).toContain("stopping");
  expect(stops).toBe(1);
});

test("the README lists exactly the methods that are served", () => {
  const text = readFileSync(new URL("./README.md", import.meta.url), "utf8");
  const section = text.slice(text.indexOf("## Methods"), text.indexOf("`getrawtransaction` finds"));
  const listed = [...section.matchAll(/`([a-z]+(?:_[a-zA-Z]+)?)[`(]/g)].map((m) => m[1]).filter((name) => name !== "kmd");
  const served = new Set([...daemonOf("segwit").daemon.methodNames(), ...daemonOf("kmd").daemon.methodNames()]);
  expect([...new Set(listed)].sort()).toEqual([...served].sort());
});
