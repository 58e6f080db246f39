/**
 * What a server says and does not show is held against it when it still says so after so long, ms: after a reorganisation servers tell of new histories, and
 * of their last block, some seconds after they have the blocks (ElectrumX: when it has read the mempool).
 */
const PATIENCE_MS = 30_000;
/** Things remembered that were not shown. */
const MAX_KEPT = 10_000;

/** Since when servers say what they do not show. */
export class Patience {
  readonly #nowMs: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Whether it was not shown before. */
  has(key: string): boolean {
    return this.#sinceMs.has(key);
  }

  /** It was not shown once more. @returns whether that has been so for too long */
  isOver(key: string): boolean {
    const nowMs = this.#nowMs();
    const sinceMs = Math.min(nowMs, this.#sinceMs.get(key) ?? nowMs);
    if (this.#sinceMs.size >= MAX_KEPT) this.#sinceMs.clear();
    this.#sinceMs.set(key, sinceMs);
    return nowMs - sinceMs >= PATIENCE_MS;
  }
}
