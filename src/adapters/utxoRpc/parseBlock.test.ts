import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { scriptNumber } from "../../../test/contract/spendable.ts";
import { chainTxs } from "../../../test/vectors/utxo/utxoVectors.ts";
import type { HeaderLayout } from "../../core/proof/headerRules.ts";
import { ByteWriter } from "../../core/utxo/byteWriter.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { parseTx, serializeTx, type TxFormat, txid } from "../../core/utxo/txCodec.ts";
import { parseRawBlock } from "./answers.ts";
import { parseBlock } from "./parseBlock.ts";

const sha256d = (b: Uint8Array): Buffer => createHash("sha256").update(createHash("sha256").update(b).digest()).digest();
const inner = (id: string): Buffer => Buffer.from(id, "hex").reverse();
const BITCOIN: TxFormat = { kind: "bitcoin" };
const SAPLING: TxFormat = { kind: "sapling" };
const TIME = 1_700_000_123;

const tx = (n: number, more: Partial<Tx> = {}): Tx => ({
  version: 1,
  inputs: [{ txid: "22".repeat(32), vout: n, scriptSig: Uint8Array.of(n), sequence: 1, witness: [] }],
  outputs: [{ value: BigInt(n), script: scriptNumber(n) }],
  lockTime: 0,
  ...more,
});

/** Three transactions: the third leaf of the tree is paired with itself. */
function block(layout: HeaderLayout, txs: readonly Tx[], tail = new Uint8Array(0)): Uint8Array {
  const [a, b, c] = txs.map((t) => inner(txid(t)));
  if (!a || !b || !c) throw new Error("three transactions, please");
  const left = sha256d(Buffer.concat([a, b]));
  const root = sha256d(Buffer.concat([left, sha256d(Buffer.concat([c, c]))]));
  const w = new ByteWriter()
    .u32(layout === "auxpow" ? 0x00620102 : 4)
    .bytes(inner("ab".repeat(32)))
    .bytes(root);
  if (layout === "equihash") w.bytes(new Uint8Array(32));
  w.u32(TIME).u32(0x1d00ffff);
  if (layout === "equihash") w.bytes(new Uint8Array(32)).varBytes(new Uint8Array(1344));
  else w.u32(7);
  if (layout === "progpow") w.bytes(new Uint8Array(40));
  if (layout === "accumulator") w.bytes(new Uint8Array(32));
  if (layout === "auxpow") {
    w.bytes(serializeTx(tx(9))).bytes(new Uint8Array(32));
    w.compactSize(2).bytes(new Uint8Array(64)).u32(0);
    w.compactSize(0).u32(0).bytes(new Uint8Array(80));
  }
  w.compactSize(txs.length);
  for (const t of txs) w.bytes(serializeTx(t));
  return w.bytes(tail).done();
}

const witness: Partial<Tx> = {
  inputs: [{ txid: "33".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence: 1, witness: [Uint8Array.of(1, 2, 3)] }],
};
const v4: Partial<Tx> = {
  version: 4,
  sapling: { versionGroupId: 0x892f2085, expiryHeight: 0, valueBalance: 0n, shieldedTail: new Uint8Array(3) },
};

test.each<[HeaderLayout, TxFormat, readonly Tx[]]>([
  ["plain", BITCOIN, [tx(1), tx(2, witness), tx(3)]],
  ["accumulator", BITCOIN, [tx(1), tx(2), tx(3)]],
  ["auxpow", BITCOIN, [tx(1), tx(2), tx(3)]],
  ["progpow", BITCOIN, [tx(1), tx(2), tx(3)]],
  ["equihash", SAPLING, [tx(1), tx(2, v4), tx(3, v4)]],
])("a block with a header of the %s kind is read whole, whatever was tried first", (layout, format, txs) => {
  for (const first of ["plain", "equihash", "auxpow", "progpow", "accumulator"] as const) {
    const parsed = parseBlock(block(layout, txs, Uint8Array.of(1, 2, 3)), format, first);
    if (!parsed.ok) throw new Error(parsed.error.detail);
    expect(parsed.value.layout === layout || (layout === "plain" && parsed.value.layout === "auxpow")).toBe(true);
    expect(parsed.value.block.prevHash).toBe("ab".repeat(32));
    expect(parsed.value.block.timeSec).toBe(TIME);
    expect(parsed.value.block.txs.map((t) => t.txid)).toEqual(txs.map(txid));
    expect(parsed.value.block.txs.map((t) => Buffer.from(t.raw).toString("hex"))).toEqual(
      txs.map((t) => Buffer.from(serializeTx(t)).toString("hex")),
    );
  }
});

