import type { Rational } from "../money/rational.ts";
import { assertNever, type Result } from "../util/result.ts";
import { type BadMessage, decode, type MsgpackReader, refuse } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import { MAX_PAIR_BYTES, readPubkeyHex, readRational, readTicker, writeRational } from "./wireShapes.ts";

export type BestOrdersAction = "buy" | "sell";

/** `P2PRequest`: what one node asks another directly (reference p2p-wire.md 5.2). */
export type P2pRequest =
  | { readonly type: "GetOrderbook"; readonly base: string; readonly rel: string }
  | {
      readonly type: "SyncPubkeyOrderbookState";
      /** compressed key, 66 hex */
      readonly pubkey: string;
      readonly trieRoots: readonly (readonly [pair: string, root: Uint8Array])[];
    }
  /** `volume` in whole units of `coin`. */
  | { readonly type: "BestOrders"; readonly coin: string; readonly action: BestOrdersAction; readonly volume: Rational }
  | { readonly type: "OrderbookDepth"; readonly pairs: readonly (readonly [base: string, rel: string])[] }
  | { readonly type: "BestOrdersByNumber"; readonly coin: string; readonly action: BestOrdersAction; readonly number: number }
  | { readonly type: "GetMm2Version" }
  | { readonly type: "GetPeerUtcTimestamp" };

const GROUPS = ["Ordermatch", "NetworkInfo"] as const;
const ORDERMATCH = ["GetOrderbook", "SyncPubkeyOrderbookState", "BestOrders", "OrderbookDepth", "BestOrdersByNumber"] as const;
const NETWORK_INFO = ["GetMm2Version", "GetPeerUtcTimestamp"] as const;
const ACTIONS = ["buy", "sell"] as const;
/** Pairs in one sync or depth request. */
const MAX_PAIRS = 1000;

/** Bytes for `P2p.request` and for the `req` of a peer request. */
export function encodeP2pRequest(request: P2pRequest): Uint8Array {
  const w = new MsgpackWriter();
  if (request.type === "GetMm2Version" || request.type === "GetPeerUtcTimestamp") {
    return w.variant(1).unitVariant(NETWORK_INFO.indexOf(request.type)).finish();
  }
  w.variant(0).variant(ORDERMATCH.indexOf(request.type));
  switch (request.type) {
    case "GetOrderbook":
      w.array(2).str(request.base).str(request.rel);
      break;
    case "SyncPubkeyOrderbookState":
      w.array(2).str(request.pubkey).map(request.trieRoots.length);
      for (const [pair, root] of request.trieRoots) w.str(pair).ints(root);
      break;
    case "BestOrders":
      w.array(3).str(request.coin).unitVariant(ACTIONS.indexOf(request.action));
      writeRational(w, request.volume);
      break;
    case "OrderbookDepth":
      w.array(1).array(request.pairs.length);
      for (const [base, rel] of request.pairs) w.array(2).str(base).str(rel);
      break;
    case "BestOrdersByNumber":
      w.array(3).str(request.coin).unitVariant(ACTIONS.indexOf(request.action)).uint(request.number);
      break;
    default:
      assertNever(request);
  }
  return w.finish();
}

export function parseP2pRequest(bytes: Uint8Array): Result<P2pRequest, BadMessage> {
  return decode(bytes, (r): P2pRequest => {
    if (GROUPS[r.variant(GROUPS)] === "Ordermatch") return readOrdermatch(r);
    return { type: NETWORK_INFO[r.unitVariant(NETWORK_INFO)] ?? refuse("unknown request") };
  });
}

function readOrdermatch(r: MsgpackReader): P2pRequest {
  const type = ORDERMATCH[r.variant(ORDERMATCH)];
  switch (type) {
    case "GetOrderbook":
      r.body(2);
      return { type, base: readTicker(r), rel: readTicker(r) };
    case "SyncPubkeyOrderbookState":
      r.body(2);
      return { type, pubkey: readPubkeyHex(r), trieRoots: readTrieRoots(r) };
    case "BestOrders":
      r.body(3);
      return { type, coin: readTicker(r), action: readAction(r), volume: readRational(r) };
    case "OrderbookDepth":
      r.body(1);
      return { type, pairs: Array.from({ length: r.array(MAX_PAIRS) }, () => readTickerPair(r)) };
    case "BestOrdersByNumber":
      r.body(3);
      return { type, coin: readTicker(r), action: readAction(r), number: r.uint() };
    case undefined:
      return refuse("unknown request");
    default:
      return assertNever(type);
  }
}

function readTrieRoots(r: MsgpackReader): [string, Uint8Array][] {
  return Array.from({ length: r.map(MAX_PAIRS) }, () => [r.str(MAX_PAIR_BYTES), r.intsOf(8)]);
}

function readAction(r: MsgpackReader): BestOrdersAction {
  return ACTIONS[r.unitVariant(ACTIONS)] ?? refuse("unknown action");
}

function readTickerPair(r: MsgpackReader): [string, string] {
  r.struct(2);
  return [readTicker(r), readTicker(r)];
}
