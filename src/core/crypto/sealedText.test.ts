import { expect, test } from "vitest";
import { fromHex, toHex } from "../util/bytes.ts";
import { NONCE_BYTES, openText, sealText } from "./sealedText.ts";

const KEY = Uint8Array.from({ length: 32 }, (_, i) => 0x80 + i);
const NONCE = fromHex("404142434445464748494a4b4c4d4e4f5051525354555657");

test("seals as the XChaCha20-Poly1305 draft does (draft-irtf-cfrg-xchacha-03, A.3.1), but for what is bound into it", () => {
  const text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
  const sealed = sealText(KEY, NONCE, "", text);
  expect(sealed.slice(0, 64)).toBe("bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb");
  expect(sealed).toHaveLength(2 * (text.length + 16));
});

test("opens with the same key, nonce and context alone, and no damage goes unnoticed", () => {
  const sealed = sealText(KEY, NONCE, "a", "grün");
  expect(openText(KEY, NONCE, "a", sealed)).toEqual({ ok: true, value: "grün" });
  const failed = { ok: false, error: { kind: "NotOpened" } };
  expect(
    openText(
      KEY.map((b) => b ^ 1),
      NONCE,
      "a",
      sealed,
    ),
  ).toEqual(failed);
  expect(
    openText(
      KEY,
      NONCE.map((b) => b ^ 1),
      "a",
      sealed,
    ),
  ).toEqual(failed);
  expect(openText(KEY, NONCE, "b", sealed)).toEqual(failed);
  expect(openText(KEY, NONCE.subarray(1), "a", sealed)).toEqual(failed);
  for (let i = 0; i < sealed.length / 2; i++) {
    const bytes = fromHex(sealed);
    bytes[i] = (bytes[i] ?? 0) ^ 1;
    expect(openText(KEY, NONCE, "a", toHex(bytes))).toEqual(failed);
  }
  for (const text of ["", "0", "zz", sealed.slice(2)]) expect(openText(KEY, NONCE, "a", text)).toEqual(failed);
  expect(NONCE).toHaveLength(NONCE_BYTES);
});
