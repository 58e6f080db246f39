import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createOrderStore, ORDER_SCHEMA } from "../../src/adapters/sqlite/orderStore.ts";
import { createPeerStore, PEER_SCHEMA } from "../../src/adapters/sqlite/peerStore.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { addressErrorText } from "../../src/app/coin/addressErrorText.ts";
import type { WithdrawRequest } from "../../src/app/coin/withdraw.ts";
import { orderToRecord } from "../../src/app/orders/orderRecord.ts";
import { createOrders, type OrdersService } from "../../src/app/orders/ordersService.ts";
import { PeerPolicy } from "../../src/app/peers/peerPolicy.ts";
import type { FundsError } from "../../src/app/tradingCoin.ts";
import { verifyMessage } from "../../src/core/keys/signMessage.ts";
import { add, decimal, lt, max, mul, type Rational, rational, sub, ZERO } from "../../src/core/money/rational.ts";
import type { NoFeeKey } from "../../src/core/network/dexFee.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { createMakerOrder } from "../../src/core/order/makerOrder.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { err, ok, type Result } from "../../src/core/util/result.ts";
import { type AddressRules, parseAddress } from "../../src/core/utxo/address.ts";
import type { Rng } from "../../src/ports/rng.ts";
import type { BadSelector, BookEntry, CoinEntry, RpcCoin, RpcContext, SwapStatus, VerifyMessageError } from "../../src/rpc/ctx.ts";
import { FakeTradingCoin } from "./fakeTradingCoin.ts";
import { SilentLog } from "./silentLog.ts";

/** Key, address and one signature of the node whose replies were recorded (test/vectors/rpc). */
export const NODE_KEY = "03fa9e4fb4432e2d1d0fef27cec588ea4ca580dfe29fa279831913f5ee5f9970ac";
const ADDRESS = "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU";
const HELLO_SIGNATURE = "ICNApAkj09iMYRghL4NMT/ohd+LBrn1Oqn3Pp3vuWp/yFRoGfHYNcL6TdI7XLY6SFeXAERYi86e7QvwgdCzQaaA=";
const PREFIX = "Komodo Signed Message:\n";
const TXID = `${"0".repeat(63)}1`;
/** A transaction the fake daemon takes. */
const GOOD_TX = "0400008085202f89";
export const OPEN_ORDER = "144ce75d-d765-4ecc-b29a-1504c99c1112";
export const MATCHING_ORDER = "5f2c6a2e-7a44-4b6f-9f0b-6a0d5b1c0e01";
export const FINISHED_SWAP = "aa2e902d-a810-4d81-aecb-202c8b037216";
export const PASSWORD = "RpcPassword*1";
/** Start of the virtual clock, unix ms. */
export const NOW_MS = 1_795_228_902_004;

const RULES: AddressRules = {
  p2pkhPrefix: Uint8Array.of(60),
  p2shPrefix: Uint8Array.of(85),
  hrp: null,
  segwit: false,
  cashPrefix: null,
  format: "standard",
};

class FakeRpcCoin extends FakeTradingCoin implements RpcCoin {
  readonly matureConfirmations = 100;
  override readonly address = ADDRESS;
  override readonly htlcPubkey = Uint8Array.from(fromHex(NODE_KEY));

