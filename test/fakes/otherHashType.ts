import { secp256k1 } from "@noble/curves/secp256k1.js";
import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import { concatBytes } from "../../src/core/util/bytes.ts";
import { type HtlcTerms, redeemScript, refundScriptSig } from "../../src/core/utxo/htlc.ts";
import { legacyDigest } from "../../src/core/utxo/sighash.ts";
import { withInput } from "../../src/core/utxo/signInput.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";

/** ALL, and anybody may add inputs. */
export const ALL_ANYONECANPAY = 0x81;

/** A refund of a coin with the original scheme, signed with another hash type than wallets use, as its owner may. */
export function refundSignedAs(hashType: number, tx: Tx, contract: HtlcTerms, key: KeyPair): ChainTx {
  const redeem = redeemScript(contract);
  const digest = legacyDigest(tx, 0, redeem, hashType);
  const signature = secp256k1.sign(digest, key.secret.reveal(), { prehash: false, lowS: true, format: "der" });
  return txToChainTx(withInput(tx, 0, { scriptSig: refundScriptSig(concatBytes(signature, Uint8Array.of(hashType)), redeem) }));
}
