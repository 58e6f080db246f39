import { parseHex, toHex } from "../../core/util/bytes.ts";
import { ok } from "../../core/util/result.ts";
import { parseBlock } from "../block.ts";
import { type ChainPolicy, defaultPolicy } from "../chainPolicy.ts";
import type { BlockEntry } from "../chainState.ts";
import type { MineError } from "../embeddedChain.ts";
import { formatCoins, parseAmount, unitsToJson } from "../money.ts";
import type { Args } from "./args.ts";
import { findBlock } from "./blockMethods.ts";
import { scriptOfAddress } from "./infoMethods.ts";
import { isKmd, type RpcContext, type RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";
import { decodeTx, rejectToError } from "./txMethods.ts";

/** Most blocks mined by one call. */
const MAX_MINE = 10_000;
const MAX_BLOCK_TXS = 10_000;
/** Unix seconds a header can carry. */
const MAX_TIME = 0xffffffff;
const FAUCET_MAX_CONFIRM = 1_000;
const MAX_BLOCK_VBYTES = 1_000_000;

const cannotMine = (error: MineError): RpcError =>
  new RpcError(RPC_CODE.verify, `TestBlockValidity failed: ${error.reason}${error.detail ? `, ${error.detail}` : ""}`);

function mined(result: ReturnType<RpcContext["chain"]["mine"]>): readonly string[] {
  if (!result.ok) throw cannotMine(result.error);
  return result.value.map((e) => e.block.hash);
}

function generateBlock(context: RpcContext, args: Args): object {
  const { chain } = context;
  const script = scriptOfAddress(context, args.any(0));
  const txs = args.list(1, MAX_BLOCK_TXS).map((item) => {
    const known = typeof item === "string" && item.length === 64 ? chain.mempool.graph.get(item.toLowerCase())?.chainTx : undefined;
    if (typeof item === "string" && item.length === 64 && !known)
      throw new RpcError(RPC_CODE.notFound, `Transaction ${item} not in mempool.`);
    return known ?? decodeTx(context, item);
  });
  if (!args.bool(2, true)) {
    const block = chain.draft(chain.state.tip, script, txs, 0n);
    const problem = chain.state.test(block);
    if (problem) throw cannotMine({ kind: "CannotMine", ...problem });
    return { hash: block.hash };
  }
  const made = chain.mineExactly(script, txs);
  if (!made.ok) throw cannotMine(made.error);
  return { hash: made.value.block.hash };
}

/** Null when accepted, else the word for the reason, as BIP-22 has it. */
function submitBlock({ chain }: RpcContext, args: Args): string | null {
  const bytes = parseHex(args.text(0));
  const block = bytes.ok ? parseBlock(bytes.value, chain.params.template.format) : bytes;
  if (!block.ok) throw new RpcError(RPC_CODE.deserialization, "Block decode failed");
  const outcome = chain.submit(block.value);
  if (!outcome.ok) return outcome.error.reason;
  return chain.state.isActive(outcome.value) ? null : "inconclusive";
}

function faucet(context: RpcContext, args: Args): object {
  const { chain } = context;
  const paid = chain.payFromFaucet(scriptOfAddress(context, args.any(0)), args.amount(1));
  if (!paid.ok) {
    const { error } = paid;
    if (error.kind !== "FaucetDry") throw rejectToError(context, error);
    throw new RpcError(
      -6,
      `Insufficient funds: the faucet has ${formatCoins(error.have)} and needs ${formatCoins(error.need)}; mine more blocks`,
    );
  }
  const confirm = args.int(2, 0, FAUCET_MAX_CONFIRM, 0);
  return { txid: paid.value.txid, blocks: mined(chain.mine(confirm)) };
}

function notarize(context: RpcContext, args: Args): object {
  const { chain } = context;
  if (!isKmd(context)) throw new RpcError(RPC_CODE.misc, `${chain.params.ticker} is not of the KMD family: nothing notarizes it`);
  const entry: BlockEntry | undefined = chain.state.at(args.int(0, 1, chain.state.tip.height, chain.state.tip.height));
  if (!entry) throw new RpcError(RPC_CODE.parameter, "Block height out of range");
  chain.notarize(entry);
  return { notarized: chain.notarized?.height ?? 0, notarizedhash: chain.notarized?.block.hash };
}

function time({ chain }: RpcContext): object {
  return { time: chain.time.nowSec, mediantime: chain.state.tip.medianTime, tiptime: chain.state.tip.block.header.time };
}

function autoMine({ chain }: RpcContext, args: Args): object {
  const fields = args.object(0);
  const interval = fields.intervalMs ?? null;
  if (interval !== null && (typeof interval !== "number" || !Number.isInteger(interval) || interval < 1 || interval > 86_400_000)) {
    throw new RpcError(RPC_CODE.parameter, "intervalMs must be null or 1 to 86400000");
  }
  chain.autoMine(interval);
  return { intervalMs: interval };
}

function setFeeRate(context: RpcContext, args: Args): object {
  const value = args.any(0);
  context.feeEstimate = value === undefined || value === null ? "auto" : value === "none" ? "none" : args.amount(0);
  const { feeEstimate } = context;
  return { feerate: typeof feeEstimate === "bigint" ? unitsToJson(feeEstimate) : feeEstimate };
}

const RATE_FIELDS = { entryFee: "entryFeePerKb", blockFee: "blockFeePerKb" } as const;
const FLAG_FIELDS = ["replacement", "packages"] as const;

/** Changes the fields named; null sets one back. The names are those of the answer. One that does not fit changes none. */
function setPolicy(context: RpcContext, args: Args): object {
  const { chain } = context;
  const fields = args.object(0);
  const normal = defaultPolicy(chain.params);
  const bad = (text: string): RpcError => new RpcError(RPC_CODE.parameter, text);
  const known = [...Object.keys(RATE_FIELDS), ...FLAG_FIELDS, "blockVbytes"];
  const odd = Object.keys(fields).find((k) => !known.includes(k));
  if (odd !== undefined) throw bad(`${odd} is none of ${known.join(", ")}`);
  const next: ChainPolicy = { ...chain.policy };
  for (const name of FLAG_FIELDS) {
    const value = fields[name];
    if (value !== undefined && value !== null && typeof value !== "boolean") throw bad(`${name} must be true, false or null`);
    if (value !== undefined) next[name] = value ?? normal[name];
  }
  for (const [name, key] of Object.entries(RATE_FIELDS) as [keyof typeof RATE_FIELDS, (typeof RATE_FIELDS)[keyof typeof RATE_FIELDS]][]) {
    const value = fields[name];
    if (value === undefined) continue;
    const rate = value === null ? ok(normal[key]) : parseAmount(value);
    if (!rate.ok) throw bad(`${name} must be coins per 1000 bytes, or null`);
    next[key] = rate.value;
  }
  const room = fields.blockVbytes;
  if (room !== undefined && room !== null && (typeof room !== "number" || !Number.isInteger(room) || room < 0 || room > MAX_BLOCK_VBYTES)) {
    throw bad(`blockVbytes must be 0 to ${MAX_BLOCK_VBYTES}, or null`);
  }
  if (room !== undefined) next.blockVbytes = room as number | null;
  Object.assign(chain.policy, next);
  const evicted = chain.mempool.evictBelow(next.entryFeePerKb);
  const { replacement, packages, entryFeePerKb, blockFeePerKb, blockVbytes } = next;
  return {
    replacement,
    packages,
    entryFee: unitsToJson(entryFeePerKb),
    blockFee: unitsToJson(blockFeePerKb),
    blockVbytes,
    evicted,
  };
}

function withBlock(change: (context: RpcContext, entry: BlockEntry) => void) {
  return (context: RpcContext, args: Args): null => {
    change(context, findBlock(context, args.hash(0, "blockhash")));
    return null;
  };
}

/** Making and unmaking blocks, time and money. Names with `chain_` are ours. */
export const CONTROL_METHODS: RpcMethods = {
  generatetoaddress: {
    params: ["nblocks", "address", "maxtries"],
    required: 2,
    run: (context, args) => mined(context.chain.mine(args.int(0, 0, MAX_MINE), scriptOfAddress(context, args.any(1)))),
  },
  generateblock: { params: ["output", "transactions", "submit"], required: 2, run: generateBlock },
  submitblock: { params: ["hexdata", "dummy"], required: 1, run: submitBlock },
  invalidateblock: { params: ["blockhash"], required: 1, run: withBlock(({ chain }, entry) => chain.invalidate(entry)) },
  reconsiderblock: { params: ["blockhash"], required: 1, run: withBlock(({ chain }, entry) => chain.reconsider(entry)) },
  chain_mine: { params: ["count"], run: ({ chain }, args) => mined(chain.mine(args.int(0, 1, MAX_MINE, 1))) },
  chain_autoMine: { params: ["options"], run: autoMine },
  chain_faucet: { params: ["address", "amount", "confirm"], required: 2, run: faucet },
  chain_notarize: { params: ["height"], run: notarize },
  chain_policy: { params: ["policy"], required: 1, run: setPolicy },
  chain_setFeeRate: { params: ["feerate"], run: setFeeRate },
  chain_time: { params: [], run: time },
  chain_setTime: {
    params: ["time"],
    required: 1,
    run: (context, args) => {
      context.chain.time.set(args.int(0, 1, MAX_TIME));
      return time(context);
    },
  },
  chain_addTime: {
    params: ["seconds"],
    required: 1,
    run: (context, args) => {
      context.chain.time.add(args.int(0, -MAX_TIME, MAX_TIME));
      return time(context);
    },
  },
  chain_info: {
    params: [],
    run: (context) => ({
      coin: context.chain.params.ticker,
      kind: context.chain.params.kind,
      header: "bitcoin80",
      genesis: context.chain.state.at(0)?.block.hash,
      faucetScript: toHex(context.chain.faucetScript),
      autoMining: context.chain.isAutoMining,
      ...time(context),
    }),
  },
};
