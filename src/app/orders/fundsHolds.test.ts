import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { rational } from "../../core/money/rational.ts";
import { FundsHolds } from "./fundsHolds.ts";

test("what is held counts in base units: odd fractions of many takers neither add up to more nor to long numbers", () => {
  const holds = new FundsHolds(() => undefined);
  const other = new FakeTradingCoin("BBB");
  const share = { orderUuid: "o", alone: false, isLate: false, connectByMs: 0 };
  for (let i = 0; i < 20; i++) {
    // A coin each: the double would add its locks up exactly, which is what must not happen here.
    const coin = new FakeTradingCoin("AAA");
    expect(
      holds.take(`t${i}`, { coin, other, amounts: [{ n: 1n, d: (1n << 500n) + BigInt(2 * i + 1) }, rational(1n, 3n)] }, `s${i % 2}`, share)
        .ok,
    ).toBe(true);
  }
  expect(holds.sharesOf("AAA").map(({ units }) => units)).toEqual(Array.from({ length: 20 }, () => 33_333_333n));
  expect(holds.sharesOf("BBB")).toEqual([]);
});

test("what is open are handshakes, and swaps of maker orders for as long as they are unpaid", () => {
  const holds = new FundsHolds(() => undefined);
  const [coin, other] = [new FakeTradingCoin("AAA"), new FakeTradingCoin("BBB")];
  const share = { orderUuid: "o", alone: false, isLate: false, connectByMs: 0 };
  const unpaid = new Set(["began"]);
  const open = () => holds.openOf(coin, (uuid) => unpaid.has(uuid));
  holds.take("open", { coin, other, amounts: [rational(1n)] }, "a", share);
  holds.take("began", { coin, other, amounts: [rational(2n)] }, "b", share);
  holds.take("ours", { coin, other, amounts: [rational(3n)] }, "c");
  holds.handedOver("began");
  holds.handedOver("ours");
  expect([open().reservations.length, open().units, holds.openOf(other, () => true).reservations]).toEqual([2, 200_000_000n, []]);
  unpaid.clear();
  expect([open().reservations.length, open().units]).toEqual([1, 0n]);
});
