import { expect, test } from "vitest";
import { bytesOf, decodeCases, hexOf, messageVectors, swapVectors } from "../../../test/vectors/wire/wireVectors.ts";
import { nobleVerify } from "../crypto/nobleVerifier.ts";
import type { Rational } from "../money/rational.ts";
import type { Result } from "../util/result.ts";
import { isSignedByItsKey, parseEnvelope, signEnvelope } from "./envelope.ts";
import { encodeHealthcheckData, openHealthcheck, signHealthcheck } from "./healthcheck.ts";
import { decode, type MsgpackReader } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import {
  encodeBestOrdersAnswer,
  encodeDepthAnswer,
  encodeOrderbookAnswer,
  encodeSyncAnswer,
  parseBestOrdersAnswer,
  parseDepthAnswer,
  parseOrderbookAnswer,
  parseSyncAnswer,
} from "./orderbookAnswer.ts";
import { encodeOrderMessage, parseOrderMessage } from "./orderMessage.ts";
import { encodePeerRequest, encodePeerResponse, parsePeerRequest, parsePeerResponse } from "./peerRequest.ts";
import {
  encodeGetKnownPeers,
  encodeKnownPeers,
  encodePeerAddresses,
  parseGetKnownPeers,
  parseKnownPeers,
  parsePeerAddresses,
} from "./peersExchange.ts";
import { encodeProtocolInfo, parseProtocolInfo } from "./protocolInfo.ts";
import { encodeP2pRequest, parseP2pRequest } from "./requestMessage.ts";
import { encodeSwapMessage, parseSwapMessage } from "./swapMessage.ts";
import type { ConfSettings, MatchBy, OrderbookItem, OrderMessage, SwapMessage } from "./types.ts";
import { encodeWatcherMessage, parseWatcherMessage } from "./watcherMessage.ts";
import {
  readCompactUuid,
  readConf,
  readOrderbookItem,
  readRational,
  readUuidText,
  writeCompactUuid,
  writeConf,
  writeOrderbookItem,
  writeRational,
} from "./wireShapes.ts";

// --- the values of the vectors, as our types -------------------------------------------------------------------

type Json = { readonly [key: string]: unknown };

