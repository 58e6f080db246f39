import { parseHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type AbiFault, decodeCall, decodeWords, encodeCall, SELECTOR_BYTES } from "./abi.ts";
import type { EvmAddress } from "./address.ts";

// EIP-20. Amounts in base units of the token.

const TRANSFER = { selector: "a9059cbb", types: ["address", "uint256"] } as const;
const APPROVE = { selector: "095ea7b3", types: ["address", "uint256"] } as const;
/** Hash of the event's signature: first topic of its logs. */
export const TRANSFER_TOPIC = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

export const DECIMALS_CALL = encodeCall("313ce567", [], []);

export function balanceOfCall(owner: EvmAddress): Uint8Array {
  return encodeCall("70a08231", ["address"], [owner]);
}

export function allowanceCall(owner: EvmAddress, spender: EvmAddress): Uint8Array {
  return encodeCall("dd62ed3e", ["address", "address"], [owner, spender]);
}

export function transferCall(to: EvmAddress, amount: bigint): Uint8Array {
  return encodeCall(TRANSFER.selector, TRANSFER.types, [to, amount]);
}

export function approveCall(spender: EvmAddress, amount: bigint): Uint8Array {
  return encodeCall(APPROVE.selector, APPROVE.types, [spender, amount]);
}

export type Erc20Call =
  | { readonly kind: "transfer"; readonly to: EvmAddress; readonly amount: bigint }
  | { readonly kind: "approve"; readonly spender: EvmAddress; readonly amount: bigint };

/** The two calls of a token that others' transactions are read for. */
export function parseErc20Call(data: Uint8Array): Result<Erc20Call, AbiFault> {
  switch (toHex(data.subarray(0, SELECTOR_BYTES))) {
    case TRANSFER.selector: {
      const args = decodeCall(data, TRANSFER.selector, TRANSFER.types);
      return args.ok ? ok({ kind: "transfer", to: args.value[0], amount: args.value[1] }) : args;
    }
    case APPROVE.selector: {
      const args = decodeCall(data, APPROVE.selector, APPROVE.types);
      return args.ok ? ok({ kind: "approve", spender: args.value[0], amount: args.value[1] }) : args;
    }
    default:
      return err({ kind: "BadAbi", detail: "neither transfer nor approve" });
  }
}

export type TokenTransfer = { readonly from: EvmAddress; readonly to: EvmAddress; readonly amount: bigint };

/** A `Transfer` event: both addresses indexed, the amount in the data. Topics are hex without `0x`. */
export function parseTransferEvent(topics: readonly string[], data: Uint8Array): Result<TokenTransfer, AbiFault> {
  const [topic, from, to] = topics;
  if (topics.length !== 3 || topic !== TRANSFER_TOPIC) return err({ kind: "BadAbi", detail: "no Transfer event" });
  const words = parseHex(`${from}${to}`);
  if (!words.ok) return err({ kind: "BadAbi", detail: "a topic that is not hex" });
  const indexed = decodeWords(words.value, ["address", "address"]);
  if (!indexed.ok) return indexed;
  const amount = decodeWords(data, ["uint256"]);
  return amount.ok ? ok({ from: indexed.value[0], to: indexed.value[1], amount: amount.value[0] }) : amount;
}
