import { KMD_COIN, LEGACY_COIN, SEGWIT_COIN, startEmbeddedChain, startHttpChain } from "./embeddedChain.ts";
import { startScriptedChain } from "./scriptedChain.ts";
import { utxoChainContract } from "./utxoChain.ts";

utxoChainContract("over a scripted daemon", async () => startScriptedChain());
utxoChainContract("over the embedded chain, by function call, legacy", () => startEmbeddedChain(LEGACY_COIN));
utxoChainContract("over the embedded chain, by function call, segwit", () => startEmbeddedChain(SEGWIT_COIN));
utxoChainContract("over the embedded chain, by function call, KMD family", () => startEmbeddedChain(KMD_COIN));
utxoChainContract("over the embedded chain, by HTTP, segwit", () => startHttpChain(SEGWIT_COIN));
