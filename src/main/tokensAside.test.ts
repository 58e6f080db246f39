import { expect, test } from "vitest";
import { coinNode } from "../../test/fakes/coinNode.ts";
import { FakeAccountChain } from "../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../adapters/sqlite/accountTxStore.ts";
import { ACTIVATION_SCHEMA, createActivationStore } from "../adapters/sqlite/activationStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { ActivationSeal } from "../app/coin/activationSeal.ts";
import { LastCoins } from "../app/coin/lastCoins.ts";
import { addressFromBytes, checksumAddress } from "../core/evm/address.ts";
import { err, ok } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";
import type { AccountChain, NodeHealth } from "../ports/accountChain.ts";
import { Aborted } from "../ports/clock.ts";
import { coinsApi } from "./coinsApi.ts";

const contractOf = (byte: number) => addressFromBytes(new Uint8Array(20).fill(byte));
const SWAPS_AT = checksumAddress(contractOf(0x24));
const NO_CONTRACT_AT = checksumAddress(contractOf(0x25));
const token = (coin: string, byte: number) => ({
  ...{ coin, mm2: 1, decimals: 6 },
  protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: `0x${contractOf(byte)}` } },
});
const ENTRIES = [
  { coin: "ETH", mm2: 1, protocol: { type: "ETH", protocol_data: { chain_id: 1 } } },
  token("USED", 0x11),
  token("IDLE", 0x22),
];
const { signal } = new AbortController();

type Nodes = "answer" | "are silent" | "are away" | "give other decimals" | "name another chain" | "have no contract";

const FOREIGN: NodeHealth = {
  name: "a",
  state: "refused",
  height: null,
  latencyMs: null,
  contradictions: 0,
  calls: 0,
  trouble: "it serves another chain",
};

/**
 * An account chain.
 * @param nodes what they do when they are asked how many decimal places tokens have, and which chain they serve
 * @param waiting what is told when they do something else
 */
function accountChain(nodes: () => Nodes, waiting: Set<() => void>): FakeAccountChain {
  const chain = new FakeAccountChain();
  for (const byte of [0x11, 0x22]) chain.tokenBalances.set(contractOf(byte), 500n);
  // Those that are named later may have another chain of the same number.
  chain.swapContracts = new Set(nodes() === "have no contract" ? [] : [contractOf(0x24)]);
  const told = chain.tokensDecimals.bind(chain);
  const tokensDecimals: AccountChain["tokensDecimals"] = async (tokens, until) => {
    if (nodes() === "are away") return err({ kind: "Unreachable", message: "no node answers" });
    if (nodes() === "are silent")
      await new Promise<void>((resolve, reject) => {
        waiting.add(resolve);
        until?.addEventListener("abort", () => reject(new Aborted()));
      });
    return nodes() === "give other decimals" ? ok(tokens.map(() => ok(18))) : told(tokens);
  };
  const shown = chain.status.bind(chain);
  const status = () => (nodes() === "name another chain" ? { ...shown(), nodes: [FOREIGN] } : shown());
  return Object.assign(chain, { tokensDecimals, status });
}

