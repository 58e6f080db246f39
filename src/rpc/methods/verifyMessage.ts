import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import type { VerifyMessageError } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import { text, ticker } from "../field.ts";
import { COIN_IS_NOT_FOUND, type CoinIsNotFound, INTERNAL_FAULT, type InternalFault, invalidRequest } from "../messageFaults.ts";

/** KDF's words (reference rpc.md 4.8 row 5). */
const INVALID_SIGNATURE = "Invalid Signature";

type Failure = VerifyMessageError | CoinIsNotFound | InternalFault | { readonly kind: "InvalidAddress"; readonly message: string };

/** The names KDF gives to what the interface document calls a decoding error (reference rpc.md 4.8, 11). */
function asKdf(error: VerifyMessageError): Failure {
  if (error.kind === "AddressDecoding") return { kind: "InvalidAddress", message: error.message };
  return error.kind === "InvalidSignature" ? { kind: "InternalError", message: INVALID_SIGNATURE } : error;
}

export const verifyMessage = defineMethod<Failure>()({
  name: "verify_message",
  style: "v2",
  struct: "VerificationRequest",
  summary: "Check a signature of a message against an address. A well-formed signature by another key is a normal reply.",
  source: "interface document, verify_message; reference rpc.md 4.8, 8",
  params: z.object({
    coin: ticker().describe("Ticker of an enabled coin with `sign_message_prefix` in its entry."),
    message: text().describe("The text that was signed."),
    signature: text().describe("Base64."),
    address: text().describe("The address that signed."),
  }),
  result: z.object({ is_valid: z.boolean() }),
  async handle({ coin: ticker, message, signature, address }, ctx) {
    const coin = ctx.coins.active(ticker);
    if (!coin) return err({ kind: "CoinIsNotFound", coin: ticker, why: ctx.coins.whyAway(ticker) });
    const valid = coin.verifyMessage(message, signature, address);
    if (valid.ok) return ok({ is_valid: valid.value });
    return err(ctx.compatibility === "kdf" ? asKdf(valid.error) : valid.error);
  },
  errors: {
    CoinIsNotFound: COIN_IS_NOT_FOUND,
    InternalError: {
      ...INTERNAL_FAULT,
      when: "A fault of the node. With `compatibility: kdf` also: no key can be recovered from `signature`.",
    },
    NotSupported: invalidRequest(
      "Coins of this kind do not check messages.",
      "Message verification is not supported by the given coin type",
    ),
    InvalidAddress: {
      http: 400,
      type: "InvalidRequest",
      when: "`address` is no address of this coin, with `compatibility: kdf`.",
      text: ({ message }) => `Invalid request: ${message}`,
      data: ({ message }) => message,
    },
    AddressDecoding: {
      http: 400,
      type: "AddressDecodingError",
      when: "`address` is no address of this coin.",
      text: ({ message }) => `Address decoding error: ${message}`,
      data: ({ message }) => message,
    },
    PrefixNotFound: {
      http: 500,
      when: "The coin's entry has no `sign_message_prefix`.",
      text: () => "sign_message_prefix is not set in coin config",
    },
    SignatureDecoding: {
      http: 400,
      type: "SignatureDecodingError",
      when: "`signature` is not base64 of 65 bytes.",
      text: ({ message }) => `Signature decoding error: ${message}`,
      data: ({ message }) => message,
    },
    InvalidSignature: {
      http: 400,
      type: "SignatureDecodingError",
      when: "No key can be recovered from the 65 bytes of `signature`.",
      text: () => `Signature decoding error: ${INVALID_SIGNATURE}`,
      data: () => INVALID_SIGNATURE,
    },
  },
  examples: [
    {
      title: "A signature of this address",
      style: "v2",
      params: {
        coin: "DOC",
        message: "hello",
        signature: "ICNApAkj09iMYRghL4NMT/ohd+LBrn1Oqn3Pp3vuWp/yFRoGfHYNcL6TdI7XLY6SFeXAERYi86e7QvwgdCzQaaA=",
        address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU",
      },
      result: { is_valid: true },
    },
    {
      title: "Another message",
      style: "v2",
      params: {
        coin: "DOC",
        message: "goodbye",
        signature: "ICNApAkj09iMYRghL4NMT/ohd+LBrn1Oqn3Pp3vuWp/yFRoGfHYNcL6TdI7XLY6SFeXAERYi86e7QvwgdCzQaaA=",
        address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU",
      },
      result: { is_valid: false },
    },
    {
      title: "Not an address",
      style: "v2",
      params: { coin: "DOC", message: "hello", signature: "abc", address: "RXX" },
      error: "AddressDecoding",
    },
    {
      title: "Not a signature",
      style: "v2",
      params: { coin: "DOC", message: "hello", signature: "abc", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
      error: "SignatureDecoding",
    },
    {
      title: "65 bytes that no key could have made",
      style: "v2",
      params: { coin: "DOC", message: "hello", signature: `${"A".repeat(87)}=`, address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
      error: "InvalidSignature",
    },
    {
      title: "The coin is not enabled",
      style: "v2",
      params: { coin: "KMD", message: "hello", signature: "abc", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
      error: "CoinIsNotFound",
    },
  ],
});
