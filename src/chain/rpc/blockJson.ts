import { reversed, toHex } from "../../core/util/bytes.ts";
import { bitsToTarget, blockSizes } from "../block.ts";
import type { BlockEntry } from "../chainState.ts";
import { unitsToJson } from "../money.ts";
import { isKmd, type RpcContext } from "./method.ts";
import { txToJson } from "./txJson.ts";

/** Target of difficulty 1 (compact 1d00ffff). */
const DIFFICULTY_ONE = Number(bitsToTarget(0x1d00ffff));

export const difficulty = (bits: number): number => DIFFICULTY_ONE / Number(bitsToTarget(bits));

export const workHex = (work: bigint): string => work.toString(16).padStart(64, "0");

/** -1 off the active chain; 1 in the tip. */
export function rawConfirmations({ chain }: RpcContext, entry: BlockEntry): number {
  return chain.state.isActive(entry) ? chain.state.tip.height - entry.height + 1 : -1;
}

/**
 * Confirmations as the daemon calls them. Komodo's daemon counts a block once until a later one is notarized, from
 * the first notarization on; before that it shows them plainly (komodod's dpowconfs rule, strictly below).
 */
export function confirmationsJson(
  context: RpcContext,
  entry: BlockEntry,
): { readonly confirmations: number; readonly rawconfirmations?: number } {
  const raw = rawConfirmations(context, entry);
  if (!isKmd(context)) return { confirmations: raw };
  const { notarized } = context.chain;
  const capped = notarized && raw > 0 && entry.height > 0 && entry.height >= notarized.height;
  return { confirmations: capped ? 1 : raw, rawconfirmations: raw };
}

function headerFields(context: RpcContext, entry: BlockEntry): object {
  const { header } = entry.block;
  const next = context.chain.state.isActive(entry) ? context.chain.state.at(entry.height + 1) : undefined;
  return {
    height: entry.height,
    version: header.version,
    ...(isKmd(context) ? {} : { versionHex: header.version.toString(16).padStart(8, "0") }),
    merkleroot: toHex(reversed(header.merkleRoot)),
    time: header.time,
    // Komodo prints no median time; its clients take the median themselves.
    ...(isKmd(context) ? { segid: -1, finalsaplingroot: "00".repeat(32) } : { mediantime: entry.medianTime }),
    nonce: isKmd(context) ? header.nonce.toString(16).padStart(64, "0") : header.nonce,
    ...(isKmd(context) ? { solution: "" } : {}),
    bits: header.bits.toString(16).padStart(8, "0"),
    difficulty: difficulty(header.bits),
    chainwork: workHex(entry.work),
    ...(entry.previous ? { previousblockhash: entry.previous.block.hash } : {}),
    ...(next ? { nextblockhash: next.block.hash } : {}),
  };
}

function notarizedField(context: RpcContext): object {
  return isKmd(context) ? { last_notarized_height: context.chain.notarized?.height ?? 0 } : {};
}

export function headerToJson(context: RpcContext, entry: BlockEntry): object {
  return {
    ...notarizedField(context),
    hash: entry.block.hash,
    ...confirmationsJson(context, entry),
    ...headerFields(context, entry),
    ...(isKmd(context) ? {} : { nTx: entry.block.txs.length }),
  };
}

/** @param verbosity 1: transaction ids; 2: transactions */
export function blockToJson(context: RpcContext, entry: BlockEntry, verbosity: number): object {
  const { block } = entry;
  const { params } = context.chain;
  const sizes = blockSizes(block);
  const fee = (i: number): object => {
    const spent = entry.undo?.[i];
    const outputs = block.txs[i]?.tx.outputs.reduce((n, o) => n + o.value, 0n) ?? 0n;
    return spent && i > 0 && !isKmd(context) ? { fee: unitsToJson(spent.reduce((n, c) => n + c.value, 0n) - outputs) } : {};
  };
  return {
    ...notarizedField(context),
    hash: block.hash,
    ...confirmationsJson(context, entry),
    size: sizes.size,
    ...(isKmd(context) ? {} : { strippedsize: sizes.strippedSize, weight: sizes.weight }),
    ...headerFields(context, entry),
    ...(isKmd(context) ? {} : { nTx: block.txs.length }),
    tx: block.txs.map((t, i) => (verbosity < 2 ? t.txid : { ...txToJson(t, params), ...fee(i), hex: toHex(t.raw) })),
  };
}
