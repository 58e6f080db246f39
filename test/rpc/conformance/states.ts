import { mkdtempSync, openSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { SimNode } from "../../../sim/world/simNode.ts";
import { type SimCoin, SimWorld } from "../../../sim/world/simWorld.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../src/adapters/sqlite/inlineDatabase.ts";
import { createSwapStore, SWAP_SCHEMA } from "../../../src/adapters/sqlite/swapStore.ts";
import { createSystemClock } from "../../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../../src/adapters/system/systemRng.ts";
import type { EvmParts } from "../../../src/app/coin/evmParts.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { EvmAddress } from "../../../src/core/evm/address.ts";
import { signEnvelope } from "../../../src/core/message/envelope.ts";
import { encodeOrderMessage } from "../../../src/core/message/orderMessage.ts";
import { decimal } from "../../../src/core/money/rational.ts";
import { toHex } from "../../../src/core/util/bytes.ts";
import { err, ok } from "../../../src/core/util/result.ts";
import { DEMO_COINS } from "../../../src/devnet/demoCoins.ts";
import { startNode } from "../../../src/main/compose.ts";
import { nodeMetrics } from "../../../src/main/nodeMetrics.ts";
import { createRpcContext } from "../../../src/main/rpcContext.ts";
import { swapPages } from "../../../src/main/swapPages.ts";
import type { Compatibility } from "../../../src/rpc/ctx.ts";
import { coinNode } from "../../fakes/coinNode.ts";
import { FakeAccountChain } from "../../fakes/fakeAccountChain.ts";
import { type FakeNode, fakeNode } from "../../fakes/fakeNode.ts";
import { FakeRpcCoin, MUTE } from "../../fakes/rpc/fakeRpcCoin.ts";
import { FakeRpcToken } from "../../fakes/rpc/fakeRpcToken.ts";
import { SilentLog } from "../../fakes/silentLog.ts";
import type { State } from "./row.ts";
import { PASSWORD, type Stage, serve } from "./stage.ts";

const COIN_UNITS = 100_000_000n;
const HOUR_MS = 3_600_000;
const [DEMO] = DEMO_COINS;
const coin = (ticker: string, more: object = {}): SimCoin => ({ ...DEMO, coin: ticker, asset: ticker, avg_blocktime: 60, ...more });
const { sign_message_prefix: _, ...UNSIGNED } = coin("DOC-2", { orderbook_ticker: "DOC" });
/** What alice may enable; `LTC` is never enabled, `KMD` has a value and so no dex fee key under the `spec` profile. */
const COINS: readonly SimCoin[] = [
  coin("DOC"),
  coin("MARTY"),
  coin("WALLET", { wallet_only: true }),
  coin("KMD", { is_testnet: false }),
  UNSIGNED,
  coin("LTC"),
];
const ENABLED = ["DOC", "MARTY", "WALLET", "KMD", "DOC-2"];
const FUNDED = ["DOC", "MARTY", "KMD"];

/** Alice, whose RPC is asked, bob, who trades with her, and a relay between them, all whole, on chains of their own. */
async function trade(compatibility: Compatibility): Promise<Stage> {
  const world = await SimWorld.create({ seed: 5, coins: COINS });
  const [alice, bob] = [world.addNode("alice"), world.addNode("bob")];
  for (const node of [alice, bob]) for (const ticker of FUNDED) world.fund(node, ticker, 100n * COIN_UNITS);
  for (const { chain } of world.chains.values()) chain.mine(6);
  await alice.start(ENABLED);
  await bob.start(["DOC", "MARTY"]);
  await world.runUntil("both have a relay", () => [alice, bob].every((n) => n.p2p.relays().length > 0));
  const served = await serve(
    createRpcContext({
      clock: world.clock,
      log: new SilentLog(),
      compatibility,
      node: alice.node,
      // A store lists what was stored through it; here that is done by the node's own.
      swapStore: { ...alice.swapStore, page: (...asked) => alice.swapStore.page(...asked) },
      swapViews: { read: async () => new Map(), missing: async () => ({ looked: 0, uuids: [] }), keep: async () => undefined },
      keepStatuses: () => undefined,
      version: "swapnode-0.1.0",
      startedAt: new Date(world.clock.nowMs()).toISOString(),
      netid: 9_998,
      publicKey: toHex(alice.key.publicKey),
      hd: false,
      p2p: alice.p2p,
      metrics: nodeMetrics(alice.node, alice.p2p, () => ({ answered: 0, failed: 0 })),
      lastCoins: null,
      stop: () => void world.clock.after(0, () => void alice.stop()),
    }),
    world.clock,
    (until) => world.clock.run({ until, untilMs: world.clock.nowMs() + 120_000 }),
  );
  return {
    ...served,
    kept: {
      alice: toHex(alice.key.publicKey),
      aliceX: toHex(alice.key.publicKey).slice(2),
      bob: toHex(bob.key.publicKey),
      bobX: toHex(bob.key.publicKey).slice(2),
      aliceAddress: alice.node.coins.all()[0]?.address ?? "",
    },
    steps: tradeSteps(world, alice, bob),
    async close() {
      await served.close();
      await world.close();
    },
  };
}

function tradeSteps(world: SimWorld, alice: SimNode, bob: SimNode): Stage["steps"] {
  const placed = async (order: Promise<{ readonly ok: boolean }>): Promise<void> => {
    if (!(await world.settle(order)).ok) throw new Error("bob's order was refused");
  };
  const asks = (volume: string, price = "2") =>
    placed(bob.node.orders.placeTakerOrder({ action: "Buy", base: "DOC", rel: "MARTY", price: decimal(price), volume: decimal(volume) }));
  const swapsOf = (node: SimNode) => [...node.swaps.keys()];
  const isOver = (): boolean => swapsOf(alice).every((uuid) => alice.outcome(uuid) !== null);
  return {
    "a second passes": () => world.advance(1_000),
    "a minute passes": () => world.advance(60_000),
    "bob offers 4 DOC at 0.5 MARTY": async () => {
      await placed(bob.node.orders.placeMakerOrder({ base: "DOC", rel: "MARTY", price: decimal("0.5"), volume: decimal("4") }));
      await world.advance(2_000);
    },
    "bob asks for 1 DOC and falls silent": async () => {
      await asks("1");
      await world.runUntil("alice has answered", () => alice.node.orders.myOrders().makers.some((o) => o.matches.size > 0));
      bob.crash();
    },
    "bob is back": async () => {
      await world.advance(60_000);
      await bob.start(["DOC", "MARTY"]);
      await world.runUntil("bob has a relay", () => bob.p2p.relays().length > 0);
    },
    "bob buys 1 DOC": async () => {
      const known = alice.swaps.size;
      await asks("1");
      await world.runUntil("alice has paid", () =>
        swapsOf(alice)
          .slice(known)
          .some((uuid) => alice.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment")),
      );
    },
    "bob buys 1 DOC and falls silent": async () => {
      const known = alice.swaps.size;
      await asks("1");
      await world.runUntil("the swap begins", () => alice.swaps.size > known);
      bob.crash();
    },
    "bob falls silent": async () => bob.crash(),
    "alice's request is taken": () => world.runUntil("a swap begins", () => swapsOf(alice).some((uuid) => alice.outcome(uuid) === null)),
    "all swaps end": async () => {
      await world.runUntil("every swap is over", isOver, 12 * HOUR_MS);
      await world.advance(10_000);
    },
    "the daemon of DOC goes away": async () => {
      await alice.daemonFault("DOC", { kind: "http_500" });
      await world.runUntil("it is noticed", () => alice.node.coins.active("DOC")?.outage() !== null);
    },
    "LTC is being enabled": async () => {
      await alice.daemonFault("LTC", { kind: "stall" });
      void alice.enable(["LTC"]);
      await world.advance(1_000);
    },
    "LTC is enabled": async () => {
      await alice.daemonFault("LTC", { kind: "clear" });
      await world.runUntil("it is enabled", () => alice.node.coins.active("LTC") !== undefined);
    },
    "the daemon of LTC does not answer": () => alice.daemonFault("LTC", { kind: "stall" }),
    "the daemon of LTC is back": () => alice.daemonFault("LTC", { kind: "clear" }),
    "alice is paid 1 LTC three times": async () => {
      for (let i = 0; i < 3; i++) {
        world.fund(alice, "LTC", COIN_UNITS);
        await world.advance(60_000);
      }
    },
    "the daemon of LTC fails": () => alice.daemonFault("LTC", { kind: "http_500" }),
    "KMD is being disabled": async () => {
      // What a node waits for before it closes a coin takes a second here.
      Object.assign(alice.node.swaps, { park: () => new Promise<void>((resolve) => world.clock.after(1_000, resolve)) });
      void alice.node.coins.disable("KMD", false);
      await world.advance(0);
    },
    "KMD is disabled": async () => {
      await world.advance(2_000);
    },
    "alice is paid 100 DOC": async () => {
      world.fund(alice, "DOC", 100n * COIN_UNITS);
      await world.advance(10_000);
    },
    "the daemon of DOC refuses what it is sent": () => alice.daemonFault("DOC", { kind: "refuse_broadcast", code: -26, message: "dust" }),
    "the daemon of DOC gives no reply to what it is sent": () =>
      alice.daemonFault("DOC", { kind: "http_500", methods: ["sendrawtransaction"] }),
    "the daemon of DOC is back": async () => {
      await alice.daemonFault("DOC", { kind: "clear" });
      await world.runUntil("it is noticed", () => alice.node.coins.active("DOC")?.outage() === null);
    },
    "another machine trades with alice's key": async () => {
      const body = { trieRoots: [["DOC:MARTY", new Uint8Array(8).fill(7)] as const], timestamp: Math.floor(world.clock.nowMs() / 1_000) };
      bob.p2p.publish("orbk/DOC:MARTY", signEnvelope(encodeOrderMessage({ type: "PubkeyKeepAlive", body }), alice.key.secret.reveal()));
      await world.advance(2_000);
    },
    "DOC and MARTY lose the relay": async () => {
      world.node("relay").crash();
      await world.advance(60_000);
    },
  };
}

/** `main/compose.ts` itself over a folder of its own, with nothing imitated but the working day. */
async function composed(fields: object): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "swapnode-conformance-"));
  const config = {
    ...{ rpc_password: PASSWORD, rpcport: 0, disable_p2p: true, dbdir: join(folder, "DB") },
    coins: [
      ...COINS,
      coin("NOMM2", { mm2: undefined }),
      coin("NOPROTO", { protocol: undefined }),
      { coin: "IRIS", mm2: 1, protocol: { type: "TENDERMINT" } },
    ],
    ...fields,
  };
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const loaded = loadConfig({ args: [JSON.stringify(config)], env: {}, cwd: folder, home: folder, stdin: openSync("/dev/null", "r") });
  if (!loaded.ok) {
    remove();
    throw new Error(loaded.error);
  }
  const node = await startNode({
    config: loaded.value.config,
    passphrase: loaded.value.config.passphrase,
    clock: createSystemClock(),
    rng: createSystemRng(),
    log: new SilentLog(),
  }).catch((cause: unknown) => {
    remove();
    throw cause;
  });
  return {
    async ask(body) {
      const response = await fetch(node.rpcUrl, { method: "POST", body });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
    lastKind: () => undefined,
    kept: { home: homedir() },
    steps: {},
    async close() {
      await node.stop();
      remove();
    },
  };
}

