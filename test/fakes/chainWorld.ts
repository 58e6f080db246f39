import { sha256 } from "@noble/hashes/sha2.js";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { type ChainKind, coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import { EmbeddedChain, type EmbeddedChainOptions } from "../../src/chain/embeddedChain.ts";
import { type KeyPair, keyPairFromScalar } from "../../src/core/keys/keyPair.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { type HtlcTerms, p2shOf, redeemScript } from "../../src/core/utxo/htlc.ts";
import { p2pkhScript } from "../../src/core/utxo/outputScript.ts";
import { type SpentOutput, signInputs } from "../../src/core/utxo/signInput.ts";
import type { OutPoint, Tx, TxOutput } from "../../src/core/utxo/tx.ts";
import { draftTx, SEQUENCE_FINAL } from "../../src/core/utxo/txTemplate.ts";

/** Coins-file entries of our own for the three kinds. */
export const TEST_COINS: { readonly [K in ChainKind]: object } = {
  legacy: { coin: "LEG", pubtype: 30, p2shtype: 22, mm2: 1, protocol: { type: "UTXO" } },
  segwit: { coin: "SEG", pubtype: 48, p2shtype: 50, segwit: true, bech32_hrp: "seg", mm2: 1, protocol: { type: "UTXO" } },
  kmd: { coin: "KIN", pubtype: 60, p2shtype: 85, txversion: 4, overwintered: 1, mm2: 1, protocol: { type: "UTXO" } },
};

export type Funded = OutPoint & SpentOutput;

export type ChainWorld = {
  readonly chain: EmbeddedChain;
  readonly clock: VirtualClock;
};

export function createChainWorld(kind: ChainKind, options: EmbeddedChainOptions = {}, more: object = {}): ChainWorld {
  const params = coinEntryToChainParams({ ...TEST_COINS[kind], ...more });
  if (!params.ok) throw new Error(params.error.detail);
  const clock = new VirtualClock(1_700_000_000_000);
  return { chain: new EmbeddedChain({ params: params.value, clock, rng: seededRng(1) }, options), clock };
}

/** A key everyone may know. */
export function testKey(name: string): KeyPair {
  const key = keyPairFromScalar(sha256(new TextEncoder().encode(name)));
  if (!key) throw new Error(`no key from ${name}`);
  return key;
}

export const payTo = (key: KeyPair): Uint8Array => p2pkhScript(hash160(key.publicKey));

/** Pays from the faucet to a script of any kind and confirms it in one block. */
export function fund(chain: EmbeddedChain, script: Uint8Array, value = 10_000_000n): Funded {
  const paid = chain.faucetTx(script, value);
  if (!paid.ok) throw new Error(`the faucet has ${paid.error.have}, not ${paid.error.need}`);
  const mined = chain.mineExactly(chain.faucetScript, [paid.value]);
  if (!mined.ok) throw new Error(mined.error.reason);
  return { txid: paid.value.txid, vout: 0, value, script };
}

/** Unsigned transaction of this chain. */
export function draft(
  chain: EmbeddedChain,
  inputs: readonly (OutPoint & { sequence?: number })[],
  outputs: readonly TxOutput[],
  lockTime = 0,
  version?: number,
): Tx {
  const template = version === undefined ? chain.params.template : { ...chain.params.template, version };
  const full = inputs.map(({ txid, vout, sequence }) => ({
    txid,
    vout,
    scriptSig: new Uint8Array(0),
    sequence: sequence ?? SEQUENCE_FINAL,
    witness: [],
  }));
  return draftTx(template, { inputs: full, outputs, lockTime });
}

/** Signed payment from outputs of one key. */
export function pay(
  chain: EmbeddedChain,
  coins: readonly (Funded & { sequence?: number })[],
  key: KeyPair,
  outputs: readonly TxOutput[],
  lockTime = 0,
): ChainTx {
  return txToChainTx(signInputs(draft(chain, coins, outputs, lockTime), coins, key, chain.params.scheme));
}

export const SECRET = sha256(new TextEncoder().encode("a secret of a test"));
const SECRET_HASH = hash160(SECRET);

/** A contract between two test keys. */
export function testContract(lock: number): {
  terms: HtlcTerms;
  redeem: Uint8Array;
  script: Uint8Array;
  claimer: KeyPair;
  refunder: KeyPair;
} {
  const refunder = testKey("refunder");
  const claimer = testKey("claimer");
  const terms = { lock, secretHash: SECRET_HASH, refundKey: refunder.publicKey, claimKey: claimer.publicKey };
  const redeem = redeemScript(terms);
  return { terms, redeem, script: p2shOf(redeem), claimer, refunder };
}
