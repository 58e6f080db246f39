import { expect, test } from "vitest";
import { EASY_BITS } from "../../../test/fakes/mineHeaders.ts";
import { concatBytes, reversed } from "../util/bytes.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";
import { hash256 } from "../utxo/hash.ts";
import { type BlockHeader, parseHeader } from "./blockHeader.ts";
import { type HeaderRules, NOTHING_KNOWN } from "./headerRules.ts";
import { commitsTo, type ParentProof } from "./parentProof.ts";
import { hasWork } from "./proofOfWork.ts";

const CHAIN_ID = 0x62;
const NONCE = 3;
const MAGIC = Uint8Array.from([0xfa, 0xbe, 0x6d, 0x6d]);
const LITECOIN_VERSION = 0x20000000;
const COINBASE = new Uint8Array(32).fill(9);

function header(version: number, merkleRoot = new Uint8Array(32).fill(2), nonce = 0): Uint8Array {
  const links = new ByteWriter(80).u32(version).bytes(new Uint8Array(32)).bytes(merkleRoot);
  return links.u32(1_700_000_000).u32(EASY_BITS).u32(nonce).done();
}
const RAW = header(0x00620104);
const DOGE: HeaderRules = {
  ...NOTHING_KNOWN,
  layouts: ["auxpow", "plain"],
  work: { kind: "mergedScrypt", chainId: CHAIN_ID },
};

type Shape = {
  /** Before the root in the script. */
  readonly front?: Uint8Array;
  readonly root?: Uint8Array;
  readonly size?: number;
  readonly index?: number;
  readonly depth?: number;
  readonly parentVersion?: number;
  readonly coinbaseAt?: number;
  /** Instead of `RAW`. */
  readonly raw?: Uint8Array;
};

/** A proof for `RAW`, with what is named otherwise. With nonce 3 the chain 0x62 has place 3 of 4, 1 of 2 and 0 of 1. */
function proofOf({ front = MAGIC, depth = 2, index = 3, size = 2 ** depth, ...shape }: Shape): ParentProof {
  const neighbours = Array.from({ length: depth }, (_, i) => new Uint8Array(32).fill(i + 1));
  const node = neighbours.reduce(
    (at, other, i) => hash256((index >> i) % 2 === 0 ? concatBytes(at, other) : concatBytes(other, at)),
    hash256(shape.raw ?? RAW),
  );
  const tail = new ByteWriter(8).u32(size).u32(NONCE).done();
  return {
    script: concatBytes(front, shape.root ?? reversed(node), tail),
    coinbase: COINBASE,
    blockBranch: { hashes: [], index: shape.coinbaseAt ?? 0 },
    chainBranch: { hashes: neighbours, index },
    parent: header(shape.parentVersion ?? LITECOIN_VERSION, COINBASE),
  };
}
const commits = (shape: Shape): boolean => commitsTo(shape.raw ?? RAW, proofOf(shape), CHAIN_ID);

test("a parent whose coinbase names the tree in which the block stands commits to it", () => {
  expect(commits({})).toBe(true);
  expect(commits({ depth: 1, index: 1 })).toBe(true);
  expect(commits({ depth: 0, index: 0 })).toBe(true);
});

test("a block at another place than its chain's is not committed to: two blocks of one chain could share a parent", () => {
  for (const index of [0, 1, 2]) expect(commits({ index })).toBe(false);
  expect(commits({ index: 7 })).toBe(false);
  expect(commits({ size: 2 })).toBe(false);
  expect(commits({ size: 8 })).toBe(false);
});

test("the root stands right behind the only magic, or within the first twenty bytes without one", () => {
  const junk = (bytes: number) => new Uint8Array(bytes).fill(7);
  expect(commits({ front: concatBytes(junk(50), MAGIC) })).toBe(true);
  expect(commits({ front: concatBytes(MAGIC, junk(1)) })).toBe(false);
  expect(commits({ front: concatBytes(MAGIC, junk(3), MAGIC) })).toBe(false);
  expect(commits({ front: junk(20) })).toBe(true);
  expect(commits({ front: junk(21) })).toBe(false);
});

test("a script without the root commits to nothing, whatever else it holds", () => {
  expect(commits({ root: new Uint8Array(32) })).toBe(false);
  const bare = proofOf({ depth: 0, index: 0 });
  // The size and nonce stand where they would if the root began one byte before the script.
  const script = concatBytes(new Uint8Array(31), Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0]));
  expect(commitsTo(RAW, { ...bare, script }, CHAIN_ID)).toBe(false);
  expect(commitsTo(RAW, { ...bare, script: bare.script.slice(0, -1) }, CHAIN_ID)).toBe(false);
  expect(commitsTo(RAW, { ...bare, script: new Uint8Array(0) }, CHAIN_ID)).toBe(false);
});

test("the parent is of another chain, the block of this one, and the coinbase the first of the parent's transactions", () => {
  expect(commits({ parentVersion: 0x00620104 })).toBe(false);
  expect(commits({ coinbaseAt: 1 })).toBe(false);
  expect(commitsTo(RAW, { ...proofOf({}), coinbase: new Uint8Array(32) }, CHAIN_ID)).toBe(false);
  expect(commits({ raw: header(0x00620204) })).toBe(true);
  expect(commits({ raw: header(0x00610104) })).toBe(false);
});

test("a header that says it was merge-mined has no work of its own", () => {
  const own = (version: number): readonly BlockHeader[] =>
    Array.from({ length: 40 }, (_, nonce) => parseHeader(header(version, COINBASE, nonce), DOGE)).flatMap((h) => (h.ok ? [h.value] : []));
  const withWork = (version: number): number => own(version).filter((h) => hasWork(h, DOGE)).length;
  expect(own(0x00620104).length).toBe(40);
  expect(withWork(0x00620104)).toBe(0);
  expect(withWork(0x00620004)).toBeGreaterThan(5);
});