/** A platform coin and tokens on an account chain that stands still; DOC beside them. */
async function accounts(): Promise<Stage> {
  const [token, other] = ["ab".repeat(20), "cd".repeat(20)] as readonly string[] as readonly [EvmAddress, EvmAddress];
  const erc20 = (ticker: string, contract: string) => ({
    ...{ coin: ticker, mm2: 1, decimals: 6 },
    protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: `0x${contract}` } },
  });
  const eth = { coin: "ETH", mm2: 1, sign_message_prefix: "Ethereum Signed Message:\n" };
  const chain = new FakeAccountChain();
  const { prices } = chain;
  chain.tokenBalances.set(token, 500_000_000n);
  chain.decimals.set(other, 8);
  const openChain: EvmParts["openChain"] = async ({ urls }) => {
    const index = urls.findIndex((url) => !url.startsWith("http"));
    return index < 0 ? ok(chain) : err({ kind: "BadNodeUrl", index });
  };
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const entries = [
    coin("DOC"),
    { ...eth, protocol: { type: "ETH", protocol_data: { chain_id: 1 } } },
    erc20("TOK-ERC20", token),
    erc20("ODD-ERC20", other),
    erc20("BAD-ERC20", "12"),
    { ...erc20("FAR-ERC20", token), protocol: { type: "ERC20", protocol_data: { platform: "BNB", contract_address: `0x${token}` } } },
  ];
  const node = await coinNode(entries, SEED_A, false, null, "spec", { parts: { openChain, store } });
  if (!(await node.enable("DOC")).ok) throw new Error("DOC cannot be enabled");
  return imitated(node, {
    "the nodes are away": async () => {
      chain.trouble = "None of the ETH nodes can be used";
    },
    "the nodes are back": async () => {
      chain.trouble = null;
    },
    "the nodes tell no price": async () => {
      chain.prices = null;
    },
    "the nodes tell a price": async () => {
      chain.prices = prices;
    },
    "the nodes tell no balance of the token": async () => {
      chain.unwatch({ tokens: [{ token, owner: token }] });
    },
    "the nodes tell the token's balance": async () => {
      await chain.watchTokens(token, [token]);
    },
    "the account is paid 10 ETH": async () => {
      chain.balance = 10n ** 19n;
    },
  });
}
/** Of reference rpc.md 8.4. */
const SEED_A = "spice describe gravity federal blast come thank unfair canal monkey style afraid";