const rational = (text: string): Rational => {
  const [n = "", d = "1"] = text.split("/");
  return { n: BigInt(n), d: BigInt(d) };
};
const conf = (v: Json): ConfSettings => ({
  baseConfs: v.base_confs as number,
  baseNota: v.base_nota as boolean,
  relConfs: v.rel_confs as number,
  relNota: v.rel_nota as boolean,
});
const item = (v: Json): OrderbookItem => ({
  pubkey: v.pubkey as string,
  base: v.base as string,
  rel: v.rel as string,
  price: rational(v.price as string),
  maxVolume: rational(v.max_volume as string),
  minVolume: rational(v.min_volume as string),
  uuid: v.uuid as string,
  createdAt: v.created_at as number,
});
const tail = (v: Json) => ({
  ...(v.base_protocol_info !== null && { baseProtocolInfo: bytesOf(v.base_protocol_info as string) }),
  ...(v.rel_protocol_info !== null && { relProtocolInfo: bytesOf(v.rel_protocol_info as string) }),
  swapVersion: v.swap_version as number,
});
const extras = (v: Json) => ({
  protocolInfos: new Map(
    Object.entries(v.protocol_infos as Record<string, Json>).map(([uuid, info]) => [
      uuid,
      { base: bytesOf(info.base as string), rel: bytesOf(info.rel as string) },
    ]),
  ),
  confs: new Map(Object.entries(v.conf_infos as Record<string, Json>).map(([uuid, c]) => [uuid, conf(c)])),
});
const optionalRational = (v: string | null): Rational | null => (v === null ? null : rational(v));
const takerRequest = (v: Json): OrderMessage => ({
  type: "TakerRequest",
  body: {
    base: v.base as string,
    rel: v.rel as string,
    baseAmount: rational(v.base_amount as string),
    relAmount: rational(v.rel_amount as string),
    action: v.action as "Buy" | "Sell",
    uuid: v.uuid as string,
    matchBy: v.match_by as MatchBy,
    conf: conf(v.conf_settings as Json),
    ...tail(v),
  },
});
const reserved = (v: Json): OrderMessage => ({
  type: "MakerReserved",
  body: {
    base: v.base as string,
    rel: v.rel as string,
    baseAmount: rational(v.base_amount as string),
    relAmount: rational(v.rel_amount as string),
    takerOrderUuid: v.taker_order_uuid as string,
    makerOrderUuid: v.maker_order_uuid as string,
    conf: conf(v.conf_settings as Json),
    ...tail(v),
  },
});
const orderPair = (v: Json) => ({ takerOrderUuid: v.taker_order_uuid as string, makerOrderUuid: v.maker_order_uuid as string });
const updated = (v: Json): OrderMessage => ({
  type: "MakerOrderUpdated",
  body: {
    uuid: v.uuid as string,
    newPrice: optionalRational(v.new_price as string | null),
    newMaxVolume: optionalRational(v.new_max_volume as string | null),
    newMinVolume: optionalRational(v.new_min_volume as string | null),
    timestamp: v.timestamp as number,
    pairTrieRoot: bytesOf(v.pair_trie_root as string),
    conf: "conf_settings" in v ? null : undefined,
  },
});
const negotiation = (version: 1 | 2 | 3, v: Json) => {
  const times = { startedAt: v.started_at as number, paymentLocktime: v.payment_locktime as number };
  const secretHash = bytesOf(v.secret_hash as string);
  const hex = (key: string): Uint8Array => bytesOf(v[key] as unknown as string);
  if (version === 1) return { version, ...times, secretHash, persistentPubkey: hex("persistent_pubkey") };
  const contracts = { makerCoinContract: hex("maker_coin_swap_contract"), takerCoinContract: hex("taker_coin_swap_contract") };
  if (version === 2) return { version, ...times, secretHash, persistentPubkey: hex("persistent_pubkey"), ...contracts };
  return {
    version,
    ...times,
    secretHash,
    ...contracts,
    makerCoinHtlcPub: hex("maker_coin_htlc_pub"),
    takerCoinHtlcPub: hex("taker_coin_htlc_pub"),
  };
};
const txData = (v: Json) => ({
  data: bytesOf(v.data as string),
  ...("next_step_instructions" in v && { instructions: bytesOf(v.next_step_instructions as string) }),
});

// --- one codec per vector ---------------------------------------------------------------------------------------

type Case = {
  readonly parse: (b: Uint8Array) => Result<unknown, unknown>;
  readonly encode: (v: never) => Uint8Array;
  readonly value: unknown;
};

const hexByName = new Map(messageVectors.map((v) => [v.name, v.hex]));
const vectorBytes = (name: string): Uint8Array => bytesOf(hexByName.get(name) ?? "");

const shape = <T>(read: (r: MsgpackReader) => T, write: (w: MsgpackWriter, v: T) => void, value: T): Case => ({
  parse: (b) => decode(b, read),
  encode: (v: T) => {
    const w = new MsgpackWriter();
    write(w, v);
    return w.finish();
  },
  value,
});
const order = (value: OrderMessage): Case => ({ parse: parseOrderMessage, encode: encodeOrderMessage, value });
const swap = (value: SwapMessage): Case => ({ parse: parseSwapMessage, encode: encodeSwapMessage, value });
const request = (value: unknown): Case => ({ parse: parseP2pRequest, encode: encodeP2pRequest, value });

