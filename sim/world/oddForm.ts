import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import { concatBytes } from "../../src/core/util/bytes.ts";
import { parseRedeemScript } from "../../src/core/utxo/htlc.ts";
import { OP } from "../../src/core/utxo/opcodes.ts";
import { pushesOf } from "../../src/core/utxo/script.ts";
import type { Tx, TxInput } from "../../src/core/utxo/tx.ts";

/** A push with a length of four bytes, as long as it may be written. */
const wide = (data: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(OP.PUSHDATA4, data.length & 0xff, (data.length >> 8) & 0xff, 0, 0), data);

const DECOY = new Uint8Array(32).fill(5);
/** What the script takes for false and for true, though no wallet writes it so. */
const [NO, YES] = [Uint8Array.of(0x80), Uint8Array.of(0, 1)];
/** Items below those the script reads: by its places a claim looks like a refund (KDF's second item is `OP_1`), and a refund like a claim (the third is `OP_0`). */
const BELOW_CLAIM = [DECOY, Uint8Array.of(1)];
const BELOW_REFUND = [DECOY, DECOY, new Uint8Array(0)];

function oddInput(input: TxInput): TxInput {
  const items = pushesOf(input.scriptSig) ?? [];
  const redeem = items.at(-1);
  const branch = items.at(-2);
  if (!redeem || !branch || !parseRedeemScript(redeem)) return input;
  const isClaim = branch.length === 0;
  const all = [...(isClaim ? BELOW_CLAIM : BELOW_REFUND), ...items.slice(0, -2), isClaim ? NO : YES, redeem];
  return { ...input, scriptSig: concatBytes(...all.map(wide)) };
}

/**
 * A claim or refund as a miner may take it and nobody relays: as valid, under another id, and written to be misread. It needs no key. The same transaction
 * where it spends no contract.
 */
export const inOddForm = (tx: Tx): ChainTx => txToChainTx({ ...tx, inputs: tx.inputs.map(oddInput) });
