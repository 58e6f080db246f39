import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { equalBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type AbiFault, decodeWords, encodeCall } from "./abi.ts";
import type { EvmAddress } from "./address.ts";

// contracts/TransferProbe.sol, whose code is called in the place of an account's.

const ROUND_TRIP = { selector: "0e1520a9", types: ["address", "address", "uint256"] } as const;
const TOLD = ["bytes32", "uint256", "uint256", "uint256", "uint256"] as const;
/** What the probe answers first. */
const MARK = keccak_256(utf8ToBytes("swapnode transfer probe"));

/** Calldata of `roundTrip(token, to, amount)`. */
export const roundTripCall = (token: EvmAddress, to: EvmAddress, amount: bigint): Uint8Array =>
  encodeCall(ROUND_TRIP.selector, ROUND_TRIP.types, [token, to, amount]);

/** Base units that each of the two transfers took from its sender and brought its receiver. */
export type RoundTrip = { readonly left: bigint; readonly arrived: bigint; readonly leftBack: bigint; readonly arrivedBack: bigint };

/** What `roundTrip` answered. */
export function parseRoundTrip(output: Uint8Array): Result<RoundTrip, AbiFault> {
  const words = decodeWords(output, TOLD);
  if (!words.ok) return words;
  const [mark, left, arrived, leftBack, arrivedBack] = words.value;
  if (!equalBytes(mark, MARK)) return err({ kind: "BadAbi", detail: "not the answer of the probe" });
  return ok({ left, arrived, leftBack, arrivedBack });
}
