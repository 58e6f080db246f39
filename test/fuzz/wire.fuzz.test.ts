import { expect, test } from "vitest";
import { parseEnvelope } from "../../src/core/message/envelope.ts";
import { openHealthcheck, signHealthcheck } from "../../src/core/message/healthcheck.ts";
import { MAX_MESSAGE_BYTES } from "../../src/core/message/msgpackReader.ts";
import { MsgpackWriter } from "../../src/core/message/msgpackWriter.ts";
import {
  encodeBestOrdersAnswer,
  encodeDepthAnswer,
  encodeOrderbookAnswer,
  encodeSyncAnswer,
  encodeTimestampAnswer,
  encodeVersionAnswer,
  parseBestOrdersAnswer,
  parseDepthAnswer,
  parseOrderbookAnswer,
  parseSyncAnswer,
  parseTimestampAnswer,
  parseVersionAnswer,
} from "../../src/core/message/orderbookAnswer.ts";
import { encodeOrderMessage, parseOrderMessage } from "../../src/core/message/orderMessage.ts";
import { encodePeerRequest, encodePeerResponse, parsePeerRequest, parsePeerResponse } from "../../src/core/message/peerRequest.ts";
import {
  encodeGetKnownPeers,
  encodeKnownPeers,
  encodePeerAddresses,
  parseGetKnownPeers,
  parseKnownPeers,
  parsePeerAddresses,
} from "../../src/core/message/peersExchange.ts";
import { encodeProtocolInfo, parseProtocolInfo } from "../../src/core/message/protocolInfo.ts";
import { encodeP2pRequest, parseP2pRequest } from "../../src/core/message/requestMessage.ts";
import { encodeSwapMessage, parseSwapMessage } from "../../src/core/message/swapMessage.ts";
import { encodeWatcherMessage, parseWatcherMessage } from "../../src/core/message/watcherMessage.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { Result } from "../../src/core/util/result.ts";
import { bytesOf, captures, decodeCases, messageVectors, swapCaptures } from "../vectors/wire/wireVectors.ts";
import { type Pick, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

/** Values a result may hold per byte of input, and what an empty one may hold: nothing amplifies. */
const VALUES_PER_BYTE = 2;
const VALUES_OF_SHAPE = 64;

/** Bytes that are heads of containers, strings and numbers, with and without a length to follow. */
const MARKERS = [
  0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xbf, 0xc0, 0xc3, 0xc4, 0xc6, 0xcc, 0xcf, 0xd3, 0xd9, 0xdb, 0xdc, 0xdd, 0xdf, 0xff,
];

function mutate(pick: Pick, golden: readonly Uint8Array[]): Uint8Array {
  let bytes = Array.from(golden[pick(golden.length)] ?? []);
  for (let steps = 1 + pick(4); steps > 0; steps--) {
    const at = pick(bytes.length + 1);
    switch (pick(8)) {
      case 0:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
        break;
      case 1:
        bytes[at] = pick(256);
        break;
      case 2:
        bytes[at] = MARKERS[pick(MARKERS.length)] ?? 0;
        break;
      case 3:
        bytes.splice(at, 0, MARKERS[pick(MARKERS.length)] ?? 0, pick(256), pick(256));
        break;
      case 4:
        bytes.splice(at, 1 + pick(8));
        break;
      case 5:
        bytes = bytes.slice(0, at);
        break;
      case 6:
        bytes.splice(at, 0, ...bytes.slice(at, at + pick(64)));
        break;
      default: {
        const other = golden[pick(golden.length)] ?? new Uint8Array();
        bytes = [...bytes.slice(0, at), ...other.slice(pick(other.length + 1))];
      }
    }
  }
  return Uint8Array.from(bytes);
}

/** How much a decoded value holds: bytes, characters, 32-bit limbs, entries. */
function weight(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  if (typeof value === "string") return value.length;
  if (typeof value === "bigint") return 1 + value.toString(16).length / 8;
  if (value instanceof Map) return 1 + [...value].reduce((sum, [k, v]) => sum + weight(k) + weight(v), 0);
  if (Array.isArray(value)) return 1 + value.reduce((sum: number, v) => sum + weight(v), 0);
  if (typeof value === "object" && value !== null) return 1 + Object.values(value).reduce((sum: number, v) => sum + weight(v), 0);
  return 1;
}

type Decoder = {
  readonly parse: (bytes: Uint8Array) => Result<unknown, { readonly kind: string }>;
  readonly encode: (value: never) => Uint8Array;
  readonly golden: readonly Uint8Array[];
};

const named = (...prefixes: readonly string[]): Uint8Array[] =>
  messageVectors.filter((v) => prefixes.some((p) => v.name.startsWith(p))).map((v) => bytesOf(v.hex));
const cases = (type: string): Uint8Array[] => decodeCases.filter((c) => c.type.startsWith(type)).map((c) => bytesOf(c.hex));
const payloads = captures.gossip.flatMap(({ data }) => {
  const parsed = parseEnvelope(bytesOf(data));
  return parsed.ok ? [parsed.value.payload] : [];
});
const inner = captures.requests.flatMap(({ request }) => {
  const parsed = parsePeerRequest(bytesOf(request));
  return parsed.ok ? [parsed.value] : [];
});
const answers = captures.requests.flatMap(({ answer }) => {
  const parsed = answer === null ? undefined : parsePeerResponse(bytesOf(answer));
  return parsed?.ok && parsed.value.kind === "ok" ? [parsed.value.data] : [];
});
const swapPayloads = swapCaptures.flatMap((s) => s.messages.map((m) => bytesOf(m.payload)));

const decoders: { readonly [name: string]: Decoder } = {
  orderMessage: { parse: parseOrderMessage, encode: encodeOrderMessage, golden: [...named("msg_"), ...cases("Ordermatch"), ...payloads] },
  swapMessage: {
    parse: parseSwapMessage,
    encode: encodeSwapMessage,
    golden: [...named("swap_n", "swap_t", "swap_m"), ...cases("SwapMsg"), ...swapPayloads],
  },
  watcherMessage: {
    parse: parseWatcherMessage,
    encode: encodeWatcherMessage,
    golden: [...named("swap_watcher"), ...swapPayloads.filter((p) => parseWatcherMessage(p).ok)],
  },
  envelope: {
    parse: parseEnvelope,
    encode: (e: { publicKey: Uint8Array; signature: Uint8Array; payload: Uint8Array }) =>
      new MsgpackWriter().array(3).variant(0).bin(e.publicKey).bin(e.signature).bin(e.payload).finish(),
    golden: [...named("signed_"), ...captures.gossip.map((g) => bytesOf(g.data))],
  },
  p2pRequest: { parse: parseP2pRequest, encode: encodeP2pRequest, golden: [...named("p2p_request_"), ...inner] },
  peerRequest: {
    parse: parsePeerRequest,
    encode: encodePeerRequest,
    golden: [...named("peer_request_"), ...captures.requests.map((r) => bytesOf(r.request))],
  },
  peerResponse: {
    parse: parsePeerResponse,
    encode: encodePeerResponse,
    golden: [...named("peer_response_"), ...captures.requests.map((r) => bytesOf(r.answer ?? "8101c0"))],
  },
  orderbookAnswer: { parse: parseOrderbookAnswer, encode: encodeOrderbookAnswer, golden: [...named("get_orderbook_res"), ...answers] },
  syncAnswer: { parse: parseSyncAnswer, encode: encodeSyncAnswer, golden: [...named("sync_res_"), ...answers] },
  bestOrdersAnswer: { parse: parseBestOrdersAnswer, encode: encodeBestOrdersAnswer, golden: [...named("best_orders_res"), ...answers] },
  depthAnswer: { parse: parseDepthAnswer, encode: encodeDepthAnswer, golden: [...named("orderbook_depth_res"), ...answers] },
  versionAnswer: { parse: parseVersionAnswer, encode: encodeVersionAnswer, golden: answers },
  timestampAnswer: { parse: parseTimestampAnswer, encode: encodeTimestampAnswer, golden: answers },
  getKnownPeers: { parse: parseGetKnownPeers, encode: encodeGetKnownPeers, golden: named("peers_exchange_get") },
  knownPeers: { parse: parseKnownPeers, encode: encodeKnownPeers, golden: named("peers_exchange_known") },
  peerAddresses: { parse: parsePeerAddresses, encode: encodePeerAddresses, golden: named("peer_addresses") },
  protocolInfo: { parse: parseProtocolInfo, encode: encodeProtocolInfo, golden: named("addr_format_") },
};

for (const [name, { parse, encode, golden }] of Object.entries(decoders)) {
  test(`${name}: ${RUNS} damaged inputs (seed ${SEED}) neither throw nor amplify, and what is accepted can be written and read again`, {
    timeout: 600_000,
  }, () => {
    const pick = source(SEED);
    const memory = watchMemory();
    const start = performance.now();
    let accepted = 0;
    for (let run = 0; run < RUNS; run++) {
      memory.tick();
      const bytes = mutate(pick, golden);
      const at = (): string => `${name} seed ${SEED} run ${run}: ${toHex(bytes)}`;
      let parsed: ReturnType<typeof parse>;
      try {
        parsed = parse(bytes);
      } catch (cause) {
        throw new Error(`threw at ${at()}`, { cause });
      }
      if (!parsed.ok) {
        if (parsed.error.kind !== "BadMessage") throw new Error(`${parsed.error.kind} at ${at()}`);
        continue;
      }
      accepted++;
      if (weight(parsed.value) > bytes.length * VALUES_PER_BYTE + VALUES_OF_SHAPE) throw new Error(`amplified at ${at()}`);
      const written = encode(parsed.value as never);
      const again = parse(written);
      if (!again.ok || toHex(encode(again.value as never)) !== toHex(written)) throw new Error(`not stable at ${at()}`);
    }
    memory.check();
    const perSecond = Math.round((RUNS / (performance.now() - start)) * 1000);
    process.stdout.write(`${name}: seed ${SEED}, ${RUNS} inputs, ${accepted} accepted, ${perSecond} per second\n`);
    expect(golden.filter((bytes) => parse(bytes).ok).length).toBeGreaterThan(0);
  });
}

test(`healthcheck: ${RUNS} damaged inputs (seed ${SEED}) are refused as data`, { timeout: 600_000 }, () => {
  const pick = source(SEED);
  const memory = watchMemory();
  const golden = [signHealthcheck(new Uint8Array(32).fill(1), 1_700_000_010, false), ...named("healthcheck_message")];
  for (let run = 0; run < RUNS; run++) {
    memory.tick();
    const bytes = mutate(pick, golden);
    const opened = openHealthcheck(bytes, 1_700_000_005);
    if (opened.ok && weight(opened.value) > 64) throw new Error(`amplified at run ${run}: ${toHex(bytes)}`);
  }
  memory.check();
});

const head = (marker: number, length: number): number[] => [
  marker,
  length >>> 24,
  (length >>> 16) & 0xff,
  (length >>> 8) & 0xff,
  length & 0xff,
];
const padded = (start: readonly number[], fill: number): Uint8Array => {
  const bytes = new Uint8Array(MAX_MESSAGE_BYTES).fill(fill);
  bytes.set(start);
  return bytes;
};

test("the largest hostile inputs are answered quickly by every decoder", { timeout: 600_000 }, () => {
  const hostile = [
    padded([0x91], 0x91), // arrays a million deep
    padded([], 0x81), // maps a million deep
    padded(head(0xdd, MAX_MESSAGE_BYTES - 5), 0xc0), // a million nils
    padded([0x93, ...head(0xdf, 500_000)], 0xa0), // half a million empty keys
    padded([0x81, 0x00, 0x91, ...head(0xdd, MAX_MESSAGE_BYTES - 8)], 0x7f), // a million small integers
    padded(head(0xdd, 0xffff_ffff), 0x00),
    padded([0xdb, 0xff, 0xff, 0xff, 0xff], 0x61),
    new Uint8Array(MAX_MESSAGE_BYTES + 1).fill(0x90),
  ];
  for (const [name, { parse }] of Object.entries(decoders)) {
    for (const [i, bytes] of hostile.entries()) {
      const start = performance.now();
      parse(bytes);
      const tookMs = performance.now() - start;
      if (tookMs > 500) throw new Error(`${name} took ${tookMs} ms for hostile input ${i}`);
    }
  }
});
