import { err, ok, type Result } from "../util/result.ts";
import { parseAscii } from "./asciiText.ts";
import { ControlGatherer } from "./controlGatherer.ts";
import { type FrameError, MAX_FRAME_BYTES, MAX_TOPIC_BYTES, type ParsedFrame, type Subscription, type WireMessage } from "./frame.ts";
import { ProtoReader } from "./protobuf.ts";

/** A frame may hold this many subscriptions and this many messages; KDF writes one of each. */
const MAX_SUBSCRIPTIONS = 5000;
const MAX_MESSAGES = 5000;

/**
 * Reads a frame from a peer. A frame that is not protobuf or holds too much is refused whole; a message that breaks a
 * rule of the network is left out and counted; unknown fields are skipped. The byte members are views into `bytes`.
 */
export function parseFrame(bytes: Uint8Array): Result<ParsedFrame, FrameError> {
  if (bytes.length > MAX_FRAME_BYTES) return err({ kind: "BadFrame", why: "size" });
  const subscriptions: Subscription[] = [];
  const publish: WireMessage[] = [];
  let control: ControlGatherer | undefined;
  let invalidMessages = 0;
  const r = new ProtoReader(bytes);
  while (r.next()) {
    if (r.field === 1 && r.wire === 2) {
      const subscription = parseSubscription(r.bytes());
      if (subscription === "broken") return err({ kind: "BadFrame", why: "protobuf" });
      if (subscription !== "invalid") subscriptions.push(subscription);
    } else if (r.field === 2 && r.wire === 2) {
      const message = parseMessage(r.bytes());
      if (message === "broken") return err({ kind: "BadFrame", why: "protobuf" });
      if (message === "invalid") invalidMessages++;
      else publish.push(message);
    } else if (r.field === 3 && r.wire === 2) {
      control ??= new ControlGatherer();
      const added = control.add(r.bytes());
      if (!added.ok) return added;
    } else r.skip();
    if (subscriptions.length > MAX_SUBSCRIPTIONS || publish.length + invalidMessages > MAX_MESSAGES) {
      return err({ kind: "BadFrame", why: "count" });
    }
  }
  if (r.broken) return err({ kind: "BadFrame", why: "protobuf" });
  return ok({
    subscriptions,
    publish,
    ...(control === undefined ? {} : { control: control.result() }),
    invalidMessages,
    unknownControl: control?.unknown ?? [],
  });
}

function parseSubscription(bytes: Uint8Array): Subscription | "broken" | "invalid" {
  const r = new ProtoReader(bytes);
  let subscribe = false;
  let topic: string | undefined;
  while (r.next()) {
    if (r.field === 1 && r.wire === 0) subscribe = r.varint() !== 0;
    else if (r.field === 2 && r.wire === 2) topic = parseAscii(r.bytes(), MAX_TOPIC_BYTES);
    else r.skip();
  }
  if (r.broken) return "broken";
  return topic === undefined ? "invalid" : { subscribe, topic };
}

function parseMessage(bytes: Uint8Array): WireMessage | "broken" | "invalid" {
  const r = new ProtoReader(bytes);
  let from: Uint8Array | undefined;
  let data: Uint8Array | undefined;
  let seqno: Uint8Array | undefined;
  let topic: string | undefined;
  let signature: Uint8Array | undefined;
  let key: Uint8Array | undefined;
  while (r.next()) {
    if (r.wire !== 2) r.skip();
    else if (r.field === 1) from = r.bytes();
    else if (r.field === 2) data = r.bytes();
    else if (r.field === 3) seqno = r.bytes();
    else if (r.field === 4) topic = parseAscii(r.bytes(), MAX_TOPIC_BYTES);
    else if (r.field === 5) signature = r.bytes();
    else if (r.field === 6) key = r.bytes();
    else r.skip();
  }
  if (r.broken) return "broken";
  // An empty author or sequence number means absent, as in the reference; 64 bytes are ample for a peer id.
  if (topic === undefined || (from?.length ?? 0) > 64) return "invalid";
  if (seqno !== undefined && seqno.length !== 0 && seqno.length !== 8) return "invalid";
  return {
    ...(from === undefined || from.length === 0 ? {} : { from }),
    data: data ?? new Uint8Array(0),
    ...(seqno === undefined || seqno.length === 0 ? {} : { seqno }),
    topic,
    ...(signature === undefined ? {} : { signature }),
    ...(key === undefined ? {} : { key }),
  };
}
