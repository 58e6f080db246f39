import { type BlockHeader, parseHeader } from "../../src/core/proof/blockHeader.ts";
import { targetOfBits } from "../../src/core/proof/compactTarget.ts";
import { type HeaderRules, NOTHING_KNOWN } from "../../src/core/proof/headerRules.ts";
import { fromHex, reversed } from "../../src/core/util/bytes.ts";
import { ByteWriter } from "../../src/core/utxo/byteWriter.ts";

/** The easiest target there is: every second hash fits. */
export const EASY_BITS = 0x207fffff;

/** SHA-256 work without a rule for targets, as on a chain of ours. */
export const EASY_RULES: HeaderRules = {
  ...NOTHING_KNOWN,
  layouts: ["plain"],
  work: { kind: "sha256d" },
};

export type Draft = {
  /** Display order. */
  readonly prevHash?: string;
  readonly merkleRoot?: string;
  readonly timeSec?: number;
  readonly bits?: number;
};

/** A header that has the work of its bits; hundreds of tries at most, so bits must be easy ones. */
export function mineHeader(draft: Draft): BlockHeader {
  const { prevHash = "00".repeat(32), merkleRoot = "11".repeat(32), timeSec = 1_700_000_000, bits = EASY_BITS } = draft;
  const target = targetOfBits(bits) ?? 0n;
  const wire = (hash: string): Uint8Array => reversed(fromHex(hash));
  for (let nonce = 0; nonce < 100_000; nonce++) {
    const raw = new ByteWriter(80).u32(4).bytes(wire(prevHash)).bytes(wire(merkleRoot)).u32(timeSec).u32(bits).u32(nonce).done();
    const header = parseHeader(raw, EASY_RULES);
    if (header.ok && BigInt(`0x${header.value.hash}`) <= target) return header.value;
  }
  throw new Error(`no nonce meets ${bits.toString(16)}`);
}

/** Headers one after another, oldest first, the first after `before`; each as `draftOf` says, its time a minute after the last by default. */
export function mineHeaders(before: BlockHeader, count: number, draftOf: (index: number) => Draft = () => ({})): BlockHeader[] {
  const mined: BlockHeader[] = [];
  let last = before;
  for (let i = 0; i < count; i++) {
    last = mineHeader({ timeSec: last.timeSec + 60, ...draftOf(i), prevHash: last.hash });
    mined.push(last);
  }
  return mined;
}
