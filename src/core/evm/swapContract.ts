import { ripemd160 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type AbiFault, decodeCall, decodeWords, encodeCall, encodeWords, SELECTOR_BYTES } from "./abi.ts";
import { addressBytes, type EvmAddress } from "./address.ts";

// The contract `EtomicSwap` (swap-protocol.md 5.1), as KDF nodes use it.

const ETH_PAYMENT = { selector: "152cf3af", types: ["bytes32", "address", "bytes20", "uint64"] } as const;
const ERC20_PAYMENT = { selector: "9b415b2a", types: ["bytes32", "uint256", "address", "address", "bytes20", "uint64"] } as const;
const RECEIVER_SPEND = { selector: "02ed292b", types: ["bytes32", "uint256", "bytes32", "address", "address"] } as const;
const SENDER_REFUND = { selector: "46fc0294", types: ["bytes32", "uint256", "bytes20", "address", "address"] } as const;
const PAYMENTS = { selector: "0716326d", types: ["bytes32"] } as const;

/** Hashes of the events' signatures: first topic of their logs. */
export const SWAP_TOPICS = {
  sent: "ccc9c05183599bd3135da606eaaf535daffe256e9de33c048014cffcccd4ad57",
  spent: "36c177bcb01c6d568244f05261e2946c8c977fa50822f3fa098c470770ee1f3e",
  refunded: "1797d500133f8e427eb9da9523aa4a25cb40f50ebc7dbda3c7c81778973f35ba",
} as const;

/** Token `ZERO_ADDRESS`: the native coin. Amounts in base units, `lockTime` unix seconds, ids and secrets 32 bytes, hashes 20. */
export type SwapCall =
  | {
      readonly kind: "ethPayment";
      readonly id: Uint8Array;
      readonly receiver: EvmAddress;
      readonly secretHash: Uint8Array;
      readonly lockTime: bigint;
    }
  | {
      readonly kind: "erc20Payment";
      readonly id: Uint8Array;
      readonly amount: bigint;
      readonly token: EvmAddress;
      readonly receiver: EvmAddress;
      readonly secretHash: Uint8Array;
      readonly lockTime: bigint;
    }
  | {
      readonly kind: "receiverSpend";
      readonly id: Uint8Array;
      readonly amount: bigint;
      readonly secret: Uint8Array;
      readonly token: EvmAddress;
      readonly sender: EvmAddress;
    }
  | {
      readonly kind: "senderRefund";
      readonly id: Uint8Array;
      readonly amount: bigint;
      readonly secretHash: Uint8Array;
      readonly token: EvmAddress;
      readonly receiver: EvmAddress;
    };

/** Calldata of one of the four functions. Throws on a value that does not fit. */
export function encodeSwapCall(call: SwapCall): Uint8Array {
  switch (call.kind) {
    case "ethPayment":
      return encodeCall(ETH_PAYMENT.selector, ETH_PAYMENT.types, [call.id, call.receiver, call.secretHash, call.lockTime]);
    case "erc20Payment":
      return encodeCall(ERC20_PAYMENT.selector, ERC20_PAYMENT.types, [
        call.id,
        call.amount,
        call.token,
        call.receiver,
        call.secretHash,
        call.lockTime,
      ]);
    case "receiverSpend":
      return encodeCall(RECEIVER_SPEND.selector, RECEIVER_SPEND.types, [call.id, call.amount, call.secret, call.token, call.sender]);
    case "senderRefund":
      return encodeCall(SENDER_REFUND.selector, SENDER_REFUND.types, [call.id, call.amount, call.secretHash, call.token, call.receiver]);
  }
}

/**
 * The call that calldata makes. Exactly the words of the function: what follows them, or a dirty padding, is refused although
 * a contract may overlook it, because nobody who means well writes it.
 */
export function parseSwapCall(data: Uint8Array): Result<SwapCall, AbiFault> {
  switch (toHex(data.subarray(0, SELECTOR_BYTES))) {
    case ETH_PAYMENT.selector: {
      const args = decodeCall(data, ETH_PAYMENT.selector, ETH_PAYMENT.types);
      if (!args.ok) return args;
      const [id, receiver, secretHash, lockTime] = args.value;
      return ok({ kind: "ethPayment", id, receiver, secretHash, lockTime });
    }
    case ERC20_PAYMENT.selector: {
      const args = decodeCall(data, ERC20_PAYMENT.selector, ERC20_PAYMENT.types);
      if (!args.ok) return args;
      const [id, amount, token, receiver, secretHash, lockTime] = args.value;
      return ok({ kind: "erc20Payment", id, amount, token, receiver, secretHash, lockTime });
    }
    case RECEIVER_SPEND.selector: {
      const args = decodeCall(data, RECEIVER_SPEND.selector, RECEIVER_SPEND.types);
      if (!args.ok) return args;
      const [id, amount, secret, token, sender] = args.value;
      return ok({ kind: "receiverSpend", id, amount, secret, token, sender });
    }
    case SENDER_REFUND.selector: {
      const args = decodeCall(data, SENDER_REFUND.selector, SENDER_REFUND.types);
      if (!args.ok) return args;
      const [id, amount, secretHash, token, receiver] = args.value;
      return ok({ kind: "senderRefund", id, amount, secretHash, token, receiver });
    }
    default:
      return err({ kind: "BadAbi", detail: "no function of the swap contract" });
  }
}