/** A node whose open swaps are of these coins: its first run with all coins enabled, and each later one as it starts with those of the last. */
function node(
  swaps: Set<string>,
  ended: ReadonlySet<string> = new Set(),
  cancelOrdersOf: (ticker: string) => Promise<readonly string[]> = async () => [],
) {
  const activations = createActivationStore(openInlineDatabase(":memory:", [ACTIVATION_SCHEMA]));
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const seal = new ActivationSeal(new Secret(new Uint8Array(32)), seededRng(1));
  let nodes: Nodes = "answer";
  const waiting = new Set<() => void>();
  const chains: FakeAccountChain[] = [];
  const openChain = async () => {
    const chain = accountChain(() => nodes, waiting);
    chains.push(chain);
    return ok(chain);
  };
  const swapsOf = (ticker: string) => (swaps.has(ticker) ? ["a swap"] : []);
  const run = async (begin: Nodes = "answer") => {
    nodes = begin;
    const { coins, clock } = await coinNode(ENTRIES, "tokens of a run before", false, null, "spec", {
      parts: { openChain, store },
      swapsOf,
      isWatched: (ticker) => ended.has(ticker),
      cancelOrdersOf,
    });
    const last = new LastCoins({ coins, clock, log: new SilentLog(), store: activations, seal });
    await last.start();
    await clock.advance(60_000);
    /** Coins that are there, those that take no new trades in brackets. */
    const there = () => ENTRIES.flatMap(({ coin }) => (coins.wallet(coin) ? [coin] : coins.running(coin) ? [`(${coin})`] : [])).join(" ");
    const end = async () => {
      await last.close();
      await coins.close();
    };
    const heal = async () => {
      nodes = "answer";
      await clock.advance(120_000);
    };
    const show = (now: Nodes): void => {
      nodes = now;
      for (const goOn of waiting) goOn();
    };
    return { api: coinsApi(coins, last), there, end, heal, nodes: show };
  };
  const at = { urls: ["http://127.0.0.1:8545"], swapContract: SWAPS_AT, fallbackSwapContract: undefined };
  const plain = {
    ...{ mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined, birthdayHeight: undefined },
    ...{ rescan: false, electrum: undefined, txHistory: false, addressFormat: undefined },
  };
  const request = (coin: string, nodes: object = {}) => ({ coin, ...plain, nodes: { ...at, ...nodes } });
  const first = async () => {
    const begun = await run();
    expect((await begun.api.enable(request("ETH"), signal)).ok).toBe(true);
    const tokens = ["USED", "IDLE"].map((ticker) => ({ ticker, requiredConfirmations: undefined }));
    expect((await begun.api.enableTokens("ETH", tokens, signal)).ok).toBe(true);
    return begun;
  };
  return { first, run, request, chains };
}

test("a token that is disabled by force while swaps need it comes back for them after a start, and is forgotten once they have ended", async () => {
  const swaps = new Set(["USED"]);
  const { first, run } = node(swaps);
  let now = await first();
  expect(await now.api.disable("USED", true)).toMatchObject(ok({ passivized: true }));
  for (let start = 0; start < 2; start++) {
    expect(now.there()).toBe("ETH (USED) IDLE");
    await now.end();
    now = await run();
  }
  expect(now.there()).toBe("ETH (USED) IDLE");
  await now.end();
  swaps.clear();
  now = await run();
  expect(now.there()).toBe("ETH IDLE");
  await now.end();
  swaps.add("USED");
  now = await run();
  expect(now.there()).toBe("ETH IDLE");
});

test("a platform coin that is disabled by force comes back for a token that swaps need, and with it; what they need no more is forgotten", async () => {
  const swaps = new Set(["USED"]);
  const { first, run } = node(swaps);
  let now = await first();
  expect(await now.api.disable("ETH", true)).toMatchObject(ok({ passivized: true }));
  expect(now.there()).toBe("(ETH) (USED)");
  await now.end();
  now = await run();
  expect(now.there()).toBe("(ETH) (USED)");
  await now.end();
  swaps.clear();
  now = await run();
  expect(now.there()).toBe("");
  await now.end();
  swaps.add("USED");
  now = await run();
  expect(now.there()).toBe("");
});

test("a platform coin that is disabled by force while orders of it cannot be cancelled keeps its tokens, and goes with all of them later", async () => {
  let disk: "fails" | "takes writes" = "fails";
  const { first, run } = node(new Set(), new Set(), async (ticker) => {
    if (ticker === "ETH" && disk === "fails") throw new Error("the disk is full");
    return [`an order of ${ticker}`];
  });
  let now = await first();
  await expect(now.api.disable("ETH", true)).rejects.toThrow("the disk is full");
  expect(now.there()).toBe("ETH USED IDLE");
  disk = "takes writes";
  const done = await now.api.disable("ETH", true);
  expect(done.ok && new Set(done.value.cancelledOrders)).toEqual(new Set(["USED", "IDLE", "ETH"].map((ticker) => `an order of ${ticker}`)));
  expect(now.there()).toBe("");
  await now.end();
  now = await run();
  expect(now.there()).toBe("");
});

