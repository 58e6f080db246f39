import { MAX_FRAME_BYTES } from "../core/gossip/frame.ts";
import { decode } from "../core/message/msgpackReader.ts";
import { MsgpackWriter } from "../core/message/msgpackWriter.ts";
import { encodePeerRequest, encodePeerResponse, parsePeerRequest, parsePeerResponse } from "../core/message/peerRequest.ts";
import { encodeP2pRequest, parseP2pRequest } from "../core/message/requestMessage.ts";
import { reasonOf } from "../core/util/reasonOf.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { Aborted, type Clock, withDeadline } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { PeerAnswer, PeerId, PeerTransport } from "../ports/network.ts";
import { OFFENCE } from "./peerConduct.ts";
import { TokenBucket } from "./tokenBucket.ts";

const REQUEST_PROTOCOL = "/request-response/2";
export const EXCHANGE_PROTOCOL = "/peers-exchange/2";

/** A request that has not been answered by then is given up (p2p-wire.md 5.1). */
const DEADLINE_MS = 10_000;
/** Requests answered per peer: average a second, burst, and at the same time; then at the same time for all peers. */
const REQUESTS_PER_SEC = 20;
const REQUEST_BURST = 100;
const MAX_OPEN_PER_PEER = 16;
const MAX_OPEN = 256;
/** Milliseconds of this thread one peer's requests may take, per second and at once: some questions are dear to answer. */
const WORK_MS_PER_SEC = 20;
const WORK_BURST_MS = 200;

const UTC_TIMESTAMP = encodeP2pRequest({ type: "GetPeerUtcTimestamp" });
const VERSION = encodeP2pRequest({ type: "GetMm2Version" });

export type RequestHandler = (peer: PeerId, request: Uint8Array) => Promise<PeerAnswer>;
type Inbound = { readonly bucket: TokenBucket; readonly work: TokenBucket; open: number };

export type PeerRequestsDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: PeerTransport["request"];
  readonly blame: (peer: PeerId, cost: number, reason: string) => void;
  /** Answer to GetMm2Version. */
  readonly version: string;
  /** Answers `/peers-exchange/2`. */
  readonly answerExchange: (peer: PeerId, payload: Uint8Array) => Uint8Array | undefined;
};

/** Direct requests between peers (p2p-wire.md 5): asks, answers, and keeps both within limits. */
export class PeerRequests {
  readonly #deps: PeerRequestsDeps;
  readonly #inbound = new Map<PeerId, Inbound>();
  #open = 0;
  #handler: RequestHandler = async () => ({ kind: "none" });

  constructor(deps: PeerRequestsDeps) {
    this.#deps = deps;
  }

  setHandler(handler: RequestHandler): void {
    this.#handler = handler;
  }

  addPeer(peer: PeerId): void {
    const nowMs = this.#deps.clock.nowMs();
    const bucket = new TokenBucket(REQUESTS_PER_SEC, REQUEST_BURST, nowMs);
    this.#inbound.set(peer, { bucket, work: new TokenBucket(WORK_MS_PER_SEC, WORK_BURST_MS, nowMs), open: 0 });
  }

  removePeer(peer: PeerId): void {
    this.#inbound.delete(peer);
  }

  /** Asks one peer. A peer that is gone, closes the stream or answers nonsense gives `err`; the deadline throws `Aborted`. */
  async ask(peer: PeerId, request: Uint8Array, signal?: AbortSignal): Promise<PeerAnswer> {
    let payload: Uint8Array;
    try {
      payload = await this.askRaw(peer, REQUEST_PROTOCOL, encodePeerRequest(request), signal);
    } catch (cause) {
      if (cause instanceof Aborted) throw cause;
      return { kind: "err", message: `no answer: ${reasonOf(cause)}` };
    }
    const answer = parsePeerResponse(payload);
    return answer.ok ? answer.value : { kind: "err", message: `unreadable answer: ${answer.error.detail}` };
  }

  /** One exchange on any protocol with the usual deadline. */
  askRaw(peer: PeerId, protocol: string, payload: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    const { clock, send } = this.#deps;
    return withDeadline(clock, DEADLINE_MS, signal, (inner) => send(peer, protocol, payload, inner));
  }

