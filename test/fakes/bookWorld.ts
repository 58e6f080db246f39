import { secp256k1 } from "@noble/curves/secp256k1.js";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createPeerStore, PEER_SCHEMA } from "../../src/adapters/sqlite/peerStore.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { OrderbookService } from "../../src/app/orderbook/orderbookService.ts";
import type { OwnOrders, OwnOrderView } from "../../src/app/orders/ownOrders.ts";
import { RelayGrades } from "../../src/app/peers/relayGrades.ts";
import { nobleVerify } from "../../src/core/crypto/nobleVerifier.ts";
import { encodeP2pRequest, type P2pRequest, parseP2pRequest } from "../../src/core/message/requestMessage.ts";
import type { OrderMessage } from "../../src/core/message/types.ts";
import { type Rational, rational } from "../../src/core/money/rational.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { Secret } from "../../src/core/util/secret.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { type HubNode, P2pHub } from "./p2pHub.ts";
import { SilentLog } from "./silentLog.ts";

const NO_ROOT = new Uint8Array(8);

/** Uuid of the n-th order of a test. */
export const orderUuid = (n: number): string => `00000000-0000-4000-8000-${n.toString().padStart(12, "0")}`;
/** Settings of every order here. */
export const orderConf = { baseConfs: 1, baseNota: false, relConfs: 2, relNota: false };

/** Own orders as `app/orders` shows them, announced through the service as it would do. */
class OwnOrdersDouble implements OwnOrders {
  readonly #orders = new Map<string, OwnOrderView>();
  readonly #listeners = new Set<() => void>();
  orders(): readonly OwnOrderView[] {
    return [...this.#orders.values()];
  }
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  set(id: string, order: OwnOrderView | undefined): void {
    if (order) this.#orders.set(id, order);
    else this.#orders.delete(id);
    for (const listener of this.#listeners) listener();
  }
}

/** A node of the world: the product's order-book service over the hub. */
export class BookNode {
  readonly p2p: HubNode;
  readonly own = new OwnOrdersDouble();
  readonly log = new SilentLog();
  readonly secret: Uint8Array;
  readonly pubkey: string;
  readonly banned = new Set<string>();
  readonly heard: OrderMessage[] = [];
  readonly service: OrderbookService;
  readonly #clock: VirtualClock;

  readonly grades: RelayGrades;

  constructor(world: BookWorld, name: string, seed: number, isRelay: boolean, verify: SignatureVerifier["verify"] = nobleVerify) {
    this.#clock = world.clock;
    this.p2p = world.hub.node(name, { isRelay });
    this.secret = new Uint8Array(32).fill(seed);
    const publicKey = secp256k1.getPublicKey(this.secret, true);
    this.pubkey = toHex(publicKey);
    const store = createPeerStore(openInlineDatabase(":memory:", [PEER_SCHEMA]));
    this.grades = new RelayGrades({ clock: world.clock, log: this.log, store });
    this.service = new OrderbookService({
      p2p: this.p2p,
      clock: world.clock,
      log: this.log,
      verifier: { verify },
      ownOrders: this.own,
      publicKey,
      secretKey: new Secret(this.secret),
      isBanned: (key) => this.banned.has(key),
      hasHistory: () => false,
      relayGrades: this.grades,
    });
    this.p2p.setMessageHandler((message) => this.service.handleGossip(message));
    this.p2p.setRequestHandler((peer, request) => this.service.handleRequest(peer, request));
    this.service.onOrderMessage((_sender, message) => this.heard.push(message));
    this.service.start();
  }

  #nowSec(): number {
    return Math.floor(this.#clock.nowMs() / 1000);
  }

  offer(n: number, with_: { readonly price?: Rational; readonly base?: string; readonly rel?: string } = {}): void {
    const { price = rational(BigInt(n), 10n), base = "AAA", rel = "BBB" } = with_;
    const view: OwnOrderView = {
      uuid: orderUuid(n),
      base,
      rel,
      price,
      maxVolume: rational(5n),
      minVolume: rational(1n, 100n),
      createdAt: this.#nowSec(),
      conf: orderConf,
      baseProtocolInfo: new Uint8Array([1]),
      relProtocolInfo: new Uint8Array([2]),
    };
    this.own.set(view.uuid, view);
    const body = { ...view, timestamp: view.createdAt, pairTrieRoot: NO_ROOT };
    this.service.publish(base, rel, { type: "MakerOrderCreated", body });
  }

  cancel(n: number): void {
    this.own.set(orderUuid(n), undefined);
    const body = { uuid: orderUuid(n), timestamp: this.#nowSec(), pairTrieRoot: NO_ROOT };
    this.service.publish("AAA", "BBB", { type: "MakerOrderCancelled", body });
  }

  sees(base = "AAA", rel = "BBB"): readonly number[] {
    return this.service.entries(base, rel).map(({ item }) => Number(item.uuid.slice(-12)));
  }

  confirmed(): readonly boolean[] {
    return this.service.entries("AAA", "BBB").map(({ confirmed }) => confirmed);
  }

  requests(): readonly string[] {
    return this.p2p.asked.map(({ request }) => {
      const parsed = parseP2pRequest(request);
      return parsed.ok ? parsed.value.type : "unreadable";
    });
  }

  ask(request: P2pRequest) {
    return this.service.handleRequest("somebody", encodeP2pRequest(request));
  }
}

/** Relays and light nodes with a book each, on one clock. */
export class BookWorld {
  readonly clock: VirtualClock;
  readonly hub: P2pHub;
  #seed = 0;
  constructor(clock = new VirtualClock()) {
    this.clock = clock;
    this.hub = new P2pHub(clock);
  }
  relay(name: string): BookNode {
    return new BookNode(this, name, ++this.#seed, true);
  }
  light(name: string, ...relays: readonly string[]): BookNode {
    const node = new BookNode(this, name, ++this.#seed, false);
    for (const relay of relays) this.hub.connect(name, relay);
    return node;
  }
}
