import { expect, test } from "vitest";
import { coinNode } from "../../../test/fakes/coinNode.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { StillChain } from "../../../test/fakes/stillChain.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { parseCoinEntry } from "../../core/coin/coinEntry.ts";
import { err, ok } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import { nodeKeys } from "../../main/nodeKeys.ts";
import { Aborted } from "../../ports/clock.ts";
import { enableWithTokens } from "../../rpc/enableWithTokens.ts";
import { CoinRegistry } from "./coinRegistry.ts";
import type { ChainSource, ElectrumServers, OpenedChain } from "./utxoOpener.ts";

const DOC = { coin: "DOC", pubtype: 60, p2shtype: 85, mm2: 1, protocol: { type: "UTXO" } };
const WRONG = "The DOC daemon cannot be used: wrong rpc user or password.";

test("a daemon that refuses is told after 3 s, not after the whole wait for a first balance, and can be tried again", async () => {
  const node = await coinNode([DOC], "registry test", false, WRONG);
  for (let turn = 0; turn < 2; turn++) {
    let told: unknown = null;
    void node.enable("DOC").then((done) => {
      told = done;
    });
    await node.clock.advance(2_900);
    expect(told).toBeNull();
    expect((await node.enable("DOC")).ok).toBe(false);
    await node.clock.advance(200);
    expect(told).toEqual({ ok: false, error: { kind: "DaemonFailed", coin: "DOC", message: WRONG } });
  }
});

test("a daemon that comes up meanwhile is used", async () => {
  const node = await coinNode([DOC], "registry test", false, "The DOC daemon is busy: Loading block index.");
  const enabling = node.enable("DOC");
  await node.clock.advance(2_000);
  node.chains.get("DOC")?.comeUp();
  await node.clock.advance(1_500);
  expect((await enabling).ok).toBe(true);
});

test("while the first scan of a coin runs, enabling it once more tells how far it is, before and after it counts as enabled", async () => {
  const node = await coinNode([DOC], "registry test", false, "The DOC daemon is starting.");
  const first = node.flat("enable", { coin: "DOC" });
  const refusal = async (): Promise<unknown> => {
    const { status, reply } = await node.flat("enable", { coin: "DOC" });
    return [status, reply.error];
  };
  expect(await refusal()).toEqual([500, "Coin DOC is being enabled; nothing has answered yet"]);
  const chain = node.chains.get("DOC");
  if (!chain) throw new Error("no chain was opened");
  chain.scanned({ done: 300, total: 1_200, height: 1_299, target: 2_199 });
  expect(await refusal()).toEqual([500, "Coin DOC is being enabled; its chain has been read up to block 1299 of 2199 (25 %)"]);
  // The first request is answered after 20 s, with what is known by then; the scan goes on.
  await node.clock.advance(20_100);
  expect(await first).toMatchObject({ status: 200, reply: { result: "success", balance: "0" } });
  chain.scanned({ done: 1_199, total: 1_200, height: 2_198, target: 2_199 });
  expect(await refusal()).toEqual([500, "Coin DOC already initialized; its chain has been read up to block 2198 of 2199 (99 %)"]);
  expect((await node.flat("my_balance", { coin: "DOC" })).reply).toMatchObject({ coin: "DOC", balance: "0" });
  chain.comeUp();
  expect(await refusal()).toEqual([500, "Coin DOC already initialized"]);
});

test("a balance that is what the node last knew is marked as such, and one of now is not", async () => {
  const node = await coinNode([DOC], "registry test", false, "The DOC daemon is starting.");
  const first = node.flat("enable", { coin: "DOC" });
  await node.clock.advance(10);
  const chain = node.chains.get("DOC");
  if (!chain) throw new Error("no chain was opened");
  chain.scanned({ done: 300, total: 1_200, height: 1_299, target: 2_199 });
  await node.clock.advance(20_100);
  expect((await first).reply).toMatchObject({ balance: "0", swapnode: { state: "syncing", height: 100 } });
  const balance = async (): Promise<unknown> => (await node.flat("my_balance", { coin: "DOC" })).reply;
  expect(await balance()).toMatchObject({ swapnode: { state: "syncing", height: 100 } });
  expect(node.coins.utxo("DOC")?.isCounting()).toBe(true);
  chain.comeUp();
  expect(await balance()).not.toHaveProperty("swapnode");
  expect(node.coins.utxo("DOC")?.isCounting()).toBe(false);
  chain.trouble = "The DOC daemon is away.";
  expect(await balance()).toMatchObject({ balance: "0", swapnode: { state: "unreachable", height: null } });
});

