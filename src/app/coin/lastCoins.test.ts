import { expect, test } from "vitest";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { ACTIVATION_SCHEMA, createActivationStore } from "../../adapters/sqlite/activationStore.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { err, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import { Aborted } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { ActivationSeal } from "./activationSeal.ts";
import type { CoinRegistry } from "./coinRegistry.ts";
import type { EnableError, EnableRequest } from "./enabling.ts";
import { LastCoins } from "./lastCoins.ts";

const request = (coin: string, more: Partial<EnableRequest> = {}): EnableRequest => ({
  ...{ coin, mm2: true, requiredConfirmations: 2, requiresNotarization: undefined, daemon: undefined, birthdayHeight: undefined },
  ...{ electrum: undefined, rescan: false, txHistory: true, addressFormat: undefined },
  ...more,
});
const ELECTRUM = {
  servers: [{ url: "a:1", protocol: "SSL", anyCertificate: true, timeoutSec: undefined }],
  minConnected: 1,
  maxConnected: undefined,
} as const;
const MERGE = { mergeAt: 50, checkEverySec: 10, maxMergeAtOnce: 100 };
const seal = new ActivationSeal(new Secret(new Uint8Array(32).fill(7)), seededRng(1));
const never = async (): Promise<never> => expect.fail("nobody asked for it");
/** A registry of coins without account chains. */
const registry = (enable: Enable) => ({ enable, enableTokens: never, closeAside: never, wallet: () => undefined, entry: () => undefined });

type Enable = CoinRegistry["enable"];
/** Nothing reads the coin that is enabled. */
const enabled = { ok: true, value: {} } as Awaited<ReturnType<Enable>>;
const away = (coin: string): Result<never, EnableError> => err({ kind: "DaemonFailed", coin, message: "away" });

function world(
  enable: (coin: string, tries: number) => Awaited<ReturnType<Enable>>,
  db = openInlineDatabase(":memory:", [ACTIVATION_SCHEMA]),
) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const requests: EnableRequest[] = [];
  const store = createActivationStore(db);
  const coins = {
    async enable(r: EnableRequest, signal: AbortSignal) {
      if (signal.aborted) throw new Aborted();
      asked.push(`${r.coin}@${Math.floor((clock.nowMs() - 1_700_000_000_000) / 1_000)}`);
      requests.push(r);
      return enable(r.coin, asked.filter((a) => a.startsWith(`${r.coin}@`)).length);
    },
  };
  const last = new LastCoins({ coins: registry(coins.enable), store, seal, clock, log: new SilentLog() });
  return { last, clock, asked, requests, store, db };
}

test("what was enabled is enabled again after a start as it was, and not what was disabled", async () => {
  const before = world(() => enabled);
  await before.last.remember(request("A", { electrum: ELECTRUM, birthdayHeight: 7, addressFormat: "segwit", merge: MERGE }));
  await before.last.remember(request("B"));
  await before.last.remember(request("C"));
  await before.last.forget(["C"]);
  await before.last.remember(request("B", { requiredConfirmations: 5 }));
  const after = world(() => enabled, before.db);
  await after.last.start();
  expect(after.requests).toEqual([
    request("A", { electrum: ELECTRUM, birthdayHeight: 7, addressFormat: "segwit", merge: MERGE }),
    request("B", { requiredConfirmations: 5 }),
  ]);
});

test("a coin whose backend is away is tried with longer and longer pauses, until it is there or is disabled", async () => {
  const { last, clock, asked } = world((coin, tries) => (coin === "A" && tries === 4 ? enabled : away(coin)));
  for (const coin of ["A", "B"]) await last.remember(request(coin));
  await last.start();
  await clock.advance(75_000);
  await last.forget(["B"]);
  await clock.advance(3_600_000);
  expect(asked).toEqual(["A@0", "B@0", "A@10", "B@10", "A@30", "B@30", "A@70", "B@70"]);
});

test("a refusal that waiting does not mend, and a coin a client has enabled meanwhile, end it", async () => {
  const { last, clock, asked } = world((coin) =>
    coin === "A" ? err({ kind: "BadServers", reason: "x" }) : err({ kind: "AlreadyActive", coin, progress: null }),
  );
  for (const coin of ["A", "B"]) await last.remember(request(coin));
  await last.start();
  await clock.advance(3_600_000);
  expect(asked).toEqual(["A@0", "B@0"]);
});

test("a client who is enabling the coin just then may fail: it is tried on", async () => {
  const { last, clock, asked } = world((coin, tries) => (tries === 2 ? enabled : err({ kind: "BeingEnabled", coin, progress: null })));
  await last.remember(request("A"));
  await last.start();
  await clock.advance(3_600_000);
  expect(asked).toEqual(["A@0", "A@10"]);
});

test("a coin whose backend is away since the start is tried every minute in the end, and says why it is not there and what to do", async () => {
  const { last, clock, asked } = world((coin, tries) => (tries === 10 ? enabled : away(coin)));
  await last.remember(request("A"));
  expect(last.whyAway("A")).toBeNull();
  await last.start();
  await clock.advance(0);
  const said = "A was enabled before this node was started and is being enabled again. away. It is tried every minute until it is there; ";
  expect(last.whyAway("A")).toBe(`${said}enable it with other servers to go on at once, or disable it.`);
  expect(last.whyAway("B")).toBeNull();
  await clock.advance(400_000);
  expect(asked.slice(3)).toEqual(["A@70", "A@130", "A@190", "A@250", "A@310", "A@370"]);
  await clock.advance(3_600_000);
  expect(asked).toHaveLength(10);
  expect(last.whyAway("A")).toBeNull();
});