  override paymentFee(volume: Rational): Result<Rational, FundsError> {
    if (lt(volume, this.dust)) return err({ kind: "VolumeTooLow", coin: this.ticker, volume, threshold: this.dust });
    return super.paymentFee(volume);
  }
  unspendable(): Rational {
    return ZERO;
  }
  async feeRate(): Promise<Result<Rational, FundsError>> {
    return ok(this.fee);
  }
  setRequiredConfirmations(confirmations: number): void {
    this.settings.confirmations = confirmations;
  }
  setRequiresNotarization(required: boolean): void {
    this.settings.notarization = required;
  }
  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }> {
    const parsed = parseAddress(address, RULES);
    return parsed.ok ? ok(undefined) : err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, parsed.error) });
  }
  /** Knows one signature: the key of the recorded node is not known. */
  signMessage(message: string): Result<string, { readonly kind: "PrefixNotFound" }> {
    return message === "hello" ? ok(HELLO_SIGNATURE) : err({ kind: "PrefixNotFound" });
  }
  signMessageAs(): Result<string, BadSelector> {
    return err({ kind: "BadSelector", reason: "this fake has one address" });
  }
  verifyMessage(message: string, signature: string, address: string): Result<boolean, VerifyMessageError> {
    const parsed = parseAddress(address, RULES);
    if (!parsed.ok) return err({ kind: "AddressDecoding", message: addressErrorText(this.ticker, parsed.error) });
    const checked = verifyMessage(PREFIX, message, signature, parsed.value.hash);
    if (checked.ok) return checked;
    const { error } = checked;
    return err({ kind: "SignatureDecoding", message: error.kind === "InvalidSignature" ? "Invalid Signature" : error.reason });
  }
  async withdraw({ to, amount }: WithdrawRequest): ReturnType<RpcCoin["withdraw"]> {
    if (amount === "max") return err({ kind: "ZeroBalanceToWithdrawMax" });
    const required = add(amount, this.fee);
    if (lt(this.spendable(), required)) {
      return err({ kind: "NotSufficientBalance", coin: this.ticker, available: this.spendable(), required });
    }
    const total = this.spendable();
    const received = sub(total, required);
    return ok({
      raw: fromHex(GOOD_TX),
      txid: TXID,
      from: [this.address],
      to: [to],
      total,
      spentByMe: total,
      receivedByMe: received,
      fee: this.fee,
    });
  }
  async sendRaw(raw: Uint8Array): ReturnType<RpcCoin["sendRaw"]> {
    return raw.length === fromHex(GOOD_TX).length ? ok(TXID) : err({ kind: "Rejected", message: "TX decode failed" });
  }
}

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

const entryOf = (walletOnly = false): CoinEntry => ({ walletOnly, orderbookTicker: null, protocol: '{"type":"UTXO"}' });

const SWAP: SwapStatus = {
  type: "Taker",
  uuid: FINISHED_SWAP,
  my_order_uuid: FINISHED_SWAP,
  events: [
    {
      timestamp: 1_673_517_077_816,
      event: { type: "Started", data: { secret: "11".repeat(32), p2p_privkey: "a private key", uuid: FINISHED_SWAP } },
    },
    { timestamp: 1_673_517_115_194, event: { type: "Finished" } },
  ],
  maker_amount: "0.01",
  maker_coin: "MARTY",
  maker_coin_usd_price: null,
  taker_amount: "0.01",
  taker_coin: "DOC",
  taker_coin_usd_price: null,
  gui: "nogui",
  mm_version: "0.1.0",
  success_events: ["Started", "Finished"],
  error_events: ["StartFailed"],
  my_info: { my_coin: "DOC", other_coin: "MARTY", my_amount: "0.01", other_amount: "0.01", started_at: 1_673_517_076 },
  recoverable: false,
  is_finished: true,
  is_success: true,
};

export type FakeNodeOptions = {
  /** Enabled coins; default DOC and MARTY with 200 each. */
  readonly active?: readonly string[];
  /** One open order, one order whose handshake is open, one finished swap. */
  readonly busy?: boolean;
};

export type FakeNode = { readonly ctx: RpcContext; readonly clock: VirtualClock; readonly orders: OrdersService; stopped: boolean };

/** KMD stands for the coins with a value. */
const noFeeKey = (ticker: string): NoFeeKey | null => (ticker === "KMD" ? { kind: "NoFeeKey", coin: ticker, profile: "spec" } : null);

