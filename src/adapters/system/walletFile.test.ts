import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { expect, test } from "vitest";
import { Secret } from "../../core/util/secret.ts";
import { createSystemRng } from "./systemRng.ts";
import { parseWalletBox } from "./walletCipher.ts";
import { createWallet, newPhrase, openWallet, walletErrorText, walletPath } from "./walletFile.ts";

const folder = (): string => mkdtempSync(join(tmpdir(), "swapnode-wallet-"));
const rng = createSystemRng();
const PASSWORD = new Secret("StrongPass123*");
const wallet = { name: "main", password: PASSWORD };

test("a missing wallet is created with a valid phrase, and opens to the same phrase again", async () => {
  const dir = folder();
  const first = await openWallet(dir, wallet, null, rng);
  if (!first.ok) throw new Error(first.error.kind);
  expect(first.value.created).toBe(true);
  const phrase = first.value.passphrase.reveal();
  expect(validateMnemonic(phrase, wordlist)).toBe(true);
  expect(phrase.split(" ")).toHaveLength(12);
  const file = readFileSync(walletPath(dir, "main"), "utf8");
  expect(statSync(walletPath(dir, "main")).mode & 0o777).toBe(0o600);
  for (const word of phrase.split(" ")) expect(file.includes(` ${word} `)).toBe(false);
  const again = await openWallet(dir, wallet, null, rng);
  expect(again.ok && again.value.passphrase.reveal()).toBe(phrase);
  expect(again.ok && again.value.created).toBe(false);
});

test("a wrong password is told as one, also when the file was changed", async () => {
  const dir = folder();
  const phrase = new Secret("any passphrase will do");
  expect((await openWallet(dir, wallet, phrase, rng)).ok).toBe(true);
  const wrong = await openWallet(dir, { name: "main", password: new Secret("StrongPass124*") }, null, rng);
  expect(wrong).toMatchObject({ ok: false, error: { kind: "WrongPassword" } });
  if (!wrong.ok) expect(walletErrorText(wrong.error, "main")).toContain("password of wallet main is wrong");

  const path = walletPath(dir, "main");
  const box = JSON.parse(readFileSync(path, "utf8"));
  const flipped = (box.ciphertext.startsWith("0") ? "1" : "0") + box.ciphertext.slice(1);
  writeFileSync(path, JSON.stringify({ ...box, ciphertext: flipped }));
  expect(await openWallet(dir, wallet, null, rng)).toMatchObject({ ok: false, error: { kind: "WrongPassword" } });
  writeFileSync(path, JSON.stringify({ ...box, name: "other" }));
  expect(await openWallet(dir, wallet, null, rng)).toMatchObject({ ok: false, error: { kind: "WrongPassword" } });
});

test("a passphrase beside the wallet must be the one inside", async () => {
  const dir = folder();
  await openWallet(dir, wallet, new Secret("one"), rng);
  expect((await openWallet(dir, wallet, new Secret("one"), rng)).ok).toBe(true);
  expect(await openWallet(dir, wallet, new Secret("two"), rng)).toMatchObject({ ok: false, error: { kind: "OtherPassphrase" } });
});

test("an existing wallet is never overwritten", async () => {
  const dir = folder();
  expect((await createWallet(dir, "main", PASSWORD, newPhrase(rng), rng)).ok).toBe(true);
  expect(await createWallet(dir, "main", PASSWORD, newPhrase(rng), rng)).toMatchObject({ ok: false, error: { kind: "WalletExists" } });
});

test.each([
  ["no JSON", "{"],
  ["another format", "{}"],
  ["a newer version", '{"format":"swapnode-wallet","version":2}'],
  [
    "a cost that would take all memory",
    `{"format":"swapnode-wallet","version":1,"name":"m","kdf":{"name":"scrypt","n":1073741824,"r":8,"p":1,"salt":"${"00".repeat(32)}"}}`,
  ],
])("a file with %s is refused", (_, text) => {
  expect(parseWalletBox(text)).toMatchObject({ ok: false, error: { kind: "UnreadableWallet" } });
});

test("a wallet name cannot leave its folder", () => {
  expect(() => walletPath("/x", "../y")).toThrow();
});