/** Bare request bodies and match_by have no codec of their own: they are tried inside the message that carries them. */
const bare = (variant: "04", value: OrderMessage): Case => ({
  parse: (b) => parseOrderMessage(new Uint8Array([0x81, Number(variant), ...b])),
  encode: (m: OrderMessage) => encodeOrderMessage(m).slice(2),
  value,
});
function matchByCase(matchBy: MatchBy): Case {
  const before = encodeOrderMessage(withMatchBy({ type: "Any" }));
  const at = hexOf(before).indexOf("8100c09401") / 2;
  const after = before.slice(at + 3);
  return {
    parse: (b) => parseOrderMessage(new Uint8Array([...before.slice(0, at), ...b, ...after])),
    encode: (m: OrderMessage) => encodeOrderMessage(m).slice(at, -after.length),
    value: withMatchBy(matchBy),
  };
}
function withMatchBy(matchBy: MatchBy): OrderMessage {
  const vector = messageVectors.find((v) => v.name === "taker_request_no_infos");
  const m = takerRequest(vector?.value as unknown as Json);
  return m.type === "TakerRequest" ? { type: m.type, body: { ...m.body, matchBy } } : m;
}

function caseOf(name: string, raw: unknown): Case {
  const v = raw as Json;
  if (name.startsWith("rational_")) {
    return shape(readRational, writeRational, { n: BigInt(v.numer as string), d: BigInt(v.denom as string) });
  }
  if (name.startsWith("match_by_")) return matchByCase(raw as MatchBy);
  if (name.startsWith("signed_")) {
    const payload =
      name === "signed_vec_u8_32_zero" ? new MsgpackWriter().ints(new Uint8Array(32)).finish() : vectorBytes(v.payload as string);
    const secret = bytesOf(v.secret as string);
    return {
      parse: (b) => {
        const parsed = parseEnvelope(b);
        expect(parsed.ok && isSignedByItsKey(parsed.value, nobleVerify)).toBe(true);
        return parsed.ok ? { ok: true, value: parsed.value.payload } : parsed;
      },
      encode: (p: Uint8Array) => signEnvelope(p, secret),
      value: payload,
    };
  }
  switch (name) {
    case "compact_uuid":
      return shape(readCompactUuid, writeCompactUuid, raw as string);
    case "plain_uuid":
      return shape(readUuidText, (w, uuid) => w.str(uuid), raw as string);
    case "conf_settings":
      return shape(readConf, writeConf, conf(v));
    case "orderbook_p2p_item":
      return shape(readOrderbookItem, writeOrderbookItem, item(v));
    case "addr_format_standard":
    case "addr_format_segwit":
      return { parse: parseProtocolInfo, encode: encodeProtocolInfo, value: { format: v.format } };
    case "addr_format_cashaddress":
      return {
        parse: parseProtocolInfo,
        encode: encodeProtocolInfo,
        value: { format: v.format, network: v.network, pubPrefix: v.pub_addr_prefix, p2shPrefix: v.p2sh_addr_prefix },
      };
    case "taker_request_buy_legacy":
    case "taker_request_sell_v2":
    case "taker_request_no_infos":
      return bare("04", takerRequest(v));
    case "msg_taker_request":
      return order(takerRequest(v));
    case "msg_maker_reserved_legacy":
    case "msg_maker_reserved_v2":
      return order(reserved(v));
    case "msg_taker_connect":
      return order({ type: "TakerConnect", body: orderPair(v) });
    case "msg_maker_connected":
      return order({ type: "MakerConnected", body: orderPair(v) });
    case "msg_maker_order_created": {
      const { pubkey: _, ...fields } = item(v);
      const body = {
        ...fields,
        conf: conf(v.conf_settings as Json),
        timestamp: v.timestamp as number,
        pairTrieRoot: bytesOf(v.pair_trie_root as string),
        baseProtocolInfo: bytesOf(v.base_protocol_info as string),
        relProtocolInfo: bytesOf(v.rel_protocol_info as string),
      };
      return order({ type: "MakerOrderCreated", body });
    }
    case "msg_maker_order_updated_v1":
    case "msg_maker_order_updated_v2":
      return order(updated(v));
    case "msg_maker_order_cancelled":
      return order({
        type: "MakerOrderCancelled",
        body: { uuid: v.uuid as string, timestamp: v.timestamp as number, pairTrieRoot: bytesOf(v.pair_trie_root as string) },
      });
    case "msg_pubkey_keep_alive":
      return order({
        type: "PubkeyKeepAlive",
        body: {
          trieRoots: Object.entries(v.trie_roots as Record<string, string>).map(([pair, root]) => [pair, bytesOf(root)] as const),
          timestamp: v.timestamp as number,
        },
      });
    case "swap_negotiation_v1":
      return swap({ type: "Negotiation", data: negotiation(1, v) } as SwapMessage);
    case "swap_negotiation_v2":
      return swap({ type: "Negotiation", data: negotiation(2, v) } as SwapMessage);
    case "swap_negotiation_reply_v3":
      return swap({ type: "NegotiationReply", data: negotiation(3, v) } as SwapMessage);
    case "swap_negotiated_true":
    case "swap_negotiated_false":
      return swap({ type: "Negotiated", accepted: raw as boolean });
    case "swap_taker_fee_regular":
      return swap({ type: "TakerFee", tx: txData(v) });
    case "swap_maker_payment_with_instructions":
      return swap({ type: "MakerPayment", tx: txData(v) });
    case "swap_taker_payment":
      return swap({ type: "TakerPayment", tx: bytesOf(v.data as string) });
    case "swap_watcher_msg":
      return {
        parse: parseWatcherMessage,
        encode: encodeWatcherMessage,
        value: {
          uuid: v.uuid,
          secretHash: bytesOf(v.secret_hash as string),
          makerPaymentSpendPreimage: bytesOf(v.maker_payment_spend_preimage as string),
          takerPaymentRefundPreimage: bytesOf(v.taker_payment_refund_preimage as string),
          swapStartedAt: v.swap_started_at,
          lockDuration: v.lock_duration,
          takerCoin: v.taker_coin,
          takerFeeHash: bytesOf(v.taker_fee_hash as string),
          takerPaymentHash: bytesOf(v.taker_payment_hash as string),
          takerCoinStartBlock: v.taker_coin_start_block,
          takerPaymentConfirmations: v.taker_payment_confirmations,
          takerPaymentRequiresNota: v.taker_payment_requires_nota,
          makerCoin: v.maker_coin,
          makerPub: bytesOf(v.maker_pub as string),
          makerPaymentHash: bytesOf(v.maker_payment_hash as string),
          makerCoinStartBlock: v.maker_coin_start_block,
        },
      };
    case "p2p_request_get_peer_utc_timestamp":
      return request({ type: "GetPeerUtcTimestamp" });
    case "p2p_request_get_mm2_version":
      return request({ type: "GetMm2Version" });
    case "p2p_request_get_orderbook":
      return request({ type: "GetOrderbook", base: v.base, rel: v.rel });
    case "p2p_request_sync_pubkey_orderbook_state":
      return request({
        type: "SyncPubkeyOrderbookState",
        pubkey: v.pubkey,
        trieRoots: Object.entries(v.trie_roots as Record<string, string>).map(([pair, root]) => [pair, bytesOf(root)]),
      });
    case "p2p_request_best_orders":
      return request({ type: "BestOrders", coin: v.coin, action: v.action, volume: rational(v.volume as string) });
    case "p2p_request_best_orders_by_number":
      return request({ type: "BestOrdersByNumber", coin: v.coin, action: v.action, number: v.number });
    case "p2p_request_orderbook_depth":
      return request({ type: "OrderbookDepth", pairs: v.pairs });
    case "peer_request_get_peer_utc_timestamp":
      return { parse: parsePeerRequest, encode: encodePeerRequest, value: vectorBytes(v.req as string) };
    case "peer_response_ok_timestamp":
      return {
        parse: parsePeerResponse,
        encode: encodePeerResponse,
        value: { kind: "ok", data: bytesOf((v.Ok as Json).res as string) },
      };
    case "peer_response_none":
      return { parse: parsePeerResponse, encode: encodePeerResponse, value: { kind: "none" } };
    case "peer_response_err":
      return { parse: parsePeerResponse, encode: encodePeerResponse, value: { kind: "err", message: (v.Err as Json).err } };
    case "get_orderbook_res": {
      const pubkeys = Object.entries(v.pubkey_orders as Record<string, Json>).map(
        ([key, p]) => [key, { lastKeepAlive: p.last_keep_alive, orders: (p.orders as [string, Json][]).map(([, o]) => item(o)) }] as const,
      );
      return { parse: parseOrderbookAnswer, encode: encodeOrderbookAnswer, value: { pubkeys: new Map(pubkeys), ...extras(v) } };
    }
    case "sync_res_full_trie":
    case "sync_res_delta": {
      const pairs = Object.entries(v.pair_orders_diff as Record<string, Json>).map(([pair, diff]): [string, unknown] => {
        if ("FullTrie" in diff) {
          return [pair, { type: "FullTrie", orders: (diff.FullTrie as [string, Json][]).map(([, o]) => item(o)) }];
        }
        const changes = Object.entries(diff.Delta as Record<string, Json | null>).map(([uuid, o]) => [uuid, o && item(o)]);
        return [pair, { type: "Delta", changes }];
      });
      return { parse: parseSyncAnswer, encode: encodeSyncAnswer, value: { pairs: new Map(pairs), ...extras(v) } };
    }
    case "best_orders_res": {
      const orders = Object.entries(v.orders as Record<string, { order: Json }[]>).map(
        ([ticker, list]) => [ticker, list.map((o) => item(o.order))] as const,
      );
      return { parse: parseBestOrdersAnswer, encode: encodeBestOrdersAnswer, value: { orders: new Map(orders), ...extras(v) } };
    }
    case "orderbook_depth_res": {
      const depth = v.depth as [[string, string], { asks: number; bids: number }][];
      return { parse: parseDepthAnswer, encode: encodeDepthAnswer, value: depth.map(([[base, rel], d]) => ({ base, rel, ...d })) };
    }
    case "peers_exchange_get_known_peers":
      return { parse: parseGetKnownPeers, encode: encodeGetKnownPeers, value: 20 };
    case "peers_exchange_known_peers":
      return {
        parse: parseKnownPeers,
        encode: encodeKnownPeers,
        value: [
          {
            // The multihash of the peer id text in the vector: identity hash of the protobuf of the ed25519 key below.
            peerId: bytesOf("0024080112208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"),
            addresses: ["/ip4/8.8.8.8/tcp/42845"],
          },
        ],
      };
    case "peer_addresses":
      return { parse: parsePeerAddresses, encode: encodePeerAddresses, value: raw };
    default:
      throw new Error(`no codec for the vector ${name}`);
  }
}

