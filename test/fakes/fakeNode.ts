import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createOrderStore, ORDER_SCHEMA } from "../../src/adapters/sqlite/orderStore.ts";
import { createPeerStore, PEER_SCHEMA } from "../../src/adapters/sqlite/peerStore.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { orderToRecord } from "../../src/app/orders/orderRecord.ts";
import type { KeyElsewhere, OrdersDeps } from "../../src/app/orders/ordersDeps.ts";
import { createOrders, type OrdersService } from "../../src/app/orders/ordersService.ts";
import { PeerPolicy } from "../../src/app/peers/peerPolicy.ts";
import { decimal, max, mul, rational } from "../../src/core/money/rational.ts";
import type { NoFeeKey } from "../../src/core/network/dexFee.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { createMakerOrder } from "../../src/core/order/makerOrder.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import type { NewHistoryRow } from "../../src/ports/orderStore.ts";
import type { Rng } from "../../src/ports/rng.ts";
import type { BookEntry } from "../../src/rpc/ctx/orders.ts";
import type { Compatibility, RpcContext } from "../../src/rpc/ctx.ts";
import { fakeBook } from "./rpc/fakeBook.ts";
import { fakeCoins } from "./rpc/fakeCoins.ts";
import { fakeNetwork } from "./rpc/fakeNetwork.ts";
import { FakeRpcCoin, NODE_KEY } from "./rpc/fakeRpcCoin.ts";
import { fakeSwaps } from "./rpc/fakeSwaps.ts";
import { fakeTasks } from "./rpc/fakeTasks.ts";
import { SilentLog } from "./silentLog.ts";

export const OPEN_ORDER = "144ce75d-d765-4ecc-b29a-1504c99c1112";
export const MATCHING_ORDER = "5f2c6a2e-7a44-4b6f-9f0b-6a0d5b1c0e01";
export const PASSWORD = "RpcPassword*1";
/** Start of the virtual clock, unix ms. */
export const NOW_MS = 1_795_228_902_004;

/** Uuids 00000000-0000-4000-8000-000000000001, …2 and so on. */
function countingRng(): Rng {
  let drawn = 0;
  return {
    bytes(length) {
      const out = new Uint8Array(length);
      new DataView(out.buffer).setUint32(length - 4, ++drawn);
      return out;
    },
  };
}

export type FakeNodeOptions = {
  /** Enabled coins; default DOC and MARTY. Those only named have 200. */
  readonly active?: readonly (string | FakeRpcCoin)[];
  /** One open order, one order whose handshake is open, one finished swap. */
  readonly busy?: boolean;
  /** Default spec. */
  readonly compatibility?: Compatibility;
  /** Orders of other nodes. */
  readonly others?: readonly BookEntry[];
  readonly rules?: Partial<OrdersDeps["rules"]>;
  /** Set: its key was heard trading elsewhere. */
  readonly keyElsewhere?: KeyElsewhere;
};

export type FakeNode = { readonly ctx: RpcContext; readonly clock: VirtualClock; readonly orders: OrdersService; stopped: boolean };

/** KMD stands for the coins with a value. */
const noFeeKey = (ticker: string): NoFeeKey | null => (ticker === "KMD" ? { kind: "NoFeeKey", coin: ticker, profile: "spec" } : null);

