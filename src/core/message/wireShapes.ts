import type { Rational } from "../money/rational.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import { type MsgpackReader, refuse } from "./msgpackReader.ts";
import type { MsgpackWriter } from "./msgpackWriter.ts";
import type { ConfSettings, OrderbookItem } from "./types.ts";

/** Values that several messages share, in the dialect of reference p2p-wire.md section 6. */

/** Longest ticker read. The longest in use today has 24 characters. */
const MAX_TICKER_BYTES = 64;
/** Longest `BASE:REL`. */
export const MAX_PAIR_BYTES = 2 * MAX_TICKER_BYTES + 1;
/** 32-bit limbs of one big integer: 2048 bits. A price of two 18-decimal amounts needs 4. */
const MAX_LIMBS = 64;
/** Longest protocol info of a coin; lightning coins carry the most. */
export const MAX_PROTOCOL_INFO_BYTES = 1024;
const LIMB_BITS = 32n;
const LIMB_MASK = 0xffff_ffffn;

export function writeRational(w: MsgpackWriter, value: Rational): void {
  w.array(2);
  writeBigInt(w, value.n);
  writeBigInt(w, value.d);
}

function writeBigInt(w: MsgpackWriter, value: bigint): void {
  const limbs: number[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= LIMB_BITS) limbs.push(Number(rest & LIMB_MASK));
  w.array(2)
    .sign(value === 0n ? 0 : value < 0n ? -1 : 1)
    .array(limbs.length);
  for (const limb of limbs) w.uint(limb);
}

/** Kept as sent, also when not in lowest terms: the raw form goes into the trie. A zero denominator is refused. */
export function readRational(r: MsgpackReader): Rational {
  r.struct(2);
  const n = readBigInt(r);
  const d = readBigInt(r);
  if (d === 0n) refuse("zero denominator");
  return { n, d };
}

function readBigInt(r: MsgpackReader): bigint {
  r.struct(2);
  const sign = r.int();
  if (sign < -1 || sign > 1) refuse("sign out of range");
  const count = r.array(MAX_LIMBS);
  let magnitude = 0n;
  for (let i = 0; i < count; i++) magnitude |= BigInt(r.uint(0xffff_ffff)) << (LIMB_BITS * BigInt(i));
  return BigInt(sign) * magnitude;
}

export function writeConf(w: MsgpackWriter, conf: ConfSettings): void {
  w.array(4).uint(conf.baseConfs).bool(conf.baseNota).uint(conf.relConfs).bool(conf.relNota);
}

export function readConf(r: MsgpackReader): ConfSettings {
  r.struct(4);
  return { baseConfs: r.uint(), baseNota: r.bool(), relConfs: r.uint(), relNota: r.bool() };
}

export function readTicker(r: MsgpackReader): string {
  return r.str(MAX_TICKER_BYTES);
}

/** `CompactUuid`: 16 raw bytes in a `bin`. */
export function writeCompactUuid(w: MsgpackWriter, uuid: string): void {
  w.bin(uuidToBytes(uuid));
}

export function readCompactUuid(r: MsgpackReader): string {
  const h = toHex(r.binOf(16));
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Plain `Uuid`: 36 characters; upper case is read and comes out in lower case. */
export function readUuidText(r: MsgpackReader): string {
  const text = r.str(36).toLowerCase();
  return UUID.test(text) ? text : refuse("uuid expected");
}

/** The 16 bytes of a uuid our own code has parsed or made. Throws on other text. */
export function uuidToBytes(uuid: string): Uint8Array {
  if (!UUID.test(uuid)) throw new RangeError("not a lower-case uuid");
  return fromHex(uuid.replaceAll("-", ""));
}

const PUBKEY_HEX = /^0[23][0-9a-f]{64}$/;

/** Compressed key as 66 lower-case hex characters. */
export function readPubkeyHex(r: MsgpackReader): string {
  const text = r.str(66);
  return PUBKEY_HEX.test(text) ? text : refuse("compressed public key in hex expected");
}

/** `OrderbookP2PItem`; also the value of a trie leaf (reference p2p-wire.md section 10). */
export function writeOrderbookItem(w: MsgpackWriter, item: OrderbookItem): void {
  w.array(8).str(item.pubkey).str(item.base).str(item.rel);
  writeRational(w, item.price);
  writeRational(w, item.maxVolume);
  writeRational(w, item.minVolume);
  w.str(item.uuid).uint(item.createdAt);
}

export function readOrderbookItem(r: MsgpackReader): OrderbookItem {
  r.struct(8);
  return {
    pubkey: readPubkeyHex(r),
    base: readTicker(r),
    rel: readTicker(r),
    price: readRational(r),
    maxVolume: readRational(r),
    minVolume: readRational(r),
    uuid: readUuidText(r),
    createdAt: r.uint(),
  };
}