test("a client who enables a coin that is just being tried has it to himself; where he fails, it is tried on", async () => {
  const { clock } = world(() => enabled);
  const asked: string[] = [];
  const hanging: Enable = ({ coin }, signal) =>
    new Promise((_, reject) => {
      asked.push(coin);
      signal.addEventListener("abort", () => reject(new Aborted()));
    });
  const store = createActivationStore(openInlineDatabase(":memory:", [ACTIVATION_SCHEMA]));
  const last = new LastCoins({ coins: registry(hanging), store, seal, clock, log: new SilentLog() });
  await last.remember(request("A"));
  await last.start();
  expect([asked, last.isTried("A")]).toEqual([["A"], true]);
  const failed = async (): Promise<string> => {
    await clock.advance(100_000);
    expect([asked, last.isTried("A"), last.whyAway("A")]).toEqual([["A"], false, expect.stringMatching(/^A was enabled before/)]);
    return "failed";
  };
  expect(await last.instead(["A", "B"], failed)).toBe("failed");
  await clock.advance(100_000);
  expect([asked, last.isTried("A")]).toEqual([["A", "A"], true]);
  await last.instead(["A"], () => last.remember(request("A")));
  await clock.advance(3_600_000);
  expect([asked, last.whyAway("A")]).toEqual([["A", "A"], null]);
});

test("a coin that was put aside is not said to come back: it does for its tokens alone", async () => {
  const { clock, store } = world(away);
  const asked: unknown[] = [];
  const enable: Enable = async ({ coin }, _, aside) => {
    asked.push([coin, aside]);
    return away(coin);
  };
  const enableTokens: CoinRegistry["enableTokens"] = async () => err({ kind: "PlatformCoinIsNotActivated", platform: "ETH" });
  const last = new LastCoins({ coins: { ...registry(enable), enableTokens }, store, seal, clock, log: new SilentLog() });
  await last.remember(request("ETH", { nodes: { urls: ["http://a"], swapContract: undefined, fallbackSwapContract: undefined } }));
  await last.rememberTokens("ETH", [{ ticker: "T", requiredConfirmations: undefined }]);
  await last.setAside(["ETH"]);
  await last.start();
  await clock.advance(0);
  expect(asked).toEqual([["ETH", true]]);
  expect([last.whyAway("ETH"), last.whyAway("T")]).toEqual([null, expect.stringMatching(/^T was enabled before/)]);
  await last.close();
});

test("a coin that was put aside for swaps comes back for them, and is forgotten once there are none", async () => {
  const { clock, store } = world(() => enabled);
  const asked: unknown[] = [];
  const enable: Enable = async ({ coin }, _, aside) => {
    asked.push([coin, aside]);
    return enabled;
  };
  const rows = async () => (await store.all()).map(({ coin }) => coin);
  for (const isUnneeded of [false, true]) {
    const closeAside = async (coin: string) => coin === "ETH" && isUnneeded;
    const last = new LastCoins({ coins: { ...registry(enable), closeAside }, store, seal, clock, log: new SilentLog() });
    if (!isUnneeded) {
      for (const coin of ["ETH", "T"]) await last.remember(request(coin));
      await last.setAside(["ETH"]);
      await last.forget(["T"]);
    }
    expect(await rows()).toEqual(["ETH"]);
    await last.start();
    await clock.advance(0);
    await last.close();
  }
  expect([asked, await rows()]).toEqual([
    [
      ["ETH", true],
      ["ETH", true],
    ],
    [],
  ]);
});

test("closing ends the waiting", async () => {
  const { last, clock, asked } = world((coin) => away(coin));
  await last.remember(request("A"));
  await last.start();
  await clock.advance(5_000);
  await last.close();
  await clock.advance(3_600_000);
  expect(asked).toEqual(["A@0"]);
});

test("what is too long to be kept drops what was", async () => {
  const { last, store } = world(() => enabled);
  await last.remember(request("A"));
  const daemon = { url: "http://127.0.0.1:1", user: "u", password: new Secret("p".repeat(5_000)) };
  await last.remember(request("A", { daemon }));
  expect(await store.all()).toEqual([]);
});

test("a damaged record is passed over", async () => {
  const { last, store, asked } = world(() => enabled);
  await store.put([{ coin: "A", request: "{" }]);
  await last.remember(request("B"));
  await last.start();
  expect(asked).toEqual(["B@0"]);
});

test("a disk that refuses to remember or to forget a coin fails neither", async () => {
  const { clock } = world(() => enabled);
  const warned: string[] = [];
  const log: Log = { ...quietLog, warn: (event) => void warned.push(event) };
  const refuse = (): Promise<never> => Promise.reject(new Error("disk full"));
  const store = { all: async () => [], put: refuse, remove: refuse };
  const last = new LastCoins({ coins: registry(refuse), store, seal, clock, log });
  await last.remember(request("A"));
  await last.rememberTokens("A", [{ ticker: "B", requiredConfirmations: undefined }]);
  await last.forget(["A"]);
  expect(warned).toEqual(["last_coins_not_stored", "last_coins_not_stored", "last_coins_not_stored"]);
});
