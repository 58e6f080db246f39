import type { AddressForm } from "../../core/utxo/convertAddress.ts";

/** A way to write an address of an account chain. `mixedcase`: with the checksum of EIP-55. */
export type AccountAddressForm = { readonly format: "mixedcase" | "singlecase" };
/** Of all kinds of coins; a coin refuses those of others. */
export type AnyAddressForm = AddressForm | AccountAddressForm;

export const isUtxoForm = (form: AnyAddressForm): form is AddressForm => form.format !== "mixedcase" && form.format !== "singlecase";
