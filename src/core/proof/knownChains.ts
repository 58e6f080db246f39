import type { CoinEntry } from "../coin/coinEntry.ts";
import type { HeaderLayout, ProofOfWork, TargetRule } from "./headerRules.ts";

/** What is certain of a chain's headers. */
export type ChainFacts =
  | {
      readonly kind: "known";
      readonly layout: HeaderLayout;
      readonly work: ProofOfWork;
      readonly target: TargetRule | null;
      /** Dozens of times as easy as the chain has been for years. */
      readonly anchorBits: number | null;
      /** Its hash, display order. No header that is read leads to it: servers could make up another. */
      readonly firstBlock: string;
      /** By its rules each block of today begins with a transaction that says its height (BIP-34). False: nobody looked whether it must. */
      readonly tellsHeights: boolean;
    }
  | { readonly kind: "unknown"; readonly reason: string }
  /** Its blocks are named by a hash that this node cannot work out. */
  | { readonly kind: "refused"; readonly reason: string };

const DAY_SEC = 24 * 60 * 60;
/** Bitcoin's easiest target, kept by the chains that split from it. */
const BITCOIN_LIMIT = 0x1d00ffff;

const refused = (reason: string): ChainFacts => ({ kind: "refused", reason });
const namedBy = (hash: string): ChainFacts => refused(`its blocks are named by ${hash}, which this node cannot work out`);

type Known = Omit<Extract<ChainFacts, { kind: "known" }>, "kind">;
const known = (facts: Known): ChainFacts => ({ kind: "known", ...facts });

const BITCOIN: Known = {
  layout: "plain",
  work: { kind: "sha256d" },
  target: { kind: "period", limitBits: BITCOIN_LIMIT, spanSec: 14 * DAY_SEC, measuredFrom: 0 },
  // Block 840000 had 0x17034219.
  anchorBits: 0x1800ffff,
  firstBlock: "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
  tellsHeights: true,
};
/** Targets follow each block's time smoothly (ASERT: twice as easy after two days without a block), since 15 November 2020. */
const CASH: TargetRule = {
  kind: "smooth",
  limitBits: BITCOIN_LIMIT,
  easing: { kind: "time", spacingSec: 600, halfLifeSec: 2 * DAY_SEC, sinceSec: 1_605_528_000 },
};

/**
 * By ticker, because nothing in a coins-file entry tells these chains apart. A chain stands here only if a wrong refusal
 * of its honest headers is out of the question: such a refusal would blind the node while a payment waits.
 *
 * - Bitcoin, Litecoin: targets as in Bitcoin Core and Litecoin Core (Litecoin measures from one block earlier).
 * - Dogecoin: no target is more than half as easy again as the last (DigiShield). Its headers come with their parents'
 *   proofs: KDF reads them so, and Electrum servers cut them only below a checkpoint that a client asks for.
 * - Komodo: notaries may mine a block at the easiest target whatever its header says, so no header's own target binds
 *   and its work is worth little; what protects it is notarization, and the agreement of servers.
 */
const CHAINS: ReadonlyMap<string, ChainFacts> = new Map([
  ["BTC", known(BITCOIN)],
  [
    "LTC",
    known({
      layout: "plain",
      work: { kind: "scrypt" },
      target: { kind: "period", limitBits: 0x1e0fffff, spanSec: 3.5 * DAY_SEC, measuredFrom: 1 },
      // Block 2000000 had 0x1a01a4a0.
      anchorBits: 0x1b00ffff,
      firstBlock: "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2",
      tellsHeights: true,
    }),
  ],
  [
    "DOGE",
    known({
      layout: "auxpow",
      work: { kind: "mergedScrypt", chainId: 0x62 },
      target: { kind: "smooth", limitBits: 0x1e0fffff, easing: { kind: "step", percent: 150 } },
      // Block 3631810 had 0x1a0370c2.
      anchorBits: 0x1b00ffff,
      firstBlock: "1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691",
      tellsHeights: true,
    }),
  ],
  ["BCH", known({ ...BITCOIN, target: CASH, anchorBits: 0x1900ffff })],
  ["XEC", known({ ...BITCOIN, target: CASH, anchorBits: 0x1a00ffff })],
  [
    "KMD",
    known({
      layout: "equihash",
      work: { kind: "equihash", params: { n: 200, k: 9, person: "ZcashPoW" }, floorBits: 0x200f0f0f },
      target: null,
      anchorBits: null,
      firstBlock: "027e3758c3a65b12aa1046462b486d0a63bfa1beae327897f56c5cfb7daaae71",
      tellsHeights: false,
    }),
  ],
  ["DASH", namedBy("X11")],
  ["AXE", namedBy("X11")],
  ["BOLI", namedBy("X11")],
  ["GBX", namedBy("NeoScrypt")],
  ["RVN", namedBy("KawPow")],
  ["XNA", namedBy("KawPow")],
  ["EVR", namedBy("EvrProgPow")],
  ["MEWC", namedBy("MeowPow")],
  ["RIN", namedBy("RinHash")],
  ["CHIPS", namedBy("VerusHash")],
  ["VRSC", namedBy("VerusHash")],
  ["vARRR", namedBy("VerusHash")],
  ["vDEX", namedBy("VerusHash")],
]);

function reasonOf(entry: CoinEntry): string {
  if (entry.isTestnet) return "it is a test chain";
  if (entry.isPos || entry.isPosv) return "blocks are staked, not mined";
  return "what its work is and how its target moves is not known for certain";
}

/** Looks a coin up; `X-segwit` is the same chain as `X`. A test coin may have a real one's ticker, and never has its work. */
export function chainFacts(entry: CoinEntry): ChainFacts {
  const facts = CHAINS.get(entry.ticker.replace(/-segwit$/, ""));
  if (facts && !(entry.isTestnet && facts.kind === "known")) return facts;
  return { kind: "unknown", reason: reasonOf(entry) };
}
