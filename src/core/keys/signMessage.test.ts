import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { keyFacts } from "../../../test/vectors/keys/keyVectors.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import type { AddressRules } from "../utxo/address.ts";
import { parseAddress } from "../utxo/address.ts";
import { hash160 } from "../utxo/hash.ts";
import { passphraseToKeyPair } from "./iguana.ts";
import { keyPairFromScalar, uncompressedPubkey } from "./keyPair.ts";
import { messageDigest, signMessage, verifyMessage } from "./signMessage.ts";

const M = keyFacts.messages;
function pair(passphrase: string) {
  const result = passphraseToKeyPair(passphrase);
  if (!result.ok) throw new Error(result.error.kind);
  return result.value;
}
const A = pair(keyFacts.seedA.passphrase);
const BCH = pair(keyFacts.seedBch.passphrase);
const RULES: AddressRules = {
  p2pkhPrefix: Uint8Array.of(60),
  p2shPrefix: Uint8Array.of(85),
  hrp: null,
  segwit: false,
  cashPrefix: null,
  format: "standard",
};

test("digest and signatures are KDF's", () => {
  expect(toHex(messageDigest(M.komodoPrefix, M.text))).toBe(M.komodoDigest);
  expect(signMessage(M.komodoPrefix, M.text, A)).toBe(M.komodoSeedA);
  expect(signMessage(M.bitcoinPrefix, M.text, A)).toBe(M.bitcoinSeedA);
  expect(signMessage(M.bitcoinPrefix, M.text, BCH)).toBe(M.bitcoinSeedBch);
});

test("they verify against every address form of the key", () => {
  const verify = (prefix: string, signature: string, address: string, rules: AddressRules) => {
    const parsed = parseAddress(address, rules);
    if (!parsed.ok) throw new Error(parsed.error.kind);
    return verifyMessage(prefix, M.text, signature, parsed.value.hash);
  };
  const yes = { ok: true, value: true };
  const { address60, segwit, cash } = keyFacts.seedA;
  expect(verify(M.komodoPrefix, M.komodoSeedA, address60, RULES)).toEqual(yes);
  for (const [hrp, text] of Object.entries(segwit))
    expect(verify(M.komodoPrefix, M.komodoSeedA, text, { ...RULES, hrp, segwit: true })).toEqual(yes);
  for (const [cashPrefix, text] of Object.entries(cash)) {
    expect(verify(M.bitcoinPrefix, M.bitcoinSeedA, text, { ...RULES, cashPrefix, format: "cashaddress" })).toEqual(yes);
  }
  for (const [cashPrefix, text] of Object.entries(keyFacts.seedBch.cash)) {
    expect(verify(M.bitcoinPrefix, M.bitcoinSeedBch, text, { ...RULES, cashPrefix, format: "cashaddress" })).toEqual(yes);
  }
});

test("another key, message or prefix is false, not an error", () => {
  const no = { ok: true, value: false };
  expect(verifyMessage(M.komodoPrefix, M.text, M.komodoSeedA, hash160(BCH.publicKey))).toEqual(no);
  expect(verifyMessage(M.bitcoinPrefix, M.text, M.komodoSeedA, hash160(A.publicKey))).toEqual(no);
  expect(verifyMessage(M.komodoPrefix, "tesT", M.komodoSeedA, hash160(A.publicKey))).toEqual(no);
});

test("lengths count bytes of UTF-8, and any text signs and verifies", () => {
  const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest();
  expect(toHex(messageDigest("é", "x"))).toBe(sha256(sha256(Buffer.from([2, 0xc3, 0xa9, 1, 0x78]))).toString("hex"));
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ maxLength: 20 }), (message, prefix) => {
      const signature = signMessage(prefix, message, A);
      expect(signature).toMatch(/^[HI][A-Za-z0-9+/]{86}=$/);
      expect(verifyMessage(prefix, message, signature, hash160(A.publicKey))).toEqual({ ok: true, value: true });
    }),
    { numRuns: 20 },
  );
});

test("the header's flag picks the key form, and headers above 34 are masked", () => {
  const compact = Uint8Array.from(Buffer.from(M.komodoSeedA, "base64"));
  const withHeader = (h: number) => Buffer.from([h, ...compact.subarray(1)]).toString("base64");
  const header = compact[0] ?? 0;
  expect(verifyMessage(M.komodoPrefix, M.text, withHeader(header - 4), hash160(uncompressedPubkey(A.publicKey)))).toEqual({
    ok: true,
    value: true,
  });
  expect(verifyMessage(M.komodoPrefix, M.text, withHeader(header + 8), hash160(A.publicKey))).toEqual({ ok: true, value: true });
  expect(verifyMessage(M.komodoPrefix, M.text, withHeader(26), hash160(A.publicKey))).toEqual({
    ok: false,
    error: { kind: "InvalidSignature" },
  });
});

test("what is no signature is told apart: base64, length, no key", () => {
  const hash = hash160(A.publicKey);
  const error = (signature: string) => {
    const result = verifyMessage(M.komodoPrefix, M.text, signature, hash);
    return result.ok ? result.value : result.error;
  };
  expect(error("not base64!")).toEqual({ kind: "SignatureDecodingError", reason: "base64" });
  expect(error(M.komodoSeedA.slice(0, -1))).toEqual({ kind: "SignatureDecodingError", reason: "base64" });
  expect(error("A".repeat(100_000))).toEqual({ kind: "SignatureDecodingError", reason: "length" });
  expect(error("")).toEqual({ kind: "SignatureDecodingError", reason: "length" });
  expect(error("AAAA")).toEqual({ kind: "SignatureDecodingError", reason: "length" });
  expect(error(Buffer.from([31, ...new Uint8Array(64)]).toString("base64"))).toEqual({ kind: "InvalidSignature" });
});

test("one key gives one signature per message", () => {
  const key = keyPairFromScalar(fromHex(keyFacts.seedA.secret));
  expect(key && signMessage(M.komodoPrefix, M.text, key)).toBe(signMessage(M.komodoPrefix, M.text, A));
});
