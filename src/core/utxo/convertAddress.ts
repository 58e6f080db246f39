import { err, ok, type Result } from "../util/result.ts";
import { type Address, type AddressError, type AddressRules, addressText, parseAddress } from "./address.ts";

/** A way to write an address; `network` is the prefix of a cash address. */
export type AddressForm =
  | { readonly format: "standard" }
  | { readonly format: "segwit" }
  | { readonly format: "cashaddress"; readonly network: string };

export type ConvertError =
  | AddressError
  /** The address pays to a script, or to a key in a way, that this form cannot say. */
  | { readonly kind: "OtherKind"; readonly of: Address["kind"]; readonly to: AddressForm["format"] }
  /** The coin has no such addresses; `prefix` is the one its cash addresses have. */
  | { readonly kind: "NoSuchForm"; readonly to: AddressForm["format"]; readonly prefix: string | null };

/**
 * Writes an address of a coin in another form: the same key or script hash (BIP-173, cash addresses, base58). A P2PKH address
 * and the P2WPKH address of the same key are different outputs that the same key spends. Witness scripts have no other form.
 */
export function convertAddress(text: string, to: AddressForm, rules: AddressRules): Result<string, ConvertError> {
  const parsed = parseAddress(text, rules);
  if (!parsed.ok) return parsed;
  const { kind, hash } = parsed.value;
  const isKey = kind === "p2pkh" || kind === "p2wpkh";
  const noSuchForm = err({ kind: "NoSuchForm" as const, to: to.format, prefix: rules.cashPrefix });
  if (to.format === "segwit") {
    if (!rules.segwit || rules.hrp === null) return noSuchForm;
    if (kind === "p2sh") return err({ kind: "OtherKind", of: kind, to: to.format });
    return ok(addressText({ kind: isKey ? "p2wpkh" : kind, hash }, rules));
  }
  if (to.format === "cashaddress" && (rules.cashPrefix === null || to.network !== rules.cashPrefix)) return noSuchForm;
  if (!isKey && kind !== "p2sh") return err({ kind: "OtherKind", of: kind, to: to.format });
  return ok(addressText({ kind: isKey ? "p2pkh" : kind, hash }, { ...rules, format: to.format }));
}
