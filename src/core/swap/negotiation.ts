import type { NegotiationData } from "../message/types.ts";
import { equalBytes, fromHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { Negotiated, OwnContracts, Role, SwapTerms } from "./events.ts";
import { makerLock, takerLock } from "./timelocks.ts";

/** Most seconds by which the two starts may differ. Source: reference swap-protocol.md 1.5, check 1. */
const MAX_START_DIFFERENCE_SEC = 60;

export type NegotiationError =
  | { readonly kind: "StartTimesDiffer"; readonly mine: number; readonly theirs: number; readonly limit: number }
  | { readonly kind: "WrongLocktime"; readonly expected: number; readonly got: number }
  | { readonly kind: "UnexpectedContract" }
  | { readonly kind: "OtherContract"; readonly which: "maker coin" | "taker coin"; readonly own: string; readonly theirs: string | null }
  | { readonly kind: "BadPubkey"; readonly which: "maker coin" | "taker coin" }
  | { readonly kind: "BadSecretHash"; readonly length: number };

/** One sentence with the numbers, for the status. */
export function negotiationErrorText(e: NegotiationError): string {
  switch (e.kind) {
    case "StartTimesDiffer":
      return `the other side started at ${e.theirs}, this side at ${e.mine}: more than ${e.limit} s apart; check both clocks`;
    case "WrongLocktime":
      return `the other side asks for lock time ${e.got}, expected ${e.expected}`;
    case "UnexpectedContract":
      return "the other side names a swap contract for a coin that has none";
    case "OtherContract": {
      const theirs = e.theirs === null ? "names no swap contract" : `uses swap contract ${e.theirs}`;
      return `the other side ${theirs} for the ${e.which}, this side uses ${e.own}; both must enable the coin with the same one`;
    }
    case "BadPubkey":
      return `the other side's key for the ${e.which} is not a point of the curve`;
    case "BadSecretHash":
      return `the secret hash has ${e.length} bytes, expected 20`;
  }
}

/**
 * What this side sends. V2 when one key serves both coins and is the persistent one, else V3
 * (reference swap-protocol.md 1.5).
 * @param said for the taker: the maker's hash, echoed unchanged, and the contracts agreed on
 */
export function ownNegotiation(
  terms: SwapTerms,
  said: Pick<Negotiated, "secretHash" | "makerContract" | "takerContract">,
): NegotiationData {
  const common = {
    startedAt: terms.startedAt,
    paymentLocktime: (terms.role === "maker" ? makerLock : takerLock)(terms.startedAt, terms.lockDurationSec),
    secretHash: fromHex(said.secretHash),
  };
  const contracts = {
    makerCoinContract: fromHex(said.makerContract ?? terms.makerContracts?.own ?? ""),
    takerCoinContract: fromHex(said.takerContract ?? terms.takerContracts?.own ?? ""),
  };
  if (terms.myMakerCoinPub === terms.myPersistentPub && terms.myTakerCoinPub === terms.myPersistentPub) {
    return { version: 2, ...common, persistentPubkey: fromHex(terms.myPersistentPub), ...contracts };
  }
  return {
    version: 3,
    ...common,
    ...contracts,
    makerCoinHtlcPub: fromHex(terms.myMakerCoinPub),
    takerCoinHtlcPub: fromHex(terms.myTakerCoinPub),
  };
}

/**
 * Checks the other side's negotiation data in the order of the reference, and two things KDF misses: that the keys
 * are points of the curve and that the hash has the length of this pair (swap-protocol.md 1.5, 9.3).
 * @param isPoint tells whether 33 bytes are a compressed curve point
 */
export function checkNegotiation(
  terms: SwapTerms,
  data: NegotiationData,
  isPoint: (key: Uint8Array) => boolean,
): Result<Negotiated, NegotiationError> {
  if (Math.abs(data.startedAt - terms.startedAt) > MAX_START_DIFFERENCE_SEC) {
    return err({ kind: "StartTimesDiffer", mine: terms.startedAt, theirs: data.startedAt, limit: MAX_START_DIFFERENCE_SEC });
  }
  const expected = (terms.role === "maker" ? takerLock : makerLock)(data.startedAt, terms.lockDurationSec);
  if (data.paymentLocktime !== expected) return err({ kind: "WrongLocktime", expected, got: data.paymentLocktime });
  const makerContract = agreedContract("maker coin", terms.role, terms.makerContracts, data.version === 1 ? null : data.makerCoinContract);
  if (!makerContract.ok) return makerContract;
  const takerContract = agreedContract("taker coin", terms.role, terms.takerContracts, data.version === 1 ? null : data.takerCoinContract);
  if (!takerContract.ok) return takerContract;
  const makerCoinPub = data.version === 3 ? data.makerCoinHtlcPub : data.persistentPubkey;
  const takerCoinPub = data.version === 3 ? data.takerCoinHtlcPub : data.persistentPubkey;
  if (!isPoint(makerCoinPub)) return err({ kind: "BadPubkey", which: "maker coin" });
  if (!isPoint(takerCoinPub)) return err({ kind: "BadPubkey", which: "taker coin" });
  if (data.secretHash.length !== 20) return err({ kind: "BadSecretHash", length: data.secretHash.length });
  return ok({
    theirStartedAt: data.startedAt,
    theirLocktime: data.paymentLocktime,
    makerCoinPub: toHex(makerCoinPub),
    takerCoinPub: toHex(takerCoinPub),
    // The echo of a taker is not trusted: the maker's own hash is what its script commits to.
    secretHash: terms.secretHash ?? toHex(data.secretHash),
    ...(makerContract.value === null ? {} : { makerContract: makerContract.value }),
    ...(takerContract.value === null ? {} : { takerContract: takerContract.value }),
  });
}

const CONTRACT_BYTES = 20;

/**
 * The contract both use on a coin (reference swap-protocol.md 5.3): the own address or the own fallback, where the other side names
 * it. A taker answers another address with its fallback, and the maker has the last word; who names none speaks an old version, and
 * only the fallback is left. Null: the coin has no contracts.
 */
function agreedContract(
  which: "maker coin" | "taker coin",
  role: Role,
  contracts: OwnContracts | undefined,
  theirs: Uint8Array | null,
): Result<string | null, NegotiationError> {
  if (!contracts) return theirs === null || theirs.length === 0 ? ok(null) : err({ kind: "UnexpectedContract" });
  const { own, fallback } = contracts;
  const named = theirs === null || theirs.length === 0 ? null : toHex(theirs);
  if (named !== null && (named === own || named === fallback)) return ok(named);
  const mayFallBack = theirs === null || (role === "taker" && theirs.length === CONTRACT_BYTES);
  return mayFallBack && fallback !== null ? ok(fallback) : err({ kind: "OtherContract", which, own, theirs: named });
}

/** Whether a reply echoes the hash this maker sent; a stale reply of another swap does not. */
export function echoesSecretHash(terms: SwapTerms, data: NegotiationData): boolean {
  return terms.secretHash !== null && equalBytes(data.secretHash, fromHex(terms.secretHash));
}
