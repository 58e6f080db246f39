import { expect, test } from "vitest";
import { keyFacts } from "../../../test/vectors/keys/keyVectors.ts";
import { toHex } from "../util/bytes.ts";
import { addressPath, hdCoinKey, hdNodeKey, isDerivationPath, mnemonicToRoot } from "./hd.ts";
import { signMessage } from "./signMessage.ts";

function root(mnemonic: string) {
  const result = mnemonicToRoot(mnemonic);
  if (!result.ok) throw new Error(result.error.kind);
  return result.value;
}
const { komodoPrefix, text, komodoHd0, komodoHd1 } = keyFacts.messages;

test("coin keys of KDF's HD wallet sign KDF's messages", () => {
  const hd = root(keyFacts.hd.mnemonic);
  expect(signMessage(komodoPrefix, text, hdCoinKey(hd, "m/44'/141'"))).toBe(komodoHd0);
  expect(signMessage(komodoPrefix, text, hdCoinKey(hd, "m/44'/141'", { account: 0, chain: 0, index: 1 }))).toBe(komodoHd1);
});

test("a BIP-32 chain of the BIP-39 example wallet gives the published key", () => {
  const hd = root("abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about");
  expect(toHex(hdCoinKey(hd, "m/84'/0'").publicKey)).toBe("0330d54fd0dd420a6e5f8d3624f5f3482cae350f79d5f0753bf5beef9c2d91af3c");
});

test("the node's key is its own, and the same each time", () => {
  const hd = root(keyFacts.hd.mnemonic);
  const node = toHex(hdNodeKey(hd).publicKey);
  expect(node).toBe(toHex(hdNodeKey(root(keyFacts.hd.mnemonic)).publicKey));
  expect(node).not.toBe(toHex(hdCoinKey(hd, "m/44'/141'").publicKey));
});

test("a phrase with a wrong word or checksum is refused", () => {
  for (const phrase of [
    "",
    "tank abandon",
    keyFacts.hd.mnemonic.replace("tank", "tankk"),
    keyFacts.hd.mnemonic.replace("fossil", "tank"),
  ]) {
    expect(mnemonicToRoot(phrase)).toEqual({ ok: false, error: { kind: "BadMnemonic" } });
  }
});

test("derivation paths are checked, address paths are shown as replies show them", () => {
  for (const path of ["m/44'/141'", "m/84'/0'", "m/44'/2147483647'", "m/0"]) expect(isDerivationPath(path)).toBe(true);
  for (const path of ["", "m", "m/", "44'/0'", "m/44''", "m/-1", "m/2147483648'", "m/44h", `m${"/1".repeat(11)}`])
    expect(isDerivationPath(path)).toBe(false);
  expect(addressPath("m/44'/141'")).toBe("m/44'/141'/0'/0/0");
  expect(addressPath("m/44'/60'", { account: 3, chain: 1, index: 7 })).toBe("m/44'/60'/3'/1/7");
});

test("an HD root does not print itself", () => {
  expect(JSON.stringify({ root: root(keyFacts.hd.mnemonic) })).toBe('{"root":"[redacted]"}');
});
