import { expect, test } from "vitest";
import { keyFacts } from "../../../test/vectors/keys/keyVectors.ts";
import { toHex } from "../util/bytes.ts";
import { rmd160Hex, sharedDbId } from "./dbIds.ts";
import { passphraseToKeyPair } from "./iguana.ts";
import { isValidPubkey, keyPairFromScalar, publicId, uncompressedPubkey } from "./keyPair.ts";
import { seedPeerKey } from "./seedPeerKey.ts";
import { parseWif, secretToWif } from "./wif.ts";

const A = keyFacts.seedA;

function pair(passphrase: string) {
  const result = passphraseToKeyPair(passphrase);
  if (!result.ok) throw new Error(result.error.kind);
  return result.value;
}

test("a text gives KDF's key, ids and WIF", () => {
  const key = pair(A.passphrase);
  expect([toHex(key.secret.reveal()), toHex(key.publicKey), publicId(key.publicKey)]).toEqual([A.secret, A.publicKey, A.publicId]);
  expect([rmd160Hex(key.publicKey), sharedDbId(A.passphrase)]).toEqual([A.rmd160, A.sharedDbId]);
  expect(secretToWif(key.secret, 188).reveal()).toBe(A.wif188);
  expect(toHex(pair(keyFacts.seedBch.passphrase).secret.reveal())).toBe(keyFacts.seedBch.secret);
});

test("the same key comes from its WIF, of any network, and from its hex", () => {
  const { secret } = pair(A.passphrase);
  for (const prefix of [0, 128, 188, 255]) expect(toHex(pair(secretToWif(secret, prefix).reveal()).publicKey)).toBe(A.publicKey);
  expect(toHex(pair(`0x${A.secret}`).publicKey)).toBe(A.publicKey);
  expect(toHex(pair(`0x${A.secret.toUpperCase()}`).publicKey)).toBe(A.publicKey);
  expect(toHex(pair(A.secret).publicKey)).not.toBe(A.publicKey);
});

test("a leading 0x of the passphrase does not change the shared id", () => {
  expect(sharedDbId(`0x${A.passphrase}`)).toBe(A.sharedDbId);
});

test("what looks like a key and is none is refused, not hashed", () => {
  const wrong = (passphrase: string) => {
    const result = passphraseToKeyPair(passphrase);
    return result.ok ? "accepted" : result.error.kind;
  };
  expect(wrong("")).toBe("EmptyPassphrase");
  expect(wrong(`${A.wif188.slice(0, -1)}4`)).toBe("BadWifChecksum");
  expect(wrong("5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ")).toBe("UncompressedKey");
  expect(wrong("0x12")).toBe("BadHexKey");
  expect(wrong(`0x${"g".repeat(64)}`)).toBe("BadHexKey");
  expect(wrong(`0x${"0".repeat(64)}`)).toBe("InvalidKey");
  expect(wrong(`0x${"f".repeat(64)}`)).toBe("InvalidKey");
  expect(wrong("a b c")).toBe("accepted");
});

test("WIF texts of another length or alphabet are not WIF", () => {
  for (const text of ["", "0OIl", "1".repeat(38), "z".repeat(1000), A.address60])
    expect(parseWif(text)).toEqual({ ok: false, error: { kind: "NotWif" } });
  const wif = parseWif(A.wif188);
  expect(wif.ok && [wif.value.prefix, toHex(wif.value.secret.reveal())]).toEqual([188, A.secret]);
});

test.each(["the first time", "when it is asked again"])("only points of the curve are public keys, %s", () => {
  const { publicKey } = pair(A.passphrase);
  expect(isValidPubkey(publicKey)).toBe(true);
  expect(uncompressedPubkey(publicKey).subarray(1, 33)).toEqual(publicKey.subarray(1));
  for (const bad of [
    new Uint8Array(33),
    Uint8Array.of(2, ...new Uint8Array(32).fill(255)),
    publicKey.subarray(1),
    uncompressedPubkey(publicKey),
    Uint8Array.of(5, ...publicKey.subarray(1)),
  ]) {
    expect(isValidPubkey(bad)).toBe(false);
  }
  expect(keyPairFromScalar(new Uint8Array(31).fill(1))).toBeNull();
});

test("no key prints itself", () => {
  const key = pair(A.passphrase);
  expect(JSON.stringify([key, secretToWif(key.secret, 188), parseWif(A.wif188), seedPeerKey(key)])).not.toMatch(
    new RegExp(`${A.secret}|${A.wif188}`),
  );
  expect(`${key.secret}`).toBe("[redacted]");
});

test("the seed node's peer key is SHA-256 of the node's secret", () => {
  expect(toHex(seedPeerKey(pair(`0x${"00".repeat(31)}01`)).reveal())).toBe(
    "ec4916dd28fc4c10d78e287ca5d9cc51ee1ae73cbfde08c6b37324cbfaac8bc5",
  );
});
