import { z } from "zod";
import type { AnyAddressForm } from "../../app/coin/addressForm.ts";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { type Read, required, text, ticker } from "../field.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { MISSING, unknownVariant, wrongType } from "../serdeText.ts";

/** Those of UTXO coins, which the reference node names where it knows none of the name. */
const FORMATS = ["standard", "segwit", "cashaddress"];
const ACCOUNT_FORMATS = ["mixedcase", "singlecase"];

const readForm: Read<AnyAddressForm> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "internally tagged enum UtxoAddressFormat"));
  const { format, network } = value;
  if (format === undefined) return err(`${MISSING} \`format\``);
  if (typeof format !== "string") return err(wrongType(format, "variant identifier"));
  if (format === "standard" || format === "segwit") return ok({ format });
  if (format === "mixedcase" || format === "singlecase") return ok({ format });
  if (format !== "cashaddress") return err(unknownVariant(format, FORMATS));
  if (network === undefined) return err(`${MISSING} \`network\``);
  return typeof network === "string" ? ok({ format, network }) : err(wrongType(network, "a string"));
};

export const convertaddress = defineMethod<NoSuchCoin | { readonly kind: "NotConvertible"; readonly reason: string }>()({
  name: "convertaddress",
  style: "flat",
  summary: "Write an address of a coin in another of the coin's forms; of an account chain in mixed case with its checksum.",
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: ticker(),
    from: text().describe("The address."),
    to_address_format: required(readForm, {
      type: "object",
      properties: {
        format: { enum: [...FORMATS, ...ACCOUNT_FORMATS] },
        network: { type: "string", description: "Of cash addresses, as `bitcoincash`." },
      },
      required: ["format"],
    }),
  }),
  result: z.object({ address: z.string() }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const converted = coin.value.convertAddress(p.from, p.to_address_format);
    return converted.ok ? ok({ address: converted.value }) : err({ kind: "NotConvertible" as const, reason: converted.error.reason });
  },
  errors: {
    NoSuchCoin: noSuchCoin(true),
    NotConvertible: {
      http: 400,
      when: "`from` is no address of the coin, the coin has no addresses of that form, or the form cannot say what the address pays to.",
      text: ({ reason }) => reason,
    },
  },
  examples: [
    {
      title: "An address in its own form",
      style: "flat",
      params: { coin: "DOC", from: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", to_address_format: { format: "standard" } },
      result: { address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
    },
    {
      title: "A form the coin does not have",
      style: "flat",
      params: { coin: "DOC", from: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", to_address_format: { format: "segwit" } },
      error: "NotConvertible",
    },
    {
      title: "The coin is not enabled",
      style: "flat",
      params: { coin: "KMD", from: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", to_address_format: { format: "standard" } },
      error: "NoSuchCoin",
    },
  ],
});
