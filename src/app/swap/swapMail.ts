import { parseEnvelope, signEnvelope } from "../../core/message/envelope.ts";
import { encodeSwapMessage, parseSwapMessage } from "../../core/message/swapMessage.ts";
import type { SwapMessage } from "../../core/message/types.ts";
import { equalBytes, toHex } from "../../core/util/bytes.ts";
import type { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import type { GossipMessage, GossipVerdict } from "../../ports/network.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import { ExpiringMap } from "../expiringMap.ts";

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
export type ReadMail = { readonly message: SwapMessage | null; readonly verdict: GossipVerdict };
const FOR_OTHERS: ReadMail = { message: null, verdict: "accept" };
const BAD: ReadMail = { message: null, verdict: "reject" };
const BUSY: ReadMail = { message: null, verdict: "busy" };

/** Messages that were read, by topic, remembered so that a copy is not checked again: peers repeat theirs, and so can anybody. */
const MAX_READ = 5_000;
const READ_LIFE_MS = 600_000;

/**
 * Reads what comes on the topics of swaps. Only the counterparty's key counts; everything else is passed on unread. Anybody can put
 * thousands of messages a second there, each with an id of its own: the claims of all swaps wait behind a signature that is checked here.
 */
export class IncomingMail {
  readonly #verifier: SignatureVerifier;
  readonly #read: ExpiringMap<true>;

  constructor(clock: Clock, verifier: SignatureVerifier) {
    this.#verifier = verifier;
    this.#read = new ExpiringMap(clock, READ_LIFE_MS, MAX_READ);
  }

  /** At once, or in the order of the calls when threads check signatures. Rejects with `Aborted` when the node stops meanwhile. */
  read({ topic, data }: GossipMessage, counterparty: Uint8Array): ReadMail | Promise<ReadMail> {
    const envelope = parseEnvelope(data);
    // Unsigned swap statistics travel on the same topic: not for us, and not the sender's fault.
    if (!envelope.ok) return FOR_OTHERS;
    const { publicKey, signature, payload } = envelope.value;
    // KDF compares the X coordinate only (reference swap-protocol.md 1.3).
    if (!equalBytes(publicKey.subarray(1), counterparty.subarray(1))) return FOR_OTHERS;
    const { digest } = envelope.value;
    const name = [topic, toHex(publicKey), toHex(digest), toHex(signature)].join(" ");
    if (this.#read.get(name)) return parsed(payload);
    const verifier = this.#verifier;
    const genuine = verifier.verifyLater
      ? verifier.verifyLater(signature, digest, publicKey)
      : verifier.verify(signature, digest, publicKey);
    if (genuine === null) return BUSY;
    const judged = (isGenuine: boolean): ReadMail => {
      if (!isGenuine) return BAD;
      this.#read.set(name, true);
      return parsed(payload);
    };
    return typeof genuine === "boolean" ? judged(genuine) : genuine.then(judged);
  }
}

function parsed(payload: Uint8Array): ReadMail {
  const message = parseSwapMessage(payload);
  return message.ok ? { message: message.value, verdict: "accept" } : BAD;
}
