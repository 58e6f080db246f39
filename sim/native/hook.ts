import { registerHooks } from "node:module";

// Loaded before the simulator (`node --import`): whoever asks for noble's secp256k1 or SHA-256 gets the same interface with
// signatures, keys and hashes made by libsecp256k1 and OpenSSL, byte for byte the same and quicker (signatures forty times).
// The product signs and hashes with noble alone (design D10). Hex is Node's. And what nodes read from the bytes of a message, a block or
// a transaction, a pure function, is worked out once for all of them.

const here = (path: string): string => new URL(path, import.meta.url).href;

const QUICK: ReadonlyMap<string, string> = new Map([
  ["@noble/curves/secp256k1.js", here("./secp256k1.ts")],
  ["@noble/hashes/sha2.js", here("./sha2.ts")],
]);

const PURE: ReadonlyMap<string, string> = new Map([
  [here("../../src/core/gossip/parseFrame.ts"), here("../pure/parseFrame.ts")],
  [here("../../src/core/gossip/messageId.ts"), here("../pure/messageId.ts")],
  [here("../../src/core/message/envelope.ts"), here("../pure/envelope.ts")],
  [here("../../src/core/message/orderMessage.ts"), here("../pure/orderMessage.ts")],
  [here("../../src/core/utxo/txCodec.ts"), here("../pure/txCodec.ts")],
  [here("../../src/chainIndex/rawTx.ts"), here("../pure/rawTx.ts")],
  [here("../../src/adapters/utxoRpc/answers.ts"), here("../pure/answers.ts")],
  [here("../../src/adapters/electrum/answers.ts"), here("../pure/electrumAnswers.ts")],
  [here("../../src/adapters/utxoRpc/parseBlock.ts"), here("../pure/parseBlock.ts")],
  [here("../../src/core/util/toHex.ts"), here("./toHex.ts")],
]);

registerHooks({
  resolve: (specifier, context, next) => {
    const quick = QUICK.get(specifier);
    if (quick !== undefined && context.parentURL !== quick) return { url: quick, shortCircuit: true };
    const found = next(specifier, context);
    const pure = PURE.get(found.url);
    return pure !== undefined && context.parentURL !== pure ? { ...found, url: pure } : found;
  },
});
