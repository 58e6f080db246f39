import { hkdfSync } from "node:crypto";
import { expect, test } from "vitest";
import { toHex } from "../util/bytes.ts";
import { Secret } from "../util/secret.ts";
import { deriveSwapSecret } from "./swapSecret.ts";

const SEED = new Secret(new Uint8Array(32).fill(7));

test("equals HKDF-SHA256 of another implementation over purpose, time and salt", () => {
  for (const [time, salt] of [
    [0, 0],
    [1_700_000_000, 1],
    [2 ** 32 + 5, 255],
  ] as const) {
    const info = Buffer.concat([Buffer.from("maker secret"), Buffer.alloc(9)]);
    info.writeBigUInt64BE(BigInt(time), 12);
    info[20] = salt;
    const oracle = Buffer.from(hkdfSync("sha256", SEED.reveal(), new Uint8Array(0), info, 32));
    expect(toHex(deriveSwapSecret(SEED, time, salt).reveal())).toBe(oracle.toString("hex"));
  }
});

test("every time and salt gives another secret, and so does another seed", () => {
  const secrets = new Set<string>();
  for (let time = 1_700_000_000; time < 1_700_000_004; time++)
    for (let salt = 0; salt < 256; salt++) secrets.add(toHex(deriveSwapSecret(SEED, time, salt).reveal()));
  secrets.add(toHex(deriveSwapSecret(new Secret(new Uint8Array(32).fill(8)), 1_700_000_000, 0).reveal()));
  expect(secrets.size).toBe(4 * 256 + 1);
});

test("a time or salt out of range throws, and the secret does not print itself", () => {
  for (const [time, salt] of [
    [-1, 0],
    [1.5, 0],
    [0, 256],
    [0, -1],
  ] as const) {
    expect(() => deriveSwapSecret(SEED, time, salt)).toThrow(RangeError);
  }
  expect(JSON.stringify(deriveSwapSecret(SEED, 0, 0))).toBe('"[redacted]"');
});
