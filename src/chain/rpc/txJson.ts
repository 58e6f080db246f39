import { toHex } from "../../core/util/bytes.ts";
import { scriptToAddress } from "../../core/utxo/address.ts";
import { classifyOutput, type OutputKind } from "../../core/utxo/outputScript.ts";
import { readOp } from "../../core/utxo/script.ts";
import { decodeScriptNum } from "../../core/utxo/scriptNum.ts";
import type { ChainParams } from "../chainParams.ts";
import { type ChainTx, isCoinbase } from "../chainTx.ts";
import { unitsToJson } from "../money.ts";
import { opcodeName } from "../script/opcodeInfo.ts";

/** Daemon's names of output types. */
const TYPE_NAMES: { readonly [K in OutputKind["kind"]]: string } = {
  p2pkh: "pubkeyhash",
  p2sh: "scripthash",
  p2pk: "pubkey",
  p2wpkh: "witness_v0_keyhash",
  p2wsh: "witness_v0_scripthash",
  p2tr: "witness_v1_taproot",
  witness_unknown: "witness_unknown",
  multisig: "multisig",
  op_return: "nulldata",
  nonstandard: "nonstandard",
};

/** Script in words: pushes of up to four bytes as numbers, others as hex. */
function scriptAsm(script: Uint8Array): string {
  const words: string[] = [];
  let at = 0;
  while (at < script.length) {
    const step = readOp(script, at);
    if (!step) return [...words, "[error]"].join(" ");
    if (!step.data || step.data.length === 0) words.push(opcodeName(step.op));
    else words.push(step.data.length <= 4 ? String(decodeScriptNum(step.data, 4, false)) : toHex(step.data));
    at = step.end;
  }
  return words.join(" ");
}

export function scriptToJson(script: Uint8Array, params: ChainParams): object {
  const output = classifyOutput(script);
  const address = output.kind === "p2pk" ? null : scriptToAddress(script, params.addresses);
  const requiredSigs = output.kind === "multisig" ? output.required : 1;
  return {
    asm: scriptAsm(script),
    hex: toHex(script),
    ...(address === null ? {} : { reqSigs: requiredSigs }),
    type: TYPE_NAMES[output.kind],
    ...(address === null ? {} : { addresses: [address] }),
    // Daemons since Core 22; Komodo's is older.
    ...(address === null || params.kind === "kmd" ? {} : { address }),
  };
}

function inputsToJson({ tx }: ChainTx): object[] {
  const coinbase = isCoinbase(tx);
  return tx.inputs.map((i) => ({
    ...(coinbase
      ? { coinbase: toHex(i.scriptSig) }
      : { txid: i.txid, vout: i.vout, scriptSig: { asm: scriptAsm(i.scriptSig), hex: toHex(i.scriptSig) } }),
    ...(i.witness.length > 0 ? { txinwitness: i.witness.map(toHex) } : {}),
    sequence: i.sequence,
  }));
}

/** A transaction as a daemon prints it decoded, without its place in the chain. */
export function txToJson(chainTx: ChainTx, params: ChainParams): object {
  const { tx, txid, wtxid, raw } = chainTx;
  const sizes =
    params.kind === "kmd" ? { size: raw.length } : { hash: wtxid, size: raw.length, vsize: chainTx.vsize, weight: chainTx.weight };
  return {
    txid,
    ...(tx.sapling ? { overwintered: true, versiongroupid: tx.sapling.versionGroupId.toString(16).padStart(8, "0") } : {}),
    ...sizes,
    version: tx.version,
    locktime: tx.lockTime,
    ...(tx.sapling ? { expiryheight: tx.sapling.expiryHeight, valueBalance: 0, vShieldedSpend: [], vShieldedOutput: [] } : {}),
    vin: inputsToJson(chainTx),
    vout: tx.outputs.map((o, n) => ({
      value: unitsToJson(o.value),
      ...(params.kind === "kmd" ? { valueSat: Number(o.value) } : {}),
      n,
      scriptPubKey: scriptToJson(o.script, params),
    })),
    ...(params.kind === "kmd" ? { vjoinsplit: [] } : {}),
  };
}
