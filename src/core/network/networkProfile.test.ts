import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { expect, test } from "vitest";
import { add, decimal, eq, mul, type Rational, rational, toDecimalString, toUnits, ZERO } from "../money/rational.ts";
import { toHex } from "../util/bytes.ts";
import { dexFee, feePubkey, isFeeExempt, noFeeKeyText, TEST_FEE_PUBKEY } from "./dexFee.ts";
import { findProfile, type NetworkProfile, PROFILES, profileOfNetid } from "./networkProfile.ts";

function profile(name: string): NetworkProfile {
  const found = findProfile(name);
  if (!found) throw new Error(name);
  return found;
}
const DUST = decimal("0.00001");
const sats = (p: string, taker: string, maker: string, amount: Rational, dust = DUST) => {
  const { fee, burn } = dexFee(profile(p), taker, maker, amount, dust);
  return [toUnits(fee, 8), toUnits(burn, 8)];
};

// reference swap-protocol.md 10.3 e and rpc.md 9.1
test.each([
  ["KMD", "BTC", "1", 2_000_000n],
  ["DOC", "MARTY", "10", 20_000_000n],
  ["LTC", "KMD", "1", 2_000_000n],
  ["BTC", "GLEEC", "1", 1_000_000n],
  ["GLEEC", "BTC", "1", 1_000_000n],
  ["BTC", "ETH", "0.005", 10_000n],
  ["BTC", "ETH", "0.0005", 1_000n],
  ["BTC", "KMD", "0.0001", 1_000n],
  ["BTC", "ETH", "1000", 2_000_000_000n],
  ["RICK", "GLEEC-OLD", "1", 2_000_000n],
])("kdf-3: taker %s, maker %s, %s coins owe %s and burn nothing", (taker, maker, amount, fee) => {
  expect(sats("kdf-3", taker, maker, decimal(amount))).toEqual([fee, 0n]);
});

test.each([
  ["KMD", "BTC", decimal("1"), 86_872n, 28_957n],
  ["KMD", "BTC", decimal("10"), 868_725n, 289_575n],
  ["KMD", "BTC", decimal("0.0001"), 1_000n, 0n],
  ["KMD", "BTC", rational(1_001n * 777n, 90_000_000n), 1_000n, 1n],
  ["DOC", "MARTY", decimal("10"), 1_287_001n, 0n],
  ["LTC", "KMD", decimal("1"), 115_830n, 0n],
  ["BTC", "ETH", decimal("0.005"), 1_000n, 0n],
])("kdf-2: taker %s, maker %s, %o coins owe %s and burn %s", (taker, maker, amount, fee, burn) => {
  expect(sats("kdf-2", taker, maker, amount)).toEqual([fee, burn]);
});

test("kdf-2: fee and burn together are exactly the rate", () => {
  const amount = decimal("3.7");
  const { fee, burn } = dexFee(profile("kdf-2"), "KMD", "DOC", amount, DUST);
  expect(eq(add(fee, burn), mul(amount, rational(9n, 7_770n)))).toBe(true);
});

test("spec: the greatest of dust, 0.0001 and 1/777, for every pair", () => {
  const spec = (amount: string, dust = "0.00001") =>
    toDecimalString(dexFee(profile("spec"), "KMD", "GLEEC", decimal(amount), decimal(dust)).fee);
  expect(spec("0.01")).toBe("0.0001");
  expect(spec("0.0777")).toBe("0.0001");
  expect(spec("777")).toBe("1");
  expect(spec("0.01", "0.001")).toBe("0.001");
  expect(dexFee(profile("spec"), "KMD", "GLEEC", decimal("777"), DUST).burn.n).toBe(0n);
});

test("a taker coin without a least amount owes the rate alone and burns nothing, but for what the document sets as the least", () => {
  const owed = (p: string, amount: string) => {
    const { fee, burn } = dexFee(profile(p), "ETH", "KMD", decimal(amount), ZERO);
    return [toDecimalString(fee), toDecimalString(burn)];
  };
  expect(owed("kdf-3", "0.00000000000000005")).toEqual(["0.000000000000000001", "0"]);
  expect(owed("kdf-2", "0.000000000000007770")).toEqual(["0.000000000000000009", "0"]);
  expect(owed("spec", "0.00000000000000777")).toEqual(["0.0001", "0"]);
});

test("the published test key belongs to the published text", () => {
  const secret = sha256(new TextEncoder().encode("swapnode test networks only: dex fee"));
  expect(toHex(secp256k1.getPublicKey(secret))).toBe(TEST_FEE_PUBKEY);
});

test("spec refuses a coin with a value until a key is set, and uses the test key on others", () => {
  const spec = profile("spec");
  const refused = feePubkey(spec, "BTC", false);
  expect(refused).toMatchObject({ ok: false, error: { kind: "NoFeeKey", coin: "BTC" } });
  if (!refused.ok) expect(noFeeKeyText(refused.error)).toContain("dex_fee_pubkey");
  expect(feePubkey(spec, "DOC", true)).toMatchObject({ ok: true });
  const own = feePubkey({ ...spec, dexFeePubkey: `02${"11".repeat(32)}` }, "BTC", false);
  expect(own.ok && toHex(own.value)).toBe(`02${"11".repeat(32)}`);
  expect(feePubkey(profile("kdf-3"), "DOC", true)).toMatchObject({ ok: true });
});

test("the owner of the burn key owes no fee", () => {
  const kdf2 = profile("kdf-2");
  const key = Uint8Array.from(Buffer.from(kdf2.dexFeeExemptPubkey ?? "", "hex"));
  expect(isFeeExempt(kdf2, key)).toBe(true);
  expect(isFeeExempt(profile("kdf-3"), key)).toBe(false);
  expect(isFeeExempt(profile("spec"), key)).toBe(false);
});

test("the netid picks the profile", () => {
  expect([8_762, 6_133, 0, 9_998].map((netid) => profileOfNetid(netid).name)).toEqual(["kdf-2", "kdf-3", "spec", "spec"]);
  expect(new Set(PROFILES.map((p) => p.name)).size).toBe(PROFILES.length);
  expect(findProfile("kdf-9")).toBeUndefined();
});
