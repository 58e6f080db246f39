import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { add, decimal, eq, gt, isZero, lte, rational, toDecimalString } from "../../core/money/rational.ts";
import { dexFeeOf, maxMakerVolume, maxTakerVolume } from "./tradeVolumes.ts";

const KDF = { rate: rational(1n, 777n), floor: decimal("0.00001") };
const SPEC = { rate: rational(1n, 777n), floor: decimal("0.0001") };
const coin = (balance: string): FakeTradingCoin => new FakeTradingCoin("DOC", { balance });

test("the greatest taker volume is the one the recorded node gave", () => {
  const volume = maxTakerVolume(coin("200"), null, KDF, "preimage");
  expect(volume).toEqual({ ok: true, value: rational(776_999_223n, 3_890_000n) });
});

test("volume, dex fee and both miner fees are exactly the free balance, whatever the balance", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 100_000n, max: 10n ** 12n }), fc.constantFrom(KDF, SPEC), (units, rule) => {
      const balance = rational(units, 100_000_000n);
      const owner = coin(toDecimalString(balance));
      const volume = maxTakerVolume(owner, null, rule, "preimage");
      if (!volume.ok) throw new Error(volume.error.kind);
      if (isZero(volume.value)) return;
      const needed = [dexFeeOf(rule, volume.value), owner.fee, owner.fee].reduce(add, volume.value);
      expect(eq(needed, balance)).toBe(true);
      expect(gt(volume.value, owner.dust)).toBe(true);
    }),
  );
});

test("where no dex fee is due, nothing is taken for one", () => {
  expect(maxTakerVolume(coin("1"), null, { rate: rational(0n), floor: rational(0n) }, "preimage")).toEqual({
    ok: true,
    value: decimal("0.9999"),
  });
});

test("too little for any trade is a volume of zero, not an error; other trouble is an error", () => {
  for (const balance of ["0", "0.0001", "0.0002", "0.00022"])
    expect(maxTakerVolume(coin(balance), null, KDF, "preimage")).toEqual({ ok: true, value: rational(0n) });
  const down = coin("1");
  down.trouble = { kind: "Transport", coin: "DOC", message: "the daemon is away" };
  expect(maxTakerVolume(down, null, KDF, "preimage")).toMatchObject({ ok: false, error: { kind: "Transport" } });
});

test("what is still being counted has no greatest volume", () => {
  const counting = coin("1");
  counting.isScanned = false;
  const refusal = { ok: false, error: { kind: "Transport", coin: "DOC", message: "the DOC chain is still being read" } };
  expect(maxTakerVolume(counting, null, KDF, "preimage")).toEqual(refusal);
  expect(maxMakerVolume(counting, null, "preimage")).toEqual(refusal);
});

test("a maker volume that no chain would carry is missing funds, with the numbers", () => {
  const most = maxMakerVolume(coin("1"), null, "preimage");
  expect(most).toEqual({ ok: true, value: { volume: decimal("0.9999"), fee: decimal("0.0001") } });
  const poor = maxMakerVolume(coin("0.000105"), null, "preimage");
  if (poor.ok || poor.error.kind !== "NotSufficientBalance") throw new Error("expected missing funds");
  expect(lte(poor.error.available, poor.error.required)).toBe(true);
  expect(toDecimalString(poor.error.required)).toBe("0.00011");
});
