import { hkdfSync } from "node:crypto";
import { expect, test } from "vitest";
import { toHex } from "../util/bytes.ts";
import { Secret } from "../util/secret.ts";
import { activationKey } from "./activationKey.ts";
import { deriveSwapSecret } from "./swapSecret.ts";

const SEED = new Secret(new Uint8Array(32).fill(7));

test("equals HKDF-SHA256 of another implementation over the purpose", () => {
  const oracle = Buffer.from(hkdfSync("sha256", SEED.reveal(), new Uint8Array(0), Buffer.from("kept activations"), 32));
  expect(toHex(activationKey(SEED).reveal())).toBe(oracle.toString("hex"));
});

test("is another one for another seed, none of the swap secrets, and does not print itself", () => {
  const key = toHex(activationKey(SEED).reveal());
  expect(toHex(activationKey(new Secret(new Uint8Array(32).fill(8))).reveal())).not.toBe(key);
  expect(toHex(deriveSwapSecret(SEED, 0, 0).reveal())).not.toBe(key);
  expect(JSON.stringify(activationKey(SEED))).toBe('"[redacted]"');
});
