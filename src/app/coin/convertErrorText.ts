import type { ConvertError } from "../../core/utxo/convertAddress.ts";
import { addressErrorText } from "./addressErrorText.ts";

const FORM = { standard: "base58", segwit: "segwit", cashaddress: "cash" };

/** Why an address cannot be written in another form, for people. */
export function convertErrorText(ticker: string, e: ConvertError): string {
  switch (e.kind) {
    case "OtherKind":
      return `a ${e.of} address has no ${FORM[e.to]} form`;
    case "NoSuchForm":
      return e.to === "cashaddress" && e.prefix !== null
        ? `cash addresses of ${ticker} begin with ${e.prefix}:`
        : `${ticker} has no ${FORM[e.to]} addresses`;
    default:
      return addressErrorText(ticker, e);
  }
}