const HEALTHCHECK = new Set(["healthcheck_data", "healthcheck_message"]);

for (const vector of messageVectors.filter((v) => !HEALTHCHECK.has(v.name))) {
  test(`${vector.name}: bytes and value turn into each other`, () => {
    const { parse, encode, value } = caseOf(vector.name, vector.value);
    expect(parse(bytesOf(vector.hex))).toEqual({ ok: true, value });
    expect(hexOf(encode(value as never))).toBe(vector.hex);
  });
}

test("a health check is signed and read as in the vectors", () => {
  const data = messageVectors.find((v) => v.name === "healthcheck_data")?.value as unknown as Json;
  const seed = bytesOf(data.ed25519_seed as string);
  const expiresAt = data.expires_at_secs as number;
  const message = signHealthcheck(seed, expiresAt, false);
  expect(hexOf(message)).toBe(hexByName.get("healthcheck_message"));
  const opened = openHealthcheck(message, expiresAt - 10);
  expect(opened).toEqual({
    ok: true,
    value: { senderKey: bytesOf((data.sender_public_key as string).slice(8)), expiresAt, isReply: false },
  });
  if (opened.ok) expect(hexOf(encodeHealthcheckData(opened.value))).toBe(hexByName.get("healthcheck_data"));
});

test("a health check that is expired, lives too long or was altered is refused", () => {
  const message = vectorBytes("healthcheck_message");
  expect(openHealthcheck(message, 1700000010)).toEqual({ ok: false, error: { kind: "Expired" } });
  expect(openHealthcheck(message, 1699999999)).toEqual({ ok: false, error: { kind: "TooLongLived" } });
  message[message.length - 1] = 0xc3;
  expect(openHealthcheck(message, 1700000005)).toEqual({ ok: false, error: { kind: "BadSignature" } });
});

