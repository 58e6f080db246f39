import { sha256 } from "@noble/hashes/sha2.js";
import { parseCoinEntry } from "../../../src/core/coin/coinEntry.ts";
import { utxoKind } from "../../../src/core/coin/utxoKind.ts";
import { type KeyPair, keyPairFromScalar } from "../../../src/core/keys/keyPair.ts";
import { decimal, toUnits } from "../../../src/core/money/rational.ts";
import { toHex } from "../../../src/core/util/bytes.ts";
import { addressText, addressToScript } from "../../../src/core/utxo/address.ts";
import { hash160 } from "../../../src/core/utxo/hash.ts";
import { p2pkhScript } from "../../../src/core/utxo/outputScript.ts";
import { signInputs } from "../../../src/core/utxo/signInput.ts";
import { serializeTx } from "../../../src/core/utxo/txCodec.ts";
import { draftTx, SEQUENCE_FINAL } from "../../../src/core/utxo/txTemplate.ts";
import type { Daemon } from "./daemonProcess.ts";

/** Reward of each of regtest's first 149 blocks, base units. */
const REWARD = 5_000_000_000n;
const FEE = 10_000n;
/** Confirmations before a reward may be spent. */
export const MATURITY = 100;

function minerKey(): KeyPair {
  const key = keyPairFromScalar(sha256(Uint8Array.from("regtest miner", (c) => c.charCodeAt(0))));
  if (!key) throw new Error("the miner's text is no key");
  return key;
}

const key = minerKey();
const script = p2pkhScript(hash160(key.publicKey));
const base58 = {
  p2pkhPrefix: Uint8Array.of(111),
  p2shPrefix: Uint8Array.of(196),
  hrp: null,
  segwit: false,
  cashPrefix: null,
  format: "standard",
} as const;

/** Where both daemons send their rewards: neither has a wallet, so the tests spend them with a key of their own. */
export const MINER_ADDRESS = addressText({ kind: "p2pkh", hash: hash160(key.publicKey) }, base58);
/** Where a miner of a competing branch sends its rewards; nobody has the key. */
export const OTHER_ADDRESS = addressText({ kind: "p2pkh", hash: hash160(script) }, base58);

/** Sends `amount` whole coins, at most 49, from the reward of the block at `height`. */
export async function payFromReward(daemon: Daemon, entry: unknown, height: number, address: string, amount: string): Promise<void> {
  const parsed = parseCoinEntry(entry);
  const kind = parsed.ok ? utxoKind(parsed.value) : parsed;
  if (!kind.ok) throw new Error(`the coin is not usable: ${JSON.stringify(kind.error)}`);
  const to = addressToScript(address, kind.value.address);
  if (!to.ok) throw new Error(`${address} is no address: ${to.error.kind}`);
  const block = (await daemon.call("getblock", [await daemon.call("getblockhash", [height]), 1])) as { tx: readonly string[] };
  const reward = { txid: block.tx[0] ?? "", vout: 0, value: REWARD, script };
  const value = toUnits(decimal(amount), kind.value.decimals);
  const inputs = [{ ...reward, scriptSig: new Uint8Array(0), sequence: SEQUENCE_FINAL, witness: [] }];
  const outputs = [
    { value, script: to.value },
    { value: REWARD - value - FEE, script },
  ];
  const signed = signInputs(draftTx(kind.value.template, { inputs, outputs, lockTime: 0 }), [reward], key, kind.value.scheme);
  await daemon.call("sendrawtransaction", [toHex(serializeTx(signed))]);
}
