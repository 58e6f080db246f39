import { rational } from "../money/rational.ts";

/** Gas of one call of a QRC-20 contract and its price in base units of the platform coin (interface document, Limits). */
const CALL_GAS = 100_000n;
const GAS_PRICE = 40n;
const UNITS = 100_000_000n;

/** Of the payment in KDF 3.0 (reference swap-protocol.md 5.8). */
const KDF_PAYMENT_GAS = 200_000n;

/** Gas of one call, whole platform coins. */
export const QRC20_CALL_GAS = rational(CALL_GAS * GAS_PRICE, UNITS);

/** Bytes of a transaction with one input of a key's hash and change: 10 of its own, 148 and 34. */
const PLAIN_BYTES = 192;
/** Of an output that calls a contract, beside the call's data: value, lengths, gas, price, address, opcodes (reference swap-protocol.md 5.8). */
const CALL_BYTES = 39;
const LONG_CALL_BYTES = 40;

/** Bytes of a token's transactions: its data are 68 bytes of a transfer or approval, 196 of a payment, 164 of a claim or refund. */
export const QRC20_BYTES = {
  fee: PLAIN_BYTES + CALL_BYTES + 68,
  payment: PLAIN_BYTES + 2 * (CALL_BYTES + 68) + LONG_CALL_BYTES + 196,
  spend: PLAIN_BYTES + LONG_CALL_BYTES + 164,
} as const;

/** Bytes of transactions like those of Bitcoin: the payment has an output for the contract and one for its hash. */
export const QTUM_BYTES = { fee: PLAIN_BYTES + 34, payment: PLAIN_BYTES + 32 + 31 } as const;

/**
 * Gas of the dearest swap transaction of a QRC-20 token, in whole platform coins: an allowance that is taken back and given anew,
 * and the payment. The interface document reckons the payment as one call, KDF 3.0 as two (reference rpc.md 9.3).
 */
export const QRC20_TRADE_GAS = {
  spec: rational(3n * CALL_GAS * GAS_PRICE, UNITS),
  kdf: rational((2n * CALL_GAS + KDF_PAYMENT_GAS) * GAS_PRICE, UNITS),
} as const;
