import { toHex } from "../../core/util/bytes.ts";
import { type Block, serializeBlock, serializeHeader } from "../block.ts";
import type { BlockEntry } from "../chainState.ts";
import { unitsToJson } from "../money.ts";
import { type Args, parseHash } from "./args.ts";
import { blockToJson, confirmationsJson, difficulty, headerToJson, workHex } from "./blockJson.ts";
import { isKmd, type RpcContext, type RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";
import { scriptToJson } from "./txJson.ts";

export function findBlock({ chain }: RpcContext, hash: string): BlockEntry {
  const entry = chain.state.entry(hash);
  if (!entry) throw new RpcError(RPC_CODE.notFound, "Block not found");
  return entry;
}

const tipHeight = (context: RpcContext): number => Math.max(0, context.chain.state.tip.height + context.heightLie());

/** Komodo's `getblock` takes a height in place of the hash. */
function blockArgument(context: RpcContext, args: Args): BlockEntry {
  const value = args.any(0);
  const height = typeof value === "number" ? value : typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : null;
  if (!isKmd(context) || height === null) return findBlock(context, parseHash(value, "blockhash"));
  const entry = context.chain.state.at(height);
  if (!entry) throw new RpcError(RPC_CODE.parameter, "Block height out of range");
  return entry;
}

function blockchainInfo(context: RpcContext): object {
  const { state, params } = context.chain;
  const { tip } = state;
  const height = tipHeight(context);
  const common = {
    chain: "regtest",
    blocks: height,
    headers: height,
    bestblockhash: tip.block.hash,
    difficulty: difficulty(tip.block.header.bits),
    verificationprogress: 1,
    chainwork: workHex(tip.work),
    pruned: false,
    size_on_disk: 0,
  };
  if (params.scheme.kind === "sapling") {
    const branch = params.scheme.branchId.toString(16).padStart(8, "0");
    return {
      ...common,
      synced: true,
      commitments: 0,
      valuePools: [],
      softforks: [],
      upgrades: { [branch]: { name: "Sapling", activationheight: 1, status: "active", info: "" } },
      consensus: { chaintip: branch, nextblock: branch },
    };
  }
  return { ...common, time: tip.block.header.time, mediantime: tip.medianTime, initialblockdownload: false, warnings: "" };
}

/** Every block without a successor: the active tip, valid forks and invalid branches. */
function chainTips({ chain }: RpcContext): object[] {
  const { state } = chain;
  const entries = state.entries();
  const parents = new Set(entries.map((e) => e.previous));
  return entries
    .filter((e) => !parents.has(e))
    .map((e) => {
      let fork = e;
      while (!state.isActive(fork) && fork.previous) fork = fork.previous;
      const status = state.isActive(e) ? "active" : state.isInvalid(e) ? "invalid" : "valid-fork";
      return { height: e.height, hash: e.block.hash, branchlen: e.height - fork.height, status };
    });
}

function txOut(context: RpcContext, args: Args): object | null {
  const { chain } = context;
  const txid = args.hash(0, "txid");
  const vout = args.int(1, 0, 0xffffffff);
  const withMempool = args.bool(2, true);
  const key = `${txid}:${vout}`;
  const coin = withMempool ? chain.mempool.coin(txid, vout) : chain.state.coins.get(key);
  if (!coin || (withMempool && chain.mempool.graph.spender(key) !== undefined)) return null;
  const entry = chain.state.blockOfTx(txid);
  const unconfirmed = isKmd(context) ? { confirmations: 0, rawconfirmations: 0 } : { confirmations: 0 };
  return {
    bestblock: chain.state.tip.block.hash,
    ...(entry ? confirmationsJson(context, entry) : unconfirmed),
    value: unitsToJson(coin.value),
    scriptPubKey: scriptToJson(coin.script, chain.params),
    coinbase: coin.coinbase,
  };
}

/** Hex of blocks that were asked for: every node of a network asks for each. */
const hexOfBlocks = new WeakMap<Block, string>();

function blockHex(block: Block): string {
  let hex = hexOfBlocks.get(block);
  if (hex === undefined) {
    hex = toHex(serializeBlock(block));
    hexOfBlocks.set(block, hex);
  }
  return hex;
}

export const BLOCK_METHODS: RpcMethods = {
  getblockchaininfo: { params: [], run: blockchainInfo },
  getblockcount: { params: [], run: tipHeight },
  getbestblockhash: { params: [], run: ({ chain }) => chain.state.tip.block.hash },
  getblockhash: {
    params: ["height"],
    required: 1,
    run: ({ chain }, args) => {
      const entry = chain.state.at(args.int(0, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
      if (!entry) throw new RpcError(RPC_CODE.parameter, "Block height out of range");
      return entry.block.hash;
    },
  },
  getblockheader: {
    params: ["blockhash", "verbose"],
    required: 1,
    run: (context, args) => {
      const entry = findBlock(context, args.hash(0, "blockhash"));
      return args.bool(1, true) ? headerToJson(context, entry) : toHex(serializeHeader(entry.block.header));
    },
  },
  getblock: {
    params: ["blockhash", "verbosity"],
    required: 1,
    run: (context, args) => {
      const entry = blockArgument(context, args);
      const verbosity = args.verbosity(1, 1);
      return verbosity === 0 ? blockHex(entry.block) : blockToJson(context, entry, verbosity);
    },
  },
  getchaintips: { params: [], run: chainTips },
  getdifficulty: { params: [], run: ({ chain }) => difficulty(chain.state.tip.block.header.bits) },
  gettxout: { params: ["txid", "n", "include_mempool"], required: 2, run: txOut },
};
