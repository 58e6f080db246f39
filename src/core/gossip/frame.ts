import { asciiToBytes } from "./asciiText.ts";
import { ProtoWriter } from "./protobuf.ts";

/** Largest frame on a gossip stream and largest request or answer: 1024 * 1024 - 100 (p2p-wire.md 3). */
export const MAX_FRAME_BYTES = 1024 * 1024 - 100;
/** Topics here are printable ASCII: `orbk/…`, `swap/<uuid>`, `hcheck/<peer id>`. Longest allowed, in bytes. */
export const MAX_TOPIC_BYTES = 256;

/**
 * The numbers of KDF's own control fields. Known from its older gossip definition, about 90 % sure for the pinned fork
 * (p2p-wire.md 3): this is the one place to change them, and unknown control fields are logged to find out.
 */
export const CONTROL_FIELDS = {
  iAmRelay: 5,
  includedToRelaysMesh: 6,
  meshSize: 7,
} as const;

/** One published message. `signature` and `key` are never written by this network and kept only to pass them on. */
export type WireMessage = {
  /** Peer id bytes of the author, as claimed; nothing proves it. */
  readonly from?: Uint8Array;
  readonly data: Uint8Array;
  /** 8 bytes, big endian. */
  readonly seqno?: Uint8Array;
  readonly topic: string;
  readonly signature?: Uint8Array;
  readonly key?: Uint8Array;
};

export type Subscription = { readonly subscribe: boolean; readonly topic: string };
export type RelayInclusion = { readonly included: boolean; readonly meshSize: number };
/** `backoffSec` absent: the sender leaves it to the receiver. */
export type Prune = { readonly topic: string; readonly backoffSec?: number };

export type Control = {
  readonly ihave?: readonly { readonly topic: string; readonly ids: readonly Uint8Array[] }[];
  readonly iwant?: readonly (readonly Uint8Array[])[];
  readonly graft?: readonly string[];
  readonly prune?: readonly Prune[];
  readonly iAmRelay?: boolean;
  readonly included?: RelayInclusion;
  readonly meshSize?: number;
};

export type UnknownControlField = { readonly field: number; readonly wireType: number };

export type Frame = {
  readonly subscriptions?: readonly Subscription[];
  readonly publish?: readonly WireMessage[];
  readonly control?: Control;
};

export type ParsedFrame = Frame & {
  /** Messages left out because a field breaks the network's rules (sequence number, author, topic). */
  readonly invalidMessages: number;
  /** At most 16; for the log. */
  readonly unknownControl: readonly UnknownControlField[];
};

export type FrameError = { readonly kind: "BadFrame"; readonly why: "size" | "protobuf" | "count" };

function encodeMessage(message: WireMessage): Uint8Array {
  const w = new ProtoWriter(message.data.length + message.topic.length + 96);
  if (message.from !== undefined) w.bytes(1, message.from);
  w.bytes(2, message.data);
  if (message.seqno !== undefined) w.bytes(3, message.seqno);
  w.bytes(4, asciiToBytes(message.topic));
  if (message.signature !== undefined) w.bytes(5, message.signature);
  if (message.key !== undefined) w.bytes(6, message.key);
  return w.finish();
}

/** A frame without its length prefix. */
export function encodeFrame(frame: Frame): Uint8Array {
  const w = new ProtoWriter();
  for (const { subscribe, topic } of frame.subscriptions ?? []) {
    const s = new ProtoWriter();
    s.varint(1, subscribe ? 1 : 0);
    s.bytes(2, asciiToBytes(topic));
    w.bytes(1, s.finish());
  }
  for (const message of frame.publish ?? []) w.bytes(2, encodeMessage(message));
  if (frame.control !== undefined) w.bytes(3, encodeControl(frame.control));
  return w.finish();
}

function encodeControl(control: Control): Uint8Array {
  const w = new ProtoWriter();
  for (const { topic, ids } of control.ihave ?? []) {
    const s = new ProtoWriter();
    s.bytes(1, asciiToBytes(topic));
    for (const id of ids) s.bytes(2, id);
    w.bytes(1, s.finish());
  }
  for (const ids of control.iwant ?? []) {
    const s = new ProtoWriter();
    for (const id of ids) s.bytes(1, id);
    w.bytes(2, s.finish());
  }
  for (const topic of control.graft ?? []) {
    const s = new ProtoWriter();
    s.bytes(1, asciiToBytes(topic));
    w.bytes(3, s.finish());
  }
  for (const { topic, backoffSec } of control.prune ?? []) {
    const s = new ProtoWriter();
    s.bytes(1, asciiToBytes(topic));
    if (backoffSec !== undefined) s.varint(3, backoffSec);
    w.bytes(4, s.finish());
  }
  if (control.iAmRelay !== undefined) w.varint(CONTROL_FIELDS.iAmRelay, control.iAmRelay ? 1 : 0);
  if (control.included !== undefined) {
    // Both members always: the old definition marks them required.
    const s = new ProtoWriter();
    s.varint(1, control.included.included ? 1 : 0);
    s.varint(2, control.included.meshSize);
    w.bytes(CONTROL_FIELDS.includedToRelaysMesh, s.finish());
  }
  if (control.meshSize !== undefined) w.varint(CONTROL_FIELDS.meshSize, control.meshSize);
  return w.finish();
}
