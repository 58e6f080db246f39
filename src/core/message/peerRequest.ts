import { assertNever, type Result } from "../util/result.ts";
import { type BadMessage, decode, MAX_MESSAGE_BYTES, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";

/** `PeerResponse` of `/request-response/2`; `data` is MessagePack again. Same shape as the ports' `PeerAnswer`. */
export type PeerResponse =
  | { readonly kind: "ok"; readonly data: Uint8Array }
  | { readonly kind: "none" }
  | { readonly kind: "err"; readonly message: string };

const VARIANTS = ["Ok", "None", "Err"] as const;
/** Longest error text read. */
const MAX_ERROR_BYTES = 4096;

/** Stream payload of a request, after the length varint: the inner bytes as integers in a one-field struct. */
export function encodePeerRequest(request: Uint8Array): Uint8Array {
  return new MsgpackWriter().array(1).ints(request).finish();
}

/** The MessagePack of the `P2pRequest` inside. */
export function parsePeerRequest(bytes: Uint8Array): Result<Uint8Array, BadMessage> {
  return decode(bytes, (r) => {
    r.body(1);
    return r.ints(MAX_MESSAGE_BYTES);
  });
}

export function encodePeerResponse(response: PeerResponse): Uint8Array {
  const w = new MsgpackWriter();
  switch (response.kind) {
    case "ok":
      return w.variant(0).array(1).ints(response.data).finish();
    case "none":
      return w.unitVariant(1).finish();
    case "err":
      return w.variant(2).array(1).str(response.message).finish();
    default:
      return assertNever(response);
  }
}

export function parsePeerResponse(bytes: Uint8Array): Result<PeerResponse, BadMessage> {
  return decode(bytes, (r): PeerResponse => {
    switch (VARIANTS[r.variant(VARIANTS)]) {
      case "Ok":
        r.body(1);
        return { kind: "ok", data: r.ints(MAX_MESSAGE_BYTES) };
      case "None":
        return r.nil() ? { kind: "none" } : refuse("nil expected");
      default:
        r.body(1);
        return { kind: "err", message: r.str(MAX_ERROR_BYTES) };
    }
  });
}
