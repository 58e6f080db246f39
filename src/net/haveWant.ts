import type { Control } from "../core/gossip/frame.ts";
import { hashKey, parseMessageId } from "../core/gossip/messageId.ts";
import type { PeerId } from "../ports/network.ts";
import type { MessageCache } from "./messageCache.ts";

/** Per peer and heartbeat: IHAVE entries looked at, ids asked for, ids answered. */
const MAX_IHAVE = 10;
const MAX_ASKED = 5000;
const MAX_ANSWERED = 500;
/** Ids announced in one IHAVE, and the peers it goes to. */
const MAX_ANNOUNCED = 500;
const ANNOUNCED_TO = 6;

type Deps = {
  readonly cache: MessageCache;
  readonly isSeen: (idKey: string, topic: string) => boolean;
  readonly isWanted: (topic: string) => boolean;
  readonly sendControl: (peer: PeerId, control: Control) => void;
  readonly sendFrame: (peer: PeerId, frame: Uint8Array) => boolean;
};

type Budget = { ihave: number; asked: number; answered: number };

/** IHAVE and IWANT: messages of the last seconds for peers that missed them. */
export class HaveWant {
  readonly #deps: Deps;
  readonly #budgets = new Map<PeerId, Budget>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  onIHave(peer: PeerId, entries: NonNullable<Control["ihave"]>): void {
    const budget = this.#budget(peer);
    const wanted: Uint8Array[] = [];
    for (const { topic, ids } of entries) {
      if (budget.ihave >= MAX_IHAVE) break;
      budget.ihave++;
      if (!this.#deps.isWanted(topic)) continue;
      for (const bytes of ids) {
        const id = parseMessageId(bytes);
        if (id === undefined || budget.asked >= MAX_ASKED || this.#deps.isSeen(hashKey(id), topic)) continue;
        budget.asked++;
        wanted.push(bytes);
      }
    }
    if (wanted.length > 0) this.#deps.sendControl(peer, { iwant: [wanted] });
  }

  onIWant(peer: PeerId, entries: NonNullable<Control["iwant"]>): void {
    const budget = this.#budget(peer);
    for (const bytes of entries.flat()) {
      if (budget.answered >= MAX_ANSWERED) return;
      budget.answered++;
      const id = parseMessageId(bytes);
      const frame = id === undefined ? undefined : this.#deps.cache.take(hashKey(id), peer);
      if (frame !== undefined) this.#deps.sendFrame(peer, frame);
    }
  }

  /** Tells a few of the peers outside a topic's mesh what was published lately. */
  announce(topic: string, peers: readonly PeerId[]): void {
    if (peers.length === 0) return;
    const ids = this.#deps.cache.recentIds(topic, MAX_ANNOUNCED);
    if (ids.length === 0) return;
    for (const peer of peers.slice(0, ANNOUNCED_TO)) this.#deps.sendControl(peer, { ihave: [{ topic, ids }] });
  }

  /** Fresh budgets. */
  heartbeat(): void {
    this.#budgets.clear();
  }

  removePeer(peer: PeerId): void {
    this.#budgets.delete(peer);
  }

  #budget(peer: PeerId): Budget {
    let budget = this.#budgets.get(peer);
    if (budget === undefined) {
      budget = { ihave: 0, asked: 0, answered: 0 };
      this.#budgets.set(peer, budget);
    }
    return budget;
  }
}
