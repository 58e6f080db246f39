import { type Hash64, sipHash13 } from "./sipHash.ts";

/** Holds the input while it is hashed; an order message has some 300 bytes. */
const SCRATCH = new Uint8Array(4_096);

/**
 * KDF's gossip message id (p2p-wire.md 3): SipHash-1-3 with zero keys over
 * `u64le(len) || data || u64le(1) || u64le(seqno)`, or `… || u64le(0)` for a message without sequence number.
 *
 * @param seqno the 8 bytes of the message field, big endian
 */
export function messageId(data: Uint8Array, seqno: Uint8Array | undefined): Hash64 {
  const size = 8 + data.length + 8 + (seqno === undefined ? 0 : 8);
  const input = size <= SCRATCH.length ? SCRATCH.subarray(0, size) : new Uint8Array(size);
  input.fill(0, 0, 8);
  input.fill(0, 8 + data.length);
  // Frames are below 2^21 bytes, so the upper half of the length is zero.
  let length = data.length;
  for (let i = 0; length > 0; i++) {
    input[i] = length & 0xff;
    length >>>= 8;
  }
  input.set(data, 8);
  if (seqno !== undefined) {
    const at = 8 + data.length;
    input[at] = 1;
    for (let i = 0; i < 8; i++) input[at + 8 + i] = seqno[7 - i] ?? 0;
  }
  return sipHash13(input);
}

/** The id as it stands in IHAVE and IWANT: 8 bytes, big endian. */
export function messageIdBytes(id: Hash64): Uint8Array {
  const out = new Uint8Array(8);
  for (let i = 0; i < 4; i++) {
    out[i] = id.high >>> (24 - 8 * i);
    out[4 + i] = id.low >>> (24 - 8 * i);
  }
  return out;
}

/** An id out of IHAVE or IWANT; undefined when it is not 8 bytes, so no id of this network. */
export function parseMessageId(bytes: Uint8Array): Hash64 | undefined {
  if (bytes.length !== 8) return undefined;
  const half = (at: number): number =>
    (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
  return { high: half(0), low: half(4) };
}

/** A compact map key: four UTF-16 units that hold the 64 bits. Not text for people. */
export function hashKey(hash: Hash64): string {
  return String.fromCharCode(hash.high >>> 16, hash.high & 0xffff, hash.low >>> 16, hash.low & 0xffff);
}
