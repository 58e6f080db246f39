import { registerHooks } from "node:module";

// Loaded before the simulator (`node --import`): whoever asks for noble's secp256k1 or SHA-256 gets the same interface with
// signatures, keys and hashes made by libsecp256k1 and OpenSSL, byte for byte the same and quicker (signatures forty times).
// The product signs and hashes with noble alone (design D10).

const QUICK: ReadonlyMap<string, string> = new Map([
  ["@noble/curves/secp256k1.js", new URL("./secp256k1.ts", import.meta.url).href],
  ["@noble/hashes/sha2.js", new URL("./sha2.ts", import.meta.url).href],
]);

registerHooks({
  resolve: (specifier, context, next) => {
    const url = QUICK.get(specifier);
    return url !== undefined && context.parentURL !== url ? { url, shortCircuit: true } : next(specifier, context);
  },
});
