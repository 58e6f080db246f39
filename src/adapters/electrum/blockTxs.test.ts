import { expect, test } from "vitest";
import { EASY_RULES } from "../../../test/fakes/mineHeaders.ts";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import { concatBytes, parseHex, reversed, toHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { hash256 } from "../../core/utxo/hash.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { serializeTx, txid as txidOf } from "../../core/utxo/txCodec.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { BlockTxs } from "./blockTxs.ts";
import { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { TxProver } from "./txProver.ts";

const spending = (txid: string, scriptBytes: number): Tx => ({
  version: 1,
  inputs: [{ txid, vout: 0, scriptSig: new Uint8Array(scriptBytes).fill(0x51), sequence: 0xffffffff, witness: [] }],
  outputs: [{ value: 1n, script: new Uint8Array(0) }],
  lockTime: 0,
});
const rawOf = (tx: Tx): RawTx => ({ txid: txidOf(tx), tx, raw: serializeTx(tx) });
const bytesOf = (id: string): Uint8Array => {
  const bytes = parseHex(id);
  if (!bytes.ok) throw new Error(id);
  return reversed(bytes.value);
};
const over = (left: string, right: string): string => toHex(reversed(hash256(concatBytes(bytesOf(left), bytesOf(right)))));

test("below a transaction of 64 bytes no other is read: all stand as deep as the coinbase", async () => {
  const txs = [spending("00".repeat(32), 9), spending("07".repeat(32), 4), spending("08".repeat(32), 9), spending("09".repeat(32), 9)];
  const raws = txs.map(rawOf);
  const [a, small, c, d] = raws.map(({ txid }) => txid) as [string, string, string, string];
  const bytes = raws[1]?.raw ?? new Uint8Array();
  expect(bytes).toHaveLength(64);
  const branches = [
    [small, over(c, d)],
    [a, over(c, d)],
    [d, over(a, small)],
    [c, over(a, small)],
  ];
  // The right half of the small one's bytes is the id of one that is in no block.
  const [left, madeUp] = [toHex(reversed(bytes.subarray(0, 32))), toHex(reversed(bytes.subarray(32)))];
  const txOf = (txid: string): RawTx | null => raws.find((r) => r.txid === txid) ?? { ...rawOf(spending("0a".repeat(32), 9)), txid };
  const clock = new VirtualClock();
  const prover = Object.assign(new TxProver({ kind: "bitcoin" }, new HeaderReader(EASY_RULES, clock), clock), {
    fetch: async (txid: string) => txOf(txid),
  });
  const serving = (lies: boolean): RemoteServer =>
    ({
      state: "connected",
      ask: async (_: string, [, pos]: [number, number]) =>
        ok(lies && pos === 3 ? { txid: madeUp, branch: [left, a, over(c, d)] } : { txid: raws[pos]?.txid, branch: branches[pos] }),
    }) as unknown as RemoteServer;
  const header = { hash: "aa".repeat(32), merkleRoot: over(over(a, small), over(c, d)) };
  const block = new BlockTxs(5, header as never, { tx: () => undefined } as never, prover);
  // The second is the first to be asked for the fourth.
  for (let i = 0; i < 9 && !block.isWhole; i++) await block.more([serving(false), serving(true)], () => undefined);
  expect(block.txs.map(({ txid }) => txid)).toEqual([a, small, c, d]);
});

test("a block that is larger than any is read no further: where blocks cost nothing servers can make it up to fill the memory", async () => {
  const raw = new Uint8Array(4_000_000);
  const txOf = (txid: string): RawTx => ({ txid, tx: { version: 1, inputs: [], outputs: [], lockTime: 0 }, raw });
  const prover = { fetch: async (txid: string) => txOf(txid), flaw: () => null, isFirst: () => true };
  const server = {
    state: "connected",
    ask: async (_: string, [, pos]: [number, number]) =>
      ok({ txid: pos.toString(16).padStart(64, "0"), branch: Array.from({ length: 10 }, () => "ee".repeat(32)) }),
  } as unknown as RemoteServer;
  const block = new BlockTxs(5, { hash: "aa".repeat(32), merkleRoot: "" } as never, { tx: () => undefined } as never, prover as never);
  let rounds = 0;
  while (rounds < 100 && (await block.more([server], () => undefined))) rounds++;
  expect(block.isWhole).toBe(false);
  expect(block.txs.length * raw.length).toBeGreaterThan(100_000_000);
  expect(block.txs.length * raw.length).toBeLessThan(200_000_000);
  expect(await block.more([server], () => undefined)).toBe(false);
});

test("one that does not have the block yet is not asked for it: servers count each request they refuse for a hundred, and cut off", async () => {
  const txOf = (txid: string): RawTx => ({ txid, tx: { version: 1, inputs: [], outputs: [], lockTime: 0 }, raw: new Uint8Array(65) });
  const prover = { fetch: async (txid: string) => txOf(txid), flaw: () => null, isFirst: () => true };
  const asked: string[] = [];
  const serving = (name: string, height: number): RemoteServer =>
    ({
      state: "connected",
      tip: { height },
      ask: async (_: string, [, pos]: [number, number]) => {
        asked.push(name);
        const branch = Array.from({ length: 6 }, () => "ee".repeat(32));
        return height < 5 ? err({ kind: "rpc" }) : ok({ txid: pos.toString(16).padStart(64, "0"), branch });
      },
    }) as unknown as RemoteServer;
  const block = new BlockTxs(5, { hash: "aa".repeat(32), merkleRoot: "" } as never, { tx: () => undefined } as never, prover as never);
  const servers = [serving("behind", 4), serving("there", 5)];
  for (let i = 0; i < 99 && !block.isWhole; i++) await block.more(servers, () => undefined);
  expect(block.isWhole).toBe(true);
  expect(new Set(asked)).toEqual(new Set(["there"]));
});
