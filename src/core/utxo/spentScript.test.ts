import { sha256 } from "@noble/hashes/sha2.js";
import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { concatBytes, toHex } from "../util/bytes.ts";
import { hash160 } from "./hash.ts";
import { p2pkhScript, p2shScript, p2wpkhScript, p2wshScript } from "./outputScript.ts";
import { pushBytes } from "./script.ts";
import { spentScript } from "./spentScript.ts";

const KEY = testKey("owner").publicKey;
const SIGNATURE = new Uint8Array(71).fill(0x30);
const SCRIPT = Uint8Array.of(0x51, 0x52, 0x93);
const NONE = new Uint8Array(0);
const push = (...items: readonly Uint8Array[]): Uint8Array => concatBytes(...items.map(pushBytes));

const CASES = [
  ["P2PKH: signature and key", push(SIGNATURE, KEY), [], p2pkhScript(hash160(KEY))],
  ["P2SH: the redeem script comes last", push(SIGNATURE, NONE, SCRIPT), [], p2shScript(hash160(SCRIPT))],
  ["P2SH with two items, the last no key", push(SIGNATURE, SCRIPT), [], p2shScript(hash160(SCRIPT))],
  ["P2WPKH", NONE, [SIGNATURE, KEY], p2wpkhScript(hash160(KEY))],
  ["P2WSH", NONE, [NONE, SIGNATURE, SCRIPT], p2wshScript(sha256(SCRIPT))],
  ["P2WPKH in P2SH", push(p2wpkhScript(hash160(KEY))), [SIGNATURE, KEY], p2shScript(hash160(p2wpkhScript(hash160(KEY))))],
  ["P2PK: a signature alone names nobody", push(SIGNATURE), [], null],
  ["taproot by key", NONE, [new Uint8Array(64)], null],
  ["an unsigned input", NONE, [], null],
  ["a push beyond the end", Uint8Array.of(0x20, 1), [], null],
  ["an opcode at the end", concatBytes(push(SIGNATURE), Uint8Array.of(0x51)), [], null],
] as const;

test.each(CASES)("%s", (_what, scriptSig, witness, script) => {
  const found = spentScript({ txid: "11".repeat(32), scriptSig, witness });
  expect(found && toHex(found)).toBe(script && toHex(script));
});

test.each([
  ["height and a text", push(Uint8Array.of(0xb5, 0), SCRIPT), []],
  ["with a witness commitment", push(Uint8Array.of(0xb5, 0, 1)), [new Uint8Array(32)]],
])("a coinbase spends nothing, whatever its miner wrote: %s", (_what, scriptSig, witness) => {
  expect(spentScript({ txid: "00".repeat(32), scriptSig, witness })).toBeNull();
});
