import { createRequire } from "node:module";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { bytesOf, captures } from "../../../test/vectors/wire/wireVectors.ts";
import { nobleVerify } from "../../core/crypto/nobleVerifier.ts";
import { parseEnvelope } from "../../core/message/envelope.ts";
import type { Log } from "../../ports/log.ts";
import { createNativeVerifier } from "./nativeVerifier.ts";

const { cache } = createRequire(import.meta.url);
const loadedFiles = (): string[] => Object.keys(cache);

function recordingLog(): { readonly log: Log; readonly events: string[] } {
  const events: string[] = [];
  const record = (event: string): void => {
    events.push(event);
  };
  const log: Log = { debug: record, info: record, warn: record, error: record, child: () => log };
  return { log, events };
}

const SEED = 20_260_401;
const N = secp256k1.Point.Fn.ORDER;

afterEach(() => {
  delete process.env.SECP256K1_PREBUILD;
});

test("without a native binary plain noble verifies, it is logged, and elliptic is not loaded", () => {
  process.env.SECP256K1_PREBUILD = "/nonexistent";
  const { log, events } = recordingLog();
  const verifier = createNativeVerifier(log);
  expect(events).toEqual(["native_verifier_unavailable"]);
  expect(verifier.verify).toBe(nobleVerify);
  expect(loadedFiles().filter((file) => file.includes("elliptic"))).toEqual([]);
});

test("a package with other exports than expected is not trusted", () => {
  const { log, events } = recordingLog();
  expect(createNativeVerifier(log, () => ({ verify: () => true })).verify).toBe(nobleVerify);
  expect(events).toEqual(["native_verifier_unavailable"]);
});

test("the native binding is in use on this machine, and elliptic is not loaded", () => {
  const { log, events } = recordingLog();
  const verifier = createNativeVerifier(log);
  expect(events).toEqual([]);
  expect(verifier.verify).not.toBe(nobleVerify);
  expect(loadedFiles().some((file) => file.endsWith(".node"))).toBe(true);
  expect(loadedFiles().filter((file) => file.includes("elliptic"))).toEqual([]);
});

test("the native binding and noble give the same verdict on every recorded envelope, whole and altered", () => {
  const native = createNativeVerifier(recordingLog().log);
  for (const { data } of captures.gossip) {
    const parsed = parseEnvelope(bytesOf(data));
    if (!parsed.ok) throw new Error("unreadable vector");
    const { signature, digest, publicKey } = parsed.value;
    expect([native.verify(signature, digest, publicKey), nobleVerify(signature, digest, publicKey)]).toEqual([true, true]);
    const other = sha256(digest);
    expect([native.verify(signature, other, publicKey), nobleVerify(signature, other, publicKey)]).toEqual([false, false]);
  }
});

test("high S is refused by both", () => {
  const native = createNativeVerifier(recordingLog().log);
  const secret = new Uint8Array(32).fill(7);
  const key = secp256k1.getPublicKey(secret, true);
  const digest = sha256(new Uint8Array([1]));
  const low = secp256k1.Signature.fromBytes(secp256k1.sign(digest, secret, { prehash: false }));
  const high = new secp256k1.Signature(low.r, N - low.s).toBytes("compact");
  expect(native.verify(low.toBytes("compact"), digest, key)).toBe(true);
  for (const verify of [native.verify, nobleVerify]) expect(verify(high, digest, key)).toBe(false);
});

test("malformed keys, signatures and lengths are false for both, never an exception", () => {
  const native = createNativeVerifier(recordingLog().log);
  const secret = new Uint8Array(32).fill(9);
  const key = secp256k1.getPublicKey(secret, true);
  const digest = sha256(new Uint8Array([2]));
  const signature = secp256k1.sign(digest, secret, { prehash: false });
  const zeros = (length: number): Uint8Array => new Uint8Array(length);
  const ones = (length: number): Uint8Array => new Uint8Array(length).fill(0xff);
  const cases: (readonly [Uint8Array, Uint8Array, Uint8Array])[] = [
    [zeros(64), digest, key],
    [ones(64), digest, key],
    [signature.slice(0, 63), digest, key],
    [new Uint8Array([...signature, 0]), digest, key],
    [signature, digest.slice(1), key],
    [signature, digest, zeros(33)],
    [signature, digest, ones(33)],
    [signature, digest, key.slice(1)],
    [signature, digest, Uint8Array.from([4, ...key.slice(1)])],
    [signature, digest, Uint8Array.from([6, ...key.slice(1)])],
    [signature, digest, secp256k1.getPublicKey(secret, false)],
    [signature, digest, Uint8Array.from([2, ...zeros(32)])],
    [zeros(0), zeros(0), zeros(0)],
  ];
  for (const c of cases) for (const verify of [native.verify, nobleVerify]) expect(verify(...c)).toBe(false);
});

test("both agree on random keys and on every kind of small damage", () => {
  const native = createNativeVerifier(recordingLog().log);
  const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
  fc.assert(
    fc.property(bytes(32), bytes(32), fc.constantFrom("none", "signature", "digest", "key"), fc.nat(), (seed, digest, where, at) => {
      const secret = sha256(seed);
      const key = secp256k1.getPublicKey(secret, true);
      const signature = secp256k1.sign(digest, secret, { prehash: false });
      const target = { none: new Uint8Array(1), signature, digest, key }[where];
      const i = at % target.length;
      target[i] = (target[i] ?? 0) ^ (1 << (at % 8));
      const verdict = native.verify(signature, digest, key);
      expect(verdict).toBe(nobleVerify(signature, digest, key));
      if (where === "none") expect(verdict).toBe(true);
    }),
    { seed: SEED, numRuns: 200 },
  );
});
