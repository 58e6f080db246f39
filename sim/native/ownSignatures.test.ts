import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { sharedVerifier } from "../world/sharedVerifier.ts";
import { noteMade } from "./ownSignatures.ts";

type Binding = {
  ecdsaSign(digest: Uint8Array, secretKey: Uint8Array): { readonly signature: Uint8Array };
  publicKeyCreate(secretKey: Uint8Array, compressed: boolean): Uint8Array;
};
const binding = createRequire(import.meta.url)("secp256k1/bindings") as Binding;

test("only what was signed here with just that key is taken for good unseen: all else is checked", () => {
  const [secret, digest] = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(1)];
  const publicKey = binding.publicKeyCreate(secret, true);
  const { signature } = binding.ecdsaSign(digest, secret);
  const checked: string[] = [];
  const verifierOf = (): ReturnType<typeof sharedVerifier> =>
    sharedVerifier({
      verify: () => {
        checked.push("checked");
        return false;
      },
    });
  expect(verifierOf().verify(signature, digest, publicKey)).toBe(false);
  noteMade(signature, digest, publicKey);
  expect(checked.splice(0)).toHaveLength(1);
  expect(verifierOf().verify(signature, digest, publicKey)).toBe(true);
  expect(checked).toHaveLength(0);
  const other = signature.slice();
  other[0] = (other[0] ?? 0) ^ 1;
  expect(verifierOf().verify(other, digest, publicKey)).toBe(false);
  expect(verifierOf().verify(signature, new Uint8Array(32), publicKey)).toBe(false);
  expect(verifierOf().verify(signature, digest, binding.publicKeyCreate(new Uint8Array(32).fill(8), true))).toBe(false);
  expect(checked).toHaveLength(3);
});
