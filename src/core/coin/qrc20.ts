import { rational } from "../money/rational.ts";

/** Gas of one call of a QRC-20 contract and its price in base units of the platform coin (interface document, Limits). */
const CALL_GAS = 100_000n;
const GAS_PRICE = 40n;
const UNITS = 100_000_000n;

/** Of the payment in KDF 3.0 (reference swap-protocol.md 5.8). */
const KDF_PAYMENT_GAS = 200_000n;

/**
 * Gas of the dearest swap transaction of a QRC-20 token, in whole platform coins: an allowance that is taken back and given anew,
 * and the payment. The interface document reckons the payment as one call, KDF 3.0 as two (reference rpc.md 9.3).
 */
export const QRC20_TRADE_GAS = {
  spec: rational(3n * CALL_GAS * GAS_PRICE, UNITS),
  kdf: rational((2n * CALL_GAS + KDF_PAYMENT_GAS) * GAS_PRICE, UNITS),
} as const;