test.each<[string, TxFormat, Partial<Tx>]>([
  ["a later version and a type, and no payload, of Dash's relatives", { ...BITCOIN, specialTx: "version 3" }, {}],
  ["a later version and a type, and a payload, of Dash", { ...BITCOIN, specialTx: true }, { extraPayload: Uint8Array.of(1, 0) }],
])("a block is read whole with a transaction of %s", (_, format, more) => {
  const txs = [tx(1), tx(2, { version: 4 + 0x10000, ...more }), tx(3, { version: 3 + 0x10000, extraPayload: Uint8Array.of(1, 0) })];
  const parsed = parseBlock(block("plain", txs), format);
  expect(parsed.ok && parsed.value.block.txs.map((t) => t.txid)).toEqual(txs.map(txid));
});

test.each([
  [2, 132, true],
  [2, 0, "version 3"],
  [1, 0, true],
] as const)(
  "a block has coins taken back from Dash's platform by their id, payload version %i: without its last %i bytes where %s",
  (version, bytes, specialTx) => {
    const raw = Buffer.from(chainTxs.dashUnlock.hex, "hex");
    raw[raw.length - 145] = version;
    const format: TxFormat = { ...BITCOIN, specialTx };
    const unlock = parseTx(raw, format);
    const parsed = parseBlock(block("plain", [tx(1), unlock.ok ? unlock.value : expect.fail("no transaction"), tx(3)]), format);
    const [, found] = parsed.ok ? parsed.value.block.txs : expect.fail("no block");
    const id = sha256d(Buffer.concat([raw.subarray(0, raw.length - bytes), Buffer.alloc(bytes)])).reverse();
    expect([found?.txid, found && Buffer.from(found.raw)]).toEqual([id.toString("hex"), raw]);
  },
);

test("a block is read whole with a transaction that fills it, as chains with large blocks allow it", () => {
  const large = tx(2, { outputs: [{ value: 1n, script: new Uint8Array(5_000_000) }] });
  const parsed = parseBlock(block("plain", [tx(1), large, tx(3)]), BITCOIN);
  expect(parsed.ok && parsed.value.block.txs[1]?.txid).toBe(txid(large));
  expect(parseTx(serializeTx(large), BITCOIN).ok).toBe(true);
});

test("a block is read that is larger than 32 MB, as Bitcoin Cash allows it after full ones", () => {
  const large = (n: number): Tx => tx(n, { outputs: [{ value: 1n, script: new Uint8Array(16_100_000) }] });
  const bytes = block("plain", [tx(1), large(2), large(3)]);
  expect(parseRawBlock(Buffer.from(bytes).toString("hex")).ok && parseBlock(bytes, BITCOIN).ok).toBe(true);
});

test("a block in which one transaction was changed is refused by its Merkle root", () => {
  const good = block("plain", [tx(1), tx(2), tx(3)]);
  const bad = Uint8Array.from(good);
  bad[bad.length - 1] = 1;
  expect(parseBlock(bad, BITCOIN)).toMatchObject({ ok: false, error: { kind: "BadBlock" } });
});

test("a block cut short anywhere is refused", () => {
  const good = block("plain", [tx(1), tx(2), tx(3)]);
  for (let length = 0; length < good.length; length++) expect(parseBlock(good.subarray(0, length), BITCOIN).ok).toBe(false);
});
