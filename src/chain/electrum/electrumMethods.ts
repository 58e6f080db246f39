import { sha256 } from "@noble/hashes/sha2.js";
import { toHex } from "../../core/util/bytes.ts";
import type { BlockEntry } from "../chainState.ts";
import type { ChainDaemon } from "../daemon.ts";
import { RpcError } from "../rpc/rpcError.ts";
import type { ElectrumArgs } from "./electrumArgs.ts";
import { badRequest, daemonError } from "./electrumError.ts";
import type { ElectrumFaults } from "./electrumFaults.ts";
import type { ElectrumView, FoundTx, HistoryLine, UnspentLine } from "./electrumView.ts";

/** The protocols spoken, the highest first, and the name told to clients. */
export const PROTOCOLS = ["1.4.2", "1.4"] as const;
export const SERVER_NAME = "swapnode chain 1.0";
/** Most headers of one answer, and most confirmed lines of a history (ElectrumX's limits in kind). */
const MAX_HEADERS = 2_016;
const MAX_HISTORY = 20_000;

/** What a method may use: the server's view, the daemon below it, and the subscriptions of the connection that asks. */
export type ElectrumContext = {
  readonly view: ElectrumView;
  readonly daemon: ChainDaemon;
  readonly faults: ElectrumFaults;
  readonly subscriptions: Subscriptions;
};

export type Subscriptions = {
  /** Hash of the header told last; null: not subscribed. */
  header: string | null;
  /** History whose status was told last (`historyText`), by script hash. */
  readonly scripts: Map<string, string>;
};

export type ElectrumMethod = {
  /** Names for calls with an object, in order of position. */
  readonly params: readonly string[];
  /** Least number of parameters. */
  readonly required: number;
  /** The one protocol that has it; absent: all. */
  readonly onlyIn?: (typeof PROTOCOLS)[number];
  readonly run: (context: ElectrumContext, args: ElectrumArgs) => unknown;
};

/** Most scripts one connection may subscribe to. */
const MAX_SUBSCRIPTIONS = 10_000;

export const tipJson = (view: ElectrumView): object => ({ height: view.tip.height, hex: view.headerHex(view.tip) });

const lineJson = ({ txid, height, fee }: HistoryLine): object => ({
  ...(fee === null ? {} : { fee: Number(fee) }),
  height,
  tx_hash: txid,
});

/** What a subscription tells of a history: its SHA-256; null without one. */
export const statusOf = (text: string): string | null => (text === "" ? null : toHex(sha256(new TextEncoder().encode(text))));

function history({ view, faults }: Pick<ElectrumContext, "view" | "faults">, scriptHash: string): readonly HistoryLine[] {
  const lines = view.history(scriptHash);
  const limit = Math.min(MAX_HISTORY, ...faults.ofKind("short_histories").map((f) => f.lines));
  if (lines.length >= limit && lines.filter((l) => l.height > 0).length >= limit) throw badRequest("history too large");
  return lines;
}

/** The whole history of a script as its status is made of: "txid:height:" of each line. */
export const historyText = (from: Pick<ElectrumContext, "view" | "faults">, scriptHash: string): string =>
  history(from, scriptHash)
    .map((l) => `${l.txid}:${l.height}:`)
    .join("");

/** ElectrumX has no limit of its own for these: an answer that is too long is refused as any other. */
function unspent({ view, faults }: Pick<ElectrumContext, "view" | "faults">, scriptHash: string): readonly UnspentLine[] {
  const lines = view.unspent(scriptHash);
  if (faults.ofKind("short_histories").some((f) => lines.length >= f.lines)) throw badRequest("response too large");
  return lines;
}

function blockAt(view: ElectrumView, height: number): BlockEntry {
  const entry = view.at(height);
  if (!entry) throw badRequest(`height ${height.toLocaleString("en-US")} out of range`);
  return entry;
}

/** Proof that the header at `height` is in the chain that ends at `cpHeight`. */
function headerProof(view: ElectrumView, height: number, cpHeight: number): { readonly branch: readonly string[]; readonly root: string } {
  if (height > cpHeight || cpHeight > view.tip.height) {
    throw badRequest(`require header height ${height} <= cp_height ${cpHeight} <= chain height ${view.tip.height}`);
  }
  const hashes = Array.from({ length: cpHeight + 1 }, (_, h) => blockAt(view, h).block.hash);
  return view.proof(hashes, height);
}

function blockHeader({ view }: ElectrumContext, args: ElectrumArgs): unknown {
  const height = args.count(0);
  const cpHeight = args.count(1, 0);
  const header = view.headerHex(blockAt(view, height));
  return cpHeight === 0 ? header : { ...headerProof(view, height, cpHeight), header };
}

