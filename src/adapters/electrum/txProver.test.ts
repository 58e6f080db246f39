import { expect, test, vi } from "vitest";
import { EASY_RULES } from "../../../test/fakes/mineHeaders.ts";
import { chainTxs } from "../../../test/vectors/utxo/utxoVectors.ts";
import { concatBytes, fromHex, reversed, toHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { ByteWriter } from "../../core/utxo/byteWriter.ts";
import { hash256 } from "../../core/utxo/hash.ts";
import { parseTx, serializeTx, type TxFormat, txid } from "../../core/utxo/txCodec.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { type Inclusion, TxProver } from "./txProver.ts";

/** One input, one output, 64 bytes: what a miner may put into a block and nothing can tell from a node of its tree. */
const SMALL = new ByteWriter(64)
  .u32(1)
  .compactSize(1)
  .bytes(new Uint8Array(32).fill(7))
  .u32(0)
  .compactSize(0)
  .u32(0xffffffff)
  .compactSize(1)
  .bytes(new Uint8Array(8).fill(1))
  .compactSize(4)
  .bytes(new Uint8Array(4).fill(0x51))
  .u32(0)
  .done();

function proverOf(format: TxFormat): TxProver {
  const clock = new VirtualClock();
  return new TxProver(format, new HeaderReader(EASY_RULES, clock), clock);
}

const header = { hash: "aa".repeat(32), prevHash: "bb".repeat(32), merkleRoot: "", timeSec: 1, bits: 0, version: 1 };
const refusal = err({ kind: "rpc", code: -32601, message: "unknown method" });

test("a server whose branch leads to the block is not blamed for a transaction that could be a node of its tree; nobody proves it without the first of its block", async () => {
  const prover = proverOf({ kind: "bitcoin" });
  const tx = prover.read(SMALL);
  if (tx === null) expect.fail("no transaction");
  // The only one of its block.
  const said: string[] = [];
  const answerOf = (method: string): unknown =>
    method.endsWith("get_merkle")
      ? ok({ branch: [], pos: 0 })
      : method.endsWith("id_from_pos")
        ? refusal
        : ok({ ...header, merkleRoot: tx.txid });
  const server = {
    name: "server",
    ask: async (method: string) => answerOf(method),
    contradicted: (what: string) => said.push(`dropped: ${what}`),
    suspect: (what: string) => said.push(what),
  };
  const isIn = (merkleRoot: string): Promise<Inclusion> =>
    prover.isIn(tx, 5, { ...header, merkleRoot } as never, [server as unknown as RemoteServer]);
  expect(await isIn(tx.txid)).toBe("unclear");
  expect(said).toEqual([`its branch for transaction ${tx.txid} could be that of another`]);
  expect(await isIn("cc".repeat(32))).toBe("unproven");
  expect(said.at(-1)).toBe(`dropped: it says transaction ${tx.txid} is in block 5: its branch proves nothing (OtherRoot)`);
});

/** Half of a node of a tree that looks like a transaction: whoever pays a script can choose such ids for two that stand side by side. */
const [LEFT, RIGHT] = [Uint8Array.from({ length: 32 }, (_, i) => (i === 4 ? 1 : 9)), new Uint8Array(32).fill(9)];
RIGHT.set([4], 9);
RIGHT.set([1], 18);
RIGHT.set([0], 27);

test("a payment beside which another one was made so that their node looks like a transaction is proven by the depth of the first of its block", async () => {
  const prover = proverOf({ kind: "bitcoin" });
  const shown = (bytes: Uint8Array): string => toHex(reversed(bytes));
  const over = (left: string, right: string): string => shown(hash256(concatBytes(reversed(fromHex(left)), reversed(fromHex(right)))));
  const small = prover.read(SMALL)?.tx;
  if (!small) expect.fail("no transaction");
  const [input] = small.inputs;
  if (!input) expect.fail("no input");
  const spendingNothing = serializeTx({ ...small, inputs: [{ ...input, txid: "00".repeat(32), scriptSig: new Uint8Array(9) }] });
  const coinbase = prover.read(spendingNothing);
  if (coinbase === null) expect.fail("no coinbase");
  const beside = "ab".repeat(32);
  /** What is said of a transaction that stands under a node with another one, beside the coinbase's. */
  const isIn = (txid: string, way: readonly string[], pos: number, node: string): Promise<Inclusion> => {
    const first = { txid: coinbase.txid, branch: [beside, node] };
    const branch = [...way, over(coinbase.txid, beside)];
    const server = {
      name: "server",
      ask: async (method: string) =>
        ok(method.endsWith("get_merkle") ? { branch, pos } : method.endsWith("id_from_pos") ? first : spendingNothing),
      contradicted: () => expect.fail("dropped"),
      suspect: () => undefined,
    } as unknown as RemoteServer;
    const merkleRoot = over(over(coinbase.txid, beside), node);
    return prover.isIn({ txid, tx: small, raw: new Uint8Array(100) }, 5, { ...header, merkleRoot } as never, [server]);
  };
  expect(await isIn(shown(LEFT), [shown(RIGHT)], 2, over(shown(LEFT), shown(RIGHT)))).toBe("proven");
  // The right half of a transaction of 64 bytes is no id of another one below it.
  const [half, madeUp] = [shown(SMALL.subarray(0, 32)), shown(SMALL.subarray(32))];
  expect(await isIn(madeUp, [half, beside], 5, over(over(half, madeUp), beside))).toBe("unclear");
});

test("a server whose chain becomes ours between its branch and its header is asked for the branch again, and not blamed", async () => {
  const prover = proverOf({ kind: "bitcoin" });
  const { litecoinPegOut } = chainTxs;
  const tx = proverOf({ kind: "bitcoin", mweb: true }).read(fromHex(litecoinPegOut.hex));
  if (tx === null) expect.fail("no transaction");
  const { merkleRoot, coinbase } = litecoinPegOut;
  const said: string[] = [];
  let branches = 0;
  const server = {
    name: "server",
    ask: async (method: string) =>
      ok(method.endsWith("get_merkle") ? { branch: [branches++ === 0 ? "dd".repeat(32) : coinbase], pos: 1 } : { ...header, merkleRoot }),
    contradicted: (what: string) => said.push(what),
  };
  expect(await prover.isIn(tx, 5, { ...header, merkleRoot } as never, [server as unknown as RemoteServer])).toBe("proven");
  expect(said).toEqual([]);
});

test("what goes into Litecoin's extension block is read from the mempool, what comes out of it is proven, and what stays in it blames nobody", async () => {
  const prover = proverOf({ kind: "bitcoin", mweb: true });
  const { litecoinPegIn, litecoinPegOut, litecoinOnlyExtension } = chainTxs;
  const said: string[] = [];
  const giving = (hex: string): RemoteServer =>
    ({ ask: async () => ok(fromHex(hex)), contradicted: (what: string) => said.push(what) }) as unknown as RemoteServer;
  expect((await prover.fetch(litecoinPegIn.txid, [giving(litecoinPegIn.hex)]))?.txid).toBe(litecoinPegIn.txid);
  const out = await prover.fetch(litecoinPegOut.txid, [giving(litecoinPegOut.hex)]);
  if (out === null) expect.fail("not read");
  // The last of two: its neighbour is the coinbase.
  const header = {
    hash: "aa".repeat(32),
    prevHash: "bb".repeat(32),
    merkleRoot: litecoinPegOut.merkleRoot,
    timeSec: 1,
    bits: 0,
    version: 1,
  };
  expect(prover.flaw(out, header as never, { branch: [litecoinPegOut.coinbase], pos: 1 })).toBeNull();
  expect(await prover.fetch(litecoinOnlyExtension.txid, [giving(litecoinOnlyExtension.hex)])).toBeNull();
  expect(said).toEqual([]);
});

test("one server cannot mark a payment as one out of Litecoin's extension block, which may not be spent for long: its bytes are left aside", async () => {
  const format = { kind: "bitcoin", mweb: true } as const;
  const prover = proverOf(format);
  const small = prover.read(SMALL);
  if (small === null) expect.fail("no transaction");
  const marked = serializeTx({ ...small.tx, hogEx: true });
  const said: string[] = [];
  const giving = (raw: Uint8Array): RemoteServer =>
    ({ ask: async () => ok(raw), contradicted: (what: string) => said.push(what) }) as unknown as RemoteServer;
  expect(parseTx(marked, format)).toMatchObject({ ok: true, value: { hogEx: true } });
  expect((await prover.fetch(small.txid, [giving(marked), giving(SMALL)]))?.tx.hogEx).toBeUndefined();
  expect(prover.read(fromHex(chainTxs.litecoinPegOut.hex))?.tx.hogEx).toBe(true);
  expect(said).toEqual([]);
});

test.each([
  ["of a hundred thousand empty items", Array.from({ length: 100_000 }, () => new Uint8Array(0)), 0],
  ["larger than any mempool takes", [new Uint8Array(500_000)], 0],
  ["as others have", [new Uint8Array(72), new Uint8Array(33)], 2],
])("a witness %s, which no id covers and servers can make up, is kept only where it is no burden", (_, witness, kept) => {
  const prover = proverOf({ kind: "bitcoin" });
  const tx = {
    version: 2,
    inputs: [{ txid: "ab".repeat(32), vout: 1, scriptSig: Uint8Array.of(1, 0x51), sequence: 7, witness }],
    outputs: [{ value: 5n, script: Uint8Array.of(0x51) }],
    lockTime: 9,
  };
  const raw = serializeTx(tx);
  const read = prover.read(raw);
  expect(read).toMatchObject({ txid: txid(tx), tx: { version: 2, outputs: tx.outputs, lockTime: 9 } });
  expect(read?.tx.inputs[0]?.witness).toHaveLength(kept);
  expect(read?.raw.length).toBe(kept === 0 ? serializeTx(tx, { witness: false }).length : raw.length);
});

test("megabytes that are not the transaction they are given for, nor any other, cost who gives them his place: to read them takes longer than to send them", async () => {
  const prover = proverOf({ kind: "bitcoin" });
  const tx = { version: 2, inputs: [], outputs: [], lockTime: 0 };
  const input = { txid: "ab".repeat(32), vout: 1, scriptSig: new Uint8Array(0), sequence: 7, witness: [Uint8Array.of(1)] };
  const outputs = Array.from({ length: 50_000 }, () => ({ value: 5n, script: new Uint8Array(0) }));
  const said: string[] = [];
  const giving = (raw: Uint8Array): RemoteServer =>
    ({ ask: async () => ok(raw), contradicted: (what: string) => void said.push(what) }) as unknown as RemoteServer;
  const plain = serializeTx({ ...tx, inputs: [{ ...input, witness: [] }], outputs });
  for (const raw of [plain, serializeTx({ ...tx, inputs: [input], outputs })]) {
    const garbage = concatBytes(raw, new Uint8Array(1));
    expect(garbage.length).toBeGreaterThan(400_000);
    expect(await prover.fetch("cd".repeat(32), [giving(garbage)])).toBeNull();
  }
  expect(said).toHaveLength(2);
  const id = prover.read(plain)?.txid ?? expect.fail("not read");
  expect(await prover.fetch(id, [giving(plain)])).toMatchObject({ txid: id });
  // What is small may be of a form that only daemons know.
  expect(await prover.fetch(id, [giving(concatBytes(SMALL, new Uint8Array(1)))])).toBeNull();
  expect(said).toHaveLength(2);
});

test.each([1, 4, 5])("nor are megabytes of Zcash's form read that are another transaction's or none: version %i", async (version) => {
  const prover = proverOf({ kind: "sapling" });
  const header = new Uint8Array(4);
  new DataView(header.buffer).setUint32(0, version === 4 ? version + 0x80000000 : version, true);
  const contradicted = vi.fn();
  const server = { ask: async () => ok(concatBytes(header, new Uint8Array(500_000))), contradicted } as unknown as RemoteServer;
  const read = vi.spyOn(prover, "read");
  expect(await prover.fetch("cd".repeat(32), [server])).toBeNull();
  expect([contradicted.mock.calls.length, read.mock.calls.length]).toEqual([1, 0]);
});

test("who proves late is not asked for what others have proven meanwhile", async () => {
  const clock = new VirtualClock();
  const prover = new TxProver({ kind: "bitcoin" }, new HeaderReader(EASY_RULES, clock), clock);
  const input = { txid: "ab".repeat(32), vout: 1, scriptSig: new Uint8Array(72), sequence: 7, witness: [] };
  const tx = prover.read(serializeTx({ version: 2, inputs: [input], outputs: [{ value: 5n, script: new Uint8Array(25) }], lockTime: 0 }));
  if (tx === null) expect.fail("no transaction");
  const asks: string[] = [];
  const after = (name: string, delayMs: number): RemoteServer =>
    ({
      name,
      state: "connected",
      ask: (): Promise<unknown> => {
        asks.push(name);
        return new Promise((resolve) => void clock.after(delayMs, () => resolve(ok({ branch: [], pos: 0 }))));
      },
    }) as unknown as RemoteServer;
  const servers = [after("late", 9_000), after("quick", 100)];
  const told = Promise.all(Array.from({ length: 20 }, () => prover.isIn(tx, 5, { ...header, merkleRoot: tx.txid } as never, servers)));
  await clock.advance(5_000);
  expect(new Set(await told)).toEqual(new Set(["proven"]));
  const before = asks.filter((name) => name === "late").length;
  await clock.advance(60_000);
  expect(asks.filter((name) => name === "late")).toHaveLength(before);
  expect(before).toBeLessThan(20);
});
