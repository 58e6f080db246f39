import { registerHooks } from "node:module";

// Loaded before the simulator (`node --import`): whoever asks for noble's secp256k1 gets the same interface with signatures and
// keys made by libsecp256k1, byte for byte the same and forty times quicker. The product signs with noble alone (design D10).

const QUICK = new URL("./secp256k1.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "@noble/curves/secp256k1.js" && context.parentURL !== QUICK
      ? { url: QUICK, shortCircuit: true }
      : next(specifier, context),
});
