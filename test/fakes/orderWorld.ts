import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createOrderStore, ORDER_SCHEMA } from "../../src/adapters/sqlite/orderStore.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import type { HandshakeMessage } from "../../src/app/orderbook/orderGossip.ts";
import type { BookView, KeyElsewhere, OrdersDeps } from "../../src/app/orders/ordersDeps.ts";
import { createOrders, type OrdersService } from "../../src/app/orders/ordersService.ts";
import type { SwapMatch, SwapStarter } from "../../src/app/tradingCoin.ts";
import { encodeOrderMessage, parseOrderMessage } from "../../src/core/message/orderMessage.ts";
import type { OrderMessage } from "../../src/core/message/types.ts";
import { decimal, max, mul, type Rational, rational } from "../../src/core/money/rational.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SqlDatabase, SqlStatement, WriteOptions } from "../../src/ports/sql.ts";
import { FakeTradingCoin } from "./fakeTradingCoin.ts";
import { MemoryOrderFiles } from "./memoryOrderFiles.ts";
import { SilentLog } from "./silentLog.ts";

const LATENCY_MS = 5;
/** A coin whose chain never notarizes. */
export const NEVER_FINAL = "OLD";

/** Swaps that only remember what they were started with. `failNext`: the next start stores nothing and rejects. */
export class FakeSwaps implements SwapStarter {
  readonly started: SwapMatch[] = [];
  readonly expected: string[] = [];
  failNext = false;
  /** Why no swap can begin now. */
  trouble: string | null = null;
  obstacle(): string | null {
    return this.trouble;
  }
  async start(match: SwapMatch): Promise<void> {
    if (this.failNext) {
      this.failNext = false;
      throw new Error("swap store is out of order");
    }
    this.started.push(match);
  }
  activeWith(ticker: string): readonly string[] {
    return this.started.filter((m) => m.makerCoin === ticker || m.takerCoin === ticker).map((m) => m.uuid);
  }
  expect(uuid: string): void {
    this.expected.push(uuid);
  }
  has(uuid: string): boolean {
    return this.started.some((m) => m.uuid === uuid);
  }
}

/** A message on its way. */
export type Sent = { readonly from: string; readonly message: OrderMessage };

export type TestNode = {
  readonly name: string;
  readonly key: Uint8Array;
  readonly coins: Map<string, FakeTradingCoin>;
  readonly swaps: FakeSwaps;
  readonly files: MemoryOrderFiles;
  readonly log: SilentLog;
  /** Statements pass here; set `fail` to have the next write refused. */
  readonly disk: { fail: boolean; readonly db: SqlDatabase };
  /** What the node's book would say; tests set it. */
  book: BookView | undefined;
  readonly banned: Set<string>;
  /** Set: its key was heard trading elsewhere. */
  keyElsewhere: KeyElsewhere | null;
  orders: OrdersService;
  coin(ticker: string): FakeTradingCoin;
  /** The process dies and comes back over the same database. What it held in memory is gone. */
  restart(): Promise<void>;
};

/** Nodes over an in-memory bus that carries the real bytes, on a virtual clock. */
export class OrderWorld {
  readonly clock = new VirtualClock();
  readonly nodes = new Map<string, TestNode>();
  /** Everything published, in order. */
  readonly sent: Sent[] = [];
  /** False: the message reaches nobody. */
  deliver: (sent: Sent, to: string) => boolean = () => true;
  /** How much the nodes' wall clocks are ahead. */
  skewMs = 0;
  /** False: no relay is connected. */
  online = true;
  readonly #waiting: (() => void)[] = [];
  readonly #epoch = new Map<string, number>();

