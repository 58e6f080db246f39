import { networks, address as oracleAddress, payments } from "bitcoinjs-lib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { keyFacts } from "../../../test/vectors/keys/keyVectors.ts";
import { fromHex } from "../util/bytes.ts";
import { type AddressRules, addressText, addressToScript, parseAddress, pubkeyToAddress, scriptToAddress } from "./address.ts";
import { encodeCashAddr, parseCashAddr } from "./cashAddr.ts";
import { classifyOutput, opReturnScript } from "./outputScript.ts";

const BITCOIN: AddressRules = {
  p2pkhPrefix: Uint8Array.of(0),
  p2shPrefix: Uint8Array.of(5),
  hrp: "bc",
  segwit: true,
  cashPrefix: null,
  format: "standard",
};
const KOMODO: AddressRules = { ...BITCOIN, p2pkhPrefix: Uint8Array.of(60), p2shPrefix: Uint8Array.of(85), hrp: null, segwit: false };
const CASH: AddressRules = { ...BITCOIN, hrp: null, segwit: false, cashPrefix: "bitcoincash", format: "cashaddress" };
const ZCASH_LIKE: AddressRules = { ...KOMODO, p2pkhPrefix: Uint8Array.of(28, 184), p2shPrefix: Uint8Array.of(28, 189) };
const A = keyFacts.seedA;
const PUBKEY = fromHex(A.publicKey);

const hash20 = fc.uint8Array({ minLength: 20, maxLength: 20 });
const hash32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const anyAddress = fc.oneof(
  hash20.chain((hash) =>
    fc.constantFrom({ kind: "p2pkh" as const, hash }, { kind: "p2sh" as const, hash }, { kind: "p2wpkh" as const, hash }),
  ),
  hash32.map((hash) => ({ kind: "p2wsh" as const, hash })),
);

test("own addresses of the known key in every format", () => {
  const own = (rules: AddressRules) => addressText(pubkeyToAddress(PUBKEY, rules), rules);
  expect(own(KOMODO)).toBe(A.address60);
  expect(own({ ...KOMODO, hrp: "rck", segwit: true, format: "segwit" })).toBe(A.segwit.rck);
  expect(own({ ...KOMODO, hrp: "doc", segwit: true, format: "segwit" })).toBe(A.segwit.doc);
  expect(own(CASH)).toBe(A.cash.bitcoincash);
  expect(own({ ...CASH, cashPrefix: "slptest" })).toBe(A.cash.slptest);
});

test("bitcoinjs-lib agrees on text and script of every kind", () => {
  fc.assert(
    fc.property(anyAddress, (address) => {
      const text = addressText(address, BITCOIN);
      expect(parseAddress(text, BITCOIN)).toEqual({ ok: true, value: address });
      const script = addressToScript(text, BITCOIN);
      expect(script.ok && script.value).toEqual(Uint8Array.from(oracleAddress.toOutputScript(text, networks.bitcoin)));
      expect(scriptToAddress(oracleAddress.toOutputScript(text, networks.bitcoin), BITCOIN)).toBe(text);
    }),
  );
});

test("a bare public key is shown as its P2PKH address, data as none", () => {
  const { output } = payments.p2pk({ pubkey: PUBKEY });
  expect(scriptToAddress(output ?? new Uint8Array(0), KOMODO)).toBe(A.address60);
  expect(scriptToAddress(opReturnScript(new Uint8Array(4)), BITCOIN)).toBeNull();
});

test("taproot: the BIP-350 example, both ways; a witness script has no text without a prefix", () => {
  const text = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0";
  const script = addressToScript(text, BITCOIN);
  if (!script.ok) throw new Error(script.error.kind);
  expect(classifyOutput(script.value).kind).toBe("p2tr");
  expect(scriptToAddress(script.value, BITCOIN)).toBe(text);
  expect(scriptToAddress(script.value, KOMODO)).toBeNull();
});

test("invalid segwit texts of BIP-173 and BIP-350 are refused", () => {
  for (const text of [
    "tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
    "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",
    "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",
    "bc1pw5dgrnzv",
    "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",
    "bc1gmk9yu",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7KV8F3T4",
  ]) {
    expect(parseAddress(text, BITCOIN).ok).toBe(false);
  }
});