/** A whole node behind the RPC, with the real orders service and nothing else real. */
export async function fakeNode({
  active = ["DOC", "MARTY"],
  busy = false,
  compatibility = "spec",
  others = [],
  rules = {},
  keyElsewhere,
}: FakeNodeOptions = {}): Promise<FakeNode> {
  const clock = new VirtualClock(NOW_MS);
  const coinOf = (ticker: string): FakeRpcCoin => new FakeRpcCoin(ticker, { balance: "200", walletOnly: ticker === "WALLET" });
  const coins = new Map(active.map((c) => (typeof c === "string" ? [c, coinOf(c)] : [c.ticker, c])));
  const store = createOrderStore(openInlineDatabase(":memory:", [ORDER_SCHEMA]));
  const orders = createOrders({
    clock,
    rng: countingRng(),
    log: new SilentLog(),
    network: { follow: () => undefined, publish: () => undefined, ready: async () => undefined },
    store,
    swaps: { start: async () => undefined, obstacle: () => null, activeWith: () => [], has: () => false, expect: () => undefined },
    rules: {
      lock: { baseSec: 7_800, slowTickers: [], slowFactor: 4 },
      blockTimes: () => ({ slowBlockSec: 60, notarizationSec: 1_800 }),
      safety: profileOfNetid(9_998).safety,
      isTestCoin: () => false,
      blockReward: () => null,
      paymentWaitSec: 600,
      dexFee: (_taker, _maker, amount) => max(decimal("0.00001"), mul(amount, rational(1n, 777n))),
      noFeeKey,
      ...rules,
    },
    policy: {
      isBanned: () => false,
      isKnown: () => false,
      isUnpaid: () => false,
      unpaidUnits: () => 0n,
      mayReserve: () => ({ kind: "granted", alone: null, connectWithinMs: 30_000 }),
      mayHoldFees: () => ({ kind: "granted", alone: null, connectWithinMs: 30_000 }),
      onReserved: () => undefined,
      onNeverConnected: () => undefined,
      isSuspect: () => false,
    },
    keyElsewhere: () => keyElsewhere ?? null,
    ownKey: fromHex(NODE_KEY),
    coin: (ticker) => coins.get(ticker),
  });
  if (busy)
    for (const uuid of [OPEN_ORDER, MATCHING_ORDER])
      await store.apply([
        { change: "put", order: orderToRecord({ kind: "Maker", order: makerOrder(uuid) }) },
        { change: "historyRow", row: historyRow(uuid) },
      ]);
  await orders.restore();
  if (busy) await openHandshake(orders);
  const peers = new PeerPolicy({
    clock,
    log: new SilentLog(),
    store: createPeerStore(openInlineDatabase(":memory:", [PEER_SCHEMA])),
    coin: () => null,
  });
  peers.ban("b1".repeat(32), "never pays", null);
  const node: FakeNode = {
    clock,
    orders,
    stopped: false,
    ctx: {
      clock,
      compatibility,
      node: fakeNetwork(() => {
        node.stopped = true;
      }),
      coins: fakeCoins(coins, busy ? MATCHING_ORDER : null),
      orders,
      orderbook: fakeBook(orders, others),
      swaps: fakeSwaps(busy, () => orders.coinsNeededForKickStart()),
      peers,
      tasks: fakeTasks(),
      dexFee: { rule: () => ({ rate: rational(1n, 777n), floor: decimal("0.00001") }), noFeeKey },
    },
  };
  return node;
}

const makerOrder = (uuid: string) =>
  createMakerOrder({
    uuid,
    base: "DOC",
    rel: "MARTY",
    baseOrderbookTicker: null,
    relOrderbookTicker: null,
    // The matching one is the cheaper: it answers the request below.
    price: decimal(uuid === MATCHING_ORDER ? "2" : "2.5"),
    maxBaseVol: decimal("3"),
    minBaseVol: decimal("0.0001"),
    conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
    createdAtMs: NOW_MS,
    timeoutMinutes: null,
    saveInHistory: true,
  });

const historyRow = (uuid: string): NewHistoryRow => {
  const { base, rel, price, maxBaseVol: volume, createdAtMs } = makerOrder(uuid);
  return { uuid, kind: "Maker", initialAction: "Sell", base, rel, price, volume, createdAtMs };
};

/** Another node asks for 1 DOC; our order reserves it and waits. Asked again until the orders are announced. */
export async function openHandshake(orders: OrdersService): Promise<void> {
  const taker = fromHex(`02${"11".repeat(32)}`);
  orders.start();
  for (let turn = 0; turn < 100 && !orders.myOrders().makers.some((o) => o.matches.size > 0); turn++) {
    orders.onMessage(taker, {
      type: "TakerRequest",
      body: {
        base: "DOC",
        rel: "MARTY",
        baseAmount: decimal("1"),
        relAmount: decimal("2"),
        action: "Buy",
        uuid: "0b1c0e01-0000-4000-8000-00000000000a",
        matchBy: { type: "Any" },
        conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
        swapVersion: 1,
      },
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
}