test("a token that came back for swaps takes new trades where it is enabled again, after later starts, too", async () => {
  const { first, run } = node(new Set(["USED"]));
  let now = await first();
  await now.api.disable("USED", true);
  await now.end();
  now = await run();
  expect((await now.api.enableTokens("ETH", [{ ticker: "USED", requiredConfirmations: undefined }], signal)).ok).toBe(true);
  expect(now.there()).toBe("ETH USED IDLE");
  await now.end();
  now = await run();
  expect(now.there()).toBe("ETH USED IDLE");
});

test("a platform coin whose tokens are just being enabled is not disabled while swaps need one of them; by force it stays for that one alone", async () => {
  const { first, run } = node(new Set(["USED"]));
  await (await first()).end();
  let now = await run("are silent");
  expect(now.there()).toBe("ETH");
  expect(await now.api.disable("ETH", false)).toMatchObject(err({ kind: "CoinInUse", activeSwaps: ["a swap"] }));
  expect(await now.api.disable("ETH", true)).toMatchObject(ok({ passivized: true }));
  await now.end();
  now = await run();
  expect(now.there()).toBe("(ETH) (USED)");
});

test("a token that was disabled by force while swaps need it stays for them alone when its nodes are there again", async () => {
  const { first, run } = node(new Set(["USED"]));
  let now = await first();
  await now.api.disable("USED", true);
  await now.end();
  now = await run("are away");
  expect(now.there()).toBe("ETH (USED)");
  await now.heal();
  expect(now.there()).toBe("ETH (USED) IDLE");
});

test.each([
  ["name another chain", [], ""],
  ["name another chain", ["USED"], "(ETH) (USED)"],
  ["give other decimals", [], "ETH"],
  ["give other decimals", ["USED"], "ETH (USED)"],
] as const)(
  "coins whose nodes %s for a while at a start, with swaps of %j, take new trades once they do not",
  async (nodes, swaps, before) => {
    const { first, run } = node(new Set(swaps));
    await (await first()).end();
    const now = await run(nodes);
    expect(now.there()).toBe(before);
    await now.heal();
    expect(now.there()).toBe("ETH USED IDLE");
  },
);

test.each([
  ["ETH", "without nodes", { urls: undefined }],
  ["ETH", "with no node", { urls: [] }],
  ["ETH", "without a contract", { swapContract: undefined }],
  ["ETH", "with a contract that is none", { swapContract: "0x12" }],
  ["ETH", "with an older contract that is none", { fallbackSwapContract: "0x12" }],
  ["USED", "without a contract", { swapContract: undefined }],
] as const)("%s that stayed for swaps is not enabled %s: no start could open it so", async (coin, _, nodes) => {
  const { first, run, request } = node(new Set(["USED"]));
  let now = await first();
  await now.api.disable("ETH", true);
  expect(await now.api.enable(request(coin, nodes), signal)).toMatchObject(err({ kind: "BadAccountNodes" }));
  expect(now.there()).toBe("(ETH) (USED)");
  await now.end();
  now = await run();
  expect(now.there()).toBe("(ETH) (USED)");
  expect(await now.api.enable(request(coin), signal)).toMatchObject({ ok: true });
});

test.each([
  ["ETH", { swapContract: NO_CONTRACT_AT }],
  ["ETH", { fallbackSwapContract: NO_CONTRACT_AT }],
  ["USED", { swapContract: NO_CONTRACT_AT }],
])("%s that stayed for swaps is not enabled with %j where the chain has no contract", async (coin, nodes) => {
  const { first, run, request } = node(new Set(["USED"]));
  let now = await first();
  await now.api.disable("ETH", true);
  expect(await now.api.enable(request(coin, nodes), signal)).toMatchObject(err({ kind: "ChainMismatch", coin }));
  expect(now.there()).toBe("(ETH) (USED)");
  expect(await now.api.enable(request(coin), signal)).toMatchObject({ ok: true });
  await now.end();
  now = await run();
  expect(now.there()).toBe(coin === "ETH" ? "ETH (USED)" : "(ETH) USED");
});

