import { expect, test } from "vitest";
import { TEST_RULES } from "../../../test/contract/electrumChain.ts";
import { chainTxs } from "../../../test/vectors/utxo/utxoVectors.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { ok } from "../../core/util/result.ts";
import { ByteWriter } from "../../core/utxo/byteWriter.ts";
import { parseTx, serializeTx } from "../../core/utxo/txCodec.ts";
import { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { TxProver } from "./txProver.ts";

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

test("a server whose branch leads to the block is not blamed for a transaction that could be a node of its tree; it is proven all the same by nobody", async () => {
  const reader = new HeaderReader(TEST_RULES);
  const prover = new TxProver({ kind: "bitcoin" }, reader);
  const tx = prover.read(SMALL);
  if (tx === null) expect.fail("no transaction");
  // The only one of its block.
  const header = { hash: "aa".repeat(32), prevHash: "bb".repeat(32), merkleRoot: tx.txid, timeSec: 1, bits: 0, version: 1 };
  const said: string[] = [];
  const server = {
    name: "server",
    ask: async (method: string) => ok(method.endsWith("get_merkle") ? { branch: [], pos: 0 } : header),
    contradicted: (what: string) => said.push(`dropped: ${what}`),
    suspect: (what: string) => said.push(what),
  };
  const isIn = (merkleRoot: string): Promise<boolean> =>
    prover.isIn(tx, 5, { ...header, merkleRoot } as never, [server as unknown as RemoteServer]);
  expect(await isIn(tx.txid)).toBe(false);
  expect(said).toEqual([`its branch for transaction ${tx.txid} could be that of another`]);
  expect(await isIn("cc".repeat(32))).toBe(false);
  expect(said.at(-1)).toBe(`dropped: it says transaction ${tx.txid} is in block 5: its branch proves nothing (OtherRoot)`);
});

test("a server whose chain becomes ours between its branch and its header is asked for the branch again, and not blamed", async () => {
  const prover = new TxProver({ kind: "bitcoin" }, new HeaderReader(TEST_RULES));
  const { litecoinPegOut } = chainTxs;
  const tx = new TxProver({ kind: "bitcoin", mweb: true }, new HeaderReader(TEST_RULES)).read(fromHex(litecoinPegOut.hex));
  if (tx === null) expect.fail("no transaction");
  const { merkleRoot, coinbase } = litecoinPegOut;
  const header = { hash: "aa".repeat(32), prevHash: "bb".repeat(32), merkleRoot, timeSec: 1, bits: 0, version: 1 };
  const said: string[] = [];
  let branches = 0;
  const server = {
    name: "server",
    ask: async (method: string) =>
      ok(method.endsWith("get_merkle") ? { branch: [branches++ === 0 ? "dd".repeat(32) : coinbase], pos: 1 } : header),
    contradicted: (what: string) => said.push(what),
  };
  expect(await prover.isIn(tx, 5, header as never, [server as unknown as RemoteServer])).toBe(true);
  expect(said).toEqual([]);
});

test("what goes into Litecoin's extension block is read from the mempool, what comes out of it is proven, and what stays in it blames nobody", async () => {
  const prover = new TxProver({ kind: "bitcoin", mweb: true }, new HeaderReader(TEST_RULES));
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
  const prover = new TxProver(format, new HeaderReader(TEST_RULES));
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
