import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import type { AddressSelector, BadSelector, SignMessageError } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import { optional, type Read, readString, readU32, text, ticker } from "../field.ts";
import {
  COIN_IS_NOT_FOUND,
  type CoinIsNotFound,
  INTERNAL_FAULT,
  type InternalFault,
  invalidRequest,
  noSuchCoin,
} from "../messageFaults.ts";

const readAddressSelector: Read<AddressSelector> = (value) => {
  const none = err("data did not match any variant of untagged enum HDAddressSelector");
  if (typeof value !== "object" || value === null) return none;
  const get = (key: string): unknown => Object.getOwnPropertyDescriptor(value, key)?.value;
  const path = readString(get("derivation_path"));
  if (path.ok) return ok({ kind: "path", path: path.value });
  const [account, index, chain] = [readU32(get("account_id")), readU32(get("address_id")), get("chain")];
  if (!account.ok || !index.ok || (chain !== "External" && chain !== "Internal")) return none;
  return ok({ kind: "place", account: account.value, chain, index: index.value });
};

/** KDF's sentence (reference rpc.md 4.7 row 1). */
const NOT_HD = "You need to enable kdf with enable_hd to sign messages with a specific account/address";

type Failure = SignMessageError | BadSelector | CoinIsNotFound | InternalFault;

export const signMessage = defineMethod<Failure>()({
  name: "sign_message",
  style: "v2",
  struct: "SignatureRequest",
  summary: "Sign a message with a coin's address key to prove ownership of the address.",
  source: "interface document, sign_message; reference rpc.md 4.7, 8",
  params: z.object({
    coin: ticker().describe("Ticker of an enabled coin with `sign_message_prefix` in its entry."),
    message: text().describe("The text to sign."),
    address: optional(readAddressSelector, {
      oneOf: [
        { type: "object", properties: { derivation_path: { type: "string" } }, required: ["derivation_path"] },
        {
          type: "object",
          properties: { account_id: { type: "integer" }, chain: { enum: ["External", "Internal"] }, address_id: { type: "integer" } },
          required: ["account_id", "chain", "address_id"],
        },
      ],
    }).describe("HD wallets only: the address to sign with."),
  }),
  result: z.object({ signature: z.string().describe("Base64 of 65 bytes.") }),
  async handle({ coin: ticker, message, address }, ctx) {
    if (address !== undefined && !ctx.node.hd) return err({ kind: "BadSelector", reason: NOT_HD });
    const coin = ctx.coins.active(ticker);
    if (!coin) {
      const why = ctx.coins.whyAway(ticker);
      if (ctx.compatibility === "kdf") return err({ kind: "InternalError", message: noSuchCoin(ticker, why) });
      return err({ kind: "CoinIsNotFound", coin: ticker, why });
    }
    const signed = address === undefined ? coin.signMessage(message) : coin.signMessageAs(address, message);
    return signed.ok ? ok({ signature: signed.value }) : signed;
  },
  errors: {
    CoinIsNotFound: COIN_IS_NOT_FOUND,
    InternalError: { ...INTERNAL_FAULT, when: "A fault of the node. With `compatibility: kdf` also: the coin is not enabled." },
    NotSupported: invalidRequest("Coins of this kind do not sign messages.", "Message signing is not supported by the given coin type"),
    BadSelector: {
      http: 400,
      type: "InvalidRequest",
      when: "`address` is given, but the wallet has one address only, or it names none of this coin.",
      text: ({ reason }) => `Invalid request: ${reason}`,
      data: ({ reason }) => reason,
    },
    PrefixNotFound: {
      http: 500,
      when: "The coin's entry has no `sign_message_prefix`.",
      text: () => "sign_message_prefix is not set in coin config",
    },
  },
  examples: [
    {
      title: "Sign with the node's address",
      style: "v2",
      params: { coin: "DOC", message: "hello" },
      result: { signature: "ICNApAkj09iMYRghL4NMT/ohd+LBrn1Oqn3Pp3vuWp/yFRoGfHYNcL6TdI7XLY6SFeXAERYi86e7QvwgdCzQaaA=" },
    },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD", message: "hello" }, error: "CoinIsNotFound" },
  ],
});
