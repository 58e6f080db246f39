import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { validateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { Secret } from "../../core/util/secret.ts";
import { createSystemRng } from "./systemRng.ts";
import { parseWalletBox } from "./walletCipher.ts";
import { createWallet, newPhrase, openWallet, walletErrorText, walletPath } from "./walletFile.ts";

const rng = createSystemRng();
const PASSWORD = new Secret("StrongPass123*");
const wallet = { name: "main", password: PASSWORD };

test("a missing wallet is created with a valid phrase, and opens to the same phrase again", async () => {
  const dir = tempFolder();
  const first = await openWallet(dir, wallet, null, rng);
  if (!first.ok) throw new Error(first.error.kind);
  expect(first.value.created).toBe(true);
  const phrase = first.value.passphrase.reveal();
  expect(validateMnemonic(phrase, wordlist)).toBe(true);
  expect(phrase.split(" ")).toHaveLength(12);
  const file = readFileSync(walletPath(dir, "main"), "utf8");
  expect(statSync(walletPath(dir, "main")).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, "WALLETS")).mode & 0o777).toBe(0o700);
  for (const word of phrase.split(" ")) expect(file.includes(` ${word} `)).toBe(false);
  const again = await openWallet(dir, wallet, null, rng);
  expect(again.ok && again.value.passphrase.reveal()).toBe(phrase);
  expect(again.ok && again.value.created).toBe(false);
});

test("a wrong password is told as one, also when the file was changed", async () => {
  const dir = tempFolder();
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
  const dir = tempFolder();
  await openWallet(dir, wallet, new Secret("one"), rng);
  expect((await openWallet(dir, wallet, new Secret("one"), rng)).ok).toBe(true);
  expect(await openWallet(dir, wallet, new Secret("two"), rng)).toMatchObject({ ok: false, error: { kind: "OtherPassphrase" } });
});

test("where KDF has been used no wallet is made of new words by itself: of given ones, and by its own command, it is", async () => {
  const dir = tempFolder();
  mkdirSync(join(dir, "ab".repeat(20)));
  writeFileSync(join(dir, "ab".repeat(20), "MM2.db"), "");
  const refused = await openWallet(dir, wallet, null, rng);
  expect(refused).toEqual({ ok: false, error: { kind: "WordsWithKdf" } });
  if (!refused.ok) expect(walletErrorText(refused.error, "main")).toContain("set passphrase to the words KDF has");
  expect(readdirSync(dir)).toEqual(["ab".repeat(20)]);
  expect((await openWallet(dir, wallet, new Secret("the words KDF has"), rng)).ok).toBe(true);
  expect((await openWallet(dir, wallet, null, rng)).ok).toBe(true);
  expect((await createWallet(dir, "other", PASSWORD, newPhrase(rng), rng)).ok).toBe(true);
});

test("an existing wallet is never overwritten", async () => {
  const dir = tempFolder();
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

test("a file that is right but for the cost it asks for is refused before anything is worked out", () => {
  const box = (n: number): string =>
    JSON.stringify({
      format: "swapnode-wallet",
      version: 1,
      name: "m",
      kdf: { name: "scrypt", n, r: 8, p: 1, salt: "00".repeat(32) },
      cipher: { name: "xchacha20-poly1305", nonce: "00".repeat(24) },
      ciphertext: "00".repeat(20),
    });
  expect(parseWalletBox(box(2 ** 20)).ok).toBe(true);
  for (const n of [2 ** 21, 2 ** 13, 2 ** 20 - 1])
    expect(parseWalletBox(box(n))).toMatchObject({ ok: false, error: { reason: "its scrypt cost is out of bounds" } });
});

test("a wallet name cannot leave its folder", () => {
  expect(() => walletPath("/x", "../y")).toThrow();
});