  async node(
    name: string,
    options: { readonly rules?: Partial<OrdersDeps["rules"]>; readonly policy?: Partial<OrdersDeps["policy"]> } = {},
  ): Promise<TestNode> {
    const index = this.nodes.size + 1;
    const key = new Uint8Array(33).fill(index);
    key[0] = 2;
    const disk = { fail: false, db: openInlineDatabase(":memory:", [ORDER_SCHEMA]) };
    const db: SqlDatabase = {
      async write(batch: readonly SqlStatement[], options?: WriteOptions) {
        if (!disk.fail) return disk.db.write(batch, options);
        disk.fail = false;
        throw new Error("disk is full");
      },
      read: (sql, params) => disk.db.read(sql, params),
      close: () => disk.db.close(),
    };
    const banned = new Set<string>();
    const coins = new Map([
      ["AAA", new FakeTradingCoin("AAA")],
      ["BBB", new FakeTradingCoin("BBB")],
    ]);
    const swaps = new FakeSwaps();
    const files = new MemoryOrderFiles();
    const log = new SilentLog();
    const rng = seededRng(index);
    const create = (): OrdersService => {
      const epoch = (this.#epoch.get(name) ?? 0) + 1;
      this.#epoch.set(name, epoch);
      const alive = (): boolean => this.#epoch.get(name) === epoch;
      return createOrders({
        clock: {
          nowMs: () => this.clock.nowMs() + this.skewMs,
          after: (delayMs, task) =>
            this.clock.after(delayMs, () => {
              if (alive()) task();
            }),
        },
        rng,
        log,
        swaps,
        files,
        ownKey: key,
        coin: (ticker) => coins.get(ticker),
        store: createOrderStore(db),
        network: {
          follow: () => undefined,
          publish: (_base, _rel, message) => {
            if (alive()) this.#publish(name, message);
          },
          ready: () => (this.online ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))),
        },
        rules: {
          lock: { baseSec: 7_800, slowTickers: ["BTC"], slowFactor: 4 },
          blockTimes: (ticker) => ({ slowBlockSec: 60, notarizationSec: ticker === NEVER_FINAL ? null : 1_800 }),
          safety: profileOfNetid(9_998).safety,
          isTestCoin: () => false,
          blockReward: () => null,
          paymentWaitSec: 600,
          dexFee: (_taker: string, _maker: string, amount: Rational) => max(decimal("0.0001"), mul(amount, rational(1n, 777n))),
          noFeeKey: () => null,
          ...options.rules,
        },
        policy: {
          isBanned: (sender) => banned.has(sender),
          isKnown: () => false,
          isUnpaid: () => false,
          unpaidUnits: () => 0n,
          mayReserve: () => ({ kind: "granted", alone: null, connectWithinMs: 30_000 }),
          mayHoldFees: () => ({ kind: "granted", alone: null, connectWithinMs: 30_000 }),
          onReserved: () => undefined,
          onNeverConnected: () => undefined,
          isSuspect: () => false,
          ...options.policy,
        },
        keyElsewhere: () => node.keyElsewhere,
        book: { fittingMakers: (request) => node.book?.fittingMakers(request) ?? [] },
      });
    };
    const node: TestNode = {
      name,
      key,
      coins,
      swaps,
      files,
      log,
      disk,
      banned,
      keyElsewhere: null,
      book: undefined,
      orders: create(),
      coin: (ticker) => {
        const coin = coins.get(ticker);
        if (!coin) throw new Error(`no coin ${ticker}`);
        return coin;
      },
      restart: async () => {
        for (const [ticker, coin] of coins) {
          const reborn = new FakeTradingCoin(ticker, { ...(coin.orderbookTicker ? { orderbookTicker: coin.orderbookTicker } : {}) });
          coins.set(ticker, reborn);
        }
        node.orders = create();
        await node.orders.restore();
        node.orders.start();
      },
    };
    this.nodes.set(name, node);
    await node.orders.restore();
    node.orders.start();
    return node;
  }

  /** The first relay connects. */
  goOnline(): void {
    this.online = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #publish(from: string, message: OrderMessage): void {
    const sent = { from, message };
    this.sent.push(sent);
    const bytes = encodeOrderMessage(message);
    for (const to of this.nodes.keys()) {
      if (this.deliver(sent, to)) this.clock.after(LATENCY_MS, () => this.inject(to, from, bytes));
    }
  }

  /** Hands bytes to a node as if `from` had signed them. */
  inject(to: string, from: string, bytes: Uint8Array): void {
    const parsed = parseOrderMessage(bytes);
    if (!parsed.ok) throw new Error("a node published what does not parse");
    const key = this.nodes.get(from)?.key;
    const message = parsed.value;
    if (!key || !isHandshake(message)) return;
    this.nodes.get(to)?.orders.onMessage(key, message);
  }

  send(to: string, from: string, message: OrderMessage): void {
    this.inject(to, from, encodeOrderMessage(message));
  }

  messages<T extends OrderMessage["type"]>(type: T, from?: string): readonly Extract<OrderMessage, { type: T }>["body"][] {
    return this.sent.flatMap((s) => (s.message.type === type && (from === undefined || s.from === from) ? [s.message.body as never] : []));
  }
}

const isHandshake = (m: OrderMessage): m is HandshakeMessage =>
  m.type === "TakerRequest" || m.type === "MakerReserved" || m.type === "TakerConnect" || m.type === "MakerConnected";

export const keyHex = (node: TestNode): string => toHex(node.key);