/** What the contract knows of an id. */
export type PaymentState = "uninitialized" | "sent" | "spent" | "refunded";
const STATES: readonly PaymentState[] = ["uninitialized", "sent", "spent", "refunded"];
export type PaymentRecord = { readonly paymentHash: Uint8Array; readonly lockTime: bigint; readonly state: PaymentState };

/** Calldata of `payments(id)`. */
export function paymentsCall(id: Uint8Array): Uint8Array {
  return encodeCall(PAYMENTS.selector, PAYMENTS.types, [id]);
}

/** What `payments(id)` returned. */
export function parsePaymentRecord(data: Uint8Array): Result<PaymentRecord, AbiFault> {
  const words = decodeWords(data, ["bytes20", "uint64", "uint8"]);
  if (!words.ok) return words;
  const [paymentHash, lockTime, number] = words.value;
  const state = STATES[Number(number)];
  return state === undefined ? err({ kind: "BadAbi", detail: `a state of ${number}` }) : ok({ paymentHash, lockTime, state });
}

export type SwapEvent =
  | { readonly kind: "sent" | "refunded"; readonly id: Uint8Array }
  | { readonly kind: "spent"; readonly id: Uint8Array; readonly secret: Uint8Array };

/** One log of the contract; nothing in it is indexed, so the id stands in the data. Topics are hex without `0x`. */
export function parseSwapEvent(topics: readonly string[], data: Uint8Array): Result<SwapEvent, AbiFault> {
  const [topic] = topics;
  const bad = (detail: string): Result<never, AbiFault> => err({ kind: "BadAbi", detail });
  if (topics.length !== 1) return bad("another number of topics");
  if (topic === SWAP_TOPICS.spent) {
    const words = decodeWords(data, ["bytes32", "bytes32"]);
    return words.ok ? ok({ kind: "spent", id: words.value[0], secret: words.value[1] }) : words;
  }
  if (topic !== SWAP_TOPICS.sent && topic !== SWAP_TOPICS.refunded) return bad("no event of the swap contract");
  const words = decodeWords(data, ["bytes32"]);
  return words.ok ? ok({ kind: topic === SWAP_TOPICS.sent ? "sent" : "refunded", id: words.value[0] }) : words;
}

/** The hash the contract is given: 20 bytes as negotiated, or RIPEMD-160 of a negotiated SHA-256 (swap-protocol.md 5.4). */
export function contractSecretHash(negotiated: Uint8Array): Uint8Array {
  return negotiated.length === 20 ? negotiated : ripemd160(negotiated);
}

/**
 * Id of a payment (swap-protocol.md 5.2): SHA-256 of the lock time, four bytes little-endian, and the hash as negotiated.
 * @param lockTime unix seconds, below 2^32
 * @param secretHash 20 or 32 bytes
 */
export function paymentId(lockTime: number, secretHash: Uint8Array): Uint8Array {
  if (!Number.isInteger(lockTime) || lockTime < 0 || lockTime > 0xffff_ffff) throw new RangeError(`a lock time of ${lockTime}`);
  const lock = new Uint8Array(4);
  new DataView(lock.buffer).setUint32(0, lockTime, true);
  return sha256(concatBytes(lock, secretHash));
}

/** Whether an id was made for a lock time and the hash of this secret, as swaps with 20 bytes of hash or with 32 make theirs. */
export function isSecretOf(id: string, lockTime: bigint, secret: Uint8Array): boolean {
  if (lockTime > 0xffff_ffffn) return false;
  const single = sha256(secret);
  return [ripemd160(single), single].some((hash) => toHex(paymentId(Number(lockTime), hash)) === id);
}

/**
 * What the contract stores for a payment (swap-protocol.md 5.1): RIPEMD-160 of all that was agreed. Equal hashes and lock times
 * pin every field in one read, whichever transaction made the payment.
 */
export function paymentHash(payment: {
  readonly receiver: EvmAddress;
  readonly sender: EvmAddress;
  /** 20 bytes. */
  readonly secretHash: Uint8Array;
  readonly token: EvmAddress;
  readonly amount: bigint;
}): Uint8Array {
  const { receiver, sender, secretHash, token, amount } = payment;
  if (secretHash.length !== 20) throw new RangeError("a secret hash of another length than 20");
  const amountWord = encodeWords(["uint256"], [amount]);
  return ripemd160(concatBytes(addressBytes(receiver), addressBytes(sender), secretHash, addressBytes(token), amountWord));
}
