import { type BanReason, gradeOf, hasHistory, isSpent, NEW_PEER, type PeerRecord } from "../../core/peers/peerRecord.ts";
import { parsePeerRecord, peerRecordToJson } from "../../core/peers/peerRecordJson.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PeerStore } from "../../ports/peerStore.ts";
import { RecordKeeper } from "./recordKeeper.ts";

const MAX_RECORDS = 10_000;

export type PeerBookDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: PeerStore;
  /** Default 10,000 keys on the disk, and as many again of which only silence is known, in memory. */
  readonly maxRecords?: number;
};

/** The X coordinate, 64 hex digits: keys are compared by it everywhere in the protocol. */
export const peerIdOf = (pubkey: string): string => pubkey.slice(-64).toLowerCase();

/** What is remembered of counterparties, over restarts. Bounded: what says least makes room first, the operator's bans never do. */
export class PeerBook {
  readonly #deps: PeerBookDeps;
  readonly #records = new Map<string, PeerRecord>();
  readonly #fleeting = new Map<string, PeerRecord>();
  readonly #keeper: RecordKeeper;
  readonly #limit: number;

  constructor(deps: PeerBookDeps) {
    this.#deps = deps;
    this.#limit = deps.maxRecords ?? MAX_RECORDS;
    this.#keeper = new RecordKeeper(deps, "key", (id) => {
      const record = this.#records.get(id);
      return record ? peerRecordToJson(record) : null;
    });
  }

  /** Loads what a former run stored; a record that cannot be read is reported and left where it is. */
  async open(): Promise<void> {
    const { log, store } = this.#deps;
    for (const { id, record } of await store.load("key")) {
      const parsed = parsePeerRecord(record);
      if (parsed.ok) this.#records.set(id, parsed.value);
      else log.error("peer_record_unreadable", { pubkey: id });
    }
  }

  close(): Promise<void> {
    return this.#keeper.close();
  }

  /** `id`: as `peerIdOf` gives it. */
  get(id: string): PeerRecord {
    return this.#records.get(id) ?? this.#fleeting.get(id) ?? NEW_PEER;
  }

  all(): Iterable<readonly [id: string, record: PeerRecord]> {
    return this.#records;
  }

  /**
   * Puts a record in the place of the former one.
   * @param lasting whether it is worth the disk; what is there already is updated in any case
   * @returns false when all places are taken by bans of the operator
   */
  put(id: string, record: PeerRecord, lasting: boolean): boolean {
    if (!lasting && !this.#records.has(id)) {
      keepNewest(this.#fleeting, id, record, this.#limit);
      return true;
    }
    if (!this.#records.has(id) && !this.#makeRoom()) return false;
    this.#fleeting.delete(id);
    this.#records.delete(id);
    if (!isSpent(record, this.#deps.clock.nowMs())) this.#records.set(id, record);
    this.#keeper.changed(id);
    return true;
  }

  #makeRoom(): boolean {
    if (this.#records.size < this.#limit) return true;
    let victim: { readonly id: string; readonly worth: number } | null = null;
    for (const [id, record] of this.#records) {
      const worth = this.#worthOf(record);
      if (worth !== null && worth < (victim?.worth ?? Number.POSITIVE_INFINITY)) victim = { id, worth };
    }
    if (!victim) return false;
    this.#records.delete(victim.id);
    this.#keeper.changed(victim.id);
    return true;
  }

  /** Null: never given up. The oldest of the least worth goes. */
  #worthOf(record: PeerRecord): number | null {
    const nowMs = this.#deps.clock.nowMs();
    const reason: BanReason | undefined = record.ban?.reason;
    const grade = gradeOf(record, nowMs);
    if (grade === "ban") return reason?.kind === "Manual" ? null : 2;
    if (hasHistory(record, nowMs)) return 3;
    return grade === "none" ? 0 : 1;
  }
}

function keepNewest<V>(map: Map<string, V>, key: string, value: V, limit: number): void {
  map.delete(key);
  const oldest = map.size >= limit ? map.keys().next() : undefined;
  if (oldest && !oldest.done) map.delete(oldest.value);
  map.set(key, value);
}