test("who calls an activation off can ask for another at once", async () => {
  const node = await coinNode([DOC], "registry test", false, "The DOC daemon is starting.");
  const begin = async (): Promise<unknown> => {
    const params = { ticker: "DOC", activation_params: { mode: { rpc: "Native" } } };
    return (await node.v2("task::enable_utxo::init", params)).reply.result;
  };
  for (const id of [2, 3, 4]) {
    expect(await begin()).toEqual({ task_id: id });
    await node.clock.advance(1_000);
    expect((await node.v2("task::enable_utxo::cancel", { task_id: id })).reply.result).toBe("success");
  }
  const again = node.flat("enable", { coin: "DOC" });
  await node.clock.advance(20_100);
  expect((await again).reply.error).toBe("Deactivated coin due to error in balance querying: The DOC daemon is starting.");
});

type Users = { readonly matchingOrders: readonly string[]; readonly activeSwaps: readonly string[] };

/** A registry of one enabled coin whose orders and swaps the test plays. */
async function registry(
  cancelOrdersOf: () => Promise<readonly string[]>,
  users: () => Users,
  chain: (source: ChainSource, rescan: boolean) => OpenedChain = () => new StillChain("DOC"),
  isWatched: () => boolean = () => false,
) {
  const entry = parseCoinEntry(DOC);
  const { node } = nodeKeys(new Secret("registry test"), false);
  if (!entry.ok) throw new Error(entry.error.detail);
  let closing: Promise<void> = Promise.resolve();
  const clock = new VirtualClock();
  const coins = new CoinRegistry({
    clock,
    log: new SilentLog(),
    entries: new Map([["DOC", entry.value]]),
    keyOf: () => ok(node),
    openChain: async (_entry, _kind, source, rescan) => ok(chain(source, rescan)),
    feeCeilingFactor: 8,
    prepare: () => undefined,
    beforeClose: () => closing,
    usersOf: users,
    isWatched,
    cancelOrdersOf,
  });
  const request = { coin: "DOC", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined };
  const enable = (aside = false) => coins.enable({ ...request, birthdayHeight: undefined }, new AbortController().signal, aside);
  expect((await enable()).ok).toBe(true);
  return {
    clock,
    coins,
    enable,
    holdClose(until: Promise<void>) {
      closing = until;
    },
  };
}
const NOBODY: Users = { matchingOrders: [], activeSwaps: [] };
const ONE_SWAP: Users = { matchingOrders: [], activeSwaps: ["a swap"] };

test("a swap that began while the orders of a coin were being cancelled keeps the coin", async () => {
  let users = NOBODY;
  const cancel = async () => {
    users = ONE_SWAP;
    return ["an order"];
  };
  const { coins } = await registry(cancel, () => users);
  const used = { kind: "CoinInUse", matchingOrders: [], cancelledOrders: ["an order"], activeSwaps: ["a swap"] };
  expect(await coins.disable("DOC", false)).toEqual({ ok: false, error: used });
  expect(coins.active("DOC")).toBeDefined();
  expect(await coins.disable("DOC", true)).toEqual({
    ok: true,
    value: { cancelledOrders: ["an order"], passivized: true, tokens: [], kept: ["DOC"] },
  });
  expect([coins.active("DOC"), coins.running("DOC")?.ticker]).toEqual([undefined, "DOC"]);
});