function blockHeaders({ view }: ElectrumContext, args: ElectrumArgs): object {
  const [start, wanted, cpHeight] = [args.count(0), args.count(1), args.count(2, 0)];
  const count = Math.max(0, Math.min(wanted, MAX_HEADERS, view.tip.height + 1 - start));
  const hex = Array.from({ length: count }, (_, i) => view.headerHex(blockAt(view, start + i))).join("");
  const proof = count > 0 && cpHeight > 0 ? headerProof(view, start + count - 1, cpHeight) : {};
  return { hex, count, max: MAX_HEADERS, ...proof };
}

function findTx(view: ElectrumView, txid: string): FoundTx {
  const found = view.find(txid);
  if (found) return found;
  throw daemonError(new RpcError(-5, "No such mempool or blockchain transaction. Use gettransaction for wallet transactions."));
}

/** Asks the daemon; what it refuses is passed on. */
function ask(daemon: ChainDaemon, method: string, params: readonly unknown[]): unknown {
  try {
    return daemon.answer(method, params);
  } catch (cause) {
    throw cause instanceof RpcError ? daemonError(cause) : cause;
  }
}

function txidOf(daemon: ChainDaemon, raw: string): unknown {
  const decoded = ask(daemon, "decoderawtransaction", [raw]);
  return typeof decoded === "object" && decoded !== null && "txid" in decoded ? decoded.txid : null;
}

/** Fields of the daemon's answer that tell of a block. */
const BLOCK_FIELDS = ["blockhash", "confirmations", "rawconfirmations", "height", "time", "blocktime"];

function transaction({ view, daemon }: ElectrumContext, args: ElectrumArgs): unknown {
  const txid = args.txid(0);
  const verbose = args.flag(1);
  const { chainTx, entry } = findTx(view, txid);
  if (!verbose) return toHex(chainTx.raw);
  const block = daemon.chain.state.blockOfTx(txid);
  const answer = ask(daemon, "getrawtransaction", [txid, 1, ...(block ? [block.block.hash] : [])]);
  const left = ["in_active_chain", ...(entry ? [] : BLOCK_FIELDS)];
  return { ...Object.fromEntries(Object.entries(answer ?? {}).filter(([key]) => !left.includes(key))), hex: toHex(chainTx.raw) };
}

function broadcast({ daemon, faults }: ElectrumContext, args: ElectrumArgs): unknown {
  const raw = args.text(0);
  if (faults.has("swallow_broadcast")) return txidOf(daemon, raw);
  try {
    return daemon.answer("sendrawtransaction", [raw]);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw badRequest(`the transaction was rejected by network rules.\n\n${cause.message}\n[${raw}]`);
  }
}

function merkleOf({ view }: ElectrumContext, args: ElectrumArgs): object {
  const txid = args.txid(0);
  const entry = blockAt(view, args.count(1));
  const ids = entry.block.txs.map((t) => t.txid);
  const pos = ids.indexOf(txid);
  if (pos < 0) throw badRequest(`tx ${txid} not in block at height ${entry.height.toLocaleString("en-US")}`);
  return { block_height: entry.height, merkle: view.proof(ids, pos).branch, pos };
}

function idFromPos({ view }: ElectrumContext, args: ElectrumArgs): unknown {
  const entry = blockAt(view, args.count(0));
  const ids = entry.block.txs.map((t) => t.txid);
  const pos = args.count(1);
  const txid = ids[pos];
  if (txid === undefined) throw badRequest(`no tx at position ${pos} in block at height ${entry.height.toLocaleString("en-US")}`);
  return args.flag(2) ? { tx_hash: txid, merkle: view.proof(ids, pos).branch } : txid;
}

/** Coins per 1000 bytes, -1 without an estimate: the daemon's, whatever its dialect. */
function estimateFee({ daemon, faults }: ElectrumContext, args: ElectrumArgs): unknown {
  const blocks = args.count(0);
  const [lie] = faults.ofKind("false_fee");
  if (lie) return lie.rate;
  if (daemon.chain.params.kind === "kmd") return ask(daemon, "estimatefee", [blocks]);
  const answer = ask(daemon, "estimatesmartfee", [blocks]);
  return typeof answer === "object" && answer !== null && "feerate" in answer ? answer.feerate : -1;
}

function relayFee({ daemon, faults }: ElectrumContext): number {
  return faults.ofKind("false_fee")[0]?.rate ?? Number(daemon.chain.params.minRelayFeePerKb) / 1e8;
}

