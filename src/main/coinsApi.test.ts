import { expect, test } from "vitest";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { StillChain } from "../../test/fakes/stillChain.ts";
import { ACTIVATION_SCHEMA, createActivationStore } from "../adapters/sqlite/activationStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { ActivationSeal } from "../app/coin/activationSeal.ts";
import { CoinRegistry } from "../app/coin/coinRegistry.ts";
import { LastCoins, type LastCoinsDeps } from "../app/coin/lastCoins.ts";
import { parseCoinEntry } from "../core/coin/coinEntry.ts";
import { err, ok } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";
import { coinsApi } from "./coinsApi.ts";
import { nodeKeys } from "./nodeKeys.ts";

const PLATFORM = { coin: "ETH", mm2: 1, protocol: { type: "ETH", protocol_data: { chain_id: 1 } } };
const CONTRACT = "0x9130b257D37A52E52F21054c4DA3450c72f595CE";
const TOKEN = {
  coin: "T-ERC20",
  mm2: 1,
  protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: CONTRACT } },
};
const COINS = [
  { coin: "DOC", mm2: 1, txversion: 4, overwintered: 1, pubtype: 60, p2shtype: 85, protocol: { type: "UTXO" } },
  PLATFORM,
  TOKEN,
].map((value) => {
  const entry = parseCoinEntry(value);
  if (!entry.ok) throw new Error(entry.error.detail);
  return [entry.value.ticker, entry.value] as const;
});
const request = (coin: string) => ({
  ...{ coin, mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined, electrum: undefined },
  ...{ birthdayHeight: undefined, rescan: false, txHistory: false, addressFormat: undefined },
  nodes: { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined },
});

/** A node that was started anew: the backends of the coins of its last run are away. */
async function startedAnew(swaps: { readonly [coin: string]: readonly string[] }) {
  const clock = new VirtualClock();
  const store = createActivationStore(openInlineDatabase(":memory:", [ACTIVATION_SCHEMA]));
  const keys = nodeKeys(new Secret("coins of a former run"), false);
  /** What reading what is stored waits for, and cancelling orders. */
  const disk = { read: Promise.resolve(), cancelled: Promise.resolve() };
  const chain = new StillChain("DOC");
  chain.trouble = "The daemon is away.";
  const coins = new CoinRegistry({
    ...{ clock, log: new SilentLog(), entries: new Map(COINS), feeCeilingFactor: 8 },
    keyOf: () => ok(keys.node),
    openChain: async () => ok(chain),
    prepare: () => undefined,
    beforeClose: async () => undefined,
    usersOf: (coin) => ({ matchingOrders: [], activeSwaps: swaps[coin] ?? [] }),
    isWatched: () => false,
    cancelOrdersOf: (coin) => disk.cancelled.then(() => [`the order of ${coin}`]),
  });
  const tried = new Set<string>();
  /** The registry, before an account chain that is away. */
  const there: LastCoinsDeps["coins"] = {
    async enable(asked, signal, aside) {
      tried.add(aside ? `${asked.coin} aside` : asked.coin);
      return asked.coin === "ETH" ? err({ kind: "DaemonFailed", coin: "ETH", message: "away" }) : coins.enable(asked, signal, aside);
    },
    async enableTokens(_, tokens) {
      for (const { ticker, aside } of tokens) tried.add(aside ? `${ticker} aside` : ticker);
      return err({ kind: "PlatformCoinIsNotActivated", platform: "ETH" });
    },
    closeAside: (coin) => coins.closeAside(coin),
    wallet: (coin) => coins.wallet(coin),
    entry: (coin) => coins.entry(coin),
  };
  const slowStore = { ...store, all: () => disk.read.then(() => store.all()) };
  const deps = {
    coins: there,
    store: slowStore,
    clock,
    log: new SilentLog(),
    seal: new ActivationSeal(new Secret(new Uint8Array(32)), seededRng(1)),
  };
  const before = new LastCoins(deps);
  for (const coin of ["DOC", "ETH"]) await before.remember(request(coin));
  await before.rememberTokens("ETH", [{ ticker: "T-ERC20", requiredConfirmations: undefined }]);
  const last = new LastCoins(deps);
  const api = coinsApi(coins, last);
  await last.start();
  await clock.advance(25_000);
  expect(api.whyAway("DOC")).toMatch(/^DOC was enabled before/);
  /** Whether the next start enables it, and how. */
  const atNextStart = async (): Promise<readonly string[]> => {
    tried.clear();
    const next = new LastCoins(deps);
    await next.start();
    await next.close();
    return [...tried];
  };
  return { api, chain, clock, coins, tried, disk, atNextStart, rows: async () => (await store.all()).map(({ coin }) => coin).sort() };
}
const swap = ["a swap"];
const ALL = ["DOC", "ETH", "T-ERC20"];