test("a coin that is enabled aside is for swaps alone until it is brought forward or asked for by itself", async () => {
  let users = NOBODY;
  const { coins, enable } = await registry(
    async () => [],
    () => users,
  );
  const seen: unknown[] = [];
  coins.onActivated(() => seen.push([coins.active("DOC"), coins.running("DOC")?.ticker]));
  const state = () => [coins.active("DOC")?.ticker, coins.running("DOC")?.ticker, coins.all().length];
  await coins.disable("DOC", false);
  for (let times = 0; times < 2; times++) expect((await enable(true)).ok).toBe(true);
  expect([seen, state()]).toEqual([[[undefined, "DOC"]], [undefined, "DOC", 0]]);
  users = ONE_SWAP;
  expect(await coins.closeAside("DOC")).toBe(false);
  expect(state()).toEqual([undefined, "DOC", 0]);
  users = NOBODY;
  expect(await coins.closeAside("DOC")).toBe(true);
  expect(state()).toEqual([undefined, undefined, 0]);
  expect((await enable(true)).ok).toBe(true);
  coins.bringForward("DOC");
  await coins.closeAside("DOC");
  expect(state()).toEqual(["DOC", "DOC", 1]);
  await coins.disable("DOC", false);
  expect((await enable(true)).ok).toBe(true);
  expect((await enable()).ok).toBe(true);
  expect(state()).toEqual(["DOC", "DOC", 1]);
});

test("a coin that stayed for its swaps goes on with the servers it is enabled with anew; what cannot be a server changes nothing", async () => {
  const used: unknown[] = [];
  const useServers = (servers: ElectrumServers) => {
    used.push(servers);
    return servers.servers[0]?.url === "" ? err({ kind: "BadServers" as const, reason: "no host" }) : ok(undefined);
  };
  const { coins, enable } = await registry(
    async () => [],
    () => ONE_SWAP,
    () => Object.assign(new StillChain("DOC"), { useServers }),
  );
  const electrum = (url: string, minConnected = 1): ElectrumServers => ({
    servers: [{ url, protocol: "TCP", anyCertificate: false, timeoutSec: undefined }],
    ...{ minConnected, maxConnected: undefined },
  });
  const request = { coin: "DOC", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined };
  const enableWith = (servers: ElectrumServers, aside = false) =>
    coins.enable({ ...request, birthdayHeight: undefined, electrum: servers }, new AbortController().signal, aside);
  expect(await coins.disable("DOC", true)).toMatchObject({ ok: true, value: { passivized: true } });
  const coin = coins.running("DOC");
  expect(await enableWith(electrum("a:1", 2))).toMatchObject({ ok: false, error: { kind: "BadServers" } });
  expect(await enableWith(electrum(""))).toEqual({ ok: false, error: { kind: "BadServers", reason: "no host" } });
  expect([used, coins.active("DOC")]).toEqual([[electrum("")], undefined]);
  expect(await enableWith(electrum("b:1"), true)).toMatchObject({ ok: true });
  expect([used.length, coins.active("DOC")]).toEqual([1, undefined]);
  expect(await enableWith(electrum("b:1"))).toMatchObject({ ok: true });
  expect([used[1], coins.active("DOC") === coin]).toEqual([electrum("b:1"), true]);
  await coins.disable("DOC", true);
  // A daemon in their place, or no servers at all: as it was.
  expect(await enable()).toMatchObject({ ok: true });
  expect([used.length, coins.active("DOC") === coin]).toEqual([2, true]);
});

test("a coin that was kept for its swaps with a wrong password is opened anew with the right one", async () => {
  let users = NOBODY;
  const { clock, coins } = await registry(
    async () => [],
    () => users,
    (source) => {
      const chain = new StillChain("DOC");
      const password = source.kind === "daemon" ? source.address?.password.reveal() : undefined;
      if (password === "wrong") chain.trouble = "The DOC daemon refuses the password.";
      return chain;
    },
  );
  await coins.disable("DOC", false);
  users = ONE_SWAP;
  const enableWith = async (password: string) => {
    const daemon = { url: "http://127.0.0.1:1", user: "u", password: new Secret(password) };
    const request = { coin: "DOC", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon };
    const enabling = coins.enable({ ...request, birthdayHeight: undefined }, new AbortController().signal);
    await clock.advance(20_000);
    return enabling;
  };
  for (let times = 0; times < 2; times++) {
    expect(await enableWith("wrong")).toMatchObject({ ok: false, error: { kind: "DaemonFailed" } });
    expect([coins.active("DOC"), coins.running("DOC")?.ticker]).toEqual([undefined, "DOC"]);
  }
  expect(await enableWith("right")).toMatchObject({ ok: true });
  expect(coins.active("DOC")?.ticker).toBe("DOC");
});

