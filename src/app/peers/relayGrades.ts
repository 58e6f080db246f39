import {
  isDoubtedRelay,
  isSpentRelay,
  NEW_RELAY,
  parseRelayRecord,
  type RelayRecord,
  relayRecordToJson,
  withRefutations,
} from "../../core/book/relayGrade.ts";
import type { PeerId } from "../../ports/network.ts";
import type { PeerBookDeps } from "./peerBook.ts";
import { RecordKeeper } from "./recordKeeper.ts";

/** Relays remembered; the one that was blamed longest ago makes room. */
const MAX_RELAYS = 1_000;

/** Relays whose unsigned orders were refuted by what their makers signed; remembered over restarts. */
export class RelayGrades {
  readonly #deps: PeerBookDeps;
  readonly #records = new Map<PeerId, RelayRecord>();
  readonly #keeper: RecordKeeper;

  constructor(deps: PeerBookDeps) {
    this.#deps = deps;
    this.#keeper = new RecordKeeper(deps, "relay", (id) => {
      const record = this.#records.get(id);
      return record ? relayRecordToJson(record) : null;
    });
  }

  async open(): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    for (const { id, record } of await this.#deps.store.load("relay")) {
      const parsed = parseRelayRecord(record);
      if (parsed && !isSpentRelay(parsed, nowMs)) this.#records.set(id, parsed);
      else this.#keeper.changed(id);
    }
  }

  close(): Promise<void> {
    return this.#keeper.close();
  }

  isDoubted(relay: PeerId): boolean {
    return isDoubtedRelay(this.#records.get(relay) ?? NEW_RELAY, this.#deps.clock.nowMs());
  }

  /** @param times keys whose orders, as it told them, were refuted at once */
  refuted(relay: PeerId, times: number): void {
    const nowMs = this.#deps.clock.nowMs();
    const wasDoubted = this.isDoubted(relay);
    const record = withRefutations(this.#records.get(relay) ?? NEW_RELAY, times, nowMs);
    this.#records.delete(relay);
    const oldest = this.#records.size >= MAX_RELAYS ? this.#records.keys().next() : undefined;
    if (oldest && !oldest.done && this.#records.delete(oldest.value)) this.#keeper.changed(oldest.value);
    this.#records.set(relay, record);
    this.#keeper.changed(relay);
    if (!wasDoubted && this.isDoubted(relay)) this.#deps.log.warn("relay_doubted", { peer: relay, refuted: record.points });
  }
}
