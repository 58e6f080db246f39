import { assertNever, type Result } from "../util/result.ts";
import { type BadMessage, decode, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";

/** Address format of a UTXO coin, sent as its protocol info in order messages (reference p2p-wire.md section 9). */
export type AddressFormat =
  | { readonly format: "standard" }
  | { readonly format: "segwit" }
  | {
      readonly format: "cashaddress";
      /** prefix of the address text, such as `bitcoincash` */
      readonly network: string;
      /** 0 to 255 */
      readonly pubPrefix: number;
      readonly p2shPrefix: number;
    };

const MAX_NETWORK_BYTES = 64;

export function encodeProtocolInfo(address: AddressFormat): Uint8Array {
  const w = new MsgpackWriter();
  switch (address.format) {
    case "standard":
    case "segwit":
      return w.array(1).str(address.format).finish();
    case "cashaddress":
      return w.array(4).str(address.format).str(address.network).uint(address.pubPrefix).uint(address.p2shPrefix).finish();
    default:
      return assertNever(address);
  }
}

export function parseProtocolInfo(bytes: Uint8Array): Result<AddressFormat, BadMessage> {
  return decode(bytes, (r): AddressFormat => {
    r.body(1);
    const format = r.str(MAX_NETWORK_BYTES);
    switch (format) {
      case "standard":
      case "segwit":
        return { format };
      case "cashaddress":
        return { format, network: r.str(MAX_NETWORK_BYTES), pubPrefix: r.uint(0xff), p2shPrefix: r.uint(0xff) };
      default:
        return refuse("unknown address format");
    }
  });
}

/**
 * Whether a counterparty's protocol info suits a UTXO coin of ours: it must be readable; without one the coin must
 * not be segwit (reference p2p-wire.md section 9).
 */
export function suitsUtxoCoin(info: Uint8Array | undefined, own: AddressFormat): boolean {
  return info ? parseProtocolInfo(info).ok : own.format !== "segwit";
}
