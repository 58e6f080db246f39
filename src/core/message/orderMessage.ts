import type { Rational } from "../money/rational.ts";
import { assertNever, type Result } from "../util/result.ts";
import { readMatchBy, writeMatchBy } from "./matchBy.ts";
import { type BadMessage, decode, type MsgpackReader, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import type {
  MakerOrderCancelled,
  MakerOrderCreated,
  MakerOrderUpdated,
  MakerReserved,
  OrderMessage,
  OrderPair,
  PubkeyKeepAlive,
  TakerRequest,
} from "./types.ts";
import {
  MAX_PAIR_BYTES,
  MAX_PROTOCOL_INFO_BYTES,
  readCompactUuid,
  readConf,
  readRational,
  readTicker,
  writeCompactUuid,
  writeConf,
  writeRational,
} from "./wireShapes.ts";

/** Variant names in index order (reference p2p-wire.md section 9). */
const VARIANTS = [
  "MakerOrderCreated",
  "MakerOrderUpdated",
  "PubkeyKeepAlive",
  "MakerOrderCancelled",
  "TakerRequest",
  "MakerReserved",
  "TakerConnect",
  "MakerConnected",
] as const satisfies readonly OrderMessage["type"][];
const ACTIONS = ["Buy", "Sell"] as const;
const ROOT_BYTES = 8;
/** Pairs in one keep-alive; KDF sends one. */
const MAX_KEEP_ALIVE_PAIRS = 1000;

/** Payload of the signed envelope on `orbk/` topics. */
export function encodeOrderMessage(message: OrderMessage): Uint8Array {
  const w = new MsgpackWriter();
  w.variant(VARIANTS.indexOf(message.type));
  switch (message.type) {
    case "MakerOrderCreated":
      writeCreated(w, message.body);
      break;
    case "MakerOrderUpdated":
      writeUpdated(w, message.body);
      break;
    case "PubkeyKeepAlive":
      w.array(2).map(message.body.trieRoots.length);
      for (const [pair, root] of message.body.trieRoots) w.str(pair).ints(root);
      w.uint(message.body.timestamp);
      break;
    case "MakerOrderCancelled":
      w.array(3);
      writeCompactUuid(w, message.body.uuid);
      w.uint(message.body.timestamp).ints(message.body.pairTrieRoot);
      break;
    case "TakerRequest":
      writeTakerRequest(w, message.body);
      break;
    case "MakerReserved":
      writeReserved(w, message.body);
      break;
    case "TakerConnect":
    case "MakerConnected":
      w.array(2);
      writeCompactUuid(w, message.body.takerOrderUuid);
      writeCompactUuid(w, message.body.makerOrderUuid);
      break;
    default:
      assertNever(message);
  }
  return w.finish();
}

export function parseOrderMessage(bytes: Uint8Array): Result<OrderMessage, BadMessage> {
  return decode(bytes, (r): OrderMessage => {
    const type = VARIANTS[r.variant(VARIANTS)];
    switch (type) {
      case "MakerOrderCreated":
        return { type, body: readCreated(r) };
      case "MakerOrderUpdated":
        return { type, body: readUpdated(r) };
      case "PubkeyKeepAlive":
        return { type, body: readKeepAlive(r) };
      case "MakerOrderCancelled":
        return { type, body: readCancelled(r) };
      case "TakerRequest":
        return { type, body: readTakerRequest(r) };
      case "MakerReserved":
        return { type, body: readReserved(r) };
      case "TakerConnect":
      case "MakerConnected":
        return { type, body: readOrderPair(r) };
      case undefined:
        return refuse("unknown variant");
      default:
        return assertNever(type);
    }
  });
}

function writeCreated(w: MsgpackWriter, m: MakerOrderCreated): void {
  w.array(12);
  writeCompactUuid(w, m.uuid);
  w.str(m.base).str(m.rel);
  writeRational(w, m.price);
  writeRational(w, m.maxVolume);
  writeRational(w, m.minVolume);
  w.uint(m.createdAt);
  writeConf(w, m.conf);
  w.uint(m.timestamp).ints(m.pairTrieRoot).ints(m.baseProtocolInfo).ints(m.relProtocolInfo);
}

/** Old makers leave out one or both protocol infos; they count as empty. */
function readCreated(r: MsgpackReader): MakerOrderCreated {
  const length = r.body(10);
  return {
    uuid: readCompactUuid(r),
    base: readTicker(r),
    rel: readTicker(r),
    price: readRational(r),
    maxVolume: readRational(r),
    minVolume: readRational(r),
    createdAt: r.uint(),
    conf: readConf(r),
    timestamp: r.uint(),
    pairTrieRoot: r.intsOf(ROOT_BYTES),
    baseProtocolInfo: length > 10 ? r.ints(MAX_PROTOCOL_INFO_BYTES) : new Uint8Array(),
    relProtocolInfo: length > 11 ? r.ints(MAX_PROTOCOL_INFO_BYTES) : new Uint8Array(),
  };
}

function writeUpdated(w: MsgpackWriter, m: MakerOrderUpdated): void {
  w.array(m.conf === undefined ? 6 : 7);
  writeCompactUuid(w, m.uuid);
  for (const value of [m.newPrice, m.newMaxVolume, m.newMinVolume]) {
    if (value === null) w.nil();
    else writeRational(w, value);
  }
  w.uint(m.timestamp).ints(m.pairTrieRoot);
  if (m.conf === null) w.nil();
  else if (m.conf !== undefined) writeConf(w, m.conf);
}

/** An untagged type: exactly six (V1) or seven (V2) fields. */
function readUpdated(r: MsgpackReader): MakerOrderUpdated {
  const length = r.array();
  if (length !== 6 && length !== 7) refuse("6 or 7 elements expected");
  const optional = (): Rational | null => (r.nil() ? null : readRational(r));
  return {
    uuid: readCompactUuid(r),
    newPrice: optional(),
    newMaxVolume: optional(),
    newMinVolume: optional(),
    timestamp: r.uint(),
    pairTrieRoot: r.intsOf(ROOT_BYTES),
    conf: length === 6 ? undefined : r.nil() ? null : readConf(r),
  };
}

function readKeepAlive(r: MsgpackReader): PubkeyKeepAlive {
  r.body(2);
  const count = r.map(MAX_KEEP_ALIVE_PAIRS);
  const trieRoots: [string, Uint8Array][] = [];
  for (let i = 0; i < count; i++) trieRoots.push([r.str(MAX_PAIR_BYTES), r.intsOf(ROOT_BYTES)]);
  return { trieRoots, timestamp: r.uint() };
}

function readCancelled(r: MsgpackReader): MakerOrderCancelled {
  r.body(3);
  return { uuid: readCompactUuid(r), timestamp: r.uint(), pairTrieRoot: r.intsOf(ROOT_BYTES) };
}

function writeTakerRequest(w: MsgpackWriter, m: TakerRequest): void {
  const tail = tailLength(m);
  w.array(8 + tail)
    .str(m.base)
    .str(m.rel);
  writeRational(w, m.baseAmount);
  writeRational(w, m.relAmount);
  w.unitVariant(ACTIONS.indexOf(m.action));
  writeCompactUuid(w, m.uuid);
  writeMatchBy(w, m.matchBy);
  writeConf(w, m.conf);
  writeTail(w, m, tail);
}

function readTakerRequest(r: MsgpackReader): TakerRequest {
  const length = r.body(8);
  return {
    base: readTicker(r),
    rel: readTicker(r),
    baseAmount: readRational(r),
    relAmount: readRational(r),
    action: ACTIONS[r.unitVariant(ACTIONS)] ?? refuse("unknown action"),
    uuid: readCompactUuid(r),
    matchBy: readMatchBy(r),
    conf: readConf(r),
    ...readTail(r, length - 8),
  };
}

function writeReserved(w: MsgpackWriter, m: MakerReserved): void {
  const tail = tailLength(m);
  w.array(7 + tail)
    .str(m.base)
    .str(m.rel);
  writeRational(w, m.baseAmount);
  writeRational(w, m.relAmount);
  writeCompactUuid(w, m.takerOrderUuid);
  writeCompactUuid(w, m.makerOrderUuid);
  writeConf(w, m.conf);
  writeTail(w, m, tail);
}

function readReserved(r: MsgpackReader): MakerReserved {
  const length = r.body(7);
  return {
    base: readTicker(r),
    rel: readTicker(r),
    baseAmount: readRational(r),
    relAmount: readRational(r),
    takerOrderUuid: readCompactUuid(r),
    makerOrderUuid: readCompactUuid(r),
    conf: readConf(r),
    ...readTail(r, length - 7),
  };
}

function readOrderPair(r: MsgpackReader): OrderPair {
  r.body(2);
  return { takerOrderUuid: readCompactUuid(r), makerOrderUuid: readCompactUuid(r) };
}

type Tail = Pick<TakerRequest, "baseProtocolInfo" | "relProtocolInfo" | "swapVersion">;

/** The skippable fields shift when one before them is left out, so a gap is filled with nil. */
function tailLength(m: Tail): 0 | 1 | 2 | 3 {
  if (m.swapVersion !== 1) return 3;
  if (m.relProtocolInfo) return 2;
  return m.baseProtocolInfo ? 1 : 0;
}

function writeTail(w: MsgpackWriter, m: Tail, length: 0 | 1 | 2 | 3): void {
  for (const info of [m.baseProtocolInfo, m.relProtocolInfo].slice(0, length)) {
    if (info) w.ints(info);
    else w.nil();
  }
  if (length === 3) w.array(1).uint(m.swapVersion);
}

function readTail(r: MsgpackReader, length: number): Tail {
  const base = length < 1 || r.nil() ? undefined : r.ints(MAX_PROTOCOL_INFO_BYTES);
  const rel = length < 2 || r.nil() ? undefined : r.ints(MAX_PROTOCOL_INFO_BYTES);
  let swapVersion = 1;
  if (length > 2) {
    r.struct(1);
    swapVersion = r.uint(0xff);
  }
  return { ...(base && { baseProtocolInfo: base }), ...(rel && { relProtocolInfo: rel }), swapVersion };
}
