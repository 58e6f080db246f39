import { expect, onTestFinished, test, vi } from "vitest";
import { LEGACY_COIN } from "../../test/contract/embeddedChain.ts";
import { quietLog } from "../../test/fakes/quietLog.ts";
import { PIN_SCHEMA } from "../adapters/sqlite/certificatePins.ts";
import { CHAIN_SCHEMA, openChainStore } from "../adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { CoinRegistry } from "../app/coin/coinRegistry.ts";
import type { EnableRequest } from "../app/coin/enabling.ts";
import { startChainServer } from "../chain/startChainServer.ts";
import { parseCoinEntry } from "../core/coin/coinEntry.ts";
import { ok } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";
import { createChainOpener } from "./chainOpener.ts";
import { nodeKeys } from "./nodeKeys.ts";

const clock = createSystemClock();
const { signal } = new AbortController();
const plain = {
  ...{ coin: "TST", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, birthdayHeight: undefined },
};

/** A coin that was enabled over a daemon and disabled, and stays for swaps that have ended; and its index on the disk. */
async function coinAside() {
  const options = { coin: LEGACY_COIN, clock, rng: seededRng(1), port: 0, user: "u", password: "word", blockTimeMs: null };
  const daemon = await startChainServer(options);
  if (!daemon.ok) return expect.fail(daemon.error.detail);
  onTestFinished(() => daemon.value.close());
  const entry = parseCoinEntry({ ...LEGACY_COIN, mm2: 1, protocol: { type: "UTXO" } });
  if (!entry.ok) return expect.fail(entry.error.detail);
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  const coins = new CoinRegistry({
    ...{ clock, log: quietLog, entries: new Map([["TST", entry.value]]), feeCeilingFactor: 8 },
    keyOf: () => ok(nodeKeys(new Secret("rescan"), false).node),
    openChain: createChainOpener({ clock, rng: seededRng(3), log: quietLog, db }),
    prepare: () => undefined,
    beforeClose: async () => undefined,
    usersOf: () => ({ matchingOrders: [], activeSwaps: [] }),
    isWatched: () => true,
    cancelOrdersOf: async () => [],
  });
  onTestFinished(() => coins.close());
  const url = new URL(daemon.value.rpcUrl).origin;
  const at = (password: string) => ({ ...plain, daemon: { url, user: "u", password: new Secret(password) } });
  const enable = (request: EnableRequest) => coins.enable(request, signal);
  expect((await enable(at("word"))).ok).toBe(true);
  expect(await coins.disable("TST", false)).toMatchObject({ ok: true, value: { passivized: true } });
  return { coins, db, at, enable, index: () => openChainStore(db, "TST").load() };
}

test("a coin that stayed for ended swaps is not even closed by a request that cannot be", async () => {
  const { coins, enable, index, at } = await coinAside();
  const [coin, before] = [coins.running("TST"), await index()];
  expect(before).toMatchObject({
    genesis: expect.any(String),
    watches: expect.arrayContaining([expect.objectContaining({ nextHeight: null })]),
  });
  const server = { url: "nothing", protocol: "TCP", anyCertificate: false, timeoutSec: undefined } as const;
  const refused = [
    [at("wrong"), "DaemonFailed"],
    [{ ...at("word"), addressFormat: "segwit" }, "NotSupported"],
    [{ ...at("word"), daemon: { url: "nowhere", user: "", password: new Secret("") } }, "BadDaemonUrl"],
    [{ ...at("word"), electrum: { servers: [server], minConnected: undefined, maxConnected: undefined } }, "BadServers"],
  ] as const;
  for (const [request, kind] of refused) expect(await enable({ ...request, rescan: true })).toMatchObject({ ok: false, error: { kind } });
  expect([coins.running("TST"), coins.active("TST")]).toEqual([coin, undefined]);
  expect(await index()).toEqual(before);
}, 60_000);

test("it keeps its index where it is to be scanned anew over servers that are away", async () => {
  const { coins, enable, index, at } = await coinAside();
  const before = await index();
  const server = { url: "127.0.0.1:1", protocol: "TCP", anyCertificate: false, timeoutSec: undefined } as const;
  const electrum = { servers: [server], minConnected: undefined, maxConnected: undefined };
  expect(await enable({ ...at("word"), electrum, rescan: true })).toMatchObject({ ok: false, error: { kind: "DaemonFailed" } });
  expect(await index()).toEqual(before);
  await vi.waitFor(() => expect(coins.running("TST")?.chain.status().state).toBe("ready"), 20_000);
}, 60_000);

test("over a daemon that can be used it is scanned anew", async () => {
  const { db, enable, at } = await coinAside();
  await db.write([{ sql: "UPDATE chain_meta SET genesis = ?", params: ["00".repeat(32)] }]);
  expect(await enable(at("word"))).toMatchObject({ ok: false, error: { kind: "DaemonFailed" } });
  expect(await enable({ ...at("word"), rescan: true })).toMatchObject({ ok: true });
}, 60_000);
