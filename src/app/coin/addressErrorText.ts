import type { AddressError } from "../../core/utxo/address.ts";

/** KDF's words for a text that is no address of the coin (reference rpc.md 4.8 row 2), own ones for the extension block's, which KDF calls damaged. */
export function addressErrorText(ticker: string, e: AddressError): string {
  switch (e.kind) {
    case "UnknownFormat":
      return `Cannot determine format: [${[e.base58, e.bech32, e.cashAddress].map((reason) => JSON.stringify(reason)).join(", ")}]`;
    case "InExtensionBlock":
      return "this is an address in Litecoin's extension block (MWEB), which cannot be paid from here: ask for a plain address (ltc1..., L... or M...)";
    case "SegwitNotActivated":
      return `Segwit not activated in the config for ${ticker}`;
    case "WrongHrp":
      return `Address hrp ${e.hrp} is not a valid hrp for ${ticker}`;
    case "FormatMismatch":
      return `${e.activated} address format activated for ${ticker}, but ${e.used} format used instead`;
  }
}