/** A whole node behind the RPC, with the real orders service and nothing else real. */
export async function fakeNode({ active = ["DOC", "MARTY"], busy = false }: FakeNodeOptions = {}): Promise<FakeNode> {
  const clock = new VirtualClock(NOW_MS);
  const coins = new Map(active.map((ticker) => [ticker, new FakeRpcCoin(ticker, { balance: "200" })]));
  const entries = new Map([
    ["DOC", entryOf()],
    ["MARTY", entryOf()],
    ["KMD", entryOf()],
    ["WALLET", entryOf(true)],
  ]);
  const store = createOrderStore(openInlineDatabase(":memory:", [ORDER_SCHEMA]));
  const orders = createOrders({
    clock,
    rng: countingRng(),
    log: new SilentLog(),
    network: { follow: () => undefined, publish: () => undefined, ready: async () => undefined },
    store,
    swaps: { start: async () => undefined, activeWith: () => [], has: () => false, expect: () => undefined },
    rules: {
      lock: { baseSec: 7_800, slowTickers: [], slowFactor: 4 },
      blockTimes: () => ({ slowBlockSec: 60, notarizationSec: 1_800 }),
      safety: profileOfNetid(9_998).safety,
      isTestCoin: () => false,
      blockReward: () => null,
      paymentWaitSec: 600,
      dexFee: (_taker, _maker, amount) => max(decimal("0.00001"), mul(amount, rational(1n, 777n))),
      noFeeKey,
    },
    policy: {
      isBanned: () => false,
      isKnown: () => false,
      isUnpaid: () => false,
      unpaidUnits: () => 0n,
      mayReserve: () => ({ kind: "granted", alone: null, connectWithinMs: 30_000 }),
      onReserved: () => undefined,
      onNeverConnected: () => undefined,
    },
    keyElsewhere: () => null,
    ownKey: fromHex(NODE_KEY),
    coin: (ticker) => coins.get(ticker),
  });
  if (busy)
    for (const uuid of [OPEN_ORDER, MATCHING_ORDER])
      await store.apply([{ change: "put", order: orderToRecord({ kind: "Maker", order: makerOrder(uuid) }) }]);
  await orders.restore();
  if (busy) await openHandshake(orders);
  const swaps = new Map(busy ? [[FINISHED_SWAP, SWAP]] : []);
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
      node: {
        version: "0.1.0",
        startedAt: "2026-11-21T00:00:00.000Z",
        netid: 9998,
        publicKey: NODE_KEY,
        hd: false,
        network: {
          peerId: "12D3KooWKS3FYQu6BLnKipU3A978KRr91ZxgJn9dFt8b6igpAo2A",
          peers: () => [
            {
              id: "12D3KooWM2gM83qszqEzS3GkUYrz4YzFWe2PRZLFxd3RSwTecgJM",
              idBytes: new Uint8Array(),
              address: "/ip4/127.0.0.1/tcp/47771",
              direction: "outbound",
            },
          ],
        },
        stop: () => {
          node.stopped = true;
        },
      },
      coins: {
        active: (ticker) => coins.get(ticker),
        all: () => [...coins.values()],
        entry: (ticker) => entries.get(ticker),
        async enable({ coin, daemon }) {
          if (coins.has(coin)) return err({ kind: "AlreadyActive", coin, progress: null });
          if (!entries.has(coin)) return err({ kind: "Mm2NotSet", coin });
          if (!daemon) {
            return err({
              kind: "DaemonConfig",
              path: `<HOME>/.komodo/${coin}/${coin}.conf`,
              reason: "No such file or directory (os error 2)",
            });
          }
          const enabled = new FakeRpcCoin(coin, { balance: "200" });
          coins.set(coin, enabled);
          return ok(enabled);
        },
        async disable(coin, force) {
          if (!coins.has(coin)) return err({ kind: "NoSuchCoin", coin });
          if (busy && coin === "DOC" && !force) {
            return err({ kind: "CoinInUse", matchingOrders: [MATCHING_ORDER], cancelledOrders: [], activeSwaps: [] });
          }
          coins.delete(coin);
          return ok({ cancelledOrders: [], passivized: false });
        },
      },
      orders,
      orderbook: {
        async pair(base, rel) {
          const mine = orders.myOrders().makers.map(
            (o): BookEntry => ({
              ...{ uuid: o.uuid, base: o.base, rel: o.rel, price: o.price, maxVolume: o.maxBaseVol, minVolume: o.minBaseVol, conf: o.conf },
              ...{ pubkey: NODE_KEY, createdAt: Math.floor(o.createdAtMs / 1000), isMine: true, address: ADDRESS },
            }),
          );
          const of = (a: string, b: string): readonly BookEntry[] => mine.filter((o) => o.base === a && o.rel === b);
          return ok({ asks: of(base, rel), bids: of(rel, base) });
        },
      },
      swaps: {
        status: async (uuid) => swaps.get(uuid),
        async page(filter, page, limit) {
          const found = [...swaps.values()]
            .filter((s) => filter.myCoin === undefined || filter.myCoin === s.taker_coin)
            .map((s) => String(s.uuid));
          if (found.length === 0) return { uuids: [], total: 0, skipped: 0 };
          const skipped = "after" in page ? found.indexOf(page.after) + 1 : page.skip;
          if ("after" in page && skipped === 0) return null;
          return { uuids: found.slice(skipped, skipped + limit), total: found.length, skipped };
        },
        active: () => [],
        coinsNeededForKickStart: () => orders.coinsNeededForKickStart(),
        recoverFunds: async (uuid) => err(swaps.has(uuid) ? { kind: "SwapNotFinished" } : { kind: "SwapNotFound" }),
      },
      peers,
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

/** Another node asks for 1 DOC; our order reserves it and waits. Asked again until the orders are announced. */
async function openHandshake(orders: OrdersService): Promise<void> {
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