function subscribeScript({ view, faults, subscriptions }: ElectrumContext, args: ElectrumArgs): string | null {
  const scriptHash = args.scriptHash(0);
  const { scripts } = subscriptions;
  if (!scripts.has(scriptHash) && scripts.size >= MAX_SUBSCRIPTIONS) throw badRequest("too many subscriptions");
  const text = historyText({ view, faults }, scriptHash);
  scripts.set(scriptHash, text);
  return statusOf(text);
}

const features = ({ daemon }: ElectrumContext): object => ({
  genesis_hash: daemon.chain.state.at(0)?.block.hash ?? "",
  hosts: {},
  protocol_max: PROTOCOLS[0],
  protocol_min: PROTOCOLS[1],
  pruning: null,
  server_version: SERVER_NAME,
  hash_function: "sha256",
});

/** Everything but `server.version`, which belongs to the connection. */
export const ELECTRUM_METHODS: { readonly [name: string]: ElectrumMethod } = {
  "server.banner": { params: [], required: 0, run: () => `An embedded chain. Its coins have no value.` },
  "server.features": { params: [], required: 0, run: features },
  "server.ping": { params: [], required: 0, run: () => null },
  "server.donation_address": { params: [], required: 0, run: () => "" },
  "server.peers.subscribe": { params: [], required: 0, run: () => [] },
  "blockchain.headers.subscribe": {
    params: [],
    required: 0,
    run: ({ view, subscriptions }) => {
      subscriptions.header = view.tip.block.hash;
      return tipJson(view);
    },
  },
  "blockchain.block.header": { params: ["height", "cp_height"], required: 1, run: blockHeader },
  "blockchain.block.headers": { params: ["start_height", "count", "cp_height"], required: 2, run: blockHeaders },
  "blockchain.scripthash.subscribe": { params: ["scripthash"], required: 1, run: subscribeScript },
  "blockchain.scripthash.unsubscribe": {
    params: ["scripthash"],
    required: 1,
    onlyIn: "1.4.2",
    run: ({ subscriptions }, args) => subscriptions.scripts.delete(args.scriptHash(0)),
  },
  "blockchain.scripthash.get_history": {
    params: ["scripthash"],
    required: 1,
    run: (context, args) => history(context, args.scriptHash(0)).map(lineJson),
  },
  "blockchain.scripthash.get_mempool": {
    params: ["scripthash"],
    required: 1,
    run: ({ view }, args) =>
      view
        .history(args.scriptHash(0))
        .filter((line) => line.height <= 0)
        .map(lineJson),
  },
  "blockchain.scripthash.listunspent": {
    params: ["scripthash"],
    required: 1,
    run: ({ view, faults }, args) =>
      unspent({ view, faults }, args.scriptHash(0)).map((c) => ({
        height: c.height,
        tx_hash: c.txid,
        tx_pos: c.vout,
        value: Number(c.value),
      })),
  },
  "blockchain.scripthash.get_balance": {
    params: ["scripthash"],
    required: 1,
    run: ({ view }, args) => {
      const { confirmed, unconfirmed } = view.balance(args.scriptHash(0));
      return { confirmed: Number(confirmed), unconfirmed: Number(unconfirmed) };
    },
  },
  "blockchain.transaction.get": { params: ["tx_hash", "verbose"], required: 1, run: transaction },
  "blockchain.transaction.get_merkle": { params: ["tx_hash", "height"], required: 2, run: merkleOf },
  "blockchain.transaction.id_from_pos": { params: ["height", "tx_pos", "merkle"], required: 2, run: idFromPos },
  "blockchain.transaction.broadcast": { params: ["raw_tx"], required: 1, run: broadcast },
  "blockchain.estimatefee": { params: ["number"], required: 1, run: estimateFee },
  "blockchain.relayfee": { params: [], required: 0, run: relayFee },
  "mempool.get_fee_histogram": { params: [], required: 0, run: feeHistogram },
};

/** Steps of fee rate (base units per virtual byte, highest first) with the virtual bytes that pay at least that and less than the last. */
function feeHistogram({ daemon }: ElectrumContext): readonly (readonly [number, number])[] {
  const sizes = new Map<number, number>();
  for (const { chainTx, fee } of daemon.chain.mempool.graph.entries()) {
    const rate = Number(fee / BigInt(chainTx.vsize));
    sizes.set(rate, (sizes.get(rate) ?? 0) + chainTx.vsize);
  }
  return [...sizes].sort((a, b) => b[0] - a[0]);
}
