import { sha256 } from "@noble/hashes/sha2.js";
import { hash160 } from "./hash.ts";
import { p2pkhScript, p2shScript, p2wpkhScript, p2wshScript } from "./outputScript.ts";
import { decodeScript } from "./script.ts";
import type { TxInput } from "./tx.ts";

const isKey = (data: Uint8Array): boolean =>
  (data.length === 33 && (data[0] === 2 || data[0] === 3)) || (data.length === 65 && data[0] === 4);

/** What a block's first transaction spends: nothing. */
const NO_TX = "00".repeat(32);

/**
 * The script of the output an input spends, where the input shows it: the last item of a standard spend is the key or the script that
 * the output has the hash of. Null for others (P2PK, taproot, coinbase). What an input claims is not checked: for display only.
 */
export function spentScript({ txid, scriptSig, witness }: Pick<TxInput, "txid" | "scriptSig" | "witness">): Uint8Array | null {
  // Its miner writes there what it likes.
  if (txid === NO_TX) return null;
  const last = witness.at(-1);
  if (scriptSig.length === 0) {
    if (last === undefined || witness.length < 2) return null;
    return witness.length === 2 && last.length === 33 && isKey(last) ? p2wpkhScript(hash160(last)) : p2wshScript(sha256(last));
  }
  const ops = decodeScript(scriptSig);
  const pushed = ops?.at(-1)?.data;
  if (!ops || !pushed || pushed.length === 0) return null;
  // A single push is a witness program in P2SH (BIP-141), or the signature of a P2PK output, which names nobody.
  if (ops.length === 1) return last === undefined ? null : p2shScript(hash160(pushed));
  return ops.length === 2 && isKey(pushed) ? p2pkhScript(hash160(pushed)) : p2shScript(hash160(pushed));
}