for (const c of decodeCases) {
  test(`${c.name} is ${c.accepted ? "accepted" : "refused"}, as KDF does`, () => {
    const parse = c.type.startsWith("SwapMsg") ? parseSwapMessage : parseOrderMessage;
    expect(parse(bytesOf(c.hex)).ok).toBe(c.accepted);
  });
}

test("an accepted deviation is read as what it means", () => {
  const body = (name: string) => {
    const parsed = parseOrderMessage(bytesOf(decodeCases.find((c) => c.name === name)?.hex ?? ""));
    return parsed.ok ? parsed.value.body : undefined;
  };
  const plain = parseOrderMessage(vectorBytes("msg_taker_request"));
  const plainBody = plain.ok ? plain.value.body : undefined;
  for (const name of ["decode_tr_ver1_explicit", "decode_tr_extra_tail", "decode_tr_trailing_bytes"]) expect(body(name)).toEqual(plainBody);
  expect(body("decode_tr_nil_infos")).not.toHaveProperty("baseProtocolInfo");
  expect(body("decode_tr_unreduced")).toHaveProperty("baseAmount", { n: 10n, d: 4n });
  expect(body("decode_created_10")).toHaveProperty("relProtocolInfo", new Uint8Array());
  expect(body("decode_byname")).toHaveProperty("makerOrderUuid", "a1b2c3d4-e5f6-4a5b-8c7d-9e0f1a2b3c4d");
});

