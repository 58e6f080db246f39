import type { TakerRequest } from "../../core/message/types.ts";
import { type TakerOrder, takerBaseTicker, takerRelTicker, takerRequestOf } from "../../core/order/takerOrder.ts";
import { Aborted } from "../../ports/clock.ts";
import type { Mailbox } from "./mailbox.ts";
import type { OrderLedger } from "./orderLedger.ts";
import type { OrdersDeps } from "./ordersDeps.ts";

/**
 * A request nobody has made an offer for is repeated this often: who comes to the network later hears it, and who has it waiting
 * knows that its order still lives. A maker of KDF that has answered says nothing more while its offer stands, and once that has
 * lapsed makes another (reference p2p-wire.md section 9).
 */
const REQUEST_REPEAT_MS = 5_000;
/** Repeats in one turn of the loop, the longest unsaid first: thousands of orders stay far below what others read of one key. */
const MAX_REPEATS_PER_TURN = 10;

/** What a taker asks of all makers, said until one has been chosen. */
export class TakerRequests {
  readonly #deps: OrdersDeps;
  readonly #ledger: OrderLedger;
  readonly #mailbox: Mailbox;
  readonly #isCollecting: (uuid: string) => boolean;
  readonly #publishing = new Map<string, AbortController>();
  /** When the request of an order without a match was last said, in that order. */
  readonly #sentMs = new Map<string, number>();

  /** @param isCollecting whether offers for an order are being collected: what was asked is not asked again meanwhile */
  constructor(deps: OrdersDeps, ledger: OrderLedger, mailbox: Mailbox, isCollecting: (uuid: string) => boolean) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#mailbox = mailbox;
    this.#isCollecting = isCollecting;
  }

  /** Nothing waits for its turn to be said again. */
  get isQuiet(): boolean {
    return this.#sentMs.size === 0;
  }

  /** Null: a coin of it is disabled. */
  of(order: TakerOrder): TakerRequest | null {
    const base = this.#deps.coin(order.base);
    const rel = this.#deps.coin(order.rel);
    return base && rel ? takerRequestOf(order, { base: base.protocolInfo, rel: rel.protocolInfo }) : null;
  }

  /** Sends the request as soon as a relay would carry it; KDF sends it into the void. `repeat` says it again. */
  publish(order: TakerOrder): void {
    this.#note(order.uuid);
    const controller = new AbortController();
    this.#publishing.set(order.uuid, controller);
    this.#deps.network.follow(takerBaseTicker(order), takerRelTicker(order));
    const send = (): void => {
      this.#publishing.delete(order.uuid);
      const current = this.#ledger.takers.get(order.uuid);
      const request = current && !current.match && !this.#deps.keyElsewhere() ? this.of(current) : null;
      if (request) this.#deps.network.publish(request.base, request.rel, { type: "TakerRequest", body: request });
    };
    this.#deps.network.ready(controller.signal).then(
      () => this.#mailbox.post("publish_request", send),
      (error: unknown) => {
        this.#publishing.delete(order.uuid);
        if (!(error instanceof Aborted)) this.#deps.log.error("request_not_published", { order: order.uuid, error });
      },
    );
  }

  /** An order of a former run: its request is said again in its turn. */
  resume(order: TakerOrder): void {
    this.#sentMs.set(order.uuid, Number.NEGATIVE_INFINITY);
  }

  /** Called by the loop. Never once an offer is taken: the first choice is final. */
  repeat(): void {
    const nowMs = this.#deps.clock.nowMs();
    let left = MAX_REPEATS_PER_TURN;
    for (const [uuid, sentMs] of this.#sentMs) {
      if (left === 0 || nowMs - sentMs < REQUEST_REPEAT_MS) return;
      const order = this.#ledger.takers.get(uuid);
      if (!order || order.match) this.#sentMs.delete(uuid);
      else if (this.#publishing.has(uuid) || this.#isCollecting(uuid)) this.#note(uuid);
      else {
        left--;
        this.publish(order);
      }
    }
  }

  #note(uuid: string): void {
    this.#sentMs.delete(uuid);
    this.#sentMs.set(uuid, this.#deps.clock.nowMs());
  }

  forget(uuid: string): void {
    this.#publishing.get(uuid)?.abort();
    this.#publishing.delete(uuid);
    this.#sentMs.delete(uuid);
  }

  close(): void {
    for (const controller of this.#publishing.values()) controller.abort();
  }
}
