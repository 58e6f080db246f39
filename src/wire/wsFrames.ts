import { err, ok, type Result } from "../core/util/result.ts";
import { HeldBytes } from "./heldBytes.ts";

// RFC 6455, as a client needs it: text messages, no extensions.

export type WsEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "ping"; readonly payload: Buffer }
  | { readonly kind: "pong" }
  | { readonly kind: "close" };

const OPCODES = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;
type Control = typeof OPCODES.close | typeof OPCODES.ping | typeof OPCODES.pong;
const FINAL = 0x80;
const MASKED = 0x80;
/** Payloads up to here have their length in the second byte; control frames are no longer than this. */
const SHORT = 125;
const LENGTH_16 = 126;
/** Frames of one message: an empty one costs nothing to send and something to keep. */
const MAX_PARTS = 100_000;

/** One final frame, masked as a client's must be. `mask`: four bytes nobody can foretell. */
export function encodeFrame(opcode: "text" | "pong" | "close", payload: Buffer, mask: Uint8Array): Buffer {
  const { length } = payload;
  const head = length <= SHORT ? Buffer.alloc(2) : length <= 0xffff ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = FINAL | OPCODES[opcode];
  head[1] = MASKED | (length <= SHORT ? length : length <= 0xffff ? LENGTH_16 : LENGTH_16 + 1);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const body = Buffer.from(payload);
  for (let i = 0; i < length; i++) body[i] = (body[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return Buffer.concat([head, mask.subarray(0, 4), body]);
}

type Head = { readonly opcode: number; readonly isFinal: boolean; readonly length: number; readonly bytes: number };

/** Reads a server's frames, whatever pieces they come in. Nothing is read after the first fault. */
export class WsFrameReader {
  readonly #maxBytes: number;
  readonly #held = new HeldBytes();
  /** Bytes that must be there before it is worth looking again. */
  #wanted = 2;
  #message: Buffer[] | null = null;
  #messageBytes = 0;

  /** @param maxBytes longest message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of a message that has not ended yet. */
  get heldBytes(): number {
    return this.#held.length + this.#messageBytes;
  }

  push(chunk: Buffer): Result<readonly WsEvent[], { readonly detail: string }> {
    const events: WsEvent[] = [];
    this.#held.append(chunk);
    while (this.#held.length >= this.#wanted) {
      const data = this.#held.view;
      const head = this.#head(data);
      if (typeof head === "string") return err({ detail: head });
      if (head === null) break;
      this.#wanted = head.bytes + head.length;
      if (data.length < this.#wanted) break;
      // A copy: what is held is written over.
      const event = this.#frame(head, Buffer.from(data.subarray(head.bytes, this.#wanted)));
      if (typeof event === "string") return err({ detail: event });
      if (event !== null) events.push(event);
      this.#held.drop(this.#wanted);
      this.#wanted = 2;
    }
    return ok(events);
  }

  /** Null: not whole yet; `#wanted` says how much it takes. A text: what is wrong with it. */
  #head(data: Buffer): Head | null | string {
    const [first = 0, second = 0] = data;
    const opcode = first & 0x0f;
    const isFinal = (first & FINAL) !== 0;
    if ((first & 0x70) !== 0) return "a frame of an extension nobody asked for";
    if ((second & MASKED) !== 0) return "a masked frame from a server";
    const short = second & 0x7f;
    const bytes = short <= SHORT ? 2 : short === LENGTH_16 ? 4 : 10;
    if (opcode >= OPCODES.close && (!isFinal || short > SHORT)) return "a control frame in parts or too long";
    if (data.length < bytes) {
      this.#wanted = bytes;
      return null;
    }
    const length = bytes === 2 ? short : bytes === 4 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2));
    if (this.#messageBytes + length > this.#maxBytes) return `a message larger than ${this.#maxBytes} bytes`;
    return { opcode, isFinal, length, bytes };
  }

  #frame({ opcode, isFinal }: Head, payload: Buffer): WsEvent | null | string {
    if (opcode >= OPCODES.close) return control(opcode, payload);
    if (opcode !== OPCODES.text && opcode !== OPCODES.continuation) return "a message that is no text";
    if ((opcode === OPCODES.continuation) !== (this.#message !== null)) return "a part of no message";
    const message = this.#message ?? [];
    message.push(payload);
    this.#messageBytes += payload.length;
    if (message.length > MAX_PARTS) return `a message of more than ${MAX_PARTS} parts`;
    this.#message = isFinal ? null : message;
    if (!isFinal) return null;
    this.#messageBytes = 0;
    return { kind: "text", text: Buffer.concat(message).toString("utf8") };
  }
}

function control(opcode: number, payload: Buffer): WsEvent | string {
  switch (opcode as Control) {
    case OPCODES.ping:
      return { kind: "ping", payload };
    case OPCODES.pong:
      return { kind: "pong" };
    case OPCODES.close:
      return { kind: "close" };
    default:
      return "a frame of an unknown kind";
  }
}
