import type { CoinEntry } from "../coin/coinEntry.ts";
import type { UtxoKind } from "../coin/utxoKind.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type Checkpoint, checkpointOf } from "./checkpoint.ts";
import type { EquihashParams } from "./equihash.ts";
import { chainFacts } from "./knownChains.ts";

/**
 * What a header is made of. All begin with version 4, previous hash 32, Merkle root 32.
 * - `plain`: then time, bits, nonce (Bitcoin).
 * - `accumulator`: plain and one more hash of 32 (PIVX).
 * - `equihash`: then a hash of 32, time, bits, nonce 32 and a solution with its length (Zcash, Komodo).
 * - `auxpow`: plain and, with version bit 8, the proof of a parent chain (Namecoin, Dogecoin), which Electrum servers
 *   leave out or not.
 * - `progpow`: plain with the height for a nonce, then a nonce of 8 and one more hash of 32 (Ravencoin, Firo).
 */
export type HeaderLayout = "plain" | "accumulator" | "equihash" | "auxpow" | "progpow";

/**
 * What is known of a chain's proof of work.
 * - `sha256d`, `scrypt`: SHA-256 twice, or scrypt with N 1024, r 1, p 1, of the header is at most the target of its bits.
 * - `equihash`: the header carries a solution and its hash is at most the target of `floorBits`, whatever its own say.
 * - `mergedScrypt`: scrypt as above, of the header or, with version bit 8, of the parent chain's header, whose block
 *   commits to this one (`commitsTo`). A server that leaves the parent's proof out shows no work.
 * - `unchecked`: nothing that a header alone shows. Its headers prove their links and no more; which chain is the real
 *   one only the agreement of servers tells.
 */
export type ProofOfWork =
  | { readonly kind: "sha256d" }
  | { readonly kind: "scrypt" }
  | { readonly kind: "mergedScrypt"; readonly chainId: number }
  | { readonly kind: "equihash"; readonly params: EquihashParams; readonly floorBits: number }
  | { readonly kind: "unchecked"; readonly reason: string };

/**
 * Which target a header may have after those before it. None may be above that of `limitBits`.
 * - `period`: one target for 2016 blocks, then by the time they took, which should be `spanSec`, at most by a factor 4;
 *   measured from the first of them, or from the one before it (`measuredFrom` 0 or 1).
 * - `smooth`: a new target with each block, which is not above four times the easiest of the last hundred, and only so much above the
 *   last as `easing` says: by four with each block, any number of them would cost less than one.
 */
export type TargetRule =
  | { readonly kind: "period"; readonly limitBits: number; readonly spanSec: number; readonly measuredFrom: 0 | 1 }
  | { readonly kind: "smooth"; readonly limitBits: number; readonly easing: Easing };

/**
 * How much easier a block may be than the one before it.
 *
 * - `step`: a target is at most so many hundredths of the last.
 * - `time`: it doubles with each half life that the last block came late, and halves with each it came early (ASERT); of blocks before `sinceSec` nothing is known.
 */
export type Easing =
  | { readonly kind: "step"; readonly percent: number }
  | { readonly kind: "time"; readonly spacingSec: number; readonly halfLifeSec: number; readonly sinceSec: number };

/** How the headers of one coin are read and checked. */
export type HeaderRules = {
  /** Tried in this order. */
  readonly layouts: readonly HeaderLayout[];
  readonly work: ProofOfWork;
  /** Null: targets are not looked at. */
  readonly target: TargetRule | null;
  /** A chain begun without a checkpoint must begin with a target at most that of these bits (`anchorAt`); null: any. */
  readonly anchorBits: number | null;
  /** Of the coins file; null where it gives none. */
  readonly checkpoint: Checkpoint | null;
  /** Hash of the first block, display order; null: it is what the servers say. */
  readonly firstBlock: string | null;
  /** Each block begins with a transaction that says at which height it stands (BIP-34), by the rules of the coin. */
  readonly tellsHeights: boolean;
};

/** What the rules of a chain say of which nothing is known. */
export const NOTHING_KNOWN = { target: null, anchorBits: null, checkpoint: null, firstBlock: null, tellsHeights: false } as const;

/** `BadCheckpoint`: the entry can be corrected. `reason`: of that the field and what is wrong with it, else the end of a sentence. */
export type UnsupportedHeaders = { readonly kind: "UnsupportedHeaders" | "BadCheckpoint"; readonly reason: string };

const ANY_LAYOUT: readonly HeaderLayout[] = ["plain", "auxpow", "progpow", "accumulator"];
/** The second: a test chain of ours has Bitcoin's header whatever it imitates. */
const SAPLING_LAYOUTS: readonly HeaderLayout[] = ["equihash", "plain"];

/**
 * How the headers of a coin are read and checked. Only what is certain of a chain is claimed (`chainFacts`); of all
 * others the links alone are checked. Refused: a coin whose block hash this node cannot work out, which can be used
 * with a daemon of its own, and a malformed checkpoint.
 */
export function headerRulesOf(entry: CoinEntry, kind: UtxoKind): Result<HeaderRules, UnsupportedHeaders> {
  const checkpoint = checkpointOf(entry);
  if (!checkpoint.ok) return err({ kind: "BadCheckpoint", reason: checkpoint.error.detail });
  const facts = chainFacts(entry);
  if (facts.kind === "refused") return err({ kind: "UnsupportedHeaders", reason: facts.reason });
  const layouts = kind.template.format.kind === "sapling" ? SAPLING_LAYOUTS : ANY_LAYOUT;
  if (facts.kind === "unknown") {
    const work: ProofOfWork = { kind: "unchecked", reason: facts.reason };
    return ok({ ...NOTHING_KNOWN, layouts, work, checkpoint: checkpoint.value });
  }
  const { layout, work, target, anchorBits, firstBlock, tellsHeights } = facts;
  return ok({ layouts: [layout], work, target, anchorBits, checkpoint: checkpoint.value, firstBlock, tellsHeights });
}
