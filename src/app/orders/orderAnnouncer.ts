import { cutLong, type Rational } from "../../core/money/rational.ts";
import { availableVolume, type MakerOrder, makerBaseTicker, makerRelTicker } from "../../core/order/makerOrder.ts";
import { mapInTurns } from "../../ports/clock.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import type { OwnOrders, OwnOrderView } from "./ownOrders.ts";

/** Orders about which the network is told in one turn of the event loop: each message is signed, which takes the better part of a millisecond. */
export const TOLD_IN_TURN = 50;

/** KDF sends eight zero bytes as trie root in Created, Updated and Cancelled and ignores them on receipt (reference p2p-wire.md section 9). */
const NO_ROOT = new Uint8Array(8);

/** Tells the network about own maker orders, and remembers what it was told. */
export class OrderAnnouncer implements OwnOrders {
  readonly #deps: Pick<OrdersDeps, "clock" | "log" | "network" | "coin">;
  readonly #announced = new Map<string, OwnOrderView>();
  readonly #listeners = new Set<() => void>();
  readonly #telling = new Set<Promise<unknown>>();

  constructor(deps: Pick<OrdersDeps, "clock" | "log" | "network" | "coin">) {
    this.#deps = deps;
  }

  orders(): readonly OwnOrderView[] {
    return [...this.#announced.values()];
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  has(uuid: string): boolean {
    return this.#announced.has(uuid);
  }

  /** Says nothing of own orders any more, and nothing about that: others drop them after 90 s. `announce` brings each back. */
  fallSilent(): void {
    if (this.#announced.size === 0) return;
    this.#announced.clear();
    this.#notify();
  }

  /** MakerOrderCreated with the volume now available. False, and nothing sent, while one of the coins is not active. */
  announce(order: MakerOrder): boolean {
    const base = this.#deps.coin(order.base);
    const rel = this.#deps.coin(order.rel);
    if (!base || !rel) return false;
    const view: OwnOrderView = {
      uuid: order.uuid,
      base: makerBaseTicker(order),
      rel: makerRelTicker(order),
      price: order.price,
      maxVolume: offeredVolume(order),
      minVolume: order.minBaseVol,
      createdAt: this.#nowSec(),
      conf: order.conf,
      baseProtocolInfo: base.protocolInfo,
      relProtocolInfo: rel.protocolInfo,
    };
    this.#deps.network.follow(view.base, view.rel);
    this.#set(view);
    this.#deps.network.publish(view.base, view.rel, {
      type: "MakerOrderCreated",
      body: { ...view, timestamp: view.createdAt, pairTrieRoot: NO_ROOT },
    });
    return true;
  }

  /** MakerOrderUpdated with the volume now available, as KDF sends it after a match: everything else null. */
  updateVolume(order: MakerOrder): void {
    const view = this.#announced.get(order.uuid);
    if (!view) return;
    const maxVolume = offeredVolume(order);
    this.#set({ ...view, maxVolume });
    this.#deps.network.publish(view.base, view.rel, {
      type: "MakerOrderUpdated",
      body: {
        uuid: order.uuid,
        newPrice: null,
        newMaxVolume: maxVolume,
        newMinVolume: null,
        timestamp: this.#nowSec(),
        pairTrieRoot: NO_ROOT,
        conf: null,
      },
    });
  }

  /** MakerOrderUpdated after its author changed the order: new price, volume now available and settings; the minimum where one was given. */
  updateTerms(order: MakerOrder, minGiven: boolean): void {
    const view = this.#announced.get(order.uuid);
    if (!view) return;
    const next = { ...view, price: order.price, maxVolume: offeredVolume(order), minVolume: order.minBaseVol, conf: order.conf };
    this.#set(next);
    this.#deps.network.publish(view.base, view.rel, {
      type: "MakerOrderUpdated",
      body: {
        uuid: order.uuid,
        newPrice: next.price,
        newMaxVolume: next.maxVolume,
        newMinVolume: minGiven ? next.minVolume : null,
        timestamp: this.#nowSec(),
        pairTrieRoot: NO_ROOT,
        conf: next.conf,
      },
    });
  }

  /** MakerOrderCancelled, also for an order not announced yet: a former run of this node may have announced it. */
  withdraw(order: MakerOrder): void {
    if (this.#announced.delete(order.uuid)) this.#notify();
    this.#tellCancelled(order);
  }

  /**
   * The same of orders that are no more: out of what this node says of them at once, and the network is told beside the node's other work, so many in a turn. With thousands
   * that takes seconds, which nobody's handshake is to wait for.
   * @param onTold called after each message
   */
  withdrawAll<T extends { readonly order: MakerOrder }>(ended: readonly T[], onTold: (one: T) => void): void {
    const announced = ended.filter(({ order }) => this.#announced.delete(order.uuid));
    if (announced.length > 0) this.#notify();
    const telling = mapInTurns(this.#deps.clock, ended, TOLD_IN_TURN, (one) => {
      this.#tellCancelled(one.order);
      onTold(one);
    })
      .catch((error: unknown) => this.#deps.log.error("orders_not_withdrawn", { error }))
      .finally(() => this.#telling.delete(telling));
    this.#telling.add(telling);
  }

  /** Resolves when the network was told of every order that is no more. */
  async idle(): Promise<void> {
    await Promise.all(this.#telling);
  }

  #tellCancelled(order: MakerOrder): void {
    const { uuid } = order;
    this.#deps.network.publish(makerBaseTicker(order), makerRelTicker(order), {
      type: "MakerOrderCancelled",
      body: { uuid, timestamp: this.#nowSec(), pairTrieRoot: NO_ROOT },
    });
  }

  #nowSec(): number {
    return Math.floor(this.#deps.clock.nowMs() / 1_000);
  }

  #set(view: OwnOrderView): void {
    this.#announced.set(view.uuid, view);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A taker with odd fractions must not leave us with a volume whose digits no book takes. */
const offeredVolume = (order: MakerOrder): Rational => cutLong(availableVolume(order));
