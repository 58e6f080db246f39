import { concatBytes, fromHex } from "../core/util/bytes.ts";
import { pushBytes } from "../core/utxo/script.ts";
import { type Block, createBlock, mineHeader, REGTEST_BITS } from "./block.ts";
import { type ChainParams, COIN } from "./chainParams.ts";
import { NULL_OUTPOINT, txToChainTx } from "./chainTx.ts";
import { merkleRoot } from "./merkle.ts";

/** Facts of Bitcoin's genesis block (2009): its coinbase script and the key it pays, both on every Bitcoin network. */
const BITCOIN_COINBASE_SCRIPT =
  "04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73";
const BITCOIN_OUTPUT_SCRIPT =
  "4104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac";
/** Regtest's genesis time and nonce; nonce 0 would do as well but is another block. */
const REGTEST_GENESIS_TIME = 1_296_688_602;
const REGTEST_GENESIS_NONCE = 2;

/**
 * First block. Legacy and segwit chains have Bitcoin's regtest genesis (0f9188f1…2206), so that Bitcoin Core's library
 * accepts what follows; KMD-family chains have one of their own with the ticker in it. Its coins cannot be spent.
 */
export function genesisBlock(params: ChainParams): Block {
  const isBitcoin = params.kind !== "kmd";
  const message = new Uint8Array(Array.from(`embedded chain ${params.ticker}`, (c) => c.charCodeAt(0) & 0x7f));
  const scriptSig = isBitcoin ? fromHex(BITCOIN_COINBASE_SCRIPT) : concatBytes(fromHex("04ffff001d0104"), pushBytes(message));
  const coinbase = txToChainTx({
    version: 1,
    inputs: [{ ...NULL_OUTPOINT, scriptSig, sequence: 0xffffffff, witness: [] }],
    outputs: [{ value: 50n * COIN, script: fromHex(BITCOIN_OUTPUT_SCRIPT) }],
    lockTime: 0,
  });
  const draft = {
    version: 1,
    previous: "00".repeat(32),
    merkleRoot: merkleRoot([coinbase.txid]).root,
    time: REGTEST_GENESIS_TIME,
    bits: REGTEST_BITS,
  };
  return createBlock(isBitcoin ? { ...draft, nonce: REGTEST_GENESIS_NONCE } : mineHeader(draft), [coinbase]);
}
