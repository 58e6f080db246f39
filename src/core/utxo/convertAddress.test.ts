import { expect, test } from "vitest";
import type { AddressRules } from "./address.ts";
import { type AddressForm, convertAddress } from "./convertAddress.ts";

const BTC: AddressRules = {
  p2pkhPrefix: Uint8Array.of(0),
  p2shPrefix: Uint8Array.of(5),
  hrp: "bc",
  segwit: true,
  cashPrefix: null,
  format: "standard",
};
const BCH: AddressRules = { ...BTC, hrp: null, segwit: false, cashPrefix: "bitcoincash", format: "cashaddress" };
const DOC: AddressRules = { ...BTC, p2pkhPrefix: Uint8Array.of(60), p2shPrefix: Uint8Array.of(85), hrp: null, segwit: false };

const STANDARD: AddressForm = { format: "standard" };
const SEGWIT: AddressForm = { format: "segwit" };
const CASH: AddressForm = { format: "cashaddress", network: "bitcoincash" };

/** Pairs of one key or script: the example key of BIP-173, and the examples of the cash address specification. */
const KEY = ["1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"] as const;
const CASH_KEY = ["1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu", "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"] as const;
const CASH_SCRIPT = ["3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC", "bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq"] as const;
const WITNESS_SCRIPT = "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3";

test.each<[string, AddressRules, string, AddressForm, string]>([
  ["base58 as witness", BTC, KEY[0], SEGWIT, KEY[1]],
  ["witness as base58", BTC, KEY[1], STANDARD, KEY[0]],
  ["witness as witness", BTC, KEY[1].toUpperCase(), SEGWIT, KEY[1]],
  ["a witness script as itself", BTC, WITNESS_SCRIPT, SEGWIT, WITNESS_SCRIPT],
  ["a key as a cash address", BCH, CASH_KEY[0], CASH, CASH_KEY[1]],
  ["a cash address as base58", BCH, CASH_KEY[1], STANDARD, CASH_KEY[0]],
  ["a script as a cash address", BCH, CASH_SCRIPT[0], CASH, CASH_SCRIPT[1]],
  ["a script's cash address as base58", BCH, CASH_SCRIPT[1], STANDARD, CASH_SCRIPT[0]],
  ["an address as it is", DOC, "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU", STANDARD, "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU"],
])("%s", (_what, rules, from, to, text) => {
  expect(convertAddress(from, to, rules)).toEqual({ ok: true, value: text });
});

test.each<[string, AddressRules, string, AddressForm, object]>([
  ["a script hash has no witness form", BTC, CASH_SCRIPT[0], SEGWIT, { kind: "OtherKind", of: "p2sh", to: "segwit" }],
  ["a witness script has no base58 form", BTC, WITNESS_SCRIPT, STANDARD, { kind: "OtherKind", of: "p2wsh", to: "standard" }],
  [
    "a coin without witness addresses",
    DOC,
    "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU",
    SEGWIT,
    { kind: "NoSuchForm", to: "segwit", prefix: null },
  ],
  ["a coin whose witness addresses are not in use", { ...BTC, segwit: false }, KEY[0], SEGWIT, { kind: "NoSuchForm" }],
  ["a coin without cash addresses", BTC, KEY[0], CASH, { kind: "NoSuchForm", to: "cashaddress", prefix: null }],
  [
    "the prefix of another network",
    BCH,
    CASH_KEY[0],
    { format: "cashaddress", network: "bchtest" },
    { kind: "NoSuchForm", to: "cashaddress", prefix: "bitcoincash" },
  ],
  ["an address of another coin", DOC, KEY[0], STANDARD, { kind: "UnknownFormat", base58: "invalid address prefix" }],
])("refused: %s", (_what, rules, from, to, error) => {
  expect(convertAddress(from, to, rules)).toMatchObject({ ok: false, error });
});