test("a platform coin whose tokens are refused was never there for trades, and its stored orders wait on", async () => {
  let cancelled = 0;
  const { coins } = await registry(
    async () => {
      cancelled++;
      return [];
    },
    () => NOBODY,
  );
  await coins.disable("DOC", false);
  const seen: unknown[] = [];
  coins.onActivated(() => seen.push(coins.active("DOC")));
  const request = {
    ...{ coin: "DOC", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined },
    ...{ birthdayHeight: undefined, rescan: false, electrum: undefined, txHistory: false, addressFormat: undefined },
    nodes: { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined },
  };
  const tokens = [{ ticker: "NONE", requiredConfirmations: undefined }];
  const done = await enableWithTokens(coins, request, tokens, new AbortController().signal);
  expect(done).toEqual({ ok: false, error: { of: "tokens", error: { kind: "TokenConfigIsNotFound", ticker: "NONE" } } });
  expect([seen, coins.running("DOC"), cancelled]).toEqual([[undefined], undefined, 1]);
});

test("a coin whose swaps have ended and may change yet stays for them, by force or not, and goes once they cannot", async () => {
  for (const force of [false, true]) {
    let isWatched = true;
    let opened = 0;
    const open = () => {
      opened++;
      return new StillChain("DOC");
    };
    const { coins, enable } = await registry(
      async () => [],
      () => NOBODY,
      open,
      () => isWatched,
    );
    expect(await coins.disable("DOC", force)).toEqual(ok({ cancelledOrders: [], passivized: true, tokens: [], kept: ["DOC"] }));
    expect([coins.active("DOC"), coins.running("DOC")?.ticker]).toEqual([undefined, "DOC"]);
    expect(await coins.disableAwaited("DOC", [], force)).toMatchObject(ok({ passivized: true, kept: ["DOC"] }));
    // What is asked for now counts: a start that comes back for swaps changes nothing, another client may want it scanned anew.
    expect([(await enable(true)).ok, opened]).toEqual([true, 1]);
    expect([(await enable()).ok, opened]).toEqual([true, 2]);
    isWatched = false;
    expect(await coins.disable("DOC", force)).toMatchObject(ok({ passivized: false, kept: [] }));
    expect(coins.running("DOC")).toBeUndefined();
  }
});

test.each(["answers", "is away"])(
  "a coin that stayed for swaps that have ended stays for them where enabling it is refused or called off, also while what it had %s",
  async (had) => {
    const isUp = new Map([["first", true]]);
    const chains: StillChain[] = [];
    let isRescanned: boolean | undefined;
    const { clock, coins } = await registry(
      async () => [],
      () => NOBODY,
      (source, rescan) => {
        isRescanned = rescan;
        const chain = new StillChain("DOC");
        const password = source.kind === "daemon" ? source.address?.password.reveal() : undefined;
        if (password !== undefined && !isUp.get(password)) chain.trouble = "The DOC daemon refuses the password.";
        chains.push(chain);
        return chain;
      },
      () => true,
    );
    const enableWith = async (password: string, stop = new AbortController()) => {
      const daemon = { url: "http://127.0.0.1:1", user: "u", password: new Secret(password) };
      const request = { coin: "DOC", mm2: true, requiredConfirmations: 7, requiresNotarization: undefined, daemon, rescan: true };
      const enabling = coins.enable({ ...request, birthdayHeight: undefined }, stop.signal);
      const ended = enabling.catch((cause: unknown) => cause);
      await clock.advance(1_000);
      if (password === "called off") stop.abort();
      await clock.advance(20_000);
      return ended;
    };
    await coins.disable("DOC", false);
    expect(await enableWith("first")).toMatchObject({ ok: true });
    await coins.disable("DOC", false);
    isUp.set("first", had === "answers");
    const state = () => [
      coins.active("DOC"),
      coins.running("DOC")?.settings.confirmations,
      chains.filter((chain) => !chain.isClosed).length,
    ];
    expect(await enableWith("wrong")).toMatchObject(err({ kind: "DaemonFailed" }));
    expect([...state(), isRescanned]).toEqual([undefined, 7, 1, false]);
    expect(await enableWith("called off")).toBeInstanceOf(Aborted);
    expect(state()).toEqual([undefined, 7, 1]);
    isUp.set("right", true);
    expect(await enableWith("right")).toMatchObject({ ok: true });
    expect([coins.active("DOC")?.ticker, ...state().slice(1)]).toEqual(["DOC", 7, 1]);
  },
);