test.each(["ETH", "USED"])("%s that stayed for swaps that have ended stays for them where enabling it is refused", async (coin) => {
  const { first, request } = node(new Set(), new Set([coin]));
  const now = await first();
  if (coin === "ETH") expect(await now.api.disable("IDLE", false)).toMatchObject({ ok: true });
  if (coin === "ETH") expect(await now.api.disable("USED", false)).toMatchObject({ ok: true });
  const kept = coin === "ETH" ? "(ETH)" : "ETH (USED) IDLE";
  expect(await now.api.disable(coin, false)).toMatchObject(ok({ passivized: true }));
  expect(await now.api.enable(request(coin, { swapContract: NO_CONTRACT_AT }), signal)).toMatchObject(err({ kind: "ChainMismatch", coin }));
  expect(now.there()).toBe(kept);
  expect(await now.api.enable({ ...request(coin), requiredConfirmations: 7 }, signal)).toMatchObject(
    ok({ settings: { confirmations: 7 } }),
  );
  await now.end();
});

test.each([
  ["beside its platform coin", ["USED"]],
  ["with its platform coin, which stayed for it", ["USED"]],
  ["with its platform coin, which stayed for its own", ["ETH"]],
] as const)(
  "a token that is enabled %s after swaps of %j have ended goes by what is asked for now, or stays where that is refused",
  async (how, ended) => {
    const { first, run, request } = node(new Set(), new Set(ended));
    let now = await first();
    const isBeside = how === "beside its platform coin";
    /** The confirmations that what is enabled by it goes by; null: it is refused. */
    const enable = async () => {
      const tokens = [{ ticker: "USED", requiredConfirmations: 7 }];
      const asked = { ...request("ETH"), requiredConfirmations: 9 };
      const done = await (isBeside ? now.api.enableTokens("ETH", tokens, signal) : now.api.enableWithTokens(asked, tokens, signal));
      if (!done.ok) return null;
      const coins = "tokens" in done.value ? [done.value.platform, ...done.value.tokens] : done.value;
      return coins.map(({ settings }) => settings.confirmations);
    };
    await now.api.disable(isBeside ? "USED" : "ETH", true);
    const kept = isBeside ? "ETH (USED) IDLE" : ended[0] === "USED" ? "(ETH) (USED)" : "(ETH)";
    expect(now.there()).toBe(kept);
    now.nodes("give other decimals");
    expect(await enable()).toBeNull();
    expect(now.there()).toBe(kept);
    now.nodes("answer");
    expect(await enable()).toEqual(isBeside ? [7] : [9, 7]);
    expect(now.there()).toBe(isBeside ? "ETH USED IDLE" : "ETH USED");
    await now.end();
    now = await run();
    expect(now.there()).toBe(isBeside ? "ETH USED IDLE" : "ETH USED");
    await now.end();
  },
);

test.each([
  ["are silent", "ETH"],
  ["are away", "ETH"],
  ["name another chain", ""],
] as const)("tokens whose nodes %s at a start go with a platform coin that stays for swaps that have ended", async (nodes, before) => {
  const { first, run } = node(new Set(), new Set(["ETH"]));
  await (await first()).end();
  let now = await run(nodes);
  expect(now.there()).toBe(before);
  expect(await now.api.disable("ETH", false)).toMatchObject(ok({ passivized: true }));
  await now.heal();
  expect(now.there()).toBe("(ETH)");
  await now.end();
  now = await run();
  expect(now.there()).toBe("(ETH)");
  await now.end();
});

