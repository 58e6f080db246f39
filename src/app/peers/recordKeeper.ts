import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PeerChange, PeerRow, PeerStore } from "../../ports/peerStore.ts";

/** Pause before a write that failed is tried again, and between writes: what happens at once is stored at once. */
const RETRY_MS = 30_000;

/**
 * Writes what changed of one kind of records, behind the caller: memory decides, the disk follows. One write at a time;
 * one that fails is repeated with whatever has changed meanwhile.
 */
export class RecordKeeper {
  readonly #deps: { readonly clock: Clock; readonly log: Log; readonly store: PeerStore };
  readonly #kind: PeerRow["kind"];
  /** Text of the record as it is now; null: to be removed. */
  readonly #textOf: (id: string) => string | null;
  #dirty = new Set<string>();
  #writing: Promise<void> | null = null;
  #cancelRetry: () => void = () => undefined;

  constructor(
    deps: { readonly clock: Clock; readonly log: Log; readonly store: PeerStore },
    kind: PeerRow["kind"],
    textOf: (id: string) => string | null,
  ) {
    this.#deps = deps;
    this.#kind = kind;
    this.#textOf = textOf;
  }

  changed(id: string): void {
    this.#dirty.add(id);
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    const { clock, log, store } = this.#deps;
    await Promise.resolve();
    while (this.#dirty.size > 0) {
      const ids = this.#dirty;
      this.#dirty = new Set();
      try {
        await store.apply([...ids].map((id) => this.#changeOf(id)));
      } catch (error) {
        for (const id of ids) this.#dirty.add(id);
        log.warn("peer_records_not_stored", { kind: this.#kind, records: ids.size, error });
        this.#cancelRetry = clock.after(RETRY_MS, () => {
          this.#writing ??= this.#write();
        });
        break;
      }
    }
    this.#writing = null;
  }

  #changeOf(id: string): PeerChange {
    const record = this.#textOf(id);
    return record === null ? { change: "remove", kind: this.#kind, id } : { change: "put", kind: this.#kind, id, record };
  }

  /** Writes what is still to be written, once. */
  async close(): Promise<void> {
    this.#cancelRetry();
    await this.#writing;
    this.#cancelRetry();
  }
}
