import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { expect, test } from "vitest";
import { secp256k1 as quick } from "../../sim/native/secp256k1.ts";
import { sha256 as quickSha256 } from "../../sim/native/sha2.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";

/** Null: no key can have made it. */
function recover(curve: typeof noble, signature: Uint8Array, digest: Uint8Array): Uint8Array | null {
  try {
    return curve.Signature.fromBytes(signature, "recovered").recoverPublicKey(digest).toBytes(true);
  } catch {
    return null;
  }
}

test("the simulator's quick signatures and keys are noble's, byte for byte", () => {
  const rng = seededRng(20_261_122);
  for (let i = 0; i < 50; i++) {
    const [key, digest] = [rng.bytes(32), rng.bytes(32)];
    const options = { prehash: false, lowS: true } as const;
    expect(quick.sign(digest, key, options)).toEqual(noble.sign(digest, key, options));
    expect(quick.sign(digest, key, { ...options, format: "der" })).toEqual(noble.sign(digest, key, { ...options, format: "der" }));
    const recovered = { prehash: false, format: "recovered" } as const;
    const signed = noble.sign(digest, key, recovered);
    expect(quick.sign(digest, key, recovered)).toEqual(signed);
    const bad = Uint8Array.from(signed, (b, at) => (at === 5 ? b ^ 1 : b));
    for (const bytes of [signed, bad]) expect(recover(quick, bytes, digest)).toEqual(recover(noble, bytes, digest));
    const publicKey = noble.getPublicKey(key, true);
    expect(quick.getPublicKey(key, true)).toEqual(publicKey);
    expect(quick.utils.isValidPublicKey(publicKey, true)).toBe(true);
    const other = Uint8Array.from(publicKey, (b, at) => (at === 32 ? b ^ 1 : b));
    expect(quick.utils.isValidPublicKey(other, true)).toBe(noble.utils.isValidPublicKey(other, true));
  }
});

test("the simulator's quick hashes are noble's, in one go and piece by piece", () => {
  const rng = seededRng(20_261_123);
  for (const length of [0, 1, 31, 32, 33, 55, 56, 63, 64, 65, 300, 5_000]) {
    const bytes = rng.bytes(length);
    expect(quickSha256(bytes)).toEqual(nobleSha256(bytes));
    expect(quickSha256(bytes).constructor).toBe(Uint8Array);
    expect(quickSha256.create().update(bytes).digest()).toEqual(nobleSha256(bytes));
  }
});