  /** The peer's clock, unix seconds. `BadAnswer` is an Ok that holds no unsigned integer; `NoAnswer` anything else. */
  async askTime(peer: PeerId, signal: AbortSignal): Promise<Result<number, { kind: "BadAnswer" | "NoAnswer" }>> {
    const answer = await this.ask(peer, UTC_TIMESTAMP, signal);
    if (answer.kind !== "ok") return err({ kind: "NoAnswer" });
    const time = decode(answer.data, (r) => r.uint());
    return time.ok ? ok(time.value) : err({ kind: "BadAnswer" });
  }

  /** The peer's own name for its version, at most 200 bytes; undefined when it does not say. */
  async askVersion(peer: PeerId, signal: AbortSignal): Promise<string | undefined> {
    const answer = await this.ask(peer, VERSION, signal);
    if (answer.kind !== "ok") return undefined;
    const version = decode(answer.data, (r) => r.str(200));
    return version.ok ? version.value : undefined;
  }

  /** For the transport: the answer to an inbound request, undefined to close the stream without one. */
  async answer(peer: PeerId, protocol: string, payload: Uint8Array): Promise<Uint8Array | undefined> {
    const { clock, blame } = this.#deps;
    const inbound = this.#inbound.get(peer);
    if (inbound === undefined || this.#open >= MAX_OPEN || inbound.open >= MAX_OPEN_PER_PEER) return undefined;
    if (!inbound.bucket.take(1, clock.nowMs())) {
      blame(peer, OFFENCE.excessRequest, "too many requests");
      return undefined;
    }
    // Not held against the peer: how long an answer takes is not its doing alone.
    if (!inbound.work.take(1, clock.nowMs())) return undefined;
    inbound.open++;
    this.#open++;
    try {
      if (protocol === EXCHANGE_PROTOCOL) return this.#deps.answerExchange(peer, payload);
      if (protocol === REQUEST_PROTOCOL) return await this.#answerRequest(peer, payload);
      return undefined;
    } finally {
      inbound.open--;
      this.#open--;
    }
  }

  async #answerRequest(peer: PeerId, payload: Uint8Array): Promise<Uint8Array | undefined> {
    const request = this.#atCostOf(peer, () => parsePeerRequest(payload));
    if (!request.ok) {
      this.#deps.blame(peer, OFFENCE.badRequest, "malformed request");
      return undefined;
    }
    const response = await this.#atCostOf(peer, () => this.#answerNetworkInfo(request.value) ?? this.#askHandler(peer, request.value));
    const answer = this.#atCostOf(peer, () => encodePeerResponse(response));
    if (answer.length <= MAX_FRAME_BYTES) return answer;
    this.#deps.log.warn("answer_too_large", { peer, bytes: answer.length });
    return encodePeerResponse({
      kind: "err",
      message: `the answer of ${answer.length} bytes is larger than the limit of ${MAX_FRAME_BYTES}`,
    });
  }

  /** Charges a peer for what it makes this thread do; waiting is free. */
  #atCostOf<T>(peer: PeerId, work: () => T): T {
    const { clock } = this.#deps;
    const startMs = clock.nowMs();
    const result = work();
    const endMs = clock.nowMs();
    if (endMs > startMs) this.#inbound.get(peer)?.work.charge(endMs - startMs, endMs);
    return result;
  }

  async #askHandler(peer: PeerId, request: Uint8Array): Promise<PeerAnswer> {
    try {
      return await this.#handler(peer, request);
    } catch (cause) {
      this.#deps.log.error("request_handler_failed", { peer, cause: String(cause) });
      return { kind: "err", message: "internal error" };
    }
  }

  /** Time and version, which belong to the network layer; undefined for everything else. */
  #answerNetworkInfo(request: Uint8Array): PeerAnswer | undefined {
    // Enum index 1 (NetworkInfo): the others are for the application, which parses them itself.
    if (request[0] !== 0x81 || request[1] !== 0x01) return undefined;
    const parsed = parseP2pRequest(request);
    if (!parsed.ok) return { kind: "err", message: parsed.error.detail };
    const w = new MsgpackWriter();
    if (parsed.value.type === "GetPeerUtcTimestamp")
      return { kind: "ok", data: w.uint(Math.floor(this.#deps.clock.nowMs() / 1000)).finish() };
    return { kind: "ok", data: w.str(this.#deps.version).finish() };
  }
}
