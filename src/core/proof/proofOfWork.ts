import { scrypt } from "@noble/hashes/scrypt.js";
import { reversed, toHex } from "../util/bytes.ts";
import { AUXPOW_BIT, type BlockHeader } from "./blockHeader.ts";
import { targetOfBits, workOfTarget } from "./compactTarget.ts";
import { isEquihashSolution } from "./equihash.ts";
import type { HeaderRules } from "./headerRules.ts";
import { commitsTo } from "./parentProof.ts";

/** Bytes of an Equihash header up to and with its nonce, and of the length of its solution. */
const EQUIHASH_INPUT = 140;
const LONG_COUNT = 0xfd;

const scryptHash = (raw: Uint8Array): string => toHex(reversed(scrypt(raw, raw, { N: 1024, r: 1, p: 1, dkLen: 32 })));

/** `hash` is a number of 64 hex digits, `bits` a compact target. */
function meets(hash: string, bits: number): boolean {
  const target = targetOfBits(bits);
  return target !== null && BigInt(`0x${hash}`) <= target;
}

function solutionOf(raw: Uint8Array): Uint8Array {
  return raw.subarray(EQUIHASH_INPUT + (raw[EQUIHASH_INPUT] === LONG_COUNT ? 3 : 1));
}

/** What was hashed for a block that may be merge-mined: the parent's header, or its own; null: nothing that commits to it. */
function minedBytes({ raw, parentProof }: BlockHeader, chainId: number): Uint8Array | null {
  const isMergeMined = (((raw[1] ?? 0) << 8) & AUXPOW_BIT) !== 0;
  if (!isMergeMined) return raw;
  return parentProof !== null && commitsTo(raw, parentProof, chainId) ? parentProof.parent : null;
}

/**
 * Whether the header shows the work its chain asks for; which target it may have is another question (`targetFits`).
 * Always true where nothing can be checked. Takes about 0.4 ms with scrypt and 2 ms with Equihash, and holds the thread:
 * hand over tens of headers at a time.
 */
export function hasWork(header: BlockHeader, rules: HeaderRules): boolean {
  const { work } = rules;
  switch (work.kind) {
    case "unchecked":
      return true;
    case "sha256d":
      return meets(header.hash, header.bits);
    case "scrypt":
      return meets(scryptHash(header.raw), header.bits);
    case "mergedScrypt": {
      const mined = minedBytes(header, work.chainId);
      return mined !== null && meets(scryptHash(mined), header.bits);
    }
    case "equihash":
      return (
        meets(header.hash, work.floorBits) &&
        isEquihashSolution(header.raw.subarray(0, EQUIHASH_INPUT), solutionOf(header.raw), work.params)
      );
  }
}

/**
 * Work that one header adds to its chain, in hashes. Where a header's own target binds nothing every header counts the
 * same, so that the longest chain wins: anyone can write any target into a header that need not meet it.
 */
export function workOf(header: BlockHeader, rules: HeaderRules): bigint {
  const { work } = rules;
  if (work.kind === "unchecked") return 1n;
  const target = targetOfBits(work.kind === "equihash" ? work.floorBits : header.bits);
  return target === null ? 0n : workOfTarget(target);
}
