import { startElectrumChain } from "./electrumChain.ts";
import { KMD_COIN, LEGACY_COIN, SEGWIT_COIN, startEmbeddedChain, startHttpChain } from "./embeddedChain.ts";
import { overDaemon } from "./overDaemon.ts";
import { startScriptedChain } from "./scriptedChain.ts";
import { utxoChainContract } from "./utxoChain.ts";

utxoChainContract("over a scripted daemon", async () => overDaemon(startScriptedChain()));
utxoChainContract("over the embedded chain, by function call, legacy", async () => overDaemon(await startEmbeddedChain(LEGACY_COIN)));
utxoChainContract("over the embedded chain, by function call, segwit", async () => overDaemon(await startEmbeddedChain(SEGWIT_COIN)));
utxoChainContract("over the embedded chain, by function call, KMD family", async () => overDaemon(await startEmbeddedChain(KMD_COIN)));
utxoChainContract("over the embedded chain, by HTTP, segwit", async () => overDaemon(await startHttpChain(SEGWIT_COIN)));
utxoChainContract("over one Electrum server, in process, segwit", () => startElectrumChain(SEGWIT_COIN, 1));
utxoChainContract("over three Electrum servers, in process, KMD family", () => startElectrumChain(KMD_COIN, 3));
