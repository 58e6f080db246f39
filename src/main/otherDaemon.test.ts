import { expect, onTestFinished, test, vi } from "vitest";
import { KMD_COIN, LEGACY_COIN } from "../../test/contract/embeddedChain.ts";
import { quietLog } from "../../test/fakes/quietLog.ts";
import { ACTIVATION_SCHEMA, createActivationStore } from "../adapters/sqlite/activationStore.ts";
import { PIN_SCHEMA } from "../adapters/sqlite/certificatePins.ts";
import { CHAIN_SCHEMA } from "../adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { ActivationSeal } from "../app/coin/activationSeal.ts";
import { CoinRegistry } from "../app/coin/coinRegistry.ts";
import { LastCoins } from "../app/coin/lastCoins.ts";
import { startChainServer } from "../chain/startChainServer.ts";
import { parseCoinEntry } from "../core/coin/coinEntry.ts";
import { ok } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";
import { createChainOpener } from "./chainOpener.ts";
import { coinsApi } from "./coinsApi.ts";
import { nodeKeys } from "./nodeKeys.ts";

const clock = createSystemClock();
const { signal } = new AbortController();

/** Where a daemon of a chain of its own listens. */
async function daemon(coin: object): Promise<string> {
  const server = await startChainServer({ coin, clock, rng: seededRng(1), port: 0, user: "u", password: "word", blockTimeMs: null });
  if (!server.ok) return expect.fail(server.error.detail);
  onTestFinished(() => server.value.close());
  return new URL(server.value.rpcUrl).origin;
}

/** A node with one coin, which an open swap needs and a client has disabled by force. */
async function nodeWithCoinAside() {
  const url = await daemon(LEGACY_COIN);
  const entry = parseCoinEntry({ ...LEGACY_COIN, mm2: 1, protocol: { type: "UTXO" }, confpath: "/nonexistent/TST.conf" });
  if (!entry.ok) return expect.fail(entry.error.detail);
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  const activations = createActivationStore(openInlineDatabase(":memory:", [ACTIVATION_SCHEMA]));
  const seal = new ActivationSeal(new Secret(new Uint8Array(32)), seededRng(2));
  const started = async () => {
    const coins = new CoinRegistry({
      ...{ clock, log: quietLog, entries: new Map([["TST", entry.value]]), feeCeilingFactor: 8 },
      keyOf: () => ok(nodeKeys(new Secret("other daemon"), false).node),
      openChain: createChainOpener({ clock, rng: seededRng(3), log: quietLog, db }),
      prepare: () => undefined,
      beforeClose: async () => undefined,
      usersOf: () => ({ matchingOrders: [], activeSwaps: ["a swap"] }),
      isWatched: () => true,
      cancelOrdersOf: async () => [],
    });
    const last = new LastCoins({ coins, clock, log: quietLog, store: activations, seal });
    await last.start();
    const end = async () => {
      await last.close();
      await coins.close();
    };
    return { coins, api: coinsApi(coins, last), end };
  };
  const request = {
    ...{ coin: "TST", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, birthdayHeight: undefined },
    ...{ rescan: false, electrum: undefined, txHistory: false, addressFormat: undefined },
    nodes: { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined },
  };
  const at = (rpcUrl: string, password: string) => ({ ...request, daemon: { url: rpcUrl, user: "u", password: new Secret(password) } });
  const first = await started();
  expect((await first.api.enable(at(url, "word"), signal)).ok).toBe(true);
  expect(await first.api.disable("TST", true)).toMatchObject({ ok: true, value: { passivized: true } });
  return { ...first, url, request, at, started };
}

test("a coin that stayed for its swaps is enabled with no daemon that cannot be used, which the next start would go on with", async () => {
  const { api, coins, url, request, at, started, end } = await nodeWithCoinAside();
  const other = await daemon({ ...KMD_COIN, coin: "OTHER" });
  const free = "http://127.0.0.1:1";
  const refused = [
    [at(url, "wrong"), "DaemonFailed"],
    [at(free, "word"), "DaemonFailed"],
    [at(other, "word"), "DaemonFailed"],
    [at("nowhere", "word"), "BadDaemonUrl"],
    [{ ...request, daemon: undefined }, "DaemonConfig"],
    [{ ...at(url, "word"), addressFormat: "segwit" }, "NotSupported"],
  ] as const;
  for (const [named, kind] of refused) {
    expect(await api.enable(named, signal)).toMatchObject({ ok: false, error: { kind } });
    expect([api.active("TST"), coins.running("TST")?.chain.status().state]).toEqual([undefined, "ready"]);
  }
  await end();
  const next = await started();
  onTestFinished(next.end);
  await vi.waitFor(() => expect(next.coins.running("TST")?.chain.status().state).toBe("ready"), 20_000);
}, 60_000);

test("nor with servers that cannot be its servers", async () => {
  const { api, request, end } = await nodeWithCoinAside();
  onTestFinished(end);
  const server = { url: "nothing", protocol: "TCP", anyCertificate: false, timeoutSec: undefined } as const;
  for (const servers of [[], [server]]) {
    const electrum = { servers, minConnected: undefined, maxConnected: undefined };
    expect(await api.enable({ ...request, daemon: undefined, electrum }, signal)).toMatchObject({
      ok: false,
      error: { kind: "BadServers" },
    });
    expect(api.active("TST")).toBeUndefined();
  }
}, 30_000);

test("with one that can be used it takes new trades again, and goes on with that after a start", async () => {
  const { api, url, at, started, end } = await nodeWithCoinAside();
  const named = `${url.replace("127.0.0.1", "localhost")}/`;
  expect(await api.enable(at(named, "word"), signal)).toMatchObject({ ok: true });
  expect(api.active("TST")?.ticker).toBe("TST");
  await end();
  const next = await started();
  onTestFinished(next.end);
  await vi.waitFor(() => expect(next.api.active("TST")?.ticker).toBe("TST"), 20_000);
}, 30_000);