async function imitated(node: Pick<FakeNode, "ctx" | "clock">, steps: Stage["steps"] = {}): Promise<Stage> {
  return { ...(await serve(node.ctx, node.clock, (until) => node.clock.run({ until, untilMs: node.clock.nowMs() }))), kept: {}, steps };
}

/** As many of everything as a node holds, or one reply may have. */
async function full(): Promise<Stage> {
  const node = await fakeNode();
  const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
  for (let i = 0; i < 1_001; i++) {
    const uuid = `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`;
    const summary = { uuid, role: "taker", myCoin: "DOC", otherCoin: "MARTY", startedAt: 1_000 + i, finished: false } as const;
    await store.create(summary, { v: 1, atMs: 1, event: { type: "secret_learned", secret: "00".repeat(32) } }, []);
  }
  const request = { action: "Buy", base: "DOC", rel: "MARTY", price: decimal("1"), volume: decimal("0.01"), timeoutSec: 600 } as const;
  await Promise.all(Array.from({ length: 10_000 }, () => node.orders.placeTakerOrder(request)));
  for (const tasks of [node.ctx.tasks.enableUtxo, node.ctx.tasks.withdraw])
    for (let i = 0; i < 100; i++) tasks.start("DOC", () => new Promise(() => undefined));
  for (let i = 0; i < 10_000; i++) node.ctx.peers.ban(i.toString(16).padStart(64, "0"), "one of many", null);
  return imitated({ ...node, ctx: { ...node.ctx, swaps: { ...node.ctx.swaps, page: swapPages(store) } } });
}

