import type { Result } from "../util/result.ts";
import { type BadMessage, decode, MAX_MESSAGE_BYTES, type MsgpackReader, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import type { ConfSettings, OrderbookItem } from "./types.ts";
import {
  MAX_PAIR_BYTES,
  MAX_PROTOCOL_INFO_BYTES,
  readConf,
  readOrderbookItem,
  readPubkeyHex,
  readTicker,
  readUuidText,
  writeConf,
  writeOrderbookItem,
} from "./wireShapes.ts";

/** Answers of the order-book requests (reference p2p-wire.md 5.3). Nothing in them is signed. */

export type ProtocolInfoPair = { readonly base: Uint8Array; readonly rel: Uint8Array };

/** Per order uuid, what an item itself does not carry. Both maps are missing in answers of old nodes. */
export type OrderExtras = {
  readonly protocolInfos: ReadonlyMap<string, ProtocolInfoPair>;
  readonly confs: ReadonlyMap<string, ConfSettings>;
};

export type PubkeyOrders = {
  /** unix seconds, by the answering node's clock */
  readonly lastKeepAlive: number;
  readonly orders: readonly OrderbookItem[];
};

export type OrderbookAnswer = OrderExtras & { readonly pubkeys: ReadonlyMap<string, PubkeyOrders> };

/** `null` = the order is gone. */
export type PairDiff =
  | { readonly type: "Delta"; readonly changes: readonly (readonly [uuid: string, item: OrderbookItem | null])[] }
  | { readonly type: "FullTrie"; readonly orders: readonly OrderbookItem[] };

export type SyncAnswer = OrderExtras & { readonly pairs: ReadonlyMap<string, PairDiff> };

/** Keyed by the other coin: rel for `buy`, base for `sell`. */
export type BestOrdersAnswer = OrderExtras & { readonly orders: ReadonlyMap<string, readonly OrderbookItem[]> };

export type PairDepth = { readonly base: string; readonly rel: string; readonly asks: number; readonly bids: number };

const DIFFS = ["Delta", "FullTrie"] as const;
/** Entries of any one list or map in an answer. KDF answers with at most 1000 orders of a pair. */
const MAX_ENTRIES = 10_000;
/** Orders a reader leaves out before it gives up on the answer: each is beyond our limits though KDF takes it. */
const MAX_UNREADABLE = 1000;

export function encodeOrderbookAnswer(answer: OrderbookAnswer): Uint8Array {
  const w = new MsgpackWriter();
  w.array(3).map(answer.pubkeys.size);
  for (const [pubkey, { lastKeepAlive, orders }] of answer.pubkeys) {
    w.str(pubkey).array(3).uint(lastKeepAlive).array(0);
    writeUuidItems(w, orders);
  }
  writeExtras(w, answer);
  return w.finish();
}

export function parseOrderbookAnswer(bytes: Uint8Array): Result<OrderbookAnswer, BadMessage> {
  return decode(bytes, (r): OrderbookAnswer => {
    const length = r.body(1);
    const unreadable = new Allowance();
    const pubkeys = readMap(r, readPubkeyHex, (): PubkeyOrders => {
      r.struct(3);
      const lastKeepAlive = r.uint();
      r.ints(MAX_MESSAGE_BYTES);
      return { lastKeepAlive, orders: readUuidItems(r, unreadable) };
    });
    return { pubkeys, ...readExtras(r, length - 1, unreadable) };
  });
}

export function encodeSyncAnswer(answer: SyncAnswer): Uint8Array {
  const w = new MsgpackWriter();
  w.array(4).array(0).map(answer.pairs.size);
  for (const [pair, diff] of answer.pairs) {
    w.str(pair).variant(DIFFS.indexOf(diff.type));
    if (diff.type === "FullTrie") {
      writeUuidItems(w, diff.orders);
      continue;
    }
    w.map(diff.changes.length);
    for (const [uuid, item] of diff.changes) {
      w.str(uuid);
      if (item) writeOrderbookItem(w, item);
      else w.nil();
    }
  }
  writeExtras(w, answer);
  return w.finish();
}

export function parseSyncAnswer(bytes: Uint8Array): Result<SyncAnswer, BadMessage> {
  return decode(bytes, (r): SyncAnswer => {
    const length = r.body(2);
    const unreadable = new Allowance();
    r.ints(MAX_MESSAGE_BYTES);
    const readPair = (): string => r.str(MAX_PAIR_BYTES);
    const pairs = readMap(r, readPair, (): PairDiff => {
      if (DIFFS[r.variant(DIFFS)] === "FullTrie") return { type: "FullTrie", orders: readUuidItems(r, unreadable) };
      const changes: [string, OrderbookItem | null][] = [];
      for (let left = r.map(MAX_ENTRIES); left > 0; left--) {
        const uuid = readUuidText(r);
        if (r.nil()) changes.push([uuid, null]);
        else {
          const item = r.orSkip(readOrderbookItem);
          if (item?.uuid === uuid) changes.push([uuid, item]);
          else unreadable.spend();
        }
      }
      return { type: "Delta", changes };
    });
    return { pairs, ...readExtras(r, length - 2, unreadable) };
  });
}

export function encodeBestOrdersAnswer(answer: BestOrdersAnswer): Uint8Array {
  const w = new MsgpackWriter();
  w.array(3).map(answer.orders.size);
  for (const [ticker, items] of answer.orders) {
    w.str(ticker).array(items.length);
    for (const item of items) {
      w.array(3);
      writeOrderbookItem(w, item);
      w.array(0).array(0);
    }
  }
  writeExtras(w, answer);
  return w.finish();
}

export function parseBestOrdersAnswer(bytes: Uint8Array): Result<BestOrdersAnswer, BadMessage> {
  return decode(bytes, (r): BestOrdersAnswer => {
    const length = r.body(1);
    const unreadable = new Allowance();
    const orders = readMap(r, readTicker, () =>
      readItems(r, unreadable, () => {
        r.struct(3);
        const item = readOrderbookItem(r);
        r.skip();
        r.skip();
        return item;
      }),
    );
    return { orders, ...readExtras(r, length - 1, unreadable) };
  });
}

export function encodeDepthAnswer(depths: readonly PairDepth[]): Uint8Array {
  const w = new MsgpackWriter();
  w.array(1).map(depths.length);
  for (const d of depths) w.array(2).str(d.base).str(d.rel).array(2).uint(d.asks).uint(d.bids);
  return w.finish();
}

export function parseDepthAnswer(bytes: Uint8Array): Result<readonly PairDepth[], BadMessage> {
  return decode(bytes, (r): readonly PairDepth[] => {
    r.body(1);
    return Array.from({ length: r.map(MAX_ENTRIES) }, () => {
      r.struct(2);
      const base = readTicker(r);
      const rel = readTicker(r);
      r.struct(2);
      return { base, rel, asks: r.uint(), bids: r.uint() };
    });
  });
}

/** Answer of GetMm2Version. */
export const encodeVersionAnswer = (version: string): Uint8Array => new MsgpackWriter().str(version).finish();
export const parseVersionAnswer = (bytes: Uint8Array): Result<string, BadMessage> => decode(bytes, (r) => r.str(256));

/** Answer of GetPeerUtcTimestamp, unix seconds. */
export const encodeTimestampAnswer = (unixSec: number): Uint8Array => new MsgpackWriter().uint(unixSec).finish();
export const parseTimestampAnswer = (bytes: Uint8Array): Result<number, BadMessage> => decode(bytes, (r) => r.uint());

/** Counts down the entries a reader may leave out. */
class Allowance {
  #left = MAX_UNREADABLE;
  spend(): void {
    if (this.#left-- <= 0) refuse("too many unreadable orders");
  }
}

function writeUuidItems(w: MsgpackWriter, items: readonly OrderbookItem[]): void {
  w.array(items.length);
  for (const item of items) {
    w.array(2).str(item.uuid);
    writeOrderbookItem(w, item);
  }
}

function readUuidItems(r: MsgpackReader, unreadable: Allowance): OrderbookItem[] {
  return readItems(r, unreadable, () => {
    r.struct(2);
    const uuid = readUuidText(r);
    const item = readOrderbookItem(r);
    return item.uuid === uuid ? item : refuse("uuid and order differ");
  });
}

function readItems(r: MsgpackReader, unreadable: Allowance, read: () => OrderbookItem): OrderbookItem[] {
  const items: OrderbookItem[] = [];
  for (let left = r.array(MAX_ENTRIES); left > 0; left--) {
    const item = r.orSkip(read);
    if (item) items.push(item);
    else unreadable.spend();
  }
  return items;
}

function writeExtras(w: MsgpackWriter, extras: OrderExtras): void {
  w.map(extras.protocolInfos.size);
  for (const [uuid, info] of extras.protocolInfos) w.str(uuid).array(2).ints(info.base).ints(info.rel);
  w.map(extras.confs.size);
  for (const [uuid, conf] of extras.confs) {
    w.str(uuid);
    writeConf(w, conf);
  }
}

function readExtras(r: MsgpackReader, elementsLeft: number, unreadable: Allowance): OrderExtras {
  const readInfo = (): ProtocolInfoPair => {
    r.struct(2);
    return { base: r.ints(MAX_PROTOCOL_INFO_BYTES), rel: r.ints(MAX_PROTOCOL_INFO_BYTES) };
  };
  return {
    protocolInfos: elementsLeft < 1 ? new Map() : readExtraMap(r, readInfo, unreadable),
    confs: elementsLeft < 2 ? new Map() : readExtraMap(r, readConf, unreadable),
  };
}

function readExtraMap<V>(r: MsgpackReader, read: (r: MsgpackReader) => V, unreadable: Allowance): Map<string, V> {
  const map = new Map<string, V>();
  for (let left = r.map(MAX_ENTRIES); left > 0; left--) {
    const uuid = readUuidText(r);
    const value = r.orSkip(read);
    if (value === undefined) unreadable.spend();
    else map.set(uuid, value);
  }
  return map;
}

function readMap<V>(r: MsgpackReader, readKey: (r: MsgpackReader) => string, readValue: (r: MsgpackReader) => V): Map<string, V> {
  const map = new Map<string, V>();
  for (let left = r.map(MAX_ENTRIES); left > 0; left--) {
    const key = readKey(r);
    map.set(key, readValue(r));
  }
  return map;
}