test.each(["whose tokens have gone since", "whose swap has ended for good since"])(
  "a platform coin that stayed, and %s, goes by what it is enabled with anew",
  async (why) => {
    const swaps = new Set(["ETH"]);
    const { first, request } = node(swaps);
    const now = await first();
    const isForTokens = why === "whose tokens have gone since";
    if (isForTokens) swaps.clear();
    expect(await now.api.disable("ETH", !isForTokens)).toMatchObject(ok({ passivized: true }));
    if (isForTokens) for (const token of ["USED", "IDLE"]) expect(await now.api.disable(token, false)).toMatchObject({ ok: true });
    swaps.clear();
    expect(now.there()).toBe("(ETH)");
    const done = await now.api.enable({ ...request("ETH"), requiredConfirmations: 9 }, signal);
    expect([done.ok && done.value.settings.confirmations, now.there()]).toEqual([9, "ETH"]);
    await now.end();
  },
);

test("a token that stayed for a swap that has ended for good since goes by what it is enabled with anew", async () => {
  const swaps = new Set(["USED"]);
  const { first } = node(swaps);
  const now = await first();
  await now.api.disable("USED", true);
  swaps.clear();
  const done = await now.api.enableTokens("ETH", [{ ticker: "USED", requiredConfirmations: 7 }], signal);
  expect([done.ok && done.value[0]?.settings.confirmations, now.there()]).toEqual([7, "ETH USED IDLE"]);
  await now.end();
});

test("a platform coin that is enabled while another client enables it with tokens stays as it is, and they come to stand beside it", async () => {
  const { run, request } = node(new Set());
  const now = await run();
  now.nodes("are silent");
  const withTokens = now.api.enableWithTokens(request("ETH"), [{ ticker: "USED", requiredConfirmations: undefined }], signal);
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  expect(now.there()).toBe("(ETH)");
  expect(await now.api.enable(request("ETH"), signal)).toMatchObject({ ok: true });
  expect(now.there()).toBe("ETH");
  now.nodes("answer");
  expect((await withTokens).ok).toBe(true);
  expect(now.there()).toBe("ETH USED");
  await now.end();
});

test.each([
  ["that has ended", new Set<string>(), new Set(["ETH"])],
  ["that goes on", new Set(["ETH"]), new Set<string>()],
])(
  "a platform coin that stayed for a swap %s keeps its nodes where those it is enabled with do not have its contract",
  async (_, swaps, ended) => {
    const { first, request, chains } = node(swaps, ended);
    const now = await first();
    await now.api.disable("ETH", true);
    const others = { urls: ["http://127.0.0.1:8546"], swapContract: NO_CONTRACT_AT };
    expect(await now.api.enable(request("ETH", others), signal)).toMatchObject(err({ kind: "ChainMismatch", coin: "ETH" }));
    expect(chains.flatMap(({ used }) => used)).toEqual([]);
    expect(await now.api.enable(request("ETH", { urls: others.urls }), signal)).toMatchObject({ ok: true });
    expect(chains.flatMap(({ used }) => used)).toEqual([others.urls]);
    await now.end();
  },
);

test("nor does it go on for its swaps with nodes that do not have the contract it came with", async () => {
  const { first, request, chains } = node(new Set(["ETH"]));
  const now = await first();
  await now.api.disable("ETH", true);
  now.nodes("have no contract");
  const others = { urls: ["http://127.0.0.1:8546"] };
  expect(await now.api.enable(request("ETH", others), signal)).toMatchObject(err({ kind: "ChainMismatch", coin: "ETH" }));
  expect(chains.flatMap(({ used }) => used)).toEqual([]);
  now.nodes("answer");
  expect(await now.api.enable(request("ETH", others), signal)).toMatchObject({ ok: true });
  expect(chains.flatMap(({ used }) => used)).toEqual([others.urls]);
  await now.end();
});

test("nor does one that was kept without its nodes go on with others that do not have the contract it is refused for", async () => {
  const { first, run, request, chains } = node(new Set(["ETH"]));
  await (await first()).end();
  const now = await run("name another chain");
  now.nodes("answer");
  const others = { urls: ["http://127.0.0.1:8546"], swapContract: NO_CONTRACT_AT };
  expect(await now.api.enable(request("ETH", others), signal)).toMatchObject(err({ kind: "ChainMismatch", coin: "ETH" }));
  expect(chains.flatMap(({ used }) => used)).toEqual([]);
  await now.end();
});
