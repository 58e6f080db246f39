import { expect, test } from "vitest";
import { headerVectors } from "../../../test/vectors/headers/headerVectors.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import { type BlockHeader, parseHeader, parseHeaders } from "./blockHeader.ts";
import { type HeaderRules, NOTHING_KNOWN, type ProofOfWork } from "./headerRules.ts";
import { hasWork, workOf } from "./proofOfWork.ts";

const rules = (work: ProofOfWork): HeaderRules => ({
  ...NOTHING_KNOWN,
  layouts: ["equihash", "plain"],
  work,
});
const UNCHECKED = rules({ kind: "unchecked", reason: "test" });
const SHA256D = rules({ kind: "sha256d" });
const SCRYPT = rules({ kind: "scrypt" });
const PARAMS = { n: 200, k: 9, person: "ZcashPoW" };
const KOMODO = rules({ kind: "equihash", params: PARAMS, floorBits: 0x200f0f0f });

function read(hex: string): BlockHeader {
  const header = parseHeader(fromHex(hex), UNCHECKED);
  if (!header.ok) throw new Error(JSON.stringify(header.error));
  return header.value;
}
/** The header with one byte another, at a place from its end if negative. */
function damaged(hex: string, place: number): BlockHeader {
  const bytes = fromHex(hex);
  const at = place < 0 ? bytes.length + place : place;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return read(toHex(bytes));
}

const { litecoin, komodo, dogecoin, zcash, bitcoin } = headerVectors;

test("Litecoin's blocks have scrypt's work and are named by SHA-256", () => {
  for (const { header, hash } of [litecoin.genesis, litecoin.block2000000]) {
    expect(read(header).hash).toBe(hash);
    expect(hasWork(read(header), SCRYPT)).toBe(true);
    expect(hasWork(read(header), SHA256D)).toBe(false);
    expect(hasWork(damaged(header, -1), SCRYPT)).toBe(false);
  }
  expect(hasWork(read(bitcoin.headers[0]), SCRYPT)).toBe(false);
});

test("the scrypt hash of Litecoin's block 2000000 is just what its own target is compared with", () => {
  // Bytes 72 to 75 are the bits; another target means another hash, so only their reading is tried here.
  const header = read(litecoin.block2000000.header);
  const hash = BigInt(`0x${litecoin.block2000000.powHash}`);
  expect(hash <= 0x01a4a0n << (8n * 23n)).toBe(true);
  expect(hasWork({ ...header, bits: 0x1a00c2c6 }, SCRYPT)).toBe(false);
  expect(hasWork({ ...header, bits: 0x1a00c2c7 }, SCRYPT)).toBe(true);
});

test("Komodo's first block has a solution and the hash the easiest target asks for", () => {
  const { header, hash } = komodo.genesis;
  expect(read(header).hash).toBe(hash);
  expect(hasWork(read(header), KOMODO)).toBe(true);
  expect(hasWork(damaged(header, 120), KOMODO)).toBe(false);
  expect(hasWork(damaged(header, -1), KOMODO)).toBe(false);
});

test("a block of a Komodo notary has work although its hash is above the target of its own bits", () => {
  const { header, hash } = komodo.block1583159441;
  expect(read(header)).toMatchObject({ hash, timeSec: 1_583_159_441, bits: 0x1d0119e5 });
  expect(hasWork(read(header), SHA256D)).toBe(false);
  expect(hasWork(read(header), KOMODO)).toBe(true);
  expect(hasWork(damaged(header, 1_000), KOMODO)).toBe(false);
});

const DOGECOIN: HeaderRules = { ...rules({ kind: "mergedScrypt", chainId: 0x62 }), layouts: ["auxpow"] };
const readDoge = (bytes: Uint8Array) => parseHeader(bytes, DOGECOIN);

test("Dogecoin's blocks have the work of their parents in Litecoin", () => {
  const headers = parseHeaders(fromHex(dogecoin.headers.join("")), DOGECOIN);
  expect(headers.ok && headers.value.map((h) => h.hash)).toEqual(dogecoin.hashes);
  for (const header of headers.ok ? headers.value : []) {
    expect(hasWork(header, DOGECOIN)).toBe(true);
    expect(hasWork({ ...header, bits: 0x19012345 }, DOGECOIN)).toBe(false);
    expect(hasWork(header, SCRYPT)).toBe(false);
    expect(hasWork(header, { ...DOGECOIN, work: { kind: "mergedScrypt", chainId: 0x61 } })).toBe(false);
    // A server that leaves the proof out.
    expect(hasWork({ ...header, parentProof: null }, DOGECOIN)).toBe(false);
    expect(readDoge(header.raw).ok).toBe(false);
  }
});

test("a block does not have the work of another block's parent", () => {
  const [one, two] = dogecoin.headers.map((text) => readDoge(fromHex(text)));
  if (!one?.ok || !two?.ok) throw new Error("the vectors were not read");
  expect(hasWork({ ...one.value, parentProof: two.value.parentProof }, DOGECOIN)).toBe(false);
  expect(hasWork({ ...two.value, parentProof: one.value.parentProof }, DOGECOIN)).toBe(false);
});

test("a byte changed anywhere in a merge-mined header or its proof is found, but in the parent's hash, which says nothing", () => {
  for (const text of dogecoin.headers) {
    const good = fromHex(text);
    const unnoticed: number[] = [];
    for (let at = 0; at < good.length; at++) {
      const header = readDoge(good.with(at, (good[at] ?? 0) ^ 0xff));
      if (header.ok && hasWork(header.value, DOGECOIN)) unnoticed.push(at);
    }
    // The hash stands behind the coinbase; what is left of it after the first byte that parses.
    expect(unnoticed.length).toBe(32);
    expect((unnoticed.at(-1) ?? 0) - (unnoticed[0] ?? 0)).toBe(31);
  }
});

test("a Dogecoin block that was not merge-mined has its own work", () => {
  const own = { ...read(litecoin.block2000000.header), parentProof: null };
  expect(hasWork(own, DOGECOIN)).toBe(true);
  expect(hasWork(damaged(litecoin.block2000000.header, -1), DOGECOIN)).toBe(false);
});

test("a solution without the hash that the floor asks for is no work", () => {
  const { header } = komodo.genesis;
  const harder = rules({ kind: "equihash", params: PARAMS, floorBits: 0x1f07ffff });
  expect(hasWork(read(header), harder)).toBe(false);
  for (const text of zcash.headers) expect(hasWork(read(text), harder)).toBe(true);
});

test("Zcash's first headers are read one after another", () => {
  const headers = parseHeaders(fromHex(zcash.headers.join("")), KOMODO);
  expect(headers.ok && headers.value.map((h) => h.hash)).toEqual(zcash.hashes);
});

test("a header of 80 bytes has no Equihash solution", () => {
  expect(hasWork(read(bitcoin.headers[0]), KOMODO)).toBe(false);
});

test("a target that means nothing is met by no hash, and adds no work", () => {
  const header = { ...read(bitcoin.headers[0]), bits: 0x1d800001 };
  expect([hasWork(header, SHA256D), workOf(header, SHA256D)]).toEqual([false, 0n]);
});

test("where a header's own target binds nothing, all headers weigh the same", () => {
  const header = read(komodo.genesis.header);
  const boast = { ...header, bits: 0x03000001 };
  for (const r of [KOMODO, UNCHECKED]) expect(workOf(boast, r)).toBe(workOf(header, r));
  expect(workOf(boast, SHA256D) > workOf(header, SHA256D)).toBe(true);
  expect(hasWork(boast, UNCHECKED)).toBe(true);
});
