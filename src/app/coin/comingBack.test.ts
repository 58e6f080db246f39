import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted } from "../../ports/clock.ts";
import type { CoinRegistry } from "./coinRegistry.ts";
import { AwaitedCoin, ComingBack } from "./comingBack.ts";
import type { ActiveCoin, EnableError } from "./enabling.ts";
import type { EnableTokensError } from "./evmParts.ts";

const coin = (ticker: string, aside = false) =>
  new AwaitedCoin({
    kind: "coin",
    request: {
      ...{ coin: ticker, mm2: true, requiredConfirmations: undefined, requiresNotarization: undefined, daemon: undefined },
      ...{ birthdayHeight: undefined },
    },
    aside,
  });
const token = (ticker: string, batch: string) =>
  new AwaitedCoin({ kind: "token", token: { ticker, requiredConfirmations: undefined }, platform: "ETH", batch, aside: false });

type Answer = Result<never, EnableError | EnableTokensError> | "ok";
const away = (of: string): Answer => err({ kind: "DaemonFailed", coin: of, message: `${of} is away` });

/** `answer`: to who is asked for, by names and how often they were. */
function world(coins: readonly AwaitedCoin[], answer: (names: string, times: number) => Answer) {
  const clock = new VirtualClock();
  const started = clock.nowMs();
  const asked: string[] = [];
  const over: string[] = [];
  const there = new Set<string>();
  const asides: string[] = [];
  const closed: string[] = [];
  async function ask(names: readonly string[], signal: AbortSignal): Promise<Result<never, never> | Result<never[], never>> {
    if (signal.aborted) throw new Aborted();
    const name = names.join("+");
    asked.push(`${name}@${(clock.nowMs() - started) / 1_000}`);
    const said = answer(name, asked.filter((a) => a.startsWith(`${name}@`)).length);
    if (said !== "ok") return said as Result<never, never>;
    for (const one of names) there.add(one);
    return ok([]);
  }
  const registry = {
    async enable(request, signal, aside = false) {
      if (aside) asides.push(request.coin);
      return (await ask([request.coin], signal)) as unknown as Awaited<ReturnType<CoinRegistry["enable"]>>;
    },
    async enableTokens(platform, requests, signal, besideAside = false) {
      if (!there.has(platform ?? "") || besideAside !== asides.includes(platform ?? ""))
        return err({ kind: "PlatformCoinIsNotActivated", platform: platform ?? "" });
      return ask(
        requests.map((r) => r.ticker),
        signal,
      );
    },
    async closeAside(ticker) {
      closed.push(ticker);
      return false;
    },
    wallet: (ticker) => (there.has(ticker) ? ({} as ActiveCoin) : undefined),
  } satisfies Pick<CoinRegistry, "enable" | "enableTokens" | "closeAside" | "wallet">;
  const back = new ComingBack({ coins: registry, clock, log: new SilentLog() }, "ETH", coins, ({ ticker }) => void over.push(ticker));
  const stop = new AbortController();
  const done = back.run(stop.signal).catch((cause: unknown) => cause);
  return { clock, asked, over, asides, closed, stop, done };
}

test("the platform coin comes before its tokens, whatever the order, and tokens of one batch come at once", async () => {
  const coins = [token("T", "T"), token("U", "T"), coin("V"), token("W", "W"), coin("ETH")];
  const { clock, asked, over, asides, closed } = world(coins, () => "ok");
  await clock.advance(0);
  expect(asked).toEqual(["ETH@0", "V@0", "T+U@0", "W@0"]);
  expect(over).toEqual(["ETH", "V", "T", "U", "W"]);
  expect([asides, closed]).toEqual([[], []]);
});

test("tokens wait for a platform coin that is away, and say what it says", async () => {
  const coins = [coin("ETH"), token("T", "T"), token("U", "T")];
  const { clock, asked } = world(coins, (name, times) => (name === "ETH" && times < 4 ? away(name) : "ok"));
  await clock.advance(69_000);
  expect(asked).toEqual(["ETH@0", "ETH@10", "ETH@30"]);
  expect(coins.map(({ why }) => why)).toEqual(["ETH is away", "ETH is away", "ETH is away"]);
  await clock.advance(1_000);
  expect(asked.slice(3)).toEqual(["ETH@70", "T+U@70"]);
});

test("one bad token of a batch does not keep the others away", async () => {
  const coins = [coin("ETH"), token("T", "T"), token("U", "T"), token("V", "T")];
  const { clock, asked, over } = world(coins, (name) =>
    name.includes("U") ? err({ kind: "NotSupported", coin: "U", reason: "it is no token" }) : "ok",
  );
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T+U+V@0", "T@0", "U@0", "V@0"]);
  expect(over).toEqual(["ETH", "T", "U", "V"]);
});

