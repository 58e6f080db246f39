import { expect, test } from "vitest";
import { bytesOf, captures, hexOf, swapCaptures } from "../../../test/vectors/wire/wireVectors.ts";
import { nobleVerify } from "../crypto/nobleVerifier.ts";
import type { Result } from "../util/result.ts";
import { isSignedByItsKey, parseEnvelope } from "./envelope.ts";
import { decode, MAX_MESSAGE_BYTES } from "./msgpackReader.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
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
} from "./orderbookAnswer.ts";
import { encodeOrderMessage, parseOrderMessage } from "./orderMessage.ts";
import { encodePeerRequest, encodePeerResponse, parsePeerRequest, parsePeerResponse } from "./peerRequest.ts";
import { encodeGetKnownPeers, encodeKnownPeers, parseGetKnownPeers, parseKnownPeers } from "./peersExchange.ts";
import { encodeP2pRequest, type P2pRequest, parseP2pRequest } from "./requestMessage.ts";
import { encodeSwapMessage, parseSwapMessage } from "./swapMessage.ts";
import { encodeWatcherMessage, parseWatcherMessage } from "./watcherMessage.ts";

function unwrap<T>(parsed: Result<T, unknown>): T {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

/** Reads a payload by what the recording calls it and returns the type read and the bytes written again. */
function rewrite(type: string, payload: Uint8Array): { readonly type: string; readonly bytes: Uint8Array } {
  if (type === "SwapWatcherMsg") return { type, bytes: encodeWatcherMessage(unwrap(parseWatcherMessage(payload))) };
  if (type === "tx helper") {
    const tx = unwrap(decode(payload, (r) => r.ints(MAX_MESSAGE_BYTES)));
    return { type, bytes: new MsgpackWriter().ints(tx).finish() };
  }
  const order = parseOrderMessage(payload);
  if (order.ok && order.value.type === type) return { type, bytes: encodeOrderMessage(order.value) };
  const swap = unwrap(parseSwapMessage(payload));
  return { type: swap.type, bytes: encodeSwapMessage(swap) };
}

captures.gossip.forEach((message, i) => {
  test(`recorded gossip ${i}, ${message.type}: verifies, decodes and is written to the same bytes`, () => {
    const envelope = unwrap(parseEnvelope(bytesOf(message.data)));
    expect(hexOf(envelope.publicKey)).toBe(message.pubkey);
    expect(isSignedByItsKey(envelope, nobleVerify)).toBe(true);
    const written = rewrite(message.type, envelope.payload);
    expect(written.type).toBe(message.type);
    expect(hexOf(written.bytes)).toBe(hexOf(envelope.payload));
    const { publicKey, signature, payload } = envelope;
    const again = new MsgpackWriter().array(3).variant(0).bin(publicKey).bin(signature).bin(payload).finish();
    expect(hexOf(again)).toBe(message.data);
    signature[40] = (signature[40] ?? 0) ^ 1;
    expect(isSignedByItsKey(envelope, nobleVerify)).toBe(false);
  });
});

for (const swap of swapCaptures) {
  test(`every message of the recorded swap ${swap.uuid} is written to the same bytes`, () => {
    for (const { type, payload } of swap.messages) {
      const written = rewrite(type, bytesOf(payload));
      expect(written.type).toBe(type);
      expect(hexOf(written.bytes)).toBe(payload);
    }
  });
}

/** Reads an answer to `request` and writes it again. */
function rewriteAnswer(type: P2pRequest["type"], data: Uint8Array): Uint8Array {
  switch (type) {
    case "GetOrderbook":
      return encodeOrderbookAnswer(unwrap(parseOrderbookAnswer(data)));
    case "SyncPubkeyOrderbookState":
      return encodeSyncAnswer(unwrap(parseSyncAnswer(data)));
    case "BestOrders":
    case "BestOrdersByNumber":
      return encodeBestOrdersAnswer(unwrap(parseBestOrdersAnswer(data)));
    case "OrderbookDepth":
      return encodeDepthAnswer(unwrap(parseDepthAnswer(data)));
    case "GetMm2Version":
      return encodeVersionAnswer(unwrap(parseVersionAnswer(data)));
    case "GetPeerUtcTimestamp":
      return encodeTimestampAnswer(unwrap(parseTimestampAnswer(data)));
  }
}

captures.requests.forEach(({ protocol, what, request, answer }, i) => {
  if (protocol === "/peers-exchange/2") {
    test(`recorded exchange ${i}, ${what}: is written to the same bytes`, () => {
      expect(hexOf(encodeGetKnownPeers(unwrap(parseGetKnownPeers(bytesOf(request)))))).toBe(request);
      if (answer) expect(hexOf(encodeKnownPeers(unwrap(parseKnownPeers(bytesOf(answer)))))).toBe(answer);
    });
  } else if (what.startsWith("deliberately malformed")) {
    test(`recorded exchange ${i}: the request that KDF left unanswered is refused`, () => {
      expect(parseP2pRequest(unwrap(parsePeerRequest(bytesOf(request)))).ok).toBe(false);
    });
  } else {
    test(`recorded exchange ${i}, ${what}: request and answer are written to the same bytes`, () => {
      const inner = unwrap(parseP2pRequest(unwrap(parsePeerRequest(bytesOf(request)))));
      expect(inner.type).toBe(what);
      expect(hexOf(encodePeerRequest(encodeP2pRequest(inner)))).toBe(request);
      const response = unwrap(parsePeerResponse(bytesOf(answer ?? "")));
      const written = response.kind === "ok" ? ({ kind: "ok", data: rewriteAnswer(inner.type, response.data) } as const) : response;
      expect(hexOf(encodePeerResponse(written))).toBe(answer);
    });
  }
});
