import { sha256 } from "@noble/hashes/sha2.js";
import { type KeyPair, keyPairFromScalar } from "../core/keys/keyPair.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { hash160 } from "../core/utxo/hash.ts";
import { p2pkhScript } from "../core/utxo/outputScript.ts";
import { signInputs } from "../core/utxo/signInput.ts";
import type { TxOutput } from "../core/utxo/tx.ts";
import { draftTx, SEQUENCE_FINAL } from "../core/utxo/txTemplate.ts";
import type { ChainParams } from "./chainParams.ts";
import { type ChainTx, txToChainTx } from "./chainTx.ts";
import type { Coin } from "./coinSet.ts";

/** The faucet's key is published on purpose: its coins have no value, and tests may want to spend as it. */
const SEED_TEXT = "swapnode embedded chain faucet";
/** Most inputs of one payment. */
const MAX_INPUTS = 500;
/** Bytes of a P2PKH input, of an output at most, and of the rest. */
const INPUT_BYTES = 148n;
const OUTPUT_BYTES = 43n;
const BASE_BYTES = 40n;
/** Smallest change given back, base units: above the dust of every kind. */
const MIN_CHANGE = 2_000_000n;

export type FaucetError = { readonly kind: "FaucetDry"; readonly have: bigint; readonly need: bigint };

export function faucetKey(): KeyPair {
  const key = keyPairFromScalar(sha256(Uint8Array.from(SEED_TEXT, (c) => c.charCodeAt(0))));
  if (!key) throw new Error("the faucet's seed is no key");
  return key;
}

export const faucetScript = (key: KeyPair): Uint8Array => p2pkhScript(hash160(key.publicKey));

/**
 * A signed payment from the faucet's coins, taken in the order given. The fee is twice the relay minimum; change goes back.
 * @param coins what the faucet may spend now
 * @param to what is paid, base units and script
 */
export function faucetPayment(params: ChainParams, key: KeyPair, coins: readonly Coin[], to: TxOutput): Result<ChainTx, FaucetError> {
  const picked: Coin[] = [];
  let have = 0n;
  let fee = 0n;
  for (const coin of coins.slice(0, MAX_INPUTS)) {
    picked.push(coin);
    have += coin.value;
    const bytes = BASE_BYTES + INPUT_BYTES * BigInt(picked.length) + 2n * OUTPUT_BYTES;
    fee = (bytes * params.minRelayFeePerKb * 2n) / 1_000n + 1n;
    if (have >= to.value + fee) break;
  }
  const change = have - to.value - fee;
  if (picked.length === 0 || change < 0n) return err({ kind: "FaucetDry", have, need: to.value + fee });
  const changeOutput = { value: change, script: faucetScript(key) };
  const inputs = picked.map(({ txid, vout }) => ({ txid, vout, scriptSig: new Uint8Array(0), sequence: SEQUENCE_FINAL, witness: [] }));
  // Less than this stays with the miner: it could be dust.
  const outputs = change >= MIN_CHANGE ? [to, changeOutput] : [to];
  const draft = draftTx(params.template, { inputs, outputs, lockTime: 0 });
  return ok(txToChainTx(signInputs(draft, picked, key, params.scheme)));
}
