import { parseHex, toHex } from "../../core/util/bytes.ts";
import type { BlockEntry } from "../chainState.ts";
import { type ChainTx, parseChainTxAt } from "../chainTx.ts";
import { spendableCoins } from "../coinSet.ts";
import type { MempoolReject } from "../mempool.ts";
import { parseAmount, unitsToJson } from "../money.ts";
import type { Args } from "./args.ts";
import { confirmationsJson } from "./blockJson.ts";
import { findBlock } from "./blockMethods.ts";
import { isKmd, type RpcContext, type RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";
import { txToJson } from "./txJson.ts";

/** Rate above which `sendrawtransaction` refuses, base units per 1000 bytes: 0.10 coins (Core's default). */
const MAX_FEE_PER_KB = 10_000_000n;
/** Komodo refuses fees above this many times the relay minimum. */
const KMD_ABSURD_FACTOR = 10_000n;
/** Most transactions of one `testmempoolaccept`. */
const MAX_TEST = 25;

const UNDECODABLE = "TX decode failed. Make sure the tx has at least one input.";

/** A transaction given as hex. */
export function decodeTx({ chain }: RpcContext, value: unknown): ChainTx {
  const bytes = typeof value === "string" ? parseHex(value) : null;
  if (!bytes?.ok) throw new RpcError(RPC_CODE.deserialization, UNDECODABLE);
  const parsed = parseChainTxAt(bytes.value, 0, chain.params.template.format);
  if (!parsed.ok || parsed.value.end !== bytes.value.length) throw new RpcError(RPC_CODE.deserialization, UNDECODABLE);
  return parsed.value.tx;
}

/** Reject codes of the old p2p `reject` message, which Komodo's daemon puts before the reason. */
const KMD_CODES: readonly (readonly [RegExp, number])[] = [
  [/^(txn-mempool-conflict|txn-already-known|bad-txns-inputs-spent)/, 18],
  [/^(min relay fee not met|mempool min fee not met|mempool full)/, 66],
  [/^(dust|scriptpubkey|scriptsig|version|tx-size|multi-op-return|non-|bad-txns-nonstandard|too-long)/, 64],
];

/** A daemon's refusal of a transaction: code and sentence (the sentence is protocol here, so it is made from the word). */
export function rejectToError(context: RpcContext, reject: MempoolReject): RpcError {
  if (reject.kind === "missing_inputs") {
    return new RpcError(RPC_CODE.verify, isKmd(context) ? "Missing inputs" : reject.reason);
  }
  if (isKmd(context)) {
    const code = KMD_CODES.find(([pattern]) => pattern.test(reject.reason))?.[1] ?? 16;
    return new RpcError(RPC_CODE.rejected, `${code}: ${reject.reason}`);
  }
  return new RpcError(RPC_CODE.rejected, reject.detail === undefined ? reject.reason : `${reject.reason}, ${reject.detail}`);
}

function isInChain({ chain }: RpcContext, chainTx: ChainTx): boolean {
  return spendableCoins(chainTx, 0).some((c) => chain.state.coins.get(`${c.txid}:${c.vout}`));
}

function maxFeePerKb(args: Args): bigint {
  if (!args.has(1) || typeof args.any(1) === "boolean") return MAX_FEE_PER_KB;
  const parsed = parseAmount(args.any(1));
  if (!parsed.ok) throw new RpcError(RPC_CODE.type, "Invalid amount");
  return parsed.value;
}

function feeTooHigh(context: RpcContext, fee: bigint, vsize: number, args: Args): RpcError | null {
  const { params } = context.chain;
  if (isKmd(context)) {
    const limit = (KMD_ABSURD_FACTOR * params.minRelayFeePerKb * BigInt(vsize)) / 1_000n;
    const allowed = args.any(1) === true || fee <= limit;
    return allowed ? null : new RpcError(RPC_CODE.rejected, `256: absurdly-high-fee, ${fee} > ${limit}`);
  }
  const rate = maxFeePerKb(args);
  if (rate === 0n || fee * 1_000n <= rate * BigInt(vsize)) return null;
  return new RpcError(RPC_CODE.verify, "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)");
}

function sendRawTransaction(context: RpcContext, args: Args): string {
  const { chain } = context;
  const chainTx = decodeTx(context, args.any(0));
  if (isInChain(context, chainTx)) {
    const text = isKmd(context) ? "transaction already in block chain" : "Transaction outputs already in utxo set";
    throw new RpcError(RPC_CODE.alreadyInChain, text);
  }
  // A daemon only sends it out again.
  if (chain.mempool.graph.get(chainTx.txid)) return chainTx.txid;
  const tested = chain.send(chainTx, { dryRun: true });
  if (!tested.ok) throw rejectToError(context, tested.error);
  const dear = feeTooHigh(context, tested.value.entry.fee, chainTx.vsize, args);
  if (dear) throw dear;
  const sent = chain.send(chainTx);
  if (!sent.ok) throw rejectToError(context, sent.error);
  return chainTx.txid;
}

function testMempoolAccept(context: RpcContext, args: Args): object[] {
  const { chain } = context;
  return args.list(0, MAX_TEST).map((raw) => {
    const chainTx = decodeTx(context, raw);
    const ids = { txid: chainTx.txid, wtxid: chainTx.wtxid };
    const tested = isInChain(context, chainTx) ? null : chain.send(chainTx, { dryRun: true });
    if (!tested) return { ...ids, allowed: false, "reject-reason": "txn-already-known" };
    if (!tested.ok) {
      const { kind, reason, detail } = tested.error;
      const word = kind === "missing_inputs" ? "missing-inputs" : reason;
      return { ...ids, allowed: false, "reject-reason": word, ...(detail ? { "reject-details": `${reason}, ${detail}` } : {}) };
    }
    const { fee } = tested.value.entry;
    const dear = feeTooHigh(context, fee, chainTx.vsize, args);
    if (dear) return { ...ids, allowed: false, "reject-reason": "max-fee-exceeded" };
    return { ...ids, allowed: true, vsize: chainTx.vsize, fees: { base: unitsToJson(fee) } };
  });
}

function notFound(context: RpcContext, block: BlockEntry | null): RpcError {
  if (isKmd(context)) return new RpcError(RPC_CODE.notFound, "No information available about transaction");
  const text = block
    ? "No such transaction found in the provided block"
    : context.txIndex
      ? "No such mempool or blockchain transaction"
      : "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries";
  return new RpcError(RPC_CODE.notFound, `${text}. Use gettransaction for wallet transactions.`);
}

function findTx(context: RpcContext, txid: string, block: BlockEntry | null): { chainTx: ChainTx; entry: BlockEntry | null } {
  const { state, mempool } = context.chain;
  const waiting = block ? undefined : mempool.graph.get(txid)?.chainTx;
  if (waiting) return { chainTx: waiting, entry: null };
  const entry = block ?? (context.txIndex ? state.blockOfTx(txid) : undefined);
  const chainTx = entry?.block.txs.find((t) => t.txid === txid);
  if (!entry || !chainTx) throw notFound(context, block);
  return { chainTx, entry };
}

function getRawTransaction(context: RpcContext, args: Args): unknown {
  const { chain } = context;
  const txid = args.hash(0, "parameter 1");
  const verbose = args.verbosity(1, 0) > 0;
  const block = args.has(2) ? findBlock(context, args.hash(2, "parameter 3")) : null;
  const { chainTx, entry } = findTx(context, txid, block);
  if (!verbose) return toHex(chainTx.raw);
  const shape = {
    ...(block ? { in_active_chain: chain.state.isActive(block) } : {}),
    hex: toHex(chainTx.raw),
    ...txToJson(chainTx, chain.params),
  };
  if (!entry) return isKmd(context) ? { ...shape, confirmations: 0, rawconfirmations: 0 } : shape;
  const { time } = entry.block.header;
  const height = isKmd(context) ? { height: entry.height, last_notarized_height: chain.notarized?.height ?? 0 } : {};
  return { ...shape, blockhash: entry.block.hash, ...height, ...confirmationsJson(context, entry), time, blocktime: time };
}

export const TX_METHODS: RpcMethods = {
  getrawtransaction: { params: ["txid", "verbose", "blockhash"], required: 1, run: getRawTransaction },
  sendrawtransaction: { params: ["hexstring", "maxfeerate"], required: 1, run: sendRawTransaction },
  testmempoolaccept: { params: ["rawtxs", "maxfeerate"], required: 1, only: "core", run: testMempoolAccept },
  decoderawtransaction: {
    params: ["hexstring", "iswitness"],
    required: 1,
    run: (context, args) => txToJson(decodeTx(context, args.any(0)), context.chain.params),
  },
};