test("a token of a batch of which nodes say nothing does not keep the others away, and is tried again", async () => {
  const coins = [coin("ETH"), token("T", "T"), token("U", "T")];
  const { clock, asked, over } = world(coins, (name, times) => (name === "T+U" || (name === "U" && times < 2) ? away("U") : "ok"));
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T+U@0", "T@0", "U@0", "U@10"]);
  expect(over).toEqual(["ETH", "T", "U"]);
});

test("tokens whose platform coin is refused for good or was disabled are refused too", async () => {
  const coins = [coin("ETH"), token("T", "T")];
  const { clock, asked, over } = world(coins, () => err({ kind: "NotSupported", coin: "ETH", reason: "no chain id" }));
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0"]);
  expect(over).toEqual(["ETH", "T"]);
});

test("what nodes name or show wrongly is tried until they do not, and a token of a batch keeps no other away meanwhile", async () => {
  const coins = [coin("ETH"), token("T", "T"), token("U", "T")];
  const { clock, asked, over } = world(coins, (name, times) => {
    if (name === "ETH" && times < 2) return err({ kind: "ChainMismatch", coin: "ETH", reason: "another chain" });
    return name === "T+U" || (name === "U" && times < 2) ? err({ kind: "ChainMismatch", coin: "U", reason: "its decimals" }) : "ok";
  });
  await clock.advance(5_000);
  expect(coins.map(({ why }) => why)).toEqual(["another chain", "another chain", "another chain"]);
  await clock.advance(15_000);
  expect(coins.map(({ why }) => why)).toEqual(["another chain", "another chain", "its decimals"]);
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "ETH@10", "T+U@10", "T@10", "U@10", "U@30"]);
  expect(over).toEqual(["ETH", "T", "U"]);
});

test("a token that is given up does not end the tries of its batch", async () => {
  const coins = [coin("ETH"), token("T", "T"), token("U", "T")];
  const { clock, asked, over } = world(coins, (name, times) => (name === "T+U" || times < 2 ? (name === "ETH" ? "ok" : away(name)) : "ok"));
  await clock.advance(5_000);
  coins[1]?.giveUp();
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T+U@0", "U@10", "U@30"]);
  expect(over).toEqual(["ETH", "T", "U"]);
});

test("a token that somebody else is enabling just then is tried again, for he may fail", async () => {
  const coins = [coin("ETH"), token("T", "T")];
  const { clock, asked } = world(coins, (name, times) =>
    name === "T" && times === 1 ? err({ kind: "TokenIsAlreadyActivated", ticker: "T" }) : "ok",
  );
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T@0", "T@10"]);
});

test("a token without nodes of its own waits for the platform coin that has them", async () => {
  const coins = [coin("T"), coin("ETH")];
  const none = err({ kind: "BadAccountNodes" as const, reason: "urls" });
  const { clock, asked, over } = world(coins, (name, times) => (times > 1 ? "ok" : name === "ETH" ? away(name) : none));
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T@0", "ETH@10", "T@10"]);
  expect(over).toEqual(["ETH", "T"]);
});

test("a platform coin that was put aside comes back aside and for its tokens alone, and closes where all of them are refused", async () => {
  const one = world([coin("ETH", true), token("T", "T")], () => "ok");
  await one.clock.advance(0);
  expect([one.asked, one.asides, one.closed]).toEqual([["ETH@0", "T@0"], ["ETH"], ["ETH"]]);
  const given = coin("ETH", true);
  const other = world([given, token("T", "T")], (name) => (name === "ETH" ? away(name) : "ok"));
  await other.clock.advance(5_000);
  given.giveUp();
  await other.clock.advance(3_600_000);
  expect([other.asides, other.closed]).toEqual([["ETH"], []]);
});

test("an enabling that throws, as when the disk fails, is tried again, and keeps no other coin away", async () => {
  const { clock, asked, over } = world([coin("ETH"), coin("T")], (name, times) => {
    if (name === "ETH" && times < 3) throw new Error("disk I/O error");
    return "ok";
  });
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T@0", "ETH@10", "ETH@30"]);
  expect(over).toEqual(["T", "ETH"]);
});

test("of tokens whose enabling throws each is tried alone, so that one keeps no other away", async () => {
  const coins = [coin("ETH"), token("T", "T"), token("U", "T")];
  const { clock, asked, over } = world(coins, (name, times) => {
    if (name.includes("U") && times < 2) throw new Error("disk I/O error");
    return "ok";
  });
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0", "T+U@0", "T@0", "U@0", "U@10"]);
  expect(over).toEqual(["ETH", "T", "U"]);
});

test("stopping ends the tries", async () => {
  const { clock, asked, stop, done } = world([coin("ETH")], away);
  await clock.advance(5_000);
  stop.abort();
  expect(await done).toBeInstanceOf(Aborted);
  await clock.advance(3_600_000);
  expect(asked).toEqual(["ETH@0"]);
});
