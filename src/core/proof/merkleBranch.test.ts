import fc from "fast-check";
import { expect, test } from "vitest";
import { merkleRoot as chainMerkleRoot } from "../../chain/merkle.ts";
import { reversed, toHex } from "../util/bytes.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";
import { hash256 } from "../utxo/hash.ts";
import { parseTx } from "../utxo/txCodec.ts";
import { checkInclusion, rootOf } from "./merkleBranch.ts";

/** Bitcoin's block 170: its two transactions and its root. */
const COINBASE = "b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082";
const PAYMENT = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";
const ROOT = "7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff";

test("Bitcoin's first payment is proven in block 170, on either side of the tree", () => {
  expect(rootOf(PAYMENT, [COINBASE], 1)).toEqual({ ok: true, value: ROOT });
  expect(rootOf(COINBASE, [PAYMENT], 0)).toEqual({ ok: true, value: ROOT });
  expect(checkInclusion({ txid: PAYMENT, strippedBytes: 275, branch: [COINBASE], pos: 1 }, ROOT).ok).toBe(true);
});

test("the same branch at another place, and another transaction, lead to another root", () => {
  expect(checkInclusion({ txid: PAYMENT, strippedBytes: 275, branch: [COINBASE], pos: 0 }, ROOT)).toMatchObject({
    ok: false,
    error: { kind: "OtherRoot" },
  });
  expect(checkInclusion({ txid: COINBASE, strippedBytes: 134, branch: [COINBASE], pos: 1 }, ROOT).ok).toBe(false);
});

test("a branch too deep, a place outside the tree and what is no hash are refused", () => {
  const deep = new Array<string>(33).fill(ROOT);
  expect(rootOf(PAYMENT, deep, 0)).toMatchObject({ ok: false, error: { kind: "BadBranch" } });
  expect(rootOf(PAYMENT, deep.slice(1), 0).ok).toBe(true);
  for (const pos of [2, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) expect(rootOf(PAYMENT, [COINBASE], pos).ok).toBe(false);
  expect(rootOf(PAYMENT, [], 1).ok).toBe(false);
  for (const text of ["", "zz".repeat(32), "ab".repeat(31), `${ROOT}00`]) {
    expect(rootOf(PAYMENT, [text], 0).ok).toBe(false);
    expect(rootOf(text, [COINBASE], 0).ok).toBe(false);
  }
});

/** Root and branches of a tree over transaction ids, worked out apart from the code under test. */
function tree(ids: readonly string[], pos: number): { readonly root: string; readonly branch: readonly string[] } {
  let row = [...ids];
  let place = pos;
  const branch: string[] = [];
  while (row.length > 1) {
    if (row.length % 2 === 1) row.push(row.at(-1) ?? "");
    branch.push(row[place ^ 1] ?? "");
    row = Array.from({ length: row.length / 2 }, (_, i) => merkleRoot([row[2 * i] ?? "", row[2 * i + 1] ?? ""]));
    place >>= 1;
  }
  return { root: row[0] ?? "", branch };
}
const merkleRoot = (pair: readonly string[]): string => toHex(reversed(chainMerkleRoot(pair).root));
const anyId = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex);

test("in a block of any size every transaction is proven at its own place", () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyId, { minLength: 1, maxLength: 40 }), fc.nat(), (ids, n) => {
      const pos = n % ids.length;
      const { root, branch } = tree(ids, pos);
      const txid = ids[pos] ?? "";
      expect(toHex(reversed(chainMerkleRoot(ids).root))).toBe(root);
      expect(rootOf(txid, branch, pos)).toEqual({ ok: true, value: root });
      expect(checkInclusion({ txid, strippedBytes: 200, branch, pos }, root).ok).toBe(true);
    }),
  );
});

test("no other transaction, place or neighbour leads to the block's root", () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyId, { minLength: 4, maxLength: 16 }), fc.nat(), fc.nat(), anyId, (ids, n, m, other) => {
      fc.pre(!ids.includes(other));
      const pos = n % ids.length;
      const { root, branch } = tree(ids, pos);
      const claim = { txid: ids[pos] ?? "", strippedBytes: 200, branch, pos };
      const holds = (changed: object): boolean => checkInclusion({ ...claim, ...changed }, root).ok;
      expect(holds({ txid: other })).toBe(false);
      expect(holds({ branch: branch.with(m % branch.length, other) })).toBe(false);
      expect(holds({ branch: branch.slice(1), pos: pos >> 1 })).toBe(false);
      const elsewhere = m % 2 ** branch.length;
      // The last of an odd row stands beside itself, so both places are its own; no row is odd where their number is a power of two.
      if (elsewhere !== pos && 2 ** branch.length === ids.length) expect(holds({ pos: elsewhere })).toBe(false);
    }),
  );
});

test("a made-up transaction below a mined one of 64 bytes is not proven (CVE-2017-12842)", () => {
  for (const scriptSig of [0, 1, 4]) {
    const head = new ByteWriter(64).u32(1).compactSize(1).bytes(new Uint8Array(32).fill(7)).u32(0);
    const input = head.compactSize(scriptSig).bytes(new Uint8Array(scriptSig).fill(0x51)).u32(0xffffffff);
    const output = input
      .compactSize(1)
      .bytes(new Uint8Array(8).fill(1))
      .compactSize(4 - scriptSig);
    const tx = output
      .bytes(new Uint8Array(4 - scriptSig).fill(0x51))
      .u32(0)
      .done();
    expect(tx.length).toBe(64);
    expect(parseTx(tx, { kind: "bitcoin" }).ok).toBe(true);
    const mined = toHex(reversed(hash256(tx)));
    const { root, branch } = tree([COINBASE, mined], 1);
    const [left, right] = [toHex(reversed(tx.subarray(0, 32))), toHex(reversed(tx.subarray(32)))];
    const deeper = [left, ...branch];
    expect(rootOf(right, deeper, 3)).toEqual({ ok: false, error: { kind: "NodeIsTx", root } });
    expect(rootOf(left, [right, ...branch], 2)).toEqual({ ok: false, error: { kind: "NodeIsTx", root } });
    // Who made it up and does not even lead to the block is no honest server.
    expect(checkInclusion({ txid: right, strippedBytes: 200, branch: deeper, pos: 3 }, ROOT)).toMatchObject({
      error: { kind: "OtherRoot" },
    });
    expect(checkInclusion({ txid: mined, strippedBytes: 64, branch, pos: 1 }, ROOT)).toMatchObject({ error: { kind: "OtherRoot" } });
    // The mined one itself cannot be told from a node either.
    expect(checkInclusion({ txid: mined, strippedBytes: 64, branch, pos: 1 }, root)).toEqual({
      ok: false,
      error: { kind: "NodeIsTx", root },
    });
    expect(checkInclusion({ txid: mined, strippedBytes: 65, branch, pos: 1 }, root).ok).toBe(true);
  }
});
