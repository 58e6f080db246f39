import type { UtxoKind } from "../../core/coin/utxoKind.ts";
import type { KeyPair } from "../../core/keys/keyPair.ts";
import { addressScript, addressText, pubkeyToAddress } from "../../core/utxo/address.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { p2pkhScript, p2pkScript, p2wpkhScript } from "../../core/utxo/outputScript.ts";
import type { CoinWallet } from "./coinSpec.ts";

/** Every plain form that pays to the key is ours; the coin's own form comes first and receives change. */
export function ownWallet(kind: UtxoKind, key: KeyPair): Pick<CoinWallet, "key" | "address" | "scripts"> {
  const own = pubkeyToAddress(key.publicKey, kind.address);
  const hash = hash160(key.publicKey);
  const others = [p2pkhScript(hash), p2pkScript(key.publicKey), ...(kind.address.segwit ? [p2wpkhScript(hash)] : [])];
  const first = addressScript(own);
  return {
    key,
    address: addressText(own, kind.address),
    scripts: [first, ...others.filter((s) => s.length !== first.length || s.some((b, i) => b !== first[i]))],
  };
}
