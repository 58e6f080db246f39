import type { ChainState } from "../chainState.ts";
import type { MempoolEntry } from "../mempoolGraph.ts";
import { unitsToJson } from "../money.ts";
import { isReplaceable } from "../replacement.ts";
import type { Args } from "./args.ts";
import { isKmd, type RpcContext, type RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";

/** Blocks whose fees an estimate looks at. */
const ESTIMATE_BLOCKS = 10;

function entryToJson(context: RpcContext, entry: MempoolEntry): object {
  const { graph } = context.chain.mempool;
  const { txid, wtxid, vsize, weight } = entry.chainTx;
  const ancestors = graph.ancestors([txid]);
  const descendants = graph.descendants(txid);
  if (isKmd(context)) {
    return {
      size: vsize,
      fee: unitsToJson(entry.fee),
      time: entry.time,
      height: entry.height,
      startingpriority: 0,
      currentpriority: 0,
      depends: [...entry.parents],
    };
  }
  return {
    vsize,
    weight,
    time: entry.time,
    height: entry.height,
    descendantcount: descendants.length,
    descendantsize: graph.vsizeOf(descendants),
    ancestorcount: ancestors.length,
    ancestorsize: graph.vsizeOf(ancestors),
    wtxid,
    fees: {
      base: unitsToJson(entry.fee),
      modified: unitsToJson(entry.fee),
      ancestor: unitsToJson(graph.feesOf(ancestors)),
      descendant: unitsToJson(graph.feesOf(descendants)),
    },
    depends: [...entry.parents],
    spentby: [...entry.children],
    "bip125-replaceable": isReplaceable(txid, graph),
    unbroadcast: false,
  };
}

function rawMempool(context: RpcContext, args: Args): unknown {
  const entries = context.chain.mempool.graph.entries();
  if (!args.bool(0, false)) return entries.map((e) => e.chainTx.txid);
  return Object.fromEntries(entries.map((e) => [e.chainTx.txid, entryToJson(context, e)]));
}

function mempoolInfo(context: RpcContext): object {
  const { mempool, params } = context.chain;
  const { graph } = mempool;
  const bytes = graph.vbytes;
  if (isKmd(context)) return { size: graph.size, bytes, usage: bytes };
  return {
    loaded: true,
    size: graph.size,
    bytes,
    usage: bytes,
    total_fee: unitsToJson(graph.feesOf(graph.entries().map((e) => e.chainTx.txid))),
    maxmempool: mempool.maxVbytes,
    mempoolminfee: unitsToJson(mempool.minFeePerKb),
    minrelaytxfee: unitsToJson(params.minRelayFeePerKb),
    incrementalrelayfee: unitsToJson(params.minRelayFeePerKb),
    unbroadcastcount: 0,
    fullrbf: false,
  };
}

/** Median fee rate of the last blocks' transactions, never below what relays; null when told to have none. */
function feeEstimate(context: RpcContext): bigint | null {
  const { chain, feeEstimate: wanted } = context;
  if (wanted === "none") return null;
  if (wanted !== "auto") return wanted;
  const median = medianRate(chain.state);
  const least = chain.mempool.minFeePerKb > chain.policy.blockFeePerKb ? chain.mempool.minFeePerKb : chain.policy.blockFeePerKb;
  return median > least ? median : least;
}

/** By tip block: every node asks after each. */
const medians = new WeakMap<object, bigint>();

function medianRate(state: ChainState): bigint {
  const tip = state.at(state.tip.height)?.block;
  const known = tip && medians.get(tip);
  if (known !== undefined) return known;
  const rates: bigint[] = [];
  for (let height = state.tip.height; height > Math.max(0, state.tip.height - ESTIMATE_BLOCKS); height--) {
    const entry = state.at(height);
    for (const [i, { tx, vsize }] of entry?.block.txs.entries() ?? []) {
      const spent = entry?.undo?.[i] ?? [];
      if (i === 0) continue;
      const fee = spent.reduce((n, c) => n + c.value, 0n) - tx.outputs.reduce((n, o) => n + o.value, 0n);
      rates.push((fee * 1_000n) / BigInt(vsize));
    }
  }
  rates.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const median = rates[Math.floor(rates.length / 2)] ?? 0n;
  if (tip) medians.set(tip, median);
  return median;
}

export const MEMPOOL_METHODS: RpcMethods = {
  getrawmempool: { params: ["verbose", "mempool_sequence"], run: rawMempool },
  getmempoolinfo: { params: [], run: mempoolInfo },
  getmempoolentry: {
    params: ["txid"],
    required: 1,
    only: "core",
    run: (context, args) => {
      const entry = context.chain.mempool.graph.get(args.hash(0, "parameter 1"));
      if (!entry) throw new RpcError(RPC_CODE.notFound, "Transaction not in mempool");
      return entryToJson(context, entry);
    },
  },
  estimatesmartfee: {
    params: ["conf_target", "estimate_mode"],
    required: 1,
    only: "core",
    run: (context, args) => {
      const blocks = args.int(0, 1, 1_008);
      const rate = feeEstimate(context);
      return rate === null ? { errors: ["Insufficient data or no feerate found"], blocks } : { feerate: unitsToJson(rate), blocks };
    },
  },
  estimatefee: {
    params: ["nblocks"],
    required: 1,
    only: "kmd",
    run: (context, args) => {
      args.int(0, 1, 1_008);
      const rate = feeEstimate(context);
      return rate === null ? -1 : unitsToJson(rate);
    },
  },
};
