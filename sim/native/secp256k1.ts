import { createRequire } from "node:module";
import { secp256k1 as noble } from "@noble/curves/secp256k1.js";

/** The part of the `secp256k1` package used here. Deterministic by RFC 6979, low-S, as noble is asked to be. */
type Binding = {
  ecdsaSign(digest: Uint8Array, secretKey: Uint8Array): { readonly signature: Uint8Array<ArrayBuffer> };
  signatureExport(signature: Uint8Array): Uint8Array<ArrayBuffer>;
  publicKeyCreate(secretKey: Uint8Array, compressed: boolean): Uint8Array<ArrayBuffer>;
  publicKeyVerify(publicKey: Uint8Array): boolean;
};

function loadBinding(): Binding | null {
  try {
    return createRequire(import.meta.url)("secp256k1/bindings") as Binding;
  } catch {
    // No binary for this machine: the same runs, slower.
    return null;
  }
}

const quick = (binding: Binding): typeof noble => ({
  ...noble,
  getPublicKey: (secretKey, isCompressed = true) => binding.publicKeyCreate(secretKey, isCompressed),
  utils: {
    ...noble.utils,
    isValidPublicKey: (key, isCompressed) =>
      isCompressed === true ? key.length === 33 && binding.publicKeyVerify(key) : noble.utils.isValidPublicKey(key, isCompressed),
  },
  sign: (message, secretKey, options) => {
    const isPlain = options?.prehash === false && options.lowS !== false && !options.extraEntropy;
    if (!isPlain || options.format === "recovered") return noble.sign(message, secretKey, options);
    const { signature } = binding.ecdsaSign(message, secretKey);
    return options.format === "der" ? binding.signatureExport(signature) : signature;
  },
});

const binding = loadBinding();

/** noble's interface. What is not quick by itself is noble's own. */
export const secp256k1 = binding ? quick(binding) : noble;