test("two-byte prefixes make Zcash-style addresses", () => {
  const text = addressText(pubkeyToAddress(PUBKEY, ZCASH_LIKE), ZCASH_LIKE);
  expect(text.startsWith("t1")).toBe(true);
  expect(parseAddress(text, ZCASH_LIKE).ok).toBe(true);
  expect(parseAddress(text, KOMODO)).toMatchObject({ ok: false, error: { kind: "UnknownFormat", base58: "invalid address prefix" } });
});

test("the reasons of a refusal: prefix, checksum, prefix of a witness address, segwit off, another format", () => {
  const bitcoin = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2";
  expect(parseAddress(bitcoin, KOMODO)).toMatchObject({ ok: false, error: { kind: "UnknownFormat", base58: "invalid address prefix" } });
  expect(parseAddress(`${bitcoin.slice(0, -1)}3`, BITCOIN)).toMatchObject({
    ok: false,
    error: { kind: "UnknownFormat", base58: "invalid address" },
  });
  expect(parseAddress("", BITCOIN).ok).toBe(false);
  expect(parseAddress("1".repeat(5000), BITCOIN)).toMatchObject({ ok: false, error: { kind: "UnknownFormat", cashAddress: "too long" } });
  for (const hrp of ["ltcmweb", "tmweb"]) {
    expect(parseAddress(`${hrp}1qq${"q".repeat(120)}`, BITCOIN)).toEqual({ ok: false, error: { kind: "InExtensionBlock" } });
  }
  expect(parseAddress(A.segwit.rck, KOMODO)).toEqual({ ok: false, error: { kind: "SegwitNotActivated" } });
  expect(parseAddress(A.segwit.rck, BITCOIN)).toEqual({ ok: false, error: { kind: "WrongHrp", hrp: "rck" } });
  expect(parseAddress(A.cash.bitcoincash, BITCOIN)).toEqual({
    ok: false,
    error: { kind: "FormatMismatch", activated: "standard", used: "cashaddress" },
  });
  expect(parseAddress(A.cash.slptest, CASH)).toEqual({
    ok: false,
    error: { kind: "FormatMismatch", activated: "cashaddress", used: "cashaddress" },
  });
});

test("base58 is accepted on a cash-address coin, cash addresses with and without their prefix", () => {
  expect(parseAddress("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", CASH).ok).toBe(true);
  expect(parseAddress(A.cash.bitcoincash.slice("bitcoincash:".length), CASH)).toEqual(parseAddress(A.cash.bitcoincash, CASH));
  expect(parseAddress(A.cash.bitcoincash.toUpperCase(), CASH).ok).toBe(true);
});

test("the examples of the cash address specification", () => {
  for (const [base58, cash] of [
    ["1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu", "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"],
    ["16w1D5WRVKJuZUsSRzdLp9w3YGcgoxDXb", "bitcoincash:qqq3728yw0y47sqn6l2na30mcw6zm78dzqre909m2r"],
    ["3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC", "bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq"],
  ] as const) {
    const legacy = parseAddress(base58, CASH);
    expect(legacy.ok && addressText(legacy.value, CASH)).toBe(cash);
    expect(parseAddress(cash, CASH)).toEqual(legacy);
  }
});

test("any cash address survives the round trip, and one wrong character is noticed", () => {
  fc.assert(
    fc.property(hash20, fc.constantFrom("p2pkh" as const, "p2sh" as const), fc.nat(41), fc.nat(30), (hash, kind, at, shift) => {
      const text = encodeCashAddr({ prefix: "bchtest", kind, hash });
      expect(parseCashAddr(text, null)).toEqual({ ok: true, value: { prefix: "bchtest", kind, hash } });
      const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
      const i = "bchtest:".length + at;
      const other = alphabet[(alphabet.indexOf(text[i] ?? "") + 1 + shift) % 32];
      expect(parseCashAddr(text.slice(0, i) + other + text.slice(i + 1), null)).toMatchObject({ ok: false, error: { reason: "checksum" } });
    }),
  );
});
