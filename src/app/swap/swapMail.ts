import { parseEnvelope, signEnvelope } from "../../core/message/envelope.ts";
import { encodeSwapMessage, parseSwapMessage } from "../../core/message/swapMessage.ts";
import type { SwapMessage } from "../../core/message/types.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import type { Secret } from "../../core/util/secret.ts";
import type { GossipVerdict } from "../../ports/network.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";

/** The messages that a node sends of one swap, in their envelopes. */
export class OutgoingMail {
  readonly #secretKey: Secret<Uint8Array>;
  /** The last message of each kind, in its envelope. */
  readonly #sent = new Map<SwapMessage["type"], Uint8Array>();

  constructor(secretKey: Secret<Uint8Array>) {
    this.#secretKey = secretKey;
  }

  /** A message is repeated for as long as the other side is silent: signed once, the same bytes have the same signature. */
  envelopeOf(message: SwapMessage): Uint8Array {
    const payload = encodeSwapMessage(message);
    const known = this.#sent.get(message.type);
    if (known && isAround(known, payload)) return known;
    const envelope = signEnvelope(payload, this.#secretKey.reveal());
    this.#sent.set(message.type, envelope);
    return envelope;
  }
}

function isAround(envelope: Uint8Array, payload: Uint8Array): boolean {
  const read = parseEnvelope(envelope);
  return read.ok && equalBytes(read.value.payload, payload);
}

/** A message of the counterparty, or null; and whether what came is passed on. */
type ReadMail = { readonly message: SwapMessage | null; readonly verdict: GossipVerdict };
const FOR_OTHERS: ReadMail = { message: null, verdict: "accept" };
const BAD: ReadMail = { message: null, verdict: "reject" };

/** Reads what came on a swap's topic. Only the counterparty's key counts; everything else is passed on unread. */
export function readMail(data: Uint8Array, counterparty: Uint8Array, verifier: SignatureVerifier): ReadMail {
  const envelope = parseEnvelope(data);
  // Unsigned swap statistics travel on the same topic: not for us, and not the sender's fault.
  if (!envelope.ok) return FOR_OTHERS;
  const { publicKey, signature, digest, payload } = envelope.value;
  if (!verifier.verify(signature, digest, publicKey)) return BAD;
  // KDF compares the X coordinate only (reference swap-protocol.md 1.3).
  if (!equalBytes(publicKey.subarray(1), counterparty.subarray(1))) return FOR_OTHERS;
  const parsed = parseSwapMessage(payload);
  return parsed.ok ? { message: parsed.value, verdict: "accept" } : BAD;
}