test("a coin of the last run that is still away and that swaps need is not disabled; by force it stays for them, over starts too", async () => {
  const { api, chain, clock, coins, rows } = await startedAnew({ DOC: swap });
  const used = { kind: "CoinInUse", matchingOrders: [], cancelledOrders: [], activeSwaps: swap };
  expect(await api.disable("DOC", false)).toEqual(err(used));
  expect([api.whyAway("DOC"), await rows()]).toEqual([expect.stringMatching(/^DOC was enabled before/), ALL]);
  expect(await api.disable("DOC", true)).toMatchObject(ok({ cancelledOrders: ["the order of DOC"], passivized: true }));
  expect([api.whyAway("DOC"), await rows()]).toEqual([null, ALL]);
  chain.comeUp();
  await clock.advance(120_000);
  expect([coins.running("DOC")?.ticker, api.active("DOC")]).toEqual(["DOC", undefined]);
});

test("the orders of a coin of the last run go with it when it is disabled before its backend is there", async () => {
  const { api, chain, clock, coins, rows } = await startedAnew({});
  expect(await api.disable("DOC", false)).toMatchObject(ok({ cancelledOrders: ["the order of DOC"], passivized: false }));
  expect([api.whyAway("DOC"), await rows()]).toEqual([null, ["ETH", "T-ERC20"]]);
  chain.comeUp();
  await clock.advance(120_000);
  expect(coins.running("DOC")).toBeUndefined();
});

test("a platform coin of the last run that is still away is not disabled while swaps of its tokens need it", async () => {
  const { api, rows } = await startedAnew({ "T-ERC20": swap });
  expect(await api.disable("ETH", false)).toMatchObject(err({ kind: "CoinInUse", activeSwaps: swap }));
  expect([api.whyAway("ETH"), api.whyAway("T-ERC20"), await rows()]).toEqual([
    expect.stringMatching(/^ETH was enabled/),
    expect.stringMatching(/^T-ERC20 was enabled/),
    ALL,
  ]);
});

test.each([
  [[], false, ["DOC"], ["DOC"]],
  [swap, true, ALL, ["DOC", "ETH aside", "T-ERC20 aside"]],
] as const)(
  "its tokens go with it, and by force those that swaps need stay, and it with them: %j",
  async (swaps, force, left, triedLater) => {
    const { api, clock, tried, rows } = await startedAnew({ "T-ERC20": swaps });
    const cancelledOrders = ["the order of T-ERC20", "the order of ETH"];
    expect(await api.disable("ETH", force)).toMatchObject(ok({ cancelledOrders, passivized: force }));
    expect([api.whyAway("T-ERC20"), await rows()]).toEqual([null, left]);
    tried.clear();
    await clock.advance(60_000);
    expect([...tried].sort()).toEqual(triedLater);
  },
);

test("a token of the last run that is still away and is disabled by force stays for its swaps, and its platform coin as it was", async () => {
  const { api, clock, tried, rows } = await startedAnew({ "T-ERC20": swap });
  expect(await api.disable("T-ERC20", true)).toMatchObject(ok({ cancelledOrders: ["the order of T-ERC20"], passivized: true }));
  expect([api.whyAway("T-ERC20"), await rows()]).toEqual([null, ALL]);
  tried.clear();
  await clock.advance(60_000);
  expect([...tried].sort()).toEqual(["DOC", "ETH", "T-ERC20 aside"]);
});

test("a coin that a second client enables while the first one's disabling is being written down comes back for trades", async () => {
  const { api, chain, clock, coins, disk, atNextStart } = await startedAnew({ DOC: swap });
  chain.comeUp();
  await clock.advance(120_000);
  expect(api.active("DOC")?.ticker).toBe("DOC");
  let readOn: () => void = () => undefined;
  disk.read = new Promise((resolve) => {
    readOn = resolve;
  });
  const disabling = api.disable("DOC", true);
  await clock.advance(1_000);
  expect([api.active("DOC"), coins.running("DOC")?.ticker]).toEqual([undefined, "DOC"]);
  expect((await api.enable(request("DOC"), new AbortController().signal)).ok).toBe(true);
  readOn();
  expect(await disabling).toMatchObject(ok({ passivized: true }));
  expect(await atNextStart()).toContain("DOC");
});

test("a coin that a second client enables while the first one disables it as one still away is there at the next start, too", async () => {
  const { api, chain, clock, disk, rows, atNextStart } = await startedAnew({});
  let cancelOn: () => void = () => undefined;
  disk.cancelled = new Promise((resolve) => {
    cancelOn = resolve;
  });
  const enabling = api.enable(request("DOC"), new AbortController().signal);
  await clock.advance(0);
  const disabling = api.disable("DOC", false);
  await clock.advance(1_000);
  chain.comeUp();
  await clock.advance(1_000);
  expect((await enabling).ok).toBe(true);
  cancelOn();
  expect((await disabling).ok).toBe(true);
  expect(api.active("DOC")?.ticker).toBe("DOC");
  expect(await rows()).toEqual(ALL);
  expect(await atNextStart()).toContain("DOC");
});