test("no order can be placed on a coin that is being disabled, and it is disabled once", async () => {
  const seen: unknown[] = [];
  const made = await registry(
    async () => {
      seen.push(made.coins.active("DOC"), await made.coins.disable("DOC", false));
      return [];
    },
    () => NOBODY,
  );
  expect(await made.coins.disable("DOC", false)).toEqual({
    ok: true,
    value: { cancelledOrders: [], passivized: false, tokens: [], kept: [] },
  });
  expect(seen).toEqual([undefined, { ok: false, error: { kind: "NoSuchCoin", coin: "DOC" } }]);
});

test("a coin is not opened again before it has closed: two indexes would write one table", async () => {
  const { coins, enable, holdClose } = await registry(
    async () => [],
    () => NOBODY,
  );
  let closed: () => void = () => undefined;
  holdClose(
    new Promise((resolve) => {
      closed = resolve;
    }),
  );
  const disabling = coins.disable("DOC", false);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(await enable()).toEqual({ ok: false, error: { kind: "BeingDisabled", coin: "DOC" } });
  closed();
  expect((await disabling).ok).toBe(true);
  expect((await enable()).ok).toBe(true);
});

test("a coin that is being disabled is not enabled again before it is: whoever asked would have been told of a coin that goes", async () => {
  const seen: unknown[] = [];
  const made = await registry(
    async () => {
      seen.push(await made.enable());
      return [];
    },
    () => NOBODY,
  );
  expect(await made.coins.disable("DOC", false)).toEqual({
    ok: true,
    value: { cancelledOrders: [], passivized: false, tokens: [], kept: [] },
  });
  expect(seen).toEqual([{ ok: false, error: { kind: "BeingDisabled", coin: "DOC" } }]);
  expect((await made.enable()).ok).toBe(true);
});

test("a coin whose orders cannot be cancelled stays enabled, and can be disabled once they can", async () => {
  let isDiskFull = true;
  const { coins, enable } = await registry(
    async () => {
      if (isDiskFull) throw new Error("disk is full");
      return [];
    },
    () => NOBODY,
  );
  await expect(coins.disable("DOC", false)).rejects.toThrow("disk is full");
  expect(coins.active("DOC")).toBeDefined();
  expect(await enable()).toMatchObject({ ok: false, error: { kind: "AlreadyActive" } });
  isDiskFull = false;
  expect(await coins.disable("DOC", false)).toMatchObject({ ok: true });
});

test("a coin that is being opened when the node stops is closed with it, and none is opened afterwards", async () => {
  const chains: StillChain[] = [];
  const { coins, enable } = await registry(
    async () => [],
    () => NOBODY,
    () => {
      const chain = new StillChain("DOC");
      if (chains.length > 0) chain.trouble = "The DOC daemon is starting.";
      chains.push(chain);
      return chain;
    },
  );
  await coins.disable("DOC", false);
  const enabling = enable();
  const told = expect(enabling).rejects.toThrow(Aborted);
  await coins.close();
  await told;
  expect(chains.map((chain) => chain.isClosed)).toEqual([true, true]);
  await expect(enable()).rejects.toThrow(Aborted);
  expect([chains.length, coins.all()]).toEqual([2, []]);
});

test("a mistake of this node while a coin opens is not told as a failure of its daemon, and leaves nothing open", async () => {
  const chains: StillChain[] = [];
  const { coins, enable } = await registry(
    async () => [],
    () => NOBODY,
    () => {
      const chain = new StillChain("DOC");
      if (chains.length > 0) chain.watchScript = () => Promise.reject(new TypeError("a mistake"));
      chains.push(chain);
      return chain;
    },
  );
  await coins.disable("DOC", false);
  await expect(enable()).rejects.toThrow("a mistake");
  expect([chains.map((chain) => chain.isClosed), coins.all()]).toEqual([[true, true], []]);
});
