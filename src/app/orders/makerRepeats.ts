import type { MakerReserved, OrderPair } from "../../core/message/types.ts";
import { type MakerOrder, makerBaseTicker, makerRelTicker } from "../../core/order/makerOrder.ts";
import { ExpiringMap } from "../expiringMap.ts";
import type { OrdersDeps } from "./ordersDeps.ts";

/** How long `connected` is said again for a taker that repeats its `connect`: ours do when a message got lost. */
export const CONNECTED_REPEAT_MS = 60_000;
const MAX_CONNECTED_REPEATS = 10;
/** The same for the offer, for a taker of ours that repeats its request. */
const MAX_OFFER_REPEATS = 5;
const MAX_REMEMBERED = 20_000;

/** A match whose swap is stored: what it takes to say so again. */
type Connected = { readonly makerUuid: string; readonly taker: string; readonly base: string; readonly rel: string };

/** What a maker says once more to a taker that did not hear it: a few times, and not for ever. */
export class MakerRepeats {
  readonly #deps: Pick<OrdersDeps, "clock" | "network">;
  readonly #counts: ExpiringMap<number>;
  /** Connected matches by taker uuid: an order that is sold out ends at once, and its last taker may not have heard us. */
  readonly #connected: ExpiringMap<Connected>;

  constructor(deps: Pick<OrdersDeps, "clock" | "network">) {
    this.#deps = deps;
    this.#counts = new ExpiringMap(deps.clock, CONNECTED_REPEAT_MS, MAX_REMEMBERED);
    this.#connected = new ExpiringMap(deps.clock, CONNECTED_REPEAT_MS, MAX_REMEMBERED);
  }

  /** An offer that stands. */
  offer(reserved: MakerReserved): void {
    if (this.#mayRepeat(`offer ${reserved.takerOrderUuid}`, MAX_OFFER_REPEATS))
      this.#deps.network.publish(reserved.base, reserved.rel, { type: "MakerReserved", body: reserved });
  }

  /** Remembers the matches of an order whose swaps are stored, for takers that ask again. Also after a restart. */
  remember(order: MakerOrder): void {
    const nowMs = this.#deps.clock.nowMs();
    const [base, rel] = [makerBaseTicker(order), makerRelTicker(order)];
    for (const [takerUuid, match] of order.matches) {
      if (match.connectedAtMs === null || nowMs - match.connectedAtMs > CONNECTED_REPEAT_MS) continue;
      if (this.#connected.get(takerUuid)) continue;
      this.#connected.set(takerUuid, { makerUuid: order.uuid, taker: match.taker, base, rel });
      this.#deps.network.follow(base, rel);
    }
  }

  /** Whether the swap of this pair is stored; its own taker is told so again, nobody else is told anything. */
  isConnected(sender: string, pair: OrderPair): boolean {
    const known = this.#connected.get(pair.takerOrderUuid);
    if (known?.makerUuid !== pair.makerOrderUuid) return false;
    if (known.taker === sender && this.#mayRepeat(pair.takerOrderUuid, MAX_CONNECTED_REPEATS)) this.#publish(known, pair);
    return true;
  }

  /** The first time: the swap is stored. */
  sayConnected(order: MakerOrder, pair: OrderPair): void {
    this.#publish({ base: makerBaseTicker(order), rel: makerRelTicker(order) }, pair);
  }

  #publish({ base, rel }: Pick<Connected, "base" | "rel">, pair: OrderPair): void {
    this.#deps.network.publish(base, rel, { type: "MakerConnected", body: pair });
  }

  #mayRepeat(what: string, most: number): boolean {
    const said = this.#counts.get(what) ?? 0;
    if (said >= most) return false;
    this.#counts.set(what, said + 1);
    return true;
  }
}