test("the swap messages of the swap reference are written to the same bytes", () => {
  for (const [name, hex] of Object.entries(swapVectors)) {
    if (name.startsWith("signed_")) {
      const envelope = parseEnvelope(bytesOf(hex));
      if (!envelope.ok) throw new Error(name);
      expect(isSignedByItsKey(envelope.value, nobleVerify)).toBe(true);
      const secret = new Uint8Array(32).fill(name.endsWith("_taker") ? 2 : 1);
      expect(hexOf(signEnvelope(envelope.value.payload, secret))).toBe(hex);
    } else if (name === "watcher_message") {
      const parsed = parseWatcherMessage(bytesOf(hex));
      expect(parsed.ok && hexOf(encodeWatcherMessage(parsed.value))).toBe(hex);
    } else {
      const parsed = parseSwapMessage(bytesOf(hex));
      expect(parsed.ok && hexOf(encodeSwapMessage(parsed.value))).toBe(hex);
    }
  }
});

test("longer forms of numbers and lengths than needed are read", () => {
  // {Negotiated: true} with a u32 index; an array16 head and `cc` before small integers
  expect(parseSwapMessage(bytesOf("81ce00000002c3"))).toEqual({ ok: true, value: { type: "Negotiated", accepted: true } });
  expect(parseSwapMessage(bytesOf("8105dc0002cc01cc02"))).toEqual({ ok: true, value: { type: "TakerPayment", tx: bytesOf("0102") } });
  expect(parseSwapMessage(bytesOf("81aa4e65676f746961746564c3"))).toEqual({ ok: true, value: { type: "Negotiated", accepted: true } });
});

test("keys inside negotiation data may come as bin", () => {
  const asInts = bytesOf(swapVectors.negotiation_v2 ?? "");
  const parsed = parseSwapMessage(asInts);
  if (!parsed.ok || parsed.value.type !== "Negotiation" || parsed.value.data.version !== 2) throw new Error("not V2");
  const key = new MsgpackWriter().ints(parsed.value.data.persistentPubkey).finish();
  const bin = new MsgpackWriter().bin(parsed.value.data.persistentPubkey).finish();
  expect(parseSwapMessage(bytesOf(hexOf(asInts).replace(hexOf(key), hexOf(bin))))).toEqual(parsed);
});
