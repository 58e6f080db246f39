import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import type { VerifyMessageError } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import { text } from "../field.ts";

type Failure = VerifyMessageError | { readonly kind: "CoinIsNotFound"; readonly coin: string };

export const verifyMessage = defineMethod<Failure>()({
  name: "verify_message",
  style: "v2",
  struct: "VerificationRequest",
  summary: "Check a signature of a message against an address. A well-formed signature by another key is a normal reply.",
  source: "interface document, verify_message; reference rpc.md 4.8, 8",
  params: z.object({
    coin: text().describe("Ticker of an enabled coin with `sign_message_prefix` in its entry."),
    message: text().describe("The text that was signed."),
    signature: text().describe("Base64."),
    address: text().describe("The address that signed."),
  }),
  result: z.object({ is_valid: z.boolean() }),
  async handle({ coin: ticker, message, signature, address }, ctx) {
    const coin = ctx.coins.active(ticker);
    if (!coin) return err({ kind: "CoinIsNotFound", coin: ticker });
    const valid = coin.verifyMessage(message, signature, address);
    return valid.ok ? ok({ is_valid: valid.value }) : valid;
  },
  errors: {
    CoinIsNotFound: {
      http: 400,
      when: "The coin is not enabled.",
      text: ({ coin }) => `Coin is not found: No such coin: ${coin}`,
      data: ({ coin }) => `No such coin: ${coin}`,
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
      when: "`signature` is not base64 of 65 bytes, or no key can be recovered from them.",
      text: ({ message }) => `Signature decoding error: ${message}`,
      data: ({ message }) => message,
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
      error: "SignatureDecoding",
    },
  ],
});
