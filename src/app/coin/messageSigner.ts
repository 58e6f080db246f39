import { type HdAddressId, isAddressId, parseAddressPath } from "../../core/keys/hd.ts";
import { signMessage, verifyMessage } from "../../core/keys/signMessage.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { parseAddress } from "../../core/utxo/address.ts";
import { addressErrorText } from "./addressErrorText.ts";
import type { CoinSpec, CoinWallet } from "./coinSpec.ts";

type SignError = { readonly kind: "PrefixNotFound" };
type VerifyError =
  | SignError
  | { readonly kind: "SignatureDecoding"; readonly message: string }
  | { readonly kind: "InvalidSignature" }
  | { readonly kind: "AddressDecoding"; readonly message: string };

/** One address of an HD wallet, as a path or by its place below the coin's path. */
export type AddressSelector =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "place"; readonly account: number; readonly chain: "External" | "Internal"; readonly index: number };

/** Signs and checks text messages with a coin's keys (reference rpc.md 8.1). */
export class MessageSigner {
  readonly #spec: CoinSpec;
  readonly #wallet: CoinWallet;

  constructor(spec: CoinSpec, wallet: CoinWallet) {
    this.#spec = spec;
    this.#wallet = wallet;
  }

  sign(message: string): Result<string, SignError> {
    const prefix = this.#spec.signMessagePrefix;
    return prefix === null ? err({ kind: "PrefixNotFound" }) : ok(signMessage(prefix, message, this.#wallet.key));
  }

  /** With the key of another address of the wallet. The reasons are sentences. */
  signAs(address: AddressSelector, message: string): Result<string, SignError | { readonly kind: "BadSelector"; readonly reason: string }> {
    const { hd } = this.#wallet;
    if (!hd) return badSelector("the wallet has one address only");
    const prefix = this.#spec.signMessagePrefix;
    if (prefix === null) return err({ kind: "PrefixNotFound" });
    const id = addressId(hd.derivationPath, address);
    const key = id && hd.keyAt(id);
    if (!key) return badSelector(`the address must be ${hd.derivationPath}/<account>'/<0 or 1>/<index>, each number below 2147483648`);
    return ok(signMessage(prefix, message, key));
  }

  verify(message: string, signature: string, address: string): Result<boolean, VerifyError> {
    const parsed = parseAddress(address, this.#spec.kind.address);
    if (!parsed.ok) return err({ kind: "AddressDecoding", message: addressErrorText(this.#spec.kind.ticker, parsed.error) });
    const prefix = this.#spec.signMessagePrefix;
    if (prefix === null) return err({ kind: "PrefixNotFound" });
    if (parsed.value.hash.length !== 20) return err({ kind: "AddressDecoding", message: "messages are signed by keys, not by scripts" });
    const checked = verifyMessage(prefix, message, signature, parsed.value.hash);
    if (checked.ok) return checked;
    if (checked.error.kind === "InvalidSignature") return err({ kind: "InvalidSignature" });
    const detail = checked.error.reason === "length" ? "could not convert slice to array" : base64Fault(signature);
    return err({ kind: "SignatureDecoding", message: detail });
  }
}

/** KDF's words (reference rpc.md 4.8 row 4): the first symbol that cannot stand where it is, then the padding, then the last symbol's spare bits. */
function base64Fault(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const body = text.replace(/={1,2}$/, "");
  const at = body.search(/[^A-Za-z0-9+/]/);
  // A `=` that cannot be padding is told where the padding begins.
  if (at >= 0) return `Invalid symbol ${bytes[at]}, offset ${at}.`;
  if (text.length > body.length && body.length % 4 < 2) return `Invalid symbol 61, offset ${body.length}.`;
  return text.length % 4 === 0 ? `Invalid last symbol ${bytes[body.length - 1]}, offset ${body.length - 1}.` : "Invalid padding";
}

/** The address a selector names below a coin's path; null: none. */
export function addressId(derivationPath: string, address: AddressSelector): HdAddressId | null {
  if (address.kind === "path") return parseAddressPath(derivationPath, address.path);
  const id = { account: address.account, chain: address.chain === "Internal" ? (1 as const) : (0 as const), index: address.index };
  return isAddressId(id) ? id : null;
}

const badSelector = (reason: string): Result<never, { readonly kind: "BadSelector"; readonly reason: string }> =>
  err({ kind: "BadSelector", reason });
