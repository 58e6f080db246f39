import { equalBytes } from "../../core/util/bytes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PeerId } from "../../ports/network.ts";
import type { Rng } from "../../ports/rng.ts";

/** How the line between two nodes behaves. Probabilities 0 to 1; everything random comes from the net's `Rng`. */
export type LinkConduct = {
  readonly latencyMs: number;
  /** Added to the latency, uniform from 0 to this. Frames keep their order unless `reorder` is set. */
  readonly jitterMs: number;
  /** Share of gossip frames that vanish. A real stream loses none: for faults beyond those of TCP. */
  readonly loss: number;
  /** Share of gossip frames that arrive twice. */
  readonly duplicate: number;
  /** Frames overtake each other when the jitter says so. */
  readonly reorder: boolean;
  /** Undefined: as fast as it gets. */
  readonly bytesPerSec: number | undefined;
};

/** Frames and bytes on the way in one direction before the sender hears "full". */
const MAX_QUEUED_FRAMES = 4096;
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/** As on a real stream (p2p-wire.md 3). */
const MAX_FRAME_BYTES = 1024 * 1024 - 100;

/** What a link needs of the node at either end. */
type LinkEnd = {
  readonly self: { readonly id: PeerId };
  deliver(peer: PeerId, frame: Uint8Array): void;
  answer(peer: PeerId, protocol: string, payload: Uint8Array): Promise<Uint8Array | undefined>;
  detach(peer: PeerId): void;
};

type Direction = { frames: number; bytes: number; freeAtMs: number; lastArrivalMs: number };

type Deps = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly conduct: () => LinkConduct;
  readonly dialler: LinkEnd;
  readonly listener: LinkEnd;
  readonly onClosed: () => void;
};

/** A copy in memory that Node shares out among small buffers: an allocation for each frame would cost more than its way. */
function pooledCopy(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(bytes);
  return new Uint8Array(buffer, byteOffset, length);
}

/** The frame sent last, and its copy: one that goes to many peers is copied once. Receivers only read. */
let last: { readonly frame: Uint8Array; readonly copy: Uint8Array } | null = null;

function copyOf(frame: Uint8Array): Uint8Array {
  // A sender that has written to it since has made another of it.
  if (last?.frame !== frame || !equalBytes(last.copy, frame)) last = { frame, copy: pooledCopy(frame) };
  return last.copy;
}

/** One connection of the memory net. Whatever is on the way when it closes is lost. */
export class MemoryLink {
  readonly #deps: Deps;
  readonly #directions: readonly [Direction, Direction];
  readonly #onClose = new Set<() => void>();
  #open = true;

  constructor(deps: Deps) {
    this.#deps = deps;
    const idle = (): Direction => ({ frames: 0, bytes: 0, freeAtMs: 0, lastArrivalMs: 0 });
    this.#directions = [idle(), idle()];
  }

  get ends(): readonly [PeerId, PeerId] {
    return [this.#deps.dialler.self.id, this.#deps.listener.self.id];
  }

  sendFrame(from: LinkEnd, frame: Uint8Array): boolean {
    const { clock } = this.#deps;
    const conduct = this.#deps.conduct();
    const direction = this.#direction(from);
    if (frame.length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${frame.length} bytes`);
    if (!this.#open || direction.frames >= MAX_QUEUED_FRAMES || direction.bytes + frame.length > MAX_QUEUED_BYTES) return false;
    const to = this.#other(from);
    // Both ends must not share memory: a sender that goes on writing would change what is on its way.
    const copy = copyOf(frame);
    direction.frames++;
    direction.bytes += copy.length;
    const arrivalMs = this.#arrivalMs(direction, copy.length);
    const copies = this.#happens(conduct.loss) ? 0 : this.#happens(conduct.duplicate) ? 2 : 1;
    clock.after(arrivalMs - clock.nowMs(), () => {
      direction.frames--;
      direction.bytes -= copy.length;
      for (let i = 0; i < copies && this.#open; i++) to.deliver(from.self.id, copy);
    });
    return true;
  }

  request(from: LinkEnd, protocol: string, payload: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const { clock } = this.#deps;
    const to = this.#other(from);
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        this.#onClose.delete(onClose);
        signal.removeEventListener("abort", onAbort);
        settle();
      };
      const onClose = (): void => finish(() => reject(new Error("the connection closed")));
      const onAbort = (): void => finish(() => reject(new Error("the request was aborted")));
      if (!this.#open || signal.aborted) {
        reject(new Error(this.#open ? "the request was aborted" : "the connection closed"));
        return;
      }
      this.#onClose.add(onClose);
      signal.addEventListener("abort", onAbort, { once: true });
      const fail = (cause: unknown): void => finish(() => reject(new Error("the peer failed to answer", { cause })));
      clock.after(this.#deps.conduct().latencyMs, () => {
        if (!this.#open) return;
        to.answer(from.self.id, protocol, payload.slice()).then((answer) => {
          clock.after(this.#deps.conduct().latencyMs, () => {
            if (answer === undefined) finish(() => reject(new Error("the peer closed the stream without an answer")));
            else finish(() => resolve(answer.slice()));
          });
        }, fail);
      });
    });
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#deps.onClosed();
    for (const onClose of [...this.#onClose]) onClose();
    const { dialler, listener } = this.#deps;
    dialler.detach(listener.self.id);
    listener.detach(dialler.self.id);
  }

  #arrivalMs(direction: Direction, bytes: number): number {
    const { latencyMs, jitterMs, reorder, bytesPerSec } = this.#deps.conduct();
    const nowMs = this.#deps.clock.nowMs();
    const startMs = Math.max(nowMs, direction.freeAtMs);
    direction.freeAtMs = bytesPerSec === undefined ? nowMs : startMs + (bytes / bytesPerSec) * 1000;
    const arrivalMs = Math.max(nowMs, direction.freeAtMs) + latencyMs + (jitterMs === 0 ? 0 : this.#fraction() * jitterMs);
    if (reorder) return arrivalMs;
    direction.lastArrivalMs = Math.max(direction.lastArrivalMs, arrivalMs);
    return direction.lastArrivalMs;
  }

  #happens(probability: number): boolean {
    return probability > 0 && this.#fraction() < probability;
  }

  /** Uniform, 0 up to but not including 1. */
  #fraction(): number {
    const b = this.#deps.rng.bytes(4);
    return (((b[0] ?? 0) | ((b[1] ?? 0) << 8) | ((b[2] ?? 0) << 16) | ((b[3] ?? 0) << 24)) >>> 0) / 2 ** 32;
  }

  #direction(from: LinkEnd): Direction {
    return from === this.#deps.dialler ? this.#directions[0] : this.#directions[1];
  }

  #other(from: LinkEnd): LinkEnd {
    return from === this.#deps.dialler ? this.#deps.listener : this.#deps.dialler;
  }
}
