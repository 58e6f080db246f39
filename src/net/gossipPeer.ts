import type { UnknownControlField } from "../core/gossip/frame.ts";
import { equalBytes } from "../core/util/bytes.ts";
import type { PeerConnection, PeerId } from "../ports/network.ts";
import { PeerConduct, type RateLimit } from "./peerConduct.ts";

/** Control frames that wait for room, and their bytes. Unlike a message, a lost subscription would stay lost. */
const MAX_UNSENT = 5000;
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Heartbeats with control frames waiting after which the peer counts as dead: it does not read. */
const MAX_STUCK_HEARTBEATS = 60;
const MAX_UNKNOWN_LOGGED = 16;

/** What the router keeps of one connected peer. */
export class GossipPeer {
  readonly id: PeerId;
  readonly conduct: PeerConduct;
  readonly #idBytes: Uint8Array;
  readonly #send: (peer: PeerId, frame: Uint8Array) => boolean;
  readonly #unknown = new Set<string>();
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #isOverfull = false;
  #stuck = 0;
  #lost = 0;
  /** When its last frame came, unix ms. */
  heardMs: number;

  constructor(connection: PeerConnection, limit: RateLimit, nowMs: number, send: (peer: PeerId, frame: Uint8Array) => boolean) {
    this.id = connection.id;
    this.#idBytes = connection.idBytes;
    this.#send = send;
    this.conduct = new PeerConduct(limit, nowMs);
    this.heardMs = nowMs;
  }

  isAuthor(from: Uint8Array | undefined): boolean {
    return from !== undefined && equalBytes(from, this.#idBytes);
  }

  /** Sends in order; what finds no room is sent again at the heartbeat. */
  sendControl(frame: Uint8Array): void {
    if (this.#unsent.length === 0 && this.#send(this.id, frame)) return;
    if (this.#unsent.length >= MAX_UNSENT || this.#unsentBytes + frame.length > MAX_UNSENT_BYTES) {
      this.#isOverfull = true;
      return;
    }
    this.#unsent.push(frame);
    this.#unsentBytes += frame.length;
  }

  /** Once per heartbeat. False: the peer has taken nothing for a minute or too much is waiting. */
  flush(): boolean {
    if (this.#unsent.length === 0) {
      this.#stuck = 0;
      return !this.#isOverfull;
    }
    let sent = 0;
    for (const frame of this.#unsent) {
      if (!this.#send(this.id, frame)) break;
      this.#unsentBytes -= frame.length;
      sent++;
    }
    this.#unsent = this.#unsent.slice(sent);
    this.#stuck = this.#unsent.length > 0 && sent === 0 ? this.#stuck + 1 : 0;
    return this.#stuck < MAX_STUCK_HEARTBEATS && !this.#isOverfull;
  }

  noteLostMessage(): void {
    this.#lost++;
  }

  takeLostMessages(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /** True once for each number and wire type, up to 16. */
  isNewUnknown({ field, wireType }: UnknownControlField): boolean {
    const key = `${field}:${wireType}`;
    if (this.#unknown.size >= MAX_UNKNOWN_LOGGED || this.#unknown.has(key)) return false;
    this.#unknown.add(key);
    return true;
  }
}
