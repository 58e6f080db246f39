import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LEGACY_COIN } from "../../test/contract/embeddedChain.ts";
import { quietLog } from "../../test/fakes/quietLog.ts";
import { CHAIN_SCHEMA } from "../adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { CoinRegistry } from "../app/coin/coinRegistry.ts";
import { startChainServer } from "../chain/startChainServer.ts";
import { parseCoinEntry } from "../core/coin/coinEntry.ts";
import { ok } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";
import { createChainOpener } from "./chainOpener.ts";
import { nodeKeys } from "./nodeKeys.ts";

const clock = createSystemClock();

/** A coin whose conf file leaves the login to the daemon's cookie, which is not there yet. */
async function coinWithoutCookie(swaps: () => readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "swapnode-late-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const options = { coin: LEGACY_COIN, clock, rng: seededRng(1), port: 0, user: "__cookie__", password: "word", blockTimeMs: null };
  const daemon = await startChainServer(options);
  if (!daemon.ok) return expect.fail(daemon.error.detail);
  onTestFinished(() => daemon.value.close());
  const confpath = join(folder, "TST.conf");
  writeFileSync(confpath, `rpcport=${daemon.value.port}\n`);
  const entry = parseCoinEntry({ ...LEGACY_COIN, mm2: 1, protocol: { type: "UTXO" }, confpath });
  if (!entry.ok) return expect.fail(entry.error.detail);
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  const coins = new CoinRegistry({
    ...{ clock, log: quietLog, entries: new Map([["TST", entry.value]]), feeCeilingFactor: 8 },
    keyOf: () => ok(nodeKeys(new Secret("late daemon"), false).node),
    openChain: createChainOpener({ clock, rng: seededRng(2), log: quietLog, db }),
    prepare: () => undefined,
    beforeClose: async () => undefined,
    usersOf: () => ({ matchingOrders: [], activeSwaps: swaps() }),
    isWatched: () => false,
    cancelOrdersOf: async () => [],
  });
  onTestFinished(() => coins.close());
  const request = { coin: "TST", mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined };
  return {
    coins,
    enable: () => coins.enable({ ...request, birthdayHeight: undefined }, new AbortController().signal),
    writeCookie: () => writeFileSync(join(folder, ".cookie"), "__cookie__:word"),
  };
}

test("a coin whose daemon has left no login yet stays for the swaps that wait for it, and is there once the login is", async () => {
  const { coins, enable, writeCookie } = await coinWithoutCookie(() => ["a swap"]);
  const refused = await enable();
  expect(refused).toMatchObject({
    ok: false,
    error: { kind: "DaemonFailed", message: expect.stringMatching(/no cookie file .+running\?/) },
  });
  expect([coins.running("TST")?.ticker, coins.active("TST")]).toEqual(["TST", undefined]);
  writeCookie();
  expect((await enable()).ok).toBe(true);
  expect(coins.active("TST")).toBe(coins.running("TST"));
}, 30_000);

test("without such swaps it is refused at once, and nothing of it stays", async () => {
  const { coins, enable, writeCookie } = await coinWithoutCookie(() => []);
  expect(await enable()).toMatchObject({ ok: false, error: { kind: "DaemonConfig" } });
  expect(coins.running("TST")).toBeUndefined();
  writeCookie();
  expect((await enable()).ok).toBe(true);
}, 30_000);