/** Blocks so far apart, or worth so little, that a swap of the amount cannot be made safe. */
const rules = (change: NonNullable<Parameters<typeof fakeNode>[0]>["rules"]) => async (): Promise<Stage> =>
  imitated(await fakeNode({ busy: true, ...(change ? { rules: change } : {}) }));

export const STATES: { readonly [S in State]: () => Promise<Stage> } = {
  trade: () => trade("spec"),
  kdf: () => trade("kdf"),
  offline: () => composed({ passphrase: "nobody's words" }),
  keyless: () => composed({}),
  busy: async () => imitated(await fakeNode({ busy: true })),
  full,
  slow: rules({
    lock: { baseSec: 7_379, slowTickers: [], slowFactor: 4 },
    blockTimes: () => ({ slowBlockSec: 1_800, notarizationSec: 3_600 }),
    isTestCoin: () => false,
  }),
  capped: rules({ blockTimes: () => ({ slowBlockSec: 180, notarizationSec: 3_600 }), blockReward: () => decimal("1") }),
  elsewhere: async () =>
    imitated(
      await fakeNode({
        busy: true,
        keyElsewhere: { kind: "KeyInUseElsewhere", message: "PubkeyKeepAlive", heardAtMs: 1_795_228_902_000, untilMs: 1_795_229_502_000 },
      }),
    ),
  unpaid: rules({ noFeeKey: (coin) => (coin === "MARTY" ? { kind: "NoFeeKey", coin, profile: "spec" } : null) }),
  recovers: async () => {
    const node = await fakeNode();
    const recoverFunds: FakeNode["ctx"]["swaps"]["recoverFunds"] = async () =>
      ok({ action: "RefundedMyPayment", coin: "DOC", txid: "ab".repeat(32), raw: Uint8Array.of(4, 0, 0, 128) });
    return imitated({ ...node, ctx: { ...node.ctx, swaps: { ...node.ctx.swaps, recoverFunds } } });
  },
  accounts,
  tokens: async () => {
    const token = new FakeRpcToken("TOK");
    return imitated(await fakeNode({ active: ["DOC", token] }), {
      "the platform coin is spent": async () => {
        token.gas = decimal("0.001");
      },
    });
  },
  mute: async () => imitated(await fakeNode({ active: ["DOC", "MARTY", MUTE] })),
  raised: async () => {
    const node = await fakeNode({ busy: true });
    for (const coin of node.ctx.coins.all()) if (coin instanceof FakeRpcCoin) coin.minTradingVol = decimal("0.01");
    return imitated(node);
  },
};
