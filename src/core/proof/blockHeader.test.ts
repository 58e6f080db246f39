import { expect, test } from "vitest";
import { mineHeader, mineHeaders } from "../../../test/fakes/mineHeaders.ts";
import { headerVectors } from "../../../test/vectors/headers/headerVectors.ts";
import { concatBytes, fromHex, reversed } from "../util/bytes.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";
import { MAX_HEADERS, MAX_HEADERS_BYTES, parseHeader, parseHeaders } from "./blockHeader.ts";
import { type HeaderLayout, type HeaderRules, NOTHING_KNOWN } from "./headerRules.ts";

const rules = (...layouts: readonly HeaderLayout[]): HeaderRules => ({
  ...NOTHING_KNOWN,
  layouts,
  work: { kind: "unchecked", reason: "test" },
});
const PLAIN = rules("plain");
const ANY = rules("plain", "auxpow", "progpow", "accumulator");
const START = mineHeader({});
const AUXPOW_VERSION = 0x00620102;

/** A merge-mined header: 80 bytes and what proves it: parent's coinbase, hash, two branches, parent's header. */
function auxHeader(previous: Uint8Array): { readonly base: Uint8Array; readonly whole: Uint8Array } {
  const base = new ByteWriter(80).u32(AUXPOW_VERSION).bytes(previous).bytes(new Uint8Array(32).fill(2)).u32(1_700_000_000).u32(0x1a01a4a0);
  const raw = base.u32(0).done();
  const coinbase = new ByteWriter().u32(1).compactSize(1).bytes(new Uint8Array(32)).u32(0xffffffff).compactSize(4).u32(7).u32(0xffffffff);
  const output = coinbase.compactSize(1).bytes(new Uint8Array(8)).compactSize(1).u8(0x51).u32(0).done();
  const branch = (count: number) =>
    new ByteWriter()
      .compactSize(count)
      .bytes(new Uint8Array(32 * count).fill(3))
      .u32(0)
      .done();
  return { base: raw, whole: concatBytes(raw, output, new Uint8Array(32).fill(4), branch(3), branch(0), new Uint8Array(80).fill(5)) };
}

test("a header's fields are read, and its bytes are a copy", () => {
  const raw = fromHex(headerVectors.bitcoin.headers[1]);
  const header = parseHeader(raw, PLAIN);
  expect(header).toEqual({
    ok: true,
    value: {
      raw,
      hash: headerVectors.bitcoin.hashes[1],
      prevHash: headerVectors.bitcoin.hashes[0],
      merkleRoot: "0e3e2357e806b6cdb1f70b54c3a3a17b6714ee1f0e68bebb44a74b1efd512098",
      timeSec: 1_231_469_665,
      bits: 0x1d00ffff,
      parentProof: null,
    },
  });
  expect(header.ok && header.value.raw.buffer).not.toBe(raw.buffer);
});

test("merge-mined headers are read with the proof of their parent and without", () => {
  const first = auxHeader(new Uint8Array(32));
  const short = parseHeader(first.base, ANY);
  const long = parseHeader(first.whole, ANY);
  expect(short.ok).toBe(true);
  expect(long.ok && short.ok && { ...long.value, parentProof: null }).toEqual(short.ok && short.value);
  expect(long.ok && long.value.parentProof?.chainBranch.hashes).toEqual([]);
  expect(parseHeader(first.whole, PLAIN).ok).toBe(false);
  expect(parseHeader(first.whole.subarray(0, -1), ANY).ok).toBe(false);
  expect(parseHeader(concatBytes(first.whole, first.whole), ANY).ok).toBe(false);
});

test("headers with a nonce of eight bytes are read, and named where the hash is SHA-256 twice", () => {
  const [first, second] = headerVectors.ravencoin.headers;
  const [name] = headerVectors.ravencoin.hashes;
  expect(parseHeader(fromHex(second), ANY)).toMatchObject({
    ok: true,
    value: { prevHash: name, timeSec: 1_786_370_982, bits: 0x1b05c535 },
  });
  const own = parseHeader(fromHex(first), ANY);
  const next = concatBytes(fromHex(second).subarray(0, 4), reversed(fromHex(own.ok ? own.value.hash : "")), fromHex(second).subarray(36));
  expect(parseHeaders(concatBytes(fromHex(first), next), ANY)).toMatchObject({ ok: true, value: { length: 2 } });
  expect(parseHeader(fromHex(first).subarray(0, -1), ANY).ok).toBe(false);
});

test("headers of another length are tried in the coin's order, and not mixed", () => {
  const plain = START.raw;
  const longer = new Uint8Array([...plain, ...new Uint8Array(32)]);
  expect(parseHeader(longer, ANY).ok).toBe(true);
  expect(parseHeader(longer, PLAIN).ok).toBe(false);
  expect(parseHeaders(concatBytes(longer, plain), ANY).ok).toBe(false);
  expect(parseHeaders(fromHex(headerVectors.zcash.headers[0]), rules("equihash", "plain")).ok).toBe(true);
  expect(parseHeader(plain, rules("equihash", "plain")).ok).toBe(true);
});

test("none is none, one is one, and what is cut is refused", () => {
  expect(parseHeaders(new Uint8Array(0), PLAIN)).toEqual({ ok: true, value: [] });
  expect(parseHeader(new Uint8Array(0), PLAIN).ok).toBe(false);
  const two = concatBytes(START.raw, ...mineHeaders(START, 1).map((h) => h.raw));
  expect(parseHeaders(two, PLAIN)).toMatchObject({ ok: true, value: { length: 2 } });
  expect(parseHeader(two, PLAIN).ok).toBe(false);
  for (const bytes of [1, 79, 81, 159])
    expect(parseHeaders(two.subarray(0, bytes), PLAIN)).toMatchObject({ ok: false, error: { kind: "BadHeader" } });
});

test("a solution longer than any in use and a count not in its shortest form are refused", () => {
  const zcash = fromHex(headerVectors.zcash.headers[0]);
  const long = concatBytes(zcash.subarray(0, 140), Uint8Array.from([0xfd, 0x41, 0x05]), new Uint8Array(0x541));
  expect(parseHeader(long, rules("equihash"))).toEqual({ ok: false, error: { kind: "BadHeader", detail: "solution too long" } });
  const odd = concatBytes(zcash.subarray(0, 140), Uint8Array.from([0xfd, 0x24, 0x00]), new Uint8Array(0x24));
  expect(parseHeader(odd, rules("equihash")).ok).toBe(false);
});

test("as many headers as an answer may hold are read, and not one more", () => {
  const links = mineHeaders(START, MAX_HEADERS).map((h) => h.raw);
  expect(parseHeaders(concatBytes(...links), PLAIN)).toMatchObject({ ok: true, value: { length: MAX_HEADERS } });
  expect(parseHeaders(concatBytes(START.raw, ...links), PLAIN)).toEqual({
    ok: false,
    error: { kind: "BadHeader", detail: `more than ${MAX_HEADERS} headers` },
  });
  expect(parseHeaders(new Uint8Array(MAX_HEADERS_BYTES + 1), PLAIN)).toMatchObject({ error: { detail: "too many bytes" } });
});

test("an unlinked answer is told from one of another length", () => {
  const unlinked = concatBytes(START.raw, START.raw);
  expect(parseHeaders(unlinked, rules("equihash", "plain"))).toMatchObject({ ok: false, error: { kind: "NotLinked", at: 1 } });
  expect(parseHeaders(unlinked, ANY)).toMatchObject({ ok: false, error: { kind: "NotLinked", at: 1 } });
});
