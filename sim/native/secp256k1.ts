import { createRequire } from "node:module";
import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import { remembered } from "../pure/remembered.ts";
import { latin1, noteMade } from "./ownSignatures.ts";

/** The part of the `secp256k1` package used here. Deterministic by RFC 6979, low-S, as noble is asked to be. */
type Binding = {
  ecdsaSign(digest: Uint8Array, secretKey: Uint8Array): { readonly signature: Uint8Array<ArrayBuffer>; readonly recid: number };
  /** Throws where no key can have made it. */
  ecdsaRecover(signature: Uint8Array, recid: number, digest: Uint8Array, compressed: boolean): Uint8Array<ArrayBuffer>;
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

type Signature = ReturnType<typeof noble.Signature.fromBytes>;

/** A signature that names its key: found by libsecp256k1, and given as noble's point, which looks whether it is on the curve. */
function recoverable(binding: Binding, bytes: Uint8Array, signature: Signature): Signature {
  const recoverPublicKey = (digest: Uint8Array): ReturnType<Signature["recoverPublicKey"]> =>
    noble.Point.fromBytes(binding.ecdsaRecover(bytes.subarray(1), bytes[0] ?? 0, digest, false));
  return Object.create(signature, { recoverPublicKey: { value: recoverPublicKey } });
}

function quickSignature(binding: Binding): typeof noble.Signature {
  const fromBytes: typeof noble.Signature.fromBytes = (bytes, format) => {
    const signature = noble.Signature.fromBytes(bytes, format);
    return format === "recovered" ? recoverable(binding, bytes, signature) : signature;
  };
  return Object.create(noble.Signature, { fromBytes: { value: fromBytes } });
}

/** A world has few keys, and every look at a contract asks about two of them. By their bytes as characters. */
const isPoint = (binding: Binding): ((key: Uint8Array) => boolean) => {
  const known = remembered<boolean, string>((text) => binding.publicKeyVerify(Buffer.from(text, "latin1")));
  return (key) => known(latin1(key));
};

/** The same for the keys that sign. */
const publicKeyOf = (binding: Binding): ((secretKey: Uint8Array) => Uint8Array) => {
  const known = remembered<Uint8Array, string>((text) => binding.publicKeyCreate(Buffer.from(text, "latin1"), true));
  return (secretKey) => known(latin1(secretKey));
};

const quick = (binding: Binding, isValidPoint = isPoint(binding), compressedKey = publicKeyOf(binding)): typeof noble => ({
  ...noble,
  Signature: quickSignature(binding),
  getPublicKey: (secretKey, isCompressed = true) => binding.publicKeyCreate(secretKey, isCompressed),
  utils: {
    ...noble.utils,
    isValidPublicKey: (key, isCompressed) =>
      isCompressed === true ? key.length === 33 && isValidPoint(key) : noble.utils.isValidPublicKey(key, isCompressed),
  },
  sign: (message, secretKey, options) => {
    const isPlain = options?.prehash === false && options.lowS !== false && !options.extraEntropy;
    if (!isPlain) return noble.sign(message, secretKey, options);
    const { signature, recid } = binding.ecdsaSign(message, secretKey);
    if (options.format === "recovered") return Uint8Array.of(recid, ...signature);
    if (options.format === "der") return binding.signatureExport(signature);
    noteMade(signature, message, compressedKey(secretKey));
    return signature;
  },
});

const binding = loadBinding();

/** noble's interface. What is not quick by itself is noble's own. */
export const secp256k1 = binding ? quick(binding) : noble;
