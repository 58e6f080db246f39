/**
 * Script verification rules, one bit each. Consensus rules make a block invalid; the others only keep a transaction
 * out of the mempool.
 */
export const VERIFY = {
  /** BIP-16 */
  P2SH: 1 << 0,
  /** Defined hash types and public-key forms only. */
  STRICTENC: 1 << 1,
  /** BIP-66 */
  DERSIG: 1 << 2,
  /** Signatures use the lower of the two S values (BIP-62 rule 5). */
  LOW_S: 1 << 3,
  /** BIP-147: the extra CHECKMULTISIG element is empty. */
  NULLDUMMY: 1 << 4,
  /** scriptSig has pushes only (BIP-62 rule 2). */
  SIGPUSHONLY: 1 << 5,
  /** Shortest pushes and numbers (BIP-62 rules 3 and 4). */
  MINIMALDATA: 1 << 6,
  DISCOURAGE_UPGRADABLE_NOPS: 1 << 7,
  /** Exactly one element left at the end (BIP-62 rule 6). */
  CLEANSTACK: 1 << 8,
  /** BIP-65 */
  CHECKLOCKTIMEVERIFY: 1 << 9,
  /** BIP-112 */
  CHECKSEQUENCEVERIFY: 1 << 10,
  /** BIP-141, BIP-143 */
  WITNESS: 1 << 11,
  DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM: 1 << 12,
  /** IF and NOTIF take exactly an empty element or 01, in witness scripts. */
  MINIMALIF: 1 << 13,
  /** A failed signature check must have had an empty signature (BIP-146). */
  NULLFAIL: 1 << 14,
  /** Compressed keys only, in witness scripts. */
  WITNESS_PUBKEYTYPE: 1 << 15,
  /** No CODESEPARATOR and no signature inside the script code of non-witness scripts. */
  CONST_SCRIPTCODE: 1 << 16,
} as const;

/** What a Bitcoin block must keep today, taproot left out (see `verifyWitnessProgram`). */
export const BITCOIN_CONSENSUS_FLAGS =
  VERIFY.P2SH | VERIFY.DERSIG | VERIFY.CHECKLOCKTIMEVERIFY | VERIFY.CHECKSEQUENCEVERIFY | VERIFY.NULLDUMMY;

export const SEGWIT_CONSENSUS_FLAGS = BITCOIN_CONSENSUS_FLAGS | VERIFY.WITNESS;

/** Zcash and Komodo: BIP-66 always, BIP-65, but neither relative lock times nor BIP-147 as consensus. */
export const SAPLING_CONSENSUS_FLAGS = VERIFY.P2SH | VERIFY.DERSIG | VERIFY.CHECKLOCKTIMEVERIFY;

/** Rules of relay on top of consensus, common to all kinds. */
const BASE_POLICY_FLAGS =
  VERIFY.STRICTENC | VERIFY.LOW_S | VERIFY.NULLDUMMY | VERIFY.MINIMALDATA | VERIFY.DISCOURAGE_UPGRADABLE_NOPS | VERIFY.CLEANSTACK;

export const BITCOIN_POLICY_FLAGS = BITCOIN_CONSENSUS_FLAGS | BASE_POLICY_FLAGS | VERIFY.NULLFAIL | VERIFY.CONST_SCRIPTCODE;

export const SEGWIT_POLICY_FLAGS =
  SEGWIT_CONSENSUS_FLAGS |
  BITCOIN_POLICY_FLAGS |
  VERIFY.MINIMALIF |
  VERIFY.WITNESS_PUBKEYTYPE |
  VERIFY.DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM;

export const SAPLING_POLICY_FLAGS = SAPLING_CONSENSUS_FLAGS | BASE_POLICY_FLAGS;
