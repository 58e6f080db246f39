/** Heartbeats a message is kept for IWANT, and of these the latest that are announced by IHAVE (p2p-wire.md 3). */
const KEPT_WINDOWS = 5;
const ANNOUNCED_WINDOWS = 3;
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** Copies of one message sent to one peer on request. */
const MAX_COPIES_PER_PEER = 3;

type Entry = { readonly idBytes: Uint8Array; readonly topic: string; readonly frame: Uint8Array; served: Map<string, number> | undefined };

/** Frames of the last few seconds, for peers that ask for a message by its id. */
export class MessageCache {
  readonly #entries = new Map<string, Entry>();
  /** Keys by heartbeat, the current one first. */
  readonly #windows: string[][] = [[]];
  #bytes = 0;

  /** Keeps a frame under the key of its id. When the cache is full the message is just not offered. */
  put(key: string, idBytes: Uint8Array, topic: string, frame: Uint8Array): void {
    if (this.#entries.has(key) || this.#entries.size >= MAX_ENTRIES || this.#bytes + frame.length > MAX_BYTES) return;
    this.#entries.set(key, { idBytes, topic, frame, served: undefined });
    this.#windows[0]?.push(key);
    this.#bytes += frame.length;
  }

  /** The frame for a peer that wants it; undefined when unknown or asked for too often. */
  take(key: string, peer: string): Uint8Array | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.served ??= new Map();
    const copies = entry.served.get(peer) ?? 0;
    if (copies >= MAX_COPIES_PER_PEER) return undefined;
    entry.served.set(peer, copies + 1);
    return entry.frame;
  }

  /** Ids of a topic's latest messages, at most `max`. */
  recentIds(topic: string, max: number): Uint8Array[] {
    const ids: Uint8Array[] = [];
    for (const window of this.#windows.slice(0, ANNOUNCED_WINDOWS)) {
      for (const key of window) {
        const entry = this.#entries.get(key);
        if (entry?.topic === topic && ids.length < max) ids.push(entry.idBytes);
      }
    }
    return ids;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** Once per heartbeat. */
  shift(): void {
    if (this.isEmpty) return;
    this.#windows.unshift([]);
    if (this.#windows.length <= KEPT_WINDOWS) return;
    for (const key of this.#windows.pop() ?? []) {
      this.#bytes -= this.#entries.get(key)?.frame.length ?? 0;
      this.#entries.delete(key);
    }
  }
}
